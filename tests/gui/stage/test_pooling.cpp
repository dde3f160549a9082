// Pooling: what each focus looks at stands on the page, under the sentence and in the plane of two
// directions; the settings make every kind of it, also of a model without layers.
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

Document pooling(PoolKind pool, int layers = 0) {
  Document document = small_document(1, 2, 8);
  document.sentence = "the cat sat on the mat";
  Config& c = document.config;
  c.form = ModelForm::kClasses;
  c.mask.kind = MaskKind::kNone;
  c.layers = layers;
  c.pool = pool;
  c.foci = 2;
  c.pool_hidden = 2;
  return document;
}

}  // namespace

TEST_CASE("pooling: every kind has pages, forwards and backwards, with layers and without") {
  for (const auto& kind : choices(PoolKind{})) {
    for (const int layers : {0, 1}) {
      CAPTURE(kind.word);
      CAPTURE(layers);
      Gui gui(pooling(kind.value, layers));
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

TEST_CASE("pooling: each focus has its words with its weights, and a click chooses one") {
  Gui gui(pooling(PoolKind::kFoci), {1920, 1080});
  gui.push(GoToStep{"pool.weights"});
  gui.frame(2);
  const TensorView weights = gui.tensor("pool.weights");
  REQUIRE(weights.axes[2].size == 2);
  for (int focus = 0; focus < 2; ++focus) {
    for (int token = 0; token < 6; ++token)
      CHECK(gui.has("focus/" + std::to_string(focus) + "/" + std::to_string(token)));
  }
  gui.click("focus/1/3");
  REQUIRE(gui.state().session.picked);
  CHECK(gui.state().session.picked->index == std::vector<std::int64_t>{0, 0, 1, 3});
  CHECK(gui.shows(number_text(weights.at(gui.state().session.picked->index), 5)));
  // Under the sentence stand that focus's weights: one bar for each token.
  for (int token = 0; token < 6; ++token)
    CHECK(gui.has("sentence/weight/" + std::to_string(token)));
}

TEST_CASE("pooling: along two directions the words are points, and a click chooses one") {
  Gui gui(pooling(PoolKind::kFoci), {1920, 1080});
  gui.push(GoToStep{"pool.hidden"});
  gui.frame(2);
  const TensorView hidden = gui.tensor("pool.hidden");
  // The further right along direction 0, the further right on the screen.
  std::vector<std::pair<float, float>> along;
  for (int token = 0; token < 6; ++token) {
    const std::string id = "plane/" + std::to_string(token);
    REQUIRE(gui.has(id));
    const DrawnControl dot = gui.rect(id);
    along.emplace_back(hidden.at(std::vector<std::int64_t>{0, token, 0}), dot.min.x);
  }
  std::sort(along.begin(), along.end());
  for (std::size_t i = 1; i < along.size(); ++i) CHECK(along[i - 1].second <= along[i].second);
  gui.click("plane/2");
  REQUIRE(gui.state().session.picked);
  CHECK(gui.state().session.picked->index[1] == 2);
}

TEST_CASE("pooling: a button makes self-attention of foci, and undo takes it back") {
  Gui gui(pooling(PoolKind::kFoci), {1920, 1080});
  gui.push(GoToStep{"pool.weights"});
  gui.frame(2);
  gui.click("stage/attend");
  gui.frame(2);
  CHECK(gui.config().layers == 1);
  CHECK(gui.config().pool == PoolKind::kMean);
  CHECK(gui.state().session.step == "blocks.0.attn.scores_raw");
  const Program& program = gui.trace().program();
  CHECK(program.find("blocks.0.attn.scores_scaled") == -1);
  CHECK(program.look(program.require("blocks.0.attn.q")).axes.back().size == 2);  // k directions
  gui.ctrl('Z');
  CHECK(gui.config().layers == 0);
  CHECK(gui.trace().program().find("pool.weights") >= 0);
}

TEST_CASE("pooling: the settings of a random model make a classifier, and take it back") {
  Gui gui(small_document(1, 2, 8));
  gui.push(DoCommand{Command::kToggleModel});
  gui.frame(2);
  gui.click("model/form/classes");
  CHECK(gui.config().form == ModelForm::kClasses);
  CHECK(gui.config().mask.kind == MaskKind::kNone);
  CHECK(gui.trace().input().classes.size() == 2);
  gui.click("model/pool/foci");
  CHECK(gui.trace().program().find("pool.weights") >= 0);
  gui.click("model/form/tokens");
  CHECK(gui.config().form == ModelForm::kTokens);
  CHECK(gui.config().mask.kind == MaskKind::kCausal);
}

}  // namespace headlight::test
