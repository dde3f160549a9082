#include "core/backends/cpu/distance/distances.h"

#include <cmath>

namespace headlight::cpu {

using kernels::Into;

void Distances::run(const Call& c) {
  switch (c.call.op) {
    case Op::kAlibi:
      return alibi(c);
    case Op::kDistanceBias:
      return bias(c);
    case Op::kDistanceSinusoid:
      return sinusoid(c);
    case Op::kRelativeScores:
      return scores(c);
    case Op::kRelativeSum:
      return sum(c);
    default:
      return shift(c);
  }
}

void Distances::run_backward(const Call& c, const float* d_out, const Gradients& d_in) {
  switch (c.call.op) {
    case Op::kAlibi:
      return pass(c, d_out, d_in[0]);
    case Op::kDistanceBias:
      pass(c, d_out, d_in[0]);
      return bias_backward(c, d_out, d_in[1]);
    case Op::kDistanceSinusoid:
      return;
    case Op::kRelativeScores:
      return scores_backward(c, d_out, d_in);
    case Op::kRelativeSum:
      return sum_backward(c, d_out, d_in);
    default:
      pass(c, d_out, d_in[0]);
      return shift_backward(c, d_out, d_in[1]);
  }
}

void Distances::pass(const Call& c, const float* d_out, Into into) {
  if (!into.cells) return;
  pieces_.for_stretches(c.cells(), 1, [&](std::int64_t begin, std::int64_t end) {
    kernels::pass_gradient(d_out + begin, into + begin, end - begin);
  });
}

// ---- what is added to scores ----

void Distances::alibi(const Call& c) {
  const std::int64_t heads = c.out_axes[1].size, queries = c.out_axes[2].size;
  const std::int64_t keys = c.out_axes[3].size;
  pieces_.for_stretches(c.cells() / keys, keys, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const double slope = alibi_slope(row / queries % heads, heads);
      const float* s = c.in[0] + row * keys;
      float* y = c.out + row * keys;
      for (std::int64_t j = 0; j < keys; ++j) {
        const std::int64_t distance = distance_of(c.call.params, row % queries, j);
        y[j] = s[j] - static_cast<float>(slope * static_cast<double>(std::abs(distance)));
      }
    }
  });
}

void Distances::find_buckets(const Call& c) {
  const std::int64_t queries = c.out_axes[2].size, keys = c.out_axes[3].size;
  const std::int64_t lowest = distance_of(c.call.params, 0, keys - 1);
  buckets_.resize(static_cast<std::size_t>(queries + keys - 1));
  for (std::size_t i = 0; i < buckets_.size(); ++i)
    buckets_[i] =
        distance_bucket(lowest + static_cast<std::int64_t>(i), c.axes[1][1].size, c.call.params);
}

void Distances::bias(const Call& c) {
  const std::int64_t heads = c.out_axes[1].size, queries = c.out_axes[2].size;
  const std::int64_t keys = c.out_axes[3].size, count = c.axes[1][1].size;
  find_buckets(c);
  pieces_.for_stretches(c.cells() / keys, keys, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* table = c.in[1] + row / queries % heads * count;
      const std::int64_t* bucket = buckets_.data() + row % queries + keys - 1;
      const float* s = c.in[0] + row * keys;
      float* y = c.out + row * keys;
      for (std::int64_t j = 0; j < keys; ++j) y[j] = s[j] + table[bucket[-j]];
    }
  });
}

