// Each operation: its shape rule, small numbers known by hand, and what must hold for any numbers.
// What is run here is run by every backend.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "core/backends/backend.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/graph/program.h"
#include "core/ops/op.h"

namespace headlight::test_ops {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor tensor(std::string name, std::vector<Axis> axes, const std::vector<float>& cells) {
  REQUIRE(cell_count(axes) == static_cast<std::int64_t>(cells.size()));
  return {std::move(name), std::move(axes), FloatBuffer(cells.begin(), cells.end())};
}

Tensor drawn_tensor(std::string name, std::vector<Axis> axes, std::uint64_t key = 1) {
  Tensor t{std::move(name), std::move(axes), {}};
  t.data.resize(static_cast<std::size_t>(cell_count(t.axes)));
  for (std::size_t i = 0; i < t.data.size(); ++i) t.data[i] = bell(key, i);
  return t;
}

std::vector<std::unique_ptr<Backend>> all_backends() {
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(make_reference_backend());
  backends.push_back(make_cpu_backend(2));
  return backends;
}

std::vector<TensorView> views_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (const Tensor& t : tensors) views.push_back(view(t));
  return views;
}

// A program of a single call.
Program program_of(Op op, const std::vector<Tensor>& in, const OpParams& params) {
  Program p;
  OpCall call{op, {}, static_cast<TensorId>(in.size()), params};
  for (const Tensor& t : in) {
    call.in.push_back(static_cast<TensorId>(p.tensors.size()));
    p.tensors.push_back({t.name, t.axes, TensorKind::kInput});
  }
  const std::vector<TensorView> views = views_of(in);
  p.tensors.push_back({"result", op_info(op).shape(views, params), TensorKind::kActivation});
  p.calls.push_back(std::move(call));
  return p;
}

Tensor run_op(Backend& backend, Op op, std::vector<Tensor> in, const OpParams& params = {}) {
  const Program program = program_of(op, in, params);
  Tensor out{"result", program.tensors.back().axes, {}};
  out.data.assign(static_cast<std::size_t>(cell_count(out.axes)), kNan);
  std::vector<float*> memory;
  for (Tensor& t : in) memory.push_back(t.data.data());
  memory.push_back(out.data.data());
  REQUIRE(backend.supports(program, program.calls[0]));
  backend.run(program, program.calls, memory);
  return out;
}

bool close(float a, double b, double limit) {
  if (std::isinf(b)) return a == static_cast<float>(b);
  return std::fabs(a - b) <= limit;
}

// Runs the operation on every backend and compares with the numbers known by hand.
void expect(Op op, const std::vector<Tensor>& in, const std::vector<double>& cells,
            const OpParams& params = {}) {
  for (const auto& backend : all_backends()) {
    CAPTURE(op_info(op).id);
    CAPTURE(backend->name());
    const Tensor out = run_op(*backend, op, in, params);
    REQUIRE(out.data.size() == cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const double limit = 5e-7 * std::max(1.0, std::fabs(cells[i]));
      CHECK_MESSAGE(close(out.data[i], cells[i], limit),
                    "cell " << i << " is " << out.data[i] << ", not " << cells[i]);
    }
  }
}

// ---- axes that the cases share ----

std::vector<Axis> row(std::int64_t n) { return {{"batch", 1}, {"position", 1}, {"feature", n}}; }
std::vector<Axis> rows(std::int64_t b, std::int64_t t, std::int64_t n) {
  return {{"batch", b}, {"position", t}, {"feature", n}};
}
std::vector<Axis> heads(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t e) {
  return {{"batch", b}, {"head", h}, {"position", t}, {"d_head", e}};
}
std::vector<Axis> pairs(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  return {{"batch", b}, {"head", h}, {"query", i}, {"key", j}};
}
std::vector<Axis> weight3(std::int64_t h, std::int64_t n, std::int64_t e) {
  return {{"head", h}, {"d_model", n}, {"d_head", e}};
}
std::vector<Axis> matrix(const char* a, std::int64_t n, const char* b, std::int64_t m) {
  return {{a, n}, {b, m}};
}

// ---- shapes ----

using Shapes = std::vector<std::vector<Axis>>;

struct ShapeCase {
  Op op;
  Shapes in;
  std::string out;    // shape_text of the result; empty when the inputs do not fit
  std::string error;  // part of the message when they do not
  OpParams params = {};
};

OpParams features(std::int64_t n) {
  OpParams params;
  params.features = n;
  return params;
}

OpParams turned(std::int64_t n) {
  OpParams params;
  params.turned = n;
  return params;
}

std::vector<ShapeCase> first_shape_cases() {
  const std::vector<Axis> ids = matrix("batch", 2, "position", 5);
  const std::vector<Axis> table = matrix("vocab", 7, "d_model", 4);
  const std::vector<Axis> places = matrix("position", 6, "d_model", 4);
  const std::vector<Axis> few_places = matrix("position", 4, "d_model", 4);
  const std::vector<Axis> x = rows(2, 5, 4);
  const std::string x_text = "(batch 2, position 5, feature 4)";
  return {
      {Op::kEmbed, {ids, table}, x_text, ""},
      {Op::kEmbed,
       {x, table},
       "",
       "embed expects ids (batch, position) and a table (vocab, d_model); got in0 (batch 2, "
       "position 5, feature 4) in1 (vocab 7, d_model 4)"},
      {Op::kEmbed, {ids}, "", "embed expects 2 inputs; got in0 (batch 2, position 5)"},
      {Op::kSinusoid, {ids}, x_text, "", features(4)},
      {Op::kSinusoid, {x}, "", "sinusoid expects ids (batch, position)", features(4)},
      {Op::kLearnedPosition, {ids, places}, x_text, ""},
      {Op::kLearnedPosition, {ids, few_places}, "", "a table with a row for each position"},
      {Op::kAdd, {x, x}, x_text, ""},
      {Op::kAdd, {x, rows(2, 5, 3)}, "", "add expects two tensors of one shape; got in0"},
      {Op::kAdd, {x, places}, "", "in1 (position 6, d_model 4)"},
      {Op::kLayerNorm, {x, {{"d_model", 4}}}, x_text, ""},
      {Op::kLayerNorm, {x, {{"d_model", 4}}, {{"d_model", 4}}}, x_text, ""},
      {Op::kLayerNorm, {x, {{"d_model", 5}}}, "", "as long as a row"},
      {Op::kLayerNorm, {x, {{"d_model", 4}}, {{"d_model", 3}}}, "", "as long as a row"},
      {Op::kLayerNorm, {x}, "", "layer_norm expects 2 to 3 inputs"},
      {Op::kProject, {x, weight3(3, 4, 2)}, "(batch 2, position 5, feature 6)", ""},
      {Op::kProject,
       {x, weight3(3, 4, 2), matrix("head", 3, "d_head", 2)},
       "(batch 2, position 5, feature 6)",
       ""},
      {Op::kProject, {x, weight3(3, 5, 2)}, "", "project expects x (batch, position, n)"},
      {Op::kProject, {x, weight3(3, 4, 2), matrix("head", 3, "d_head", 3)}, "", "in2 (head 3"},
      {Op::kLinear, {x, matrix("d_model", 4, "hidden", 9)}, "(batch 2, position 5, hidden 9)", ""},
      {Op::kLinear,
       {{{"batch", 2}, {"query", 5}, {"feature", 6}},
        {{"head", 3}, {"d_head", 2}, {"d_model", 4}},
        {{"d_model", 4}}},
       x_text,
       ""},
      {Op::kLinear, {x, matrix("d_model", 5, "hidden", 9)}, "", "linear expects x (..., n)"},
      {Op::kLinear, {x, matrix("d_model", 4, "hidden", 9), {{"hidden", 8}}}, "", "b (m)"},
      {Op::kLinearTransposed,
       {x, matrix("vocab", 9, "d_model", 4)},
       "(batch 2, position 5, vocab 9)",
       ""},
      {Op::kLinearTransposed, {x, matrix("d_model", 4, "vocab", 9)}, "", "W (m, n)"},
  };
}

