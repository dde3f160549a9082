// What stands around the numbers of a page: frames of pictures, the marked row's name, the line of
// shapes, places of a table of positions.
#include <algorithm>
#include <cmath>

#include "core/explain/steps.h"
#include "core/view/pane_layout.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

Rect rect_of(const HeatmapQuad& q) { return {q.x0, q.y0, q.x1, q.y1}; }

bool lies_in(const HeatmapQuad& q, const DrawnControl& r) {
  return q.x0 >= r.min.x && q.x1 <= r.max.x && q.y0 >= r.min.y && q.y1 <= r.max.y;
}

// The words beside row `r` of the picture, on its left.
std::vector<DrawnText> beside_row(const std::vector<DrawnText>& texts, const HeatmapQuad& q,
                                  std::int64_t r) {
  const float height = (q.y1 - q.y0) / static_cast<float>(q.rows);
  const float top = q.y0 + static_cast<float>(r) * height;
  std::vector<DrawnText> found;
  for (const DrawnText& text : texts) {
    const float middle = (text.min.y + text.max.y) / 2;
    if (text.max.x <= q.x0 && text.max.x > q.x0 - 16 && middle > top && middle < top + height)
      found.push_back(text);
  }
  return found;
}

// "(T6×d_head4),(d_head4×T6)←(T6×T6)": what stands on the line of the header's shapes.
std::string shapes_line(Gui& gui) {
  const DrawnControl stage = gui.rect("panel/stage");
  std::vector<DrawnText> words;
  for (const DrawnText& text : gui.texts()) {
    if (text.min.x > stage.min.x && text.max.x < stage.max.x && text.max.y < stage.min.y + 110)
      words.push_back(text);
  }
  const auto first = std::ranges::find_if(words, [](const DrawnText& text) {
    return text.words.starts_with("(") && text.words.find("×") != std::string::npos;
  });
  if (first == words.end()) return "";
  const float y = (first->min.y + first->max.y) / 2, from = first->min.x;
  std::erase_if(words, [&](const DrawnText& text) {
    return text.min.x < from || text.min.y > y || text.max.y < y;
  });
  std::ranges::sort(words, {}, [](const DrawnText& text) { return text.min.x; });
  std::string line;
  for (const DrawnText& text : words) line += text.words;
  return line;
}

}  // namespace

TEST_CASE("marks: a picture ends at a frame, however pale its cells are") {
  for (const bool dark : {false, true}) {
    Gui gui(small_document(), {1600, 1000});
    if (dark) gui.push(DoCommand{Command::kToggleTheme});
    CAPTURE(dark);
    REQUIRE(gui.state().session.dark == dark);
    gui.key({'B'});
    for (const char* step : {"blocks.0.attn.pattern", "d.blocks.0.attn.scores_raw", "d.embed"}) {
      gui.push(GoToStep{step});
      CAPTURE(step);
      int panes = 0, small = 0;
      for (const auto& [id, r] : gui.drawn().all()) {
        if (!id.starts_with("pane/")) continue;
        const std::string& pane = id;  // Clang captures no binding
        INFO(pane);
        CHECK(gui.has_frame({r.min.x, r.min.y, r.max.x, r.max.y}));
        ++panes;
      }
      CHECK(panes >= 2);
      for (const DrawnHeatmap& drawn : gui.heatmaps().drawn()) {
        for (const char* panel : {"panel/rail_steps", "panel/heads"}) {
          if (!lies_in(drawn.quad, gui.rect(panel))) continue;
          INFO(panel, " ", drawn.quad.x0, ", ", drawn.quad.y0);
          CHECK(gui.has_frame(rect_of(drawn.quad)));
          ++small;
        }
      }
      CHECK(small > 8);
    }
  }
}

