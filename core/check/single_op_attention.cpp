// Whole attention as a single operation.
#include <limits>

#include "core/check/single_op_work.h"

namespace headlight::single {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

struct AttentionSizes {
  std::int64_t batch = 1, heads = 1, shared_heads = 1, queries = 0, keys = 0, past = 0;
  std::int64_t width = 0, value_width = 0;
};

// Heads of keys or values, each for as many heads of queries as share it; the past before the rest.
std::vector<float> for_every_head(const AttentionSizes& s, const PlainTensor* past,
                                  const PlainTensor& now, std::int64_t width) {
  std::vector<float> all;
  const std::int64_t before = past ? s.past : 0, rows = s.keys - before;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const std::int64_t from = b * s.shared_heads + h / (s.heads / s.shared_heads);
      const auto append = [&](const PlainTensor& t, std::int64_t count) {
        const auto begin = t.cells.begin() + from * count * width;
        all.insert(all.end(), begin, begin + count * width);
      };
      if (past) append(*past, before);
      append(now, rows);
    }
  }
  return all;
}

// A mask whose axes are those of the scores (batch, head, query, key) or 1, as many of the last as
// it has, cell for cell.
std::vector<float> spread(Work& work, const AttentionSizes& s, const PlainTensor& mask) {
  const Shape full = {s.batch, s.heads, s.queries, s.keys};
  const std::size_t missing = full.size() - std::min(full.size(), mask.shape.size());
  Shape shape(missing, 1);
  shape.insert(shape.end(), mask.shape.begin(), mask.shape.end());
  bool fits = shape.size() == full.size();
  for (std::size_t a = 0; fits && a < full.size(); ++a) fits = shape[a] == 1 || shape[a] == full[a];
  work.expect(fits, "mask", text_of(full));
  std::vector<float> cells;
  for (std::int64_t i = 0; i < product_of(full); ++i) {
    std::int64_t rest = i, place = 0, stride = 1;
    for (std::size_t a = full.size(); a-- > 0; rest /= full[a]) {
      if (shape[a] > 1) place += rest % full[a] * stride;
      stride *= shape[a];
    }
    cells.push_back(mask.cells[static_cast<std::size_t>(place)]);
  }
  return cells;
}

// How far q, k and v go, checked against each other.
AttentionSizes attention_sizes(Work& work, const PlainTensor* past_key,
                               const PlainTensor* past_value) {
  const PlainTensor &q = work.floats("q"), &k = work.floats("k"), &v = work.floats("v");
  work.expect(q.shape.size() == 4 && !q.cells.empty(), "q", "(batch, heads, queries, width)");
  AttentionSizes s;
  s.batch = q.shape[0];
  s.heads = q.shape[1];
  s.queries = q.shape[2];
  s.width = q.shape[3];
  const auto four = [](std::int64_t a, const std::string& b, const std::string& c, std::int64_t d) {
    return "(" + std::to_string(a) + ", " + b + ", " + c + ", " + std::to_string(d) + ")";
  };
  work.expect(k.shape.size() == 4 && !k.cells.empty() && k.shape[0] == s.batch &&
                  k.shape[3] == s.width && s.heads % k.shape[1] == 0,
              "k", four(s.batch, std::to_string(s.heads) + " / n", "keys ≥ 1", s.width));
  s.shared_heads = k.shape[1];
  s.keys = k.shape[2];
  s.value_width = v.shape.empty() ? 0 : v.shape.back();
  const Shape values = {s.batch, s.shared_heads, s.keys, s.value_width};
  work.expect(v.shape == values && s.value_width > 0, "v", text_of(values));
  if (!past_key && !past_value) return s;
  const PlainTensor &pk = work.floats("past_key"), &pv = work.floats("past_value");
  s.past = pk.shape.size() == 4 ? pk.shape[2] : 0;
  const Shape keys = {s.batch, s.shared_heads, s.past, s.width};
  work.expect(pk.shape == keys, "past_key",
              four(s.batch, std::to_string(s.shared_heads), "past", s.width));
  const Shape past_values = {s.batch, s.shared_heads, s.past, s.value_width};
  work.expect(pv.shape == past_values, "past_value", text_of(past_values));
  s.keys += s.past;
  return s;
}

}  // namespace

// scores, scale, the additive mask, what is forbidden, softmax, weighted sum: each head of each row
// of the batch is a row of its own here, because a mask may differ between heads.
void attention(Work& work) {
  const PlainTensor *past_key = work.maybe("past_key"), *past_value = work.maybe("past_value");
  AttentionSizes s = attention_sizes(work, past_key, past_value);
  const bool causal = work.number("causal", 0, 1, true).value_or(0) == 1;
  const double scale =
      work.number("scale", -1e6, 1e6, false).value_or(1 / std::sqrt(static_cast<double>(s.width)));
  const auto given = work.number("past", 0, 1e9, true);
  if (given && !causal) throw UsageError(Message{"single.past_unused", {{"op", "attention"}}});
  const std::int64_t past =
      given ? static_cast<std::int64_t>(*given) : s.past;  // keys before the first query's own
  const std::int64_t rows = s.batch * s.heads;
  const auto tensor = [&](std::int64_t count, std::int64_t width, std::vector<float> cells) {
    return work.input({{"batch", rows}, {"head", 1}, {"position", count}, {"d_head", width}},
                      std::move(cells));
  };
  const TensorId q = tensor(s.queries, s.width, work.floats("q").cells);
  const TensorId k =
      tensor(s.keys, s.width, for_every_head(s, past_key, work.floats("k"), s.width));
  const TensorId v =
      tensor(s.keys, s.value_width, for_every_head(s, past_value, work.floats("v"), s.value_width));
  OpParams params;
  params.factor = static_cast<float>(scale);
  TensorId scores = work.call(Op::kScale, {work.call(Op::kScores, {q, k})}, params);
  std::vector<float> forbidden(static_cast<std::size_t>(rows * s.queries * s.keys), 0.0f);
  if (work.has("mask")) {
    const PlainTensor& mask = work.any("mask");
    if (mask.dtype != "BOOL" && !Work::is_float(mask))
      work.wrong_kind("mask", std::string("BOOL, ") + Work::kFloats, mask.dtype);
    std::vector<float> cells = spread(work, s, mask);
    if (mask.dtype == "BOOL") {
      for (std::size_t i = 0; i < cells.size(); ++i) forbidden[i] = cells[i] != 0 ? 0 : kForbidden;
    } else {
      const TensorId addend = work.input(
          {{"batch", rows}, {"head", 1}, {"query", s.queries}, {"key", s.keys}}, std::move(cells));
      scores = work.call(Op::kAdd, {scores, addend});
    }
  }
  for (std::size_t i = 0; causal && i < forbidden.size(); ++i) {
    const auto cell = static_cast<std::int64_t>(i);
    if (cell % s.keys > cell / s.keys % s.queries + past) forbidden[i] = kForbidden;
  }
  const TensorId mask =
      work.input({{"batch", rows}, {"query", s.queries}, {"key", s.keys}}, std::move(forbidden));
  const TensorId pattern = work.call(Op::kSoftmax, {work.call(Op::kMask, {scores, mask})});
  work.output("weights", pattern, {s.batch, s.heads, s.queries, s.keys});
  work.output("out", work.call(Op::kWeightedSum, {pattern, v}),
              {s.batch, s.heads, s.queries, s.value_width});
}

}  // namespace headlight::single
