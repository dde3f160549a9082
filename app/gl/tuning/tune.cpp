#include "app/gl/tuning/tune.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "app/gl/training/gl_training_test.h"
#include "app/gl/tuning/measure.h"
#include "app/gl/tuning/self_test.h"
#include "core/base/error.h"

namespace headlight {
namespace {

constexpr double kWorthwhile = 1.03;

std::string number(std::int64_t value) { return std::to_string(value); }

// ---- what is tried ----

// Those first that are the most likely to win: time may run out.
constexpr ProductTiles kTiles[] = {
    {64, 64, 8, 8, 8},  {64, 64, 16, 8, 4},   {128, 64, 16, 8, 4}, {128, 128, 8, 8, 8},
    {64, 64, 16, 4, 4}, {128, 128, 16, 8, 8}, {32, 64, 32, 4, 4},  {16, 128, 0, 16, 8},
    {64, 64, 0, 8, 4},  {32, 32, 32, 4, 4},   {32, 32, 8, 4, 4},   {32, 32, 16, 2, 2},
};
// Of products of few rows: how many rows that is, and their tiles.
struct FewTiles {
  int rows;
  ProductTiles tiles;
};
constexpr FewTiles kFewTiles[] = {
    {32, {16, 128, 0, 16, 8}}, {32, {16, 64, 0, 4, 2}}, {32, {8, 64, 0, 4, 1}},
    {32, {16, 64, 16, 4, 2}},  {32, {8, 128, 0, 8, 8}}, {32, {16, 32, 32, 2, 2}},
    {16, {16, 64, 0, 4, 2}},   {64, {16, 64, 0, 4, 2}}, {0, {16, 64, 0, 4, 2}},
};

struct Pair {
  int first, second;
};

void set_part(TunePart part, const Pair& p, KernelTable& table) {
  if (part == TunePart::kLongRows) table.row_group = p.first;
  if (part == TunePart::kCells) table.cells_group = p.first;
  if (part == TunePart::kAttention) {
    table.attention.side = p.first;
    table.attention.short_width = p.second;
  }
  if (part == TunePart::kShortRows) {
    table.short_row = p.first;
    table.short_row_group = p.second;
  }
  if (part == TunePart::kColumns) {
    table.column_group = p.first;
    table.row_lanes = p.second;
  }
}

std::vector<Pair> pairs_of(TunePart part) {
  switch (part) {
    case TunePart::kProducts:
    case TunePart::kFewRows:
      return {};
    case TunePart::kLongRows:
    case TunePart::kCells:
      return {{32, 0}, {64, 0}, {128, 0}, {256, 0}, {512, 0}};
    case TunePart::kAttention:
      return {{16, 32}, {8, 32}, {16, 64}, {8, 64}, {4, 32}};
    case TunePart::kShortRows:
      return {{64, 32}, {32, 32}, {64, 16}, {64, 64}, {128, 32}, {128, 64}};
    case TunePart::kColumns:
      return {{32, 8}, {64, 8}, {64, 4}, {16, 8}, {16, 16}, {32, 4}};
  }
  return {};
}

// ---- what it is tried on ----

// Hardware gets as much as it needs to be busy; a software renderer what it can do in the time.
std::vector<TrialSizes> sizes_of(TunePart part, bool hardware) {
  const std::int64_t rows = hardware ? 8192 : 128, many = hardware ? 65536 : 1024;
  switch (part) {
    case TunePart::kAttention:
      return {};  // a training step's
    case TunePart::kProducts:
      if (hardware) return {{.b = 1, .h = 16, .t = 64, .s = 1024, .n = 2048, .m = 768}};
      return {{.b = 1, .h = 2, .t = 64, .s = 128, .n = 256, .m = 128}};
    case TunePart::kFewRows: {  // sentences of a few tokens in a model of ordinary size
      const std::int64_t width = hardware ? 768 : 256;
      return {{.b = 1, .h = 12, .t = 3, .s = 3, .n = width, .m = 64},
              {.b = 1, .h = 12, .t = 12, .s = 12, .n = width, .m = 64},
              {.b = 1, .h = 12, .t = 48, .s = 48, .n = width, .m = 64}};
    }
    case TunePart::kShortRows:
      return {{.b = 1, .h = 1, .t = many, .s = 16, .n = 16, .m = 1},
              {.b = 1, .h = 1, .t = many, .s = 48, .n = 48, .m = 1},
              {.b = 1, .h = 1, .t = many, .s = 100, .n = 100, .m = 1}};
    case TunePart::kLongRows:
    case TunePart::kColumns:
      return {{.b = 1, .h = 1, .t = rows, .s = 1024, .n = 768, .m = 1}};
    case TunePart::kCells:
      return {{.b = 1, .h = 4, .t = many, .s = many / 4, .n = 256, .m = 1}};
  }
  return {};
}

// The operations that stand for a part (OpInfo::timed).
std::vector<Op> ops_of(TunePart part) {
  std::vector<Op> ops;
  for (const OpInfo& info : all_ops()) {
    if (std::ranges::count(info.timed, part, &TimedShapes::part) > 0) ops.push_back(info.op);
  }
  return ops;
}

std::vector<GlTimedCall> calls_of(TunePart part, bool hardware) {
  std::vector<GlTimedCall> calls;
  for (const TrialSizes& sizes : sizes_of(part, hardware)) {
    for (const OpInfo& info : all_ops()) {
      for (const TimedShapes& timed : info.timed) {
        if (timed.part != part) continue;
        calls.push_back({info.op, trial_shapes(timed.shapes, sizes), timed.gradient});
      }
    }
  }
  return calls;
}

std::vector<GlTimedAttention> attentions(bool hardware) {
  if (hardware) return {{8, 8, 512, 32}, {8, 8, 512, 64}};
  return {{1, 2, 128, 32}, {1, 2, 128, 64}};
}

// ---- trying ----

std::string training_problem(GlBackend& gl) {
  const std::vector<GlTrainingFailure> failures = test_training(gl);
  if (failures.empty()) return "";
  const GlTrainingFailure& failure = failures.front();
  if (!failure.message.empty()) return say(Language::kEnglish, failure.message);
  return "training with " + std::string(word(failure.optimizer)) + " is wrong";
}

// "softmax, gradient, (feature 65)": what is wrong, or what the driver says.
std::string problem_of(GlBackend& gl, TunePart part) {
  if (part == TunePart::kAttention) return training_problem(gl);
  const GlSelfTest test = self_test(gl, ops_of(part));
  if (test.passed) return "";
  const GlSelfTestFailure& failure = test.failures.front();
  if (!failure.message.empty()) return say(Language::kEnglish, failure.message);
  return std::string(op_info(failure.op).id) + (failure.backward ? ", gradient, " : " ") +
         failure.shape + " is wrong";
}

class Tuner {
 public:
  Tuner(const GlBackendOptions& options, double seconds) : options_(options), seconds_(seconds) {}