TEST_CASE("marks: of joined heads the chosen row's name stands out, whichever head it is of") {
  Gui gui(small_document(1, 4, 16), {1600, 1000});
  const std::string step = "blocks.0.attn.concat";
  gui.push(GoToStep{step});
  const std::int64_t width = gui.trace().config().head_width();
  for (std::int64_t head = 0; head < 4; ++head) {
    CAPTURE(head);
    gui.push(PickCell{{step, {0, 3, head * width + 1}}});
    std::vector<HeatmapQuad> pictures;
    for (const auto& [id, r] : gui.drawn().all())
      if (id.starts_with("pane/")) pictures.push_back(gui.heatmap(id).quad);
    REQUIRE(pictures.size() > 4);
    const HeatmapQuad first = *std::ranges::min_element(pictures, {}, &HeatmapQuad::x0);
    const std::vector<DrawnText> texts = gui.texts();
    for (std::int64_t row = 0; row < first.rows; ++row) {
      CAPTURE(row);
      const std::vector<DrawnText> name = beside_row(texts, first, row);
      REQUIRE(name.size() == 1);
      CHECK(name[0].words == gui.trace().tick("position", row));
      CHECK(name[0].strong == (row == 3));
    }
  }
}

TEST_CASE("marks: going back, the shapes of what is passed on are a list, not a product or a sum") {
  Gui gui(small_document(), {1920, 1080});
  gui.key({'B'});
  int lists = 0;
  for (const std::string& name : step_names(gui.trace().program())) {
    if (!name.starts_with("d.")) continue;
    gui.push(GoToStep{name});
    CAPTURE(name);
    const std::string line = shapes_line(gui);
    CAPTURE(line);
    const std::size_t turn = line.find("←");
    if (turn == std::string::npos) continue;
    // After each shape a comma or what it comes from: no operator joins gradients.
    for (std::size_t at = line.find(')'); at < turn; at = line.find(')', at + 1)) {
      CHECK((at + 1 == turn || line[at + 1] == ','));
      lists += at + 1 != turn;
    }
  }
  CHECK(lists >= 8);
  gui.push(GoToStep{"d.blocks.0.attn.scores_raw"});
  CHECK(shapes_line(gui) == "(T6×d_head4),(d_head4×T6)←(T6×T6)");
  gui.push(GoToStep{"blocks.0.attn.scores_raw"});
  CHECK(shapes_line(gui) == "(T6×d_head4)·(d_head4×T6)→(T6×T6)");
}

TEST_CASE("marks: of many operands, the shapes count only neighbours that are alike") {
  Document experts = small_document();
  experts.config.experts = 4;
  Gui gui(experts, {1920, 1080});
  gui.push(GoToStep{"blocks.0.mlp_out"});
  CHECK(shapes_line(gui) == "(T6×E4),4×(T6×d_model8)→(T6×d_model8)");
}

TEST_CASE("marks: the rows of a table of positions are places, whatever words stand there") {
  Gui gui(bundled_document("grammar"), {1920, 1080});
  gui.key({'B'});
  for (const std::string step : {"pos_embed", "d.pos_embed"}) {
    gui.push(GoToStep{step});
    CAPTURE(step);
    const std::string table = (step[0] == 'd' ? "d." : "") + std::string("pos_embed.W_pos");
    const HeatmapQuad q = gui.heatmap("pane/0/" + table).quad;
    REQUIRE(q.rows == gui.tensor(table).axes[0].size);  // of all places that it has learned
    const std::vector<DrawnText> texts = gui.texts();
    for (std::int64_t row = 0; row < q.rows; ++row) {
      CAPTURE(row);
      const std::vector<DrawnText> name = beside_row(texts, q, row);
      REQUIRE(name.size() == 1);
      CHECK(name[0].words == std::to_string(row));
    }
  }
}

