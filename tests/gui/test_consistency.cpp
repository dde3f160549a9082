// What is on the screen is the model's number: every cell of every heatmap, the legend's range, the
// labels, the inspector's sums. Which number belongs where is said here a second time, from the
// tensors' names and axes alone.
#include <cmath>
#include <random>

#include "app/ui/matrix/pane_view.h"
#include "core/base/number_text.h"
#include "core/explain/arithmetic.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

using Cell = std::vector<std::int64_t>;

bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> ends) {
  for (const std::string_view end : ends) {
    if (text.ends_with(end)) return true;
  }
  return false;
}

struct DrawnPane {
  int place = 0;  // on the page
  std::string tensor;
  const DrawnHeatmap* heatmap = nullptr;
};

std::vector<DrawnPane> panes_of(const Gui& gui) {
  std::vector<DrawnPane> panes;
  for (const auto& [id, r] : gui.drawn().all()) {
    if (!id.starts_with("pane/")) continue;
    const std::size_t slash = id.find('/', 5);
    panes.push_back({std::stoi(id.substr(5, slash - 5)), id.substr(slash + 1), &gui.heatmap(id)});
  }
  return panes;
}

// Weights and biases of the projections stand with all heads side by side.
bool is_projection_weight(std::string_view name) {
  return ends_with_any(name, {".W_Q", ".W_K", ".W_V"});
}
bool is_projection_bias(std::string_view name) {
  return ends_with_any(name, {".b_Q", ".b_K", ".b_V"});
}

// The tensor's cell that belongs at row r, column c of the pane.
Cell expected_cell(const Gui& gui, const DrawnPane& pane, std::int64_t r, std::int64_t c) {
  const TensorView t = gui.tensor(pane.tensor);
  const std::string& step = gui.state().session.step;
  const std::int64_t head = gui.state().session.head;
  const bool per_head = t.find_dim("head") >= 0;
  const bool batch = t.find_dim("batch") == 0;
  const std::int64_t width = t.axes.back().size;
  if (is_projection_weight(pane.tensor)) return {c / width, r, c % width};
  if (is_projection_bias(pane.tensor)) return {c / width, c % width};
  Cell cell;
  if (batch) cell.push_back(0);
  if (t.axes.size() == (batch ? 2u : 1u)) return cell.push_back(c), cell;  // a row vector
  if (pane.tensor.ends_with(".W_O")) {  // the heads' rows, one below the other
    const std::int64_t rows = t.axes[1].size;
    return {r / rows, r % rows, c};
  }
  if (per_head && t.axes.size() == 2) return {head, c};  // a head's own vector
  if (per_head) {
    // Beside each other in the concatenation, the chosen one elsewhere.
    cell.push_back(step.ends_with(".concat") ? pane.place : head);
    const bool transposed = pane.place == 1 && step.ends_with("scores_raw");  // Kᵀ
    cell.push_back(transposed ? c : r);
    cell.push_back(transposed ? r : c);
    return cell;
  }
  cell.push_back(r);
  cell.push_back(c);
  return cell;
}

bool same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Compares all cells; says the first that differs.
std::string first_wrong_cell(const Gui& gui, const DrawnPane& pane) {
  const HeatmapQuad& q = pane.heatmap->quad;
  const TensorView t = gui.tensor(pane.tensor);
  for (std::int64_t r = 0; r < q.rows; ++r) {
    for (std::int64_t c = 0; c < q.columns; ++c) {
      const Cell cell = expected_cell(gui, pane, r, c);
      if (cell.size() != t.axes.size()) return "no such cell in " + shape_text(t.axes);
      for (std::size_t a = 0; a < cell.size(); ++a) {
        if (cell[a] < 0 || cell[a] >= t.axes[a].size) return "outside " + shape_text(t.axes);
      }
      if (!same(pane.heatmap->cell(r, c), t.at(cell))) {
        return "row " + std::to_string(r) + ", column " + std::to_string(c) + " shows " +
               exact_number(pane.heatmap->cell(r, c)) + ", the trace has " +
               exact_number(t.at(cell));
      }
    }
  }
  return "";
}

