#include "core/train/optim/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"
#include "core/base/thread_pool.h"
#include "core/train/optim/check_number.h"

namespace headlight {
namespace {

constexpr std::array kOptimizers = {Choice<OptimizerKind>{OptimizerKind::kSgd, "sgd"},
                                    Choice<OptimizerKind>{OptimizerKind::kAdam, "adam"},
                                    Choice<OptimizerKind>{OptimizerKind::kAdamW, "adamw"}};

// In a build for all processors these loops are compiled for several instruction sets; with the
// same bits, because nothing is fused or reordered.
#ifdef HEADLIGHT_SEVERAL_INSTRUCTION_SETS
#define HEADLIGHT_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define HEADLIGHT_CLONES
#endif

// Cells worth handing to a thread: about 10 µs.
constexpr std::int64_t kPieceCells = 1 << 14;
constexpr std::int64_t kAlignedCells = kTensorAlignment / sizeof(float);

// xⁿ by squaring: the same bits on every machine, which pow() does not promise.
double power(double x, std::int64_t n) {
  double result = 1;
  for (; n > 0; n /= 2, x *= x) {
    if (n % 2 == 1) result *= x;
  }
  return result;
}

// Eight sums side by side: a fixed order that a processor can still do at once.
HEADLIGHT_CLONES double sum_of_squares(std::span<const float> cells) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sums{};
  const std::size_t whole = cells.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double x = cells[i + lane];
      sums[lane] += x * x;
    }
  }
  for (std::size_t i = whole; i < cells.size(); ++i) {
    sums[i - whole] += static_cast<double>(cells[i]) * static_cast<double>(cells[i]);
  }
  double sum = 0;
  for (const double lane : sums) sum += lane;
  return sum;
}

struct SgdStep {
  float rate, decay, momentum;
};

HEADLIGHT_CLONES void sgd(float* __restrict p, const float* __restrict g, std::int64_t n,
                          SgdStep s) {
  for (std::int64_t i = 0; i < n; ++i) p[i] -= s.rate * (g[i] + s.decay * p[i]);
}

HEADLIGHT_CLONES void sgd_momentum(float* __restrict p, const float* __restrict g,
                                   float* __restrict b, std::int64_t n, SgdStep s) {
  for (std::int64_t i = 0; i < n; ++i) {
    b[i] = s.momentum * b[i] + (g[i] + s.decay * p[i]);
    p[i] -= s.rate * b[i];
  }
}

HEADLIGHT_CLONES void adam(float* __restrict p, const float* __restrict g, float* __restrict m,
                           float* __restrict v, std::int64_t n, AdamStep s) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float slope = g[i] + s.decay * p[i];
    m[i] = s.beta1 * m[i] + s.rest1 * slope;
    v[i] = s.beta2 * v[i] + s.rest2 * slope * slope;
    p[i] = s.kept * p[i] - s.rate * m[i] / (std::sqrt(v[i]) / s.root + s.epsilon);
  }
}

void check_spans(const TrainedTensor& t) {
  check_array({t.name, t.shape, std::span<const float>(t.value)});
  check_array({t.name, t.shape, std::span<const float>(t.gradient)});
}

}  // namespace

AdamStep adam_step(const OptimizerOptions& o, double rate, std::int64_t step, double decay) {
  const auto f = [](double x) { return static_cast<float>(x); };
  const bool decoupled = o.kind == OptimizerKind::kAdamW;
  return {.rate = f(rate / (1 - power(o.beta1, step))),
          .root = f(std::sqrt(1 - power(o.beta2, step))),
          .decay = f(decoupled ? 0 : decay),
          .kept = f(decoupled ? 1 - rate * decay : 1),
          .beta1 = f(o.beta1),
          .rest1 = f(1 - o.beta1),
          .beta2 = f(o.beta2),
          .rest2 = f(1 - o.beta2),
          .epsilon = f(o.epsilon)};
}

std::span<const Choice<OptimizerKind>> choices(OptimizerKind) { return kOptimizers; }

OptimizerOptions default_options(OptimizerKind kind) {
  OptimizerOptions options;
  options.kind = kind;
  if (kind != OptimizerKind::kAdamW) options.weight_decay = 0;
  return options;
}

void validate(const OptimizerOptions& o) {
  constexpr double kBelowOne = 0.999999;
  constexpr double kAny = 1e30;
  // What this kind does not use may be anything that can be saved with the run and read back.
  const bool sgd = o.kind == OptimizerKind::kSgd;
  const double below = sgd ? 1 : kBelowOne;
  expect_number("quantity.momentum", o.momentum, 0, sgd ? kBelowOne : kAny, 0.9);
  expect_number("quantity.beta1", o.beta1, 0, below, 0.9);
  expect_number("quantity.beta2", o.beta2, 0, below, 0.999);
  // Without ε a parameter that never got a gradient would become 0 ÷ 0.
  expect_number("quantity.epsilon", o.epsilon, sgd ? 0 : 1e-20, sgd ? kAny : 1, 1e-8);
  expect_number("quantity.weight_decay", o.weight_decay, 0, 10, 0.01);
}

