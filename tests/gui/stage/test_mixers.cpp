// Models without attention in the window: every page, forwards and backwards; the unrolled layer,
// the window, the reach in the place of the heads; the settings that make them.
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

Document mixing(MixerKind mixer, MaskKind mask = MaskKind::kCausal) {
  Document document = small_document(2, 2, 8);
  document.sentence = "the cat sat on the mat";
  document.config.mixer = mixer;
  document.config.mask.kind = mask;
  return document;
}

const MixerKind kOthers[] = {MixerKind::kRecurrent, MixerKind::kGru, MixerKind::kConvolution};

// The reach comes from the background, and that of a cell left in the meantime before it.
void wait_for_reach(Gui& gui) {
  for (int i = 0; i < 3; ++i) {
    gui.shell().wait();
    gui.frame();
  }
  REQUIRE(gui.state().derived.reach);
}

}  // namespace

TEST_CASE("mixers: every kind has pages, forwards and backwards, in both languages") {
  for (const MixerKind mixer : kOthers) {
    for (const MaskKind mask : {MaskKind::kCausal, MaskKind::kNone}) {
      CAPTURE(word(mixer));
      CAPTURE(word(mask));
      Gui gui(mixing(mixer, mask));
      REQUIRE(gui.state().derived.problem == "");
      gui.push(ShowBackward{true});
      gui.frame(3);
      for (const Language language : {Language::kEnglish, Language::kChinese}) {
        gui.push(ChooseLanguage{language});
        for (const std::string& step : page_names(gui.trace().program())) {
          CAPTURE(step);
          gui.push(GoToStep{step});
          gui.frame();
          REQUIRE(gui.state().session.step == step);
          CHECK(inconsistency(gui.state()) == "");
          CHECK(gui.drawn().cut_texts().empty());
        }
      }
    }
  }
}

TEST_CASE("mixers: a recurrent layer is unrolled, a convolution shows its window") {
  for (const MixerKind mixer : kOthers) {
    CAPTURE(word(mixer));
    Gui gui(mixing(mixer), {1920, 1080});
    const bool windowed = mixer == MixerKind::kConvolution;
    const std::string step = windowed ? "blocks.1.mixer.window" : "blocks.1.mixer.state";
    gui.push(GoToStep{step});
    gui.frame(2);
    const std::string id = windowed ? "window/" : "unrolled/";
    for (int token = 0; token < 6; ++token) CHECK(gui.has(id + std::to_string(token)));
    gui.click(id + "2");
    REQUIRE(gui.state().session.picked);
    CHECK(gui.state().session.picked->tensor == step);
    CHECK(gui.state().session.picked->index[1] == 2);
  }
}

TEST_CASE("mixers: the reach stands in the place of the heads, and follows the chosen cell") {
  Gui gui(mixing(MixerKind::kGru), {1920, 1080});
  gui.push(GoToStep{"blocks.1.mixer.state"});
  gui.push(PickCell{CellPick{"blocks.1.mixer.state", {0, 3, 1}}});
  gui.frame(2);
  wait_for_reach(gui);
  CHECK(gui.has("reach/picture"));
  const Reach& reach = *gui.state().derived.reach;
  CHECK(reach.token == 3);
  REQUIRE(reach.rows.size() == 2);
  for (std::size_t t = 0; t < 6; ++t) CHECK((reach.rows[0].norms[t] > 0) == (t <= 3));
  // A click keeps the word from which the way is told, the next one lets it go.
  gui.click("reach/cell");
  const std::int64_t kept = gui.state().session.reach_word;
  CHECK(kept >= 2);
  CHECK(kept <= 3);
  gui.click("reach/cell");
  CHECK(gui.state().session.reach_word == -1);
}

TEST_CASE("mixers: before the first layer mixes, no way leads from one word to another") {
  for (const MixerKind mixer : kOthers) {
    CAPTURE(word(mixer));
    Gui gui(mixing(mixer), {1920, 1080});
    gui.push(ChooseReachWord{0});
    for (const int layer : {0, 1}) {
      const std::string step = "blocks." + std::to_string(layer) + ".ln1.normalized";
      gui.push(GoToStep{step});
      gui.push(PickCell{CellPick{step, {0, 1, 1}}});
      gui.frame(2);
      wait_for_reach(gui);
      gui.frame(2);
      const bool none = gui.state().derived.reach->rows[0].norms[0] == 0;
      CHECK(none == (layer == 0));
      CHECK(gui.shows("No way leads from") == none);
    }
  }
}

TEST_CASE("mixers: the settings make each, and attention again") {
  Gui gui(mixing(MixerKind::kAttention));
  for (const MixerKind mixer : kOthers) {
    Config c = gui.document().config;
    c.mixer = mixer;
    gui.push(DoEdit{SetConfig{c}, ""});
    gui.frame(3);
    CHECK(gui.state().derived.problem == "");
    CHECK(gui.trace().config().mixer == mixer);
    // No page of the layer it had before: what stands in its place.
    CHECK(gui.trace().program().find(gui.state().session.step) >= 0);
  }
  Config c = gui.document().config;
  c.mixer = MixerKind::kAttention;
  gui.push(DoEdit{SetConfig{c}, ""});
  gui.frame(3);
  CHECK(gui.trace().config().attends());
}

}  // namespace headlight::test
