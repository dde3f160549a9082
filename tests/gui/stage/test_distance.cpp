// Positions by distance: each kind has pages with a curve of what distances add to the scores of
// the chosen query, and a click on it chooses the key at that distance.
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

Document by_distance(PositionKind kind, MaskKind mask = MaskKind::kCausal) {
  Document document = small_document(1, 2, 8);
  document.sentence = "the cat sat on the mat";
  document.config.positions = kind;
  document.config.relative_reach = 3;
  document.config.mask.kind = mask;
  return document;
}

constexpr PositionKind kKinds[] = {PositionKind::kRelative, PositionKind::kT5, PositionKind::kAlibi,
                                   PositionKind::kTransformerXl};

}  // namespace

TEST_CASE("distance: every kind has pages, forwards and backwards, in both languages") {
  for (const PositionKind kind : kKinds) {
    for (const MaskKind mask : {MaskKind::kCausal, MaskKind::kNone}) {
      CAPTURE(word(kind));
      Gui gui(by_distance(kind, mask));
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

TEST_CASE("distance: a click on the curve chooses the key at that distance") {
  for (const PositionKind kind : kKinds) {
    CAPTURE(word(kind));
    Gui gui(by_distance(kind), {1920, 1080});
    gui.push(GoToStep{"blocks.0.attn.scores_placed"});
    gui.push(PickCell{CellPick{"blocks.0.attn.scores_placed", {0, 0, 5, 5}}});
    gui.frame(2);
    REQUIRE(gui.has("distance/area"));
    gui.click("distance/area");  // its middle: between distances 0 and 5
    REQUIRE(gui.state().session.picked);
    const std::vector<std::int64_t>& index = gui.state().session.picked->index;
    REQUIRE(index.size() == 4);
    CHECK(index[2] == 5);
    CHECK((index[3] == 2 || index[3] == 3));
  }
}

TEST_CASE("distance: the settings show what belongs to the kind that is chosen") {
  for (const PositionKind kind : kKinds) {
    CAPTURE(word(kind));
    Gui gui(by_distance(kind));
    gui.push(DoCommand{Command::kToggleModel});
    gui.frame(3);
    CHECK(gui.has("model/relative_reach") == (kind == PositionKind::kRelative));
    CHECK(gui.has("model/t5_buckets") == (kind == PositionKind::kT5));
    CHECK(gui.has("model/t5_reach") == (kind == PositionKind::kT5));
  }
}

}  // namespace headlight::test