// As many cells as the tensor has for one head, or for all where the page shows all.
void check_pane(Gui& gui, const DrawnPane& pane) {
  CAPTURE(pane.tensor);
  CHECK(first_wrong_cell(gui, pane) == "");
  const TensorView t = gui.tensor(pane.tensor);
  const HeatmapQuad& q = pane.heatmap->quad;
  std::int64_t expected = t.size();
  const int head = t.find_dim("head");
  const bool all_heads = pane.tensor.ends_with(".W_O") || is_projection_weight(pane.tensor) ||
                         is_projection_bias(pane.tensor);
  if (head >= 0 && !all_heads) expected /= t.axes[static_cast<std::size_t>(head)].size;
  CHECK(q.rows * q.columns == expected);
  const bool weights = ends_with_any(pane.tensor, {"attn.pattern", "probs"});
  CHECK((q.scale.map == ColorMap::kSequential) == weights);
  // The range is that of all heads; of a sum that of all its terms; of weights it is 0 to 1.
  const bool sum = ends_with_any(
      gui.state().session.step,
      {"resid_mid", "resid_post", "resid_mid_cross", "resid_pre", "ln1.input", "ln2.input"});
  if (!sum) CHECK(q.scale.limit == (weights ? 1 : robust_limit(t.cells())));
}

std::string label_of(const Gui& gui, std::string_view axis, std::int64_t i) {
  const RunInput& input = gui.trace().input();
  const auto at = static_cast<std::size_t>(i);
  return from_field_text(token_label(axis == "vocab" ? input.vocab[at] : input.tokens[at]));
}

// The labels of the rows stand beside their rows.
void check_row_labels(Gui& gui, const DrawnPane& pane) {
  const HeatmapQuad& q = pane.heatmap->quad;
  const float height = (q.y1 - q.y0) / static_cast<float>(q.rows);
  const TensorView t = gui.tensor(pane.tensor);
  const std::string& axis = t.axes[t.axes.size() - 2].name;
  if (height < 14 || q.rows < 2) return;  // thinned out where there is no room
  const std::vector<DrawnText> texts = gui.texts();
  for (std::int64_t r = 0; r < q.rows; ++r) {
    const std::string label = axis == "context"
                                  ? std::to_string(r)
                                  : label_of(gui, axis == "vocab" ? "vocab" : "position", r);
    const float top = q.y0 + static_cast<float>(r) * height;
    const bool found = std::any_of(texts.begin(), texts.end(), [&](const DrawnText& text) {
      const float middle = (text.min.y + text.max.y) / 2;
      return text.words == label && text.max.x <= q.x0 && middle > top && middle < top + height;
    });
    INFO("'", label, "' beside row ", r, " of ", pane.tensor);
    CHECK(found);
  }
}

// A slanted label stands over the column whose token it names. The tokens come from the trace.
int check_column_labels(Gui& gui, const DrawnPane& pane) {
  const HeatmapQuad& q = pane.heatmap->quad;
  const TensorView t = gui.tensor(pane.tensor);
  const std::string axis = t.axes.back().name;
  const bool transposed = q.column_stride > q.row_stride;  // a key's columns are its positions
  if (axis != "key" && axis != "vocab" && !transposed) return 0;
  const float width = (q.x1 - q.x0) / static_cast<float>(q.columns);
  int seen = 0;
  for (const DrawnLabel& label : gui.drawn().labels()) {
    const bool above = label.anchor.y < q.y0 && label.anchor.y > q.y0 - 12;
    if (!above || label.anchor.x < q.x0 || label.anchor.x >= q.x1) continue;
    const auto column = static_cast<std::int64_t>((label.anchor.x - q.x0) / width);
    const std::string token = label_of(gui, axis == "vocab" ? "vocab" : "position", column);
    const std::string text = from_field_text(label.text);
    const bool cut = text.ends_with("…") && token.starts_with(text.substr(0, text.size() - 3));
    INFO("'", text, "' over column ", column, " of ", pane.tensor);
    CHECK((text == token || cut));
    ++seen;
  }
  return seen;
}

// Labelled are the product of two matrices, else the first of a row of matrices.
bool has_row_labels(const Gui& gui, const DrawnPane& pane, int last) {
  const Program& program = gui.trace().program();
  const Step& step =
      program
          .steps[static_cast<std::size_t>(program.step_of(program.find(gui.state().session.step)))];
  const Layout layout = step_page(gui.trace(), step, 0).layout;
  return layout == Layout::kProduct ? pane.place == last : pane.place == 0;
}