std::vector<ShapeCase> second_shape_cases() {
  const std::vector<Axis> q = heads(2, 3, 5, 4), k = heads(2, 3, 6, 4), s = pairs(2, 3, 5, 6);
  const std::vector<Axis> mask = {{"batch", 2}, {"query", 5}, {"key", 6}};
  const std::vector<Axis> wrong_mask = {{"batch", 2}, {"query", 6}, {"key", 5}};
  const std::vector<Axis> present = {{"batch", 2}, {"position", 5}};
  const std::string s_text = "(batch 2, head 3, query 5, key 6)";
  std::vector<ShapeCase> cases = {
      {Op::kSplitHeads,
       {rows(2, 5, 12), weight3(3, 7, 4)},
       "(batch 2, head 3, position 5, d_head 4)",
       ""},
      {Op::kSplitHeads, {rows(2, 5, 11), weight3(3, 7, 4)}, "", "split_heads expects x"},
      {Op::kConcatHeads,
       {{{"batch", 2}, {"head", 3}, {"query", 5}, {"d_head", 4}}},
       "(batch 2, query 5, feature 12)",
       ""},
      {Op::kConcatHeads, {rows(2, 5, 4)}, "", "concat_heads expects z"},
      {Op::kScores, {q, k}, s_text, ""},
      {Op::kScores, {q, heads(2, 3, 6, 5)}, "", "scores expects q (batch, head, query, d_head)"},
      {Op::kScores, {q, heads(2, 2, 6, 4)}, "", "whose heads divide q's; got in0 (batch 2, head 3"},
      {Op::kScores, {q, heads(2, 1, 6, 4)}, s_text, ""},
      {Op::kScores, {q, heads(1, 3, 6, 4)}, "", "scores expects"},
      {Op::kAdditiveScores, {q, k, matrix("head", 3, "d_head", 4)}, s_text, ""},
      {Op::kAdditiveScores, {q, k, matrix("head", 4, "d_head", 3)}, "", "v (head, d_head)"},
      {Op::kAdditiveScores,
       {q, heads(2, 3, 6, 5), matrix("head", 3, "d_head", 4)},
       "",
       "additive_scores expects"},
      {Op::kRecurrence,
       {rows(2, 5, 4), matrix("state", 4, "next_state", 4), present},
       "(batch 2, position 5, state 4)",
       ""},
      {Op::kRecurrence,
       {rows(2, 5, 4), matrix("state", 4, "next_state", 3), present},
       "",
       "recurrence expects a (batch, position, n)"},
      {Op::kGru,
       {rows(2, 5, 12), matrix("state", 4, "gate", 12), present, {{"gate", 12}}},
       "(batch 2, position 5, state 4)",
       ""},
      {Op::kGru,
       {rows(2, 5, 12), matrix("state", 4, "gate", 12), present, {{"gate", 4}}},
       "",
       "gru expects a (batch, position, 3n)"},
      {Op::kConvolution,
       {rows(2, 5, 4), {{"tap", 3}, {"d_model", 4}, {"feature", 6}}, present},
       "(batch 2, position 5, feature 6)",
       ""},
      {Op::kConvolution,
       {rows(2, 5, 4), {{"tap", 4}, {"d_model", 3}, {"feature", 6}}, present},
       "",
       "W (tap, n, m)"},
      {Op::kMask, {s, mask}, s_text, ""},
      {Op::kMask, {s, wrong_mask}, "", "mask expects scores (batch, head, query, key)"},
      {Op::kWeightedSum, {s, k}, "(batch 2, head 3, query 5, d_head 4)", ""},
      {Op::kWeightedSum, {s, heads(2, 1, 6, 4)}, "(batch 2, head 3, query 5, d_head 4)", ""},
      {Op::kWeightedSum, {s, heads(2, 2, 6, 4)}, "", "whose heads divide the weights'"},
      {Op::kSplitHeads,
       {rows(2, 5, 8), {{"kv_head", 2}, {"d_model", 7}, {"d_head", 4}}},
       "(batch 2, kv_head 2, position 5, d_head 4)",
       ""},
      {Op::kRotary, {q}, "(batch 2, head 3, position 5, d_head 4)", ""},
      {Op::kRotary, {q}, "(batch 2, head 3, position 5, d_head 4)", "", turned(2)},
      {Op::kRotary,
       {heads(2, 3, 5, 7)},
       "",
       "an even number of features to turn, up to d_head = 7"},
      {Op::kRotary, {q}, "", "(6 were asked for)", turned(6)},
      {Op::kRotary, {q}, "", "(3 were asked for)", turned(3)},
      {Op::kRotary, {rows(2, 5, 4)}, "", "rotary expects x (batch, head, position, d_head)"},
      {Op::kRmsNorm, {rows(2, 5, 7), {{"d_model", 7}}}, "(batch 2, position 5, feature 7)", ""},
      {Op::kRmsNorm, {rows(2, 5, 7), {{"d_model", 4}}}, "", "w as long as a row"},
      {Op::kRmsNorm, {rows(2, 5, 7)}, "", "rms_norm expects 2 inputs"},
      {Op::kMultiply, {q, q}, "(batch 2, head 3, position 5, d_head 4)", ""},
      {Op::kMultiply, {q, s}, "", "multiply expects two tensors of one shape"},
      {Op::kWeightedSum, {s, q}, "", "weighted_sum expects weights (batch, head, query, key)"},
      {Op::kScores,
       {q, {{"batch", 2}, {"head", 3}, {"source", 6}, {"d_head", 4}}},
       "(batch 2, head 3, query 5, source_key 6)",
       ""},
      {Op::kMeanPool,
       {rows(2, 5, 7), matrix("batch", 2, "position", 5)},
       "(batch 2, feature 7)",
       ""},
      {Op::kMeanPool,
       {rows(2, 5, 7), matrix("batch", 2, "position", 7)},
       "",
       "mean_pool expects x (batch, position, feature) and present (batch, position)"},
      {Op::kConcatTokens,
       {rows(2, 5, 7), matrix("batch", 2, "position", 5)},
       "(batch 2, place 35)",
       ""},
      {Op::kConcatTokens,
       {rows(2, 5, 7), matrix("batch", 2, "position", 4)},
       "",
       "concat_tokens expects x (batch, position, feature) and present (batch, position)"},
      {Op::kConcatRows, {rows(2, 3, 7), rows(2, 5, 7)}, "(batch 2, key 8, feature 7)", ""},
      {Op::kConcatRows,
       {rows(2, 3, 6), rows(2, 5, 7)},
       "",
       "concat_rows expects memory (batch, memory, feature) and x (batch, position, feature)"},
      {Op::kAppendRow,
       {heads(2, 3, 5, 4), matrix("head", 3, "d_head", 4)},
       "(batch 2, head 3, position 6, d_head 4)",
       ""},
      {Op::kAppendRow,
       {heads(2, 3, 5, 4), matrix("head", 2, "d_head", 4)},
       "",
       "append_row expects x (batch, head, position, n) and row (head, n)"},
      {Op::kMaskHeads, {pairs(2, 3, 5, 6), {{"head", 3}}}, "(batch 2, head 3, query 5, key 6)", ""},
      {Op::kMaskHeads,
       {pairs(2, 3, 5, 6), {{"head", 2}}},
       "",
       "mask_heads expects A (batch, head, query, key) and mask (head)"},
      {Op::kMeanHeads, {pairs(2, 3, 5, 6)}, "(batch 2, query 5, key 6)", ""},
      {Op::kMeanHeads, {rows(2, 5, 7)}, "", "mean_heads expects A (batch, head, query, key)"},
      {Op::kFusedAttention,
       {heads(2, 6, 5, 4), heads(2, 3, 9, 4), heads(2, 3, 9, 7)},
       "(batch 2, head 6, query 5, d_head 7)",
       ""},
      {Op::kFusedAttention,
       {heads(2, 6, 5, 4), heads(2, 3, 9, 4), heads(2, 3, 9, 7), rows(2, 5, 9)},
       "(batch 2, head 6, query 5, d_head 7)",
       ""},
      {Op::kFusedAttention,
       {heads(2, 6, 5, 4), heads(2, 3, 9, 4), heads(2, 3, 9, 7), rows(2, 9, 5)},
       "",
       "whose heads divide q's, and mask (batch, query, key)"},
      {Op::kFusedAttention,
       {heads(2, 6, 5, 4), heads(2, 3, 9, 4), heads(2, 3, 8, 7)},
       "",
       "fused_attention expects q (batch, head, query, n)"},
      {Op::kFusedAttention,
       {heads(2, 6, 5, 4), heads(2, 4, 9, 4), heads(2, 4, 9, 7)},
       "",
       "fused_attention expects q (batch, head, query, n)"},
      {Op::kFusedAttention,
       {heads(2, 6, 5, 4), heads(2, 3, 9, 5), heads(2, 3, 9, 7)},
       "",
       "fused_attention expects q (batch, head, query, n)"},
      {Op::kFocusScores,
       {rows(2, 5, 7), matrix("direction", 7, "focus", 3)},
       "(batch 2, head 1, focus 3, key 5)",
       ""},
      {Op::kFocusScores,
       {rows(2, 5, 7), matrix("direction", 6, "focus", 3)},
       "",
       "focus_scores expects u (batch, position, hidden) and W (hidden, focus)"},
      {Op::kFociPenalty, {pairs(2, 1, 3, 3)}, "(batch 2)", ""},
      {Op::kAlibi, {s}, s_text, ""},
      {Op::kAlibi, {rows(2, 5, 7)}, "", "alibi expects S (batch, head, query, key)"},
      {Op::kDistanceBias, {s, matrix("head", 3, "bucket", 8)}, s_text, ""},
      {Op::kDistanceBias, {s, matrix("head", 2, "bucket", 8)}, "", "b (head, bucket)"},
      {Op::kDistanceSinusoid,
       {matrix("batch", 2, "position", 5)},
       "(batch 2, distance_both 9, feature 0)",
       ""},
      {Op::kDistanceSinusoid, {rows(2, 5, 7)}, "", "distance_sinusoid expects ids"},
      {Op::kRelativeScores,
       {q, matrix("distance_both", 7, "d_head", 4)},
       "(batch 2, head 3, query 5, key 5)",
       ""},
      {Op::kRelativeScores, {q, heads(2, 3, 9, 4)}, "(batch 2, head 3, query 5, key 5)", ""},
      {Op::kRelativeScores, {q, heads(2, 2, 9, 4)}, "", "a row of d_head numbers"},
      {Op::kRelativeScores, {q, matrix("distance_both", 7, "d_head", 5)}, "", "relative_scores"},
      {Op::kRelativeSum,
       {s, matrix("distance_both", 7, "d_head", 4)},
       "(batch 2, head 3, query 5, d_head 4)",
       ""},
      {Op::kRelativeSum, {s, q}, "", "relative_sum expects A (batch, head, query, key)"},
      {Op::kShiftHeads,
       {q, matrix("head", 3, "d_head", 4)},
       "(batch 2, head 3, position 5, d_head 4)",
       ""},
      {Op::kShiftHeads, {q, matrix("head", 4, "d_head", 4)}, "", "u (head, d_head)"},
      {Op::kFociPenalty, {pairs(2, 1, 3, 4)}, "", "foci_penalty expects G"},
      {Op::kExpertLinear,
       {rows(2, 5, 7), weight3(3, 7, 4), matrix("expert", 3, "d_head", 4)},
       "(batch 2, expert 3, position 5, d_head 4)",
       ""},
      {Op::kExpertLinear, {q, weight3(3, 4, 9)}, "(batch 2, expert 3, position 5, d_head 9)", ""},
      {Op::kExpertLinear, {q, weight3(2, 4, 9)}, "", "expert_linear expects x"},
      {Op::kExpertLinear,
       {rows(2, 5, 7), weight3(3, 7, 4), matrix("expert", 4, "d_head", 3)},
       "",
       "b (expert, m)"},
      {Op::kTopExperts, {rows(2, 5, 4)}, "(batch 2, position 5, feature 4)", ""},
      {Op::kTopExperts, {q}, "", "top_experts expects G (batch, position, expert)"},
      {Op::kMix, {rows(2, 5, 3), q}, "(batch 2, position 5, d_head 4)", ""},
      {Op::kMix, {rows(2, 5, 4), q}, "", "mix expects G (batch, position, expert) and Y"},
      {Op::kLoadBalance,
       {rows(2, 5, 3), matrix("batch", 2, "position", 5), matrix("batch", 2, "position", 7)},
       "(batch 2, position 7)",
       ""},
      {Op::kLoadBalance,
       {rows(2, 5, 3), matrix("batch", 2, "position", 4), {{"batch", 2}}},
       "",
       "load_balance expects G"},
      {Op::kNumber, {matrix("batch", 2, "position", 5)}, "(batch 2, position 5, number 1)", ""},
      {Op::kNumber, {rows(2, 5, 3)}, "", "number expects ids (batch, position)"},
      {Op::kMixtureLogits, {rows(2, 5, 1)}, "(batch 2, position 5, vocab 4)", "", features(4)},
      {Op::kMixtureLogits, {rows(2, 5, 2)}, "", "mixture_logits expects a number", features(4)},
      {Op::kMixtureLogits,
       {rows(2, 5, 3), rows(2, 5, 3), rows(2, 5, 3)},
       "(batch 2, position 5, vocab 4)",
       "",
       features(4)},
      {Op::kMixtureLogits,
       {rows(2, 5, 3), rows(2, 5, 3), rows(2, 5, 2)},
       "",
       "mixture_logits expects a number",
       features(4)},
      {Op::kDropout, {s, s}, s_text, ""},
      {Op::kDropout, {s, mask}, "", "dropout expects two tensors of one shape"},
      {Op::kCrossEntropy, {matrix("batch", 2, "class", 3), {{"batch", 2}}}, "(batch 2)", ""},
      {Op::kCrossEntropy, {matrix("batch", 2, "class", 3), {{"batch", 3}}}, "", "in1 (batch 3)"},
      {Op::kCrossEntropy,
       {rows(2, 5, 7), matrix("batch", 2, "position", 5)},
       "(batch 2, position 5)",
       ""},
      {Op::kCrossEntropy,
       {rows(2, 5, 7), matrix("batch", 2, "position", 7)},
       "",
       "cross_entropy expects logits (batch, position, vocab) and targets (batch, position)"},
  };
  for (Op op :
       {Op::kScale, Op::kSoftmax, Op::kRelu, Op::kGelu, Op::kGeluTanh, Op::kSilu, Op::kTanh}) {
    cases.push_back({op, {s}, s_text, ""});
    cases.push_back({op, {s, s}, "", "in1 (batch 2, head 3, query 5, key 6)"});
  }
  return cases;
}

