// One attention as a program of its own, with all that may be fused in it, its memory and its
// backward pass.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/autodiff/backward_plan.h"
#include "tests/support/gradient_cases.h"

namespace headlight {

enum class AttentionMask { kNone, kCausal, kPadding, kScattered, kEverything };

struct AttentionSizes {
  std::int64_t batch = 1, heads = 1, queries = 1, keys = 1, width = 1, v_width = 1;
  std::int64_t share = 1;  // so many heads read one of keys and values
  std::int64_t kv_heads() const { return heads / share; }
};

struct AttentionCase {
  AttentionSizes sizes;
  AttentionMask mask = AttentionMask::kNone;
  bool dropout = false;
  float factor = 1;
  double temperature = 1;
  bool turned = false;  // queries and keys, by their positions

  std::string text() const {
    std::string all;
    for (const std::int64_t n : {sizes.batch, sizes.heads, sizes.queries, sizes.keys, sizes.width,
                                 sizes.v_width, sizes.share, static_cast<std::int64_t>(mask)})
      all += std::to_string(n) + " ";
    return all + (dropout ? "dropout " : "") + (turned ? "turned" : "");
  }
};

/// Causal of unequal lengths: j ≤ i + what keys there are more. Of scattered ones rows 2, 5, 8 …
/// have no key.
inline bool is_allowed(AttentionMask mask, const AttentionSizes& s, std::int64_t b, std::int64_t i,
                       std::int64_t j) {
  switch (mask) {
    case AttentionMask::kNone:
      return true;
    case AttentionMask::kCausal:
      return j <= i + std::max<std::int64_t>(0, s.keys - s.queries);
    case AttentionMask::kPadding:
      return j < s.keys - (s.keys * (b + 1)) / (s.batch + 2);
    case AttentionMask::kScattered:
      return i % 3 != 2 && scatter(static_cast<std::uint64_t>((b * 977 + i) * 983 + j)) % 3 != 0;
    case AttentionMask::kEverything:
      return false;
  }
  return true;
}

class AttentionProgram {
 public:
  Program program;
  TensorId q = -1, k = -1, v = -1, scores = -1, pattern = -1, out = -1, mask = -1, dropout = -1;

  explicit AttentionProgram(const AttentionCase& c) {
    const AttentionSizes& s = c.sizes;
    q = add("q", {s.batch, s.queries, s.heads * s.width}, TensorKind::kParameter);
    k = add("k", {s.batch, s.keys, s.kv_heads() * s.width}, TensorKind::kParameter);
    v = add("v", {s.batch, s.keys, s.kv_heads() * s.v_width}, TensorKind::kParameter);
    const std::vector<std::int64_t> square = {s.batch, s.heads, s.queries, s.keys};
    if (c.mask != AttentionMask::kNone)
      mask = add("mask", {s.batch, s.queries, s.keys}, TensorKind::kInput);
    if (c.dropout) dropout = add("dropout", square, TensorKind::kInput);
    const bool many = s.heads > 1;
    TensorId q_heads = split("q_heads", q, {s.batch, s.heads, s.queries, s.width}, many);
    TensorId k_heads = split("k_heads", k, {s.batch, s.kv_heads(), s.keys, s.width}, many);
    const TensorId v_heads = split("v_heads", v, {s.batch, s.kv_heads(), s.keys, s.v_width}, many);
    FusedAttention a{.first_call = 0, .q = q, .k = k, .v = v};
    if (c.turned) {
      a.turn = last_call() + 1;
      q_heads = a.turned_q = call(Op::kRotary, {q_heads}, axes_of(q_heads));
      k_heads = a.turned_k = call(Op::kRotary, {k_heads}, axes_of(k_heads));
    }
    scores = call(Op::kScores, {q_heads, k_heads}, square);
    OpParams scale;
    scale.factor = c.factor;
    TensorId now = call(Op::kScale, {scores}, square, scale);
    if (mask >= 0) now = call(Op::kMask, {now, mask}, square);
    OpParams softmax;
    softmax.temperature = c.temperature;
    now = pattern = call(Op::kSoftmax, {now}, square, softmax);
    if (c.dropout) now = call(Op::kDropout, {now, dropout}, square);
    out = call(Op::kWeightedSum, {now, v_heads}, {s.batch, s.heads, s.queries, s.v_width});
    const int sum = last_call();
    if (many) out = call(Op::kConcatHeads, {out}, {s.batch, s.queries, s.heads * s.v_width});
    a.last_call = last_call();
    // After the heads of q, k and v what turns them, and the scores.
    a.q_call = 0;
    a.k_call = many || c.turned ? 1 : 0;
    a.v_call = many ? 2 : sum;
    a.k_input = many || c.turned ? 0 : 1;
    a.v_input = many ? 0 : 1;
    a.mask = mask;
    a.pattern = pattern;
    a.dropout = dropout;
    a.out = out;
    a.factor = c.factor;
    a.temperature = c.temperature;
    program.attentions.push_back(a);
  }

