// Models with more layers than the rail has room for, and runs that are waited for.
#include <algorithm>
#include <cmath>

#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

Document deep_document(int layers) {
  Document document = small_document(layers, 12, 48);
  document.sentence = "the keys to the old cabinet";
  return document;
}

std::vector<std::string> folds(const Gui& gui) {
  std::vector<std::string> all;
  for (const auto& [id, r] : gui.drawn().all()) {
    if (id.starts_with("rail/fold/")) all.push_back(id);
  }
  return all;
}

// The pictures in a line of the rail.
int pictures_in(const Gui& gui, std::string_view id) {
  const DrawnControl r = gui.rect(id);
  return static_cast<int>(std::ranges::count_if(gui.heatmaps().drawn(), [&](const DrawnHeatmap& d) {
    return d.quad.x0 >= r.min.x && d.quad.x1 <= r.max.x && d.quad.y0 >= r.min.y &&
           d.quad.y1 <= r.max.y;
  }));
}

// The layers of which the trace has a step on its way, when what was drawn is on the screen.
std::vector<int> layers_there(Gui& gui) {
  gui.shell().poll();  // as the window does then
  std::vector<int> there;
  for (int layer = 0; layer < gui.config().layers; ++layer) {
    const std::string step = "blocks." + std::to_string(layer) + ".mlp.pre";
    if (gui.trace().is_there(gui.trace().program().require(step))) there.push_back(layer);
  }
  return there;
}

}  // namespace

TEST_CASE("many layers: of a large run one layer is in memory, that on the screen") {
  RunLimits limits;
  limits.keep_all_to = 0;
  for (const int layers : {4, 12}) {
    Gui gui(deep_document(layers), {1920, 1080}, 1, limits), whole(deep_document(layers));
    REQUIRE_FALSE(gui.trace().keeps_all());
    REQUIRE(whole.trace().keeps_all());
    for (const int layer : {2, 0, 3}) {
      const std::string step = "blocks." + std::to_string(layer) + ".mlp.post";
      gui.push(GoToStep{step});
      gui.frame(20);
      CHECK(layers_there(gui) == std::vector{layer});
      CHECK(std::ranges::equal(gui.tensor(step).cells(), whole.tensor(step).cells()));
      gui.push(PickCell{{step, {0, 1, 5}}});  // the inspector reads what it was made of
      gui.frame(2);
      CHECK(layers_there(gui) == std::vector{layer});
      CHECK(inconsistency(gui.state()) == "");
    }
    // The layer on the screen is kept by the next run, and needs no second one.
    gui.push(DoEdit{SetSentence{"the keys to the cabinet"}, ""});
    gui.frame(2);
    CHECK(gui.trace().memory().again == 0);
    CHECK(layers_there(gui) == std::vector{3});
    gui.push(DoCommand{Command::kCost});
    gui.frame(2);
    const TraceMemory memory = gui.trace().memory();
    CHECK(gui.shows(bytes_text(memory.arena) + " stay in memory"));
    CHECK(gui.shows(bytes_text(memory.shared) + " more is where"));
  }
}

TEST_CASE("many layers: what was drawn is there until it is on the screen") {
  RunLimits limits;
  limits.keep_all_to = 0;
  Document document = deep_document(4);
  document.config.form = ModelForm::kClasses;
  Gui gui(document, {1920, 1080}, 1, limits);
  for (const int layer : {2, 0, 3, 1}) {
    gui.push(GoToStep{"blocks." + std::to_string(layer) + ".mlp.post"});
    gui.frame();
    gui.shell().push(GoToStep{"blocks." + std::to_string((layer + 2) % 4) + ".mlp.pre"});
    gui.frame();  // what it drew of the one layer is let go after it
    const std::string step = "blocks." + std::to_string(layer) + ".mlp.post";
    CHECK(gui.trace().is_there(gui.trace().program().require(step)));
    gui.shell().poll();
    gui.frame();
    CHECK_FALSE(gui.trace().is_there(gui.trace().program().require(step)));
  }
}

TEST_CASE("many layers: the heads of a large run's layers stand beside each other by what stays") {
  RunLimits limits;
  limits.keep_all_to = 0;
  Gui gui(deep_document(12), {1920, 1080}, 1, limits), whole(deep_document(12), {1920, 1080});
  for (Gui* each : {&gui, &whole}) {
    each->push(GoToStep{"blocks.2.attn.scores_raw"});
    each->frame(20);
  }
  CHECK(layers_there(gui) == std::vector{2});
  const auto shown = [](const Gui& of) {
    std::vector<std::string> names;
    for (const HeadsRow& row : of.state().derived.grid.rows) {
      const Program& program = of.trace().program();
      names.push_back(program.tensors[program.steps[row.step].tensor].name);
    }
    return names;
  };
  REQUIRE(shown(gui).size() == 12);
  REQUIRE(shown(whole).size() == 12);
  CHECK(shown(gui)[5] == "blocks.5.attn.pattern");
  CHECK(shown(gui)[2] == "blocks.2.attn.pattern");
  CHECK(shown(whole)[5] == "blocks.5.attn.scores_raw");
}