void check_shape(const ShapeCase& c) {
  std::vector<TensorView> in;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < c.in.size(); ++i) names.push_back("in" + std::to_string(i));
  for (std::size_t i = 0; i < c.in.size(); ++i) in.push_back({names[i], c.in[i], nullptr});
  std::string got, error;
  try {
    got = shape_text(op_info(c.op).shape(in, c.params));
  } catch (const UsageError& e) {
    error = e.what();
  }
  CAPTURE(op_info(c.op).id);
  CHECK(got == c.out);
  CHECK_MESSAGE(error.find(c.error) != std::string::npos, error << "\n  lacks  " << c.error);
  CHECK(error.empty() == c.error.empty());
}

// ---- whole models ----

struct Model {
  Program program;
  std::vector<FloatBuffer> owned;
  std::vector<float*> memory;

  std::span<const float> cells(std::string_view name) const {
    const TensorId id = program.require(name);
    return {
        memory[static_cast<std::size_t>(id)],
        static_cast<std::size_t>(cell_count(program.tensors[static_cast<std::size_t>(id)].axes))};
  }
};

// A model whose weights depend on their names alone. `ids` holds the batch's items one by one.
Model run_model(Backend& backend, const Config& config, const RunShape& shape,
                const std::vector<int>& ids) {
  Model m{build_program(config, shape), {}, {}};
  for (std::size_t id = 0; id < m.program.tensors.size(); ++id) {
    const TensorSpec& spec = m.program.tensors[id];
    FloatBuffer cells(
        spec.kind == TensorKind::kAlias ? 0 : static_cast<std::size_t>(cell_count(spec.axes)),
        kNan);
    if (spec.kind == TensorKind::kParameter) {
      for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = bell(hash_text(spec.name), i) / 2;
    }
    m.owned.push_back(std::move(cells));
    m.memory.push_back(m.owned.back().data());
  }
  for (std::size_t id = 0; id < m.memory.size(); ++id) {
    m.memory[id] = m.memory[static_cast<std::size_t>(m.program.resolve(static_cast<int>(id)))];
  }
  REQUIRE(static_cast<std::int64_t>(ids.size()) == shape.batch * shape.positions);
  std::copy(ids.begin(), ids.end(), m.memory[static_cast<std::size_t>(m.program.token_ids)]);
  if (m.program.mask >= 0) {
    float* out = m.memory[static_cast<std::size_t>(m.program.mask)];
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      for (int i = 0; i < shape.positions; ++i) {
        for (int j = 0; j < shape.positions; ++j) *out++ = config.mask.allows(i, j) ? 0 : -kInf;
      }
    }
  }
  backend.run(m.program, m.program.calls, m.memory);
  return m;
}

