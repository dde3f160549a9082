// Motion: each way through a step by its control and by its key; what is written while a step is
// played is the trace's.
#include <algorithm>
#include <cmath>

#include "app/ui/stage/motion_card.h"
#include "app/ui/stage/stage_motion.h"
#include "app/ui/state/commands.h"
#include "core/base/number_text.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

const Playback& playback(const Gui& gui) { return gui.state().session.playback; }

double length(const Gui& gui) { return motion_length(*shown_motion_size(gui.state())); }

void go_to(Gui& gui, const std::string& step) { gui.push(GoToStep{step}); }

// As if that much time went by; a frame may not carry more than a tenth of a second.
void wait_for(Gui& gui, double seconds) {
  for (double left = seconds; left > 1e-9; left -= 0.1) gui.shell().push(Tick{std::min(left, 0.1)});
  gui.shell().apply();
}

// Drags the knob to a part of the track.
ImVec2 on_track(const Gui& gui, float part) {
  const DrawnControl r = gui.rect("motion/track");
  const float inset = 6;
  return {r.min.x + inset + (r.max.x - r.min.x - 2 * inset) * part, r.center().y};
}

bool inside(const DrawnText& t, const DrawnControl& r) {
  return t.min.x >= r.min.x - 1 && t.max.x <= r.max.x + 1 && t.min.y >= r.min.y - 1 &&
         t.max.y <= r.max.y + 1;
}

std::string without_spaces(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ') out += c;
  }
  return out;
}

// Do these words stand in this control?
bool says(Gui& gui, std::string_view id, const std::string& words) {
  const DrawnControl r = gui.rect(id);
  for (const DrawnText& t : gui.texts()) {
    if (inside(t, r) && t.words == without_spaces(words)) return true;
  }
  return false;
}

Document words(const std::string& sentence) {
  Document document = small_document(1, 2, 8);
  document.sentence = sentence;
  return document;
}

StepPage shown_page(const Gui& gui) {
  const Program& program = gui.trace().program();
  const int step = program.step_of(program.find(gui.state().session.step));
  return step_page(gui.trace(), program.steps[static_cast<std::size_t>(step)],
                   gui.state().session.head);
}

}  // namespace

TEST_CASE("motion: Space plays and pauses, and so does the button") {
  Gui gui(words("a b c"));
  CHECK_FALSE(playback(gui).shown);
  gui.key({kKeySpace});
  CHECK(playback(gui).playing);
  CHECK(playback(gui).shown);
  const double before = playback(gui).clock;
  gui.frame(30);
  CHECK(playback(gui).clock == doctest::Approx(before + 0.5));
  gui.key({kKeySpace});
  CHECK_FALSE(playback(gui).playing);
  const double paused = playback(gui).clock;
  gui.frame(30);
  CHECK(playback(gui).clock == paused);
  CHECK(playback(gui).shown);
  gui.click("motion/play");
  CHECK(playback(gui).playing);
  CHECK(playback(gui).clock >= paused);  // from where it stood
  gui.click("motion/play");
  CHECK_FALSE(playback(gui).playing);
}

TEST_CASE("motion: in the sentence a space is a space, a dot a dot") {
  Gui gui(words("a b c"));
  gui.ctrl('L');
  gui.edit_key({ImGuiKey_End});
  gui.type(" d . ,");
  gui.key({kKeySpace});
  gui.key({'.'});
  CHECK(gui.document().sentence.substr(0, 11) == "a b c d . ,");
  CHECK_FALSE(playback(gui).playing);
  CHECK(playback(gui).speed == 1);
  gui.key({kKeyEscape});
  gui.frame(3);
  gui.key({kKeySpace});
  CHECK(playback(gui).playing);
}

