#include "core/backends/cpu/heads/fused_calls.h"

#include <algorithm>

namespace headlight::cpu {

template <class F>
void FusedCalls::for_heads(const Call& c, F&& f) {
  AttentionHead all = {};
  all.queries = c.axes[0][2].size;
  all.keys = c.axes[1][2].size;
  all.width = all.q_stride = all.k_stride = c.axes[0][3].size;
  all.v_width = all.v_stride = all.out_stride = c.axes[2][3].size;
  all.factor = c.call.params.factor;
  all.temperature = c.call.params.temperature;
  const float* const mask = c.call.in.size() > 3 ? c.in[3] : nullptr;
  blocks_.find(c.axes[0][0].size, all.queries, all.keys, mask);
  all.blocks = &blocks_;
  const std::int64_t share = heads_per_kv(c.axes[0], c.axes[1]), kv_heads = c.axes[1][1].size;
  const std::int64_t matrices = c.axes[0][0].size * kv_heads;
  // So many pieces at most, for each has scratch memory of its own.
  const std::int64_t pieces = pieces_.threads() > 1 ? std::min(matrices, kPiecesWanted) : 1;
  if (std::ssize(heads_) < pieces) heads_.resize(static_cast<std::size_t>(pieces));
  pieces_.for_pieces(pieces, [&](std::int64_t piece, float*) {
    const std::int64_t end = (piece + 1) * matrices / pieces;
    for (std::int64_t m = piece * matrices / pieces; m < end; ++m) {
      AttentionHead head = all;
      head.item = m / kv_heads;
      head.k = c.in[1] + m * all.keys * all.width;
      head.v = c.in[2] + m * all.keys * all.v_width;
      head.mask = mask ? mask + head.item * all.queries * all.keys : nullptr;
      for (std::int64_t n = m * share; n < (m + 1) * share; ++n) {
        head.q = c.in[0] + n * all.queries * all.width;
        head.out = c.out + n * all.queries * all.v_width;
        f(head, heads_[static_cast<std::size_t>(piece)]);
      }
    }
  });
}

void FusedCalls::run(const Call& c) {
  for_heads(c, [](const AttentionHead& head, HeadAttention& scratch) { scratch.run(head); });
  for (std::int64_t h = 0; h < c.axes[0][1].size; ++h) count_ += blocks_.count();
}

// In basic attention all three gradients may be one, of which the first is written and the others
// are added: so it begins with zeros, and everything is added.
void FusedCalls::run_backward(const Call& c, const float* d_out,
                              const std::array<kernels::Into, 4>& d_in) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (d_in[i].cells && !d_in[i].adds) std::fill_n(d_in[i].cells, cell_count(c.axes[i]), 0.0f);
  }
  for_heads(c, [&](AttentionHead head, HeadAttention& scratch) {
    head.d_out = d_out + (head.q - c.in[0]) / head.width * head.v_width;
    head.d_in = {d_in[0], d_in[1], d_in[2]};
    const std::array<std::int64_t, 3> moved = {head.q - c.in[0], head.k - c.in[1],
                                               head.v - c.in[2]};
    for (std::size_t i = 0; i < 3; ++i) {
      if (head.d_in[i].cells) head.d_in[i].cells += moved[i];
    }
    scratch.run_backward_again(head);
  });
}

}  // namespace headlight::cpu