Config small_config(MaskKind mask, PositionKind positions) {
  Config c;
  c.layers = 2;
  c.heads = 3;
  c.d_model = 9;
  c.d_hidden = 11;
  c.mask.kind = mask;
  c.positions = positions;
  return c;
}

double largest_difference(std::span<const float> a, std::span<const float> b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(double{a[i]} - b[i]);
    if (!(difference <= largest)) largest = difference;  // NaN counts as a difference
  }
  return largest;
}

}  // namespace

TEST_CASE("ops: shape rules take what fits and name what does not") {
  std::set<Op> fits, fails;
  for (const auto& cases : {first_shape_cases(), second_shape_cases()}) {
    for (const ShapeCase& c : cases) {
      check_shape(c);
      (c.out.empty() ? fails : fits).insert(c.op);
    }
  }
  for (const OpInfo& info : all_ops()) {
    CHECK_MESSAGE(fits.contains(info.op), info.id << " has no case of inputs that fit");
    CHECK_MESSAGE(fails.contains(info.op), info.id << " has no case of inputs that do not fit");
  }
}

TEST_CASE("ops: the table is complete and in order") {
  std::set<std::string_view> ids;
  for (std::size_t i = 0; i < all_ops().size(); ++i) {
    const OpInfo& info = all_ops()[i];
    CHECK(&op_info(info.op) == &info);
    CHECK(ids.insert(info.id).second);
    CHECK_FALSE(info.phrase.empty());
    const bool whole = info.shape && info.forward && info.backward && info.explain && info.panes;
    CHECK_MESSAGE(whole, info.id << " lacks a function");
    CHECK_MESSAGE(!info.trials.empty(), info.id << " is tried nowhere");
  }
}

TEST_CASE("ops: embed picks rows") {
  const Tensor ids = tensor("ids", matrix("batch", 2, "position", 2), {2, 0, 2, 1});
  const Tensor table = tensor("W_E", matrix("vocab", 3, "d_model", 2), {1, 2, 3, 4, 5, 6});
  expect(Op::kEmbed, {ids, table}, {5, 6, 1, 2, 5, 6, 3, 4});
}

TEST_CASE("ops: sinusoids") {
  const Tensor ids = tensor("ids", matrix("batch", 1, "position", 3), {0, 0, 0});
  // sin and cos of t / 1 and of t / 100, as any table has them
  expect(Op::kSinusoid, {ids},
         {0, 1, 0, 1,                                              //
          0.8414709848, 0.5403023059, 0.0099998333, 0.9999500004,  //
          0.9092974268, -0.4161468365, 0.0199986667, 0.9998000067},
         features(4));
  // An odd width ends with a sine: of 1 / 10000^(2/3) = 1 / 464.158883 at position 1.
  const Tensor two = tensor("ids", matrix("batch", 1, "position", 2), {0, 0});
  expect(Op::kSinusoid, {two}, {0, 1, 0, 0.8414709848, 0.5403023059, 0.0021544330}, features(3));
}

