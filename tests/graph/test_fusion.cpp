// Fusion: what the builder says is one attention, and what of it may run as one.
#include <doctest/doctest.h>

#include <cmath>

#include "core/graph/fusion.h"

namespace headlight::test_fusion {
namespace {

Config two_heads() {
  Config c;
  c.layers = 2;
  c.heads = 2;
  c.d_model = 12;
  c.mask.kind = MaskKind::kCausal;
  return c;
}

Program with_dropout(const Config& c) { return build_training_program(c, {2, 5, 7}, true); }

// Somebody else reads this tensor, through another name of it.
void read_elsewhere(Program& p, TensorId id) {
  const auto other = static_cast<TensorId>(p.tensors.size());
  p.tensors.push_back({"other name", p.tensors[place(id)].axes, TensorKind::kAlias, id});
  p.tensors.push_back({"read", p.tensors[place(id)].axes, TensorKind::kActivation});
  p.calls.push_back({Op::kScale, {other}, other + 1, {}});
}

}  // namespace

TEST_CASE("fusion: what is declared follows the calls from the heads to what they found") {
  for (const auto& attention : choices(AttentionKind{})) {
    CAPTURE(attention.word);
    Config c = two_heads();
    c.attention = attention.value;
    const Program p = with_dropout(c);
    const bool one =
        attention.value == AttentionKind::kBasic || attention.value == AttentionKind::kSingle;
    CHECK(p.attentions.size() == 2);
    for (const FusedAttention& a : p.attentions) {
      CHECK(a.last_call - a.first_call + 1 == (one ? 6 : 10));
      const auto reads = [&](int call, int input, TensorId id) {
        const OpCall& by = p.calls[place(call)];
        return p.resolve(by.in[place(input)]) == id && call >= a.first_call && call <= a.last_call;
      };
      CHECK(reads(a.q_call, 0, a.q));
      CHECK(reads(a.k_call, a.k_input, a.k));
      CHECK(reads(a.v_call, a.v_input, a.v));
      CHECK(p.calls[place(a.last_call)].out == a.out);
      CHECK(p.calls[place(p.producer(a.pattern))].op == Op::kSoftmax);
      CHECK(p.tensors[place(a.dropout)].name.ends_with(".attn.pattern.dropout"));
      CHECK(a.mask == p.mask);
      CHECK(a.factor == doctest::Approx(1 / std::sqrt(c.head_width())));
    }
  }
  Config c = two_heads();
  c.scores = ScoreKind::kAdditive;
  CHECK(with_dropout(c).attentions.empty());
}

TEST_CASE("fusion: a tensor between that somebody else reads keeps its attention apart") {
  const Program whole = with_dropout(two_heads());
  CHECK(Fusion(whole).attentions().empty());
  const Fusion both(whole, FusedBy::kCard);
  CHECK(both.attentions().size() == 2);
  const FusedAttention& first = whole.attentions[0];
  for (int call = first.first_call; call <= first.last_call; ++call) {
    const TensorId id = whole.calls[place(call)].out;
    CAPTURE(whole.tensors[place(id)].name);
    CHECK(both.is_between(id) == (id != first.out));
    CHECK(both.is_left_out(id) == (id != first.out && id != first.pattern));
    Program p = whole;
    read_elsewhere(p, id);
    const Fusion fusion(p, FusedBy::kCard);
    CHECK(fusion.attentions().size() == (id == first.out ? 2 : 1));
    CHECK((fusion.attention(first.out) != nullptr) == (id == first.out));
    CHECK(fusion.is_between(id) == false);
  }
}

TEST_CASE(
    "fusion: the card's groups begin where queries and keys are turned, the processor's before") {
  for (const auto& attention : choices(AttentionKind{})) {
    CAPTURE(attention.word);
    Config c = two_heads();
    c.attention = attention.value;
    c.kv_heads = 1;
    c.positions = PositionKind::kRotary;
    const Program p = build_training_program(c, {2, 5, 7});
    const Fusion processor(p), card(p, FusedBy::kCard);
    REQUIRE(card.attentions().size() == 2);
    CHECK(processor.attentions()[1] == p.attentions[1]);
    const FusedAttention& a = card.attentions()[1];
    const OpCall &scores = p.calls[place(a.q_call)], &value = p.calls[place(a.v_call)];
    CHECK(scores.op == Op::kScores);
    CHECK(a.k_call == a.q_call);
    CHECK(p.resolve(scores.in[0]) == a.q);
    CHECK(p.resolve(scores.in[place(a.k_input)]) == a.k);
    CHECK(p.resolve(value.in[place(a.v_input)]) == a.v);
    for (const TensorId id : {a.q, a.k}) {
      const OpCall& turn = p.calls[place(p.producer(id))];
      CHECK(turn.op == Op::kRotary);
      for (const TensorId made : {id, p.resolve(turn.in[0])}) {
        CHECK_FALSE(card.is_between(made));
        CHECK(processor.is_between(made) == (p.producer(made) >= a.first_call));
      }
    }
    // The values' heads are split within the group.
    CHECK(card.is_between(value.out) == (a.v_call != a.last_call));
  }
}

TEST_CASE("fusion: a slope takes its input's place where a product made it and nobody reads it") {
  for (const auto& activation : choices(Activation{})) {
    CAPTURE(activation.word);
    Config c = two_heads();
    c.activation = activation.value;
    Program p = with_dropout(c);
    const TensorId post = p.require(c.is_gated() ? "blocks.1.mlp.act" : "blocks.1.mlp.post");
    CHECK(Fusion(p).keeps_slope(post) == (activation.value != Activation::kRelu));
    read_elsewhere(p, p.require("blocks.1.mlp.pre"));
    CHECK_FALSE(Fusion(p).keeps_slope(post));
  }
}

}  // namespace headlight::test_fusion
