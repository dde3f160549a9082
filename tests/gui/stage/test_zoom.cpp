// Zooming into large matrices and moving over them: what is seen, what a point means, and that the
// document stays as it is.
#include <cmath>

#include "app/ui/matrix/axis_view.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

const char* const kPattern = "pane/1/blocks.0.attn.pattern";
const char* const kMasked = "pane/0/blocks.0.attn.scores_masked";

Document long_document(int tokens = 256) {
  Document document = small_document(2, 2, 32);
  document.sentence.clear();
  for (int i = 0; i < tokens; ++i) document.sentence += "word" + std::to_string(i % 50) + " ";
  return document;
}

// Rows or columns of a pane that are seen.
struct Seen {
  double row, rows, column, columns;
};
Seen seen(const Gui& gui, const std::string& id) {
  const DrawnHeatmap& d = gui.heatmap(id);
  const DrawnControl r = gui.rect(id);
  const HeatmapQuad& q = d.quad;
  const double w = (q.x1 - q.x0) / static_cast<double>(q.columns);
  const double h = (q.y1 - q.y0) / static_cast<double>(q.rows);
  return {(r.min.y - q.y0) / h, (r.max.y - r.min.y) / h, (r.min.x - q.x0) / w,
          (r.max.x - r.min.x) / w};
}

// The cell under a point by the picture that was drawn: what the shader colours there.
std::pair<std::int64_t, std::int64_t> drawn_cell(const Gui& gui, const std::string& id, ImVec2 at) {
  const HeatmapQuad& q = gui.heatmap(id).quad;
  const float w = (q.x1 - q.x0) / static_cast<float>(q.columns);
  const float h = (q.y1 - q.y0) / static_cast<float>(q.rows);
  return {static_cast<std::int64_t>(std::floor((at.y - q.y0) / h)),
          static_cast<std::int64_t>(std::floor((at.x - q.x0) / w))};
}

void drag(Gui& gui, ImVec2 from, ImVec2 to) {
  gui.move_to(from);
  gui.press(true);
  for (int i = 1; i <= 8; ++i) {
    const float t = static_cast<float>(i) / 8;
    gui.move_to({from.x + (to.x - from.x) * t, from.y + (to.y - from.y) * t});
  }
  gui.press(false);
  gui.frame(2);
}

void double_click(Gui& gui, ImVec2 at) {
  gui.move_to(at);
  for (const bool down : {true, false, true, false}) gui.press(down);
  gui.frame(2);
}

}  // namespace

TEST_CASE("zoom: an axis without room for its cells stays as it is") {
  const AxisWindow none{10, 0, 0, 0, 5};
  for (const AxisView& view : {zoomed(none, "token", {}, INFINITY, 1.25f, 10),
                               moved(none, "token", {2, 0.5f, "token"}, INFINITY, 3)}) {
    CHECK(std::isfinite(view.start));
    CHECK(std::isfinite(view.zoom));
    CHECK(look_at(none, "token", view, INFINITY).begin() == 0);
  }
}

TEST_CASE("zoom: pixels and cells lead to each other at any zoom") {
  for (const std::int64_t count : {std::int64_t{2}, std::int64_t{37}, std::int64_t{1024}}) {
    for (const float length : {90.0f, 300.0f, 1011.0f}) {
      const AxisWindow whole{13, length, length / static_cast<float>(count), 0, count};
      for (const float zoom : {1.0f, 1.7f, 8.0f, 200.0f}) {
        for (const float start : {-1.0f, 0.0f, 0.31f, 0.999f}) {
          const float most = std::max(1.0f, 44 / whole.cell);
          const AxisWindow w = look_at(whole, "token", {zoom, start, "token"}, most);
          CAPTURE(count);
          CAPTURE(length);
          CAPTURE(zoom);
          CAPTURE(start);
          CHECK(w.length == length);
          CHECK(w.cell >= whole.cell);
          CHECK(w.cell <= std::max(44.0f, whole.cell));
          // The window stays full, and inside the axis.
          CHECK(w.first >= 0);
          CHECK(w.first + w.length / w.cell <= static_cast<float>(count) + 0.51f);
          REQUIRE(w.end() > w.begin());
          for (std::int64_t i = w.begin(); i < w.end(); ++i) {
            const float middle = w.center(i);
            if (middle < w.origin || middle >= w.origin + w.length) continue;
            CHECK(w.at(middle) == i);
          }
          CHECK_FALSE(w.at(w.origin - 1));
          CHECK_FALSE(w.at(w.origin + w.length));
          CHECK(look_at(whole, "token", {zoom, start, "d_head"}, most).cell == whole.cell);
        }
      }
    }
  }
}

