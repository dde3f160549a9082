#include "core/backends/cpu/heads/head_attention.h"

#include <algorithm>
#include <limits>

namespace headlight::cpu {
namespace {

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

// P = softmax(mask(factor · Q Kᵀ)), of a block of rows from `i` on
void HeadAttention::find_weights(const AttentionHead& m, std::int64_t i, const Turned& k,
                                 float* pattern) {
  const std::int64_t rows = std::min(kScoreBlock, m.queries - i);
  const BlockRow keys = m.blocks->keys_of(m.item, i / kScoreBlock);
  for (const Stretch& run : keys.runs) {
    multiply({.a = m.q + i * m.q_stride,
              .a_stride = m.q_stride,
              .b = k.cells + run.begin,
              .b_stride = k.stride,
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
}

// Z = P · V
void HeadAttention::run(const AttentionHead& m) {
  const std::int64_t stride = spread_stride(m.keys);
  float* k_turned = scratch(m.width * stride + (m.pattern ? 0 : kScoreBlock * m.keys));
  float* const own = k_turned + m.width * stride;
  kernels::transpose(m.k, m.k_stride, m.keys, m.width, k_turned, stride);
  for (std::int64_t i = 0; i < m.queries; i += kScoreBlock) {
    float* pattern = m.pattern ? m.pattern + i * m.keys : own;
    find_weights(m, i, {k_turned, stride}, pattern);
    sum_runs({.a = pattern,
              .a_stride = m.keys,
              .b = m.v,
              .b_stride = m.v_stride,
              .c = m.out + i * m.out_stride,
              .c_stride = m.out_stride,
              .rows = std::min(kScoreBlock, m.queries - i),
              .columns = m.v_width},
             m.blocks->keys_of(m.item, i / kScoreBlock));
  }
}

// With P the pattern: dP = dZ Vᵀ, dS = factor / temperature · P ∘ (dP − Σ_key P ∘ dP), of a block
// of rows from `i` on
void HeadAttention::find_score_gradients(const AttentionHead& m, std::int64_t i, const Turned& v,
                                         const float* pattern, float* d_scores) {
  const std::int64_t rows = std::min(kScoreBlock, m.queries - i);
  const BlockRow keys = m.blocks->keys_of(m.item, i / kScoreBlock);
  for (const Stretch& run : keys.runs) {
    multiply({.a = m.d_out + i * m.out_stride,
              .a_stride = m.out_stride,
              .b = v.cells + run.begin,
              .b_stride = v.stride,
              .c = d_scores + run.begin,
              .c_stride = v.stride,
              .rows = rows,
              .columns = run.size(),
              .inner = m.v_width});
  }
  kernels::weigh_scores_backward({.scores = d_scores,
                                  .stride = v.stride,
                                  .factor = m.factor,
                                  .temperature = m.temperature,
                                  .rows = rows,
                                  .runs = keys.runs},
                                 pattern, m.keys);
}

// dV = Pᵀ dZ, dQ = dS K, dK = dSᵀ Q. In this order: in basic attention all three are added to the
// same rows, and the first may be the one that writes them.
void HeadAttention::run_backward(const AttentionHead& m) {
  const std::int64_t stride = spread_stride(m.keys);
  float* v_turned = scratch((m.v_width + m.queries) * stride);
  float* d_scores = v_turned + m.v_width * stride;
  const auto& [d_q, d_k, d_v] = m.d_in;
  if (d_q.cells || d_k.cells) {
    kernels::transpose(m.v, m.v_stride, m.keys, m.v_width, v_turned, stride);
    for (std::int64_t i = 0; i < m.queries; i += kScoreBlock)
      find_score_gradients(m, i, {v_turned, stride}, m.pattern + i * m.keys, d_scores + i * stride);
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

// The same three products, block by block of queries; all are added to what stands there.
void HeadAttention::run_backward_again(const AttentionHead& m) {
  const std::int64_t stride = spread_stride(m.keys);
  float* k_turned = scratch((m.width + m.v_width + kScoreBlock) * stride + kScoreBlock * m.keys);
  float* v_turned = k_turned + m.width * stride;
  float* d_scores = v_turned + m.v_width * stride;
  float* pattern = d_scores + kScoreBlock * stride;
  const auto& [d_q, d_k, d_v] = m.d_in;
  kernels::transpose(m.k, m.k_stride, m.keys, m.width, k_turned, stride);
  kernels::transpose(m.v, m.v_stride, m.keys, m.v_width, v_turned, stride);
  for (std::int64_t i = 0; i < m.queries; i += kScoreBlock) {
    const float *q = m.q + i * m.q_stride, *d_out = m.d_out + i * m.out_stride;
    const std::int64_t rows = std::min(kScoreBlock, m.queries - i);
    find_weights(m, i, {k_turned, stride}, pattern);
    find_score_gradients(m, i, {v_turned, stride}, pattern, d_scores);
    for (const Stretch& run : m.blocks->keys_of(m.item, i / kScoreBlock).runs) {
      // A block's weights or their gradients, turned or not, times rows of the other side.
      const auto add = [&](const float* a, std::int64_t a_stride, const float* b,
                           std::int64_t b_stride, bool by_key, float* c, std::int64_t c_stride,
                           std::int64_t columns) {
        if (!c) return;
        multiply({.a = a + run.begin,
                  .a_stride = a_stride,
                  .b = by_key ? b : b + run.begin * b_stride,
                  .b_stride = b_stride,
                  .a_transposed = by_key,
                  .adds = true,
                  .c = by_key ? c + run.begin * c_stride : c,
                  .c_stride = c_stride,
                  .rows = by_key ? run.size() : rows,
                  .columns = columns,
                  .inner = by_key ? rows : run.size()});
      };
      add(pattern, m.keys, d_out, m.out_stride, true, d_v.cells, m.v_stride, m.v_width);
      add(d_scores, stride, m.k, m.k_stride, false,
          d_q.cells ? d_q.cells + i * m.q_stride : nullptr, m.q_stride, m.width);
      add(d_scores, stride, q, m.q_stride, true, d_k.cells, m.k_stride, m.width);
    }
  }
}

// Rows of C by blocks of queries or of keys: each sums only over what it meets.
void HeadAttention::multiply_rows(const kernels::Product& all, const AttentionHead& m,
                                  bool of_queries) {
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
void HeadAttention::sum_runs(const kernels::Product& all, const BlockRow& over) {
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
void HeadAttention::begin_part(kernels::Product& m) {
  const auto cells = static_cast<std::size_t>(kScoreBlock * m.columns);
  if (part_sum_.size() < cells) part_sum_.resize(cells);
  m.c = part_sum_.data();
  m.c_stride = m.columns;
  m.adds = false;
}

void HeadAttention::end_part(kernels::Product& m, const kernels::Product& all) const {
  m.c = all.c;
  m.c_stride = all.c_stride;
  for (std::int64_t r = 0; r < m.rows; ++r)
    kernels::pass_gradient(part_sum_.data() + r * m.columns, {m.c + r * m.c_stride, true},
                           m.columns);
}

// An empty sum is 0.
void HeadAttention::multiply(const kernels::Product& m) {
  for (std::int64_t r = 0; m.inner == 0 && !m.adds && r < m.rows; ++r) {
    std::fill_n(m.c + r * m.c_stride, m.columns, 0.0f);
  }
  kernels::multiply(m, product_scratch_.data());
}

float* HeadAttention::scratch(std::int64_t cells) {
  if (scratch_.size() < static_cast<std::size_t>(cells)) {
    scratch_.resize(static_cast<std::size_t>(cells));
  }
  return scratch_.data();
}

}  // namespace headlight::cpu
