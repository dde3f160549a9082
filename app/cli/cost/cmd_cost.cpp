// headlight cost: what a model takes in memory and time, said before it is run, and beside it what
// a run really took.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/cli/cli.h"
#include "app/cli/named_backend.h"
#include "app/workers/rates/op_rates.h"
#include "app/workers/stopwatch.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/explain/steps.h"
#include "core/model/presets.h"
#include "core/run/model_input.h"
#include "core/text/number_words.h"
#include "core/train/metrics/model_cost.h"

namespace headlight {
namespace {

using Json = nlohmann::ordered_json;

struct CostOptions {
  ModelOptions model;
  std::optional<std::int64_t> tokens, batch, vocab;
  std::string storage = "float32";
  bool json = false;
};

// What was really taken, of the fastest of a few runs.
struct MeasuredRun {
  TraceMemory memory;
  double milliseconds = 0;
  int count = 0;
};

struct CostReport {
  ModelCost cost;
  std::optional<MeasuredRun> run;
  std::string not_run;  // why there is none
  double run_ms = 0, step_ms = 0;
  double available = 0;
};

constexpr int kLeastRuns = 5, kMostRuns = 200;
constexpr double kRunsTime = 500;  // milliseconds

std::string big(double number) { return count_text(static_cast<long long>(number)); }

// A model from a paper as it stands there, vocabulary included, and not on a sentence.
bool is_whole_preset(const CostOptions& o) {
  return o.model.preset && o.model.full_size && !o.model.sentence && !o.model.sentence_file;
}

// The shape that a run of the document has; without one, that of as many tokens as are asked for.
RunShape planned_shape(const CostOptions& o, const Document& doc, const RunResult& result) {
  RunShape shape;
  std::int64_t tokens = o.tokens.value_or(static_cast<std::int64_t>(result.tokens_in_sentence));
  tokens = std::clamp<std::int64_t>(tokens, 1, kLargestMaxTokens);
  if (result.model) {
    shape = shape_of(result.model->file);
    shape.in_place = answers_in_place(*result.model);
  } else {
    shape.vocab = doc.config.numbers ? kGridNumbers : tokens;
    shape.classes = 2;
    shape.in_place = doc.config.numbers;
  }
  shape.positions = tokens;
  shape.source = doc.config.form == ModelForm::kTranslate ? tokens : 0;
  if (is_whole_preset(o)) shape = preset(*o.model.preset).shape;
  return o.tokens ? with_tokens(shape, *o.tokens) : shape;
}

CostReport measure(const CostOptions& o) {
  const Document doc = o.model.document();
  CostReport report;
  report.available = o.model.limits().memory_bytes;
  const NamedBackend named(o.model.backend, o.model.threads);
  Backend& backend = *named;
  RunLimits limits = o.model.limits();
  limits.keep_all_to = limits.memory_bytes;  // what is predicted is a run that keeps all
  Runner runner(limits);
  const bool other = o.tokens || o.batch || o.vocab || is_whole_preset(o);
  RunResult result;
  if (other) {
    report.not_run = "the sizes are not those of the sentence";
    if (!doc.model.empty()) result.model = runner.load(doc.model);
    if (!o.tokens && !is_whole_preset(o)) result = runner.run(doc, backend);
  } else {
    result = runner.run(doc, backend);
    if (!result.trace) report.not_run = result.problem;
    if (!result.trace && result.is_usage) throw UsageError(result.message);
  }
  const bool known = result.trace != nullptr;
  RunShape shape = known ? result.trace->program().shape : planned_shape(o, doc, result);
  if (o.batch) shape.batch = *o.batch;
  if (o.vocab) shape.vocab = *o.vocab;
  const Config config =
      result.model ? run_config(doc.config, result.model->file.config) : doc.config;
  TrainerOptions training;
  training.threads = o.model.threads;
  const auto storage = from_word<NumberFormat>(o.storage);
  if (!storage)
    throw UsageError("--storage must be " + choice_list(NumberFormat{}) + "; got '" + o.storage +
                     "'");
  training.storage = *storage;
  report.cost = model_cost(config, shape, training);
  const std::vector<OpRate> rates = measure_op_rates(config, backend);
  report.run_ms = 1000 * predicted_seconds(report.cost.run, rates);
  report.step_ms = 1000 * predicted_seconds(report.cost.training, rates, true);
  if (!known || other) return report;
  const TraceMemory memory = result.trace->memory();
  if (!result.trace->keeps_all()) {
    report.not_run = "all of it would not fit; a run keeps " + bytes_text(memory.run()) +
                     " and computes the layers again that are looked at";
    return report;
  }
  report.run = {memory, 0, 0};
  double all = 0;
  for (int i = 0; i < kMostRuns && (i < kLeastRuns || all < kRunsTime); ++i) {
    if (all > 4 * kRunsTime) break;
    const double ms = milliseconds([&] { result = runner.run(doc, backend); });
    report.run->count = i + 1;
    report.run->milliseconds = i == 0 ? ms : std::min(report.run->milliseconds, ms);
    all += ms;
  }
  return report;
}

// ---- as JSON ----

Json shape_json(const ModelCost& m) {
  const CostSizes sizes = sizes_of(m.config, m.shape);
  return {{"tokens", sizes.tokens}, {"batch", m.shape.batch},     {"layers", sizes.layers},
          {"heads", sizes.heads},   {"d_model", sizes.d_model},   {"d_head", m.config.head_width()},
          {"vocab", m.shape.vocab}, {"form", word(m.config.form)}};
}

Json parameters_json(const ProgramCost& cost) {
  Json list = Json::array();
  for (const ParameterCost& row : cost.parameters) {
    list.push_back(
        {{"part", row.norm ? "Norms" : section_name(Language::kEnglish, row.section, row.stack)},
         {"name", row.symbol},
         {"count", row.count},
         {"in_each_layer", row.in_layer},
         {"share", row.count / cost.parameter_count}});
  }
  return list;
}

Json steps_json(const ProgramCost& cost) {
  Json list = Json::array();
  for (const StepCost& row : cost.steps) {
    list.push_back({{"part", section_name(Language::kEnglish, row.section, row.stack)},
                    {"step", tr_or(Language::kEnglish, row.row.title, row.row.title)},
                    {"numbers", row.numbers},
                    {"bytes", row.bytes},
                    {"pairs_of_tokens", !row.pairs.empty()},
                    {"multiply_adds", row.multiply_adds}});
  }
  return list;
}

Json heads_json(const ProgramCost& cost) {
  return {{"parameters", cost.parameter_count},
          {"run_bytes", cost.run_bytes()},
          {"multiply_adds", cost.multiply_adds}};
}

void print_json(const CostReport& r) {
  const ModelCost& m = r.cost;
  Json curve = Json::array();
  for (const CostPoint& p : m.curve)
    curve.push_back({{"tokens", p.tokens},
                     {"run_bytes", p.run_bytes},
                     {"pair_bytes", p.pair_bytes},
                     {"multiply_adds", p.multiply_adds}});
  Json out = {{"sizes", shape_json(m)},
              {"parameter_count", m.run.parameter_count},
              {"parameters", parameters_json(m.run)},
              {"steps", steps_json(m.run)},
              {"activations", m.run.activations},
              {"scores", m.run.scores},
              {"numbers_for_pairs", m.run.pairs},
              {"parameter_bytes", m.run.parameter_bytes()},
              {"arena_bytes", m.run.arena_bytes()},
              {"run_bytes", m.run.run_bytes()},
              {"fused_saving_bytes", m.fused_saving},
              {"available_bytes", r.available},
              {"multiply_adds", m.run.multiply_adds},
              {"predicted_ms", r.run_ms},
              {"training",
               {{"forward_multiply_adds", m.training.multiply_adds},
                {"backward_multiply_adds", m.training.backward_multiply_adds},
                {"weights_bytes", m.memory.weights},
                {"gradients_bytes", m.memory.gradients},
                {"moments_bytes", m.memory.moments},
                {"activations_bytes", m.memory.activations},
                {"kept_bytes", m.kept},
                {"kept_in_16_bits_bytes", m.kept_in_half},
                {"saving_bytes", m.memory.saving},
                {"bytes", m.memory.total()},
                {"predicted_ms", r.step_ms}}},
              {"curve", curve}};
  if (m.narrow) out["narrow"] = heads_json(*m.narrow);
  if (m.wide) out["wide"] = heads_json(*m.wide);
  if (r.run)
    out["measured"] = {{"arena_bytes", r.run->memory.arena},
                       {"parameter_bytes", r.run->memory.parameters},
                       {"run_bytes", r.run->memory.run()},
                       {"ms", r.run->milliseconds}};
  else
    out["not_run"] = r.not_run;
  std::printf("%s\n", out.dump(2).c_str());
}

// ---- as text ----

using Lines = std::vector<std::vector<std::string>>;

// The first two columns are words; the others are numbers, at the right of their columns.
void print_table(const Lines& lines) {
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()), 0);
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], to_code_points(line[i]).size());
  }
  for (const auto& line : lines) {
    std::string text = " ";
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string gap(widths[i] - to_code_points(line[i]).size(), ' ');
      text += " " + (i < 2 ? line[i] + gap : gap + line[i]) + " ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    std::printf("%s\n", text.c_str());
  }
}

