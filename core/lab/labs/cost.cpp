// Memory and time against the number of tokens: attention with its scores kept, in one piece, and
// with sparse masks, beside T²; and what a training step takes, with 16 bits, accumulation,
// checkpointing.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>

#include "core/graph/mask_blocks.h"
#include "core/graph/program_cost.h"
#include "core/lab/lab_run.h"
#include "core/lab/labs/labs.h"
#include "core/lab/parts/timed_piece.h"
#include "core/run/trace.h"
#include "core/train/training_memory.h"

namespace headlight {
namespace {

constexpr std::array<std::int64_t, 7> kLengths = {32, 64, 128, 256, 512, 1024, 2048};
constexpr int kStepRows = 8;      // of a training step
constexpr double kSeconds = 2.0;  // of measuring; what would take it further is left out
constexpr double kMostBytes = 4e8;
constexpr double kMega = 1e6;

constexpr std::array<const char*, kWays> kWayNames = {"full", "fused", "local", "strided",
                                                      "products"};

// ---- what a training step takes ----

enum Variant : std::size_t { kPlain, kHalf, kAccumulated, kCheckpointed, kChosen, kVariants };
constexpr std::int64_t kPieces = 4;  // of an accumulated step, but for the chosen one's

struct StepMemory {
  std::array<TrainingMemory, kVariants> by_variant;
};

// `compares`: each variant, and not only the plain and the chosen one.
StepMemory step_memory(const LabRun& run, const Config& config, const RunShape& shape,
                       bool compares) {
  const std::int64_t pieces = run.whole("accumulate");
  const bool half = run.word("storage") == "float16", again = run.word("checkpointing") == "on";
  StepMemory memory;
  for (std::size_t v = 0; v < kVariants; ++v) {
    const bool chosen = v == kChosen;
    if (chosen && !half && !again && pieces == 1) {
      memory.by_variant[v] = memory.by_variant[kPlain];
      continue;
    }
    if (!compares && v != kPlain && !chosen) continue;
    TrainerOptions options;
    options.shards = options.threads = 1;
    if (v == kHalf || (chosen && half)) options.storage = NumberFormat::kFloat16;
    options.checkpointing = v == kCheckpointed || (chosen && again);
    const std::int64_t rows = kStepRows / (chosen ? pieces : v == kAccumulated ? kPieces : 1);
    memory.by_variant[v] = training_memory(config, shape, options, rows);
    memory.by_variant[v].saving = 0;  // not of a step
  }
  return memory;
}

// ---- what was found, and what is made of it ----

struct Found {
  LayerSizes sizes;
  std::size_t chosen = 0;                       // of kLengths
  std::array<std::vector<float>, kWays> times;  // milliseconds, of the first lengths
  std::vector<double> full_bytes, fused_bytes;
  std::array<std::vector<double>, 3> pairs;  // all, local, strided
  std::array<double, 2> blocks{};            // share that is computed: local, strided
  std::vector<StepMemory> steps;