TEST_CASE("marks: Forward and Backward stand above the list of steps, however far it is scrolled") {
  Gui gui(small_document(4), {1280, 600});
  const DrawnControl list = gui.rect("panel/rail_steps");
  const auto first = [&] { return gui.rect("rail/token_ids").min.y; };
  const float top = first();
  for (int turns = 0; turns < 2; ++turns) {
    for (const char* id : {"rail/direction/forward", "rail/direction/backward", "view/rail"}) {
      CAPTURE(id);
      CHECK(gui.rect(id).max.y <= list.min.y);
      CHECK(gui.rect(id).min.y >= gui.rect("panel/rail").min.y);
    }
    // No line of the list is written over them.
    const DrawnControl rail = gui.rect("panel/rail");
    std::string head;
    for (const DrawnText& text : gui.texts()) {
      const float x = (text.min.x + text.max.x) / 2, y = (text.min.y + text.max.y) / 2;
      if (x > rail.min.x && x < rail.max.x && y > rail.min.y && y < list.min.y)
        head += text.words + "|";
    }
    CHECK(head == "Forward|Backward|«|");
    gui.wheel(list.center(), -20);
    CHECK(first() < top - 100);
  }
  gui.click("rail/direction/backward");
  CHECK(gui.state().session.step.starts_with("d."));
}

TEST_CASE("marks: a head far below the others has its own range, and both are named") {
  int faint = 0, shared = 0;
  for (const char* model : {"sentiment", "grammar", "masked"}) {
    CAPTURE(model);
    Gui gui(bundled_document(model), {1920, 1080});
    gui.key({'B'});
    for (const std::string& name : step_names(gui.trace().program())) {
      if (!name.starts_with("d.") || gui.trace().tensor(name).find_dim("head") < 0) continue;
      gui.push(GoToStep{name});
      for (std::int64_t head = 0; head < gui.trace().config().head_count(); ++head) {
        gui.push(ChooseHead{static_cast<int>(head)});
        CAPTURE(name);
        CAPTURE(head);
        const Step& step = gui.trace().program().steps[static_cast<std::size_t>(
            gui.trace().program().step_of(gui.trace().program().find(name)))];
        StepPage page = step_page(gui.trace(), step, head);
        free_faint_panes(gui.trace(), page);
        int place = 0;
        for (const PagePane& p : page.lines[0]) {
          const std::string id = "pane/" + std::to_string(place++) + "/" +
                                 std::string(gui.trace().tensor(p.tensor).name);
          if (!p.amounts || !shows_one_head(gui.trace(), p)) continue;
          float own = 0;
          const TensorView t = gui.trace().tensor(p.tensor);
          for (std::int64_t r = 0; r < p.pane.rows; ++r) {
            for (std::int64_t c = 0; c < p.pane.columns; ++c)
              own = std::max(own, std::fabs(t.data[pane_flat(p.pane, r, c)]));
          }
          if (own == 0) continue;
          // The faintest picture still has a cell in a tenth of the colours or more.
          const float limit = gui.heatmap(id).quad.scale.limit;
          CHECK(own >= 0.0999f * limit);
          (p.alone ? faint : shared) += 1;
        }
      }
    }
  }
  CHECK(faint > 0);
  CHECK(shared > 10);
}

TEST_CASE("marks: the range of one head's picture says whose it is") {
  Gui gui(bundled_document("sort"), {1920, 1080});
  gui.push(GoToStep{"blocks.1.attn.scores_scaled"});
  const auto says = [&](const std::string& words) {
    return std::ranges::any_of(gui.texts(), [&](const DrawnText& text) {
      return text.words.find(words) != std::string::npos;
    });
  };
  CHECK(says("allheads"));
  CHECK_FALSE(says("thishead"));
  gui.push(DoCommand{Command::kToggleRange});
  CHECK_FALSE(says("allheads"));
  gui.push(DoCommand{Command::kToggleRange});
  gui.push(GoToStep{"embed"});
  CHECK_FALSE(says("allheads"));
}

TEST_CASE("marks: matrices that are alike have captions that are") {
  Gui gui(bundled_document("reverse"), {1280, 720});
  gui.key({'B'});
  gui.push(GoToStep{"d.blocks.1.attn.concat"});
  const std::vector<DrawnText> texts = gui.texts();
  int names = 0, with_shape = 0;
  for (const char* name : {"dz\u2080", "dz\u2081", "dz\u2082", "dz\u2083"}) {
    for (const DrawnText& text : texts) {
      if (text.words != name) continue;
      ++names;
      with_shape += std::ranges::any_of(texts, [&](const DrawnText& next) {
        return next.words.starts_with("(") && std::fabs(next.min.y - text.min.y) < 6 &&
               next.min.x > text.max.x && next.min.x < text.max.x + 12;
      });
    }
  }
  CHECK(names == 4);
  CHECK((with_shape == 0 || with_shape == 4));
}

