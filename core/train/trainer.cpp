#include "core/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "core/autodiff/backward.h"
#include "core/backends/backend.h"
#include "core/base/error.h"
#include "core/base/thread_pool.h"
#include "core/graph/program_memory.h"
#include "core/train/data/length_batches.h"
#include "core/train/storage/half_run.h"

namespace headlight {
// One thread's programs: one for each number of rows that a shard may have.
class Trainer::Worker {
 public:
  explicit Worker(const Trainer& trainer)
      : trainer_(trainer), backend_(make_fusing_backend(trainer.fusion_)) {
    if (trainer.fusion_with_memory_)
      backend_with_memory_ = make_fusing_backend(trainer.fusion_with_memory_);
  }

  // Some rows of a batch, which remember what `memory` says, and of what is to be remembered next.
  struct Part {
    const TokenBatch& batch;
    std::int64_t first = 0, rows = 0;
    const SegmentMemory& memory;
    SegmentMemory* next = nullptr;  // null: nothing
  };

  // With `backward`, finds dL/d(parameters) for L = Σ loss / counted as well: see gradient().
  BatchSum run(const Part& part, std::int64_t counted, bool backward) {
    const std::int64_t first = part.first;
    Shape& s = shape(part);
    Backend& backend = part.memory.rows > 0 ? *backend_with_memory_ : *backend_;
    if (s.half) s.half->set_parameters(trainer_.weights_read(backward));
    fill_batch(*s.program, part.batch, first, s.memory);
    fill_memory(*s.program, part.memory, first, s.memory);
    const TrainerOptions& o = trainer_.options_;
    const DropoutDraw draw{backward ? o.dropout : 0, o.seed, trainer_.optimizer_->steps(),
                           trainer_.rows_before_ + first};
    backend.set_backward_follows(backward);
    run_forward(s, backend, draw, backward);
    if (part.next) keep_memory(*s.program, s.memory, first, *part.next);
    const BatchSum sum = sum_batch(*s.program, s.memory, !backward);
    blocks_ = backend.blocks();
    if (!backward) return sum;
    s.backward.seed_loss(s.memory, counted, trainer_.scale());
    run_backward(s, backend, draw);
    return sum;
  }

  /// Of the last run.
  const BlockCount& blocks() const { return blocks_; }

  /// What the last run of that many rows found, laid out as Backward has it.
  std::span<const float> gradient(const Part& part) { return shape(part).backward.parameters(); }

  std::size_t memory_bytes() const {
    double bytes = 0;
    for (const auto& entry : shapes_) {
      bytes += static_cast<double>(entry.second->arena.size() * sizeof(float)) +
               entry.second->backward.memory_bytes();
    }
    return static_cast<std::size_t>(bytes);
  }
  /// Bytes of the tensors that a run writes, of the larger shards.
  std::size_t kept_bytes() const {
    std::size_t most = 0;
    for (const auto& entry : shapes_) most = std::max(most, entry.second->arena.size());
    return most * sizeof(float);
  }

  /// The layout of gradients, which is the same for any number of rows.
  const Backward& backward() {
    return shape({1, 0, trainer_.shape_.positions, trainer_.shape_.source}).backward;
  }

 private:
  struct Shape {
    Shape(std::shared_ptr<const Program> p, const std::shared_ptr<const Fusion>& fusion,
          const TrainerOptions& options)
        : program(std::move(p)),
          calls(calls_for(*program, program->loss)),
          backward(program, KeptGradients::kParameters, fusion) {
      if (options.checkpointing) checkpointing.emplace(*program, *fusion, calls, backward.calls());
      if (options.storage == NumberFormat::kFloat32) return;
      half.emplace(program,
                   plan_half_storage(*program, *fusion, calls, backward.calls(),
                                     checkpointing ? &*checkpointing : nullptr),
                   options.storage, arena, memory);
    }
    std::shared_ptr<const Program> program;
    std::vector<OpCall> calls;
    std::vector<TensorId> drawn;  // what dropout leaves out, but for that of segments
    FloatBuffer arena;
    std::vector<float*> memory;
    Backward backward;
    std::optional<Checkpointing> checkpointing;
    std::optional<HalfRun> half;
  };

