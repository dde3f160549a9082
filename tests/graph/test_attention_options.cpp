// Options of attention that only some published models have: what is refused, what files say, and
// what becomes of the program.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/texts.h"
#include "core/graph/masks/layer_list.h"
#include "core/graph/options/attention_options.h"
#include "core/graph/program_memory.h"
#include "core/graph/reach.h"

namespace headlight::test_attention_options {
namespace {

constexpr JsonFileWords kFileWords{"session.wrong_value", "session.not_json", "session.too_deep"};
constexpr float kForbidden = -std::numeric_limits<float>::infinity();

Config changed(const std::function<void(Config&)>& change) {
  Config c;
  c.d_model = 8;
  c.heads = 2;
  change(c);
  return c;
}

std::string refused(const std::function<void(Config&)>& change) {
  try {
    validate(changed(change));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string problem_in(const std::string& json) {
  try {
    read_config(parse_json(json, kFileWords), "", kFileWords);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

Config read_again(const Config& c) { return read_config(config_json(c), "", kFileWords); }

Config local(std::vector<int> layers, int window) {
  return changed([&](Config& c) {
    c.local_layers = std::move(layers);
    c.local_window = window;
  });
}

}  // namespace

TEST_CASE("attention options: numbers out of range and NaN are named, 0 is off") {
  for (const double bad :
       {-1.0, 1e-9, 1e9, std::nan(""), std::numeric_limits<double>::infinity()}) {
    CAPTURE(bad);
    CHECK(has(refused([&](Config& c) { c.score_scale = bad; }), "factor of the scores"));
    CHECK(has(refused([&](Config& c) { c.softcap = bad; }), "cap of the scores"));
  }
  CHECK(refused([](Config& c) { c.score_scale = 1; }).empty());
  CHECK(refused([](Config& c) { c.softcap = 50; }).empty());
  for (const double bad : {-1.0, 0.0, 0.5, 2e6, std::nan("")}) {
    const std::string said = refused([&](Config& c) {
      c.positions = PositionKind::kRotary;
      c.rotary_scaling = RotaryScaling::kLinear;
      c.rotary_factor = bad;
    });
    CHECK(has(said, "must be between 1 and 1e6; got "));
  }
}

TEST_CASE("attention options: the bounds of llama3 lie apart, and only it has them") {
  const auto said = [](double low, double high, int context, RotaryScaling scaling) {
    return refused([&](Config& c) {
      c.positions = PositionKind::kRotary;
      c.rotary_scaling = scaling;
      c.rotary_factor = 8;
      c.rotary_low = low;
      c.rotary_high = high;
      c.rotary_context = context;
    });
  };
  CHECK(said(1, 4, 8192, RotaryScaling::kLlama3).empty());
  CHECK(has(said(4, 4, 8192, RotaryScaling::kLlama3), "needs a lower bound above 0"));
  for (const double bad : {0.0, -1.0, 5.0, std::nan("")})
    CHECK_FALSE(said(bad, 4, 8192, RotaryScaling::kLlama3).empty());
  CHECK_FALSE(said(1, std::nan(""), 8192, RotaryScaling::kLlama3).empty());
  CHECK(has(said(1, 4, 0, RotaryScaling::kLlama3), "length of text"));
  CHECK(said(5, 4, 0, RotaryScaling::kLinear).empty());  // says nothing of it
}

TEST_CASE("attention options: what does not go together is refused in a sentence") {
  CHECK(has(refused([](Config& c) {
              c.score_scale = 0.5;
              c.scale = false;
            }),
            "--attention-scale on"));
  CHECK(has(refused([](Config& c) { c.rotary_scaling = RotaryScaling::kLlama3; }),
            "these positions are sinusoidal"));
  CHECK(has(refused([](Config& c) {
              c.softcap = 5;
              c.fused_attention = true;
            }),
            "--softcap 0"));
  const std::pair<const char*, std::function<void(Config&)>> kOptions[] = {
      {"--softcap", [](Config& c) { c.softcap = 5; }},
      {"--score-scale", [](Config& c) { c.score_scale = 0.5; }},
      {"--local-layers", [](Config& c) { c.local_layers = {0}, c.local_window = 2; }}};
  for (const auto& [option, change] : kOptions) {
    const auto& set = change;
    CHECK(has(refused([&](Config& c) {
                set(c);
                c.mixer = MixerKind::kGru;
              }),
              std::string(option) + " says something about attention"));
  }
}

TEST_CASE("attention options: local layers must be there, in order, with a window") {
  const auto said = [](std::vector<int> layers, int window) {
    return refused([&](Config& c) {
      c.layers = 3;
      c.local_layers = std::move(layers);
      c.local_window = window;
    });
  };
  CHECK(said({0, 2}, 1).empty());
  CHECK(has(said({3}, 4), "there is no layer 3 to be local: this model has layers 0 to 2"));
  CHECK(has(said({-1}, 4), "there is no layer -1"));
  CHECK(has(said({0}, 0), "need a window of at least 1 key"));
  CHECK(has(said({}, 4), "a window of 4 keys needs layers"));
  CHECK(has(said({0}, -2), "window of local layers must be between 1"));
  CHECK(has(said({2, 0}, 4), "ascending order, each once; got 2,0"));
  CHECK(has(said({1, 1}, 4), "each once"));
}

TEST_CASE("attention options: lists of layers are read and written") {
  CHECK(read_layers("3,1,1,7") == std::vector{1, 3, 7});
  CHECK(layers_text({1, 3, 7}) == "1,3,7");
  CHECK(read_layers("").empty());
  for (const char* bad : {"1,x", "-1", "1,,2", "1 2", "99999999999"})
    CHECK_THROWS_AS(read_layers(bad), UsageError);
}

TEST_CASE("attention options: files say what is not the default, and read it again") {
  const std::string plain = json_text(config_json(changed([](Config&) {})));
  for (const char* key : {"score_scale", "softcap", "rotary_scaling", "rotary_factor", "rotary_low",
                          "rotary_context", "local_layers", "local_window"})
    CHECK_FALSE(has(plain, key));
  Config c = changed([](Config& made) {
    made.block = BlockKind::kParallel;
    made.score_scale = 0.0721;
    made.softcap = 30.5;
    made.positions = PositionKind::kRotary;
    made.rotary_scaling = RotaryScaling::kLlama3;
    made.rotary_factor = 32;
    made.rotary_low = 1.25;
    made.rotary_high = 5.5;
    made.rotary_context = 4096;
    made.local_layers = {0, 1};
    made.local_window = 256;
  });
  CHECK(read_again(c) == c);
  c.rotary_scaling = RotaryScaling::kLinear;
  c.rotary_low = Config{}.rotary_low;
  c.rotary_high = Config{}.rotary_high;
  c.rotary_context = Config{}.rotary_context;
  CHECK(read_again(c) == c);
  const std::pair<const char*, const char*> kWrong[] = {
      {R"({"score_scale": -1})", "score_scale"},
      {R"({"score_scale": "x"})", "score_scale"},
      {R"({"softcap": 1e300})", "softcap"},
      {R"({"rotary_scaling": "yarn"})", "none, linear, llama3"},
      {R"({"rotary_factor": 0})", "rotary_factor"},
      {R"({"rotary_context": 0})", "rotary_context"},
      {R"({"local_layers": 1})", "local_layers"},
      {R"({"local_layers": [1, -1]})", "local_layers"},
      {R"({"local_layers": [1.5]})", "local_layers"},
      {R"({"local_window": -3})", "local_window"},
      {R"({"block": "sideways"})", "parallel"}};
  for (const auto& wrong : kWrong)
    CHECK_MESSAGE(has(problem_in(wrong.first), wrong.second), wrong.first);
  CHECK(problem_in(R"({"score_scale": 0, "softcap": 0, "local_layers": []})").empty());
}

TEST_CASE("attention options: what no longer fits goes, and nothing else") {
  Config c = changed([](Config& made) {
    made.layers = 3;
    made.local_layers = {0, 2};
    made.local_window = 4;
    made.score_scale = 0.5;
    made.softcap = 3;
    made.positions = PositionKind::kRotary;
    made.rotary_scaling = RotaryScaling::kLinear;
    made.rotary_factor = 4;
  });
  Config same = c;
  drop_unfit_options(same);
  CHECK(same == c);
  c.layers = 2;
  c.positions = PositionKind::kNone;
  c.scale = false;
  drop_unfit_options(c);
  CHECK(c.local_layers == std::vector{0});
  CHECK(c.local_window == 4);
  CHECK(c.score_scale == 0);
  CHECK(c.softcap == 3);
  CHECK_NOTHROW(validate(c));
  c.mixer = MixerKind::kGru;
  drop_unfit_options(c);
  CHECK(c.local_layers.empty());
  CHECK_NOTHROW(validate(c));
}

TEST_CASE("parallel block: the network reads the norm of the block's input") {
  const Program p =
      build_program(changed([](Config& c) { c.block = BlockKind::kParallel; }), {1, 4, 7});
  const auto call_of = [&](const char* name) {
    return p.calls[place(p.producer(p.require(name)))];
  };
  const TensorId pre = p.resolve(p.require("blocks.1.resid_pre"));
  CHECK(p.resolve(call_of("blocks.1.ln1.normalized").in[0]) == pre);
  CHECK(p.resolve(call_of("blocks.1.ln2.normalized").in[0]) == pre);
  CHECK(p.resolve(call_of("blocks.1.resid_post").in[0]) ==
        p.resolve(p.require("blocks.1.resid_mid")));
  CHECK(p.find("ln_final.normalized") >= 0);
}

TEST_CASE("local layers: two masks, each read by its own layers") {
  Config c = local({1}, 2);
  c.layers = 3;
  const Program p = build_program(c, {1, 5, 7});
  REQUIRE(p.mask >= 0);
  REQUIRE(p.local_mask >= 0);
  for (int layer = 0; layer < 3; ++layer) {
    const TensorId scores = p.require("blocks." + std::to_string(layer) + ".attn.scores_masked");
    const OpCall& call = p.calls[place(p.producer(scores))];
    CHECK(call.in[1] == (layer == 1 ? p.local_mask : p.mask));
    CHECK(p.own_mask(layer) == call.in[1]);
    CHECK(p.attentions[place(layer)].mask == call.in[1]);
  }
  c.local_layers = {0, 1, 2};
  const Program all = build_program(c, {1, 5, 7});
  CHECK(all.mask == -1);
  CHECK(all.find("mask") == -1);
  CHECK(all.local_mask >= 0);
  CHECK(build_program(changed([](Config&) {}), {1, 5, 7}).local_mask == -1);
}

TEST_CASE("local layers: their mask is the run's and the window together") {
  for (const MaskKind kind : {MaskKind::kNone, MaskKind::kCausal, MaskKind::kPadding,
                              MaskKind::kLocal, MaskKind::kStrided, MaskKind::kFree}) {
    Config c = local({0}, 3);
    c.mask.kind = kind;
    c.mask.window = 4;
    c.mask.padding = {0, 4};
    c.mask.forbidden.insert(5, 4);
    c.mask.forbidden.insert(2, 1);
    const MaskSpec own = c.mask_of(0);
    CHECK(c.mask_of(1) == c.mask);
    constexpr int kTokens = 9, kBefore = 4;
    std::vector<float> cells(kTokens * (kBefore + kTokens));
    fill_mask(own, kTokens, cells.data(), kBefore);
    for (int i = 0; i < kTokens; ++i) {
      for (int j = -kBefore; j < kTokens; ++j) {
        const bool allowed = c.mask.allows(i, j) && i - j < 3;
        CAPTURE(i);
        CAPTURE(j);
        CHECK(own.allows(i, j) == allowed);
        CHECK(cells[static_cast<std::size_t>(i * (kBefore + kTokens) + kBefore + j)] ==
              (allowed ? 0.0f : kForbidden));
      }
    }
    // To paint on it is to paint what it shows.
    const MaskSpec painted = as_free(own, kTokens);
    for (int i = 0; i < kTokens; ++i)
      for (int j = 0; j < kTokens; ++j) CHECK(painted.allows(i, j) == own.allows(i, j));
  }
}

TEST_CASE("local layers: a token hears of far ones only by layers that look further") {
  Config c = local({0, 1}, 3);
  CHECK(path_length(c, 20, 10, 8) == 1);
  CHECK(path_length(c, 20, 10, 6) == 2);
  CHECK_FALSE(path_length(c, 20, 10, 5));
  c.local_layers = {1};
  CHECK(path_length(c, 20, 10, 0) == 1);
}

}  // namespace headlight::test_attention_options
