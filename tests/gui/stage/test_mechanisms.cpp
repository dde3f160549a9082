// The pages of today's mechanisms: arrows that turn by the operation's angles, heads that share
// keys and values, the gate's row; what is drawn is the trace's, and a click leads to its cell.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "app/ui/stage/stage_motion.h"
#include "core/base/number_text.h"
#include "core/explain/explain.h"
#include "core/explain/steps.h"
#include "core/view/row_detail.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

const char *const kTurned = "blocks.0.attn.rot_q", *const kGate = "blocks.0.mlp.post";

// Like Llama: root mean squares, rotary positions, shared heads, a gate.
Document modern(int heads = 4, int kv_heads = 2, int d_model = 32) {
  Document document = small_document(1, heads, d_model);
  document.sentence = "The animal did not cross the street because it was tired";
  document.config.kv_heads = kv_heads;
  document.config.positions = PositionKind::kRotary;
  document.config.norm = NormKind::kRms;
  document.config.activation = Activation::kSwiglu;
  return document;
}

struct Drawn {
  ImVec2 from, to;
  double x() const { return to.x - from.x; }
  double y() const { return from.y - to.y; }
};

// The arrows that start in this control: before and after.
std::vector<Drawn> arrows(const Gui& gui, const std::string& id) {
  const DrawnControl r = gui.rect(id);
  std::vector<Drawn> found;
  for (const DrawnMark& m : gui.drawn().marks()) {
    const bool inside =
        m.min.x > r.min.x && m.min.x < r.max.x && m.min.y > r.min.y && m.min.y < r.max.y;
    if (m.kind == DrawnMark::Kind::kArrow && inside) found.push_back({m.min, m.max});
  }
  return found;
}

std::vector<std::string> ids_with(const Gui& gui, const std::string& prefix) {
  std::vector<std::string> ids;
  for (const auto& control : gui.drawn().all()) {
    const std::string& id = control.first;
    const bool digit = id.size() > prefix.size() && std::isdigit(id[prefix.size()]) != 0;
    if (id.starts_with(prefix) && digit) ids.push_back(id);
  }
  return ids;
}

double angle_of(const Gui& gui, const CellPick& cell) {
  const Trace& trace = gui.trace();
  const Explanation e = explain(trace, trace.program().require(cell.tensor), cell.index);
  for (const Quantity& q : e.quantities) {
    if (q.name == "angle") return q.value;
  }
  FAIL("no angle");
  return 0;
}

double wrapped(double angle) { return std::remainder(angle, 2 * std::numbers::pi); }

// One circle: its two arrows are the trace's numbers in one scale, and as far apart as the
// operation explains.
void check_dial(const Gui& gui, const std::string& id, std::int64_t row, const OpPair& pair,
                double& scale) {
  CAPTURE(id);
  const std::vector<Drawn> drawn = arrows(gui, id);
  REQUIRE(drawn.size() == 2);
  const std::int64_t head = gui.state().session.head;
  const char* const names[] = {"blocks.0.attn.q", kTurned};
  for (std::size_t i = 0; i < 2; ++i) {
    const TensorView t = gui.tensor(names[i]);
    const std::vector<std::int64_t> first = {0, head, row, pair.first},
                                    second = {0, head, row, pair.second};
    const double a = t.at(first), b = t.at(second);
    if (scale == 0) scale = std::hypot(drawn[i].x(), drawn[i].y()) / std::hypot(a, b);
    CHECK(drawn[i].x() == doctest::Approx(a * scale).epsilon(0.001).scale(10));
    CHECK(drawn[i].y() == doctest::Approx(b * scale).epsilon(0.001).scale(10));
  }
  const double from = std::atan2(drawn[0].y(), drawn[0].x()),
               to = std::atan2(drawn[1].y(), drawn[1].x());
  const double angle = angle_of(gui, {kTurned, {0, head, row, pair.first}});
  CHECK(std::fabs(wrapped(to - from - angle)) < 0.01);
  CHECK(pair.angle == angle);
}

const Step& shown_step(const Gui& gui) {
  const Program& program = gui.trace().program();
  return program
      .steps[static_cast<std::size_t>(program.step_of(program.require(gui.state().session.step)))];
}

std::vector<TurnedPair> pairs_of_row(const Gui& gui, std::int64_t row) {
  const Step& step = shown_step(gui);
  return open_pairs(gui.trace(), step, step_page(gui.trace(), step, gui.state().session.head), row);
}