  void run_forward(Shape& s, Backend& backend, const DropoutDraw& draw, bool keeps) {
    if (s.half) return s.half->run(backend, draw, keeps);
    fill_dropout(*s.program, s.drawn, draw, s.memory);
    if (!s.checkpointing) return backend.run(*s.program, s.calls, s.memory);
    bool first = true;
    for (const Segment& segment : s.checkpointing->segments()) {
      fill_dropout(*s.program, segment.drawn, draw, s.memory);
      if (std::exchange(first, false)) {
        backend.run(*s.program, segment.calls, s.memory);
      } else {
        backend.run_more(*s.program, segment.calls, s.memory);
      }
    }
  }

  // What the last segment made is still there.
  void run_backward(Shape& s, Backend& backend, const DropoutDraw& draw) {
    if (s.half) return s.half->run_backward(backend, s.backward, draw);
    if (!s.checkpointing) return s.backward.run(backend, s.memory);
    const auto segments = s.checkpointing->segments();
    bool there = true;
    for (std::size_t i = segments.size(); i-- > 0;) {
      const Segment& segment = segments[i];
      if (segment.takes_turns && !std::exchange(there, false)) {
        fill_dropout(*s.program, segment.drawn, draw, s.memory);
        backend.run_more(*s.program, segment.again, s.memory);
      }
      s.backward.run_calls(backend, s.memory, segment.first_back, segment.back);
    }
  }

  Shape& shape(const Part& part) {
    return shape({part.rows, part.memory.rows, part.batch.positions, part.batch.sources});
  }

  Shape& shape(const ShardSize& size) {
    std::unique_ptr<Shape>& found = shapes_[size];
    if (found) return *found;
    const auto [rows, remembered, positions, sources] = size;
    RunShape sizes = narrowed(trainer_.shape_, positions, sources);
    sizes.batch = rows;
    sizes.memory = remembered;
    found = std::make_unique<Shape>(std::make_shared<const Program>(build_training_program(
                                        trainer_.config_, sizes, trainer_.options_.dropout > 0)),
                                    trainer_.fusion(remembered), trainer_.options_);
    Shape& s = *found;
    if (!s.half) lay_out(s);
    std::size_t next = 0;
    for (std::size_t id = 0; id < s.program->tensors.size(); ++id) {
      if (s.program->tensors[id].kind == TensorKind::kParameter)
        s.memory[id] = trainer_.weights_read(false)[next++];
    }
    share_aliases(*s.program, s.memory);
    fill_own_mask(*s.program, s.memory);
    return s;
  }

  // One arena for the tensors that the calls write or read.
  void lay_out(Shape& s) const {
    const Program& p = *s.program;
    const Checkpointing* shares = s.checkpointing ? &*s.checkpointing : nullptr;
    const ActivationLayout layout =
        lay_out_activations(p, s.calls, *trainer_.fusion(p.shape.memory), shares);
    s.arena.resize(static_cast<std::size_t>(layout.cells()));
    s.memory.assign(p.tensors.size(), nullptr);
    for (std::size_t id = 0; id < p.tensors.size(); ++id) {
      if (layout.offsets[id] >= 0)
        s.memory[id] = s.arena.data() + static_cast<std::size_t>(layout.offsets[id]);
    }
    for (const TensorId id : p.dropout) {
      if (!shares || shares->segment_of(id) < 0) s.drawn.push_back(id);
    }
  }

  const Trainer& trainer_;
  std::unique_ptr<Backend> backend_, backend_with_memory_;
  BlockCount blocks_;
  std::map<ShardSize, std::unique_ptr<Shape>> shapes_;
};

Trainer::Trainer(const Config& config, std::int64_t vocab, std::int64_t positions,
                 std::vector<Tensor> parameters, const TrainerOptions& options)
    : Trainer(config, RunShape{1, positions, vocab}, std::move(parameters), options) {}

Trainer::Trainer(const Config& config, const RunShape& shape, std::vector<Tensor> parameters,
                 const TrainerOptions& options)
    : Learner(config, shape, std::move(parameters), options) {
  pool_ = std::make_unique<ThreadPool>(options.threads);
  const Program program = build_training_program(config_, shape_, options_.dropout > 0);
  fusion_ = std::make_shared<const Fusion>(program);
  if (config_.memory > 0) {
    RunShape sizes = shape_;
    sizes.memory = config_.memory;
    fusion_with_memory_ = std::make_shared<const Fusion>(
        build_training_program(config_, sizes, options_.dropout > 0));
  }
  // Backends only write the outputs of calls, and no call writes a parameter.
  for (Tensor& tensor : parameters_) weights_.push_back(tensor.data.data());
  if (options_.storage != NumberFormat::kFloat32) {
    rounded_.resize(static_cast<std::size_t>(parameter_count()));
    float* next = rounded_.data();
    for (Tensor& tensor : parameters_) {
      rounded_weights_.push_back(next);
      next += tensor.data.size();
    }
  }
  for (int i = 0; i < pool_->threads(); ++i) workers_.push_back(std::make_unique<Worker>(*this));
  const Backward& layout = workers_[0]->backward();
  gradient_.resize(layout.parameters().size(), pool_->threads());
  std::vector<std::span<float>> gradients;
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    if (program.tensors[id].kind != TensorKind::kParameter) continue;
    const std::size_t cells = parameters_[gradients.size()].data.size();
    gradients.push_back(
        gradient_.cells().subspan(layout.parameter_at(static_cast<TensorId>(id)), cells));
  }
  make_optimizer(gradients);
}

