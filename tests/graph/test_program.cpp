// The program: which tensors and steps a config gives, in which order, and what must hold for all.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/base/error.h"
#include "core/graph/program.h"
#include "core/graph/program_memory.h"
#include "tests/support/sanitized.h"

namespace headlight::test_program {
namespace {

using Names = std::vector<std::string>;

constexpr RunShape kShape{1, 6, 5};

std::string step_name(const Program& p, const Step& step) {
  return p.tensors[static_cast<std::size_t>(step.tensor)].name;
}

// The steps' names; those of layer 0 without "blocks.0."
Names step_names(const Program& p) {
  Names names;
  for (const Step& step : p.steps) {
    std::string name = step_name(p, step);
    if (step.layer == 0 && name.starts_with("blocks.0.")) name = name.substr(9);
    names.push_back(name);
  }
  return names;
}

Config one_layer() {
  Config c;
  c.layers = 1;
  c.heads = 3;
  c.d_model = 12;
  return c;
}

std::string owner(const Program& p, std::string_view name) {
  return p.tensors[static_cast<std::size_t>(p.resolve(p.require(name)))].name;
}

// What the step that shows the tensor is called.
std::string_view title_of(const Program& p, std::string_view name) {
  return p.steps[static_cast<std::size_t>(p.step_of(p.require(name)))].row.title;
}

// Bytes of the arena and of every parameter.
double bytes_of(const Program& p) {
  auto cells = static_cast<double>(arena_cells(p));
  for (const TensorSpec& spec : p.tensors) {
    if (spec.kind == TensorKind::kParameter) cells += static_cast<double>(cell_count(spec.axes));
  }
  return cells * sizeof(float);
}

// Calls `visit` with a config for each combination of the choices.
template <class Visit>
void for_all_configs(Visit visit) {
  Config c = one_layer();
  c.layers = 2;
  c.rotary_width = 2;  // heads have an odd width
  for (const auto& attention : choices(AttentionKind{})) {
    for (const auto& scores : choices(ScoreKind{})) {
      for (const auto& block : choices(BlockKind{})) {
        for (const auto& activation : choices(Activation{})) {
          for (const auto& positions : choices(PositionKind{})) {
            for (const auto& mask : choices(MaskKind{})) {
              for (int switches = 0; switches < 8; ++switches) {
                c.attention = attention.value;
                c.scores = scores.value;
                c.block = block.value;
                c.activation = activation.value;
                c.positions = positions.value;
                c.mask.kind = mask.value;
                c.scale = (switches & 1) != 0;
                c.bias = (switches & 2) != 0;
                c.residual = (switches & 4) != 0;
                visit(c);
              }
            }
          }
        }
      }
    }
  }
}

std::string text(const Config& c) {
  std::string all;
  for (std::string_view w : {word(c.attention), word(c.scores), word(c.block), word(c.activation),
                             word(c.positions), word(c.mask.kind)}) {
    all += std::string(w) + " ";
  }
  return all + (c.scale ? "scale " : "") + (c.bias ? "bias " : "") + (c.residual ? "residual" : "");
}

// What is wrong with the list of operations, or nothing.
std::string trouble(const Program& p) {
  static const std::unordered_set<std::string_view> words = [] {
    const auto all = axis_words();
    return std::unordered_set<std::string_view>(all.begin(), all.end());
  }();
  std::vector<bool> ready(p.tensors.size()), read(p.tensors.size());
  const auto place_of = [&](TensorId id) { return static_cast<std::size_t>(p.resolve(id)); };
  for (std::size_t id = 0; id < p.tensors.size(); ++id) {
    const TensorSpec& spec = p.tensors[id];
    // Of two with one name only one is found.
    if (p.find(spec.name) != static_cast<TensorId>(id)) return spec.name + " is not found";
    for (const Axis& axis : spec.axes) {
      if (!words.contains(axis.name)) return axis.name;
    }
    const bool given = spec.kind == TensorKind::kInput || spec.kind == TensorKind::kParameter;
    if (given) ready[id] = true;
    if (spec.kind != TensorKind::kAlias) continue;
    const std::size_t source = place_of(spec.source);
    if (cell_count(spec.axes) != cell_count(p.tensors[source].axes)) return spec.name + ": size";
  }
  for (const OpCall& call : p.calls) {
    for (const TensorId in : call.in) {
      const std::size_t source = place_of(in);
      if (!ready[source]) return "a call reads what is not yet written";
      read[source] = true;
    }
    const auto out = static_cast<std::size_t>(call.out);
    if (ready[out]) return "a tensor is written twice";
    ready[out] = true;
  }
  for (std::size_t id = 0; id < p.tensors.size(); ++id) {
    const TensorSpec& spec = p.tensors[id];
    const std::size_t source = place_of(static_cast<TensorId>(id));
    if (!ready[source]) return spec.name + " is never written";
    const bool shown = spec.name == "probs" || spec.role == Role::kTokenProbabilities;
    if (!shown && spec.name != "loss" && !read[source]) return spec.name + " is not read";
  }
  return "";
}

// Where on the rail a step belongs, by what it makes; nothing where that is the same in several
// places.
std::optional<Section> section_of(const Program& p, const Step& step) {
  switch (p.tensors[static_cast<std::size_t>(step.tensor)].role) {
    case Role::kTokenIds:
    case Role::kEmbedding:
    case Role::kScaledEmbedding:
    case Role::kPosition:
    case Role::kSegment:
    case Role::kSegmentSum:
    case Role::kDistanceRows:
    case Role::kNumber:
      return Section::kInput;
    case Role::kGateInput:
    case Role::kGate:
    case Role::kHidden:
    case Role::kActivated:
    case Role::kGateScores:
    case Role::kGateWeights:
    case Role::kBestWeights:
    case Role::kExpertHidden:
    case Role::kExpertActivated:
    case Role::kExpertOutputs:
      return Section::kFeedForward;
    case Role::kPoolHidden:
    case Role::kPoolActivated:
    case Role::kFocusScores:
    case Role::kMaskedFocusScores:
    case Role::kFocusWeights:
    case Role::kFocusSums:
    case Role::kFocusOverlap:
    case Role::kFociPenalty:
    case Role::kPooled:
    case Role::kHeadInput:
    case Role::kHeadActivated:
    case Role::kPoolerInput:
    case Role::kPoolerActivated:
    case Role::kTokenLogits:
    case Role::kTokenProbabilities:
    case Role::kTokenLoss:
    case Role::kHiddenLoss:
    case Role::kClassLoss:
    case Role::kOwnLoss:
    case Role::kLoadBalance:
    case Role::kMeans:
    case Role::kComponentScores:
    case Role::kComponentWeights:
    case Role::kLogSpreads:
    case Role::kLogits:
    case Role::kProbabilities:
    case Role::kLoss:
      return Section::kPrediction;
    case Role::kResidual:
    case Role::kNormInput:
    case Role::kNormalized:
    case Role::kSublayerOutput:
      return std::nullopt;
    default:  // Cross-attention has the steps of attention.
      return step.section == Section::kCrossAttention ? step.section : Section::kAttention;
  }
}

// What is wrong with the steps, or nothing.
std::string step_trouble(const Program& p) {
  std::vector<int> shown;
  int layer = -1;
  Stack stack = p.steps[0].stack;
  for (const Step& step : p.steps) {
    if (step.stack != stack) {
      if (layer != p.config.layers - 1) return "not every layer of a stack has steps";
      layer = -1;
      stack = step.stack;
    }
    shown.insert(shown.end(), step.calls.begin(), step.calls.end());
    if (step.layer >= 0 && step.layer < layer) return "layers out of order";
    layer = std::max(layer, step.layer);
    if (step.section != section_of(p, step).value_or(step.section))
      return step_name(p, step) + ": section";
    const Place place{step.stack, step.section, step.layer};
    if (p.tensors[static_cast<std::size_t>(step.tensor)].place != place && !step.calls.empty())
      return step_name(p, step) + ": place";
    const bool inside = step.section != Section::kInput && step.section != Section::kPrediction;
    if (inside != (step.layer >= 0)) return step_name(p, step) + ": layer";
    const std::string root = stack == Stack::kEncoder   ? "encoder."
                             : stack == Stack::kDecoder ? "decoder."
                                                        : "";
    const std::string prefix = root + "blocks." + std::to_string(step.layer) + ".";
    if (inside && !step_name(p, step).starts_with(prefix)) return step_name(p, step) + ": layer";
    if (p.makes(step, Role::kTokenIds)) continue;
    if (step.calls.empty()) return step_name(p, step) + " has no calls";
    if (p.calls[static_cast<std::size_t>(step.calls[0])].out != step.tensor) {
      return step_name(p, step) + " is not made by its step";
    }
  }
  if (layer != p.config.layers - 1) return "not every layer has steps";
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown[i] != static_cast<int>(i)) return "a call is not shown, or out of order";
  }
  return shown.size() == p.calls.size() ? "" : "a call is not shown";
}

}  // namespace