TEST_CASE("motion: dragging the knob sets the clock, and is the same as playing to there") {
  Gui gui(words("a b c d"));
  go_to(gui, "blocks.0.attn.scores_raw");
  for (const float part : {0.25f, 0.5f, 0.8f, 0.1f}) {
    CAPTURE(part);
    gui.move_to(on_track(gui, 0.4f));
    gui.press(true);
    gui.move_to(on_track(gui, part));
    gui.frame(2);
    gui.press(false);
    CHECK(playback(gui).shown);
    CHECK_FALSE(playback(gui).playing);
    const double clock = playback(gui).clock;
    CHECK(clock == doctest::Approx(static_cast<double>(part) * length(gui)).epsilon(0.02));
    gui.move_to({2, 2});
    gui.frame(2);
    const Motion scrubbed = *shown_motion(gui.state());
    Gui other(words("a b c d"));
    go_to(other, "blocks.0.attn.scores_raw");
    other.shell().push(DoCommand{Command::kPlay});
    other.shell().apply();
    wait_for(other, clock);
    CHECK(playback(other).clock == doctest::Approx(clock));
    other.shell().push(ScrubTo{playback(gui).clock / length(gui)});
    other.shell().apply();
    CHECK(*shown_motion(other.state()) == scrubbed);
  }
  // To the very end: the finished step.
  gui.move_to(on_track(gui, 0.4f));
  gui.press(true);
  gui.move_to(on_track(gui, 1.2f));
  gui.frame(2);
  gui.press(false);
  CHECK_FALSE(playback(gui).shown);
}

TEST_CASE("motion: holding the knob while it plays keeps the clock under the mouse") {
  Gui gui(words("a b c d"));
  gui.key({kKeySpace});
  gui.move_to(on_track(gui, 0.5f));
  gui.press(true);
  gui.frame(40);
  CHECK(playback(gui).playing);
  CHECK(playback(gui).clock == doctest::Approx(0.5 * length(gui)).epsilon(0.03));
  gui.press(false);
  const double before = playback(gui).clock;
  gui.frame(20);
  CHECK(playback(gui).clock > before + 0.2);
}

TEST_CASE("motion: five speeds by click and by key, and they act") {
  Gui gui(words("a b c"));
  const float speeds[] = {2, 4, 0.25f, 0.5f, 1};
  for (const float speed : speeds) {
    gui.click("motion/speed");
    CHECK(playback(gui).speed == speed);
  }
  gui.key({'.'});
  CHECK(playback(gui).speed == 2);
  gui.key({'.'});
  gui.key({'.'});
  CHECK(playback(gui).speed == 4);
  CHECK(says(gui, "motion/speed", "4×"));
  for (int i = 0; i < 6; ++i) gui.key({','});
  CHECK(playback(gui).speed == 0.25f);
  CHECK(says(gui, "motion/speed", "0.25×"));
  for (const float speed : kSpeeds) {
    gui.push(SetSpeed{speed});
    gui.shell().push(DoCommand{Command::kRestartStep});
    gui.shell().apply();
    wait_for(gui, 1);
    CHECK(playback(gui).clock == doctest::Approx(static_cast<double>(speed)));
  }
}

TEST_CASE("motion: restart goes to the beginning, skip to the end") {
  Gui gui(words("a b c"));
  go_to(gui, "blocks.0.attn.q");
  gui.key({kKeySpace});
  wait_for(gui, 3);
  gui.click("motion/restart");
  CHECK(playback(gui).playing);
  CHECK(playback(gui).clock < 0.2);
  gui.key({kKeyEnd});
  CHECK(shown_motion(gui.state())->phase == MotionPhase::kDone);
  CHECK(playback(gui).playing);  // the film goes on after a moment
  gui.key({kKeyHome});
  CHECK(playback(gui).clock < 0.2);
  gui.key({kKeySpace});
  gui.click("motion/skip");
  CHECK_FALSE(playback(gui).playing);
  CHECK_FALSE(playback(gui).shown);
  CHECK(gui.state().session.step == "blocks.0.attn.q");
}