TEST_CASE("many layers: the rail has one line per layer, and the current one is open") {
  Gui gui(deep_document(12), {1920, 1080});
  gui.push(GoToStep{"blocks.5.attn.pattern"});
  gui.frame(20);  // the list comes to rest
  CHECK(folds(gui).size() == 11);
  CHECK_FALSE(gui.has("rail/fold/5"));
  // All of the open layer, both halves.
  for (const char* step : {"attn.q", "attn.pattern", "resid_mid", "mlp.pre", "resid_post"})
    CHECK(gui.has(std::string("rail/blocks.5.") + step));
  CHECK_FALSE(gui.has("rail/blocks.4.attn.q"));
  gui.reveal("rail/fold/6", "panel/rail_steps");
  CHECK(pictures_in(gui, "rail/fold/6") == 2);  // the pattern, and what the layer leaves
  CHECK(gui.shows("Layer6"));
  CHECK(gui.shows("LAYER5"));
  gui.click("rail/fold/6");
  CHECK(gui.state().session.layer == 6);
  CHECK(gui.state().session.step.starts_with("blocks.6."));
  gui.frame(20);
  CHECK(gui.has("rail/fold/5"));
  CHECK_FALSE(gui.has("rail/fold/6"));
  gui.push(GoToStep{"embed"});
  gui.frame(20);
  CHECK(folds(gui).size() == 12);
  CHECK(gui.shows("LAYERS"));
  gui.key({'B', false, false});  // the same on the way back
  gui.push(GoToStep{"d.blocks.11.mlp.pre"});
  CHECK(folds(gui).size() == 11);
  CHECK(gui.has("rail/d.blocks.11.attn.q"));
}

TEST_CASE("many layers: up to eight fold to their halves, as ever") {
  Gui gui(deep_document(8));
  gui.push(GoToStep{"blocks.5.attn.pattern"});
  CHECK(folds(gui).size() == 15);
  CHECK(gui.has("rail/fold/5/feed_forward"));
}

TEST_CASE("many layers: layers and heads are chosen by steppers") {
  Gui gui(deep_document(12));
  gui.push(GoToStep{"blocks.5.attn.pattern"});
  CHECK(gui.has("layer/more"));
  gui.click("layer/more");
  CHECK(gui.state().session.layer == 6);
  CHECK(gui.state().session.step == "blocks.6.attn.pattern");
  gui.click("head/more");
  CHECK(gui.state().session.head == 1);
}

TEST_CASE("waiting: a long run tells how far it is, and can be stopped and asked for again") {
  ShellOptions options = still_options(1);
  options.background = true;
  Gui gui(deep_document(2), std::cref(options));
  gui.shell().wait();
  const std::uint64_t before = gui.trace().serial();
  Document longer = deep_document(2);
  longer.sentence.clear();
  for (int i = 0; i < 900; ++i) longer.sentence += "word" + std::to_string(i % 7) + " ";
  gui.push(DoEdit{SetDocument{longer}, ""});
  REQUIRE(gui.state().derived.computing);
  gui.shell().keep(10.0);
  gui.frame();
  CHECK_FALSE(gui.has("panel/waiting"));  // not for what is over at once
  gui.shell().keep(10.5);
  gui.frame();
  REQUIRE(gui.has("panel/waiting"));
  CHECK(gui.state().derived.waiting == 0.5);
  CHECK(gui.shows("Computing"));
  gui.click("waiting/stop");
  CHECK_FALSE(gui.state().derived.computing);
  CHECK_FALSE(gui.has("panel/waiting"));
  gui.shell().wait();
  gui.frame();
  CHECK(gui.trace().serial() == before);
  CHECK(gui.document().sentence == longer.sentence);  // nothing typed is lost
  CHECK(gui.notices_say("Computing was stopped"));
  CHECK_FALSE(gui.state().derived.problem.empty());
  gui.click("notice/again");
  CHECK(gui.state().derived.computing);
  gui.shell().wait();
  gui.frame();
  CHECK(gui.trace().length() == 900);
  CHECK(gui.state().derived.problem.empty());
  CHECK_FALSE(gui.notices_say("Computing was stopped"));
}

TEST_CASE("waiting: before the first numbers are there nothing is said of them") {
  ShellOptions options = still_options(1);
  options.background = true;
  Document document = deep_document(2);
  document.sentence.clear();
  for (int i = 0; i < 900; ++i) document.sentence += "word" + std::to_string(i % 7) + " ";
  Gui gui(document, std::cref(options));
  REQUIRE_FALSE(gui.state().derived.trace);
  REQUIRE(gui.state().derived.computing);
  CHECK_FALSE(gui.shows("0 tokens"));
  CHECK_FALSE(gui.shows("Type a token"));
  gui.shell().keep(10.0);
  gui.shell().keep(10.5);
  gui.frame();
  // A window begins on a whole pixel, and cuts what it is not wide enough for.
  const DrawnControl card = gui.rect("panel/waiting");
  for (const float edge : {card.min.x, card.min.y, card.max.x, card.max.y})
    CHECK(edge == std::floor(edge));
  gui.shell().wait();
  gui.frame();
  CHECK(gui.shows("900 tokens"));
}

