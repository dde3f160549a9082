// The mask painted by mouse.
#include <cmath>

#include "app/ui/stage/mask_painter.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

constexpr const char* kPane = "pane/1/mask";

Document free_document(Document document = small_document()) {
  document.config.mask.kind = MaskKind::kFree;
  return document;
}

void open_mask(Gui& gui) { gui.push(GoToStep{"blocks.0.attn.scores_masked"}); }

void drag_cells(Gui& gui, int r0, int c0, int r1, int c1) {
  gui.drag(gui.cell_center(kPane, r0, c0), gui.cell_center(kPane, r1, c1));
}

// The pattern must be what the mask says, at once.
void check_pattern(Gui& gui) {
  const std::int64_t n = gui.trace().length();
  const TensorView pattern = gui.tensor("blocks.0.attn.pattern");
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const bool allowed = gui.config().mask.allows(static_cast<int>(i), static_cast<int>(j));
      const float w = pattern.data[i * n + j];
      CHECK(std::isfinite(w));
      CHECK((w > 0) == allowed);
    }
  }
}

}  // namespace

TEST_CASE("paint: a drag forbids what it goes over and is one step of undo") {
  Gui gui(free_document());
  open_mask(gui);
  const Document before = gui.document();
  drag_cells(gui, 2, 0, 2, 4);
  CHECK(gui.config().mask.forbidden == CellSet{{2, 0}, {2, 1}, {2, 2}, {2, 3}, {2, 4}});
  check_pattern(gui);
  drag_cells(gui, 2, 4, 2, 3);  // begins on a forbidden cell: allows
  CHECK(gui.config().mask.forbidden == CellSet{{2, 0}, {2, 1}, {2, 2}});
  drag_cells(gui, 0, 1, 2, 1);  // begins on an allowed one: forbids
  CHECK(gui.config().mask.forbidden == CellSet{{0, 1}, {1, 1}, {2, 0}, {2, 1}, {2, 2}});
  gui.ctrl('Z');
  CHECK(gui.config().mask.forbidden == CellSet{{2, 0}, {2, 1}, {2, 2}});
  gui.ctrl('Z');
  gui.ctrl('Z');
  CHECK(gui.document() == before);
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("paint: brushes for rows, columns and triangles") {
  Gui gui(free_document());
  open_mask(gui);
  const int n = static_cast<int>(gui.trace().length());
  const auto check = [&](auto forbidden) {
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) CHECK(gui.config().mask.allows(i, j) != forbidden(i, j));
    }
    check_pattern(gui);
    gui.ctrl('Z');
    CHECK(gui.config().mask.forbidden.empty());
  };
  gui.click("brush/row");
  drag_cells(gui, 1, 2, 2, 2);
  check([](int i, int) { return i == 1 || i == 2; });
  gui.click("brush/column");
  gui.click_cell(kPane, 1, 3);
  check([](int, int j) { return j == 3; });
  gui.click("brush/triangle");
  gui.click_cell(kPane, 0, 2);
  check([](int i, int j) { return j - i >= 2; });
  gui.click_cell(kPane, 3, 2);
  check([](int i, int j) { return i - j >= 1; });
  gui.click_cell(kPane, 3, 3);
  check([](int i, int j) { return i == j; });
  gui.click("brush/cell");
  gui.click_cell(kPane, 4, 1);
  check([](int i, int j) { return i == 4 && j == 1; });
}

TEST_CASE("paint: the bars beside the mask paint rows and columns with any brush") {
  Gui gui(free_document());
  open_mask(gui);
  const DrawnControl rows = gui.rect("paint/rows"), columns = gui.rect("paint/columns");
  const ImVec2 at = gui.cell_center(kPane, 2, 1);
  gui.drag({rows.center().x, at.y}, {rows.center().x, gui.cell_center(kPane, 3, 1).y});
  CHECK(gui.config().mask.forbidden.row(2) == std::vector<Span>{{0, 5}});
  CHECK(gui.config().mask.forbidden.rows() == std::vector<int>{2, 3});
  CHECK(gui.shows("No key is left for"));
  check_pattern(gui);
  gui.ctrl('Z');
  gui.drag({at.x, columns.center().y}, {at.x, columns.center().y});
  CHECK(gui.config().mask.forbidden.size() == 6);
  CHECK_FALSE(gui.config().mask.allows(5, 1));
}