TEST_CASE("motion: a film goes on from step to step and stops at the last") {
  Gui gui(words("a b"));
  const std::vector<std::string> names = step_names(gui.trace().program());
  go_to(gui, names[0]);
  gui.shell().push(DoCommand{Command::kPlay});
  gui.shell().apply();
  for (std::size_t i = 0; i < names.size(); ++i) {
    REQUIRE(gui.state().session.step == names[i]);
    CHECK(playback(gui).playing);
    CHECK(playback(gui).clock < 0.002);  // what was waited too long
    const double whole = length(gui);
    wait_for(gui, whole + 0.5 * kMotionHold);
    CHECK(gui.state().session.step == names[i]);  // held for a moment
    CHECK(shown_motion(gui.state())->phase == MotionPhase::kDone);
    wait_for(gui, 0.5 * kMotionHold + 0.001);
  }
  CHECK(gui.state().session.step == names.back());
  CHECK_FALSE(playback(gui).playing);
  CHECK_FALSE(playback(gui).shown);
}

TEST_CASE(
    "motion: another step starts its own clock; a paused one gives way to the finished page") {
  Gui gui(words("a b c"));
  gui.key({kKeySpace});
  wait_for(gui, 2);
  gui.key({kKeyRight});
  CHECK(playback(gui).playing);
  CHECK(playback(gui).clock < 0.2);
  gui.key({kKeySpace});
  CHECK(playback(gui).shown);
  gui.click("step/next");
  CHECK_FALSE(playback(gui).shown);
  gui.click("step/previous");
  CHECK_FALSE(playback(gui).shown);
}

TEST_CASE("motion: typing and switching while it plays") {
  Gui gui(words("a b c"));
  go_to(gui, "blocks.0.attn.scores_masked");
  gui.key({kKeySpace});
  wait_for(gui, 3);
  gui.push(DoEdit{SetSentence{"a b c d e f g h"}, ""});
  CHECK(playback(gui).playing);
  CHECK(playback(gui).clock > 2.9);
  gui.key({'M'});  // no mask: the step is no more
  CHECK_FALSE(gui.trace().find("blocks.0.attn.scores_masked").data);
  CHECK_FALSE(playback(gui).playing);
  CHECK_FALSE(playback(gui).shown);
  gui.key({kKeySpace});
  gui.push(DoEdit{SetSentence{""}, ""});
  gui.frame(2);
  CHECK_FALSE(playback(gui).playing);  // nothing is left to play
  gui.key({kKeySpace});
  CHECK_FALSE(playback(gui).playing);
}

TEST_CASE("motion: at its end a step looks like the finished one") {
  Gui gui(words("The animal did not cross"));
  for (const std::string& name : step_names(gui.trace().program())) {
    CAPTURE(name);
    go_to(gui, name);
    gui.move_to({2, 2});
    gui.frame(2);
    const DrawnControl stage = gui.rect("panel/stage"), bar = gui.rect("motion/track");
    const auto seen = [&] {
      std::vector<std::string> all;
      for (const DrawnText& t : gui.texts()) {
        if (inside(t, stage) && t.max.y < bar.min.y) all.push_back(t.words);
      }
      std::sort(all.begin(), all.end());
      return all;
    };
    const std::vector<std::string> finished = seen();
    gui.push(ScrubTo{0.6});
    CHECK(playback(gui).shown);
    gui.shell().push(DoCommand{Command::kPlay});
    gui.shell().push(ScrubTo{1});
    gui.frame(2);
    CHECK(playback(gui).shown);
    CHECK(seen() == finished);
    gui.key({kKeySpace});
    gui.key({kKeyEnd});
  }
}