void check_page(Gui& gui) {
  const std::vector<DrawnPane> panes = panes_of(gui);
  CHECK_FALSE(panes.empty());
  int last = 0;
  for (const DrawnPane& pane : panes) {
    check_pane(gui, pane);
    last = std::max(last, pane.place);
  }
  // The legend is that of the result, of several results the one that is asked about.
  int asked = last;
  const auto& picked = gui.state().session.picked;
  for (const DrawnPane& pane : panes) {
    if (picked && pane.tensor == picked->tensor) asked = pane.place;
  }
  for (const DrawnPane& pane : panes) {
    if (has_row_labels(gui, pane, last)) check_row_labels(gui, pane);
    const int labels = check_column_labels(gui, pane);
    if (pane.tensor.ends_with("attn.pattern") && pane.place == last) CHECK(labels > 0);
    if (pane.place != asked) continue;
    CHECK(gui.shows(fine_number(pane.heatmap->quad.scale.limit, 3)));
    const Program& program = gui.trace().program();
    CHECK(
        gui.shows(program.tensors[static_cast<std::size_t>(program.require(pane.tensor))].symbol));
  }
}

// A line of the rail that stands for several steps shows a tensor of theirs:
// "rail/fold/0/attention" one of layer 0, of attention and not of the feed-forward network.
int check_fold(const Gui& gui, const std::string& id, const HeatmapQuad& q) {
  const std::size_t slash = id.find('/', 10);
  const std::string prefix = "blocks." + id.substr(10, slash - 10) + ".";
  const bool attention = id.substr(slash + 1) == "attention";
  const Trace& trace = gui.trace();
  bool found = false;
  for (const TensorSpec& spec : trace.program().tensors) {
    const std::string_view name =
        std::string_view(spec.name).substr(spec.name.starts_with("d.") ? 2 : 0);
    if (!name.starts_with(prefix)) continue;
    const TensorView t = trace.tensor(spec.name);
    const bool own = name.find(".attn.") != name.npos || name.find("attn_out") != name.npos ||
                     name.ends_with("resid_mid") || trace.config().block == BlockKind::kAttention;
    if (own == attention && q.data >= t.data && q.data < t.data + t.size()) found = true;
  }
  CAPTURE(id);
  CHECK(found);
  return 1;
}

// Thumbnails of the rail and cards of the heads show the numbers of their tensor.
void check_small_pictures(Gui& gui) {
  const Trace& trace = gui.trace();
  int seen = 0;
  for (const auto& control : gui.drawn().all()) {
    const std::string& id = control.first;
    const DrawnControl& r = control.second;
    const bool is_card =
        id.starts_with("heads/") && id.find_first_not_of("0123456789", 6) == std::string::npos;
    const bool is_fold = id.starts_with("rail/fold/");
    const bool is_line = id.starts_with("rail/") && !is_fold && id != "rail/current" &&
                         id != "rail/token_ids" && id != "rail/direction";
    if (!is_card && !is_line && !is_fold) continue;
    for (const DrawnHeatmap& d : gui.heatmaps().drawn()) {
      const bool inside = d.quad.x0 >= r.min.x && d.quad.x1 <= r.max.x && d.quad.y0 >= r.min.y &&
                          d.quad.y1 <= r.max.y;
      if (!inside) continue;
      if (is_fold) {
        seen += check_fold(gui, id, d.quad);
        continue;
      }
      std::string tensor = is_line ? id.substr(5) : gui.state().session.step;
      const std::int64_t head = is_card ? std::stoi(id.substr(6)) : gui.state().session.head;
      if (is_card && trace.tensor(tensor).find_dim("head") < 0) {
        tensor = "blocks." + std::to_string(gui.state().session.layer) + ".attn.pattern";
      }
      const TensorView t = trace.tensor(tensor);
      if (t.find_dim("head") < 0) continue;
      const std::int64_t cells = t.axes[2].size * t.axes[3].size;
      CAPTURE(id);
      CHECK(d.quad.rows * d.quad.columns == cells);
      CHECK(d.quad.data == t.data + head * cells);
      ++seen;
    }
  }
  CHECK(seen > 0);
}

struct Model {
  std::string name;
  Document document;
};

