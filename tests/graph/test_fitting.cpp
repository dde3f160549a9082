// What of a recipe goes with what is set in it: all of it where it does, else as much as may stay.
#include <doctest/doctest.h>

#include <array>

#include "core/graph/options/fitting.h"
#include "tests/graph/drawn_recipes.h"

namespace headlight::test_fitting {
namespace {

void to_classes(Config& c) {
  c.form = ModelForm::kClasses;
  c.token_head = false;
}
void to_rotary(Config& c) { c.positions = PositionKind::kRotary; }
void to_shallow(Config& c) { c.layers = 1; }

}  // namespace

TEST_CASE("fitting: what goes with a change stays as it is") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Config own = drawn_recipe(seed);
    const ConfigChange nothing = [](Config&) {}, cooler = [](Config&c) { c.temperature = 2; };
    CHECK(fitting(own, std::array{nothing, cooler}) == own);
  }
}

TEST_CASE("fitting: an option that does not go with a change is as usual, the others stay") {
  Config own;
  own.d_model = 48;
  own.tied_head = true;
  own.embed_scale = true;
  Config wanted = own;
  wanted.tied_head = false;
  CHECK(fitting(own, std::array<ConfigChange, 1>{to_classes}) == wanted);

  // Queries and keys turn by position; the numbers of a GRU's row do not.
  own.mixer = MixerKind::kGru;
  wanted = own;
  wanted.mixer = MixerKind::kAttention;
  CHECK(fitting(own, std::array<ConfigChange, 1>{to_rotary}) == wanted);
  wanted.tied_head = false;
  CHECK(fitting(own, std::array<ConfigChange, 2>{to_classes, to_rotary}) == wanted);
}

TEST_CASE("fitting: a pair of options comes back together") {
  Config own;
  own.layers = 4;
  own.local_layers = {0, 3};
  own.local_window = 2;
  own.mixer = MixerKind::kAttention;
  own.tied_head = true;
  const Config fits = fitting(own, std::array<ConfigChange, 1>{to_classes});
  CHECK(fits.local_layers == own.local_layers);
  CHECK(fits.local_window == 2);
  // What a layer that is gone had goes with it, and is no reason to change anything else.
  CHECK(fitting(own, std::array<ConfigChange, 1>{to_shallow}) == own);
  CHECK(changed(own, to_shallow).local_layers == std::vector<int>{0});
}

TEST_CASE("fitting: whatever the recipe, it can be run behind each of the changes") {
  const std::array<ConfigChange, 3> changes = {to_classes, to_rotary, [](Config& c) {
                                                 c.form = ModelForm::kTokens;
                                                 c.token_head = c.numbers = c.segments = false;
                                                 c.components = c.memory = 0;
                                                 c.block = BlockKind::kAttention;
                                                 c.norm = NormKind::kNone;
                                               }};
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    const Config fits = fitting(drawn_recipe(seed), changes);
    for (const ConfigChange& change : changes) CHECK_NOTHROW(validate(changed(fits, change)));
  }
}

}  // namespace headlight::test_fitting