TEST_CASE("program: steps of a pre-norm model with several heads") {
  const Program p = build_program(one_layer(), kShape);
  CHECK(step_names(p) == Names{"token_ids",
                               "embed",
                               "pos_embed",
                               "blocks.0.resid_pre",
                               "ln1.normalized",
                               "attn.q_proj",
                               "attn.k_proj",
                               "attn.v_proj",
                               "attn.q",
                               "attn.scores_raw",
                               "attn.scores_scaled",
                               "attn.scores_masked",
                               "attn.pattern",
                               "attn.z",
                               "attn.concat",
                               "attn_out",
                               "resid_mid",
                               "ln2.normalized",
                               "mlp.pre",
                               "mlp.post",
                               "mlp_out",
                               "resid_post",
                               "ln_final.normalized",
                               "logits",
                               "probs"});
  const std::vector<std::string_view> titles = {"step.tokens",
                                                "step.embedding",
                                                "step.position",
                                                "step.position_sum",
                                                "step.norm",
                                                "step.queries",
                                                "step.keys",
                                                "step.values",
                                                "step.split",
                                                "step.scores",
                                                "step.scale",
                                                "step.mask",
                                                "step.softmax",
                                                "step.weighted_sum",
                                                "step.concat",
                                                "step.output",
                                                "step.residual",
                                                "step.norm",
                                                "step.feed_forward_in",
                                                "GELU",
                                                "step.feed_forward_out",
                                                "step.residual",
                                                "step.final_norm",
                                                "step.logits",
                                                "step.probabilities"};
  REQUIRE(p.steps.size() == titles.size());
  for (std::size_t s = 0; s < titles.size(); ++s) {
    CAPTURE(step_name(p, p.steps[s]));
    CHECK(p.steps[s].row.title == titles[s]);
  }
  // One step shows the three splits.
  CHECK(p.steps[8].calls.size() == 3);
}