std::vector<Model> models() {
  std::vector<Model> all;
  const auto add = [&](const std::string& name, Document document) {
    all.push_back({name, std::move(document)});
  };
  for (const auto& kind : choices(AttentionKind{})) {
    Document d = small_document(2, 2, 8);
    d.config.attention = kind.value;
    if (kind.value == AttentionKind::kBasic) d.config.scale = false;
    add("attention " + std::string(kind.word), d);
  }
  for (const auto& block : choices(BlockKind{})) {
    Document d = small_document(1, 2, 8);
    d.config.block = block.value;
    d.config.bias = block.value != BlockKind::kAttention;
    add("block " + std::string(block.word), d);
  }
  for (const auto& mask : choices(MaskKind{})) {
    Document d = small_document(1, 2, 8);
    d.config.mask.kind = mask.value;
    d.config.mask.padding = {1, 5};
    d.config.mask.forbidden = {{0, 0}, {2, 1}, {3, 3}};
    add("mask " + std::string(mask.word), d);
  }
  Document additive = small_document(1, 2, 8);
  additive.config.scores = ScoreKind::kAdditive;
  additive.config.scale = false;
  additive.config.positions = PositionKind::kLearned;
  add("additive scores", additive);
  add("one head", small_document(1, 1, 8));
  add("twelve heads", small_document(1, 12, 24));
  Document odd = small_document(1, 3, 12);
  odd.config.d_head = 5;
  odd.config.d_hidden = 7;
  odd.config.residual = false;
  odd.sentence = "猫 sat 猫 🙂";
  add("odd widths, repeated tokens", odd);
  return all;
}

}  // namespace

TEST_CASE("consistency: every cell on the screen is the trace's number") {
  std::size_t first = 0;
  for (const Model& model : models()) {
    Gui gui(model.document, {1920, 1080});
    CAPTURE(model.name);
    REQUIRE(gui.state().derived.problem == "");
    const int heads = gui.trace().config().head_count();
    for (const std::string& step : walked(step_names(gui.trace().program()), first++)) {
      CAPTURE(step);
      gui.push(GoToStep{step});
      if (step == "token_ids") continue;
      for (const int head : {0, heads - 1}) {
        gui.push(ChooseHead{head});
        REQUIRE(gui.state().session.step == step);
        check_page(gui);
        check_small_pictures(gui);
        if (heads == 1) break;
      }
    }
  }
}

TEST_CASE("consistency: the page of the tokens shows each token and its row of the vocabulary") {
  Document document = small_document();
  document.sentence = "the cat and the 猫";
  Gui gui(document);
  gui.push(GoToStep{"token_ids"});
  const RunInput& input = gui.trace().input();
  CHECK(input.ids == std::vector<int>{0, 1, 2, 0, 3});
  for (std::size_t t = 0; t < input.tokens.size(); ++t) {
    const DrawnControl chip = gui.rect("token/" + std::to_string(t));
    std::string inside;
    for (const DrawnText& text : gui.texts()) {
      const ImVec2 at = {(text.min.x + text.max.x) / 2, (text.min.y + text.max.y) / 2};
      if (at.x > chip.min.x && at.x < chip.max.x && at.y > chip.min.y && at.y < chip.max.y) {
        inside += text.words + "|";
      }
    }
    CHECK(inside == input.tokens[t] + "|" + std::to_string(input.ids[t]) + "|");
  }
}