std::string percent(double part, double all) {
  return all > 0 ? number_text(100 * part / all, 3) + " %" : "–";
}

void print_parameters(const ModelCost& m) {
  std::printf("Parameters: %s, %s\n", big(m.run.parameter_count).c_str(),
              bytes_text(m.run.parameter_bytes()).c_str());
  Lines lines = {{"part", "name", "numbers", "share", "in each layer"}};
  for (const ParameterCost& row : m.run.parameters) {
    lines.push_back({row.norm ? "Norms" : section_name(Language::kEnglish, row.section, row.stack),
                     row.symbol, big(row.count), percent(row.count, m.run.parameter_count),
                     row.in_layer > 0 ? big(row.in_layer) : ""});
  }
  print_table(lines);
}

void print_steps(const ModelCost& m) {
  std::printf("\nOne run keeps every number: %s activations, %s. Multiply-adds in products: %s\n",
              big(m.run.activations).c_str(), bytes_text(m.run.arena_bytes()).c_str(),
              big(m.run.multiply_adds).c_str());
  Lines lines = {{"part", "step", "numbers", "bytes", "share", "multiply-adds"}};
  for (const StepCost& row : m.run.steps) {
    lines.push_back({section_name(Language::kEnglish, row.section, row.stack),
                     std::string(tr_or(Language::kEnglish, row.row.title, row.row.title)) +
                         (row.pairs.empty() ? "" : " (" + std::string(row.pairs) + ")"),
                     big(row.numbers), bytes_text(row.bytes),
                     percent(row.bytes, m.run.activation_bytes),
                     row.multiply_adds > 0 ? big(row.multiply_adds) : ""});
  }
  print_table(lines);
  if (m.run.pairs > 0)
    std::printf("%s: %s scores; all steps for pairs of tokens make %s numbers, %s of all\n",
                m.shape.source > 0 ? "S² and T S (S tokens of the source), T²" : "T²",
                big(m.run.scores).c_str(), big(m.run.pairs).c_str(),
                percent(m.run.pairs, m.run.activations).c_str());
  if (m.fused_saving > 0)
    std::printf("%s %s\n",
                m.config.fused_attention
                    ? "Fused attention keeps no scores and no weights: it saves"
                    : "With --fused-attention on a run would keep less, by",
                bytes_text(m.fused_saving).c_str());
}