TEST_CASE("program: steps of a post-norm model with one head and everything off") {
  Config c = one_layer();
  c.layers = 2;
  c.attention = AttentionKind::kSingle;
  c.block = BlockKind::kPostNorm;
  c.positions = PositionKind::kNone;
  c.mask.kind = MaskKind::kNone;
  c.scale = c.bias = false;
  const Program p = build_program(c, kShape);
  Names expected = {"token_ids", "embed"};
  for (const std::string at : {"", "blocks.1."}) {
    for (const char* name : {"attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.scores_raw",
                             "attn.pattern", "attn.z", "attn_out", "ln1.input", "ln1.normalized",
                             "mlp.pre", "mlp.post", "mlp_out", "ln2.input", "ln2.normalized"}) {
      expected.push_back(at + name);
    }
  }
  expected.insert(expected.end(), {"logits", "probs"});
  CHECK(step_names(p) == expected);
}

TEST_CASE("program: steps of basic attention alone") {
  Config c = one_layer();
  c.attention = AttentionKind::kBasic;
  c.block = BlockKind::kAttention;
  c.positions = PositionKind::kNone;
  c.mask.kind = MaskKind::kNone;
  c.scale = c.residual = c.bias = false;
  const Program p = build_program(c, kShape);
  CHECK(step_names(p) == Names{"token_ids", "embed", "attn.scores_raw", "attn.pattern", "attn.z",
                               "logits", "probs"});
  CHECK(p.mask == -1);
}

TEST_CASE(
    "program: attention alone may start from normed rows, and then the model ends with a norm") {
  Config c = one_layer();
  c.attention = AttentionKind::kSingle;
  c.block = BlockKind::kNormedAttention;
  c.positions = PositionKind::kNone;
  c.mask.kind = MaskKind::kNone;
  c.scale = c.bias = false;
  const Names expected = {"token_ids",   "embed",       "ln1.normalized",  "attn.q_proj",
                          "attn.k_proj", "attn.v_proj", "attn.scores_raw", "attn.pattern",
                          "attn.z",      "attn_out",    "resid_post",      "ln_final.normalized",
                          "logits",      "probs"};
  CHECK(step_names(build_program(c, kShape)) == expected);
  // Without norms it is attention alone.
  Config without = c, plain = c;
  without.norm = plain.norm = NormKind::kNone;
  plain.block = BlockKind::kAttention;
  CHECK(step_names(build_program(without, kShape)) == step_names(build_program(plain, kShape)));
}

TEST_CASE("program: a step that is switched off is absent") {
  const auto has = [](const Config& c, const char* name) {
    return build_program(c, kShape).find(name) >= 0;
  };
  Config c = one_layer();
  for (const char* name :
       {"pos_embed", "blocks.0.attn.scores_scaled", "blocks.0.attn.scores_masked", "mask",
        "blocks.0.ln1.normalized", "ln_final.normalized", "blocks.0.resid_mid", "blocks.0.mlp.pre",
        "blocks.0.attn.q_proj", "blocks.0.attn.b_Q", "blocks.0.ln1.b", "unembed.b_U"}) {
    CHECK_MESSAGE(has(c, name), name);
  }
  CHECK_FALSE(has(c, "blocks.0.attn.score_v"));
  CHECK_FALSE(has(c, "pos_embed.W_pos"));
  CHECK_FALSE(has(c, "blocks.0.ln1.input"));
  CHECK_FALSE(has(c, "blocks.1.resid_pre"));
  c.scale = false;
  CHECK_FALSE(has(c, "blocks.0.attn.scores_scaled"));
  c.mask.kind = MaskKind::kNone;
  CHECK_FALSE(has(c, "blocks.0.attn.scores_masked"));
  CHECK_FALSE(has(c, "mask"));
  c.positions = PositionKind::kNone;
  CHECK_FALSE(has(c, "pos_embed"));
  CHECK(has(c, "blocks.0.resid_pre"));
  c.bias = false;
  for (const char* name : {"blocks.0.attn.b_Q", "blocks.0.attn.b_O", "blocks.0.ln1.b",
                           "blocks.0.mlp.b_in", "ln_final.b", "unembed.b_U"}) {
    CHECK_FALSE_MESSAGE(has(c, name), name);
  }
  c.block = BlockKind::kPostNorm;
  CHECK_FALSE(has(c, "ln_final.normalized"));
  CHECK(has(c, "blocks.0.ln1.input"));
  c.block = BlockKind::kAttention;
  CHECK_FALSE(has(c, "blocks.0.ln1.normalized"));
  CHECK_FALSE(has(c, "blocks.0.mlp.pre"));
  CHECK_FALSE(has(c, "blocks.0.resid_mid"));
  c.attention = AttentionKind::kBasic;
  CHECK_FALSE(has(c, "blocks.0.attn.q_proj"));
  CHECK_FALSE(has(c, "blocks.0.attn.W_O"));
  c.scores = ScoreKind::kAdditive;
  CHECK(has(c, "blocks.0.attn.score_v"));
}