TEST_CASE("consistency: the inspector's sum is the cell, for random cells of every matrix") {
  std::mt19937 random(7);
  std::size_t first = 0;
  for (const Model& model : models()) {
    Gui gui(model.document, {1920, 1080});
    CAPTURE(model.name);
    for (const std::string& step : walked(step_names(gui.trace().program()), first++)) {
      if (step == "token_ids") continue;
      gui.push(GoToStep{step});
      std::vector<std::string> ids;
      for (const auto& [id, r] : gui.drawn().all()) {
        if (id.starts_with("pane/")) ids.push_back(id);
      }
      std::sort(ids.begin(), ids.end());
      for (const std::string& id : ids) {
        if (!gui.has(id)) continue;  // picking a cell of another head changes the page
        const HeatmapQuad q = gui.heatmap(id).quad;
        if ((q.x1 - q.x0) / static_cast<float>(q.columns) < 2) continue;
        const auto r = static_cast<std::int64_t>(random() % static_cast<unsigned>(q.rows));
        const auto c = static_cast<std::int64_t>(random() % static_cast<unsigned>(q.columns));
        const float drawn = gui.heatmap(id).cell(r, c);
        INFO(id, ", row ", r, ", column ", c);
        const Document before = gui.document();
        CHECK_NOTHROW(gui.click_cell(id, r, c));
        if (!(gui.document() == before)) {  // the free mask: the click has painted
          gui.ctrl('Z');
          continue;
        }
        REQUIRE(gui.state().session.picked);
        const CellPick picked = *gui.state().session.picked;
        CHECK(picked.tensor == id.substr(id.find('/', 5) + 1));
        const TensorView t = gui.tensor(picked.tensor);
        CHECK(same(t.at(picked.index), drawn));
        const Explanation e =
            explain(gui.trace(), gui.trace().program().find(picked.tensor), picked.index);
        CHECK(same(static_cast<float>(e.value), drawn));
        CHECK(gui.shows(line_number(e, drawn)));
        if (e.terms.empty() || !std::isfinite(drawn)) continue;
        CHECK(e.sum() == doctest::Approx(drawn).epsilon(1e-4).scale(1.0));
        const bool from_cells =  // a sine of the position comes from none
            std::ranges::any_of(e.terms, [](const Term& term) { return term.cell.tensor >= 0; });
        CHECK(gui.has("inspector/all_terms") <= from_cells);
        if (!from_cells) continue;
        const bool exponentials = e.terms[0].inner.has_value();
        if (gui.has("inspector/all_terms") && gui.shows("Its sum of")) {
          CHECK((e.operation == "layer_norm" || e.operation == "rms_norm"));
        } else if (!exponentials) {
          CHECK(gui.shows("sum of " + std::to_string(e.terms.size()) + " term"));
          CHECK(gui.shows(signed_number(e.sum())));
        }
      }
    }
  }
}

TEST_CASE("consistency: one range for all heads, so that their colours can be compared") {
  Gui gui(small_document(1, 4, 16));
  std::vector<float> limits;
  for (int head = 0; head < 4; ++head) {
    gui.click("head/" + std::to_string(head));
    limits.push_back(gui.heatmap("pane/1/blocks.0.attn.pattern").quad.scale.limit);
  }
  for (const float limit : limits) CHECK(limit == limits[0]);
}

namespace {

// Is just this stretch of a picture framed?
bool framed(const Gui& gui, DrawnMark::Kind kind, ImVec2 min, ImVec2 max) {
  const auto near = [](float a, float b) { return std::fabs(a - b) < 1.0f; };
  const auto& marks = gui.drawn().marks();
  return std::any_of(marks.begin(), marks.end(), [&](const DrawnMark& m) {
    return m.kind == kind && near(m.min.x, min.x) && near(m.min.y, min.y) && near(m.max.x, max.x) &&
           near(m.max.y, max.y);
  });
}

// Row, column and cell of the picture of rows × columns that fills the quad.
bool framed_cross(const Gui& gui, const HeatmapQuad& q, std::int64_t row, std::int64_t column) {
  const float w = (q.x1 - q.x0) / static_cast<float>(q.columns);
  const float h = (q.y1 - q.y0) / static_cast<float>(q.rows);
  const float x = q.x0 + w * static_cast<float>(column), y = q.y0 + h * static_cast<float>(row);
  return framed(gui, DrawnMark::Kind::kRow, {q.x0, y}, {q.x1, y + h}) &&
         framed(gui, DrawnMark::Kind::kColumn, {x, q.y0}, {x + w, q.y1}) &&
         framed(gui, DrawnMark::Kind::kCell, {x, y}, {x + w, y + h});
}

}  // namespace

