// Options of single parts: what a file says of them, what is refused, and what they do to a
// program.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/graph/config_json.h"
#include "core/graph/program.h"
#include "tests/support/error_text.h"

namespace headlight::test_config_options {
namespace {

constexpr JsonFileWords kFileWords = {"session.wrong_value", "session.not_json",
                                      "session.too_deep"};

Config read_again(const Config& c) {
  return read_config(parse_json(json_text(config_json(c)), kFileWords), "model", kFileWords);
}

Config small(ModelForm form = ModelForm::kTokens) {
  Config c;
  c.layers = 1;
  c.heads = 2;
  c.d_model = 8;
  c.form = form;
  if (form == ModelForm::kClasses) c.mask.kind = MaskKind::kNone;
  return c;
}

RunShape shape_of_form(const Config& c) {
  RunShape shape{1, 5, 7};
  if (c.form == ModelForm::kClasses) shape.classes = 3;
  if (c.form == ModelForm::kTranslate) shape.source = 6;
  return shape;
}

std::string shape_in(const Program& p, const char* name) {
  const TensorId id = p.find(name);
  return id < 0 ? "absent" : shape_text(p.look(id).axes);
}

void refuses(const Config& c, const std::string& words) {
  const std::string said = error_of([&] { validate(c); });
  CHECK_MESSAGE(said.find(words) != std::string::npos, words << " is not in: " << said);
}

}  // namespace

TEST_CASE("options: what a file says is what is read, and nothing of what is usual") {
  for (const char* key : {"norm_epsilon", "qkv_bias", "output_bias", "mlp_bias", "head_bias",
                          "embed_scale", "embed_norm", "sinusoid", "position_offset",
                          "segment_rows", "head_transform", "pooler", "encoder_layers"})
    CHECK(!config_json(Config{}).contains(key));
  Config c = small();
  c.norm_epsilon = 1e-12;
  c.qkv_bias = false;
  c.output_bias = true;
  c.mlp_bias = false;
  c.head_bias = true;
  c.embed_scale = c.embed_norm = c.segments = c.head_transform = true;
  c.sinusoid = Sinusoid::kHalvesToEnd;
  c.position_offset = 2;
  c.segment_rows = 1;
  CHECK(read_again(c) == c);
  CHECK(without_idle_options(c) == c);
  c = small(ModelForm::kClasses);
  c.pooler = Pooler::kRelu;
  CHECK(read_again(c) == c);
  c = small(ModelForm::kTranslate);
  c.encoder_layers = 3;
  CHECK(read_again(c) == c);
}

TEST_CASE("options: a file with numbers out of range is refused by the key") {
  const auto refused = [](const char* key, const OrderedJson& value) {
    OrderedJson json = config_json(small());
    json[key] = value;
    const std::string said = error_of([&] { read_config(json, "model", kFileWords); });
    CHECK_MESSAGE(said.find(std::string("model.") + key) != std::string::npos, said);
  };
  refused("norm_epsilon", 0);
  refused("norm_epsilon", -1e-5);
  refused("norm_epsilon", 2);
  refused("norm_epsilon", "small");
  refused("qkv_bias", 1);
  refused("position_offset", -1);
  refused("position_offset", kMaxPositionOffset + 1);
  refused("segment_rows", 0);
  refused("segment_rows", 3);
  refused("sinusoid", "whole");
  refused("pooler", "gelu");
  refused("encoder_layers", -1);
}

TEST_CASE("options: an epsilon that is no small number above 0 is refused") {
  for (const double epsilon : {0.0, -1e-5, 1.5, std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity()}) {
    Config c = small();
    c.norm_epsilon = epsilon;
    refuses(c, "between 1e-12 and 1");
  }
}

TEST_CASE("options: what has no place in a model is refused in one sentence, or left out") {
  const auto idle = [](Config c, const char* option, const char* needs) {
    refuses(c, std::string(option) + " goes with");
    refuses(c, needs);
    validate(without_idle_options(c));
  };
  Config c = small();
  c.norm = NormKind::kNone;
  c.norm_epsilon = 1e-6;
  idle(c, "--norm-epsilon", "a norm");
  c = small();
  c.norm = NormKind::kNone;
  c.embed_norm = true;
  idle(c, "--embed-norm", "a norm");
  c = small();
  c.positions = PositionKind::kRotary;
  c.position_offset = 2;
  idle(c, "--position-offset", "--positions sinusoidal or learned");
  c = small();
  c.positions = PositionKind::kLearned;
  c.sinusoid = Sinusoid::kHalves;
  idle(c, "--sinusoid", "--positions sinusoidal");
  c = small();
  c.segment_rows = 1;
  idle(c, "--segment-rows", "--segments on");
  c = small();
  c.activation = Activation::kSwiglu;
  c.head_transform = true;
  idle(c, "--head-transform", "without a gate");
  c = small(ModelForm::kClasses);
  c.head_transform = true;
  idle(c, "--head-transform", "--form tokens");
  c = small();
  c.pooler = Pooler::kTanh;
  idle(c, "--pooler", "--form classes");
  c = small();
  c.encoder_layers = 2;
  idle(c, "--encoder-layers", "--form translate");
  c = small();
  c.attention = AttentionKind::kBasic;
  c.qkv_bias = true;
  idle(c, "--qkv-bias", "queries, keys and values");
  c = small();
  c.output_projection = false;
  c.output_bias = true;
  idle(c, "--output-bias", "W_O");
  c = small();
  c.block = BlockKind::kAttention;
  c.mlp_bias = false;
  idle(c, "--mlp-bias", "feed-forward");
  c = small();
  c.numbers = true;
  c.embed_scale = true;
  idle(c, "--embed-scale", "--numbers off");
}

TEST_CASE("options: two halves of a row need an even width") {
  Config c = small();
  c.attention = AttentionKind::kWide;
  c.sinusoid = Sinusoid::kHalves;
  validate(c);
  c.d_model = 7;
  refuses(c, "d_model of at least 2; got 7");
  c.d_model = 2;
  validate(c);
  c.sinusoid = Sinusoid::kHalvesToEnd;
  refuses(c, "d_model of at least 4; got 2");
}

TEST_CASE("options: each product has a bias of its own") {
  Config c = small();
  c.qkv_bias = false;
  c.head_bias = false;
  Program p = build_program(c, shape_of_form(c));
  CHECK(shape_in(p, "blocks.0.attn.b_Q") == "absent");
  CHECK(shape_in(p, "unembed.b_U") == "absent");
  CHECK(shape_in(p, "blocks.0.attn.b_O") == "(d_model 8)");
  CHECK(shape_in(p, "blocks.0.mlp.b_in") == "(hidden 32)");
  c = small();
  c.bias = false;
  c.mlp_bias = true;
  c.output_bias = true;
  p = build_program(c, shape_of_form(c));
  CHECK(shape_in(p, "blocks.0.mlp.b_out") == "(d_model 8)");
  CHECK(shape_in(p, "blocks.0.attn.b_O") == "(d_model 8)");
  CHECK(shape_in(p, "blocks.0.attn.b_V") == "absent");
  CHECK(shape_in(p, "ln_final.b") == "absent");
  c = small();
  c.tied_head = true;
  CHECK(shape_in(build_program(c, shape_of_form(c)), "unembed.b_U") == "absent");
  c.head_bias = true;
  CHECK(shape_in(build_program(c, shape_of_form(c)), "unembed.b_U") == "(vocab 7)");
}

TEST_CASE("options: the table of positions has the rows before the first one too") {
  Config c = small();
  c.positions = PositionKind::kLearned;
  c.position_offset = 2;
  RunShape shape = shape_of_form(c);
  CHECK(shape_in(build_program(c, shape), "pos_embed.W_pos") == "(context 7, d_model 8)");
  shape.context = 9;
  CHECK(shape_in(build_program(c, shape), "pos_embed.W_pos") == "(context 11, d_model 8)");
}

TEST_CASE("options: an encoder of its own depth, with a table of its own") {
  Config c = small(ModelForm::kTranslate);
  c.encoder_layers = 2;
  RunShape shape = shape_of_form(c);
  shape.source_vocab = 9;
  const Program p = build_program(c, shape);
  CHECK(p.find("encoder.blocks.1.resid_post") >= 0);
  CHECK(p.find("decoder.blocks.1.resid_post") == -1);
  CHECK(shape_in(p, "encoder.embed.W_E") == "(source_vocab 9, d_model 8)");
  CHECK(shape_in(p, "embed.W_E") == "(vocab 7, d_model 8)");
  shape.source_vocab = 0;
  CHECK(build_program(c, shape).find("encoder.embed.W_E") == -1);
  c.masked_heads = {{HeadsOf::kEncoder, 1, 0}};
  validate(c);
  c.masked_heads = {{HeadsOf::kOwn, 1, 0}};
  CHECK_THROWS_AS(validate(c), UsageError);
}

}  // namespace headlight::test_config_options