TEST_CASE("ops: sinusoids in two halves, and from another place on") {
  const Tensor ids = tensor("ids", matrix("batch", 1, "position", 2), {0, 0});
  OpParams params = features(4);
  params.offset = 1;
  // Rows 1 and 2 of the table above.
  expect(Op::kSinusoid, {ids},
         {0.8414709848, 0.5403023059, 0.0099998333, 0.9999500004,  //
          0.9092974268, -0.4161468365, 0.0199986667, 0.9998000067},
         params);
  params.halves = true;
  expect(Op::kSinusoid, {ids},
         {0.8414709848, 0.0099998333, 0.5403023059, 0.9999500004,  //
          0.9092974268, 0.0199986667, -0.4161468365, 0.9998000067},
         params);
  // The last of two pairs is 10000 times slower: sin(2 / 10000), cos(2 / 10000).
  params.to_end = true;
  expect(Op::kSinusoid, {ids},
         {0.8414709848, 0.0001, 0.5403023059, 0.999999995,  //
          0.9092974268, 0.0002, -0.4161468365, 0.99999998},
         params);
}

TEST_CASE("ops: learned positions from another row on; rows that no token stands at feel nothing") {
  const Tensor ids = tensor("ids", matrix("batch", 1, "position", 2), {7, 7});
  const Tensor table =
      tensor("W_pos", matrix("position", 4, "d_model", 2), {1, 2, 3, 4, 5, 6, 7, 8});
  OpParams params;
  params.offset = 1;
  expect(Op::kLearnedPosition, {ids, table}, {3, 4, 5, 6}, params);
}

TEST_CASE("ops: learned positions pick rows by place, for every batch item") {
  const Tensor ids = tensor("ids", matrix("batch", 2, "position", 2), {7, 7, 7, 7});
  const Tensor table = tensor("W_pos", matrix("position", 3, "d_model", 2), {1, 2, 3, 4, 5, 6});
  expect(Op::kLearnedPosition, {ids, table}, {1, 2, 3, 4, 1, 2, 3, 4});
}

TEST_CASE("ops: add and scale") {
  expect(Op::kAdd, {tensor("a", row(3), {1, -2, 3}), tensor("b", row(3), {10, 20, -30})},
         {11, 18, -27});
  OpParams half;
  half.factor = 0.5f;
  expect(Op::kScale, {tensor("s", pairs(1, 1, 1, 3), {1, -2, -kInf})}, {0.5, -1, -kInf}, half);
}

TEST_CASE("ops: layer norm by hand") {
  const Tensor x = tensor("x", rows(1, 2, 4), {1, 2, 3, 4, 5, 5, 5, 5});
  const Tensor w = tensor("w", {{"d_model", 4}}, {1, 1, 2, 2});
  const Tensor b = tensor("b", {{"d_model", 4}}, {0, 10, 0, -1});
  // Row 0: mean 2.5, variance 1.25, so (x - 2.5) / sqrt(1.25001). A constant row becomes its shift.
  expect(Op::kLayerNorm, {x, w, b}, {-1.3416354, 9.5527882, 0.8944236, 1.6832708, 0, 10, 0, -1});
  expect(Op::kLayerNorm, {x, w}, {-1.3416354, -0.4472118, 0.8944236, 2.6832708, 0, 0, 0, 0});
}

TEST_CASE("ops: RMS norm by hand") {
  const Tensor x = tensor("x", rows(1, 2, 4), {1, 2, 3, 4, 0, 0, 0, 0});
  const Tensor w = tensor("w", {{"d_model", 4}}, {1, 1, 2, -2});
  // Row 0: the mean square is 7.5, and the mean stays. Zeros stay zeros.
  const double s = std::sqrt(7.5 + 1e-5);
  expect(Op::kRmsNorm, {x, w}, {1 / s, 2 / s, 6 / s, -8 / s, 0, 0, 0, 0});
}

TEST_CASE("ops: multiplication, cell by cell") {
  expect(Op::kMultiply, {tensor("a", row(3), {2, -3, 0}), tensor("b", row(3), {0.5f, 4, 7})},
         {1, -12, 0});
}

TEST_CASE("ops: rotary positions turn pairs of features by hand") {
  // Position 0 stays; at position 1 the pairs turn by 1 and by 1 / √100.
  const double c = std::cos(1.0), s = std::sin(1.0), c2 = std::cos(0.1), s2 = std::sin(0.1);
  const Tensor x = tensor("q", heads(1, 1, 2, 4), {1, 2, 3, 4, 1, 2, 3, 4});
  OpParams params;
  params.base = 100;
  expect(Op::kRotary, {x}, {1, 2, 3, 4, c - 3 * s, 2 * c2 - 4 * s2, s + 3 * c, 2 * s2 + 4 * c2},
         params);
  params.interleaved = true;
  expect(Op::kRotary, {x}, {1, 2, 3, 4, c - 2 * s, s + 2 * c, 3 * c2 - 4 * s2, 3 * s2 + 4 * c2},
         params);
  params.turned = 2;  // the rest of the head stays
  expect(Op::kRotary, {x}, {1, 2, 3, 4, c - 2 * s, s + 2 * c, 3, 4}, params);
}

TEST_CASE("ops: heads of queries share a head of keys and one of values") {
  const Tensor q = tensor("q", heads(1, 4, 1, 1), {1, 2, 3, 4});
  const Tensor k = tensor("k", heads(1, 2, 2, 1), {10, 100, 7, 70});
  expect(Op::kScores, {q, k}, {10, 100, 20, 200, 21, 210, 28, 280});
  const Tensor a = tensor("A", pairs(1, 4, 1, 2), {1, 0, 0, 1, 0.5f, 0.5f, 1, 1});
  expect(Op::kWeightedSum, {a, k}, {10, 100, 38.5, 77});
  const Tensor v = tensor("v", matrix("head", 4, "d_head", 1), {1, 2, 3, 4});
  const Tensor small = tensor("k", heads(1, 2, 1, 1), {0.5f, -1});
  const auto t = [](double x) { return std::tanh(x); };
  expect(Op::kAdditiveScores, {q, small, v}, {t(1.5), 2 * t(2.5), 3 * t(2), 4 * t(3)});
}

TEST_CASE("ops: products by hand") {
  const Tensor x = tensor("x", rows(1, 2, 2), {1, 2, 3, 4});
  const Tensor w = tensor("W", matrix("d_model", 2, "hidden", 3), {1, 0, -1, 2, 5, 1});
  const Tensor b = tensor("b", {{"hidden", 3}}, {100, 200, 300});
  expect(Op::kLinear, {x, w}, {5, 10, 1, 11, 20, 1});
  expect(Op::kLinear, {x, w, b}, {105, 210, 301, 111, 220, 301});
  expect(Op::kLinearTransposed,
         {x, tensor("W_E", matrix("vocab", 3, "d_model", 2), {1, 2, 0, 5, -1, 1})},
         {5, 10, 1, 11, 20, 1});
  expect(Op::kLinearTransposed,
         {x, tensor("W_E", matrix("vocab", 3, "d_model", 2), {1, 2, 0, 5, -1, 1}),
          tensor("b_U", {{"vocab", 3}}, {100, 200, 300})},
         {105, 210, 301, 111, 220, 301});
  // Heads in order: the first two columns are head 0's.
  const Tensor w3 = tensor("W_Q", weight3(2, 2, 2), {1, 0, 0, 1, 10, 1, 20, -1});
  const Tensor b3 = tensor("b_Q", matrix("head", 2, "d_head", 2), {0.5f, 0, 0, 7});
  expect(Op::kProject, {x, w3}, {1, 2, 50, -1, 3, 4, 110, -1});
  expect(Op::kProject, {x, w3, b3}, {1.5, 2, 50, 6, 3.5, 4, 110, 6});
  // W_O (head, d_head, d_model) is a matrix whose rows go by heads.
  const Tensor concat =
      tensor("concat", {{"batch", 1}, {"query", 1}, {"feature", 4}}, {1, 2, 3, 4});
  const Tensor w_o =
      tensor("W_O", {{"head", 2}, {"d_head", 2}, {"d_model", 1}}, {1, 10, 100, 1000});
  expect(Op::kLinear, {concat, w_o}, {4321});
}

