// Pooling: what each focus looks at stands on the page, under the sentence and in the plane of two
// directions; the settings make every kind of it, also of a model without layers.
#include <cmath>

#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/document/session_file.h"
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
  CHECK(gui.shows(number_text(weights.at(gui.state().session.picked->index))));
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

TEST_CASE("pooling: [CLS] stands before the sentence, and stays there") {
  Gui gui(pooling(PoolKind::kFirst, 1), {1920, 1080});
  const std::string sentence = gui.document().sentence;
  REQUIRE(gui.trace().input().tokens ==
          std::vector<std::string>{"[CLS]", "the", "cat", "sat", "on", "the", "mat"});
  // Its row alone goes on.
  const TensorView picked = gui.tensor("picked");
  for (std::int64_t t = 0; t < picked.size(); ++t) CHECK(picked.data[t] == (t == 0 ? 1.0f : 0.0f));
  const TensorView rows = gui.tensor("ln_final.normalized"), pooled = gui.tensor("pooled");
  for (std::int64_t i = 0; i < pooled.size(); ++i) CHECK(pooled.data[i] == rows.data[i]);

  // Weights under the words: under the first word that of token 1; nobody wrote [CLS].
  gui.push(GoToStep{"blocks.0.attn.pattern"});
  gui.push(PickCell{{"blocks.0.attn.pattern", {0, 0, 0, 2}}});
  gui.frame(2);
  CHECK_FALSE(gui.has("sentence/weight/0"));
  float before = 0;
  for (int token = 1; token < 7; ++token) {
    const std::string id = "sentence/weight/" + std::to_string(token);
    REQUIRE(gui.has(id));
    CHECK(gui.rect(id).min.x > before);
    before = gui.rect(id).max.x;
  }

  // Words change places behind it, in both directions, and come back.
  gui.push(GoToStep{"token_ids"});
  gui.frame(2);
  REQUIRE(gui.has("token/0"));
  gui.push(DoEdit{MoveToken{2, 1}, ""});
  gui.frame(2);
  CHECK(gui.document().sentence == "cat the sat on the mat");
  CHECK(gui.trace().input().tokens[0] == "[CLS]");
  gui.push(DoEdit{MoveToken{3, 0}, ""});  // not before it
  gui.frame(2);
  CHECK(gui.document().sentence == "sat cat the on the mat");
  gui.push(DoEdit{MoveToken{0, 3}, ""});
  CHECK(gui.document().sentence == "sat cat the on the mat");
  gui.ctrl('Z');
  gui.ctrl('Z');
  CHECK(gui.document().sentence == sentence);
  gui.drag(gui.rect("token/0").center(), gui.rect("token/3").center());
  CHECK(gui.document().sentence == sentence);
  gui.drag(gui.rect("token/1").center(), gui.rect("token/3").center());
  CHECK(gui.document().sentence != sentence);
  CHECK(gui.trace().input().tokens[0] == "[CLS]");
  gui.ctrl('Z');

  // Typing and taking away leave it where it is; without a word there is nothing to judge.
  gui.push(DoEdit{SetSentence{"cat"}, ""});
  gui.frame();
  CHECK(gui.trace().input().tokens == std::vector<std::string>{"[CLS]", "cat"});
  gui.push(DoEdit{SetSentence{""}, ""});
  gui.frame();
  CHECK(gui.document().sentence == "");
  gui.ctrl('Z');
  gui.ctrl('Z');
  gui.frame(2);
  CHECK(gui.trace().length() == 7);

  // Another kind of pooling does without it.
  Config other = gui.config();
  other.pool = PoolKind::kLast;
  gui.push(DoEdit{SetConfig{other}, ""});
  gui.frame();
  CHECK(gui.trace().input().tokens[0] == "the");
  gui.ctrl('Z');
  gui.frame();
  CHECK(gui.trace().input().tokens[0] == "[CLS]");
}

