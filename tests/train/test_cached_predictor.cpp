// A row read token by token, keys and values kept, against the whole row computed at once.
#include <doctest/doctest.h>
#include <algorithm>
#include <cmath>

#include "core/train/cached_predictor.h"
#include "core/train/predictor.h"
#include "tests/run/drawn_models.h"
#include "tests/support/normalised_error.h"

namespace headlight::test_cached_predictor {
namespace {

using namespace drawn;

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

}  // namespace headlight::test_cached_predictor
