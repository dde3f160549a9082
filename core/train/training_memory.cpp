#include "core/train/training_memory.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>

#include "core/autodiff/backward.h"
#include "core/autodiff/backward_plan.h"
#include "core/train/data/length_batches.h"
#include "core/train/storage/half_run.h"

namespace headlight {
namespace {

double cells_in(const TensorSpec& spec) {
  double cells = 1;
  for (const Axis& axis : spec.axes) cells *= static_cast<double>(axis.size);
  return cells;
}

double padded_cells(const TensorSpec& spec) {
  constexpr double kLine = kTensorAlignment / sizeof(float);
  return std::ceil(cells_in(spec) / kLine) * kLine;
}

// Floats that a program takes for inputs and activations.
double own_cells(const Program& program, const Fusion& fusion, const TrainerOptions& options) {
  const std::vector<OpCall> calls = calls_for(program, program.loss);
  const TensorId seeds[] = {program.loss};
  const BackwardPlan back = plan_backward(program, seeds);
  std::optional<Checkpointing> shares;
  if (options.checkpointing) shares.emplace(program, fusion, calls, back.calls);
  const Checkpointing* const shared = shares ? &*shares : nullptr;
  if (options.storage == NumberFormat::kFloat32)
    return lay_out_activations(program, calls, fusion, shared).cells();
  return static_cast<double>(plan_half_storage(program, fusion, calls, back.calls, shared).cells());
}

// With their gradients, where not all are kept as they are.
double planned_cells(std::shared_ptr<const Program> program, const TrainerOptions& options) {
  auto fusion = std::make_shared<const Fusion>(*program);
  const double own = own_cells(*program, *fusion, options);
  return own + activation_gradient_cells(std::move(program), std::move(fusion));
}

std::int64_t shards_of(const TrainerOptions& options, std::int64_t rows) {
  return std::clamp<std::int64_t>(options.shards, 1, rows);
}

// The program of the shards that have the most rows.
Program shard_program(const Config& config, RunShape shape, const TrainerOptions& options,
                      std::int64_t rows) {
  const std::int64_t shards = shards_of(options, rows);
  shape.batch = (rows + shards - 1) / shards;
  shape.memory = config.memory;
  return build_training_program(config, shape, options.dropout > 0);
}

double workers_of(const TrainerOptions& options, std::int64_t rows) {
  return static_cast<double>(std::min<std::int64_t>(options.threads, shards_of(options, rows)));
}

// The same of all programs of a run: for every number of rows that a shard has, and for the one row
// by which a trainer is laid out.
double planned_cells(const Config& config, const RunShape& shape, const TrainerOptions& options,
                     std::int64_t rows, double workers) {
  const auto cells_of = [&](std::int64_t of_shard, std::int64_t memory) {
    RunShape sizes = shape;
    sizes.batch = of_shard;
    sizes.memory = memory;
    return planned_cells(
        std::make_shared<const Program>(build_training_program(config, sizes, options.dropout > 0)),
        options);
  };
  const std::int64_t shards = shards_of(options, rows);
  const std::set sizes{rows / shards, (rows + shards - 1) / shards};
  double cells = sizes.contains(1) ? 0 : cells_of(1, 0);
  for (const std::int64_t of_shard : sizes) {
    for (const std::int64_t memory : std::set<std::int64_t>{0, config.memory})
      cells += workers * cells_of(of_shard, memory);
  }
  return cells;
}

// Without: at most half as much again for their gradients, which share memory
// (KeptGradients::kParameters).
double kept_cells(const Program& program) {
  const Fusion fusion(program);
  double cells = 0;
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const TensorSpec& spec = program.tensors[id];
    const bool own = spec.kind != TensorKind::kAlias && spec.kind != TensorKind::kParameter;
    if (own && !fusion.is_left_out(static_cast<TensorId>(id))) cells += cells_in(spec);
  }
  return 1.5 * cells;
}

}  // namespace

ActivationLayout lay_out_activations(const Program& p, std::span<const OpCall> calls,
                                     const Fusion& fusion, const Checkpointing* checkpointing) {
  std::vector<bool> used(p.tensors.size(), false);
  for (const OpCall& call : calls) used[place(call.out)] = !fusion.is_left_out(call.out);
  ActivationLayout layout;
  layout.offsets.assign(p.tensors.size(), -1);
  std::vector<double> taken(checkpointing ? checkpointing->segments().size() : 0, 0);
  for (std::size_t id = 0; id < p.tensors.size(); ++id) {
    if (!used[id] && p.tensors[id].kind != TensorKind::kInput) continue;
    const int segment = checkpointing ? checkpointing->segment_of(static_cast<TensorId>(id)) : -1;
    double& end = segment < 0 ? layout.kept : taken[static_cast<std::size_t>(segment)];
    layout.offsets[id] = end;
    end += padded_cells(p.tensors[id]);
  }
  for (const double cells : taken) layout.shared = std::max(layout.shared, cells);
  for (std::size_t id = 0; checkpointing && id < p.tensors.size(); ++id) {
    const bool shares = checkpointing->segment_of(static_cast<TensorId>(id)) >= 0;
    if (shares && layout.offsets[id] >= 0) layout.offsets[id] += layout.kept;
  }
  return layout;
}

TrainingMemory training_memory(const Config& config, const RunShape& shape,
                               const TrainerOptions& options, std::int64_t rows, bool narrow) {
  const Program program = shard_program(config, shape, options, rows);
  double parameters = 0;
  for (const TensorSpec& spec : program.tensors) {
    if (spec.kind == TensorKind::kParameter) parameters += cells_in(spec);
  }
  const double workers = workers_of(options, rows);
  const bool sgd = options.optimizer.kind == OptimizerKind::kSgd;
  const double moments = !sgd ? 2 : options.optimizer.momentum > 0 ? 1 : 0;
  const double copies = options.threads > 1 ? options.threads : 0;  // of GradientSum
  const double saved = 2 * (1 + moments);  // a copy, and the files made of it
  const bool half = options.storage != NumberFormat::kFloat32;
  double activations = options.checkpointing || half
                           ? planned_cells(config, shape, options, rows, workers)
                           : workers * kept_cells(program);
  // Programs of every width, as a rule eighths of the widest: at most the sum of those.
  if (narrow && reads_narrow_batches(config)) activations *= (kBatchWidths + 1) / 2.0;
  const double bytes = parameters * sizeof(float);
  TrainingMemory memory;
  memory.weights = half ? 2 * bytes : bytes;  // with those rounded to 16 bits
  memory.gradients = bytes * (1 + copies + workers);
  memory.moments = bytes * moments;
  memory.activations = activations * sizeof(float);
  memory.saving = bytes * saved;
  return memory;
}

double training_memory_needed(const Config& config, const RunShape& shape,
                              const TrainerOptions& options, std::int64_t rows, bool narrow) {
  return training_memory(config, shape, options, rows, narrow).total();
}

double kept_activation_bytes(const Config& config, const RunShape& shape,
                             const TrainerOptions& options, std::int64_t rows) {
  const Program program = shard_program(config, shape, options, rows);
  return workers_of(options, rows) * own_cells(program, Fusion(program), options) * sizeof(float);
}

}  // namespace headlight