TEST_CASE("consistency: the cell under the mouse is framed wherever its tensor is shown") {
  Gui gui(small_document(1, 2, 16));
  gui.push(GoToStep{"blocks.0.attn.pattern"});
  const std::string id = "pane/1/blocks.0.attn.pattern";
  const TensorView pattern = gui.tensor("blocks.0.attn.pattern");
  const std::int64_t n = pattern.axes.back().size;
  for (const Cell& cell : {Cell{0, 0, 5, 1}, Cell{0, 0, 2, 2}, Cell{0, 0, 0, 5}}) {
    const std::int64_t row = cell[2], column = cell[3];
    CAPTURE(row);
    gui.move_to(gui.cell_center(id, static_cast<int>(row), static_cast<int>(column)));
    gui.frame(1);  // one frame to see the mouse, one to show it
    int heads = 0, others = 0;
    for (const DrawnHeatmap& drawn : gui.heatmaps().drawn()) {
      const std::ptrdiff_t place = drawn.quad.data - pattern.data;
      if (place < 0 || place >= pattern.size() || drawn.quad.rows != n) continue;
      const HeatmapQuad& q = drawn.quad;
      const bool in_rail = q.x1 < gui.rect("panel/stage").min.x;
      const float w = (q.x1 - q.x0) / static_cast<float>(n),
                  h = (q.y1 - q.y0) / static_cast<float>(n);
      const float x = q.x0 + w * static_cast<float>(column), y = q.y0 + h * static_cast<float>(row);
      if (in_rail) {
        CHECK(framed(gui, DrawnMark::Kind::kCell, {x, y}, {x + w, y + h}));
        ++others;
      } else {
        CHECK(framed_cross(gui, q, row, column));
        ++heads;
      }
    }
    CHECK(heads == 3);  // the stage and two cards
    CHECK(others == 1);
    // In the operand of the same shape: its row.
    const HeatmapQuad q = gui.heatmap("pane/0/blocks.0.attn.scores_masked").quad;
    const float h = (q.y1 - q.y0) / static_cast<float>(n), y = q.y0 + h * static_cast<float>(row);
    CHECK(framed(gui, DrawnMark::Kind::kRow, {q.x0, y}, {q.x1, y + h}));
  }
}

TEST_CASE("consistency: zoomed in, the frame is around the cell under the mouse") {
  Document document = small_document(1, 2, 16);
  for (int i = 0; i < 5; ++i) document.sentence += " " + small_document().sentence;
  Gui gui(document, {1920, 1080});
  gui.push(GoToStep{"blocks.0.attn.scores_raw"});
  const std::string id = "pane/2/blocks.0.attn.scores_raw";
  gui.move_to(gui.cell_center(id, 24, 20));
  for (int i = 0; i < 6; ++i) gui.push(DoCommand{Command::kZoomIn});
  const DrawnControl r = gui.rect(id);
  gui.move_to({(r.min.x + r.max.x) / 2 + 7, (r.min.y + r.max.y) / 2 + 5});
  gui.frame(1);
  REQUIRE(gui.state().session.hovered);
  const ImVec2 mouse{(r.min.x + r.max.x) / 2 + 7, (r.min.y + r.max.y) / 2 + 5};
  int around = 0;
  for (const DrawnMark& m : gui.drawn().marks()) {
    const bool cell = m.kind == DrawnMark::Kind::kCell && m.min.x >= r.min.x - 1 &&
                      m.max.x <= r.max.x + 200 && m.min.y >= r.min.y - 200;
    const bool on_picture =
        m.max.x > r.min.x && m.min.x < r.max.x && m.max.y > r.min.y && m.min.y < r.max.y;
    if (!cell || !on_picture) continue;
    CHECK(m.min.x <= mouse.x);
    CHECK(m.max.x >= mouse.x);
    CHECK(m.min.y <= mouse.y);
    CHECK(m.max.y >= mouse.y);
    ++around;
  }
  CHECK(around >= 1);
  CHECK(gui.shows("rows of 36"));  // not all of them are seen
}

TEST_CASE("consistency: what a tooltip says of a cell is that cell") {
  Gui gui(small_document());
  gui.push(GoToStep{"blocks.0.attn.scores_raw"});
  const std::string id = "pane/2/blocks.0.attn.scores_raw";
  gui.move_to(gui.cell_center(id, 5, 1));
  gui.frame(3);
  CHECK(gui.shows("query 5  mat"));
  CHECK(gui.shows("key 1  cat"));
  CHECK(gui.shows(exact_number(gui.heatmap(id).cell(5, 1))));
  REQUIRE(gui.state().session.hovered);
  CHECK(gui.state().session.hovered->index == Cell{0, 0, 5, 1});
}

}  // namespace headlight::test
