#include "core/check/single_op.h"

#include "core/check/single_op_work.h"
#include "core/graph/config.h"

namespace headlight {
namespace {

using namespace single;

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

// −cross_entropy of the row for each of its places in turn, so that no cell is made another way: in
// pieces, because each place has a row of its own.
void log_softmax(Work& work) {
  constexpr std::int64_t kPiece = 1 << 22;  // cells
  const Rows rows = rows_of(work, "x");
  const PlainTensor& x = work.floats("x");
  const std::int64_t n = rows.length, all = rows.count * n;
  work.expect(n <= kPiece, "x", "(…, n), n ≤ 4194304");
  const std::int64_t places = std::min(all, kPiece / n);
  const TensorId logits = work.input({{"batch", 1}, {"position", places}, {"vocab", n}}, {});
  const TensorId classes = work.input({{"batch", 1}, {"position", places}}, {});
  work.in_pieces((all + places - 1) / places, [=, &work, &x](std::int64_t piece) {
    std::vector<float>&rows_again = work.cells(logits), &targets = work.cells(classes);
    rows_again.clear();
    targets.clear();
    for (std::int64_t i = 0; i < places; ++i) {
      const std::int64_t place = std::min(piece * places + i, all - 1);
      const auto row = x.cells.begin() + place / n * n;
      rows_again.insert(rows_again.end(), row, row + n);
      targets.push_back(static_cast<float>(place % n));
    }
  });
  OpParams params;
  params.factor = -1;
  const TensorId loss = work.call(Op::kCrossEntropy, {logits, classes});
  work.output("out", work.call(Op::kScale, {loss}, params), x.shape);
}

// Layer norm, and RMS norm, which has no bias.
void norm(Work& work, Op op) {
  const Rows rows = rows_of(work, "x");
  const PlainTensor& x = work.floats("x");
  const PlainTensor* weight = work.maybe("weight");
  const PlainTensor* bias = op == Op::kLayerNorm ? work.maybe("bias") : nullptr;
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
  work.output("out", work.call(op, std::move(in), params), x.shape);
}

void multiply(Work& work) {
  const Rows rows = rows_of(work, "a");
  const PlainTensor &a = work.floats("a"), &b = work.floats("b");
  work.expect(b.shape == a.shape, "b", text_of(a.shape));
  const TensorId x = work.input(row_axes(rows), a.cells), y = work.input(row_axes(rows), b.cells);
  work.output("out", work.call(Op::kMultiply, {x, y}), a.shape);
}

void rotary(Work& work) {
  const PlainTensor& x = work.floats("x");
  work.expect(x.shape.size() == 4 && !x.cells.empty(), "x", "(batch, heads, positions, width)");
  const std::int64_t width = x.shape[3];
  OpParams params;
  params.base = work.number("base", kLowestRotaryBase, kHighestRotaryBase, false).value_or(10000);
  params.interleaved = work.number("interleaved", 0, 1, true).value_or(0) == 1;
  const auto turned = work.number("turned", 2, static_cast<double>(width), true);
  params.turned = static_cast<std::int64_t>(turned.value_or(static_cast<double>(width)));
  if (turned && params.turned % 2 != 0)
    throw UsageError(
        Message{"error.rotary_width",
                {{"got", std::to_string(params.turned)}, {"width", std::to_string(width)}}});
  work.expect(params.turned % 2 == 0, "x", "(batch, heads, positions, an even width)");
  const TensorId in = work.input(
      {{"batch", x.shape[0]}, {"head", x.shape[1]}, {"position", x.shape[2]}, {"d_head", width}},
      x.cells);
  work.output("out", work.call(Op::kRotary, {in}, params), x.shape);
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
  work.expect(n > 0 && b.shape == fits, "b", "(k = " + std::to_string(inner) + ", n) or (…, k, n)");
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
    work.wrong_kind("ids", "I64, I32, I16, I8, U64, U32, U16 or U8", ids.dtype);
  // Ids are kept as floats, which tell no more whole numbers than these apart.
  constexpr std::int64_t kMaxRows = 1 << 24;
  work.expect(table.shape.size() == 2 && !table.cells.empty() && table.shape[0] <= kMaxRows,
              "table", "(rows ≤ " + std::to_string(kMaxRows) + ", width)");
  work.expect(!ids.cells.empty(), "ids", "(…)");
  work.expect_ids("ids", table.shape[0]);
  Shape shape = ids.shape;
  shape.push_back(table.shape[1]);
  const TensorId places = work.input(
      {{"batch", 1}, {"position", static_cast<std::int64_t>(ids.cells.size())}}, ids.cells);
  const TensorId lines =
      work.input({{"vocab", table.shape[0]}, {"d_model", table.shape[1]}}, table.cells);
  work.output("out", work.call(Op::kEmbed, {places, lines}), shape);
}

struct Entry {
  SingleOp op;
  void (*build)(Work&);
};

constexpr Entry kEntries[] = {
    {{"softmax", "x (…, n)", "temperature=1", "out (…, n)"}, softmax},
    {{"log-softmax", "x (…, n)", "", "out (…, n)"}, log_softmax},
    {{"layer-norm", "x (…, n), [weight (n)], [bias (n)]", "epsilon=1e-5", "out (…, n)"},
     [](Work& work) { norm(work, Op::kLayerNorm); }},
    {{"rms-norm", "x (…, n), [weight (n)]", "epsilon=1e-5", "out (…, n)"},
     [](Work& work) { norm(work, Op::kRmsNorm); }},
    {{"gelu", "x (…, n)", "", "out (…, n)"}, [](Work& work) { row_op(work, Op::kGelu); }},
    {{"gelu-tanh", "x (…, n)", "", "out (…, n)"}, [](Work& work) { row_op(work, Op::kGeluTanh); }},
    {{"silu", "x (…, n)", "", "out (…, n)"}, [](Work& work) { row_op(work, Op::kSilu); }},
    {{"multiply", "a (…, n), b (…, n)", "", "out (…, n)"}, multiply},
    {{"rotary", "x (batch, heads, positions, width)", "base=10000, interleaved=0, turned=width",
      "out (batch, heads, positions, width)"},
     rotary},
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