std::vector<Document> rotations() {
  std::vector<Document> all(3, modern());
  all[1].config.rotary = RotaryPairs::kInterleaved;
  all[2].config.rotary_width = 4;
  all[2].config.rotary_base = 50;
  return all;
}

}  // namespace

TEST_CASE("rotary page: the arrows are the trace's numbers, the angles the operation's") {
  for (const Document& document : rotations()) {
    Gui gui(document, {1920, 1080});
    gui.push(GoToStep{kTurned});
    gui.push(ChooseHead{3});
    for (const std::int64_t row : {0, 1, 7, 10}) {
      CAPTURE(row);
      gui.push(PickCell{{kTurned, {0, 3, row, 2}}});
      gui.frame(2);
      const std::vector<TurnedPair> pairs = pairs_of_row(gui, row);
      CHECK(ids_with(gui, "pair/").size() == pairs.size());
      double scale = 0, scale_at = 0;
      for (std::size_t i = 0; i < pairs.size(); ++i)
        check_dial(gui, "pair/" + std::to_string(i), row, pairs[i].pair, scale);
      std::size_t chosen = 0;
      while (pairs[chosen].pair.first != 2 && pairs[chosen].pair.second != 2) ++chosen;
      CHECK(ids_with(gui, "pair/at/").size() == 11);
      for (std::int64_t at = 0; at < 11; ++at)
        check_dial(gui, "pair/at/" + std::to_string(at), at, pairs_of_row(gui, at)[chosen].pair,
                   scale_at);
      const TurnedPair& p = pairs[chosen];
      CHECK(gui.shows(": (" + number_text(p.before[0], 3) + ", " + number_text(p.before[1], 3) +
                      ") turns by " + number_text(p.pair.angle, 4) + " rad to (" +
                      number_text(p.after[0], 3) + ", " + number_text(p.after[1], 3) + ")"));
    }
  }
}

TEST_CASE("rotary page: a click on a circle picks its cell, both cells of the pair are marked") {
  Gui gui(modern(), {1920, 1080});
  gui.push(GoToStep{kTurned});
  gui.push(PickCell{{kTurned, {0, 0, 5, 0}}});
  gui.frame(2);
  gui.click("pair/3");
  CHECK(gui.state().session.picked == CellPick{kTurned, {0, 0, 5, 3}});
  gui.click("pair/at/8");
  CHECK(gui.state().session.picked == CellPick{kTurned, {0, 0, 8, 3}});
  gui.hover("pair/2");
  gui.frame(2);
  CHECK(gui.state().session.hovered == CellPick{kTurned, {0, 0, 8, 2}});
  const char* const panes[] = {"pane/0/blocks.0.attn.q", "pane/1/blocks.0.attn.rot_q"};
  for (const char* pane : panes) {
    for (const std::int64_t feature : {2, 6}) {
      const ImVec2 at = gui.cell_center(pane, 8, feature);
      const auto& marks = gui.drawn().marks();
      CHECK(std::ranges::any_of(marks, [&](const DrawnMark& m) {
        return m.kind == DrawnMark::Kind::kCell && m.min.x < at.x && at.x < m.max.x &&
               m.min.y < at.y && at.y < m.max.y;
      }));
    }
  }
}

TEST_CASE("rotary page: what does not turn is said, and many pairs are shown in part") {
  Document part = modern(2, 2, 32);
  part.config.rotary_width = 4;
  Gui gui(part, {1920, 1080});
  gui.push(GoToStep{kTurned});
  gui.push(PickCell{{kTurned, {0, 0, 5, 12}}});
  gui.frame(2);
  CHECK(gui.shows("feature 12 does not turn"));
  CHECK(gui.shows("12 of 16 features"));
  Document wide = modern(1, 1, 128);
  wide.sentence.clear();
  for (int i = 0; i < 60; ++i) wide.sentence += "w" + std::to_string(i) + " ";
  Gui large(wide, {1280, 720});
  large.push(GoToStep{kTurned});
  large.push(PickCell{{kTurned, {0, 0, 40, 100}}});
  large.frame(2);
  REQUIRE(large.has("pair/36"));  // 36 and 36 + 64
  REQUIRE(large.has("pair/at/40"));
  CHECK(ids_with(large, "pair/").size() < 20);
  CHECK(large.shows("of 64"));
  CHECK(large.shows("of 60"));
}