TEST_CASE("program: parameters have the axes of the design") {
  Config c = one_layer();
  c.positions = PositionKind::kLearned;
  c.scores = ScoreKind::kAdditive;
  c.d_hidden = 10;
  const Program p = build_program(c, kShape);
  const auto axes = [&p](const char* name) {
    return shape_text(p.tensors[static_cast<std::size_t>(p.require(name))].axes);
  };
  CHECK(axes("embed.W_E") == "(vocab 5, d_model 12)");
  CHECK(axes("pos_embed.W_pos") == "(context 6, d_model 12)");
  CHECK(axes("blocks.0.ln1.w") == "(d_model 12)");
  CHECK(axes("blocks.0.attn.W_K") == "(head 3, d_model 12, d_head 4)");
  CHECK(axes("blocks.0.attn.b_V") == "(head 3, d_head 4)");
  CHECK(axes("blocks.0.attn.W_O") == "(head 3, d_head 4, d_model 12)");
  CHECK(axes("blocks.0.attn.b_O") == "(d_model 12)");
  CHECK(axes("blocks.0.attn.score_v") == "(head 3, d_head 4)");
  CHECK(axes("blocks.0.mlp.W_in") == "(d_model 12, hidden 10)");
  CHECK(axes("blocks.0.mlp.b_in") == "(hidden 10)");
  CHECK(axes("blocks.0.mlp.W_out") == "(hidden 10, d_model 12)");
  CHECK(axes("unembed.W_U") == "(d_model 12, vocab 5)");
  CHECK(axes("unembed.b_U") == "(vocab 5)");
  CHECK(axes("blocks.0.attn.q") == "(batch 1, head 3, position 6, d_head 4)");
  CHECK(axes("blocks.0.attn.scores_raw") == "(batch 1, head 3, query 6, key 6)");
  CHECK(axes("blocks.0.attn.z") == "(batch 1, head 3, query 6, d_head 4)");
  CHECK(axes("blocks.0.attn.concat") == "(batch 1, query 6, feature 12)");
  CHECK(axes("blocks.0.attn_out") == "(batch 1, position 6, feature 12)");
  CHECK(axes("blocks.0.mlp.pre") == "(batch 1, position 6, hidden 10)");
  CHECK(axes("logits") == "(batch 1, position 6, vocab 5)");
}

TEST_CASE("program: other names lead to the tensor that owns the numbers") {
  Config c = one_layer();
  c.layers = 2;
  c.attention = AttentionKind::kBasic;
  c.block = BlockKind::kAttention;
  c.positions = PositionKind::kNone;
  const Program basic = build_program(c, kShape);
  for (const char* name : {"resid_pre", "attn.q", "attn.k", "attn.v"}) {
    CHECK(owner(basic, "blocks.0." + std::string(name)) == "embed");
    CHECK(owner(basic, "blocks.1." + std::string(name)) == "blocks.0.resid_post");
  }
  CHECK(owner(basic, "blocks.0.attn_out") == "blocks.0.attn.z");
  CHECK(owner(basic, "blocks.0.attn.concat") == "blocks.0.attn.z");
  CHECK(basic.producer(basic.require("blocks.0.attn_out")) ==
        basic.producer(basic.require("blocks.0.attn.z")));
  c.residual = false;
  const Program alone = build_program(c, kShape);
  CHECK(owner(alone, "blocks.0.resid_post") == "blocks.0.attn.z");
  CHECK(owner(alone, "blocks.1.attn.v") == "blocks.0.attn.z");

  c = one_layer();
  c.output_projection = false;
  const Program bare = build_program(c, kShape);
  CHECK(owner(bare, "blocks.0.attn_out") == "blocks.0.attn.concat");
  CHECK(bare.find("blocks.0.attn.W_O") < 0);
  CHECK(bare.find("blocks.0.attn.b_O") < 0);

  c = one_layer();
  c.layers = 2;
  c.attention = AttentionKind::kSingle;
  c.block = BlockKind::kPostNorm;
  const Program post = build_program(c, kShape);
  CHECK(owner(post, "blocks.0.attn.q") == "blocks.0.attn.q_proj");
  CHECK(owner(post, "blocks.0.resid_mid") == "blocks.0.ln1.normalized");
  CHECK(owner(post, "blocks.1.resid_pre") == "blocks.0.ln2.normalized");
  c.block = BlockKind::kPreNorm;
  c.residual = false;
  const Program pre = build_program(c, kShape);
  CHECK(owner(pre, "blocks.0.resid_mid") == "blocks.0.attn_out");
  CHECK(owner(pre, "blocks.1.resid_pre") == "blocks.0.mlp_out");
}