// Each matrix of scores gives its own part; the parts are added in order of the batch.
void Distances::bias_backward(const Call& c, const float* d_out, Into table) {
  if (!table.cells) return;
  const std::int64_t batch = c.out_axes[0].size, heads = c.out_axes[1].size;
  const std::int64_t queries = c.out_axes[2].size, keys = c.out_axes[3].size;
  const std::int64_t count = c.axes[1][1].size;
  find_buckets(c);
  sums_.assign(static_cast<std::size_t>(batch * heads * count), 0.0);
  pieces_.for_pieces(batch * heads, [&](std::int64_t matrix, float*) {
    double* sums = sums_.data() + matrix * count;
    for (std::int64_t i = 0; i < queries; ++i) {
      const float* d = d_out + (matrix * queries + i) * keys;
      const std::int64_t* bucket = buckets_.data() + i + keys - 1;
      for (std::int64_t j = 0; j < keys; ++j) sums[bucket[-j]] += d[j];
    }
  });
  for (std::int64_t n = 0; n < heads * count; ++n) {
    double all = table.adds ? table.cells[n] : 0;
    for (std::int64_t b = 0; b < batch; ++b)
      all += sums_[static_cast<std::size_t>(b * heads * count + n)];
    table.cells[n] = static_cast<float>(all);
  }
}

// ---- of Transformer-XL ----

void Distances::sinusoid(const Call& c) {
  const std::int64_t rows = c.out_axes[1].size, width = c.out_axes[2].size;
  const std::int64_t first = c.call.params.causal ? 0 : 1 - c.axes[0][1].size;
  constexpr std::int64_t kRows = 32;
  const std::int64_t parts = parts_of(rows, kRows);
  pieces_.for_pieces(c.out_axes[0].size * parts, [&](std::int64_t piece, float*) {
    const std::int64_t begin = piece % parts * kRows;
    kernels::sinusoid_rows(first + begin, std::min(kRows, rows - begin), {width},
                           c.out + (piece / parts * rows + begin) * width);
  });
}

void Distances::shift(const Call& c) {
  const std::int64_t heads = c.out_axes[1].size, queries = c.out_axes[2].size;
  const std::int64_t width = c.out_axes[3].size;
  pieces_.for_stretches(c.cells() / width, width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      kernels::add(c.in[0] + row * width, c.in[1] + row / queries % heads * width,
                   c.out + row * width, width);
    }
  });
}

void Distances::shift_backward(const Call& c, const float* d_out, Into shift) {
  if (!shift.cells) return;
  const std::int64_t heads = c.out_axes[1].size, queries = c.out_axes[2].size;
  const std::int64_t width = c.out_axes[3].size, batch = c.out_axes[0].size;
  for (std::int64_t matrix = 0; matrix < batch * heads; ++matrix) {
    const Into own{shift.cells + matrix % heads * width, shift.adds || matrix >= heads};
    kernels::column_sums(d_out + matrix * queries * width, queries, width, width, own);
  }
}

// ---- rows by distance as keys and as values ----

Distances::Used Distances::used_of(const Call& c, std::int64_t queries, std::int64_t keys) {
  const std::span<const Axis> a = c.axes[1];
  const std::int64_t table = a[a.size() - 2].size;
  Used u{DistanceRows(table, c.call.params)};
  u.first = u.rows.row(distance_of(c.call.params, 0, keys - 1));
  u.count = u.rows.row(distance_of(c.call.params, queries - 1, 0)) - u.first + 1;
  u.matrices = c.axes[0][0].size * c.axes[0][1].size;
  u.queries = queries;
  u.keys = keys;
  u.width = a.back().size;
  u.table = table;
  u.own = a.size() == 4;
  return u;
}

float* Distances::meet(const Used& u, const float* x, const float* rows) {
  float* meetings = scratch(u.matrices * u.queries * u.count);
  const std::int64_t series = u.own ? u.matrices : 1, height = u.matrices / series * u.queries;
  pieces_.products({{.a = x,
                     .a_stride = u.width,
                     .b = rows + u.first * u.width,
                     .b_stride = u.width,
                     .b_transposed = true,
                     .c = meetings,
                     .c_stride = u.count,
                     .rows = height,
                     .columns = u.count,
                     .inner = u.width},
                    series,
                    height * u.width,
                    u.table * u.width,
                    0,
                    height * u.count});
  return meetings;
}

