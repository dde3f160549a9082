#include "core/autodiff/backward.h"

#include <algorithm>
#include <cstdint>

#include "core/autodiff/backward_plan.h"
#include "core/base/error.h"
#include "core/graph/program_memory.h"
#include "core/graph/step_names.h"

namespace headlight {
namespace {

constexpr std::size_t kUnplaced = SIZE_MAX;

bool is_counted(const Program& program, float target) {
  return target >= 0 && target < static_cast<float>(program.outcomes());
}

std::span<const float> targets_of(const Program& program, std::span<float* const> memory) {
  return {memory[place(program.targets)],
          static_cast<std::size_t>(cell_count(program.look(program.targets).axes))};
}

}  // namespace

std::int64_t counted_targets(const Program& program, std::span<const float> targets) {
  return std::count_if(targets.begin(), targets.end(),
                       [&](float target) { return is_counted(program, target); });
}

double mean_loss(const Program& program, std::span<const float> targets, const float* losses) {
  double sum = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (is_counted(program, targets[i])) sum += losses[i];
  }
  const std::int64_t counted = counted_targets(program, targets);
  return counted > 0 ? sum / static_cast<double>(counted) : 0;
}

std::int64_t counted_targets(const Program& program, std::span<float* const> memory) {
  return counted_targets(program, targets_of(program, memory));
}

double mean_loss(const Program& program, std::span<float* const> memory) {
  return mean_loss(program, targets_of(program, memory), memory[place(program.loss)]);
}

Backward::Backward(std::shared_ptr<const Program> program, KeptGradients kept,
                   std::shared_ptr<const Fusion> fusion)
    : program_(std::move(program)), fusion_(std::move(fusion)), kept_(kept) {
  if (program_->loss < 0) throw UsageError(Message{"error.no_loss"});
  plan({program_->loss});
  lay_out({program_->loss});
}

Backward::Backward(std::shared_ptr<const Program> program, const std::vector<TensorId>& seeds,
                   KeptGradients kept)
    : program_(std::move(program)), kept_(kept) {
  for (const TensorId seed : seeds) {
    const TensorSpec& spec = program_->tensors[place(program_->resolve(seed))];
    if (spec.kind == TensorKind::kActivation) continue;
    throw UsageError(Message{"error.no_seed", {{"tensor", spec.name}}});
  }
  plan(seeds);
  lay_out(seeds);
}

// Passes after another one may add to the gradients of parameters that it left.
void Backward::plan(const std::vector<TensorId>& seeds) {
  const Program& p = *program_;
  BackwardPlan found = plan_backward(p, seeds);
  calls_ = std::move(found.calls);
  owners_ = std::move(found.owners);
  for (const TensorSpec& spec : p.tensors) names_.push_back(gradient_name(spec.name));
  adding_calls_ = calls_;
  for (BackwardCall& step : adding_calls_) {
    const OpCall& call = p.calls[place(step.call)];
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      const bool parameter = p.tensors[place(p.resolve(call.in[i]))].kind == TensorKind::kParameter;
      if (parameter && step.uses[i] == GradientUse::kWritten) step.uses[i] = GradientUse::kAdded;
    }
  }
}

// One for each activation that a gradient reaches, in the order in which they are reached.
std::vector<LiveBlock> Backward::blocks(const std::vector<TensorId>& seeds) const {
  const Program& p = *program_;
  std::vector<LiveBlock> all(p.tensors.size());
  const auto need = [&](TensorId id, std::size_t step) {
    LiveBlock& block = all[place(owners_[place(id)])];
    block.first = std::min(block.first, step);
    block.last = std::max(block.last, step);
  };
  for (const TensorId seed : seeds) {
    need(seed, 0);
    need(seed, calls_.size());  // to be looked at
  }
  std::size_t group = 0;
  for (std::size_t step = 0; step < calls_.size(); ++step) {
    const OpCall& call = p.calls[place(calls_[step].call)];
    if (fusion_ && fusion_->attention(call.out)) group = step;
    const std::size_t now = is_between(call.out) ? group : step;  // a group runs at its first step
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      const bool between = is_between(p.resolve(call.in[i]));
      if (calls_[step].uses[i] != GradientUse::kNone && !between) need(call.in[i], now);
    }
    if (!is_between(call.out)) need(call.out, now);
  }
  std::vector<LiveBlock> needed;
  for (std::size_t id = 0; id < all.size(); ++id) {
    LiveBlock& block = all[id];
    if (block.first == SIZE_MAX || p.tensors[id].kind != TensorKind::kActivation) continue;
    block.owner = static_cast<TensorId>(id);
    block.cells = padded_cells(cell_count(p.tensors[id].axes));
    if (kept_ == KeptGradients::kAll) block.last = calls_.size();
    needed.push_back(block);
  }
  std::stable_sort(needed.begin(), needed.end(),
                   [](const LiveBlock& a, const LiveBlock& b) { return a.first < b.first; });
  return needed;
}