void print_run(const CostReport& r) {
  const ModelCost& m = r.cost;
  std::printf(
      "\nMemory of a run: %s predicted (%s parameters, %s activations and inputs); %s free\n",
      bytes_text(m.run.run_bytes()).c_str(), bytes_text(m.run.parameter_bytes()).c_str(),
      bytes_text(m.run.arena_bytes()).c_str(), bytes_text(r.available).c_str());
  if (r.run)
    std::printf("  really allocated: %s (%s)\n", bytes_text(r.run->memory.run()).c_str(),
                apart_text(r.run->memory.run(), m.run.run_bytes()).c_str());
  std::printf(
      "Time of a run: %s ms predicted, from each operation's time in two small models here\n",
      number_text(r.run_ms, 3).c_str());
  if (r.run)
    std::printf("  really measured: %s ms, the fastest of %d, cutting the text included\n",
                number_text(r.run->milliseconds, 3).c_str(), r.run->count);
  else
    std::printf("  not run: %s\n", r.not_run.c_str());
}

void print_training(const CostReport& r) {
  const ModelCost& m = r.cost;
  const TrainingMemory& t = m.memory;
  std::printf("\nOne training step, batch %s: at most %s\n", big(double(m.shape.batch)).c_str(),
              bytes_text(t.total()).c_str());
  std::printf(
      "  weights %s, gradients %s, moments of AdamW %s, activations and their gradients %s, "
      "while it is saved %s\n",
      bytes_text(t.weights).c_str(), bytes_text(t.gradients).c_str(), bytes_text(t.moments).c_str(),
      bytes_text(t.activations).c_str(), bytes_text(t.saving).c_str());
  std::printf("  activations alone: %s in float32, %s in 16 bits (--storage)\n",
              bytes_text(m.kept).c_str(), bytes_text(m.kept_in_half).c_str());
  std::printf("  multiply-adds: %s forward, %s backward; some %s ms, step by step\n",
              big(m.training.multiply_adds).c_str(), big(m.training.backward_multiply_adds).c_str(),
              number_text(r.step_ms, 3).c_str());
}