TEST_CASE("waiting: the first run can be stopped, and asked for where its numbers will stand") {
  ShellOptions options = still_options(1);
  options.background = true;
  Document document = deep_document(2);
  for (int i = 0; i < 900; ++i) document.sentence += " word" + std::to_string(i % 7);
  Gui gui(document, std::cref(options));
  REQUIRE(gui.state().derived.computing);
  gui.push(StopWaiting{});
  gui.shell().wait();
  gui.frame(2);
  REQUIRE_FALSE(gui.state().derived.trace);
  CHECK(gui.shows("Not computed yet"));
  CHECK_FALSE(gui.shows("This cannot be run yet"));
  CHECK_FALSE(gui.shows("0 tokens"));
  CHECK_FALSE(gui.notices_say("the run before"));
  CHECK(gui.notices_say("there are no numbers yet"));
  CHECK(gui.document().sentence == document.sentence);
  gui.click("stage/again");
  CHECK(gui.state().derived.computing);
  gui.shell().wait();
  gui.frame();
  CHECK(gui.trace().length() > 900);
  CHECK(gui.notices().empty());
}

TEST_CASE("waiting: a run behind an empty sentence that is stopped leaves what was shown before") {
  ShellOptions options = still_options(1);
  options.background = true;
  Gui gui(deep_document(2), std::cref(options));
  gui.shell().wait();
  gui.frame();
  const std::int64_t shown = gui.trace().length();
  gui.push(DoEdit{SetSentence{""}, ""});
  gui.shell().wait();
  gui.frame();
  REQUIRE(gui.state().derived.empty);
  std::string text;
  for (int i = 0; i < 900; ++i) text += " word" + std::to_string(i % 7);
  gui.push(DoEdit{SetSentence{text}, ""});
  REQUIRE(gui.state().derived.computing);
  gui.push(StopWaiting{});
  gui.shell().wait();
  gui.frame(2);
  CHECK_FALSE(gui.state().derived.empty);
  CHECK(gui.trace().length() == shown);
  CHECK(gui.document().sentence == text);
  CHECK_FALSE(gui.shows("Type a sentence"));
}

TEST_CASE("waiting: a layer that takes longer than a frame is gone to when it has been computed") {
  ShellOptions options = still_options(1);
  options.background = true;
  options.limits.keep_all_to = 0;
  Document document = small_document(3, 2, 192);
  for (int i = 0; i < 900; ++i) document.sentence += " word" + std::to_string(i % 7);
  Gui gui(document, std::cref(options));
  gui.shell().wait();
  gui.frame();
  REQUIRE(gui.trace().length() > 900);
  const auto go_to = [&](const std::string& step) {
    gui.push(GoToStep{step});
    gui.frame();
    return gui.state().session.step;
  };
  CHECK(go_to("blocks.0.resid_post") == "blocks.0.resid_post");  // it was kept
  CHECK(go_to("blocks.2.mlp.post") == "blocks.0.resid_post");
  CHECK(gui.state().derived.computing);
  gui.shell().keep(10.0);
  gui.shell().keep(10.5);
  gui.frame();
  CHECK(gui.has("panel/waiting"));
  gui.shell().wait();
  gui.frame();
  CHECK(gui.state().session.step == "blocks.2.mlp.post");
  CHECK(gui.state().session.layer == 2);
  CHECK_FALSE(gui.state().derived.computing);
  CHECK(inconsistency(gui.state()) == "");
  // The stepper says where the person is, and not where they want to be.
  gui.push(ChooseLayer{1});
  CHECK(gui.state().derived.computing);
  CHECK(gui.state().session.layer == 2);
  gui.push(StopWaiting{});
  gui.frame();
  CHECK(gui.state().session.layer == 2);
  CHECK(inconsistency(gui.state()) == "");
  // It may have been computed to its end. Then the worker still holds it for a moment.
  gui.shell().wait();
  const TensorId stopped = gui.trace().program().require("blocks.1.mlp.post");
  for (int i = 0; i < 1000 && (i == 0 || gui.trace().is_there(stopped)); ++i) {
    CHECK(go_to("blocks.0.attn.pattern") == "blocks.0.attn.pattern");
    CHECK(go_to("blocks.0.resid_post") == "blocks.0.resid_post");
    gui.shell().poll();  // as the window does between two frames
  }
  CHECK_FALSE(gui.trace().is_there(stopped));
  // Whoever goes elsewhere meanwhile, or stops it, stays there.
  CHECK(go_to("blocks.1.mlp.post") == "blocks.0.resid_post");
  CHECK(go_to("blocks.1.attn.pattern") == "blocks.1.attn.pattern");
  gui.shell().wait();
  gui.frame();
  CHECK(gui.state().session.step == "blocks.1.attn.pattern");
  CHECK(go_to("blocks.0.mlp.post") == "blocks.1.attn.pattern");
  gui.push(StopWaiting{});
  gui.shell().wait();
  gui.frame();
  CHECK(gui.state().session.step == "blocks.1.attn.pattern");
  CHECK_FALSE(gui.state().derived.computing);
}

}  // namespace headlight::test
