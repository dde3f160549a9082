#include "core/single_op.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "core/error.h"
#include "core/program_memory.h"

namespace headlight {
namespace {

using Shape = std::vector<std::int64_t>;
constexpr float kForbidden = -std::numeric_limits<float>::infinity();

std::string text_of(const Shape& shape) {
  std::string text = "(";
  for (const std::int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + ")";
}

std::int64_t product_of(std::span<const std::int64_t> sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product *= size;
  return product;
}

// What was asked for, and the program that is made of it.
class Work {
 public:
  Work(const SingleOp& op, const PlainTensors& given,
       const std::map<std::string, std::string>& said)
      : op_(op), given_(given), said_(said) {}

  // ---- what was given ----

  bool has(const std::string& name) const { return given_.contains(name); }
  const PlainTensor& any(const std::string& name) {
    known_.push_back(name);
    const auto found = given_.find(name);
    if (found != given_.end()) return found->second;
    std::string names;
    for (const auto& one : given_) names += (names.empty() ? "" : ", ") + one.first;
    throw UsageError(Message{"single.missing",
                             {{"op", std::string(op_.name)},
                              {"name", name},
                              {"inputs", std::string(op_.inputs)},
                              {"found", names}}});
  }
  const PlainTensor& floats(const std::string& name) {
    const PlainTensor& t = any(name);
    if (!t.dtype.starts_with("F") && !t.dtype.starts_with("BF")) wrong_kind(name, "F32", t.dtype);
    return t;
  }
  const PlainTensor* maybe(const std::string& name) {
    known_.push_back(name);
    return has(name) ? &floats(name) : nullptr;
  }
  [[noreturn]] void wrong_kind(const std::string& name, const std::string& expected,
                               const std::string& dtype) const {
    throw UsageError(Message{
        "single.dtype",
        {{"op", std::string(op_.name)}, {"name", name}, {"expected", expected}, {"dtype", dtype}}});
  }
  void expect(bool fits, const std::string& name, const std::string& expected) const {
    if (fits) return;
    throw UsageError(Message{"single.shape",
                             {{"op", std::string(op_.name)},
                              {"name", name},
                              {"expected", expected},
                              {"shape", text_of(given_.at(name).shape)}}});
  }
  std::optional<double> number(const std::string& name, double least, double most, bool whole) {
    attributes_.push_back(name);
    const auto found = said_.find(name);
    if (found == said_.end()) return std::nullopt;
    const std::string& text = found->second;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool read = error == std::errc() && end == text.data() + text.size();
    if (read && value >= least && value <= most && (!whole || value == std::floor(value)))
      return value;
    char range[96];
    std::snprintf(range, sizeof range, "%g…%g", least, most);
    throw UsageError(Message{
        "single.value",
        {{"op", std::string(op_.name)}, {"name", name}, {"expected", range}, {"value", text}}});
  }
  // After everything was asked for: what nobody asked for is a mistake.
  void finish_asking() const {
    for (const auto& one : said_) {
      if (std::find(attributes_.begin(), attributes_.end(), one.first) != attributes_.end())
        continue;
      throw UsageError(
          Message{"single.attribute",
                  {{"op", std::string(op_.name)},
                   {"name", one.first},
                   {"known", op_.attributes.empty() ? "-" : std::string(op_.attributes)}}});
    }
    for (const auto& one : given_) {
      if (std::find(known_.begin(), known_.end(), one.first) != known_.end()) continue;
      throw UsageError(Message{"single.extra",
                               {{"op", std::string(op_.name)},
                                {"name", one.first},
                                {"inputs", std::string(op_.inputs)}}});
    }
  }

  // ---- the program ----

  TensorId input(std::vector<Axis> axes, std::vector<float> cells) {
    const TensorId id = add(std::move(axes), TensorKind::kInput);
    cells_[id] = std::move(cells);
    return id;
  }
  TensorId call(Op op, std::vector<TensorId> in, const OpParams& params = {}) {
    std::vector<TensorView> views;
    for (const TensorId id : in) views.push_back(program_.look(id));
    std::vector<Axis> axes = op_info(op).shape(views, params);
    const TensorId out = add(std::move(axes), TensorKind::kActivation);
    program_.calls.push_back({op, std::move(in), out, params});
    return out;
  }
  void output(const std::string& name, TensorId id, Shape shape) {
    outputs_[name] = {id, std::move(shape)};
  }
  PlainTensors run(Backend& backend) {
    FloatBuffer arena(arena_cells(program_));
    std::vector<float*> memory(program_.tensors.size(), nullptr);
    lay_out(program_, arena.data(), memory);
    for (const auto& one : cells_)
      std::copy(one.second.begin(), one.second.end(), memory[static_cast<std::size_t>(one.first)]);
    backend.run(program_, program_.calls, memory);
    PlainTensors results;
    for (const auto& one : outputs_) {
      const float* cells = memory[static_cast<std::size_t>(one.second.id)];
      results[one.first] = {one.second.shape, {cells, cells + product_of(one.second.shape)}};
    }
    return results;
  }

 private:
  struct Output {
    TensorId id;
    Shape shape;
  };
  TensorId add(std::vector<Axis> axes, TensorKind kind) {
    const auto id = static_cast<TensorId>(program_.tensors.size());
    const std::string name = "t" + std::to_string(id);
    program_.tensors.push_back({name, std::move(axes), kind, -1});
    program_.by_name[name] = id;
    return id;
  }

  const SingleOp& op_;
  const PlainTensors& given_;
  const std::map<std::string, std::string>& said_;
  std::vector<std::string> known_, attributes_;
  Program program_;
  std::map<TensorId, std::vector<float>> cells_;
  std::map<std::string, Output> outputs_;
};

// ---- operations over rows: the last axis ----

struct Rows {
  std::int64_t count = 0, length = 0;
};

Rows rows_of(Work& work, const std::string& name) {
  const PlainTensor& x = work.floats(name);
  work.expect(!x.shape.empty() && !x.cells.empty(), name, "(…, n)");
  const std::int64_t n = x.shape.back();
  return {static_cast<std::int64_t>(x.cells.size()) / n, n};
}

std::vector<Axis> row_axes(const Rows& rows) {
  return {{"batch", 1}, {"position", rows.count}, {"feature", rows.length}};
}

void row_op(Work& work, Op op, const OpParams& params = {}) {
  const Rows rows = rows_of(work, "x");
  const PlainTensor& x = work.floats("x");
  work.output("out", work.call(op, {work.input(row_axes(rows), x.cells)}, params), x.shape);
}

void softmax(Work& work) {
  OpParams params;
  params.temperature = work.number("temperature", 1e-6, 1e6, false).value_or(1);
  row_op(work, Op::kSoftmax, params);
}

// −cross_entropy of the row for each of its places in turn, so that no cell is made another way.
void log_softmax(Work& work) {
  const Rows rows = rows_of(work, "x");
  const PlainTensor& x = work.floats("x");
  const std::int64_t n = rows.length;
  work.expect(n <= (1 << 26) / static_cast<std::int64_t>(x.cells.size()), "x",
              "(…, n), cells · n ≤ 67108864");
  std::vector<float> repeated, targets;
  for (std::int64_t r = 0; r < rows.count; ++r) {
    for (std::int64_t j = 0; j < n; ++j) {
      repeated.insert(repeated.end(), x.cells.begin() + r * n, x.cells.begin() + (r + 1) * n);
      targets.push_back(static_cast<float>(j));
    }
  }
  const std::int64_t all = rows.count * n;
  const TensorId logits =
      work.input({{"batch", 1}, {"position", all}, {"vocab", n}}, std::move(repeated));
  const TensorId aims = work.input({{"batch", 1}, {"position", all}}, std::move(targets));
  OpParams params;
  params.factor = -1;
  const TensorId loss = work.call(Op::kCrossEntropy, {logits, aims});
  work.output("out", work.call(Op::kScale, {loss}, params), x.shape);
}

void layer_norm(Work& work) {
  const Rows rows = rows_of(work, "x");
  const PlainTensor& x = work.floats("x");
  const PlainTensor *weight = work.maybe("weight"), *bias = work.maybe("bias");
  OpParams params;
  params.epsilon = static_cast<float>(work.number("epsilon", 0, 1, false).value_or(1e-5));
  const Shape one_row = {rows.length};
  if (weight) work.expect(weight->shape == one_row, "weight", text_of(one_row));
  if (bias) work.expect(bias->shape == one_row, "bias", text_of(one_row));
  const std::vector<Axis> axes = {{"d_model", rows.length}};
  std::vector<TensorId> in = {work.input(row_axes(rows), x.cells)};
  const std::vector<float> ones(static_cast<std::size_t>(rows.length), 1.0f);
  in.push_back(work.input(axes, weight ? weight->cells : ones));
  if (bias) in.push_back(work.input(axes, bias->cells));
  work.output("out", work.call(Op::kLayerNorm, std::move(in), params), x.shape);
}

// ---- products ----

void product(Work& work) {
  const PlainTensor &a = work.floats("a"), &b = work.floats("b");
  work.expect(a.shape.size() >= 2 && !a.cells.empty(), "a", "(…, m, k)");
  const std::int64_t inner = a.shape.back(), m = a.shape[a.shape.size() - 2];
  Shape fits = {a.shape.begin(), a.shape.end() - 2};
  const std::int64_t batch = product_of(fits);
  const bool shared = b.shape.size() == 2;
  const std::int64_t n = b.shape.empty() ? 0 : b.shape.back();
  if (shared) fits.clear();
  fits.insert(fits.end(), {inner, n});
  work.expect(n > 0 && b.shape == fits, "b", "(k = " + std::to_string(inner) + ", n), (…, k, n)");
  Shape shape = a.shape;
  shape.back() = n;
  if (shared) {
    const TensorId x = work.input(row_axes({batch * m, inner}), a.cells);
    const TensorId w = work.input({{"d_model", inner}, {"hidden", n}}, b.cells);
    return work.output("out", work.call(Op::kLinear, {x, w}), shape);
  }
  const TensorId x =
      work.input({{"batch", batch}, {"head", 1}, {"query", m}, {"key", inner}}, a.cells);
  const TensorId y =
      work.input({{"batch", batch}, {"head", 1}, {"position", inner}, {"d_head", n}}, b.cells);
  work.output("out", work.call(Op::kWeightedSum, {x, y}), shape);
}

void gather(Work& work) {
  const PlainTensor &table = work.floats("table"), &ids = work.any("ids");
  if (!ids.dtype.starts_with("I") && !ids.dtype.starts_with("U"))
    work.wrong_kind("ids", "I64", ids.dtype);
  work.expect(table.shape.size() == 2 && !table.cells.empty(), "table", "(rows, width)");
  const auto rows = static_cast<float>(table.shape[0]);
  const bool inside = std::all_of(ids.cells.begin(), ids.cells.end(),
                                  [&](float id) { return id >= 0 && id < rows; });
  work.expect(inside && !ids.cells.empty(), "ids",
              "(…), 0 ≤ id < " + std::to_string(table.shape[0]));
  Shape shape = ids.shape;
  shape.push_back(table.shape[1]);
  const TensorId places = work.input(
      {{"batch", 1}, {"position", static_cast<std::int64_t>(ids.cells.size())}}, ids.cells);
  const TensorId lines =
      work.input({{"vocab", table.shape[0]}, {"d_model", table.shape[1]}}, table.cells);
  work.output("out", work.call(Op::kEmbed, {places, lines}), shape);
}

// ---- attention ----

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
              "k", four(s.batch, std::to_string(s.heads) + " / n", "keys", s.width));
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

// scores, scale, the additive mask, what is forbidden, softmax, weighted sum: each head of each row
// of the batch is a row of its own here, because a mask may differ between heads.
void attention(Work& work) {
  const PlainTensor *past_key = work.maybe("past_key"), *past_value = work.maybe("past_value");
  AttentionSizes s = attention_sizes(work, past_key, past_value);
  const bool causal = work.number("causal", 0, 1, true).value_or(0) == 1;
  const double scale =
      work.number("scale", -1e6, 1e6, false).value_or(1 / std::sqrt(static_cast<double>(s.width)));
  const auto given = work.number("past", 0, 1e9, true);
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
    if (mask.dtype != "BOOL") work.floats("mask");
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

struct Entry {
  SingleOp op;
  void (*build)(Work&);
};

constexpr Entry kEntries[] = {
    {{"softmax", "x (…, n)", "temperature=1", "out (…, n)"}, softmax},
    {{"log-softmax", "x (…, n)", "", "out (…, n)"}, log_softmax},
    {{"layer-norm", "x (…, n), [weight (n)], [bias (n)]", "epsilon=1e-5", "out (…, n)"},
     layer_norm},
    {{"gelu", "x (…, n)", "", "out (…, n)"}, [](Work& work) { row_op(work, Op::kGelu); }},
    {{"gelu-tanh", "x (…, n)", "", "out (…, n)"}, [](Work& work) { row_op(work, Op::kGeluTanh); }},
    {{"product", "a (…, m, k), b (k, n) or (…, k, n)", "", "out (…, m, n)"}, product},
    {{"gather", "table (rows, width), ids (…) whole numbers", "", "out (…, width)"}, gather},
    {{"attention",
      "q (batch, heads, queries, width), k (batch, kv_heads, keys, width), v (batch, kv_heads, "
      "keys, value_width), [mask: BOOL, true where a query may look, or numbers that are added; "
      "(batch, heads, queries, keys), each or 1], [past_key (batch, kv_heads, past, width), "
      "past_value (batch, kv_heads, past, value_width)]",
      "causal=0, scale=1/√width, past=keys of past_key",
      "out (batch, heads, queries, value_width), weights (batch, heads, queries, keys)"},
     attention},
};

}  // namespace

std::span<const SingleOp> single_ops() {
  static const std::vector<SingleOp> kOps = [] {
    std::vector<SingleOp> ops;
    for (const Entry& entry : kEntries) ops.push_back(entry.op);
    return ops;
  }();
  return kOps;
}

PlainTensors run_single_op(std::string_view name, const PlainTensors& inputs,
                           const std::map<std::string, std::string>& attributes, Backend& backend) {
  std::string names;
  for (const Entry& entry : kEntries) {
    names += (names.empty() ? "" : ", ") + std::string(entry.op.name);
    if (entry.op.name != name) continue;
    Work work(entry.op, inputs, attributes);
    entry.build(work);
    work.finish_asking();
    return work.run(backend);
  }
  throw UsageError(Message{"single.unknown", {{"name", std::string(name)}, {"known", names}}});
}

}  // namespace headlight