TEST_CASE("rotary page: a pair with a NaN says so, and the others keep their scale") {
  Gui gui(modern(), {1920, 1080});
  gui.push(GoToStep{kTurned});
  gui.push(PickCell{{kTurned, {0, 0, 5, 0}}});
  const std::vector<std::int64_t> cell = {0, 0, 5, 1};
  const TensorView t = gui.tensor("blocks.0.attn.q");
  const_cast<float*>(t.data)[flat_index(t.axes, cell)] = NAN;
  gui.frame(2);
  CHECK(arrows(gui, "pair/1").empty());
  const DrawnControl r = gui.rect("pair/1");
  CHECK(std::ranges::any_of(gui.texts(), [&](const DrawnText& text) {
    return text.words == "NaN" && text.min.x > r.min.x && text.max.x < r.max.x;
  }));
  double scale = 0;
  for (const std::size_t i : {0, 2, 3})
    check_dial(gui, "pair/" + std::to_string(i), 5, pairs_of_row(gui, 5)[i].pair, scale);
}

TEST_CASE("rotary page: the step's sentence says the angle of the run") {
  Document document = modern();
  document.config.rotary_base = 50;
  Gui gui(document, {1920, 1080});
  for (const char* name : {kTurned, "blocks.0.attn.rot_k"}) {
    gui.push(GoToStep{name});
    gui.frame();
    for (const std::int64_t row : {0, 4, 10}) {
      const std::string angle = number_text(pairs_of_row(gui, row)[0].pair.angle, 3);
      const std::string said =
          step_sentence(Language::kEnglish, gui.trace(), shown_step(gui), 3, row);
      CHECK(said.ends_with(", by " + angle + " radians."));
    }
  }
}

TEST_CASE("rotary page: while the result is made, the arrows of a row turn") {
  Gui gui(modern(), {1920, 1080});
  gui.push(GoToStep{kTurned});
  gui.push(PickCell{{kTurned, {0, 0, 10, 0}}});
  gui.frame(2);
  const MotionSize size = *shown_motion_size(gui.state());
  const double whole = motion_length(size), rest = motion_begin(size, MotionPhase::kRest);
  std::vector<double> turned;  // of the second row, by the whole angle: 1 radian
  for (int i = 0; i < 200; ++i) {
    gui.push(ScrubTo{(rest + (whole - rest) * i / 200) / whole});
    gui.frame();
    const Motion m = *shown_motion(gui.state());
    const std::vector<Drawn> drawn = arrows(gui, "pair/at/1");
    REQUIRE(drawn.size() == 2);
    turned.push_back(
        wrapped(std::atan2(drawn[1].y(), drawn[1].x()) - std::atan2(drawn[0].y(), drawn[0].x())));
    const double part = std::clamp(m.rows_done - 1, 0.0, 1.0);
    CHECK(turned.back() == doctest::Approx(part).epsilon(0.02));
  }
  CHECK(std::ranges::is_sorted(turned, [](double a, double b) { return a < b - 1e-3; }));
  CHECK(std::ranges::count_if(turned, [](double t) { return t > 0.05 && t < 0.95; }) > 5);
}

TEST_CASE("shared heads: the picture joins each head of queries to its own, a click chooses it") {
  Gui gui(modern(), {1920, 1080});
  int pages = 0;
  for (const std::string& step : step_names(gui.trace().program())) {
    CAPTURE(step);
    gui.push(GoToStep{step});
    gui.frame(2);
    const StepPage page = step_page(gui.trace(), shown_step(gui), 0);
    CHECK(gui.has("share") == (page.kv_heads > 0 && page.layout == Layout::kProduct));
    if (!gui.has("share")) continue;
    ++pages;
    // Where all heads stand side by side, the title names none.
    const bool names_head = page.lines.back().back().pane.head_columns == 0;
    gui.push(ChooseHead{0});
    gui.frame(2);
    CHECK(gui.shows("key/value head 0") == names_head);
    gui.click("share/query/3");
    CHECK(gui.state().session.head == 3);
    gui.frame(2);
    CHECK(gui.shows("key/value head 1") == names_head);
    gui.click("share/key/1");  // its own already
    CHECK(gui.state().session.head == 3);
    gui.click("share/query/1");
    gui.frame(2);
    CHECK(gui.shows("key/value head 0") == names_head);
    gui.click("share/key/1");
    CHECK(gui.state().session.head == 2);
    gui.click("share/key/0");
    CHECK(gui.state().session.head == 0);
    // Each stands over the middle of those that share it.
    gui.frame(2);
    const auto x = [&](const char* id) { return gui.rect(id).center().x; };
    CHECK(x("share/key/0") == doctest::Approx((x("share/query/0") + x("share/query/1")) / 2));
    CHECK(x("share/key/1") == doctest::Approx((x("share/query/2") + x("share/query/3")) / 2));
  }
  CHECK(pages == 4);  // keys, values, scores, weighted sum
}