TEST_CASE("zoom: the cell under the mouse stays there, small turns add up") {
  const AxisWindow whole{100, 300, 300.0f / 1024, 0, 1024};
  const float most = 44 / whole.cell;
  for (const float about : {100.0f, 187.0f, 250.0f, 399.0f}) {
    AxisView view;
    for (int i = 0; i < 30; ++i) {
      const AxisWindow before = look_at(whole, "token", view, most);
      const float cell = before.first + (about - 100) / before.cell;
      view = zoomed(whole, "token", view, most, 1.3f, about);
      const AxisWindow after = look_at(whole, "token", view, most);
      CHECK(after.cell >= before.cell);
      // Within a pixel.
      CHECK(std::abs(after.first + (about - 100) / after.cell - cell) <=
            1.01f / after.cell + 1e-3f);
    }
    CHECK(look_at(whole, "token", view, most).cell == 44);
    for (int i = 0; i < 200; ++i) view = zoomed(whole, "token", view, most, 0.95f, about);
    CHECK(look_at(whole, "token", view, most).sees_all());
    for (int i = 0; i < 200; ++i) view = zoomed(whole, "token", view, most, 1.02f, about);
    CHECK(look_at(whole, "token", view, most).cell > 10);
  }
}

TEST_CASE("zoom: the wheel zooms about the mouse, in every pane of the page") {
  Gui gui(long_document());
  gui.push(GoToStep{"blocks.0.attn.pattern"});
  const Document before = gui.document();
  const DrawnControl r = gui.rect(kPattern);
  const ImVec2 at{std::floor(r.min.x + (r.max.x - r.min.x) * 0.3f),
                  std::floor(r.min.y + (r.max.y - r.min.y) * 0.7f)};
  gui.move_to(at);
  REQUIRE(gui.state().session.hovered);
  const std::vector<std::int64_t> cell = gui.state().session.hovered->index;
  for (int i = 0; i < 30; ++i) gui.wheel(at, 1);
  CHECK(gui.document() == before);
  CHECK(gui.state().session.view != StageView{});
  // The place stays, the pane too; both panes show the same rows and columns.
  CHECK(gui.rect(kPattern).min.x == r.min.x);
  CHECK(gui.rect(kPattern).max.y == r.max.y);
  const Seen a = seen(gui, kPattern), b = seen(gui, kMasked);
  CHECK(a.rows < 12);
  CHECK(a.row == doctest::Approx(b.row));
  CHECK(a.rows == doctest::Approx(b.rows));
  CHECK(a.column == doctest::Approx(b.column));
  REQUIRE(gui.state().session.hovered);
  CHECK(std::abs(gui.state().session.hovered->index[2] - cell[2]) <= 1);
  CHECK(std::abs(gui.state().session.hovered->index[3] - cell[3]) <= 1);
  CHECK(gui.state().session.hovered->index[2] == drawn_cell(gui, kPattern, at).first);
  // A click picks what is drawn there.
  gui.click_at(at);
  const auto drawn = drawn_cell(gui, kPattern, at);
  REQUIRE(gui.state().session.picked);
  CHECK(gui.state().session.picked->index[2] == drawn.first);
  CHECK(gui.state().session.picked->index[3] == drawn.second);
  for (int i = 0; i < 60; ++i) gui.wheel(at, -1);
  CHECK(seen(gui, kPattern).rows == doctest::Approx(256));
}

TEST_CASE("zoom: a drag moves the matrix and picks nothing; all is shown again") {
  Gui gui(long_document());
  gui.push(GoToStep{"blocks.0.attn.pattern"});
  const ImVec2 at = gui.rect(kPattern).center();
  for (int i = 0; i < 8; ++i) gui.wheel(at, 1);
  const Seen before = seen(gui, kPattern);
  const auto picked = gui.state().session.picked;
  drag(gui, at, {at.x + 40, at.y - 24});
  const Seen after = seen(gui, kPattern);
  const double cell = (gui.rect(kPattern).max.x - gui.rect(kPattern).min.x) / before.columns;
  CHECK(before.column - after.column == doctest::Approx(40 / cell).epsilon(0.2));
  CHECK(after.row - before.row == doctest::Approx(24 / cell).epsilon(0.3));
  CHECK(gui.state().session.picked == picked);
  CHECK(after.rows == doctest::Approx(before.rows));
  drag(gui, at, {at.x + 4000, at.y + 4000});  // not beyond the corner
  CHECK(seen(gui, kPattern).row == doctest::Approx(0));
  CHECK(seen(gui, kPattern).column == doctest::Approx(0));
  SUBCASE("by double click") { double_click(gui, at); }
  SUBCASE("by key") { gui.key({'0', false, false}); }
  SUBCASE("by button") { gui.click("zoom/all"); }
  CHECK(gui.state().session.view == StageView{});
  CHECK(seen(gui, kPattern).rows == doctest::Approx(256));
}

