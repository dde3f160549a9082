#include "core/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "core/backend.h"
#include "core/backward.h"
#include "core/error.h"
#include "core/program_memory.h"

namespace headlight {

// One thread's programs: one for each number of rows that a shard may have.
class Trainer::Worker {
 public:
  explicit Worker(const Trainer& trainer) : trainer_(trainer), backend_(make_eigen_backend(1)) {}

  // Runs the rows of a batch from `first` on. With `gradient`, which is laid out as Backward has
  // it, writes dL/d(parameters) there for L = Σ loss / counted.
  ShardSum run(const TokenBatch& batch, std::int64_t first, std::int64_t rows, std::int64_t counted,
               float* gradient) {
    Shape& s = shape(rows);
    fill_inputs(s, batch, first, rows);
    backend_->run(*s.program, s.calls, s.memory);
    const ShardSum sum = add_up(s, rows, !gradient);
    if (!gradient) return sum;
    s.backward.seed_loss(s.memory, counted);
    s.backward.run(*backend_, s.memory);
    const std::span<const float> cells = s.backward.parameters();
    std::copy(cells.begin(), cells.end(), gradient);
    return sum;
  }

  std::size_t memory_bytes() const {
    double bytes = 0;
    for (const auto& entry : shapes_) {
      bytes += static_cast<double>(entry.second->arena.size() * sizeof(float)) +
               entry.second->backward.memory_bytes();
    }
    return static_cast<std::size_t>(bytes);
  }

  /// The layout of gradients, which is the same for any number of rows.
  const Backward& backward(std::int64_t rows) { return shape(rows).backward; }

 private:
  struct Shape {
    explicit Shape(std::shared_ptr<const Program> p)
        : program(std::move(p)),
          calls(calls_for(*program, program->loss)),
          backward(program, KeptGradients::kParameters) {}
    std::shared_ptr<const Program> program;
    std::vector<OpCall> calls;
    FloatBuffer arena;
    std::vector<float*> memory;
    Backward backward;
  };

  Shape& shape(std::int64_t rows) {
    std::unique_ptr<Shape>& found = shapes_[rows];
    if (found) return *found;
    const RunShape sizes{rows, trainer_.positions_, trainer_.vocab_};
    found = std::make_unique<Shape>(
        std::make_shared<const Program>(build_training_program(trainer_.config_, sizes)));
    Shape& s = *found;
    s.arena.resize(arena_cells(*s.program));
    s.memory.assign(s.program->tensors.size(), nullptr);
    lay_out(*s.program, s.arena.data(), s.memory);
    std::size_t next = 0;
    for (std::size_t id = 0; id < s.program->tensors.size(); ++id) {
      if (s.program->tensors[id].kind != TensorKind::kParameter) continue;
      // Backends only write the outputs of calls, and no call writes a parameter.
      s.memory[id] = const_cast<float*>(trainer_.parameters_[next++].data.data());
    }
    share_aliases(*s.program, s.memory);
    fill_masks(s, rows);
    return s;
  }

  void fill_masks(const Shape& s, std::int64_t rows) const {
    if (s.program->mask < 0) return;
    const std::int64_t n = trainer_.positions_;
    float* mask = s.memory[static_cast<std::size_t>(s.program->mask)];
    fill_mask(trainer_.config_.mask, static_cast<int>(n), mask);
    for (std::int64_t r = 1; r < rows; ++r) std::copy_n(mask, n * n, mask + r * n * n);
  }

  static void fill_inputs(const Shape& s, const TokenBatch& batch, std::int64_t first,
                          std::int64_t rows) {
    const auto begin = static_cast<std::size_t>(first * batch.positions);
    const auto count = static_cast<std::size_t>(rows * batch.positions);
    float* ids = s.memory[static_cast<std::size_t>(s.program->token_ids)];
    float* targets = s.memory[static_cast<std::size_t>(s.program->targets)];
    for (std::size_t i = 0; i < count; ++i) {
      ids[i] = static_cast<float>(batch.tokens[begin + i]);
      targets[i] = static_cast<float>(batch.targets[begin + i]);
    }
  }