TEST_CASE("program: the step and the producer of a tensor") {
  Config c = one_layer();
  c.layers = 2;
  const Program p = build_program(c, kShape);
  CHECK(p.producer(p.token_ids) == -1);
  CHECK(p.producer(p.require("embed.W_E")) == -1);
  CHECK(p.calls[static_cast<std::size_t>(p.producer(p.require("logits")))].op == Op::kLinear);
  CHECK(p.step_of(p.token_ids) == 0);
  CHECK(title_of(p, "mask") == "step.mask");  // the first step that reads it
  CHECK(title_of(p, "embed.W_E") == "step.embedding");
  CHECK(title_of(p, "blocks.0.attn.W_K") == "step.keys");
  CHECK(title_of(p, "blocks.0.attn.b_V") == "step.values");
  CHECK(title_of(p, "blocks.1.attn.v") == "step.split");
  CHECK(title_of(p, "blocks.1.attn.W_O") == "step.output");
  CHECK(title_of(p, "ln_final.w") == "step.final_norm");
  CHECK(title_of(p, "blocks.1.resid_pre") == "step.residual");
  CHECK(p.steps[static_cast<std::size_t>(p.step_of(p.require("blocks.1.attn.z")))].layer == 1);
  for (std::size_t s = 0; s < p.steps.size(); ++s) {
    CHECK(p.step_of(p.steps[s].tensor) == static_cast<int>(s));
  }
  c.attention = AttentionKind::kSingle;
  const Program single = build_program(c, kShape);
  CHECK(title_of(single, "blocks.0.attn.k") == "step.keys");
  CHECK(title_of(single, "blocks.0.attn.concat") == "step.weighted_sum");
}

TEST_CASE("program: one for training has targets and a loss, and is the same before them") {
  const Program p = build_program(one_layer(), kShape);
  const Program training = build_training_program(one_layer(), kShape);
  Names expected = step_names(p);
  expected.push_back("loss");
  CHECK(step_names(training) == expected);
  CHECK(training.makes(training.steps.back(), Role::kLoss));
  CHECK(p.targets == -1);
  CHECK(p.loss == -1);
  CHECK(p.find("loss") == -1);
  CHECK(training.find("targets") == training.targets);
  CHECK(training.find("loss") == training.loss);
  CHECK(shape_text(training.look(training.loss).axes) == "(batch 1, position 6)");
  REQUIRE(training.tensors.size() == p.tensors.size() + 2);
  for (std::size_t id = 0; id < p.tensors.size(); ++id) {
    CHECK(training.tensors[id].name == p.tensors[id].name);
  }
  Config unfit = one_layer();
  unfit.heads = 5;
  CHECK_THROWS_AS(build_training_program(unfit, kShape), UsageError);
}

TEST_CASE("program: what a tensor needs is all that leads to it, in order") {
  const Program p = build_training_program(one_layer(), kShape);
  const std::vector<OpCall> calls = calls_for(p, p.loss);
  CHECK(calls.size() == p.calls.size() - 1);  // the probabilities stand apart
  CHECK(calls.back().op == Op::kCrossEntropy);
  CHECK(calls.front().op == Op::kEmbed);
  CHECK(calls_for(p, p.require("probs")).size() == p.calls.size() - 1);
  CHECK(calls_for(p, p.require("pos_embed")).size() == 1);
  CHECK(calls_for(p, p.require("embed.W_E")).empty());
}

TEST_CASE("program: a name that does not exist is answered with the nearest") {
  const Program p = build_program(one_layer(), kShape);
  CHECK(p.find("blocks.0.attn.patern") == -1);
  std::string message;
  try {
    p.require("blocks.0.attn.patern");
  } catch (const UsageError& error) {
    message = error.what();
  }
  CHECK(message.find("no tensor named 'blocks.0.attn.patern'") != std::string::npos);
  CHECK(message.find("did you mean 'blocks.0.attn.pattern'") != std::string::npos);
  CHECK_THROWS_AS(p.require(""), UsageError);
}

TEST_CASE("program: an unfit config is refused") {
  Config c = one_layer();
  c.heads = 5;
  CHECK_THROWS_AS(build_program(c, kShape), UsageError);
}

TEST_CASE("program: for every combination, what is read was written, shown once, and fits") {
  std::size_t configs = 0;
  std::map<std::string, std::string> troubles;  // what is wrong -> where it was first seen
  for_all_configs([&](const Config& c) {
    if (configs++ % test::kWalkStride != 0) return;
    const auto look = [&](const Program& program) {
      for (const std::string& what : {trouble(program), step_trouble(program)})
        if (!what.empty()) troubles.emplace(what, text(c));
    };
    look(build_program(c, {2, 6, 5}));
    if (configs % 7 == 0) look(build_training_program(c, {2, 6, 5}));
  });
  for (const auto& [what, where] : troubles) FAIL_CHECK(where << ": " << what);
  CHECK(configs == 4u * 2 * 5 * 6 * 8 * 6 * 8);
}

