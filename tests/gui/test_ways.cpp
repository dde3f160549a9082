// No dead ends: the life of a notice, its buttons, words that a model does not know, random
// weights, a walk and a run that go on unseen.
#include <algorithm>

#include "core/train/model_recipe.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

void say(Gui& gui, NoticeKind kind, const std::string& words) {
  gui.shell().notify(kind, words);
  gui.frame(2);
}

std::string shown_notice(const Gui& gui) {
  return gui.state().notices.empty() ? "" : gui.state().notices.front().text;
}

// As the window asks now and then, with its clock.
void at(Gui& gui, double seconds) {
  gui.shell().keep(seconds);
  gui.frame(2);
}

bool offers(const Gui& gui, std::string_view button) {
  return gui.has("notice/" + std::string(button));
}

void type_sentence(Gui& gui, std::string_view words) {
  gui.click("sentence");
  gui.edit_key({ImGuiKey_A, true});
  gui.type(words);
  gui.key({kKeyEscape});
}

}  // namespace

TEST_CASE("notices: one is shown, a later one takes its place, and it goes by itself") {
  Gui gui(small_document());
  say(gui, NoticeKind::kInfo, "the first");
  CHECK(gui.shows("the first"));
  say(gui, NoticeKind::kWarning, "the second");
  CHECK(gui.state().notices.size() == 1);
  CHECK_FALSE(gui.shows("the first"));
  CHECK(gui.shows("the second"));
  at(gui, 100);
  at(gui, 104);
  CHECK(gui.shows("the second"));  // not before it could be read
  at(gui, 130);
  CHECK_FALSE(gui.shows("the second"));
  CHECK_FALSE(gui.has("panel/notice"));
}

TEST_CASE("notices: one under the mouse waits, one that was sent away is gone") {
  Gui gui(small_document());
  say(gui, NoticeKind::kError, "read me slowly");
  gui.hover("panel/notice");
  gui.frame(2);
  at(gui, 10);
  at(gui, 1000);
  CHECK(gui.shows("read me slowly"));
  gui.move_to({5, gui.size().y - 5});
  gui.frame(2);
  at(gui, 1001);
  at(gui, 1040);
  CHECK_FALSE(gui.shows("read me slowly"));
  say(gui, NoticeKind::kError, "again");
  gui.click("notice/0/close");
  CHECK(shown_notice(gui) == "");
}

TEST_CASE("notices: what was said of another sentence, model or session goes") {
  Gui gui(small_document());
  const auto said = [&] {
    say(gui, NoticeKind::kWarning, "of what was there");
    REQUIRE(gui.shows("of what was there"));
  };
  said();
  gui.push(DoEdit{SetSentence{"another one"}, ""});
  CHECK(shown_notice(gui) == "");
  said();
  gui.push(ChooseModel{"bundled:sort"});
  CHECK_FALSE(gui.notices_say("of what was there"));
  said();
  gui.push(DoCommand{Command::kNew});
  if (gui.has("question/second")) gui.click("question/second");
  CHECK_FALSE(gui.notices_say("of what was there"));
  said();
  gui.push(GoToStep{"embed"});  // still true
  CHECK(gui.notices_say("of what was there"));
}

TEST_CASE("notices: why a document cannot be run stays below one that passes, until it can") {
  Gui gui(small_document());
  Config config = gui.config();
  config.heads = 3;
  gui.push(DoEdit{SetConfig{config}, ""});
  REQUIRE(gui.notices_say("does not divide into 3 heads"));
  at(gui, 1);
  at(gui, 500);
  CHECK(gui.shows("does not divide"));
  say(gui, NoticeKind::kInfo, "just in passing");
  CHECK(shown_notice(gui) == "just in passing");
  at(gui, 501);
  at(gui, 530);
  CHECK(gui.shows("does not divide"));
  gui.ctrl('Z');
  CHECK(shown_notice(gui) == "");
}

TEST_CASE("unknown words: which ones, what the model knows, and the ways on") {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    Gui gui(bundled_document("induction"));
    gui.push(ChooseLanguage{language});
    type_sentence(gui, "hello world");
    CHECK(gui.notices_say("'hello', 'world'"));
    CHECK(gui.notices_say("24"));
    CHECK_FALSE(offers(gui, "small"));
    REQUIRE(offers(gui, "sandbox"));
    REQUIRE(offers(gui, "example"));
    gui.click("notice/sandbox");
    CHECK(gui.document().model == "");
    CHECK(gui.document().sentence == "hello world");
    CHECK(gui.trace().length() == 2);
    CHECK(shown_notice(gui) == "");
    gui.ctrl('Z');
    REQUIRE(offers(gui, "example"));
    gui.click("notice/example");
    CHECK(gui.document().sentence == bundled_recipe("induction").example);
    CHECK(gui.document().model == "bundled:induction");
    CHECK(shown_notice(gui) == "");
  }
}

TEST_CASE("unknown words: small letters where these are known") {
  Gui gui(bundled_document("induction"));
  type_sentence(gui, "K R m q K R");
  CHECK(gui.notices_say("'K', 'R'"));
  REQUIRE(offers(gui, "small"));
  gui.click("notice/small");
  CHECK(gui.document().sentence == "k r m q k r");
  CHECK(gui.trace().length() == 6);
  CHECK(shown_notice(gui) == "");
}