  ShardSum add_up(const Shape& s, std::int64_t rows, bool compare) const {
    const float* loss = s.memory[static_cast<std::size_t>(s.program->loss)];
    const float* targets = s.memory[static_cast<std::size_t>(s.program->targets)];
    const float* logits = s.memory[static_cast<std::size_t>(s.program->require("logits"))];
    const std::int64_t vocab = trainer_.vocab_;
    ShardSum sum;
    for (std::int64_t i = 0; i < rows * trainer_.positions_; ++i) {
      if (targets[i] < 0) continue;
      sum.loss += loss[i];
      ++sum.counted;
      if (!compare) continue;
      const float* row = logits + i * vocab;
      sum.correct +=
          row + static_cast<std::int64_t>(targets[i]) == std::max_element(row, row + vocab);
    }
    return sum;
  }

  const Trainer& trainer_;
  std::unique_ptr<Backend> backend_;
  std::map<std::int64_t, std::unique_ptr<Shape>> shapes_;
};

namespace {

// The parameters in the order of the program, whatever order they came in.
std::vector<Tensor> in_order(const Program& program, std::vector<Tensor> given) {
  std::unordered_map<std::string, Tensor*> by_name;
  for (Tensor& tensor : given) by_name[tensor.name] = &tensor;
  std::vector<Tensor> ordered;
  for (const TensorSpec& spec : program.tensors) {
    if (spec.kind != TensorKind::kParameter) continue;
    const auto found = by_name.find(spec.name);
    if (found == by_name.end())
      throw Error(Message{"train.missing_parameter", {{"name", spec.name}}});
    if (found->second->axes != spec.axes) {
      throw Error(Message{"train.parameter_shape",
                          {{"name", spec.name},
                           {"expected", shape_text(spec.axes)},
                           {"got", shape_text(found->second->axes)}}});
    }
    ordered.push_back(std::move(*found->second));
    by_name.erase(found);
  }
  if (!by_name.empty())
    throw Error(Message{"train.unknown_parameter", {{"name", by_name.begin()->first}}});
  return ordered;
}

std::vector<std::int64_t> sizes_of(std::span<const Axis> axes) {
  std::vector<std::int64_t> sizes;
  for (const Axis& axis : axes) sizes.push_back(axis.size);
  return sizes;
}

}  // namespace

Trainer::Trainer(const Config& config, std::int64_t vocab, std::int64_t positions,
                 std::vector<Tensor> parameters, const TrainerOptions& options)
    : config_(config),
      vocab_(vocab),
      positions_(positions),
      options_(options),
      pool_(options.threads) {
  validate(options_.schedule);
  const Program program = build_training_program(config_, {1, positions_, vocab_});
  parameters_ = in_order(program, std::move(parameters));
  for (int i = 0; i < pool_.threads(); ++i) workers_.push_back(std::make_unique<Worker>(*this));
  const Backward& layout = workers_[0]->backward(1);
  gradient_.assign(layout.parameters().size(), 0.0f);
  std::vector<TrainedTensor> trained;
  std::size_t next = 0;
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    if (program.tensors[id].kind != TensorKind::kParameter) continue;
    Tensor& p = parameters_[next++];
    const std::span<float> gradient(
        gradient_.data() + layout.parameter_at(static_cast<TensorId>(id)), p.data.size());
    trained.push_back({p.name, sizes_of(p.axes), {p.data.data(), p.data.size()}, gradient});
  }
  optimizer_ = std::make_unique<Optimizer>(options_.optimizer, std::move(trained));
}

Trainer::~Trainer() = default;

std::span<const float> Trainer::gradient(std::size_t parameter) const {
  return optimizer_->tensors()[parameter].gradient;
}

// Everything that the loops below trust.
void Trainer::check(const TokenBatch& batch) const {
  const auto cells = static_cast<std::size_t>(batch.rows * batch.positions);
  const bool fits = batch.rows > 0 && batch.positions == positions_ &&
                    batch.tokens.size() == cells && batch.targets.size() == cells;
  if (!fits) {
    throw Error(Message{"train.batch_shape",
                        {{"positions", std::to_string(positions_)},
                         {"got", std::to_string(batch.positions)},
                         {"rows", std::to_string(batch.rows)}}});
  }
  const auto outside = [&](int id) { return id < 0 || id >= vocab_; };
  for (std::size_t i = 0; i < cells; ++i) {
    const int bad = outside(batch.tokens[i])                              ? batch.tokens[i]
                    : batch.targets[i] != -1 && outside(batch.targets[i]) ? batch.targets[i]
                                                                          : -1;
    const bool wrong = outside(batch.tokens[i]) || bad != -1 || batch.targets[i] < -1;
    if (wrong) {
      throw Error(Message{"train.unknown_id",
                          {{"id", std::to_string(batch.targets[i] < -1 ? batch.targets[i] : bad)},
                           {"last", std::to_string(vocab_ - 1)}}});
    }
  }
}