TEST_CASE("ops: heads are split and laid side by side") {
  const Tensor x = tensor("x", rows(1, 2, 4), {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor w = drawn_tensor("W", weight3(2, 3, 2));
  expect(Op::kSplitHeads, {x, w}, {1, 2, 5, 6, 3, 4, 7, 8});
  const Tensor z = tensor("z", heads(1, 2, 2, 2), {1, 2, 5, 6, 3, 4, 7, 8});
  expect(Op::kConcatHeads, {z}, {1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("ops: scores by hand") {
  const Tensor q = tensor("q", heads(1, 1, 2, 2), {1, 2, -1, 0});
  const Tensor k = tensor("k", heads(1, 1, 3, 2), {3, 4, 0, 1, 5, -5});
  expect(Op::kScores, {q, k}, {11, 2, -5, -3, 0, -5});
  // 2 tanh(1) - tanh(2) = 0.5591607; the head's own v is used.
  const Tensor q2 = tensor("q", heads(1, 2, 1, 2), {0.5f, 1, 0, 0});
  const Tensor k2 = tensor("k", heads(1, 2, 1, 2), {0.5f, 1, 1, 0});
  const Tensor v2 = tensor("v", matrix("head", 2, "d_head", 2), {2, -1, 3, 50});
  expect(Op::kAdditiveScores, {q2, k2, v2}, {0.5591607, 2.2847825});
}

TEST_CASE("ops: a forbidden cell is minus infinity, whatever the score was") {
  const Tensor s = tensor("s", pairs(1, 2, 1, 3), {1, 2, 3, kNan, kInf, -4});
  const Tensor mask = tensor("mask", {{"batch", 1}, {"query", 1}, {"key", 3}}, {-kInf, -kInf, 0});
  expect(Op::kMask, {s, mask}, {-kInf, -kInf, 3, -kInf, -kInf, -4});
  const Tensor open = tensor("mask", {{"batch", 1}, {"query", 1}, {"key", 3}}, {0, 0, 0});
  expect(Op::kMask, {tensor("s", pairs(1, 1, 1, 3), {1, -2, 3}), open}, {1, -2, 3});
}

TEST_CASE("ops: softmax by hand") {
  const auto softmax = [](const std::vector<float>& x, const std::vector<double>& p) {
    expect(Op::kSoftmax, {tensor("x", pairs(1, 1, 1, static_cast<int>(x.size())), x)}, p);
  };
  softmax({0, std::log(2.0f), std::log(5.0f)}, {0.125, 0.25, 0.625});
  softmax({7}, {1});
  softmax({-kInf, 3, -kInf}, {0, 1, 0});
  softmax({-kInf, -kInf, -kInf}, {0, 0, 0});  // no allowed key: zeros, no NaN
  softmax({1000, 1000, -1000}, {0.5, 0.5, 0});
  softmax({-3e38f, -3e38f}, {0.5, 0.5});
  softmax({30, -30}, {1, 8.7565107627e-27});
}

TEST_CASE("ops: softmax with a temperature is softmax of the scores divided by it") {
  OpParams params;
  const auto softmax = [&](const std::vector<float>& x, const std::vector<double>& p) {
    expect(Op::kSoftmax, {tensor("x", pairs(1, 1, 1, static_cast<int>(x.size())), x)}, p, params);
  };
  params.temperature = 2;
  softmax({0, 2 * std::log(2.0f), 2 * std::log(5.0f)}, {0.125, 0.25, 0.625});
  softmax({-kInf, 3, -kInf}, {0, 1, 0});
  softmax({-kInf, -kInf}, {0, 0});
  params.temperature = 0.5;
  softmax({0, std::log(2.0f), std::log(5.0f)}, {1 / 30.0, 4 / 30.0, 25 / 30.0});
  params.temperature = 0.05;
  softmax({1000, 1000, -1000}, {0.5, 0.5, 0});
  softmax({1, 0, -kInf}, {1 / (1 + std::exp(-20.0)), std::exp(-20.0) / (1 + std::exp(-20.0)), 0});
  softmax({-3e38f, -3e38f, 3e38f}, {0, 0, 1});
}

TEST_CASE("ops: weighted sum by hand") {
  const Tensor a = tensor("A", pairs(1, 1, 2, 3), {0.5f, 0.25f, 0.25f, 0, 0, 0});
  const Tensor v = tensor("v", heads(1, 1, 3, 2), {4, 8, 1, 2, 3, -2});
  expect(Op::kWeightedSum, {a, v}, {3, 4, 0, 0});
}

TEST_CASE("ops: attention in one operation by hand") {
  // Scores 0, ln 2, ln 3 of the first query, and twice as much of the second.
  const float two = std::log(2.0f), three = std::log(3.0f);
  const Tensor q = tensor("q", heads(1, 1, 2, 1), {1, 2});
  const Tensor k = tensor("k", heads(1, 1, 3, 1), {0, two, three});
  const Tensor v = tensor("v", heads(1, 1, 3, 2), {6, 1, 12, 1, 18, 1});
  expect(Op::kFusedAttention, {q, k, v}, {14, 1, 216.0 / 14, 1});
  OpParams half;  // of twice the scores is the first query's
  half.factor = 0.5f;
  expect(Op::kFusedAttention, {tensor("q", q.axes, {2, 4}), k, v}, {14, 1, 216.0 / 14, 1}, half);
  OpParams warm;
  warm.temperature = 2;
  expect(Op::kFusedAttention, {tensor("q", q.axes, {2, 4}), k, v}, {14, 1, 216.0 / 14, 1}, warm);
  // The first query may not look at the last key, the second at none.
  const Tensor mask = tensor("mask", rows(1, 2, 3), {0, 0, -kInf, -kInf, -kInf, -kInf});
  expect(Op::kFusedAttention, {q, k, v, mask}, {10, 1, 0, 0});
}

TEST_CASE("ops: attention in one operation is what its steps are, on every backend") {
  // More keys than a block, the largest score in the last one or far above the others, shared
  // heads.
  for (const float loud : {1.0f, 300.0f}) {
    CAPTURE(loud);
    Tensor q = drawn_tensor("q", heads(2, 4, 21, 5), 3);
    for (float& x : q.data) x *= loud;
    const Tensor k = drawn_tensor("k", heads(2, 2, 37, 5), 4);
    const Tensor v = drawn_tensor("v", heads(2, 2, 37, 3), 5);
    Tensor mask = tensor("mask", rows(2, 21, 37), std::vector<float>(2 * 21 * 37, 0));
    for (std::size_t i = 0; i < mask.data.size(); ++i)
      if (bell(9, i) > 0.3 || i / 37 == 3 || (i % 37 < 16 && i / 37 == 5)) mask.data[i] = -kInf;
    OpParams params;
    params.factor = 0.3f;
    const auto reference = make_reference_backend();
    Tensor s = run_op(*reference, Op::kScores, {q, k});
    s = run_op(*reference, Op::kScale, {s}, params);
    s = run_op(*reference, Op::kMask, {s, mask});
    s = run_op(*reference, Op::kSoftmax, {s});
    const Tensor z = run_op(*reference, Op::kWeightedSum, {s, v});
    for (const auto& backend : all_backends()) {
      CAPTURE(backend->name());
      const Tensor own = run_op(*backend, Op::kFusedAttention, {q, k, v, mask}, params);
      CHECK(largest_difference(own.data, z.data) < 2e-5);
    }
  }
}

TEST_CASE("ops: activations at known places") {
  const Tensor x = tensor("x", row(7), {-30, -1.5f, -1, 0, 1, 1.5f, 30});
  expect(Op::kRelu, {x}, {0, 0, 0, 0, 1, 1.5, 30});
  expect(Op::kRelu, {tensor("x", row(3), {-0.25f, -1e-3f, 1e-3f})}, {0, 0, 1e-3f});
  expect(Op::kGelu, {x}, {0, -0.1002108019, -0.1586552539, 0, 0.8413447461, 1.3997891981, 30});
  expect(Op::kSilu, {x},
         {-2.8072869e-12, -0.2736382868, -0.2689414214, 0, 0.7310585786, 1.2263617132, 30});
  expect(Op::kTanh, {tensor("x", row(5), {-3e38f, -kInf, 0, 0.5f, kInf})},
         {-1, -1, 0, 0.46211716f, 1});
  expect(Op::kSilu, {tensor("x", row(4), {-3e38f, -200, 200, 3e38f})}, {0, 0, 200, 3e38f});
  expect(Op::kGeluTanh, {x}, {0, -0.1004284230, -0.1588080094, 0, 0.8411919906, 1.3995715770, 30});
}

TEST_CASE("ops: cross-entropy by hand, also where softmax would overflow") {
  const Tensor x = tensor("l", rows(1, 6, 3),
                          {0, 0, 0, std::log(2.0f), 0, 0, 1000, 0, 0, 1000, 0, 0,  //
                           -30, 5, 5, 7, 7, 7});
  const Tensor y = tensor("y", matrix("batch", 1, "position", 6), {2, 0, 0, 1, 0, -1});
  expect(Op::kCrossEntropy, {x, y}, {std::log(3.0), std::log(2.0), 0, 1000, 35 + std::log(2.0), 0});
  // What is no id of the vocabulary is not counted.
  const Tensor outside = tensor("y", matrix("batch", 1, "position", 6), {3, -7, kNan, 1, 1e9, -1});
  expect(Op::kCrossEntropy, {x, outside}, {0, 0, 0, 1000, 0, 0});
}

TEST_CASE("ops: the loss of a class is that of one row") {
  const Tensor x = tensor("l", matrix("batch", 2, "class", 3), {0, 0, 0, std::log(2.0f), 0, 0});
  expect(Op::kCrossEntropy, {x, tensor("y", {{"batch", 2}}, {1, 0})},
         {std::log(3.0), std::log(2.0)});
  expect(Op::kCrossEntropy, {x, tensor("y", {{"batch", 2}}, {-1, 2})}, {0, std::log(4.0)});
}

TEST_CASE("ops: the mean of the tokens leaves padding out, whatever stands there") {
  const Tensor x = tensor("x", rows(2, 3, 2), {1, 2, 3, 6, kNan, kInf, 5, 5, 7, 7, 9, -3});
  const Tensor present = tensor("m", matrix("batch", 2, "position", 3), {1, 1, 0, 0, 0, 1});
  expect(Op::kMeanPool, {x, present}, {2, 4, 9, -3});
  const Tensor none = tensor("m", matrix("batch", 2, "position", 3), {0, 0, 0, 1, 1, 1});
  expect(Op::kMeanPool, {x, none}, {0, 0, 7, 3});
}

TEST_CASE("ops: tokens side by side are 0 where padding stands, whatever its numbers are") {
  const Tensor x = tensor("x", rows(1, 3, 2), {1, 2, kNan, kInf, 5, 6});
  const Tensor present = tensor("m", matrix("batch", 1, "position", 3), {1, 0, 1});
  expect(Op::kConcatTokens, {x, present}, {1, 2, 0, 0, 5, 6});
}

TEST_CASE("ops: what is remembered stands before the rows of the segment") {
  const Tensor memory = tensor("mem", rows(2, 1, 2), {1, 2, 3, 4});
  const Tensor x = tensor("x", rows(2, 2, 2), {5, 6, 7, 8, 9, 10, 11, 12});
  expect(Op::kConcatRows, {memory, x}, {1, 2, 5, 6, 7, 8, 3, 4, 9, 10, 11, 12});
}

TEST_CASE("ops: one more row behind those of each head, learned or zeros") {
  const Tensor k =
      tensor("k", {{"batch", 1}, {"head", 2}, {"position", 2}, {"d_head", 1}}, {1, 2, 3, 4});
  const Tensor row = tensor("b", matrix("head", 2, "d_head", 1), {7, 8});
  expect(Op::kAppendRow, {k, row}, {1, 2, 7, 3, 4, 8});
  expect(Op::kAppendRow, {k}, {1, 2, 0, 3, 4, 0});
}

TEST_CASE("ops: a head that is off gives 0, and the mean is over heads") {
  const std::vector<Axis> axes = {{"batch", 1}, {"head", 3}, {"query", 1}, {"key", 2}};
  const Tensor a = tensor("A", axes, {1, 2, 3, 4, 5, 9});
  const Tensor heard = tensor("m", {{"head", 3}}, {1, 0, 1});
  expect(Op::kMaskHeads, {a, heard}, {1, 2, 0, 0, 5, 9});
  expect(Op::kMeanHeads, {a}, {3, 5});
}

TEST_CASE("ops: each focus scores each token") {
  // Rows (1, 2), (3, −1), (0, 4); foci (2, 1) and (−1, 0.5).
  const Tensor u = tensor("u", rows(1, 3, 2), {1, 2, 3, -1, 0, 4});
  const Tensor w = tensor("W", matrix("direction", 2, "focus", 2), {2, -1, 1, 0.5f});
  expect(Op::kFocusScores, {u, w}, {4, 5, 4, 0, -3.5f, 2});
}

TEST_CASE("ops: foci that are apart cost nothing, equal ones the most") {
  const auto cost = [](std::vector<float> g, float expected) {
    Tensor overlap = tensor("G", pairs(1, 1, 2, 2), std::move(g));
    OpParams params;
    params.factor = 0.5f;
    expect(Op::kFociPenalty, {overlap}, {expected}, params);
  };
  cost({1, 0, 0, 1}, 0);
  cost({1, 1, 1, 1}, 1);                      // ½ (1 + 1)
  cost({0.5f, 0.25f, 0.25f, 0.5f}, 0.3125f);  // ½ (¼ + 2/16 + ¼)
}

TEST_CASE("ops: dropout leaves out what its factor is 0 for") {
  expect(Op::kDropout,
         {tensor("x", row(4), {1, -2, 3, 4}), tensor("m", row(4), {0, 1.25f, 0, 1.25f})},
         {0, -2.5, 0, 5});
}

TEST_CASE("ops: softmax rows are distributions and do not feel a shift") {
  Tensor x = drawn_tensor("x", pairs(2, 3, 5, 7));
  for (float& cell : x.data) cell *= 20;
  for (std::size_t i = 0; i < x.data.size(); i += 4) x.data[i] = -kInf;
  Tensor shifted = x;
  for (float& cell : shifted.data) cell += 64;
  for (const auto& backend : all_backends()) {
    CAPTURE(backend->name());
    const Tensor p = run_op(*backend, Op::kSoftmax, {x});
    for (std::size_t r = 0; r < p.data.size(); r += 7) {
      double sum = 0;
      for (std::size_t j = r; j < r + 7; ++j) {
        CHECK(p.data[j] >= 0);
        if (std::isinf(x.data[j])) CHECK(p.data[j] == 0);
        sum += p.data[j];
      }
      CHECK(sum == doctest::Approx(1).epsilon(2e-6));
    }
    const Tensor same = run_op(*backend, Op::kSoftmax, {shifted});
    CHECK(largest_difference(p.data, same.data) < 1e-5);
  }
}

TEST_CASE("ops: layer norm gives mean 0 and variance 1") {
  Tensor x = drawn_tensor("x", rows(2, 3, 33));
  for (float& cell : x.data) cell = 4 * cell + 100;
  Tensor w = drawn_tensor("w", {{"d_model", 33}});
  std::fill(w.data.begin(), w.data.end(), 1.0f);
  for (const auto& backend : all_backends()) {
    CAPTURE(backend->name());
    const Tensor y = run_op(*backend, Op::kLayerNorm, {x, w});
    for (std::size_t r = 0; r < y.data.size(); r += 33) {
      double mean = 0, variance = 0;
      for (std::size_t i = r; i < r + 33; ++i) mean += y.data[i] / 33.0;
      for (std::size_t i = r; i < r + 33; ++i) variance += (y.data[i] - mean) * (y.data[i] - mean);
      CHECK(std::fabs(mean) < 2e-5);
      CHECK(variance / 33 == doctest::Approx(1).epsilon(1e-4));
    }
  }
}

TEST_CASE("ops: with a causal mask the future has weight 0 and changes nothing") {
  const Config c = small_config(MaskKind::kCausal, PositionKind::kSinusoidal);
  for (const auto& backend : all_backends()) {
    CAPTURE(backend->name());
    const Model a = run_model(*backend, c, {1, 6, 5}, {0, 1, 2, 3, 4, 0});
    const Model b = run_model(*backend, c, {1, 6, 5}, {0, 1, 2, 3, 1, 1});
    const auto pattern = a.cells("blocks.1.attn.pattern");
    for (std::size_t cell = 0; cell < pattern.size(); ++cell) {
      const std::size_t i = cell / 6 % 6, j = cell % 6;
      CHECK((j > i) == (pattern[cell] == 0));
    }
    const auto first = a.cells("logits"), second = b.cells("logits");
    CHECK(largest_difference(first.first(4 * 5), second.first(4 * 5)) == 0);
    CHECK(largest_difference(first.subspan(4 * 5), second.subspan(4 * 5)) > 0.01);
  }
}

TEST_CASE("ops: without positions and mask the output permutes with the input") {
  const std::vector<int> ids = {0, 3, 1, 4, 2, 2}, order = {4, 2, 0, 5, 1, 3};
  std::vector<int> moved;
  for (int place : order) moved.push_back(ids[static_cast<std::size_t>(place)]);
  for (const auto& backend : all_backends()) {
    CAPTURE(backend->name());
    for (PositionKind positions : {PositionKind::kNone, PositionKind::kSinusoidal}) {
      const Config c = small_config(MaskKind::kNone, positions);
      const Model a = run_model(*backend, c, {1, 6, 5}, ids);
      const Model b = run_model(*backend, c, {1, 6, 5}, moved);
      double worst = 0;
      for (std::size_t t = 0; t < 6; ++t) {
        const auto from = static_cast<std::size_t>(order[t]) * 5;
        worst = std::max(worst, largest_difference(b.cells("logits").subspan(t * 5, 5),
                                                   a.cells("logits").subspan(from, 5)));
      }
      if (positions == PositionKind::kNone) CHECK(worst < 1e-5);
      if (positions == PositionKind::kSinusoidal) CHECK(worst > 0.01);  // positions do their work
    }
  }
}

TEST_CASE("ops: the items of a batch do not see each other") {
  const std::vector<std::vector<int>> items = {{0, 1, 2, 3, 4}, {4, 4, 1, 0, 2}, {2, 3, 3, 1, 0}};
  std::vector<int> all;
  for (const auto& item : items) all.insert(all.end(), item.begin(), item.end());
  for (BlockKind block : {BlockKind::kAttention, BlockKind::kNormedAttention, BlockKind::kPostNorm,
                          BlockKind::kPreNorm}) {
    Config c = small_config(MaskKind::kLocal, PositionKind::kLearned);
    c.block = block;
    c.scores = block == BlockKind::kPostNorm ? ScoreKind::kAdditive : ScoreKind::kDot;
    for (const auto& backend : all_backends()) {
      CAPTURE(backend->name());
      CAPTURE(word(block));
      const Model together = run_model(*backend, c, {3, 5, 6}, all);
      for (std::size_t b = 0; b < items.size(); ++b) {
        const Model alone = run_model(*backend, c, {1, 5, 6}, items[b]);
        for (const char* name : {"probs", "blocks.1.attn.pattern", "blocks.1.resid_post"}) {
          const auto one = alone.cells(name);
          const auto part = together.cells(name).subspan(b * one.size(), one.size());
          CHECK(largest_difference(part, one) < 1e-5);
        }
      }
    }
  }
}

TEST_CASE("ops: a model whose mask forbids a whole row stays free of NaN") {
  Config c = small_config(MaskKind::kPadding, PositionKind::kSinusoidal);
  c.mask.causal = true;
  c.mask.padding = {0, 1};  // queries 0 and 1 have no key left
  for (const auto& backend : all_backends()) {
    CAPTURE(backend->name());
    const Model m = run_model(*backend, c, {1, 4, 5}, {0, 1, 2, 3});
    const auto pattern = m.cells("blocks.0.attn.pattern"), z = m.cells("blocks.0.attn.z");
    for (std::size_t i = 0; i < 4; ++i) {
      const auto weights = pattern.subspan(i * 4, 4);
      const float sum = std::accumulate(weights.begin(), weights.end(), 0.0f);
      CHECK(sum == doctest::Approx(i < 2 ? 0 : 1));
      if (i < 2) CHECK(z[i * 3] == 0);
    }
    for (float p : m.cells("probs")) CHECK(std::isfinite(p));
  }
}

}  // namespace headlight::test_ops
