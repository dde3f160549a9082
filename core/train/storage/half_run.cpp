#include "core/train/storage/half_run.h"

#include "core/graph/program_memory.h"

namespace headlight {

HalfStorage plan_half_storage(const Program& p, const Fusion& fusion, std::span<const OpCall> calls,
                              std::span<const BackwardCall> backward, const Checkpointing* shares) {
  std::vector<TensorId> at_end = {p.loss, told_loss(p), p.logits};
  if (p.token_loss >= 0) at_end.insert(at_end.end(), {p.token_loss, p.token_logits});
  at_end.insert(at_end.end(), p.remembered.begin(), p.remembered.end());
  return HalfStorage(p, fusion, calls, backward, shares, at_end);
}

HalfRun::HalfRun(std::shared_ptr<const Program> program, HalfStorage plan, NumberFormat format,
                 FloatBuffer& arena, std::vector<float*>& memory)
    : program_(std::move(program)), plan_(std::move(plan)), format_(format), forward_(memory) {
  arena.resize(plan_.cells());
  arena_ = arena.data();
  forward_.assign(program_->tensors.size(), nullptr);
  backward_ = forward_;
  for (std::size_t id = 0; id < forward_.size(); ++id) {
    const HalfStorage::Places& at = plan_.places(static_cast<TensorId>(id));
    if (at.forward >= 0) forward_[id] = arena_ + at.forward;
    backward_[id] = at.backward >= 0 ? arena_ + at.backward : forward_[id];
  }
}

void HalfRun::set_parameters(std::span<float* const> weights) {
  std::size_t next = 0;
  for (std::size_t id = 0; id < forward_.size(); ++id) {
    if (program_->tensors[id].kind != TensorKind::kParameter) continue;
    forward_[id] = backward_[id] = weights[next++];
  }
  share_aliases(*program_, forward_);
  share_aliases(*program_, backward_);
}

std::span<float> HalfRun::cells(TensorId id, std::span<float* const> memory) const {
  return {memory[place(id)],
          static_cast<std::size_t>(cell_count(program_->tensors[place(id)].axes))};
}

void HalfRun::before(const StorageStep& step, std::span<float* const> memory,
                     const DropoutDraw& draw) {
  fill_dropout(*program_, step.drawn, draw, memory);
  for (const TensorId id : step.unpacked)
    unpack(format_, arena_ + plan_.places(id).halves, cells(id, memory));
}

void HalfRun::run(Backend& backend, const DropoutDraw& draw, bool keeps) {
  bool first = true;
  for (const StorageStep& step : plan_.forward()) {
    before(step, forward_, draw);
    if (std::exchange(first, false)) {
      backend.run(*program_, step.calls, forward_);
    } else {
      backend.run_more(*program_, step.calls, forward_);
    }
    for (const TensorId id : step.packed) {
      if (keeps) pack(format_, cells(id, forward_), arena_ + plan_.places(id).halves);
    }
  }
}

void HalfRun::run_backward(Backend& backend, Backward& pass, const DropoutDraw& draw) {
  for (const StorageStep& step : plan_.backward()) {
    before(step, backward_, draw);
    if (step.back > 0) {
      pass.run_calls(backend, backward_, step.first_back, step.back);
    } else {
      backend.run_more(*program_, step.calls, backward_);
    }
  }
}

}  // namespace headlight