TEST_CASE("zoom: buttons and keys zoom about the picked cell, Ctrl with arrows moves") {
  Gui gui(long_document());
  gui.push(GoToStep{"blocks.0.attn.pattern"});
  gui.push(PickCell{{"blocks.0.attn.pattern", {0, 1, 200, 60}}});
  gui.click("zoom/in");
  for (int i = 0; i < 4; ++i) gui.key({'=', false, false});
  const Seen in = seen(gui, kPattern);
  CHECK(in.rows < 100);
  CHECK(in.row <= 200);
  CHECK(in.row + in.rows > 200);
  CHECK(in.column <= 60);
  CHECK(in.column + in.columns > 60);
  gui.key({kKeyRight, true, false});
  CHECK(seen(gui, kPattern).column > in.column + 1);
  CHECK(seen(gui, kPattern).row == doctest::Approx(in.row));
  gui.key({kKeyUp, true, false});
  CHECK(seen(gui, kPattern).row < in.row - 1);
  CHECK(gui.state().session.step == "blocks.0.attn.pattern");
  gui.click("zoom/out");
  CHECK(seen(gui, kPattern).rows > in.rows);
  CHECK(gui.state().requests.view == ViewRequest{});
  // A cell that is chosen by keys comes into sight.
  gui.push(PickCell{{"blocks.0.attn.pattern", {0, 1, 5, 4}}});
  CHECK(seen(gui, kPattern).row > 6);
  gui.push(MoveCell{1, 0});
  gui.frame();
  CHECK(gui.state().session.picked->index[2] == 6);
  CHECK(seen(gui, kPattern).row <= 6);
  CHECK(seen(gui, kPattern).column <= 4);
}

TEST_CASE("zoom: a product keeps rows beside rows and columns below columns") {
  Gui gui(long_document());
  gui.push(GoToStep{"blocks.0.attn.scores_raw"});
  const std::string q = "pane/0/blocks.0.attn.q", k = "pane/1/blocks.0.attn.k",
                    s = "pane/2/blocks.0.attn.scores_raw";
  for (int i = 0; i < 9; ++i) gui.wheel(gui.rect(s).center(), 1);
  CHECK(seen(gui, s).rows < 60);
  CHECK(seen(gui, q).row == doctest::Approx(seen(gui, s).row));
  CHECK(seen(gui, q).rows == doctest::Approx(seen(gui, s).rows));
  CHECK(seen(gui, k).column == doctest::Approx(seen(gui, s).column));
  CHECK(seen(gui, k).columns == doctest::Approx(seen(gui, s).columns));
  CHECK(gui.rect(q).min.y == gui.rect(s).min.y);
  CHECK(seen(gui, q).columns == doctest::Approx(16));  // the summed axis is still whole
  // The next step of the same tokens keeps the place, another kind of axis is whole.
  const Seen here = seen(gui, s);
  gui.push(GoToStep{"blocks.0.attn.z"});
  CHECK(seen(gui, "pane/2/blocks.0.attn.z").row == doctest::Approx(here.row).epsilon(0.01));
  CHECK(seen(gui, "pane/2/blocks.0.attn.z").columns == doctest::Approx(16));
}

TEST_CASE("zoom: a matrix with roomy cells stays whole") {
  Document document = small_document(1, 2, 8);
  document.sentence = "one two three four";
  Gui gui(document);
  gui.push(GoToStep{"blocks.0.attn.pattern"});
  CHECK_FALSE(gui.has("zoom/in"));
  gui.wheel(gui.rect(kPattern).center(), 5);
  CHECK(seen(gui, kPattern).rows == doctest::Approx(4));
}

}  // namespace headlight::test
