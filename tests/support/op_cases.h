// One or more cases of every operation, with what it makes of them: for the tests of explanations.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/ops/op.h"

namespace headlight {

inline constexpr float kInf = std::numeric_limits<float>::infinity();

// ---- one case: an operation on inputs ----

struct Case {
  Op op;
  std::vector<Tensor> in;
  OpParams params = {};
  std::int64_t heads = 1;  // for how many heads the panes can be asked
};

inline Tensor random_tensor(std::string name, std::vector<Axis> axes) {
  Tensor t{std::move(name), std::move(axes), {}};
  t.data.resize(static_cast<std::size_t>(cell_count(t.axes)));
  for (std::size_t i = 0; i < t.data.size(); ++i) t.data[i] = bell(hash_text(t.name), i);
  return t;
}

// Every size differs from every other, so that a mistaken axis does not fit.
inline const Axis kBatch{"batch", 2}, kPlace{"position", 5}, kFeature{"feature", 7},
    kWidth{"d_head", 4};
inline const Axis kModelAxis{"d_model", 7}, kHead{"head", 3}, kQuery{"query", 5}, kKey{"key", 6};

inline Tensor ids() {
  Tensor t{"ids", {kBatch, kPlace}, {}};
  t.data = {3, 0, 3, 8, 1, 2, 7, 0, 0, 4};
  return t;
}

// Ids that should come next; two positions are not counted.
inline Tensor targets() {
  Tensor t{"targets", {kBatch, kPlace}, {}};
  t.data = {0, 8, -1, 3, 5, 2, 2, -1, 7, 1};
  return t;
}

inline Tensor rows() { return random_tensor("x", {kBatch, kPlace, kFeature}); }

// Some scores forbidden; the first row of each head wholly.
inline Tensor masked_scores() {
  Tensor t = random_tensor("scores", {kBatch, kHead, kQuery, kKey});
  for (std::size_t i = 0; i < t.data.size(); ++i) {
    const std::size_t query = i / 6 % 5, key = i % 6;
    if (query == 0 || key > query) t.data[i] = -kInf;
  }
  t.data[13] = 0;  // a score of 0 has no factor that turns it into a weight
  return t;
}

inline Tensor mask() {
  Tensor t{"mask", {kBatch, kQuery, kKey}, {}};
  t.data.assign(60, 0.0f);
  for (std::size_t i = 0; i < t.data.size(); i += 4) t.data[i] = -kInf;
  return t;
}

inline OpParams with(float factor, std::int64_t features) {
  OpParams params;
  params.factor = factor;
  params.features = features;
  return params;
}

inline OpParams best_of(std::int64_t experts) {
  OpParams params;
  params.best = experts;
  params.factor = 0.6f;
  return params;
}

inline OpParams at_temperature(double temperature) {
  OpParams params;
  params.temperature = temperature;
  return params;
}

inline OpParams turning(std::int64_t features, bool interleaved) {
  OpParams params;
  params.turned = features;
  params.interleaved = interleaved;
  params.base = 50;
  return params;
}

inline OpParams turning_slowly(RotaryScaling kind) {
  OpParams params;
  params.base = 50;
  params.stretch = {kind, 3, 0.5, 4, 20};
  return params;
}

inline OpParams own_factor(float factor) {
  OpParams params;
  params.factor = factor;
  params.own_factor = true;
  return params;
}

// In attention's place; two texts, each with padding within and at its end.
inline std::vector<Case> mixer_cases() {
  const Axis state{"state", 4}, next{"next_state", 4}, gate{"gate", 12}, tap{"tap", 3};
  Tensor present{"present", {kBatch, kPlace}, {}};
  present.data = {1, 1, 0, 1, 0, 1, 1, 1, 1, 1};
  const Tensor a = random_tensor("a", {kBatch, kPlace, next}),
               u = random_tensor("U", {state, next});
  const Tensor wide = random_tensor("a", {kBatch, kPlace, gate});
  const Tensor gates = random_tensor("U", {state, gate}), c = random_tensor("c", {gate});
  const Tensor w = random_tensor("W", {tap, kModelAxis, {"feature", 4}});
  const Tensor b = random_tensor("b", {{"feature", 4}});
  OpParams back, causal, far;
  back.reversed = causal.causal = far.causal = true;
  far.dilation = 3;  // of five rows, some windows reach beyond the first
  OpParams apart;
  apart.dilation = 2;
  return {{Op::kRecurrence, {a, u, present}},
          {Op::kRecurrence, {a, u, present}, back},
          {Op::kGru, {wide, gates, present, c}},
          {Op::kGru, {wide, gates, present}, back},
          {Op::kConvolution, {rows(), w, present, b}, causal},
          {Op::kConvolution, {rows(), w, present}, apart},
          {Op::kConvolution,
           {rows(), random_tensor("W", {{"tap", 2}, kModelAxis, {"feature", 4}}), present, b},
           far}};
}

inline OpParams by_distance(std::int64_t offset, std::int64_t reach, bool causal) {
  OpParams params;
  params.offset = offset;
  params.reach = reach;
  params.causal = causal;
  return params;
}

// Keys before the first query, both directions, distances beyond the reach, and rows by distance
// that all heads share or each has for itself.
inline void add_distance_cases(std::vector<Case>& cases) {
  const Tensor s = random_tensor("s", {kBatch, kHead, kQuery, kKey});
  const Tensor q = random_tensor("q", {kBatch, kHead, kPlace, kWidth});
  const Axis both{"distance_both", 7};
  for (const bool causal : {true, false}) {
    cases.push_back({Op::kAlibi, {s}, by_distance(1, 0, causal), 3});
    cases.push_back({Op::kDistanceBias,
                     {s, random_tensor("b_D", {kHead, {"bucket", 8}})},
                     by_distance(1, 4, causal),
                     3});
    OpParams waves = by_distance(2, 0, causal);
    waves.features = 7;
    cases.push_back({Op::kDistanceSinusoid, {ids()}, waves});
    cases.push_back({Op::kRelativeScores,
                     {q, random_tensor("R", {kBatch, kHead, {"distance", 6}, kWidth})},
                     by_distance(1, causal ? 5 : 3, causal),
                     3});
  }
  cases.push_back({Op::kRelativeScores,
                   {q, random_tensor("a_K", {both, kWidth})},
                   by_distance(0, 3, false),
                   3});
  cases.push_back(
      {Op::kRelativeSum, {s, random_tensor("a_V", {both, kWidth})}, by_distance(1, 3, false), 3});
  cases.push_back({Op::kShiftHeads, {q, random_tensor("u", {kHead, kWidth})}, {}, 3});
}

// Masks with a row that allows no key, more than one block of keys, shared heads, values of another
// width.
inline void add_fused_cases(std::vector<Case>& cases) {
  const Axis many{"position", 37}, wide{"d_value", 3};
  const Tensor q = random_tensor("q", {kBatch, kHead, kPlace, kWidth});
  const auto kv = [](const char* name, const Axis& heads, const Axis& keys, const Axis& width) {
    return random_tensor(name, {kBatch, heads, keys, width});
  };
  Tensor some = mask();
  std::fill(some.data.begin() + 6, some.data.begin() + 12, -kInf);  // the second query's row
  OpParams usual, cool;
  usual.factor = 0.5f;
  cool.factor = 0.5f;
  cool.temperature = 0.4;
  const Axis six{"position", 6}, four{"head", 4}, two{"kv_head", 2};
  cases.push_back({Op::kFusedAttention,
                   {q, kv("k", kHead, six, kWidth), kv("v", kHead, six, wide), some},
                   usual,
                   3});
  cases.push_back({Op::kFusedAttention,
                   {q, kv("k", kHead, many, kWidth), kv("v", kHead, many, wide)},
                   cool,
                   3});
  cases.push_back({Op::kFusedAttention,
                   {random_tensor("q", {kBatch, four, kPlace, kWidth}), kv("k", two, six, kWidth),
                    kv("v", two, six, kWidth), some},
                   {},
                   4});
}

// Where the first token stands.
inline OpParams shifted(std::int64_t offset) {
  OpParams params;
  params.offset = offset;
  return params;
}

// All sines first.
inline OpParams waves(std::int64_t width, std::int64_t offset, bool to_end) {
  OpParams params = shifted(offset);
  params.features = width;
  params.halves = true;
  params.to_end = to_end;
  return params;
}

inline std::vector<Case> all_cases() {
  const Tensor x = rows(), w = random_tensor("w", {kModelAxis}),
               b = random_tensor("b", {kModelAxis});
  const Tensor w3 = random_tensor("W_Q", {kHead, kModelAxis, kWidth});
  const Tensor b3 = random_tensor("b_Q", {kHead, kWidth});
  const Tensor wide = random_tensor("x", {kBatch, kPlace, {"feature", 12}});
  const Tensor z = random_tensor("z", {kBatch, kHead, kQuery, kWidth});
  const Tensor q = random_tensor("q", {kBatch, kHead, kPlace, kWidth});
  const Tensor k = random_tensor("k", {kBatch, kHead, {"position", 6}, kWidth});
  const Tensor s = random_tensor("s", {kBatch, kHead, kQuery, kKey});
  const Tensor w_in = random_tensor("W_in", {kModelAxis, {"hidden", 9}});
  const Tensor b_in = random_tensor("b_in", {{"hidden", 9}});
  const Tensor w_o = random_tensor("W_O", {kHead, kWidth, kModelAxis});
  const Tensor concat = random_tensor("concat", {kBatch, kQuery, {"feature", 12}});
  const Tensor hidden = random_tensor("pre", {kBatch, kPlace, {"hidden", 9}});
  std::vector<Case> cases = {
      {Op::kEmbed, {ids(), random_tensor("W_E", {{"vocab", 9}, kModelAxis})}},
      {Op::kSinusoid, {ids()}, with(1, 7)},
      {Op::kLearnedPosition, {ids(), random_tensor("W_pos", {{"position", 6}, kModelAxis})}},
      {Op::kSinusoid, {ids()}, waves(7, 3, false)},
      {Op::kSinusoid, {ids()}, waves(6, 2, true)},
      {Op::kLearnedPosition,
       {ids(), random_tensor("W_pos", {{"position", 9}, kModelAxis})},
       shifted(2)},
      {Op::kAdd, {x, random_tensor("y", x.axes)}},
      {Op::kLayerNorm, {x, w}},
      {Op::kLayerNorm, {x, w, b}},
      {Op::kProject, {x, w3}, {}, 3},
      {Op::kProject, {x, w3, b3}, {}, 3},
      {Op::kSplitHeads, {wide, w3}, {}, 3},
      {Op::kScores, {q, k}, {}, 3},
      {Op::kAdditiveScores, {q, k, random_tensor("v", {kHead, kWidth})}, {}, 3},
      {Op::kScale, {s}, with(0.3f, 0), 3},
      {Op::kMask, {s, mask()}, {}, 3},
      {Op::kSoftmax, {masked_scores()}, {}, 3},
      {Op::kSoftmax, {masked_scores()}, at_temperature(0.4), 3},
      {Op::kSoftmax, {random_tensor("logits", {kBatch, kPlace, {"vocab", 9}})}},
      {Op::kWeightedSum, {s, k}, {}, 3},
      {Op::kConcatHeads, {z}, {}, 3},
      {Op::kLinear, {x, w_in}},
      {Op::kLinear, {x, w_in, b_in}},
      {Op::kLinear, {concat, w_o, b}, {}, 3},
      {Op::kLinearTransposed, {x, random_tensor("W_E", {{"vocab", 9}, kModelAxis})}},
      {Op::kLinearTransposed,
       {x, random_tensor("W_E", {{"vocab", 9}, kModelAxis}), random_tensor("b_U", {{"vocab", 9}})}},
  };
  Tensor present{"present", {kBatch, kPlace}, {}};
  present.data = {1, 1, 0, 1, 0, 1, 1, 1, 1, 1};
  cases.push_back({Op::kMeanPool, {x, present}});
  cases.push_back({Op::kConcatTokens, {x, present}});
  cases.push_back(
      {Op::kConcatRows, {random_tensor("mem", {kBatch, {"memory", 3}, kModelAxis}), x}});
  cases.push_back({Op::kFocusScores, {x, random_tensor("W_2", {kFeature, {"focus", 3}})}});
  const Tensor weights = random_tensor("A", {kBatch, {"head", 1}, {"focus", 3}, kKey});
  cases.push_back({Op::kScores, {weights, weights}});
  cases.push_back(
      {Op::kWeightedSum,
       {weights, random_tensor("x", {kBatch, {"head", 1}, {"position", 6}, kModelAxis})}});
  const Axis focus{"focus", 3}, other{"other_focus", 3};
  cases.push_back(
      {Op::kFociPenalty, {random_tensor("G", {kBatch, {"head", 1}, focus, other})}, with(0.7f, 0)});
  const Axis expert{"expert", 3};
  const Tensor each = random_tensor("h", {kBatch, expert, kPlace, {"hidden", 9}});
  const Tensor w_e = random_tensor("W_out", {expert, {"hidden", 9}, kModelAxis});
  cases.push_back({Op::kExpertLinear, {each, w_e}, {}, 3});
  cases.push_back({Op::kExpertLinear,
                   {x, random_tensor("W_in", {expert, kModelAxis, {"hidden", 9}}),
                    random_tensor("b_in", {expert, {"hidden", 9}})},
                   {},
                   3});
  const Tensor said = random_tensor("Y", {kBatch, {"expert", 4}, kPlace, kFeature});
  Tensor gate = random_tensor("G", {kBatch, kPlace, {"expert", 4}});
  for (float& weight : gate.data) weight = std::fabs(weight);
  cases.push_back({Op::kMix, {gate, said}});
  cases.push_back({Op::kTopExperts, {gate}, best_of(2)});
  cases.push_back({Op::kTopExperts, {gate}, best_of(1)});
  cases.push_back({Op::kLoadBalance, {gate, present, targets()}, best_of(2)});
  Tensor one_each{"targets", {kBatch}, {}};
  one_each.data = {-1, 2};
  cases.push_back({Op::kLoadBalance, {gate, present, one_each}, best_of(1)});
  cases.push_back({Op::kDropout, {s, random_tensor("m", s.axes)}, {}, 3});
  Tensor label{"targets", {kBatch}, {}};
  label.data = {2, 0};
  cases.push_back({Op::kCrossEntropy, {random_tensor("logits", {kBatch, {"class", 4}}), label}});
  cases.push_back({Op::kSoftmax, {random_tensor("logits", {kBatch, {"class", 4}})}});
  cases.push_back(
      {Op::kLinear,
       {random_tensor("pooled", {kBatch, kFeature}),
        random_tensor("W_C", {kModelAxis, {"class", 4}}), random_tensor("b_C", {{"class", 4}})}});
  cases.push_back(
      {Op::kCrossEntropy, {random_tensor("logits", {kBatch, kPlace, {"vocab", 9}}), targets()}});
  cases.push_back({Op::kRmsNorm, {x, w}});
  cases.push_back({Op::kMultiply, {hidden, random_tensor("linear", hidden.axes)}});
  cases.push_back({Op::kRotary, {q}, {}, 3});
  cases.push_back({Op::kRotary,
                   {random_tensor("q", {kBatch, kHead, kPlace, {"d_head", 7}})},
                   turning(4, true),
                   3});
  // Two heads of keys and values for four of queries.
  const Axis four{"head", 4}, two{"kv_head", 2};
  const Tensor few = random_tensor("k", {kBatch, two, {"position", 6}, kWidth});
  const Tensor many = random_tensor("q", {kBatch, four, kPlace, kWidth});
  cases.push_back({Op::kScores, {many, few}, {}, 4});
  cases.push_back({Op::kAdditiveScores, {many, few, random_tensor("v", {four, kWidth})}, {}, 4});
  cases.push_back(
      {Op::kWeightedSum, {random_tensor("s", {kBatch, four, kQuery, kKey}), few}, {}, 4});
  cases.push_back({Op::kSplitHeads,
                   {random_tensor("x", {kBatch, kPlace, {"feature", 8}}),
                    random_tensor("W_K", {two, kModelAxis, kWidth})},
                   {},
                   2});
  for (Case& c : mixer_cases()) cases.push_back(std::move(c));
  const Axis component{"component", 3};
  Tensor shares = random_tensor("w", {kBatch, kPlace, component});
  for (float& share : shares.data) share = 0.1f + std::fabs(share);
  cases.push_back({Op::kNumber, {ids()}, with(1, 9)});
  cases.push_back(
      {Op::kMixtureLogits, {random_tensor("y", {kBatch, kPlace, {"number", 1}})}, with(0.5f, 9)});
  cases.push_back({Op::kMixtureLogits,
                   {random_tensor("m", {kBatch, kPlace, component}), shares,
                    random_tensor("s", {kBatch, kPlace, component})},
                   with(1, 9)});
  add_distance_cases(cases);
  Tensor heard{"m", {kHead}, {}};
  heard.data = {1, 0, 1};
  cases.push_back({Op::kAppendRow, {q, random_tensor("bias_K", {kHead, kWidth})}, {}, 3});
  cases.push_back({Op::kAppendRow, {q}, {}, 3});
  cases.push_back({Op::kMaskHeads, {s, heard}, {}, 3});
  cases.push_back({Op::kMeanHeads, {s}, {}, 3});
  add_fused_cases(cases);
  for (Op op : {Op::kRelu, Op::kGelu, Op::kGeluTanh, Op::kSilu, Op::kTanh})
    cases.push_back({op, {hidden}});
  cases.push_back({Op::kTanh, {hidden}, with(0.7f, 0)});
  cases.push_back({Op::kScale, {s}, own_factor(0.3f), 3});
  for (const RotaryScaling kind : {RotaryScaling::kLinear, RotaryScaling::kLlama3})
    cases.push_back({Op::kRotary, {q}, turning_slowly(kind), 3});
  return cases;
}

// A case with its output computed.
class Computed {
 public:
  explicit Computed(Case made) : c_(std::move(made)) {
    for (const Tensor& t : c_.in) in_.push_back(view(t));
    out_ = {"result", info().shape(in_, c_.params), {}};
    out_.data.resize(static_cast<std::size_t>(cell_count(out_.axes)));
    OpArgs all = args();
    all.result = out_.data.data();
    info().forward(all);
  }
  const OpInfo& info() const { return op_info(c_.op); }
  const Case& made() const { return c_; }
  OpArgs args() const { return {in_, view(out_), c_.params, nullptr}; }
  TensorView out() const { return view(out_); }
  TensorView tensor(int input) const {
    return input < 0 ? view(out_) : in_[static_cast<std::size_t>(input)];
  }
  OpExplanation explain(std::int64_t flat) const {
    return info().explain(args(), unravel(out_.axes, flat));
  }
  // -1 when the index does not fit
  std::int64_t flat(const InputCell& cell) const {
    const TensorView t = tensor(cell.input);
    if (cell.index.size() != t.axes.size()) return -1;
    for (std::size_t a = 0; a < cell.index.size(); ++a) {
      if (cell.index[a] < 0 || cell.index[a] >= t.axes[a].size) return -1;
    }
    return flat_index(t.axes, cell.index);
  }

 private:
  Case c_;
  std::vector<TensorView> in_;
  Tensor out_;
};

inline std::vector<Computed> computed_cases() {
  std::vector<Computed> all;
  for (Case& c : all_cases()) all.emplace_back(std::move(c));
  return all;
}

}  // namespace headlight
