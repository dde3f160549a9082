// Groups of calls that the GPU backend runs as one, where a storage says so.
#include <algorithm>

#include "app/gl/compute/backend_gl.h"

namespace headlight {
std::shared_ptr<const Fusion> GlBackend::fusion_for(const Program& program) const {
  if (!fuses_) return nullptr;
  auto fusion = std::make_shared<const Fusion>(program, FusedBy::kCard);
  const auto groups = fusion->attentions();
  const bool fit = std::all_of(groups.begin(), groups.end(), [&](const FusedAttention& a) {
    return attention_.fits(GlAttentionCall(program, a));
  });
  return fit && !groups.empty() ? fusion : nullptr;
}

// The group's buffers, but for the result's. Each group keeps statistics of its own.
GlAttentionCall GlBackend::attention_call(const Program& program, const FusedAttention& a,
                                          std::span<float* const> memory) {
  GlAttentionCall c(program, a);
  c.q = read(program, a.q, memory);
  c.k = read(program, a.k, memory);
  c.v = read(program, a.v, memory);
  if (a.mask >= 0) c.mask = read(program, a.mask, memory);
  if (a.dropout >= 0) c.dropout = read(program, a.dropout, memory);
  return c;
}

// All calls of a group run at its last, the others before it do nothing.
bool GlBackend::run_fused(const Program& program, const OpCall& call,
                          std::span<float* const> memory) {
  const Fusion* fusion = at_->fusion.get();
  if (!fusion) return false;
  if (fusion->is_between(call.out)) return true;
  const FusedAttention* a = fusion->attention(call.out);
  if (!a) return false;
  GlAttentionCall c = attention_call(program, *a, memory);
  c.statistics = at_->statistics.to_write(place(a->out), c.statistics_cells());
  c.out = at_->tensors.to_write(slot_of(program, a->out), c.rows() * c.v_width);
  attention_.forward(c);
  return true;
}

// All steps of a group are taken at its first, the others that follow do nothing.
bool GlBackend::run_fused_backward(const Program& program, std::span<const BackwardCall> steps,
                                   std::span<float* const> memory,
                                   std::span<float* const> gradients) {
  const Fusion* fusion = at_->fusion.get();
  if (!fusion) return false;
  const TensorId out = program.calls[place(steps[0].call)].out;
  if (fusion->is_between(out)) return true;
  const FusedAttention* a = fusion->attention(out);
  if (!a) return false;
  GlAttentionCall c = attention_call(program, *a, memory);
  c.out = read(program, a->out, memory);
  c.statistics = at_->statistics.buffer(place(a->out));
  const auto slot = [&](TensorId id) { return at_->gradient_slots[place(id)]; };
  const auto room = [&](TensorId id) { return at_->gradient_rooms[slot(id)]; };
  GlAttentionGradients d;
  d.d_out =
      at_->gradients.to_read(slot(out), gradients[place(out)], c.rows() * c.v_width, room(out));
  const auto make = [&](std::size_t which, TensorId id, int call, int input) {
    const auto step = std::find_if(steps.begin(), steps.end(),
                                   [&](const BackwardCall& s) { return s.call == call; });
    if (step == steps.end()) return;
    const GradientUse use = step->uses[static_cast<std::size_t>(input)];
    const std::int64_t cells = cell_count(program.tensors[place(id)].axes);
    d.adds[which] = use == GradientUse::kAdded;
    if (use == GradientUse::kWritten) {
      d.d_in[which] = at_->gradients.to_write(slot(id), cells, room(id));
    } else if (d.adds[which]) {
      d.d_in[which] = at_->gradients.to_add(slot(id), gradients[place(id)], cells, room(id));
    }
  };
  make(2, a->v, a->v_call, a->v_input);
  make(0, a->q, a->q_call, 0);
  make(1, a->k, a->k_call, a->k_input);
  attention_.backward(c, d);
  return true;
}

}  // namespace headlight