  // The longest that was measured, up to the chosen one.
  std::size_t measured() const { return std::min(chosen, times[kFullWay].size() - 1); }
};

// From how many tokens on `a` takes longer than `b`, between the two lengths where that begins; 0:
// nowhere.
double crossing(const std::vector<float>& a, const std::vector<float>& b) {
  double found = 0;
  for (std::size_t i = 1; i < a.size(); ++i) {
    const double before = std::log(static_cast<double>(a[i - 1]) / b[i - 1]),
                 after = std::log(static_cast<double>(a[i]) / b[i]);
    if (before > 0 || after <= 0) continue;
    found = static_cast<double>(kLengths[i - 1]) * std::exp2(before / (before - after));
  }
  return found;
}

std::vector<double> first_lengths(std::size_t count) {
  std::vector<double> x;
  for (std::size_t i = 0; i < count; ++i) x.push_back(static_cast<double>(kLengths[i]));
  return x;
}

// A line through the last point, along T².
std::vector<double> square_through(const std::vector<double>& y) {
  std::vector<double> line;
  for (std::size_t i = 0; i < y.size(); ++i)
    line.push_back(y.back() * std::pow(4.0, static_cast<double>(i) - std::ssize(y) + 1));
  return line;
}

void add_line(LabRun& run, const std::string& name, std::vector<double> y) {
  std::vector<double> x = first_lengths(y.size());
  run.result.series.push_back({name, std::move(x), std::move(y)});
}

constexpr std::array<const char*, 4> kParts = {"W", "∂W", "m, v", "a"};
std::array<double, 4> parts_of(const TrainingMemory& m) {
  return {m.weights / kMega, m.gradients / kMega, m.moments / kMega, m.activations / kMega};
}

void add_cost_series(LabRun& run, const Found& f) {
  for (std::size_t w = 0; w < kWays; ++w)
    add_line(run, std::string("time.") + kWayNames[w], {f.times[w].begin(), f.times[w].end()});
  add_line(run, "time.square",
           square_through({f.times[kFullWay].begin(), f.times[kFullWay].end()}));
  add_line(run, "memory.full", f.full_bytes);
  add_line(run, "memory.fused", f.fused_bytes);
  add_line(run, "memory.square", square_through(f.full_bytes));
  for (std::size_t p = 0; p < f.pairs.size(); ++p)
    add_line(run, std::string("pairs.") + std::array{"full", "local", "strided"}[p], f.pairs[p]);
  for (const auto& [v, name] : {std::pair{kPlain, "plain"}, std::pair{kChosen, "chosen"}}) {
    std::vector<double> y;
    for (const StepMemory& s : f.steps) y.push_back(s.by_variant[v].total() / kMega);
    add_line(run, std::string("training.") + name, std::move(y));
    const std::array<double, 4> parts = parts_of(f.steps[f.chosen].by_variant[v]);
    run.result.series.push_back({std::string("parts.") + name,
                                 {0, 1, 2, 3},
                                 {parts.begin(), parts.end()},
                                 {},
                                 {},
                                 {kParts.begin(), kParts.end()}});
  }
}

void add_cost_values(LabRun& run, const Found& f) {
  const std::size_t at = f.measured();
  for (std::size_t w = 0; w < kWays; ++w)
    run.value(std::string("time.") + kWayNames[w], f.times[w][at]);
  run.value("growth", static_cast<double>(f.times[kFullWay][at]) / f.times[kFullWay][at - 1]);
  run.value("crossing.fused", crossing(f.times[kFullWay], f.times[kFusedWay]));
  run.value("crossing.products", crossing(f.times[kFullWay], f.times[kProductsWay]));
  run.value("memory.full", f.full_bytes[f.chosen]);
  run.value("memory.fused", f.fused_bytes[f.chosen]);
  run.value("computed.local", f.blocks[0]);
  run.value("computed.strided", f.blocks[1]);
  const auto& steps = f.steps[f.chosen].by_variant;
  for (std::size_t v = 0; v < kVariants; ++v)
    run.value(std::string("training.") +
                  std::array{"plain", "float16", "accumulated", "checkpointed", "chosen"}[v],
              steps[v].total() / kMega);
}

std::string percent(double share) { return lab_number(100 * share); }

void add_cost_words(LabRun& run, const Found& f) {
  const std::size_t at = f.measured();
  const LabResult& r = run.result;
  const auto tokens = [](std::size_t i) { return std::to_string(kLengths[i]); };
  const double growth = r.value("growth");
  if (growth > 2.5)
    run.notice("square", {{"from", tokens(at - 1)},
                          {"to", tokens(at)},
                          {"growth", lab_number(growth)},
                          {"memory", lab_number(f.full_bytes[at] / f.full_bytes[at - 1])}});
  run.notice("fused", {{"tokens", tokens(f.chosen)},
                       {"full", lab_number(f.full_bytes[f.chosen])},
                       {"fused", lab_number(f.fused_bytes[f.chosen])}});
  const double allowed = f.pairs[2][f.chosen] / f.pairs[0][f.chosen], computed = f.blocks[1];
  if (at == f.chosen && computed > 1.5 * allowed)
    run.notice("blocks", {{"tokens", tokens(at)},
                          {"pairs", percent(allowed)},
                          {"blocks", percent(computed)},
                          {"time", percent(r.value("time.strided") / r.value("time.fused"))}});
  if (r.value("crossing.products") > 0)
    run.notice("products", {{"tokens", lab_number(r.value("crossing.products"))}});
  const double plain = r.value("training.plain"), chosen = r.value("training.chosen");
  if (chosen < 0.99 * plain)
    run.notice("training", {{"tokens", tokens(f.chosen)},
                            {"plain", lab_number(plain)},
                            {"chosen", lab_number(chosen)}});

  LabQuestion twice{"twice",
                    {{"from", tokens(at - 1)}, {"to", tokens(at)}},
                    {"two", "four", "more"},
                    growth < 3   ? 0u
                    : growth < 6 ? 1u
                                 : 2u,
                    {}};
  twice.because = run.because("twice", {{"before", lab_number(f.times[kFullWay][at - 1])},
                                        {"after", lab_number(f.times[kFullWay][at])},
                                        {"growth", lab_number(growth)}});
  run.result.questions.push_back(std::move(twice));
  const std::array<double, 3> left = {r.value("training.float16"), r.value("training.accumulated"),
                                      r.value("training.checkpointed")};
  LabQuestion saves{"saves",
                    {{"tokens", tokens(f.chosen)}},
                    {"float16", "accumulated", "checkpointed"},
                    static_cast<std::size_t>(std::ranges::min_element(left) - left.begin()),
                    {}};
  saves.because = run.because("saves", {{"plain", lab_number(plain)},
                                        {"half", lab_number(left[0])},
                                        {"accumulated", lab_number(left[1])},
                                        {"checkpointed", lab_number(left[2])}});
  run.result.questions.push_back(std::move(saves));
}

// By block of 16 queries and 16 keys, how many of its pairs the mask allows.
struct AllowedPairs {
  std::int64_t blocks = 0;      // of queries, and of keys
  std::vector<float> in_block;  // (blocks, blocks)

