// A row read token by token, keys and values kept, against the whole row computed at once.
#include <doctest/doctest.h>
#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/model/init.h"
#include "core/model/model.h"
#include "core/train/cached_predictor.h"
#include "core/train/predictor.h"
#include "tests/support/normalised_error.h"

namespace headlight {
namespace {

constexpr std::int64_t kContext = 23, kVocab = 17;

template <class T>
T one_of(std::uint64_t seed, std::uint64_t draw, std::initializer_list<T> all) {
  return all
      .begin()[static_cast<std::size_t>(uniform(seed, draw) * static_cast<double>(all.size()))];
}

// A model whose queries only look back, drawn by the seed.
Config drawn_config(std::uint64_t seed) {
  Config c;
  c.layers = one_of(seed, 1, {1, 2, 3});
  c.heads = one_of(seed, 2, {1, 2, 4});
  c.d_model = c.heads * one_of(seed, 3, {4, 6, 10});
  c.attention = one_of(seed, 4,
                       {AttentionKind::kNarrow, AttentionKind::kNarrow, AttentionKind::kWide,
                        AttentionKind::kSingle, AttentionKind::kBasic});
  if (c.attention == AttentionKind::kNarrow && c.heads == 4)
    c.kv_heads = one_of(seed, 5, {0, 1, 2});
  c.block = one_of(seed, 6, {BlockKind::kPreNorm, BlockKind::kPostNorm, BlockKind::kAttention});
  c.positions = one_of(seed, 7,
                       {PositionKind::kNone, PositionKind::kSinusoidal, PositionKind::kLearned,
                        PositionKind::kRotary});
  if (c.attention == AttentionKind::kBasic && c.positions == PositionKind::kRotary)
    c.positions = PositionKind::kLearned;
  c.norm = one_of(seed, 8, {NormKind::kLayer, NormKind::kRms});
  c.scale = one_of(seed, 9, {true, false});
  c.temperature = one_of(seed, 10, {1.0, 0.6});
  c.tied_head = one_of(seed, 11, {true, false});
  c.mask.kind = one_of(
      seed, 12, {MaskKind::kCausal, MaskKind::kCausal, MaskKind::kLocal, MaskKind::kStrided});
  c.mask.window = 5;
  c.fused_attention = one_of(seed, 13, {true, false});
  if (one_of(seed, 14, {false, false, true})) c.block = BlockKind::kParallel;
  if (one_of(seed, 15, {false, true})) {
    c.local_window = 3;
    for (int layer = c.layers == 2 ? 1 : 0; layer < c.layers; layer += 2)
      c.local_layers.push_back(layer);
  }
  if (c.scale) c.score_scale = one_of(seed, 16, {0.0, 0.4});
  if (c.has_rotary())
    c.rotary_scaling =
        one_of(seed, 17, {RotaryScaling::kNone, RotaryScaling::kLinear, RotaryScaling::kLlama3});
  c.rotary_factor = 2;
  c.rotary_context = 30;
  return c;
}

std::shared_ptr<const Model> drawn_model(const Config& config, std::uint64_t seed) {
  auto model = std::make_shared<Model>();
  model->name = "drawn";
  model->file.config = config;
  model->file.vocab = kVocab;
  model->file.context = kContext;
  model->weights =
      initial_parameters(build_program(config, {1, kContext, kVocab}), Init::kGlorot, seed);
  std::uint64_t draw = 0;
  for (Tensor& t : model->weights)
    for (float& cell : t.data) cell += 0.1f * bell(seed, ++draw);
  return model;
}

std::vector<int> drawn_ids(std::uint64_t seed, std::int64_t count) {
  std::vector<int> ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<int>(uniform(seed, static_cast<std::uint64_t>(i)) * kVocab));
  return ids;
}

bool is_model(const Config& config) {
  try {
    validate(config);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

double error_of(CachedPredictor& cached, Predictor& whole, std::span<const int> ids) {
  const auto all = whole.logits(ids, std::ssize(ids));
  return normalised_error(cached.logits(ids), all.last(kVocab), 1e-3);
}

}  // namespace

TEST_CASE("cached predictor: every row as long as it grows is what the whole row gives") {
  int tried = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const Config config = drawn_config(seed);
    if (!is_model(config)) continue;
    CAPTURE(seed);
    const auto model = drawn_model(config, seed);
    REQUIRE(CachedPredictor::can_read(*model, config));
    CachedPredictor cached(model, config);
    Predictor whole(model, 1);
    const std::vector<int> ids = drawn_ids(seed, kContext);
    for (std::size_t n = 1; n <= ids.size(); n += 1 + n / 6)
      CHECK(error_of(cached, whole, std::span(ids).first(n)) < 2e-5);
    ++tried;
  }
  CHECK(tried >= 60);
}

TEST_CASE("cached predictor: attention by distance is left to the whole row") {
  Config config = drawn_config(3);
  for (const auto& positions : choices(PositionKind{})) {
    config.positions = positions.value;
    CAPTURE(positions.word);
    const auto model = drawn_model(config, 3);
    CHECK(CachedPredictor::can_read(*model, config) == !config.is_relative());
  }
}

TEST_CASE("cached predictor: another row begins where it differs, a shorter one is read again") {
  const Config config = drawn_config(3);
  const auto model = drawn_model(config, 3);
  CachedPredictor cached(model, config);
  Predictor whole(model, 1);
  std::vector<int> ids = drawn_ids(5, kContext);
  CHECK(error_of(cached, whole, ids) < 2e-5);
  CHECK(error_of(cached, whole, std::span(ids).first(9)) < 2e-5);
  CHECK(error_of(cached, whole, ids) < 2e-5);
  ids[4] = (ids[4] + 1) % kVocab;
  CHECK(error_of(cached, whole, ids) < 2e-5);
  CHECK(error_of(cached, whole, std::span(ids).last(7)) < 2e-5);
}

TEST_CASE("cached predictor: masks that look ahead, additive scores and wrong rows are refused") {
  Config config;
  config.heads = 1, config.d_model = 8;
  auto model = std::make_shared<Model>(*drawn_model(config, 1));
  const auto can_read = [&](auto change) {
    Config changed = config;
    change(changed);
    return CachedPredictor::can_read(*model, changed);
  };
  CHECK(can_read([](Config&) {}));
  CHECK(can_read([](Config& c) { c.mask.kind = MaskKind::kLocal; }));
  CHECK_FALSE(can_read([](Config& c) { c.mask.kind = MaskKind::kNone; }));
  CHECK_FALSE(can_read([](Config& c) {
    c.mask.kind = MaskKind::kLocal;
    c.mask.causal = false;
  }));
  CHECK_FALSE(can_read([](Config& c) { c.scores = ScoreKind::kAdditive; }));
  CHECK_FALSE(can_read([](Config& c) { c.form = ModelForm::kClasses; }));
  CachedPredictor cached(model, config);
  CHECK_THROWS_AS(cached.logits({}), UsageError);
  CHECK_THROWS_AS(cached.logits(drawn_ids(1, kContext + 1)), UsageError);
  for (const int id : {-1, static_cast<int>(kVocab)})
    CHECK_THROWS_AS(cached.logits(std::vector<int>{1, id}), Error);
  model->file.context = 0;
  CHECK_FALSE(can_read([](Config&) {}));
}

}  // namespace headlight