TEST_CASE("program: classifiers and encoder-decoders, for every combination") {
  std::map<std::string, std::string> troubles;
  int configs = 0;
  for_all_configs([&](Config c) {
    if (++configs % (17 * static_cast<int>(test::kWalkStride)) != 0) return;
    c.form = configs % 2 == 0 ? ModelForm::kClasses : ModelForm::kTranslate;
    RunShape shape{2, 6, 5};
    (c.form == ModelForm::kClasses ? shape.classes : shape.source) = 4;
    shape.padded = configs % 3 == 0;
    c.pool = choices(PoolKind{})[static_cast<std::size_t>(configs / 2) % 6].value;
    c.foci_penalty = configs / 34 % 2 == 1 ? 0.5 : 0;
    c.token_head = configs % 5 < 2 && c.form == ModelForm::kClasses;
    const std::string what = std::string(word(c.form)) + " " + text(c);
    for (const Program& p :
         {build_program(c, shape), build_training_program(c, shape, configs % 4 != 0)}) {
      troubles.emplace(trouble(p), what);
      troubles.emplace(step_trouble(p), what);
    }
  });
  troubles.erase("");
  for (const auto& entry : troubles) FAIL_CHECK(entry.second << ": " << entry.first);
}

TEST_CASE("program: a form without what it needs is refused") {
  Config c = one_layer();
  c.form = ModelForm::kClasses;
  CHECK_THROWS_AS(build_program(c, {1, 6, 5, 1}), UsageError);
  c.form = ModelForm::kTranslate;
  CHECK_THROWS_AS(build_training_program(c, {1, 6, 5, 4, 0}), UsageError);
}

TEST_CASE("program: each kind of pooling makes the row that the classes are scored by") {
  const auto shape_in = [](const Program& p, const char* name) {
    return shape_text(p.look(p.require(name)).axes);
  };
  Config c = one_layer();
  c.form = ModelForm::kClasses;
  c.mask.kind = MaskKind::kNone;
  c.layers = 0;
  c.foci = 3;
  const std::string d = std::to_string(c.d_model);
  const auto built = [&](PoolKind pool, bool padded = false) {
    c.pool = pool;
    RunShape shape{2, 6, 5, 4};
    shape.padded = padded;
    return build_training_program(c, shape);
  };
  const auto w_c = [&](const Program& p) { return shape_in(p, "classify.W_C"); };
  CHECK(w_c(built(PoolKind::kMean)) == "(d_model " + d + ", class 4)");
  for (const PoolKind one : {PoolKind::kLast, PoolKind::kFirst}) {
    const Program p = built(one);
    CHECK(shape_in(p, "picked") == "(batch 2, position 6)");
    CHECK(w_c(p) == "(d_model " + d + ", class 4)");
  }
  CHECK(w_c(built(PoolKind::kConcat)) == "(place " + std::to_string(6 * c.d_model) + ", class 4)");
  const Program vector = built(PoolKind::kVector);
  CHECK(shape_in(vector, "pool.w") == "(d_model " + d + ", focus 1)");
  CHECK(vector.find("pool.activated") == -1);
  CHECK(vector.pool_mask == -1);
  c.pool_hidden = 2;
  c.foci_penalty = 0.5;
  const Program foci = built(PoolKind::kFoci, true);
  CHECK(shape_in(foci, "pool.W_1") == "(d_model " + d + ", direction 2)");
  CHECK(shape_in(foci, "pool.W_2") == "(direction 2, focus 3)");
  CHECK(shape_in(foci, "pool.weights") == "(batch 2, head 1, focus 3, key 6)");
  CHECK(shape_in(foci, "pool_mask") == "(batch 2, focus 3, key 6)");
  CHECK(shape_in(foci, "pool.overlap") == "(batch 2, head 1, focus 3, other_focus 3)");
  CHECK(w_c(foci) == "(place " + std::to_string(3 * c.d_model) + ", class 4)");
  CHECK(foci.tensors[static_cast<std::size_t>(foci.loss)].role == Role::kLoss);
  CHECK(foci.find("class_loss") >= 0);
  c.foci_penalty = 0;
  CHECK(built(PoolKind::kFoci).find("class_loss") == -1);
}