TEST_CASE("paint: another mask is painted on from what it shows") {
  Gui gui(small_document());  // causal
  gui.push(GoToStep{"blocks.0.attn.scores_masked"});
  gui.click_cell(kPane, 0, 0);
  const int n = static_cast<int>(gui.trace().length());
  CHECK(gui.config().mask.kind == MaskKind::kFree);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      CHECK(gui.config().mask.allows(i, j) == (j <= i && !(i == 0 && j == 0)));
    }
  }
  CHECK(gui.shows("No key is left for"));
  check_pattern(gui);
  gui.ctrl('Z');
  CHECK(gui.config().mask.kind == MaskKind::kCausal);
}

TEST_CASE("paint: choosing it leaves the picture as it is, and comes back to what was painted") {
  Gui gui(small_document());
  const std::vector<float> before(gui.tensor("blocks.0.attn.pattern").cells().begin(),
                                  gui.tensor("blocks.0.attn.pattern").cells().end());
  gui.click("mask/free");
  CHECK(gui.state().session.step == "blocks.0.attn.scores_masked");
  CHECK(gui.config().mask == as_free(MaskSpec{}, 6));
  const auto now = gui.tensor("blocks.0.attn.pattern").cells();
  CHECK(std::equal(before.begin(), before.end(), now.begin(), now.end()));
  gui.click_cell(kPane, 3, 1);
  const MaskSpec painted = gui.config().mask;
  gui.click("mask/none");
  gui.click("mask/free");
  CHECK(gui.config().mask == painted);
}

TEST_CASE("paint: from a model without a mask it leads to the page that the mask brings along") {
  Document document = small_document();
  document.config.mask.kind = MaskKind::kNone;
  Gui gui(document);
  gui.push(GoToStep{"embed"});
  gui.click("mask/free");
  CHECK(gui.state().session.step == "blocks.0.attn.scores_masked");
  gui.push(GoToStep{"embed"});
  gui.click("mask/free");
  gui.push(DoEdit{SetSentence{"some other words"}, ""});
  CHECK(gui.state().session.step == "blocks.0.attn.scores_masked");
  gui.push(GoToStep{"embed"});
  gui.push(DoEdit{SetSentence{"and others again"}, ""});
  CHECK(gui.state().session.step == "embed");  // nothing is awaited any more
}

TEST_CASE("paint: starting points, clear, invert") {
  Document document = small_document();
  document.config.mask.padding = {1, 4};
  document.config.mask.window = 1;
  Gui gui(free_document(document));
  open_mask(gui);
  const auto check = [&](const char* id, MaskKind kind) {
    gui.click(id);
    MaskSpec wanted = gui.config().mask;
    wanted.kind = kind;
    wanted.causal.reset();
    CHECK(gui.config().mask.kind == MaskKind::kFree);
    for (int i = 0; i < 6; ++i) {
      for (int j = 0; j < 6; ++j) CHECK(gui.config().mask.allows(i, j) == wanted.allows(i, j));
    }
    check_pattern(gui);
  };
  check("paint/causal", MaskKind::kCausal);
  check("paint/local", MaskKind::kLocal);
  check("paint/strided", MaskKind::kStrided);
  check("paint/padding", MaskKind::kPadding);
  gui.click("paint/causal");
  gui.click("paint/invert");
  CHECK(gui.config().mask.forbidden.size() == 21);
  CHECK_FALSE(gui.config().mask.allows(2, 2));
  CHECK(gui.config().mask.allows(2, 3));
  gui.click("paint/clear");
  CHECK(gui.config().mask.forbidden.empty());
  gui.click("paint/invert");
  CHECK(gui.config().mask.forbidden.size() == 36);
  CHECK(gui.shows("No query may look at any key"));
  for (const float w : gui.tensor("blocks.0.attn.pattern").cells()) CHECK(w == 0);
  for (const float p : gui.tensor("probs").cells()) CHECK(std::isfinite(p));
}

TEST_CASE("paint: the bar of tools stands only on the mask's page") {
  Gui gui(free_document());
  open_mask(gui);
  CHECK(gui.has("brush/cell"));
  gui.push(GoToStep{"blocks.0.attn.pattern"});
  CHECK_FALSE(gui.has("brush/cell"));
  CHECK_FALSE(gui.has("paint/rows"));
}

}  // namespace headlight::test