double gradient_norm(std::span<const TrainedTensor> tensors) {
  double sum = 0;
  for (const TrainedTensor& t : tensors) sum += t.frozen ? 0 : sum_of_squares(t.gradient);
  return std::sqrt(sum);
}

double clip_gradients(std::span<const TrainedTensor> tensors, double max_norm) {
  const double norm = gradient_norm(tensors);
  const double factor = max_norm / (norm + 1e-6);
  if (!std::isfinite(norm) || max_norm <= 0 || factor >= 1) return norm;
  for (const TrainedTensor& t : tensors) {
    for (float& cell : t.gradient) cell *= static_cast<float>(factor);
  }
  return norm;
}

Optimizer::Optimizer(const OptimizerOptions& options, std::vector<TrainedTensor> tensors)
    : options_(options), tensors_(std::move(tensors)) {
  validate(options_);
  std::int64_t place = 0;
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    check_spans(tensors_[t]);
    const auto cells = static_cast<std::int64_t>(tensors_[t].value.size());
    places_.push_back(place);
    decays_.push_back(!options_.decay_matrices_only || tensors_[t].kind == ParameterKind::kMatrix);
    for (std::int64_t first = 0; first < cells; first += kPieceCells) {
      pieces_.push_back({t, first, std::min(kPieceCells, cells - first), place + first});
    }
    place += (cells + kAlignedCells - 1) / kAlignedCells * kAlignedCells;
  }
  for (std::size_t m = 0; m < moment_names().size(); ++m) {
    moments_[m].assign(static_cast<std::size_t>(place), 0.0f);
  }
}

void Optimizer::step(double learning_rate, ThreadPool* pool) {
  ++steps_;
  const auto count = static_cast<std::int64_t>(pieces_.size());
  if (pool) {
    pool->parallel_for(count, [&](std::int64_t piece, int) {
      update(pieces_[static_cast<std::size_t>(piece)], learning_rate);
    });
    return;
  }
  const FlushDenormals flush;
  for (const Piece& piece : pieces_) update(piece, learning_rate);
}

void Optimizer::update(const Piece& piece, double learning_rate) {
  const TrainedTensor& t = tensors_[piece.tensor];
  if (t.frozen) return;
  float* p = t.value.data() + piece.first;
  const float* g = t.gradient.data() + piece.first;
  const double decay = this->decay(piece.tensor);
  if (options_.kind != OptimizerKind::kSgd) {
    adam(p, g, moments_[0].data() + piece.place, moments_[1].data() + piece.place, piece.count,
         adam_step(options_, learning_rate, steps_, decay));
    return;
  }
  const SgdStep s = {static_cast<float>(learning_rate), static_cast<float>(decay),
                     static_cast<float>(options_.momentum)};
  if (options_.momentum == 0) return sgd(p, g, piece.count, s);
  sgd_momentum(p, g, moments_[0].data() + piece.place, piece.count, s);
}

void Optimizer::reset() {
  steps_ = 0;
  for (FloatBuffer& moment : moments_) std::fill(moment.begin(), moment.end(), 0.0f);
}

std::vector<std::string_view> Optimizer::moment_names() const {
  if (options_.kind != OptimizerKind::kSgd) return {".exp_avg", ".exp_avg_sq"};
  if (options_.momentum > 0) return {".momentum"};
  return {};
}

std::vector<NamedArray> Optimizer::state() const {
  const std::vector<std::string_view> names = moment_names();
  std::vector<NamedArray> arrays;
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    for (std::size_t m = 0; m < names.size(); ++m) {
      const float* cells = moments_[m].data() + places_[t];
      arrays.push_back({tensors_[t].name + std::string(names[m]), tensors_[t].shape,
                        std::span<const float>(cells, tensors_[t].value.size())});
    }
  }
  return arrays;
}

void Optimizer::restore(std::int64_t steps, std::span<const NamedArray> state) {
  const auto refuse = [](const char* id, const std::string& name) {
    throw Error(Message{id, {{"name", name}}});
  };
  if (steps < 0) {
    throw Error(Message{"optimizer.negative_step", {{"steps", std::to_string(steps)}}});
  }
  std::map<std::string_view, const NamedArray*> given;
  for (const NamedArray& array : state) given[array.name] = &array;
  const std::vector<NamedArray> own = this->state();
  for (const NamedArray& array : own) {
    const auto found = given.find(array.name);
    if (found == given.end()) refuse("optimizer.missing", array.name);
    if (found->second->shape != array.shape || found->second->data.index() != 0 ||
        element_count(*found->second) != element_count(array)) {
      refuse("optimizer.shape", array.name);
    }
    given.erase(found);
  }
  if (!given.empty()) refuse("optimizer.unknown", std::string(given.begin()->first));
  for (const NamedArray& array : state) given[array.name] = &array;
  const std::size_t moments = moment_names().size();
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto cells = std::get<std::span<const float>>(given.at(own[i].name)->data);
    std::copy(cells.begin(), cells.end(), moments_[i % moments].begin() + places_[i / moments]);
  }
  steps_ = steps;
}

}  // namespace headlight