TEST_CASE("program: a head of tokens beside that of classes, and the sum of both losses") {
  Config c = one_layer();
  c.form = ModelForm::kClasses;
  RunShape shape{2, 6, 5};
  shape.classes = 4;
  CHECK(build_training_program(c, shape).token_logits == -1);
  const auto shape_in = [](const Program& program, const char* name) {
    return shape_text(program.look(program.require(name)).axes);
  };
  c.token_head = true;
  const Program p = build_training_program(c, shape);
  CHECK(shape_in(p, "token_logits") == "(batch 2, position 6, vocab 5)");
  CHECK(shape_in(p, "token_targets") == "(batch 2, position 6)");
  CHECK(shape_in(p, "chosen") == "(batch 2, head 1, mean 1, key 6)");
  CHECK(shape_in(p, "hidden_loss") == "(batch 2)");
  CHECK(shape_in(p, "loss") == "(batch 2)");
  CHECK(shape_in(p, "unembed.W_U") == shape_in(build_program(one_layer(), shape), "unembed.W_U"));
  CHECK(shape_in(p, "logits") == "(batch 2, class 4)");
  const OpCall& sum = p.calls[static_cast<std::size_t>(p.producer(p.loss))];
  CHECK(sum.in == std::vector<TensorId>{p.require("class_loss"), p.require("hidden_loss")});
  c.tied_head = true;
  CHECK(build_program(c, shape).find("unembed.W_U") == -1);
  c.token_head = false;
  CHECK_THROWS_AS(build_program(c, shape), UsageError);
  c.tied_head = false;
  c.token_head = true;
  c.form = ModelForm::kTokens;
  CHECK_THROWS_AS(build_program(c, shape), UsageError);
}

TEST_CASE("program: segments join the embedding before the position, and are absent without") {
  Config c = one_layer();
  c.positions = PositionKind::kLearned;
  const RunShape shape{2, 6, 5};
  CHECK(build_program(c, shape).segment_ids == -1);
  c.segments = true;
  const Program p = build_program(c, shape);
  CHECK(shape_text(p.look(p.segment_ids).axes) == "(batch 2, position 6)");
  CHECK(shape_text(p.look(p.require("segment_embed.W_seg")).axes) ==
        "(segment 2, d_model " + std::to_string(c.d_model) + ")");
  const auto inputs = [&](const char* name) {
    std::vector<std::string> names;
    for (const TensorId id : p.calls[static_cast<std::size_t>(p.producer(p.require(name)))].in)
      names.emplace_back(p.look(id).name);
    return names;
  };
  CHECK(inputs("segment_embed") == std::vector<std::string>{"segment_ids", "segment_embed.W_seg"});
  CHECK(inputs("segment_sum") == std::vector<std::string>{"embed", "segment_embed"});
  CHECK(inputs("blocks.0.resid_pre") == std::vector<std::string>{"segment_sum", "pos_embed"});
  CHECK(step_trouble(p) == "");
  c.positions = PositionKind::kNone;
  const Program bare = build_program(c, shape);
  CHECK(bare.resolve(bare.require("blocks.0.resid_pre")) == bare.require("segment_sum"));
  const auto refused = [](Config wrong) { CHECK_THROWS_AS(validate(wrong), UsageError); };
  Config wrong = c;
  wrong.form = ModelForm::kTranslate;
  refused(wrong);
  wrong = c;
  wrong.numbers = true;
  refused(wrong);
  wrong = c;
  wrong.memory = 4;
  refused(wrong);
}

TEST_CASE("program: which sentence a token stands in follows from the [SEP] before it") {
  CHECK(segments_of(std::vector{4, 3, 0, 2, 0}, 3) == std::vector{0, 0, 1, 1, 1});
  CHECK(segments_of(std::vector{3, 3, 1}, 3) == std::vector{0, 1, 1});  // there are only two
  CHECK(segments_of(std::vector{0, 1}, 3) == std::vector{0, 0});
  CHECK(segments_of(std::vector{0, 1}, -1) == std::vector{0, 0});
  // Of each row of a batch from its own beginning.
  Config c = one_layer();
  c.segments = true;
  RunShape shape{2, 3, 5};
  shape.separator = 4;
  const Program p = build_program(c, shape);
  std::vector<std::vector<float>> cells(p.tensors.size());
  std::vector<float*> memory;
  for (std::size_t id = 0; id < cells.size(); ++id) {
    cells[id].resize(static_cast<std::size_t>(cell_count(p.tensors[id].axes)));
    memory.push_back(cells[id].data());
  }
  cells[static_cast<std::size_t>(p.token_ids)] = {0, 4, 1, 1, 2, 4};
  memory[static_cast<std::size_t>(p.token_ids)] =
      cells[static_cast<std::size_t>(p.token_ids)].data();
  fill_segments(p, memory);
  CHECK(cells[static_cast<std::size_t>(p.segment_ids)] == std::vector<float>{0, 0, 1, 0, 0, 0});
}

TEST_CASE("program: a model without layers is its embeddings, pooled") {
  Config c = one_layer();
  c.layers = 0;
  CHECK_THROWS_AS(build_program(c, {1, 6, 5}), UsageError);
  c.form = ModelForm::kClasses;
  const Program p = build_program(c, {1, 6, 5, 3});
  CHECK(p.attentions.empty());
  CHECK(p.find("ln_final.normalized") == -1);
  CHECK(memory_needed(c, {1, 6, 5, 3}) > 0);
}