TEST_CASE("marks: names as narrow as their columns stand upright") {
  Gui gui(bundled_document("reverse"), {1280, 720});
  const auto slanted = [&](const std::string& word) {
    bool upright = false, turned = false;
    for (const DrawnText& text : gui.texts()) {
      if (text.words != word || text.min.y < 200 || text.min.x < 300) continue;
      (text.slanted ? turned : upright) = true;
    }
    return std::pair{upright, turned};
  };
  gui.key({'B'});
  gui.push(GoToStep{"d.loss"});
  for (const char* letter : {"i", "l"}) CHECK(slanted(letter) == std::pair{true, false});
}

TEST_CASE("marks: a table that both sides use says where else, and that it adds") {
  Gui gui(bundled_document("dates"), {1280, 720});
  gui.key({'B'});
  const auto words = [&](const char* name, Language language) {
    const Program& program = gui.trace().program();
    const Step& step = program.steps[static_cast<std::size_t>(program.step_of(program.find(name)))];
    return step_text(language, program, step).formula + " | " +
           step_sentence(language, gui.trace(), step, 0, 0);
  };
  const std::string encoder = words("d.encoder.embed", Language::kEnglish);
  CHECK(encoder.find("+=") != std::string::npos);
  CHECK(encoder.find("Embedding (decoder)") != std::string::npos);
  CHECK(words("d.decoder.embed", Language::kChinese).find("词元嵌入（编码器）") !=
        std::string::npos);
  Gui one(bundled_document("sort"), {1280, 720});
  one.key({'B'});
  const Program& program = one.trace().program();
  const Step& step = program.steps.back();
  CHECK(step_text(Language::kEnglish, program, step).formula.find("+=") == std::string::npos);
  CHECK(step_sentence(Language::kEnglish, one.trace(), step, 0, 0).find("also serves") ==
        std::string::npos);
}

TEST_CASE("marks: the targets' names stand in their column where the matrix beside it is fine") {
  for (const char* model : {"dates", "sort", "sentiment"}) {
    Gui gui(bundled_document(model), {1280, 720});
    gui.key({'B'});
    const bool penalised = gui.trace().program().find("class_loss") >= 0;
    gui.push(GoToStep{penalised ? "d.class_loss" : "d.loss"});
    const HeatmapQuad q = gui.heatmap("pane/1/targets").quad;
    const std::vector<DrawnText> texts = gui.texts();
    const TensorView targets = gui.trace().tensor("targets");
    const std::string_view axis = gui.trace().program().outcome_axis();
    for (std::int64_t r = 0; r < q.rows; ++r) {
      const auto id = static_cast<std::int64_t>(targets.data[r]);
      const std::string name = id < 0 ? "\u2013" : token_label(gui.trace().tick(axis, id));
      CAPTURE(model);
      CAPTURE(r);
      CAPTURE(name);
      CHECK(std::ranges::any_of(texts, [&](const DrawnText& text) {
        return text.words.starts_with(name.substr(0, 3)) && text.min.x > q.x0 && text.max.x < q.x1;
      }));
    }
  }
}

TEST_CASE("marks: targets whose rows are thin are named as often as the rows are") {
  for (const char* model : {"induction", "masked"}) {
    Gui gui(bundled_document(model), {1280, 720});
    gui.key({'B'});
    gui.push(GoToStep{"d.loss"});
    const HeatmapQuad q = gui.heatmap("pane/1/targets").quad;
    std::int64_t names = 0, none = 0;
    for (const DrawnText& text : gui.texts()) {
      const bool inside =
          text.min.x > q.x0 && text.max.x < q.x1 && text.min.y > q.y0 - 4 && text.max.y < q.y1 + 4;
      names += inside;
      none += inside && text.words == "\u2013";
    }
    CAPTURE(model);
    CHECK(names > q.rows / 3);
    CHECK(none > 0);
  }
}

}  // namespace headlight::test
