// Attention as one operation: the kernels with which training runs it as one.
#include "app/gl/compute/ops/gl_ops.h"

namespace headlight {

GlAttentionCall attention_call(const GlOpCall& c) {
  GlAttentionCall a;
  a.batch = c.size(0, 0);
  a.heads = c.size(0, 1);
  a.kv_heads = c.size(1, 1);
  a.queries = c.size(0, 2);
  a.keys = c.size(1, 2);
  a.width = c.size(0, 3);
  a.v_width = c.size(2, 3);
  a.by_head = GlByHead::kAll;
  a.has_mask = c.inputs > 3;
  a.factor = c.call.params.factor;
  a.temperature = static_cast<float>(c.call.params.temperature);
  a.q = c.in[0];
  a.k = c.in[1];
  a.v = c.in[2];
  a.mask = a.has_mask ? c.in[3] : 0;
  return a;
}

void GlOps::fused_attention(const GlOpCall& c) {
  GlAttentionCall a = attention_call(c);
  a.statistics = launcher_.scratch(a.statistics_cells());
  a.out = c.out;
  GlAttention(limits_, table_, launcher_).forward(a);
}

namespace {

// Gradients are made in this order. In basic attention all three are one buffer, of which one is to
// be written and the others added: the first that is made writes.
constexpr std::size_t kOrder[] = {2, 0, 1};

GlAttentionGradients in_order(const GlOpGradients& d) {
  GlAttentionGradients made{d.d_out, {d.d_in[0], d.d_in[1], d.d_in[2]}, {}};
  for (std::size_t n = 0; n < 3; ++n) {
    const std::size_t own = kOrder[n];
    bool adds = d.adds[own];
    for (std::size_t other = 0; other < 3; ++other)
      adds = adds && (d.d_in[other] != d.d_in[own] || d.adds[other]);
    for (std::size_t before = 0; before < n; ++before)
      adds = adds || d.d_in[kOrder[before]] == d.d_in[own];
    made.adds[own] = adds;
  }
  return made;
}

}  // namespace

// The rows' maxima and sums are found again: nothing of the run was kept but its inputs.
void GlOps::backward_fused(const GlOpCall& c, const GlOpGradients& d) {
  GlAttentionCall a = attention_call(c);
  a.statistics = launcher_.scratch(a.statistics_cells());
  GlAttention attention(limits_, table_, launcher_);
  attention.find_statistics(a);
  attention.backward(a, in_order(d));
}

}  // namespace headlight