Trainer::~Trainer() = default;

std::span<const float> Trainer::gradient(std::size_t parameter) const {
  return optimizer_->tensors()[parameter].gradient;
}

// The first shards take a row more where the rows do not divide.
void Trainer::set_sizes(std::int64_t rows) {
  const std::int64_t shards = std::clamp<std::int64_t>(options_.shards, 1, rows);
  shard_first_.assign(1, 0);
  for (std::int64_t s = 0; s < shards; ++s)
    shard_first_.push_back(shard_first_.back() + rows / shards + (s < rows % shards));
  shard_sum_.assign(static_cast<std::size_t>(shards), {});
  shard_blocks_.assign(static_cast<std::size_t>(shards), {});
}

BatchSum Trainer::run_shards(const TokenBatch& batch, bool backward, std::int64_t counted,
                             bool fresh) {
  Memories& memories = backward ? training_ : evaluation_;
  const SegmentMemory& memory = begin_segment(memories, batch);
  SegmentMemory* next = config_.memory > 0 ? &memories.next : nullptr;
  set_sizes(batch.rows);
  const auto shards = static_cast<std::int64_t>(shard_sum_.size());
  if (backward) gradient_.begin(fresh);
  pool_->parallel_for(shards, [&](std::int64_t shard, int worker) {
    const auto s = static_cast<std::size_t>(shard);
    const std::int64_t rows = shard_first_[s + 1] - shard_first_[s];
    Worker& own = *workers_[static_cast<std::size_t>(worker)];
    const Worker::Part part{batch, shard_first_[s], rows, memory, next};
    if (!backward) {
      shard_sum_[s] = own.run(part, counted, false);
      return;
    }
    ShardTurn turn(gradient_, shard);
    shard_sum_[s] = own.run(part, counted, true);
    shard_blocks_[s] = own.blocks();
    turn.found(own.gradient(part));
  });
  std::swap(memories.now, memories.next);
  BatchSum sum;
  for (const BatchSum& part : shard_sum_) {
    sum.loss += part.loss;
    sum.counted += part.counted;
    sum.correct += part.correct;
    sum.rows += part.rows;
    sum.rows_correct += part.rows_correct;
    sum.hidden.loss += part.hidden.loss;
    sum.hidden.counted += part.hidden.counted;
    sum.hidden.correct += part.hidden.correct;
    sum.chosen.insert(sum.chosen.end(), part.chosen.begin(), part.chosen.end());
  }
  return sum;
}

// What the rows of a batch remember: of one that follows what the batch before left, else nothing.
// Makes room for what it leaves in turn.
const SegmentMemory& Trainer::begin_segment(Memories& memories, const TokenBatch& batch) {
  if (config_.memory == 0) return memories.now;
  if (!batch.follows) memories.now.rows = 0;
  if (batch.follows && memories.now.batch != batch.rows) {
    throw Error(Message{
        "error.memory_follows",
        {{"rows", std::to_string(memories.now.batch)}, {"got", std::to_string(batch.rows)}}});
  }
  make_room(config_, memories.now, batch.rows, shape_.positions, memories.next);
  return memories.now;
}

std::vector<NamedArray> Trainer::memory() const {
  std::vector<NamedArray> arrays;
  const SegmentMemory& now = training_.now;
  for (std::size_t l = 0; now.rows > 0 && l < now.layers.size(); ++l) {
    const FloatBuffer& cells = now.layers[l];
    arrays.push_back({"memory." + std::to_string(l),
                      {now.batch, now.rows, config_.d_model},
                      std::span<const float>(cells)});
  }
  return arrays;
}