  double all() const { return std::accumulate(in_block.begin(), in_block.end(), 0.0); }
  double computed() const {  // the share of blocks that have one
    return 1 - static_cast<double>(std::ranges::count(in_block, 0.0f)) /
                   static_cast<double>(in_block.size());
  }
};

AllowedPairs allowed_pairs(const MaskSpec& mask, std::int64_t tokens) {
  AllowedPairs found{score_blocks(tokens), {}};
  found.in_block.assign(static_cast<std::size_t>(found.blocks * found.blocks), 0.0f);
  for (int i = 0; i < tokens; ++i) {
    float* row = found.in_block.data() + i / kScoreBlock * found.blocks;
    int next = 0;  // the first key behind the last stretch that is forbidden
    const auto allow = [&](int end) {
      for (; next < end; ++next) row[next / kScoreBlock] += 1;
    };
    for (const Span& s : forbidden_keys(mask, i, static_cast<int>(tokens))) {
      allow(s.first);
      next = s.last + 1;
    }
    allow(static_cast<int>(tokens));
  }
  return found;
}

void add_mask_picture(LabRun& run, Way way, const AllowedPairs& pairs) {
  std::vector<std::string> names;
  for (std::int64_t b = 0; b < pairs.blocks; ++b)
    names.push_back(std::to_string(b * kScoreBlock) + "–" +
                    std::to_string((b + 1) * kScoreBlock - 1));
  std::vector<float> cells = pairs.in_block;
  for (float& cell : cells) cell /= kScoreBlock * kScoreBlock;
  run.result.pictures.push_back({kWayNames[way], names, names, std::move(cells)});
}

void add_cost_tensors(LabRun& run, const Found& f) {
  const auto measured = static_cast<std::int64_t>(f.times[kFullWay].size());
  std::vector<float> times, activations;
  for (const auto& line : f.times) times.insert(times.end(), line.begin(), line.end());
  for (std::size_t v = 0; v < kVariants; ++v) {  // 0 where it is not compared
    for (const StepMemory& s : f.steps)
      activations.push_back(static_cast<float>(s.by_variant[v].activations / kMega));
  }
  const auto number = [](auto n) { return static_cast<float>(n); };
  std::vector<float> parameters;  // millions and the rest: as one float32 they would be rounded
  for (const bool rest : {false, true}) {
    for (const StepMemory& s : f.steps) {
      const double count = s.by_variant[kPlain].weights / sizeof(float);
      parameters.push_back(number(rest ? std::fmod(count, kMega) : std::floor(count / kMega)));
    }
  }
  run.result.tensors = {
      lab_tensor("times", {{"head", kWays}, {"position", measured}}, times),
      lab_tensor("activations", {{"head", kVariants}, {"position", std::ssize(kLengths)}},
                 activations),
      lab_tensor("layer", {{"feature", 4}},
                 {number(f.sizes.heads), number(f.sizes.width), number(f.sizes.d_model),
                  number(f.sizes.hidden)}),
      lab_tensor("parameters", {{"feature", 2}, {"position", std::ssize(kLengths)}}, parameters)};
}

void publish(LabRun& run, const Found& f) {
  run.result.series.clear(), run.result.values.clear(), run.result.notice.clear();
  run.result.questions.clear();
  add_cost_series(run, f);
  add_cost_values(run, f);
  add_cost_words(run, f);
  add_cost_tensors(run, f);
}

LayerSizes sizes_of_layer(const Config& c) {
  return {c.head_count(), c.head_width(), c.d_model, c.hidden_width()};
}

// What is known without measuring.
Found planned(LabRun& run, const Config& config, const RunShape& shape) {
  Found f;
  f.chosen =
      static_cast<std::size_t>(std::ranges::find(kLengths, run.whole("tokens")) - kLengths.begin());
  f.sizes = sizes_of_layer(config);
  // A layer so wide that a few tokens take all the time is measured narrower.
  if (std::max<std::int64_t>({f.sizes.d_model, f.sizes.heads * f.sizes.width}) > 1024 ||
      f.sizes.hidden > 4096) {
    run.result.notes.emplace_back("lab.cost.note.narrow");
    f.sizes = sizes_of_layer({});
  }
  for (const std::int64_t tokens : kLengths) {
    run.tell(0);
    f.full_bytes.push_back(TimedPiece(f.sizes, kFullWay, tokens).bytes() / kMega);
    f.fused_bytes.push_back(TimedPiece(f.sizes, kFusedWay, tokens).bytes() / kMega);
    f.pairs[0].push_back(static_cast<double>(tokens * tokens));
    for (const Way way : {kLocalWay, kStridedWay}) {
      const AllowedPairs pairs = allowed_pairs(sparse_mask(way), tokens);
      f.pairs[way == kLocalWay ? 1 : 2].push_back(pairs.all());
      if (tokens != kLengths[f.chosen]) continue;
      f.blocks[way == kLocalWay ? 0 : 1] = pairs.computed();
      add_mask_picture(run, way, pairs);
    }
    f.steps.push_back(
        step_memory(run, config, with_tokens(shape, tokens), tokens == kLengths[f.chosen]));
  }
  return f;
}

// Of a few runs the shortest: whatever else the machine does only makes them longer.
float milliseconds(const LabRun& run, const LayerSizes& sizes, Way way, std::int64_t tokens) {
  TimedPiece piece(sizes, way, tokens);
  piece.prepare();
  double best = piece.seconds(run.backend(), false), spent = best;
  for (int i = 0; i < 3 || (i < 20 && spent < 0.05); ++i) {
    run.tell(static_cast<double>(tokens) / static_cast<double>(kLengths.back()));
    const double once = piece.seconds(run.backend(), true);
    best = std::min(best, once), spent += once;
  }
  return static_cast<float>(std::max(1e3 * best, 1e-4));
}

void run_cost(LabRun& run) {
  using Clock = std::chrono::steady_clock;
  const Trace& trace = run.trace();
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  Found f = planned(run, trace.config(), trace.program().shape);
  double last = 0;
  for (std::size_t i = 0; i < kLengths.size(); ++i) {
    const double before = seconds();
    const double bytes = TimedPiece(f.sizes, kFullWay, kLengths[i]).bytes();
    if (i >= 3 && (before + 4 * last > kSeconds || bytes > kMostBytes)) break;
    for (std::size_t w = 0; w < kWays; ++w)
      f.times[w].push_back(milliseconds(run, f.sizes, static_cast<Way>(w), kLengths[i]));
    last = seconds() - before;
    if (i < 1) continue;
    publish(run, f);
    run.show();
  }
  const std::size_t at = f.measured();
  if (at < f.chosen)
    run.result.notes.emplace_back(
        "lab.cost.note.measured",
        std::vector<MessageSlot>{{"tokens", std::to_string(kLengths[at])}});
}

}  // namespace

Lab cost_lab() {
  return {
      "cost",
      "cost",
      "Child et al. 2019, https://arxiv.org/abs/1904.10509; Dao et al. 2022, "
      "https://arxiv.org/abs/2205.14135; Chen et al. 2016, https://arxiv.org/abs/1604.06174",
      {{.id = "tokens", .words = {"64", "128", "256", "512", "1024", "2048"}, .first_word = 3},
       {"storage", {"float32", "float16"}},
       {"accumulate", {"1", "2", "4", "8"}},
       {"checkpointing", {"off", "on"}}},
      run_cost,
      {{"time", {"full", "fused", "local", "strided", "products", "square"}, true, true, "tokens"},
       {"memory", {"full", "fused", "square"}, true, true, "tokens"},
       {"pairs", {"full", "local", "strided"}, true, true, "tokens"},
       {"training", {"plain", "chosen"}, true, true, "tokens"},
       {.id = "parts", .lines = {"plain", "chosen"}, .form = LabChartForm::kBars}},
      "",
      {Role::kPattern},
      "lab.cost.formula"};
}

}  // namespace headlight
