#include "tests/bench/bench_gl.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace headlight {
namespace {

constexpr std::string_view kFused = "attention";

struct Case {
  GlTimedCall call;
  std::string shape;
  bool is_product = false;
  double work = 0;  // operations, or the bytes that have to be read and written
  bool asked = true;
};

double number(std::int64_t n) { return static_cast<double>(n); }

std::string times(std::initializer_list<std::int64_t> sizes) {
  std::string text;
  for (const std::int64_t size : sizes) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

Case square(std::int64_t n, int gradient) {
  return {{Op::kLinear, {{1, n, n}, {n, n}}, gradient},
          times({n, n, n}),
          true,
          2 * number(n) * number(n) * number(n),
          n >= 1024};
}

// Heads are narrow, so their products are not asked what large ones are.
Case of_heads(Op op, std::int64_t heads, std::int64_t tokens, int gradient) {
  constexpr std::int64_t kWidth = 64;
  const std::vector<std::int64_t> narrow = {1, heads, tokens, kWidth};
  const std::vector<std::int64_t> wide = {1, heads, tokens, tokens};
  return {{op, {op == Op::kScores ? narrow : wide, narrow}, gradient},
          times({heads, tokens, tokens, kWidth}),
          true,
          2 * number(heads * tokens) * number(tokens * kWidth),
          false};
}

std::vector<Case> cases(bool hardware) {
  std::vector<Case> all;
  const std::int64_t n = hardware ? 2048 : 512;
  for (const std::int64_t size : {hardware ? std::int64_t{1024} : n, hardware ? n : 1024})
    all.push_back(square(size, -1));
  for (const int gradient : {0, 1}) all.push_back(square(n, gradient));
  const std::int64_t heads = hardware ? 16 : 4, tokens = hardware ? 1024 : 256;
  for (const Op op : {Op::kScores, Op::kWeightedSum}) {
    for (const int gradient : {-1, 0, 1}) all.push_back(of_heads(op, heads, tokens, gradient));
  }
  const std::int64_t rows = hardware ? 16384 : 2048, columns = 1024;
  // A gradient reads two tensors and writes one.
  const auto add = [&](Op op, TrialShapes shapes, int gradient = -1) {
    const Program p = trial_program(op, shapes, columns);
    std::vector<TensorView> in;
    for (const TensorId id : p.calls[0].in) in.push_back(p.look(id));
    const TensorView out = p.look(p.calls[0].out);
    const double bytes =
        gradient < 0 ? call_bytes(op_info(op), in, out) : 12 * number(rows * columns);
    all.push_back({{op, std::move(shapes), gradient}, times({rows, columns}), false, bytes, true});
  };
  const std::vector<std::int64_t> x = {1, rows, columns}, h = {1, 4, rows / 4, columns};
  const std::vector<std::int64_t> w = {columns};
  add(Op::kSoftmax, {x});
  add(Op::kSoftmax, {x}, 0);
  add(Op::kLayerNorm, {x, w, w});
  add(Op::kLayerNorm, {x, w, w}, 0);
  add(Op::kCrossEntropy, {x, {1, rows}});
  for (const Op op : {Op::kGelu, Op::kGeluTanh, Op::kSilu, Op::kRelu, Op::kScale}) add(op, {x});
  add(Op::kGelu, {x}, 0);
  add(Op::kAdd, {x, x});
  add(Op::kMultiply, {x, x});
  add(Op::kRotary, {h});
  add(Op::kMask, {h, {1, rows / 4, columns}});
  add(Op::kConcatHeads, {h});
  return all;
}

double seconds_for(const GlBench& bench) { return bench.hardware ? 0.2 : 0.7; }

// `work` in operations of a product, else in bytes.
GlBenchRow row_of(const GlTime& time, std::string shape, bool is_product, double work,
                  const GlBench& bench) {
  GlBenchRow row;
  row.kernel = time.file.substr(time.file.rfind('/') + 1);
  row.shape = std::move(shape);
  row.milliseconds = time.nanoseconds * 1e-6;
  row.is_product = is_product;
  row.rate = work / time.nanoseconds;
  row.share = row.rate / (is_product ? bench.limits.multiply_adds : bench.limits.copies);
  return row;
}

GlBenchRow measured(GlBackend& gl, const Case& c, const GlBench& bench) {
  GlBenchRow row =
      row_of(time_call(gl, c.call, seconds_for(bench)), c.shape, c.is_product, c.work, bench);
  if (c.asked && bench.hardware) row.asked = c.is_product ? 0.4 : 0.6;
  return row;
}

// The products that each kernel of fused attention makes of queries × keys × width, those included
// that it makes again.
int products_of(std::string_view file) {
  return file.ends_with("_q.comp") || file.ends_with("_k.comp") ? 3 : 2;
}

std::vector<GlBenchRow> fused_rows(GlBackend& gl, const GlBench& bench) {
  const std::int64_t tokens = bench.hardware ? 1024 : 256;
  const GlTimedAttention a{1, bench.hardware ? 16 : 4, tokens, 64};
  const double cells = number(a.batch * a.heads * a.tokens * a.width);
  std::vector<GlBenchRow> rows;
  for (const GlTime& time : time_attention(gl, a, seconds_for(bench))) {
    const double work = 2 * products_of(time.file) * cells * number(tokens);
    rows.push_back(row_of(time, times({a.heads, tokens, tokens, a.width}), true, work, bench));
  }
  return rows;
}

std::string formatted(const char* format, double a, double b = 0) {
  char text[160];
  std::snprintf(text, sizeof text, format, a, b);
  return text;
}

}  // namespace

std::vector<std::string> gl_bench_ops() {
  std::vector<std::string> ids;
  for (const Case& c : cases(false)) {
    const std::string id(op_info(c.call.op).id);
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  ids.emplace_back(kFused);
  return ids;
}

GlBench bench_gl(GlBackend& gl, const std::string& only, const GlRates& stated,
                 const std::function<void(const GlBench&)>& begin,
                 const std::function<void(const GlBenchRow&)>& row) {
  GlBench bench;
  bench.device = gl.device().renderer;
  bench.version = gl.device().version;
  bench.hardware = !is_software_renderer(bench.device);
  bench.measured = bench.limits = measure_rates();
  if (stated.multiply_adds > 0) bench.limits.multiply_adds = stated.multiply_adds;
  if (stated.copies > 0) bench.limits.copies = stated.copies;
  begin(bench);
  for (const Case& c : cases(bench.hardware)) {
    if (!only.empty() && only != op_info(c.call.op).id) continue;
    bench.rows.push_back(measured(gl, c, bench));
    row(bench.rows.back());
  }
  if (!only.empty() && only != kFused) return bench;
  for (const GlBenchRow& fused : fused_rows(gl, bench)) {
    bench.rows.push_back(fused);
    row(fused);
  }
  return bench;
}

std::string head_line(const GlBench& bench) {
  const GlRates &m = bench.measured, &l = bench.limits;
  std::string text = bench.device + ", OpenGL " + bench.version + "\n";
  text += formatted("measured: %.1f GFLOP/s by multiply_add.comp, %.2f GB/s by copy.comp\n",
                    m.multiply_adds, m.copies);
  text += formatted("shares are of %.1f GFLOP/s and %.2f GB/s\n", l.multiply_adds, l.copies);
  if (!bench.hardware) {
    text +=
        "a software renderer: its speed is for information, nothing is asked of it; this takes "
        "half a minute\n";
  }
  return text;
}

std::string table_line(const GlBenchRow& row) {
  char text[200];
  std::snprintf(text, sizeof text, "%-30s %-20s %10.3f ms %10.2f %-7s %6.1f %%", row.kernel.c_str(),
                row.shape.c_str(), row.milliseconds, row.rate, row.is_product ? "GFLOP/s" : "GB/s",
                100 * row.share);
  return text + (row.asked > 0 ? formatted("  asked %.0f %%", 100 * row.asked) : "") + "\n";
}

std::string gl_bench_json(const GlBench& bench) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const GlBenchRow& row : bench.rows) {
    rows.push_back({{"kernel", row.kernel},
                    {"shape", row.shape},
                    {"milliseconds", row.milliseconds},
                    {"rate", row.rate},
                    {"unit", row.is_product ? "GFLOP/s" : "GB/s"},
                    {"share", row.share},
                    {"asked", row.asked > 0 ? Json(row.asked) : Json()}});
  }
  const auto rates = [](const GlRates& r) -> Json {
    return {{"gflops", r.multiply_adds}, {"gbs", r.copies}};
  };
  const Json all = {{"device", bench.device},        {"version", bench.version},
                    {"hardware", bench.hardware},    {"measured", rates(bench.measured)},
                    {"limits", rates(bench.limits)}, {"rows", rows}};
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace headlight
