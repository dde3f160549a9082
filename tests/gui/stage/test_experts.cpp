// Experts: the gate's pages show the load, the experts' pages one of them at a time, and the
// settings of the model make them.
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

Document with_experts(int experts, int best, Activation activation = Activation::kGelu) {
  Document document = small_document(1, 2, 8);
  document.sentence = "the cat sat on the mat";
  document.config.experts = experts;
  document.config.top_experts = best;
  document.config.activation = activation;
  return document;
}

}  // namespace

TEST_CASE("experts: every page, forwards and backwards, in both languages") {
  for (const int best : {0, 1, 2}) {
    CAPTURE(best);
    Gui gui(with_experts(4, best));
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

TEST_CASE("experts: the load stands beside the gate's weights, and a click chooses an expert") {
  Gui gui(with_experts(4, 0), {1920, 1080});
  gui.push(GoToStep{"blocks.0.mlp.gate"});
  gui.frame(2);
  for (int e = 0; e < 4; ++e) CHECK(gui.has("load/" + std::to_string(e)));
  gui.click("load/2");
  REQUIRE(gui.state().session.picked);
  CHECK(gui.state().session.picked->index.back() == 2);
  // The page of the experts goes on with that one.
  gui.push(GoToStep{"blocks.0.mlp.expert_out"});
  gui.frame(2);
  REQUIRE(gui.state().session.picked);
  CHECK(gui.state().session.picked->index[1] == 2);
}

TEST_CASE("experts: where not all have room, the load shows those that are heard most") {
  Gui gui(with_experts(12, 2), {1920, 1080});
  gui.push(GoToStep{"blocks.0.mlp.gate_best"});
  gui.frame(2);
  const TensorView g = gui.tensor("blocks.0.mlp.gate_best");
  std::vector<int> heard(12, 0);
  for (std::int64_t t = 0; t < g.axes[1].size; ++t)
    for (std::size_t e = 0; e < 12; ++e)
      heard[e] += g.data[static_cast<std::size_t>(t) * 12 + e] > 0;
  int least_shown = 1000, most_hidden = 0, shown = 0;
  for (std::size_t e = 0; e < 12; ++e) {
    const bool there = gui.has("load/" + std::to_string(e));
    shown += there;
    (there ? least_shown : most_hidden) =
        there ? std::min(least_shown, heard[e]) : std::max(most_hidden, heard[e]);
  }
  CHECK(shown > 0);
  CHECK(shown < 12);
  CHECK(least_shown >= most_hidden);
}

TEST_CASE("experts: buttons choose whose page it is, also beyond the number of heads") {
  Gui gui(with_experts(6, 2), {1920, 1080});
  gui.push(GoToStep{"blocks.0.mlp.expert_pre"});
  gui.frame(2);
  gui.click("experts/5");
  REQUIRE(gui.state().session.picked);
  CHECK(gui.state().session.picked->index[1] == 5);
  CHECK(inconsistency(gui.state()) == "");
}

}  // namespace headlight::test
