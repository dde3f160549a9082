#include "core/backends/cpu/attention.h"

#include <algorithm>
#include <limits>

namespace headlight::cpu {
namespace {

using kernels::Into;

const std::vector<Axis>& axes_of(const Program& program, TensorId id) {
  return program.tensors[static_cast<std::size_t>(id)].axes;
}

// Rows an odd number of packets apart spread over the whole cache.
std::int64_t spread_stride(std::int64_t cells) {
  const std::int64_t packet = kernels::kPacketColumns;
  return ((cells + packet - 1) / packet | 1) * packet;
}

// Where the part of the sum ends that place `at` lies in. What stands outside the hull is a part of
// its own.
std::int64_t part_end(Stretch hull, std::int64_t at) {
  if (at < hull.begin) return hull.begin;
  for (std::int64_t i = 1; at < hull.end && i <= kernels::sum_parts(hull.size()); ++i) {
    const std::int64_t end = hull.begin + kernels::sum_part_begin(hull.size(), i);
    if (at < end) return end;
  }
  return std::numeric_limits<std::int64_t>::max();
}

}  // namespace

struct AttentionRunner::Head {
  const float *q, *k, *v, *mask;
  std::int64_t q_stride, k_stride, v_stride, out_stride;  // from one row to the next
  float *pattern, *out;
  std::int64_t queries, keys, width, v_width;
  float factor;
  double temperature;
  const MaskBlocks* blocks;
  std::int64_t item;  // of the batch
  bool follows;       // another head that reads the same keys and values came before
  const float* d_out;
  std::array<Into, 3> d_in;
};

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
  Head all = {};
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
      Head head = all;
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
  for_heads(program, a, memory, [&](const Head& head) {
    run_head(head);
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
  for_heads(program, a, memory, [&](Head head) {
    const auto moved = [](const Into& of, std::int64_t cells, bool follows) -> Into {
      return of.cells ? Into{of.cells + cells, of.adds || follows} : of;
    };
    head.d_out = d_out + (head.out - at(a.out));
    head.d_in = {moved(into[0], head.q - q, false), moved(into[1], head.k - k, head.follows),
                 moved(into[2], head.v - at(a.v), head.follows)};
    run_head_backward(head);
  });
  if (turns && d_in[0].cells) turn(program, a, a.q, into[0].cells, d_in[0], true);
  if (turns && d_in[1].cells) turn(program, a, a.k, into[1].cells, d_in[1], true);
}

// Z = softmax(mask(factor · Q Kᵀ)) · V
void AttentionRunner::run_head(const Head& m) {
  const std::int64_t stride = spread_stride(m.keys);
  float* k_turned = scratch(m.width * stride);
  kernels::transpose(m.k, m.k_stride, m.keys, m.width, k_turned, stride);
  for (std::int64_t i = 0; i < m.queries; i += kScoreBlock) {
    const std::int64_t rows = std::min(kScoreBlock, m.queries - i);
    const BlockRow keys = m.blocks->keys_of(m.item, i / kScoreBlock);
    float* pattern = m.pattern + i * m.keys;
    for (const Stretch& run : keys.runs) {
      multiply({.a = m.q + i * m.q_stride,
                .a_stride = m.q_stride,
                .b = k_turned + run.begin,
                .b_stride = stride,
                .c = pattern + run.begin,
                .c_stride = m.keys,
                .rows = rows,
                .columns = run.size(),
                .inner = m.width});
    }
    kernels::weigh_scores({.scores = pattern,
                           .stride = m.keys,
                           .factor = m.factor,
                           .mask = m.mask ? m.mask + i * m.keys : nullptr,
                           .mask_stride = m.keys,
                           .temperature = m.temperature,
                           .rows = rows,
                           .runs = keys.runs});
    sum_runs({.a = pattern,
              .a_stride = m.keys,
              .b = m.v,
              .b_stride = m.v_stride,
              .c = m.out + i * m.out_stride,
              .c_stride = m.out_stride,
              .rows = rows,
              .columns = m.v_width},
             keys);
  }
}

// With P the pattern: dP = dZ Vᵀ, dS = factor / temperature · P ∘ (dP − Σ_key P ∘ dP)
void AttentionRunner::find_score_gradients(const Head& m, const float* v_turned, float* d_scores,
                                           std::int64_t stride) {
  for (std::int64_t i = 0; i < m.queries; i += kScoreBlock) {
    const std::int64_t rows = std::min(kScoreBlock, m.queries - i);
    const BlockRow keys = m.blocks->keys_of(m.item, i / kScoreBlock);
    for (const Stretch& run : keys.runs) {
      multiply({.a = m.d_out + i * m.out_stride,
                .a_stride = m.out_stride,
                .b = v_turned + run.begin,
                .b_stride = stride,
                .c = d_scores + i * stride + run.begin,
                .c_stride = stride,
                .rows = rows,
                .columns = run.size(),
                .inner = m.v_width});
    }
    kernels::weigh_scores_backward({.scores = d_scores + i * stride,
                                    .stride = stride,
                                    .factor = m.factor,
                                    .temperature = m.temperature,
                                    .rows = rows,
                                    .runs = keys.runs},
                                   m.pattern + i * m.keys, m.keys);
  }
}

// dV = Pᵀ dZ, dQ = dS K, dK = dSᵀ Q. In this order: in basic attention all three are added to the
// same rows, and the first may be the one that writes them.
void AttentionRunner::run_head_backward(const Head& m) {
  const std::int64_t stride = spread_stride(m.keys);
  float* v_turned = scratch((m.v_width + m.queries) * stride);
  float* d_scores = v_turned + m.v_width * stride;
  const auto& [d_q, d_k, d_v] = m.d_in;
  if (d_q.cells || d_k.cells) {
    kernels::transpose(m.v, m.v_stride, m.keys, m.v_width, v_turned, stride);
    find_score_gradients(m, v_turned, d_scores, stride);
  }
  multiply_rows({.a = m.pattern,
                 .a_stride = m.keys,
                 .b = m.d_out,
                 .b_stride = m.out_stride,
                 .a_transposed = true,
                 .adds = d_v.adds,
                 .c = d_v.cells,
                 .c_stride = m.v_stride,
                 .rows = m.keys,
                 .columns = m.v_width},
                m, false);
  multiply_rows({.a = d_scores,
                 .a_stride = stride,
                 .b = m.k,
                 .b_stride = m.k_stride,
                 .adds = d_q.adds,
                 .c = d_q.cells,
                 .c_stride = m.q_stride,
                 .rows = m.queries,
                 .columns = m.width},
                m, true);
  multiply_rows({.a = d_scores,
                 .a_stride = stride,
                 .b = m.q,
                 .b_stride = m.q_stride,
                 .a_transposed = true,
                 .adds = d_k.adds,
                 .c = d_k.cells,
                 .c_stride = m.k_stride,
                 .rows = m.keys,
                 .columns = m.width},
                m, false);
}

// Rows of C by blocks of queries or of keys: each sums only over what it meets.
void AttentionRunner::multiply_rows(const kernels::Product& all, const Head& m, bool of_queries) {
  if (!all.c) return;
  for (std::int64_t r = 0; r < all.rows; r += kScoreBlock) {
    const std::int64_t block = r / kScoreBlock;
    kernels::Product part = all;
    part.a += all.a_transposed ? r : r * all.a_stride;
    part.c += r * all.c_stride;
    part.rows = std::min(kScoreBlock, all.rows - r);
    sum_runs(part,
             of_queries ? m.blocks->keys_of(m.item, block) : m.blocks->queries_of(m.item, block));
  }
}

// C = Σ over the runs. The sum is cut into parts where one over the whole hull would be cut, and a
// part goes on across its gaps: the terms there are 0, so that no bit of C depends on them.
void AttentionRunner::sum_runs(const kernels::Product& all, const BlockRow& over) {
  const std::span<const Stretch> runs = over.runs;
  kernels::Product m = all;
  const auto sum = [&](std::int64_t begin, std::int64_t end) {
    m.a = all.a + (all.a_transposed ? begin * all.a_stride : begin);
    m.b = all.b + begin * all.b_stride;
    m.inner = end - begin;
    multiply(m);
  };
  if (runs.empty()) return sum(0, 0);
  if (over.hull == runs[0]) return sum(over.hull.begin, over.hull.end);
  std::size_t run = 0;
  for (std::int64_t at = runs[0].begin; run < runs.size(); m.adds = true) {
    const std::int64_t end = part_end(over.hull, at);
    const bool gap = run + 1 < runs.size() && runs[run + 1].begin < end;
    const bool beside = gap && m.adds;
    if (beside) begin_part(m);
    for (m.continues = false; run < runs.size() && at < end; m.continues = gap) {
      const std::int64_t stop = std::min(runs[run].end, end);
      sum(at, stop);
      at = stop;
      if (at == runs[run].end && ++run < runs.size()) at = runs[run].begin;
    }
    m.continues = false;
    if (beside) end_part(m, all);
  }
}

// A part of a sum with gaps is summed beside what it is added to.
void AttentionRunner::begin_part(kernels::Product& m) {
  const auto cells = static_cast<std::size_t>(kScoreBlock * m.columns);
  if (part_sum_.size() < cells) part_sum_.resize(cells);
  m.c = part_sum_.data();
  m.c_stride = m.columns;
  m.adds = false;
}

void AttentionRunner::end_part(kernels::Product& m, const kernels::Product& all) const {
  m.c = all.c;
  m.c_stride = all.c_stride;
  for (std::int64_t r = 0; r < m.rows; ++r)
    kernels::pass_gradient(part_sum_.data() + r * m.columns, {m.c + r * m.c_stride, true},
                           m.columns);
}

// An empty sum is 0.
void AttentionRunner::multiply(const kernels::Product& m) {
  for (std::int64_t r = 0; m.inner == 0 && !m.adds && r < m.rows; ++r) {
    std::fill_n(m.c + r * m.c_stride, m.columns, 0.0f);
  }
  kernels::multiply(m, product_scratch_.data());
}

float* AttentionRunner::scratch(std::int64_t cells) {
  if (scratch_.size() < static_cast<std::size_t>(cells)) {
    scratch_.resize(static_cast<std::size_t>(cells));
  }
  return scratch_.data();
}

}  // namespace headlight::cpu
