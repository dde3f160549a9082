// The slider of the softmax temperature.
#include <cmath>

#include "app/ui/frame/temperature_slider.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

ImVec2 place(Gui& gui, double temperature) {
  const DrawnControl track = gui.rect("temperature");
  return {track.min.x + temperature_place(temperature) * (track.max.x - track.min.x),
          track.center().y};
}

// Each row is softmax(scores / temperature), by hand.
void check_weights(Gui& gui, double temperature) {
  const auto scores = gui.tensor("blocks.0.attn.scores_masked").cells();
  const auto pattern = gui.tensor("blocks.0.attn.pattern").cells();
  const auto n = static_cast<std::size_t>(gui.trace().length());
  for (std::size_t row = 0; row < scores.size(); row += n) {
    double sum = 0;
    for (std::size_t j = row; j < row + n; ++j) sum += std::exp(scores[j] / temperature);
    for (std::size_t j = row; j < row + n; ++j) {
      const double expected = std::exp(scores[j] / temperature) / sum;
      CHECK(pattern[j] == doctest::Approx(expected).epsilon(1e-4));
    }
  }
}

}  // namespace

TEST_CASE("temperature: a drag sets it, is one step of undo, and softmax follows") {
  Gui gui(small_document(), {1600, 900});
  check_weights(gui, 1);
  const auto logits = gui.tensor("logits").cells();
  const auto probs = gui.tensor("probs").cells();
  double sum = 0;
  for (std::size_t j = 0; j < 6; ++j) sum += std::exp(static_cast<double>(logits[j]));
  CHECK(probs[0] == doctest::Approx(std::exp(static_cast<double>(logits[0])) / sum));
  gui.drag(place(gui, 1), place(gui, 0.3));
  const double now = gui.config().temperature;
  CHECK(now == doctest::Approx(0.3).epsilon(0.1));
  CHECK(now * 100 == doctest::Approx(std::round(now * 100)));
  check_weights(gui, now);
  // The next token's softmax stays plain.
  sum = 0;
  const auto cool = gui.tensor("logits").cells();
  for (std::size_t j = 0; j < 6; ++j) sum += std::exp(static_cast<double>(cool[j]));
  CHECK(gui.tensor("probs").cells()[0] ==
        doctest::Approx(std::exp(static_cast<double>(cool[0])) / sum));
  gui.ctrl('Z');
  CHECK(gui.document() == small_document());
  CHECK_FALSE(gui.state().history.can_undo());
  check_weights(gui, 1);
  gui.frame(30);  // else it were a double click
  gui.drag(place(gui, 1), {gui.rect("temperature").max.x + 300, 400});
  CHECK(gui.config().temperature == kHighestTemperature);
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("temperature: a double click gives 1, a place near 1 is 1") {
  Gui gui(small_document(), {1600, 900});
  gui.drag(place(gui, 1), place(gui, 4));
  CHECK(gui.config().temperature > 2);
  gui.click_at(place(gui, 4));
  gui.click_at(place(gui, 4));
  CHECK(gui.config().temperature == 1);
  gui.drag(place(gui, 4), place(gui, 1.04));
  CHECK(gui.config().temperature == 1);
}

TEST_CASE("temperature: Ctrl+click opens a field; out of range is the nearest in range") {
  Gui gui(small_document(), {1600, 900});
  gui.ctrl_click("temperature");
  gui.frame(2);
  REQUIRE(gui.has("temperature/field"));
  CHECK(gui.config().temperature == 1);
  gui.type("20");
  gui.edit_key({ImGuiKey_Enter});
  CHECK(gui.config().temperature == 10);
  CHECK(gui.has("temperature/field"));
  CHECK(gui.shows("a number from 0.05 to 10"));
  gui.frame(2);
  gui.edit_key({ImGuiKey_A, true});
  gui.type("0.35");
  gui.edit_key({ImGuiKey_Enter});
  CHECK(gui.config().temperature == 0.35);
  gui.frame(2);
  CHECK_FALSE(gui.has("temperature/field"));
  CHECK(gui.shows("0.35"));
  check_weights(gui, 0.35);
}

TEST_CASE("temperature: every place of the slider gives a temperature that is written short") {
  for (int i = 0; i <= 1000; ++i) {
    const double t = temperature_at(static_cast<float>(i) / 1000);
    CHECK(t >= kLowestTemperature);
    CHECK(t <= kHighestTemperature);
    CHECK(std::abs(temperature_place(t) - static_cast<float>(i) / 1000) < 0.035f);
  }
  CHECK(temperature_at(0) == kLowestTemperature);
  CHECK(temperature_at(1) == kHighestTemperature);
  CHECK(temperature_at(temperature_place(1)) == 1);
  CHECK(temperature_at(temperature_place(0.35)) == 0.35);
}

TEST_CASE("temperature: in a narrow window the number itself opens the field") {
  Gui gui(small_document(), {1280, 720});
  gui.click("temperature");
  if (!gui.has("temperature/field")) gui.ctrl_click("temperature");
  gui.frame(2);
  CHECK(gui.has("temperature/field"));
}

}  // namespace headlight::test