TEST_CASE("pooling: where [CLS] sees only itself, its page says so, and it is true") {
  for (const MaskKind mask : {MaskKind::kNone, MaskKind::kCausal}) {
    Document document = pooling(PoolKind::kFirst, 1);
    document.config.mask.kind = mask;
    Gui gui(document, {1920, 1080});
    const auto probabilities = [&] {
      const auto cells = gui.tensor("probs").cells();
      return std::vector<float>(cells.begin(), cells.end());
    };
    const std::vector<float> before = probabilities();
    const Program& program = gui.trace().program();
    const Step& step =
        program.steps[static_cast<std::size_t>(program.step_of(program.require("pooled")))];
    CHECK(step.row.forward.sentence.ends_with(".causal") == (mask == MaskKind::kCausal));
    gui.push(DoEdit{SetSentence{"the the cat sat on mat"}, ""});
    gui.frame(2);
    CHECK((probabilities() == before) == (mask == MaskKind::kCausal));
  }
}

TEST_CASE("pooling: words can be padding, [CLS] and all of them cannot") {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    for (const auto& kind : choices(PoolKind{})) {
      CAPTURE(kind.word);
      const bool cls = kind.value == PoolKind::kFirst;
      Gui gui(pooling(kind.value, 1), {1920, 1080});
      gui.push(ChooseLanguage{language});
      gui.push(GoToStep{"token_ids"});
      gui.frame(2);
      MaskSpec mask;
      mask.kind = MaskKind::kPadding;
      mask.causal = false;
      mask.padding = {5};
      gui.push(DoEdit{SetMask{mask}, ""});
      gui.frame(2);
      CHECK(gui.state().derived.problem == "");
      for (const float p : gui.tensor("probs").cells()) CHECK(std::isfinite(p));
      gui.click("token/0");
      gui.frame();
      const std::vector<int>& marked = gui.config().mask.padding;
      CHECK(marked == (cls ? std::vector<int>{5} : std::vector<int>{0, 5}));
      mask.padding = {0, 1, 2, 3, 4, 5, 6};
      gui.push(DoEdit{SetMask{mask}, ""});
      gui.frame(2);
      const bool english = language == Language::kEnglish;
      const std::string_view said = cls ? "[CLS]" : english ? "padding" : "填充";
      CHECK(gui.state().derived.problem.find(said) != std::string::npos);
      gui.ctrl('Z');
      gui.frame(2);
      CHECK(gui.state().derived.problem == "");
    }
  }
}

TEST_CASE("pooling: a random classifier is saved, opened and undone") {
  const TemporaryFolder folder;
  for (const auto& kind : choices(PoolKind{})) {
    CAPTURE(kind.word);
    Document document = pooling(kind.value, 1);
    // What only foci have is kept for them alone.
    Config& c = document.config;
    const bool foci = kind.value == PoolKind::kFoci;
    c.foci = foci ? 2 : Config{}.foci;
    c.pool_hidden = foci ? 2 : 0;
    c.foci_penalty = foci ? 0.25 : 0;
    const std::string path = folder.path(std::string(kind.word) + ".headlight.json");
    std::vector<float> said;
    {
      Gui gui(document);
      gui.push(SaveFile{path});
      gui.frame(2);
      const auto all = gui.tensor("probs").cells();
      said.assign(all.begin(), all.end());
    }
    CHECK(read_session(path).document == document);
    Gui gui(small_document());
    const Document before = gui.document();
    gui.push(OpenFile{path});
    gui.frame(2);
    CHECK(gui.document() == document);
    const auto again = gui.tensor("probs").cells();
    CHECK(std::vector<float>(again.begin(), again.end()) == said);

    Config other = gui.config();
    other.pool = kind.value == PoolKind::kMean ? PoolKind::kFoci : PoolKind::kMean;
    gui.push(DoEdit{SetConfig{other}, ""});
    gui.frame(2);
    CHECK(gui.config().pool == other.pool);
    gui.ctrl('Z');
    gui.frame(2);
    CHECK(gui.document() == document);
    const auto back = gui.tensor("probs").cells();
    CHECK(std::vector<float>(back.begin(), back.end()) == said);
    gui.ctrl('Z', true);
    CHECK(gui.config().pool == other.pool);
  }
}

}  // namespace headlight::test