// Parameters first; then the activations, each at the lowest place that no other needs at the same
// time; then zeros for what no gradient reaches.
Backward::Layout Backward::find_layout(const std::vector<TensorId>& seeds) {
  const Program& p = *program_;
  Layout found{std::vector<std::size_t>(p.tensors.size(), kUnplaced)};
  std::vector<std::size_t>& offsets = found.offsets;
  shown_.assign(p.tensors.size(), true);
  for (std::size_t id = 0; id < p.tensors.size(); ++id) {
    if (p.tensors[id].kind != TensorKind::kParameter) continue;
    offsets[id] = parameter_cells_;
    parameter_cells_ += padded_cells(cell_count(p.tensors[id].axes));
  }
  std::vector<LiveBlock> needed = blocks(seeds);
  found.end = place_blocks(needed, parameter_cells_);
  for (const LiveBlock& block : needed) {
    offsets[place(block.owner)] = block.offset;
    shown_[place(block.owner)] = block.last == calls_.size();
  }
  for (std::size_t id = 0; id < p.tensors.size(); ++id) {
    const TensorSpec& spec = p.tensors[id];
    const bool unreached = offsets[place(owners_[id])] == kUnplaced;
    if (is_between(static_cast<TensorId>(id))) shown_[id] = false;
    if (unreached && shown_[id] && spec.kind == TensorKind::kActivation) {
      found.zeros = std::max(found.zeros, padded_cells(cell_count(spec.axes)));
    }
  }
  return found;
}

void Backward::lay_out(const std::vector<TensorId>& seeds) {
  const Program& p = *program_;
  const auto [offsets, end, zeros] = find_layout(seeds);
  arena_.assign(end + zeros, 0.0f);
  for (const TensorId owner : owners_) {
    const bool input = p.tensors[place(owner)].kind == TensorKind::kInput;
    const std::size_t offset = offsets[place(owner)];
    gradients_.push_back(input ? nullptr : arena_.data() + (offset == kUnplaced ? end : offset));
  }
}

std::span<float> Backward::seed(TensorId id) {
  return {gradients_[place(id)], static_cast<std::size_t>(gradient(id).size())};
}

void Backward::seed_loss(std::span<float* const> memory, std::int64_t counted, double scale) {
  const auto targets = targets_of(*program_, memory);
  const std::span<float> seeds = seed(program_->loss);
  const float share = counted > 0 ? static_cast<float>(scale / static_cast<double>(counted)) : 0.0f;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    seeds[i] = is_counted(*program_, targets[i]) ? share : 0.0f;
  }
}

void Backward::run(Backend& backend, std::span<float* const> memory,
                   ParameterGradients parameters) {
  const bool adds = parameters == ParameterGradients::kAdded;
  backend.run_backward(*program_, adds ? adding_calls_ : calls_, memory, gradients_);
}

void Backward::run_calls(Backend& backend, std::span<float* const> memory, std::size_t first,
                         std::size_t count) {
  backend.run_backward(*program_, std::span(calls_).subspan(first, count), memory, gradients_);
}

double activation_gradient_cells(std::shared_ptr<const Program> program,
                                 std::shared_ptr<const Fusion> fusion) {
  Backward pass;
  pass.program_ = std::move(program);
  pass.fusion_ = std::move(fusion);
  pass.kept_ = KeptGradients::kParameters;
  const std::vector<TensorId> seeds = {pass.program_->loss};
  pass.plan(seeds);
  const Backward::Layout found = pass.find_layout(seeds);
  return static_cast<double>(found.end - pass.parameter_cells_ + found.zeros);
}

TensorView Backward::gradient(TensorId id) const {
  const bool shown = shown_[place(owners_[place(id)])];
  return {names_[place(id)], program_->tensors[place(id)].axes,
          shown ? gradients_[place(id)] : nullptr};
}

TensorView Backward::gradient(std::string_view name) const {
  return gradient(program_->require(without_gradient(name)));
}

std::size_t Backward::parameter_at(TensorId id) const {
  return static_cast<std::size_t>(gradients_[place(id)] - arena_.data());
}

}  // namespace headlight