void Trainer::restore_memory(std::span<const NamedArray> arrays) {
  SegmentMemory found;
  for (int l = 0; !arrays.empty() && l < config_.layers; ++l) {
    const std::string name = "memory." + std::to_string(l);
    const auto array = std::ranges::find(arrays, name, &NamedArray::name);
    const bool fits = array != arrays.end() && array->shape.size() == 3 &&
                      array->shape[2] == config_.d_model && array->shape[1] <= config_.memory &&
                      (l == 0 || (array->shape[0] == found.batch && array->shape[1] == found.rows));
    if (!fits) throw Error(Message{"error.memory_state", {{"name", name}}});
    found.batch = array->shape[0];
    found.rows = array->shape[1];
    const auto& cells = std::get<std::span<const float>>(array->data);
    found.layers.emplace_back(cells.begin(), cells.end());
  }
  training_.now = std::move(found);
}

// Which thread meets which shard is chance. So that no later step allocates, each meets each size
// once before the first.
void Trainer::meet_sizes(const TokenBatch& batch) {
  const SegmentMemory& memory = begin_segment(training_, batch);
  set_sizes(batch.rows);
  for (std::size_t s = 0; s + 1 < shard_first_.size(); ++s) {
    const std::int64_t first = shard_first_[s], rows = shard_first_[s + 1] - first;
    const ShardSize size{rows, memory.rows, batch.positions, batch.sources};
    if (std::find(sizes_met_.begin(), sizes_met_.end(), size) != sizes_met_.end()) continue;
    sizes_met_.push_back(size);
    for (const auto& worker : workers_) worker->run({batch, first, rows, memory}, 1, true);
  }
}

// What a step computes with; whoever wrote the weights since the one before.
void Trainer::round_weights() {
  for (std::size_t p = 0; p < rounded_weights_.size(); ++p)
    round_to(options_.storage, parameters_[p].data, rounded_weights_[p]);
}

TrainStep Trainer::step(std::span<const TokenBatch> batches) {
  TrainStep result = begin(batches);
  round_weights();
  rows_before_ = 0;
  blocks_ = {};
  for (std::size_t b = 0; b < batches.size(); ++b) {
    meet_sizes(batches[b]);
    const BatchSum sum = run_shards(batches[b], true, result.counted, b == 0);
    result.loss += sum.loss;
    result.hidden_loss += mean_hidden(sum) * static_cast<double>(sum.counted);
    rows_before_ += batches[b].rows;
    for (const BlockCount& blocks : shard_blocks_) blocks_ += blocks;
  }
  result.loss /= static_cast<double>(result.counted);
  result.hidden_loss /= static_cast<double>(result.counted);
  result.loss += result.hidden_loss;
  const auto share = static_cast<float>(1 / scale());
  for (float& cell : gradient_.cells().subspan(0, share == 1 ? 0 : gradient_.size())) cell *= share;
  result.gradient_norm = clip_gradients(optimizer_->tensors(), options_.clip);
  const bool finite = std::isfinite(result.loss) && std::isfinite(result.gradient_norm);
  if (options_.storage == NumberFormat::kFloat16) {
    result.loss_scale = scale();
    result.skipped = !finite && loss_scale_.can_fall();
    loss_scale_.meet(finite);
  }
  if (finite) optimizer_->step(result.learning_rate, pool_.get());
  if (result.skipped) optimizer_->count_step();
  return result;
}

Evaluation Trainer::evaluate(const TokenBatch& batch) {
  check_batch(batch, config_, shape_);
  return evaluation_of(run_shards(batch, false, 1, false));
}

// Weights, gradients and moments.
std::size_t Trainer::model_bytes() const {
  std::size_t cells = 2 * gradient_.size();
  for (const NamedArray& moment : optimizer_->state()) cells += element_count(moment);
  return (cells + rounded_.size()) * sizeof(float);
}

std::size_t Trainer::memory_bytes() const {
  std::size_t bytes = model_bytes() + gradient_.memory_bytes() - gradient_.size() * sizeof(float);
  for (const auto& worker : workers_) bytes += worker->memory_bytes();
  return bytes;
}

std::size_t Trainer::needed_bytes() const { return model_bytes() + activation_bytes(); }

std::size_t Trainer::activation_bytes() const {
  std::size_t bytes = 0;
  for (const auto& worker : workers_) bytes += worker->kept_bytes();
  return bytes;
}

}  // namespace headlight