void print_curve(const ModelCost& m) {
  std::printf("\nBy the number of tokens:\n");
  Lines lines = {{"tokens", "memory of a run", "for pairs of tokens", "multiply-adds"}};
  for (const CostPoint& p : m.curve)
    lines.push_back({big(double(p.tokens)), bytes_text(p.run_bytes), bytes_text(p.pair_bytes),
                     big(p.multiply_adds)});
  print_table(lines);
  if (!m.narrow || !m.wide) return;
  std::printf("\nNarrow heads share the width, wide ones have all of it each:\n");
  const auto line = [](const char* name, const ProgramCost& c) {
    return std::vector<std::string>{name, "", big(c.parameter_count), bytes_text(c.run_bytes()),
                                    big(c.multiply_adds)};
  };
  print_table({{"heads", "", "parameters", "memory of a run", "multiply-adds"},
               line("narrow", *m.narrow),
               line("wide", *m.wide)});
}

void print_text(const CostReport& r) {
  const CostSizes s = sizes_of(r.cost.config, r.cost.shape);
  std::printf("%s tokens, batch %s, %d layer%s, %d head%s, d_model %d, vocabulary %s\n\n",
              big(double(s.tokens)).c_str(), big(double(s.batch)).c_str(), s.layers,
              s.layers == 1 ? "" : "s", s.heads, s.heads == 1 ? "" : "s", s.d_model,
              big(double(r.cost.shape.vocab)).c_str());
  print_parameters(r.cost);
  print_steps(r.cost);
  print_run(r);
  print_training(r);
  print_curve(r.cost);
}

}  // namespace

void add_cost_command(CLI::App& app, Run& run) {
  auto o = std::make_shared<CostOptions>();
  CLI::App* sub = app.add_subcommand(
      "cost", "Says what a model takes in memory and time, and what a run really took");
  o->model.add_to(*sub);
  o->model.add_model_to(*sub);
  sub->add_option("--tokens", o->tokens, "Tokens, instead of those of the sentence")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{kLargestMaxTokens}));
  sub->add_option("--batch", o->batch, "Rows at the same time")
      ->check(CLI::Range(std::int64_t{1}, kMostCostBatch));
  sub->add_option("--vocab", o->vocab, "Size of the vocabulary")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{10'000'000}));
  sub->add_option("--storage", o->storage,
                  "Training: float32, float16 or bfloat16, as headlight train --storage")
      ->capture_default_str();
  sub->add_flag("--json", o->json, "As JSON");
  sub->callback([o, &run] {
    run = [o] {
      const CostReport report = measure(*o);
      o->json ? print_json(report) : print_text(report);
      return 0;
    };
  });
}

}  // namespace headlight