TEST_CASE("program: a classifier pools, an encoder-decoder crosses") {
  Config c = one_layer();
  c.form = ModelForm::kClasses;
  c.mask.kind = MaskKind::kNone;
  const Program classes = build_training_program(c, {2, 6, 5, 3});
  const auto shape_in = [](const Program& p, const char* name) {
    return shape_text(p.look(p.require(name)).axes);
  };
  CHECK(classes.mask == -1);
  CHECK(shape_in(classes, "present") == "(batch 2, position 6)");
  CHECK(shape_in(classes, "pooled") == "(batch 2, feature 12)");
  CHECK(shape_in(classes, "classify.W_C") == "(d_model 12, class 3)");
  CHECK(shape_in(classes, "probs") == "(batch 2, class 3)");
  CHECK(shape_in(classes, "targets") == "(batch 2)");
  CHECK(shape_in(classes, "loss") == "(batch 2)");
  CHECK(classes.find("unembed.W_U") == -1);

  c.form = ModelForm::kTranslate;
  c.mask.kind = MaskKind::kCausal;
  const RunShape shape{.batch = 1, .positions = 6, .vocab = 5, .source = 7, .padded = true};
  const Program both = build_program(c, shape);
  CHECK(shape_in(both, "encoder.blocks.0.attn.pattern") ==
        "(batch 1, head 3, source_query 7, source_key 7)");
  CHECK(shape_in(both, "decoder.blocks.0.attn.pattern") == "(batch 1, head 3, query 6, key 6)");
  CHECK(shape_in(both, "decoder.blocks.0.cross_attn.pattern") ==
        "(batch 1, head 3, query 6, source_key 7)");
  CHECK(shape_in(both, "decoder.blocks.0.cross_attn.k") == "(batch 1, head 3, source 7, d_head 4)");
  CHECK(shape_in(both, "decoder.blocks.0.cross_attn_out") == "(batch 1, position 6, feature 12)");
  CHECK(shape_in(both, "encoder.ln_final.normalized") == "(batch 1, source 7, feature 12)");
  CHECK(shape_in(both, "decoder.blocks.0.ln3.w") == "(d_model 12)");
  const auto keys =
      static_cast<std::size_t>(both.producer(both.require("decoder.blocks.0.cross_attn.k_proj")));
  CHECK(both.calls[keys].in[0] == both.require("encoder.ln_final.normalized"));
  RunShape whole = shape;
  whole.padded = false;
  const Program unpadded = build_program(c, whole);
  CHECK(unpadded.cross_mask == -1);
  CHECK(unpadded.find("decoder.blocks.0.cross_attn.scores_masked") == -1);
  CHECK(unpadded.mask >= 0);
}

TEST_CASE("program: dropout stands where it is said, and only in training") {
  Config c = one_layer();
  const Program p = build_training_program(c, kShape, true);
  CHECK(p.dropout.size() == 3);
  for (const char* name : {"attn.pattern", "attn_out", "mlp_out"}) {
    const std::string full = std::string("blocks.0.") + name;
    CHECK(p.find(full + ".dropout") >= 0);
    CHECK(p.find(full + ".dropped") >= 0);
  }
  CHECK(build_training_program(c, kShape).dropout.empty());
}

TEST_CASE("program: the memory said beforehand is the memory taken, to the byte") {
  for (RunShape shape : {RunShape{1, 12, 10}, RunShape{4, 300, 120}}) {
    const auto check = [&](Config c) {
      shape.classes = c.form == ModelForm::kClasses ? 3 : 0;
      shape.source = c.form == ModelForm::kTranslate ? shape.positions + 9 : 0;
      for (const int layers : {1, 4}) {
        c.layers = layers;
        CHECK_MESSAGE(memory_needed(c, shape) == bytes_of(build_program(c, shape)), text(c));
      }
    };
    for_all_configs([&](const Config& c) {
      const bool masked = c.mask.kind != MaskKind::kNone && c.mask.kind != MaskKind::kCausal;
      if (c.activation == Activation::kGelu && !masked) check(c);  // the others' are the same
    });
    for (const bool padded : {false, true}) {
      shape.padded = padded;
      for (const ModelForm form : {ModelForm::kClasses, ModelForm::kTranslate}) {
        Config c = one_layer();
        c.form = form;
        check(c);
      }
    }
  }
}

TEST_CASE("program: the memory of a shape that lacks a source or classes is said as well") {
  Config c = one_layer();
  for (const ModelForm form : {ModelForm::kClasses, ModelForm::kTranslate}) {
    c.form = form;
    CHECK(memory_needed(c, {1, 0, 0}) > 0);
    CHECK(memory_needed(c, {1, 12, 10}) > memory_needed(c, {1, 0, 0}));
  }
}

TEST_CASE("program: the memory of absurd sizes is a number, not an overflow") {
  Config c;
  c.layers = kMaxLayers;
  c.heads = kMaxHeads;
  c.d_model = kMaxWidth;
  c.attention = AttentionKind::kWide;
  const double bytes = memory_needed(c, {1, 65536, 65536});
  CHECK(bytes > 1e15);
  CHECK(bytes < 1e25);
}

}  // namespace headlight::test_program