 private:
  TensorId add(std::string name, const std::vector<std::int64_t>& sizes, TensorKind kind) {
    TensorSpec spec;
    spec.name = std::move(name);
    for (const std::int64_t size : sizes) spec.axes.push_back({"axis", size});
    spec.kind = kind;
    program.tensors.push_back(std::move(spec));
    return static_cast<TensorId>(program.tensors.size()) - 1;
  }
  TensorId call(Op op, std::vector<TensorId> in, const std::vector<std::int64_t>& sizes,
                const OpParams& params = {}) {
    const TensorId made =
        add("t" + std::to_string(program.tensors.size()), sizes, TensorKind::kActivation);
    program.calls.push_back({op, std::move(in), made, params});
    return made;
  }
  std::vector<std::int64_t> axes_of(TensorId id) const {
    std::vector<std::int64_t> sizes;
    for (const Axis& axis : program.tensors[place(id)].axes) sizes.push_back(axis.size);
    return sizes;
  }
  int last_call() const { return static_cast<int>(program.calls.size()) - 1; }
  // One head is the same cells under another shape.
  TensorId split(const std::string& name, TensorId of, const std::vector<std::int64_t>& sizes,
                 bool splits) {
    if (splits) return call(Op::kSplitHeads, {of}, sizes);
    const TensorId alias = add(name, sizes, TensorKind::kAlias);
    program.tensors.back().source = of;
    return alias;
  }
};

/// With its numbers, ±1 apart from the score's factor.
class AttentionRun : public AttentionProgram {
 public:
  explicit AttentionRun(const AttentionCase& c)
      : AttentionProgram(c), memory(program), gradients_(program) {
    fill(memory.cells(q), 1, 1.0f);
    fill(memory.cells(k), 2, 1.0f);
    fill(memory.cells(v), 3, 1.0f);
    const AttentionSizes& s = c.sizes;
    for (std::int64_t n = 0; mask >= 0 && n < s.batch * s.queries * s.keys; ++n) {
      const bool allowed =
          is_allowed(c.mask, s, n / s.keys / s.queries, n / s.keys % s.queries, n % s.keys);
      memory.cells(mask)[static_cast<std::size_t>(n)] = allowed ? 0.0f : -kInfinity;
    }
    for (std::size_t n = 0; dropout >= 0 && n < memory.cells(dropout).size(); ++n)
      memory.cells(dropout)[n] = scatter(n) % 4 == 0 ? 0.0f : 4.0f / 3;
    for (std::size_t id = 0; id < program.tensors.size(); ++id) {
      const auto source = static_cast<std::size_t>(program.resolve(static_cast<TensorId>(id)));
      pointers_.push_back(gradients_.pointers()[source]);
    }
  }

  /// Forward, and backward from a gradient of the result that is the same for all backends; `adds`:
  /// to 1 everywhere.
  void run(Backend& backend, bool adds = false) {
    memory.run(backend);
    const TensorId seed = out;
    BackwardPlan plan = plan_backward(program, {&seed, 1});
    fill(gradients_[out], 4, 1.0f);
    for (const TensorId id : {q, k, v}) std::ranges::fill(gradients_[id], 1.0f);
    for (BackwardCall& step : plan.calls) {
      for (std::size_t i = 0; adds && i < program.calls[place(step.call)].in.size(); ++i) {
        const TensorId source = program.resolve(program.calls[place(step.call)].in[i]);
        const bool last = program.tensors[place(source)].kind == TensorKind::kParameter;
        if (last && step.uses[i] == GradientUse::kWritten) step.uses[i] = GradientUse::kAdded;
      }
    }
    backend.run_backward(program, plan.calls, memory.pointers(), pointers_);
  }
  std::span<float> gradient(TensorId id) { return gradients_[id]; }
  bool guards_hold() const { return memory.guards_hold() && gradients_.guards_hold(); }

  Memory memory;

 private:
  Guarded gradients_;
  std::vector<float*> pointers_;
};

/// Heads, batches, and lengths and widths about the tiles' edges.
inline std::vector<AttentionCase> attention_cases() {
  constexpr AttentionSizes kSizes[] = {
      {1, 1, 1, 1, 1, 1},        {1, 1, 1, 7, 5, 3},       {2, 3, 7, 13, 17, 17},
      {1, 2, 31, 32, 16, 16},    {2, 1, 33, 31, 15, 33},   {1, 2, 32, 33, 32, 31},
      {3, 2, 11, 67, 33, 8},     {1, 1, 65, 64, 128, 127}, {1, 4, 97, 13, 8, 64},
      {1, 6, 33, 67, 15, 33, 3}, {2, 4, 34, 31, 40, 8, 2}, {1, 5, 7, 65, 8, 8, 5}};
  std::vector<AttentionCase> cases;
  for (const AttentionSizes& sizes : kSizes) {
    for (const AttentionMask mask :
         {AttentionMask::kNone, AttentionMask::kCausal, AttentionMask::kPadding,
          AttentionMask::kScattered, AttentionMask::kEverything}) {
      AttentionCase c{sizes, mask};
      c.dropout = (cases.size() + cases.size() / 5) % 2 == 1;
      c.factor = 1 / std::sqrt(static_cast<float>(sizes.width));
      c.temperature = cases.size() % 4 == 3 ? 0.6 : 1;
      c.turned = sizes.width % 2 == 0 && cases.size() % 2 == 0;
      cases.push_back(c);
    }
  }
  return cases;
}

}  // namespace headlight