TEST_CASE("motion: the first cell's sum ends at the cell's own number, at every step") {
  std::vector<Document> documents = {words("The animal did not cross"), words("one")};
  documents.push_back(words("a b c"));
  documents.back().config.scores = ScoreKind::kAdditive;
  documents.back().config.positions = PositionKind::kLearned;
  documents.back().config.activation = Activation::kRelu;
  documents.back().config.block = BlockKind::kPostNorm;
  int told = 0;
  for (const Document& document : documents) {
    Gui gui(document, {1920, 1080});
    for (const std::string& name : step_names(gui.trace().program())) {
      CAPTURE(name);
      go_to(gui, name);
      const StepPage page = shown_page(gui);
      if (page.lines.empty()) continue;
      const MotionSize size = *shown_motion_size(gui.state());
      const Telling t = tell_cell(gui.trace(), page, 0, 0);
      // While it fills the cell's number stands there.
      const double whole = motion_length(size);
      gui.push(ScrubTo{(motion_begin(size, MotionPhase::kFill) + 0.01) / whole});
      REQUIRE(gui.has("motion/card"));
      CHECK(says(gui, "motion/card", number_text(t.cell.value)));
      ++told;
      if (size.terms < 2) continue;
      // In the middle of the sum the partial sum of the real terms.
      const double at =
          motion_begin(size, MotionPhase::kSum) +
          0.5 * (motion_begin(size, MotionPhase::kFill) - motion_begin(size, MotionPhase::kSum));
      gui.push(ScrubTo{at / whole});
      const auto n = static_cast<std::size_t>(motion_at(size, at).terms_summed);
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const Term& term = t.cell.terms[t.lines[i]];
        sum += t.exponentials ? *term.inner : term.product();
      }
      CHECK(says(gui, "motion/card", number_text(sum)));
    }
  }
  CHECK(told > 40);
}

TEST_CASE("motion: what is not made yet is covered, the arithmetic covers no operand") {
  for (const ImVec2 size : {ImVec2{1280, 720}, ImVec2{1920, 1080}}) {
    Gui gui(words("The animal did not cross the street"), size);
    for (const std::string& name : step_names(gui.trace().program())) {
      CAPTURE(name);
      go_to(gui, name);
      const StepPage page = shown_page(gui);
      if (page.lines.empty()) continue;
      gui.move_to({2, 2});
      const MotionSize motion = *shown_motion_size(gui.state());
      gui.push(ScrubTo{(motion_begin(motion, MotionPhase::kFill) - 0.01) / motion_length(motion)});
      if (!gui.has("motion/card")) continue;
      const DrawnControl card = gui.rect("motion/card");
      const DrawnControl stage = gui.rect("panel/stage");
      CHECK(card.max.x <= stage.max.x);
      CHECK(card.max.y <= gui.rect("motion/track").min.y + 1);
      const std::string result(gui.trace().tensor(page.lines[0].back().tensor).name);
      for (const auto& [id, r] : gui.drawn().all()) {
        const std::string pane = id;
        CAPTURE(pane);
        if (!id.starts_with("pane/") || id.ends_with("/" + result)) continue;
        const bool apart = card.max.x <= r.min.x || r.max.x <= card.min.x ||
                           card.max.y <= r.min.y || r.max.y <= card.min.y;
        CHECK(apart);
      }
    }
  }
}

TEST_CASE("motion: the opened row is that of the cell in the making, as far as it is made") {
  Gui gui(words("The animal did not cross the street"), {1920, 1080});
  const std::string pattern = "blocks.0.attn.pattern";
  go_to(gui, pattern);
  gui.move_to({2, 2});
  const MotionSize size = *shown_motion_size(gui.state());
  const double whole = motion_length(size);
  const TensorView weights = gui.tensor(pattern);
  // A column holds the key, x, its exponential and, once it is made, the weight.
  const auto shows_weight = [&](std::int64_t row, std::int64_t column) {
    const std::string id = "detail/" + std::to_string(column);
    const std::vector<std::int64_t> index = {0, 0, row, column};
    const DrawnControl r = gui.rect(id);
    const auto texts = gui.texts();
    const auto count =
        std::count_if(texts.begin(), texts.end(), [&](const DrawnText& t) { return inside(t, r); });
    const auto written = [&](int digits) {  // as many as the column has room for
      return says(gui, id, number_text(weights.at(index), digits));
    };
    return count == 4 && (written(4) || written(3) || written(2));
  };
  gui.push(ScrubTo{(motion_begin(size, MotionPhase::kFill) - 0.01) / whole});
  CHECK(gui.shows("Row “The”"));
  CHECK_FALSE(shows_weight(0, 0));
  int rows_seen = 0;
  std::int64_t last_row = -1;
  for (double at = motion_begin(size, MotionPhase::kRest) + 0.01; at < whole; at += whole / 40) {
    gui.push(ScrubTo{at / whole});
    const Motion m = *shown_motion(gui.state());
    if (m.phase != MotionPhase::kRest || m.cells_done == 0) continue;
    rows_seen += m.row != last_row;
    last_row = m.row;
    const std::int64_t made = m.cells_done - m.row * size.columns;
    for (std::int64_t c = 0; c < size.columns; ++c) {
      CAPTURE(m.row);
      CAPTURE(c);
      CHECK(shows_weight(m.row, c) == (c < made));
    }
  }
  CHECK(rows_seen > 3);
  gui.push(ScrubTo{1});
  CHECK(gui.shows("Row “street”"));  // the picked cell's again
}

