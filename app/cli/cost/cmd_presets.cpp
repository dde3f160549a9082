// headlight presets: models from papers in their own sizes, with what they would take here.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/cli/cli.h"
#include "app/workers/rates/op_rates.h"
#include "core/base/number_text.h"
#include "core/model/presets.h"

namespace headlight {
namespace {

struct PresetFigures {
  ProgramCost cost;
  double run_ms = 0;
};

PresetFigures figures_of(const Preset& p, std::span<const OpRate> rates) {
  PresetFigures f{program_cost(p.config, p.shape), 0};
  f.run_ms = 1000 * predicted_seconds(f.cost, rates);
  return f;
}

std::string_view in_english(std::string_view id) { return tr(Language::kEnglish, id); }

nlohmann::ordered_json preset_json(const Preset& p, const PresetFigures& f, double available) {
  const Config& c = p.config;
  auto differences = nlohmann::ordered_json::array();
  for (const PresetDifference& d : p.differences)
    differences.push_back({{"what", in_english(d.what)}, {"count", d.count}});
  return {{"name", p.name},
          {"title", p.title},
          {"year", p.year},
          {"source", p.source},
          {"link", p.link},
          {"layers", c.layers},
          {"heads", c.head_count()},
          {"d_model", c.d_model},
          {"d_hidden", c.hidden_width()},
          {"vocab", p.shape.vocab},
          {"tokens", p.shape.positions},
          {"parameters", p.published},
          {"source_says", p.said},
          {"parameters_here", f.cost.parameter_count},
          {"differences", differences},
          {"not_as_there", in_english(p.apart)},
          {"parameter_bytes", f.cost.parameter_bytes()},
          {"run_bytes", f.cost.run_bytes()},
          {"available_bytes", available},
          {"multiply_adds", f.cost.multiply_adds},
          {"predicted_ms", f.run_ms}};
}

void print_preset(const Preset& p, const PresetFigures& f) {
  const Config& c = p.config;
  std::printf("%s: %s, %d\n", std::string(p.name).c_str(), std::string(p.title).c_str(), p.year);
  std::printf("  %d layers, %d heads, d_model %d, hidden %d, vocabulary %s, %s tokens\n", c.layers,
              c.head_count(), c.d_model, c.hidden_width(), count_text(p.shape.vocab).c_str(),
              count_text(p.shape.positions).c_str());
  std::printf("  %s parameters (the source says %s)\n", count_text(p.published).c_str(),
              std::string(p.said).c_str());
  if (!p.differences.empty())
    std::printf("  in the program here %s:\n",
                count_text(static_cast<long long>(f.cost.parameter_count)).c_str());
  for (const PresetDifference& d : p.differences)
    std::printf("    %s%s %s\n", d.count < 0 ? "−" : "+", count_text(std::abs(d.count)).c_str(),
                std::string(in_english(d.what)).c_str());
  std::printf(
      "  a run of these tokens here: %s, of it %s parameters; %s multiply-adds; some %s s\n",
      bytes_text(f.cost.run_bytes()).c_str(), bytes_text(f.cost.parameter_bytes()).c_str(),
      count_text(static_cast<long long>(f.cost.multiply_adds)).c_str(),
      number_text(f.run_ms / 1000, 3).c_str());
  std::printf("  %s; %s\n  %s\n\n", std::string(p.source).c_str(), std::string(p.link).c_str(),
              std::string(in_english(p.apart)).c_str());
}

}  // namespace

void add_presets_command(CLI::App& app, Run& run) {
  auto json = std::make_shared<bool>(false);
  auto threads = std::make_shared<int>(2);
  CLI::App* sub = app.add_subcommand(
      "presets", "Lists models from papers in their own sizes; --preset opens one");
  sub->add_flag("--json", *json, "As JSON");
  sub->add_option("--threads", *threads, "Threads of the processor")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  sub->callback([json, threads, &run] {
    run = [json, threads] {
      const auto backend = make_cpu_backend(*threads);
      const std::vector<OpRate> rates = rates_for_all(Config{}, *backend);
      auto list = nlohmann::ordered_json::array();
      for (const Preset& p : all_presets()) {
        const PresetFigures f = figures_of(p, rates);
        if (*json)
          list.push_back(preset_json(p, f, machine_limits().memory_bytes));
        else
          print_preset(p, f);
      }
      if (*json) std::printf("%s\n", list.dump(2).c_str());
      return 0;
    };
  });
}

}  // namespace headlight