TEST_CASE("shared heads: of many heads the part with the chosen one, of one for each no picture") {
  Gui many(modern(32, 8, 128), {1280, 720});
  many.push(GoToStep{"blocks.0.attn.scores_raw"});
  many.push(ChooseHead{21});
  many.frame(2);
  REQUIRE(many.has("share/query/21"));
  CHECK(many.has("share/key/5"));
  CHECK_FALSE(many.has("share/query/0"));
  CHECK(many.shows("of 32"));
  Gui plain(modern(4, 0), {1920, 1080});
  for (const std::string& step : step_names(plain.trace().program())) {
    plain.push(GoToStep{step});
    plain.frame();
    CHECK_FALSE(plain.has("share"));
  }
}

TEST_CASE("gate: the opened row prints the gate, what it multiplies, and the product") {
  Gui gui(modern(), {1920, 1080});
  gui.push(GoToStep{kGate});
  gui.push(PickCell{{kGate, {0, 6, 5}}});
  gui.frame(2);
  const auto opened = open_row(gui.trace(), shown_step(gui), 0, 6, 5);
  REQUIRE(opened);
  const char* const names[] = {"blocks.0.mlp.act", "blocks.0.mlp.pre_linear", kGate};
  for (std::size_t l = 0; l < 3; ++l) {
    CHECK(gui.shows(std::array{"gate", "× u", "= h"}[l]));
    const std::vector<std::int64_t> cell = {0, 6, 5};
    const double value = gui.tensor(names[l]).at(cell);
    CHECK(opened->row.lines[l].values[5] == value);
    const DrawnControl r = gui.rect("detail/5");
    const std::string words = number_text(value, 4);
    CHECK(std::ranges::any_of(gui.texts(), [&](const DrawnText& t) {
      return t.min.x >= r.min.x - 1 && t.max.x <= r.max.x + 1 && t.min.y >= r.min.y &&
             t.words == words;
    }));
  }
}

TEST_CASE("mechanisms: nothing is cut, overlaps, or stands without its words") {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    for (const bool part : {false, true}) {
      Document document = modern(4, 2, 64);
      document.config.rotary_width = part ? 4 : 0;
      Gui gui(document);
      gui.push(ChooseLanguage{language});
      int shown = 0;
      for (const ImVec2 size :
           {ImVec2{1280, 720}, ImVec2{1440, 900}, ImVec2{1920, 1080}, ImVec2{2560, 1440}}) {
        gui.set_size(size.x, size.y);
        CAPTURE(size.x);
        for (const std::string& step : step_names(gui.trace().program())) {
          CAPTURE(step);
          gui.push(GoToStep{step});
          gui.frame(2);
          for (const CutText& text : gui.drawn().cut_texts()) FAIL_CHECK(text.text);
          for (const DrawnText& t : gui.texts()) {
            CAPTURE(t.words);
            CHECK_FALSE(t.words.starts_with("stage."));
          }
          if (ids_with(gui, "pair/").empty() && !gui.has("share")) continue;
          ++shown;
          std::vector<DrawnControl> apart;
          for (const auto& control : gui.drawn().all()) {
            const std::string& id = control.first;
            if (id.starts_with("pair/") || id.starts_with("pane/") || id == "share")
              apart.push_back(control.second);
          }
          for (std::size_t i = 0; i < apart.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
              const DrawnControl &a = apart[i], &b = apart[j];
              const bool meet = a.min.x < b.max.x - 1 && b.min.x < a.max.x - 1 &&
                                a.min.y < b.max.y - 1 && b.min.y < a.max.y - 1;
              CHECK_FALSE(meet);
            }
          }
        }
      }
      // Rotated queries and keys, and four products. In English the words of the values take two
      // lines at 1280 x 720, which leaves the picture no room.
      CHECK(shown == 4 * 6 - (language == Language::kEnglish ? 1 : 0));
    }
  }
}

}  // namespace headlight::test