void Distances::spread(const Used& u, const OpParams& params, const float* meetings, Into pairs) {
  pieces_.for_stretches(u.matrices * u.queries, u.keys, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* met = meetings + row * u.count;
      const Into into = pairs + row * u.keys;
      for (std::int64_t j = 0; j < u.keys; ++j) {
        const float x = met[u.row(distance_of(params, row % u.queries, j))];
        into.cells[j] = into.adds ? into.cells[j] + x : x;
      }
    }
  });
}

float* Distances::gather(const Used& u, const OpParams& params, const float* pairs) {
  float* meetings = scratch(u.matrices * u.queries * u.count);
  pieces_.for_stretches(u.matrices * u.queries, u.keys, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      float* met = meetings + row * u.count;
      std::fill_n(met, u.count, 0.0f);
      for (std::int64_t j = 0; j < u.keys; ++j)
        met[u.row(distance_of(params, row % u.queries, j))] += pairs[row * u.keys + j];
    }
  });
  return meetings;
}

void Distances::add_to_table(const Used& u, const float* meetings, const float* x, Into table) {
  const std::int64_t series = u.own ? u.matrices : 1, height = u.matrices / series * u.queries;
  if (!table.adds) std::fill_n(table.cells, series * u.table * u.width, 0.0f);
  pieces_.products({{.a = meetings,
                     .a_stride = u.count,
                     .b = x,
                     .b_stride = u.width,
                     .a_transposed = true,
                     .adds = true,
                     .c = table.cells + u.first * u.width,
                     .c_stride = u.width,
                     .rows = u.count,
                     .columns = u.width,
                     .inner = height},
                    series,
                    height * u.count,
                    height * u.width,
                    0,
                    u.table * u.width});
}

void Distances::scores(const Call& c) {
  const Used u = used_of(c, c.out_axes[2].size, c.out_axes[3].size);
  spread(u, c.call.params, meet(u, c.in[0], c.in[1]), {c.out, false});
}

void Distances::scores_backward(const Call& c, const float* d_out, const Gradients& d_in) {
  const Used u = used_of(c, c.out_axes[2].size, c.out_axes[3].size);
  const float* meetings = gather(u, c.call.params, d_out);
  const std::int64_t series = u.own ? u.matrices : 1, height = u.matrices / series * u.queries;
  if (d_in[0].cells) {
    pieces_.products({{.a = meetings,
                       .a_stride = u.count,
                       .b = c.in[1] + u.first * u.width,
                       .b_stride = u.width,
                       .adds = d_in[0].adds,
                       .c = d_in[0].cells,
                       .c_stride = u.width,
                       .rows = height,
                       .columns = u.width,
                       .inner = u.count},
                      series,
                      height * u.count,
                      u.table * u.width,
                      0,
                      height * u.width});
  }
  if (d_in[1].cells) add_to_table(u, meetings, c.in[0], d_in[1]);
}

void Distances::sum(const Call& c) {
  const Used u = used_of(c, c.axes[0][2].size, c.axes[0][3].size);
  const float* meetings = gather(u, c.call.params, c.in[0]);
  pieces_.products({{.a = meetings,
                     .a_stride = u.count,
                     .b = c.in[1] + u.first * u.width,
                     .b_stride = u.width,
                     .c = c.out,
                     .c_stride = u.width,
                     .rows = u.matrices * u.queries,
                     .columns = u.width,
                     .inner = u.count}});
}

void Distances::sum_backward(const Call& c, const float* d_out, const Gradients& d_in) {
  const Used u = used_of(c, c.axes[0][2].size, c.axes[0][3].size);
  if (d_in[0].cells) spread(u, c.call.params, meet(u, d_out, c.in[1]), d_in[0]);
  if (d_in[1].cells) add_to_table(u, gather(u, c.call.params, c.in[0]), d_out, d_in[1]);
}

float* Distances::scratch(std::int64_t cells) {
  if (scratch_.size() < static_cast<std::size_t>(cells))
    scratch_.resize(static_cast<std::size_t>(cells));
  return scratch_.data();
}

}  // namespace headlight::cpu