// The first shards take a row more where the rows do not divide.
void Trainer::set_sizes(std::int64_t rows) {
  const std::int64_t shards = std::clamp<std::int64_t>(options_.shards, 1, rows);
  shard_first_.assign(1, 0);
  for (std::int64_t s = 0; s < shards; ++s)
    shard_first_.push_back(shard_first_.back() + rows / shards + (s < rows % shards));
  shard_sum_.assign(static_cast<std::size_t>(shards), {});
}

Trainer::ShardSum Trainer::run_shards(const TokenBatch& batch, bool backward,
                                      std::int64_t counted) {
  set_sizes(batch.rows);
  const auto shards = static_cast<std::int64_t>(shard_sum_.size());
  if (backward && shard_gradient_.size() < shard_sum_.size()) {
    shard_gradient_.resize(shard_sum_.size());
    for (FloatBuffer& g : shard_gradient_) g.resize(gradient_.size());
  }
  pool_.parallel_for(shards, [&](std::int64_t shard, int worker) {
    const auto s = static_cast<std::size_t>(shard);
    shard_sum_[s] = workers_[static_cast<std::size_t>(worker)]->run(
        batch, shard_first_[s], shard_first_[s + 1] - shard_first_[s], counted,
        backward ? shard_gradient_[s].data() : nullptr);
  });
  ShardSum sum;
  for (const ShardSum& part : shard_sum_) {
    sum.loss += part.loss;
    sum.counted += part.counted;
    sum.correct += part.correct;
  }
  return sum;
}

// Shard after shard, cell by cell: the order does not depend on who computed what.
void Trainer::add_up_gradients(bool first) {
  constexpr std::int64_t kCells = 4096;
  const auto cells = static_cast<std::int64_t>(gradient_.size());
  const auto shards = shard_sum_.size();
  pool_.parallel_for((cells + kCells - 1) / kCells, [&](std::int64_t piece, int) {
    const std::int64_t begin = piece * kCells, end = std::min(cells, begin + kCells);
    float* sum = gradient_.data();
    if (first) std::fill(sum + begin, sum + end, 0.0f);
    for (std::size_t s = 0; s < shards; ++s) {
      const float* part = shard_gradient_[s].data();
      for (std::int64_t i = begin; i < end; ++i) sum[i] += part[i];
    }
  });
}

TrainStep Trainer::step(std::span<const TokenBatch> batches) {
  std::int64_t counted = 0;
  for (const TokenBatch& batch : batches) {
    check(batch);
    counted += std::count_if(batch.targets.begin(), batch.targets.end(),
                             [](int target) { return target >= 0; });
  }
  if (counted == 0) throw Error(Message{"train.nothing_counted"});
  TrainStep result;
  result.step = optimizer_->steps();
  result.counted = counted;
  result.learning_rate = learning_rate(options_.schedule, result.step);
  for (std::size_t b = 0; b < batches.size(); ++b) {
    result.loss += run_shards(batches[b], true, counted).loss;
    add_up_gradients(b == 0);
  }
  result.loss /= static_cast<double>(counted);
  result.gradient_norm = clip_gradients(optimizer_->tensors(), options_.clip);
  if (std::isfinite(result.loss) && std::isfinite(result.gradient_norm))
    optimizer_->step(result.learning_rate, &pool_);
  return result;
}

Evaluation Trainer::evaluate(const TokenBatch& batch) {
  check(batch);
  const ShardSum sum = run_shards(batch, false, 1);
  const auto counted = static_cast<double>(std::max<std::int64_t>(sum.counted, 1));
  return {sum.loss / counted, sum.counted, sum.correct};
}

std::size_t Trainer::memory_bytes() const {
  std::size_t floats = 3 * gradient_.size();  // weights, gradients, and as many moments at least
  for (const FloatBuffer& g : shard_gradient_) floats += g.size();
  std::size_t bytes = floats * sizeof(float);
  for (const auto& worker : workers_) bytes += worker->memory_bytes();
  return bytes;
}

std::size_t Trainer::needed_bytes() const { return memory_bytes(); }

}  // namespace headlight