TEST_CASE(
    "unknown words: a model that takes another sentence says for which words, with a way back") {
  Gui gui(small_document());
  const Document before = gui.document();
  gui.push(ChooseModel{"bundled:induction"});
  CHECK(gui.notices_say("does not know 'the', 'cat', 'sat'"));
  REQUIRE(offers(gui, "undo"));
  gui.click("notice/undo");
  CHECK(gui.document() == before);
}

TEST_CASE("random weights: said on the stage of every step, with a way to a trained model") {
  Gui gui(small_document());
  for (const std::string& step : step_names(gui.trace().program())) {
    CAPTURE(step);
    gui.push(GoToStep{step});
    CHECK((gui.shows("nothing learned yet") || gui.has("stage/random")));
  }
  gui.push(GoToStep{"blocks.0.attn.pattern"});
  REQUIRE(gui.has("stage/random"));
  gui.click("stage/random");
  REQUIRE(gui.has("panel/model_settings"));
  gui.click("model/trained/grammar");
  gui.key({kKeyEscape});
  CHECK(gui.document().model == "bundled:grammar");
  CHECK_FALSE(gui.has("stage/random"));
}

TEST_CASE("modes: a walk that plays ends when its page is left") {
  Gui gui(small_document());
  gui.push(DoCommand{Command::kPlay});
  REQUIRE(gui.state().session.playback.playing);
  gui.click("mode/train");
  gui.frame(3);
  CHECK(gui.state().session.mode == Mode::kTrain);
  CHECK_FALSE(gui.state().session.playback.playing);
  gui.click("mode/steps");
  CHECK(gui.state().session.mode != Mode::kTrain);
}

TEST_CASE("modes: looking into Train and leaving it again changes nothing") {
  Gui gui(small_document());
  const Document before = gui.document();
  gui.click("mode/train");
  gui.shell().wait();
  gui.frame(3);
  CHECK(gui.state().document().model == "run");
  CHECK(gui.state().history.now() == before);
  gui.click("mode/steps");
  CHECK(gui.state().document() == before);
  CHECK_FALSE(gui.has("top/training"));
  gui.click("mode/train");  // and it is there again
  gui.frame(3);
  CHECK(gui.document().model == "run");
}

TEST_CASE("modes: a run in the background is seen in Steps: how far, pause, a way there") {
  Gui gui(small_document());
  gui.click("mode/train");
  gui.shell().wait();
  gui.push(PlayRun{true, 3});
  gui.shell().wait();
  gui.frame(3);
  REQUIRE(gui.state().train.run.status.step == 3);
  CHECK_FALSE(gui.has("top/training"));
  gui.click("mode/steps");
  CHECK(gui.document().model == "run");  // something was trained
  REQUIRE(gui.has("top/training"));
  CHECK(gui.shows("step 3"));
  gui.click("top/training/play");
  for (int i = 0; i < 2000 && gui.state().train.run.status.step == 3; ++i) {
    gui.shell().poll();
    gui.frame();
  }
  CHECK(gui.state().train.run.status.step > 3);
  gui.click("top/training/play");
  gui.click("top/training");
  CHECK(gui.state().session.mode == Mode::kTrain);
}

TEST_CASE("model settings: the width steps by the heads, so that it always divides") {
  Gui gui(small_document(1, 4, 64));
  gui.push(DoCommand{Command::kToggleModel});
  gui.frame(2);
  for (const int width : {68, 72}) {
    gui.click("model/d_model/more");
    CHECK(gui.config().d_model == width);
    CHECK(gui.notices() == "");
  }
  gui.click("model/d_model/less");
  CHECK(gui.config().d_model == 68);
}

TEST_CASE("model settings: heads that rotary positions cannot turn are refused, or stepped over") {
  Gui gui(small_document(1, 4, 64));
  Config c = gui.config();
  c.positions = PositionKind::kRotary;
  c.d_head = 3;
  gui.push(DoEdit{SetConfig{c}, ""});
  CHECK(gui.notices_say("rotary"));
  gui.push(DoCommand{Command::kToggleModel});
  gui.frame(2);
  for (const int width : {4, 6}) {
    gui.click("model/d_head/more");
    CHECK(gui.config().d_head == width);
    CHECK(gui.notices() == "");
  }
  c.d_head = 0;
  gui.push(DoEdit{SetConfig{c}, ""});
  gui.frame(2);
  gui.click("model/d_model/more");
  CHECK(gui.config().d_model == 72);
  CHECK(gui.notices() == "");
}

TEST_CASE("an empty sentence leaves no pictures of the old one in the rail") {
  Gui gui(small_document());
  const std::size_t pictures = gui.heatmaps().drawn().size();
  REQUIRE(pictures > 5);
  gui.push(DoEdit{SetSentence{""}, ""});
  const DrawnControl rail = gui.rect("panel/rail");
  const auto in_rail = std::count_if(
      gui.heatmaps().drawn().begin(), gui.heatmaps().drawn().end(), [&](const DrawnHeatmap& h) {
        return h.quad.x0 >= rail.min.x && h.quad.x1 <= rail.max.x && h.quad.y0 >= rail.min.y;
      });
  CHECK(in_rail == 0);
}

}  // namespace headlight::test
