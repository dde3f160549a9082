// headlight compare-backends: the same run on each backend, result by result.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/cli/cli.h"
#include "app/cli/named_backend.h"
#include "app/gl/context/embedded.h"
#include "app/workers/timed_backend.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/check/compare.h"
#include "core/explain/explain.h"
#include "core/io/atomic_file.h"

namespace headlight {
namespace {

using Json = nlohmann::ordered_json;

struct CompareOptions {
  ModelOptions model;
  std::string against = "reference", json, broken;
  bool gradients = false;
};

struct OneRun {
  std::string name, device;
  std::vector<std::string> fallbacks;
  std::shared_ptr<const Trace> trace;
  CallTimes times;
  bool hardware = false;
};

OneRun run_on(const std::string& name, const CompareOptions& o, const Document& document) {
  const NamedBackend backend(name, o.model.threads,
                             with_broken_shader(name == "gl" ? o.broken : ""));
  TimedBackend timed(*backend, backend.gl() ? &backend.gl()->queue() : nullptr);
  Runner runner(o.model.limits());
  OneRun run{name, backend.device(), {}, nullptr, {}, false};
  // The second time nothing is compiled or made any more.
  for (int time = name == "reference" ? 1 : 0; time < 2; ++time)
    run.trace = run_or_throw(runner, timed, document, o.gradients);
  run.fallbacks = backend.fallbacks();
  run.times = timed.times();
  run.hardware = backend.gl() && !is_software_renderer(run.device);
  return run;
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value == 0 ? "0" : "%.1e", value);
  return text;
}

std::string time_text(double milliseconds) {
  if (milliseconds < 0) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", milliseconds);
  return text;
}

const TensorSpec& spec_of(const Trace& trace, const CallDifference& d) {
  return trace.program().tensors[static_cast<std::size_t>(d.tensor)];
}

std::string operation(const Trace& trace, const CallDifference& d) {
  const OpCall& call = trace.program().calls[static_cast<std::size_t>(d.call)];
  return std::string(op_info(call.op).id) + (d.backward ? " backward" : "");
}

// The place of the largest difference, with the names of its tokens: "head 1, cat, the".
std::string where(const Trace& trace, const CallDifference& d) {
  if (d.index.empty()) return "-";
  const std::string cell = cell_text(trace, {d.tensor, d.index});
  const std::size_t open = spec_of(trace, d).name.size();
  if (open >= cell.size()) return "-";  // one number, without a place
  return cell.substr(open + 1, cell.size() - open - 2);
}

std::string verdict(const Trace& trace, const Comparison& all) {
  if (!all.first_beyond) return "all within their limits";
  const CallDifference& d = all.calls[*all.first_beyond];
  return "first beyond its limit: " + operation(trace, d) + ", " + spec_of(trace, d).name +
         " at [" + where(trace, d) + "]: error " + short_number(d.cells.error) + ", limit " +
         short_number(d.limit);
}

void print_table(const OneRun& run, const OneRun& base, const Comparison& all) {
  std::printf("%s (%s) against %s\n", run.name.c_str(), run.device.c_str(), base.name.c_str());
  std::printf("%-24s %-34s %-10s %-8s %-8s %9s %9s  %s\n", "operation", "tensor", "largest",
              "error", "limit", (base.name + " ms").substr(0, 9).c_str(),
              (run.name + " ms").c_str(), "where");
  for (const CallDifference& d : all.calls) {
    std::printf("%-24s %-34s %-10s %-8s %-8s %9s %9s  %s%s\n", operation(*base.trace, d).c_str(),
                spec_of(*base.trace, d).name.c_str(), short_number(d.cells.largest).c_str(),
                short_number(d.cells.error).c_str(), short_number(d.limit).c_str(),
                time_text(base.times.of(d)).c_str(), time_text(run.times.of(d)).c_str(),
                where(*base.trace, d).c_str(), d.within() ? "" : "  BEYOND");
  }
  for (const std::string& one : run.fallbacks)
    std::printf("on the processor, because this graphics card cannot take it: %s\n", one.c_str());
  std::printf("%s\n", verdict(*base.trace, all).c_str());
}

// Infinite numbers have no place in JSON.
Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : "inf";
}

Json as_json(const OneRun& run, const OneRun& base, const Comparison& all) {
  const Trace& trace = *base.trace;
  Json rows = Json::array();
  for (const CallDifference& d : all.calls) {
    const std::size_t dropped =
        d.index.size() - std::min(d.index.size(), shown_axes(spec_of(trace, d).axes).size());
    const std::vector<std::int64_t> index(d.index.begin() + static_cast<std::ptrdiff_t>(dropped),
                                          d.index.end());
    Json row = {{"operation", operation(trace, d)},
                {"call", d.call},
                {"step", d.step},
                {"backward", d.backward},
                {"tensor", spec_of(trace, d).name},
                {"largest", number(d.cells.largest)},
                {"index", index},
                {"where", d.index.empty() ? "" : where(trace, d)},
                {"error", number(d.cells.error)},
                {"limit", number(d.limit)},
                {"within", d.within()}};
    for (const OneRun* one : {&base, &run}) {
      const double time = one->times.of(d);
      row["milliseconds"][one->name] = time < 0 ? Json() : Json(time);
    }
    rows.push_back(std::move(row));
  }
  return {{"backend", run.name},
          {"device", run.device},
          {"against", base.name},
          {"within", !all.first_beyond},
          {"first_beyond", all.first_beyond ? rows[*all.first_beyond] : Json()},
          {"on_processor", run.fallbacks},
          {"rows", rows}};
}

int run_compare(const CompareOptions& o) {
  const Document document = o.model.document();
  std::vector<OneRun> runs;  // first the one that counts; all of them before anything is said
  runs.push_back(run_on(o.against, o, document));
  for (const char* name : {"cpu", "gl"}) {
    if (o.against != name) runs.push_back(run_on(name, o, document));
  }
  Json list = Json::array();
  bool within = true;
  std::string beyond;  // the last backend that is, where those after it are not
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const OneRun& run = runs[i];
    const Comparison all = compare_traces(
        *run.trace, *runs[0].trace, run.hardware ? ErrorLimits::of_hardware() : ErrorLimits{});
    if (i > 1) std::printf("\n");
    print_table(run, runs[0], all);
    list.push_back(as_json(run, runs[0], all));
    within = within && !all.first_beyond;
    if (all.first_beyond) {
      beyond = i + 1 < runs.size() ? run.name + ": " + verdict(*runs[0].trace, all) : "";
    }
  }
  // The last line says what the exit status does.
  if (!beyond.empty()) std::printf("\n%s\n", beyond.c_str());
  if (!o.json.empty())
    write_file_atomic(o.json, list.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  return within ? 0 : 1;
}

}  // namespace

void add_compare_command(CLI::App& app, Run& run) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* sub = app.add_subcommand(
      "compare-backends", "Runs each backend and says where their numbers differ, and how much");
  options->model.add_to(*sub);
  options->model.add_model_to(*sub);
  sub->remove_option(sub->get_option("--backend"));
  sub->add_option("--against", options->against, "Whose numbers count: reference or cpu")
      ->capture_default_str()
      ->check(CLI::IsMember({"reference", "cpu"}))
      ->transform(current_backend_name);
  sub->add_flag("--gradients", options->gradients, "Also the backward pass from the loss");
  sub->add_option("--json", options->json, "A file for the same as JSON");
  sub->add_option("--broken-shader", options->broken, "NAME=FILE")->group("");
  sub->callback([options, &run] { run = [options] { return run_compare(*options); }; });
}

}  // namespace headlight