TEST_CASE("motion: the tokens come one after another") {
  Gui gui(words("a b c d e"));
  const std::vector<std::string> names = step_names(gui.trace().program());
  go_to(gui, names[0]);
  const auto chips = [&] {
    int count = 0;
    for (int t = 0; t < 5; ++t) count += gui.has("token/" + std::to_string(t)) ? 1 : 0;
    return count;
  };
  CHECK(chips() == 5);
  gui.push(ScrubTo{0});
  CHECK(chips() == 0);
  int before = 0;
  for (double part = 0; part < 1; part += 0.02) {
    gui.push(ScrubTo{part});
    CHECK(chips() >= before);
    CHECK(chips() <= before + 1);
    before = chips();
  }
  gui.push(ScrubTo{1});
  CHECK(chips() == 5);
}

TEST_CASE("motion: free places touch no obstacle") {
  const Rect area{0, 0, 400, 300};
  const std::vector<Rect> obstacles = {{100, 100, 200, 150}, {0, 250, 400, 260}, {350, 0, 360, 90}};
  const std::vector<Rect> places = free_places(area, obstacles);
  CHECK_FALSE(places.empty());
  for (const Rect& r : places) {
    CHECK(r.x0 >= 0);
    CHECK(r.y1 <= 300);
    for (const Rect& o : obstacles) {
      const bool apart = r.x1 <= o.x0 || o.x1 <= r.x0 || r.y1 <= o.y0 || o.y1 <= r.y0;
      CHECK(apart);
    }
  }
  CHECK(free_places(area, {{-1, -1, 401, 301}}).empty());
}

// ---- hover ----

TEST_CASE(
    "hover: a cell of a head's picture lights the stage within one frame, and the other way") {
  Gui gui(words("The animal did not cross"), {1440, 900});
  go_to(gui, "blocks.0.attn.pattern");
  const DrawnControl card = gui.rect("heads/1");
  const DrawnHeatmap* picture = nullptr;
  for (const DrawnHeatmap& h : gui.heatmaps().drawn()) {
    if (h.quad.x0 >= card.min.x && h.quad.x1 <= card.max.x && h.quad.y0 >= card.min.y &&
        h.quad.y1 <= card.max.y)
      picture = &h;
  }
  REQUIRE(picture);
  const ImVec2 at{picture->quad.x0 + (picture->quad.x1 - picture->quad.x0) * 0.3f,
                  picture->quad.y0 + (picture->quad.y1 - picture->quad.y0) * 0.9f};
  ImGui::GetIO().MousePos = at;
  gui.frame(1);  // one frame sees the mouse
  REQUIRE(gui.state().session.hovered);
  CHECK(gui.state().session.hovered->tensor == "blocks.0.attn.pattern");
  CHECK(gui.state().session.hovered->index == std::vector<std::int64_t>{0, 1, 4, 1});
  gui.move_to({2, 2});
  gui.frame(1);
  CHECK_FALSE(gui.state().session.hovered);  // gone with the mouse
}

}  // namespace headlight::test