  // From now on there are this many seconds more before the time is up.
  void allow(double seconds) {
    deadline_ +=
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  std::unique_ptr<GlBackend> backend(const KernelTable& table) const {
    GlBackendOptions options = options_;
    options.table = table;
    return std::make_unique<GlBackend>(options);
  }

  // Milliseconds of each call, or of all kernels of an attention.
  std::vector<double> times(GlBackend& gl, TunePart part) const {
    std::vector<double> all;
    const bool hardware = !is_software_renderer(gl.device().renderer);
    for (const GlTimedCall& call : calls_of(part, hardware))
      all.push_back(time_call(gl, call, seconds_).least * 1e-6);
    for (const GlTimedAttention& attention : attentions(hardware)) {
      if (part != TunePart::kAttention) break;
      all.push_back(0);
      for (const GlTime& kernel : time_attention(gl, attention, seconds_))
        all.back() += kernel.least * 1e-6;
    }
    return all;
  }

  // The best of a part; `start` where nothing else is worthwhile.
  KernelTable best(TunePart part, const KernelTable& start,
                   const std::function<void(const TuneTrial&)>& tried) const;

 private:
  using Clock = std::chrono::steady_clock;
  const GlBackendOptions& options_;
  double seconds_;
  Clock::time_point deadline_ = Clock::now();
};

double sum_of(const std::vector<double>& times) {
  double sum = 0;
  for (const double time : times) sum += time;
  return sum;
}

// The mean of the calls' factors, so that each counts alike.
double speed_of(const std::vector<double>& times, const std::vector<double>& start) {
  double sum = 0;
  for (std::size_t i = 0; i < times.size(); ++i) sum += std::log(start[i] / times[i]);
  return std::exp(sum / static_cast<double>(times.size()));
}

KernelTable Tuner::best(TunePart part, const KernelTable& start,
                        const std::function<void(const TuneTrial&)>& tried) const {
  const auto first = backend(start);
  std::unique_ptr<GlBackend> fastest;
  TuneTrial taken;
  std::vector<double> beside;
  for (const KernelTable& table : tune_candidates(part, start, first->device().limits)) {
    TuneTrial trial{part, table, table == start, {}, 0, 1, false};
    if (!trial.is_start && Clock::now() > deadline_) {
      trial.problem = "the time is up";
      tried(trial);
      continue;
    }
    auto made = trial.is_start ? nullptr : backend(table);
    GlBackend& gl = made ? *made : *first;
    trial.problem = problem_of(gl, part);
    std::vector<double> all;
    if (trial.problem.empty()) all = times(gl, part);
    if (std::find(all.begin(), all.end(), 0.0) != all.end()) trial.problem = "it does not fit";
    if (trial.problem.empty()) {
      if (trial.is_start) beside = all;
      trial.milliseconds = sum_of(all);
      if (!beside.empty()) trial.speed = speed_of(all, beside);
    }
    tried(trial);
    if (trial.problem.empty() && trial.speed > std::max(taken.speed, kWorthwhile)) {
      taken = trial;
      fastest = std::move(made);
    }
  }
  if (!fastest) return start;
  // Something else may have held up the start, so both run once more, beside each other.
  beside = times(*first, part);
  const std::vector<double> again = times(*fastest, part);
  taken.milliseconds = sum_of(again);
  taken.speed = std::min(taken.speed, speed_of(again, beside));
  if (taken.speed < kWorthwhile) return start;
  taken.is_taken = true;
  tried(taken);
  return taken.table;
}

}  // namespace

std::string_view tune_part_name(TunePart part) {
  static constexpr std::string_view kNames[] = {"products",   "few-rows", "attention", "long-rows",
                                                "short-rows", "columns",  "cells"};
  return kNames[static_cast<std::size_t>(part)];
}

namespace {

std::string tile_words(const ProductTiles& t) {
  const std::string depth = t.is_direct() ? "unshared" : number(t.inner) + " deep";
  return "tiles of " + number(t.rows) + " x " + number(t.columns) + ", " + depth + ", " +
         number(t.block_rows) + " x " + number(t.block_columns) + " a piece";
}

}  // namespace

std::string tune_words(TunePart part, const KernelTable& t) {
  switch (part) {
    case TunePart::kProducts:
      return tile_words(t.product);
    case TunePart::kFewRows:
      return "up to " + number(t.few_rows) + " rows, " + tile_words(t.few);
    case TunePart::kAttention:
      return "groups of " + number(t.attention.side) + " x " + number(t.attention.side) +
             ", narrow heads up to " + number(t.attention.short_width);
    case TunePart::kLongRows:
      return "groups of " + number(t.row_group);
    case TunePart::kShortRows:
      return "up to " + number(t.short_row) + " cells, groups of " + number(t.short_row_group);
    case TunePart::kColumns:
      return number(t.column_group) + " columns a group, " + number(t.row_lanes) + " share one";
    case TunePart::kCells:
      return "groups of " + number(t.cells_group);
  }
  return "";
}

std::vector<KernelTable> tune_candidates(TunePart part, const KernelTable& start,
                                         const GlLimits& limits) {
  std::vector<KernelTable> all = {start};
  const auto add = [&](const KernelTable& table) {
    if (table != start && table.fits(limits)) all.push_back(table);
  };
  for (const Pair& pair : pairs_of(part)) {
    KernelTable table = start;
    set_part(part, pair, table);
    add(table);
  }
  for (const FewTiles& few : kFewTiles) {
    if (part != TunePart::kFewRows) break;
    KernelTable table = start;
    table.few_rows = few.rows;
    table.few = few.tiles;
    add(table);
  }
  for (const ProductTiles& tiles : kTiles) {
    if (part != TunePart::kProducts) break;
    KernelTable table = start;
    table.product = tiles;
    add(table);
  }
  return all;
}

KernelTable tune(const GlBackendOptions& options, const KernelTable& start,
                 std::span<const TunePart> parts, const TuneTime& time,
                 const std::function<void(const TuneTrial&)>& tried) {
  Tuner tuner(options, time.call);
  KernelTable table = start;
  for (const TunePart part : parts) {
    tuner.allow(time.all / static_cast<double>(parts.size()));
    table = tuner.best(part, table, tried);
  }
  return table;
}

}  // namespace headlight
