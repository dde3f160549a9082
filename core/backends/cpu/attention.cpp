#include "core/backends/cpu/attention.h"

#include <algorithm>
#include <limits>

namespace headlight::cpu {
namespace {

using kernels::Into;

const std::vector<Axis>& axes_of(const Program& program, TensorId id) {
  return program.tensors[static_cast<std::size_t>(id)].axes;
}

}  // namespace

void AttentionRunner::begin_run(const Program& program, const Fusion& fusion,
                                std::span<float* const> memory) {
  count_ = {};
  allowed_.resize(fusion.attentions().size());
  std::size_t count = 0;
  for (const FusedAttention& a : fusion.attentions()) {
    const auto& axes = axes_of(program, a.pattern);
    const bool known = std::any_of(allowed_.begin(), allowed_.begin() + count, [&](auto& other) {
      return other.mask == a.mask && other.queries == axes[2].size && other.keys == axes[3].size;
    });
    if (known) continue;
    Allowed& entry = allowed_[count++];
    entry.mask = a.mask;
    entry.queries = axes[2].size;
    entry.keys = axes[3].size;
    entry.blocks.find(axes[0].size, entry.queries, entry.keys,
                      a.mask < 0 ? nullptr : memory[static_cast<std::size_t>(a.mask)],
                      fusion.forbidden_blocks());
  }
}

const MaskBlocks& AttentionRunner::allowed(TensorId mask, std::int64_t queries,
                                           std::int64_t keys) const {
  return std::find_if(allowed_.begin(), allowed_.end(),
                      [&](const Allowed& a) {
                        return a.mask == mask && a.queries == queries && a.keys == keys;
                      })
      ->blocks;
}

// Calls f(head) for each matrix of scores, in order.
template <class F>
void AttentionRunner::for_heads(const Program& program, const FusedAttention& a,
                                std::span<float* const> memory, F&& f) {
  const auto at = [&](TensorId id) { return memory[static_cast<std::size_t>(id)]; };
  const auto& axes = axes_of(program, a.pattern);
  const std::int64_t batch = axes[0].size, heads = axes[1].size;
  AttentionHead all = {};
  all.queries = axes[2].size;
  all.keys = axes[3].size;
  all.q_stride = axes_of(program, a.q).back().size;
  all.k_stride = axes_of(program, a.k).back().size;
  all.v_stride = axes_of(program, a.v).back().size;
  all.width = all.q_stride / heads;
  const std::int64_t share = all.q_stride / all.k_stride;  // heads to each of keys and values
  all.v_width = all.v_stride / (heads / share);
  all.out_stride = heads * all.v_width;
  const float* const q = at(a.turned_q < 0 ? a.q : a.turned_q);
  const float* const k = at(a.turned_k < 0 ? a.k : a.turned_k);
  all.factor = a.factor;
  all.temperature = a.temperature;
  all.blocks = &allowed(a.mask, all.queries, all.keys);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      AttentionHead head = all;
      head.q = q + b * all.queries * all.q_stride + h * all.width;
      head.k = k + b * all.keys * all.k_stride + h / share * all.width;
      head.v = at(a.v) + b * all.keys * all.v_stride + h / share * all.v_width;
      head.follows = h % share != 0;
      head.mask = a.mask < 0 ? nullptr : at(a.mask) + b * all.queries * all.keys;
      head.pattern = at(a.pattern) + (b * heads + h) * all.queries * all.keys;
      head.out = at(a.out) + b * all.queries * all.out_stride + h * all.v_width;
      head.item = b;
      f(head);
    }
  }
}

void AttentionRunner::turn(const Program& program, const FusedAttention& a, TensorId rows,
                           const float* from, Into into, bool back) {
  const auto& axes = axes_of(program, rows);
  const std::int64_t stride = axes.back().size, count = cell_count(axes) / stride;
  const std::int64_t positions = axes[axes.size() - 2].size;
  const std::int64_t width = axes_of(program, a.turned_q).back().size;
  // Queries and keys are turned by two calls, which may begin at other positions.
  const int call = rows == a.q ? a.turn : a.turn + 1;
  const OpParams& params = program.calls[static_cast<std::size_t>(call)].params;
  kernels::Rotary rotary = angles_.of(params, params.offset + positions, width);
  rotary.back = back;
  for (std::int64_t row = 0; row < count; ++row) {
    for (std::int64_t cell = row * stride; cell < (row + 1) * stride; cell += width) {
      kernels::rotate_row(rotary, params.offset + row % positions, from + cell, into + cell);
    }
  }
}

void AttentionRunner::run(const Program& program, const FusedAttention& a,
                          std::span<float* const> memory) {
  const auto at = [&](TensorId id) { return memory[static_cast<std::size_t>(id)]; };
  if (a.turn >= 0) {
    turn(program, a, a.q, at(a.q), {at(a.turned_q), false}, false);
    turn(program, a, a.k, at(a.k), {at(a.turned_k), false}, false);
  }
  for_heads(program, a, memory, [&](const AttentionHead& head) {
    head_.run(head);
    if (head.item == 0) count_ += head.blocks->count();  // for all items at once
  });
}

// The gradients of what was turned are made beside, and turned back where they belong.
void AttentionRunner::run_backward(const Program& program, const FusedAttention& a,
                                   std::span<float* const> memory, const float* d_out,
                                   const std::array<Into, 3>& d_in) {
  const auto at = [&](TensorId id) { return memory[static_cast<std::size_t>(id)]; };
  const bool turns = a.turn >= 0;
  std::array<Into, 3> into = d_in;
  if (turns) {
    const std::int64_t q_cells = cell_count(axes_of(program, a.q));
    const auto cells = static_cast<std::size_t>(q_cells + cell_count(axes_of(program, a.k)));
    if (d_turned_.size() < cells) d_turned_.resize(cells);
    if (into[0].cells) into[0] = {d_turned_.data(), false};
    if (into[1].cells) into[1] = {d_turned_.data() + q_cells, false};
  }
  const float* const q = at(turns ? a.turned_q : a.q);
  const float* const k = at(turns ? a.turned_k : a.k);
  for_heads(program, a, memory, [&](AttentionHead head) {
    const auto moved = [](const Into& of, std::int64_t cells, bool follows) -> Into {
      return of.cells ? Into{of.cells + cells, of.adds || follows} : of;
    };
    head.d_out = d_out + (head.out - at(a.out));
    head.d_in = {moved(into[0], head.q - q, false), moved(into[1], head.k - k, head.follows),
                 moved(into[2], head.v - at(a.v), head.follows)};
    head_.run_backward(head);
  });
  if (turns && d_in[0].cells) turn(program, a, a.q, into[0].cells, d_in[0], true);
  if (turns && d_in[1].cells) turn(program, a, a.k, into[1].cells, d_in[1], true);
}

}  // namespace headlight::cpu
