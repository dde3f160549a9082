// How processor and graphics card look in the window: the sheet and the notes of the steps keep
// their room at every size, every column can be asked, and small numbers can be read.
#include <algorithm>
#include <set>

#include "core/base/number_text.h"
#include "tests/gui/compute/compute_gui.h"

namespace headlight::test {
namespace {

Document eleven_tokens() {
  Document document = small_document(1, 2, 16);
  document.sentence = "The animal didn't cross the street because it was too tired";
  return document;
}

bool inside(const DrawnControl& r, const DrawnControl& room) {
  return r.min.x >= room.min.x && r.min.y >= room.min.y && r.max.x <= room.max.x &&
         r.max.y <= room.max.y;
}

bool apart(const DrawnControl& a, const DrawnControl& b) {
  return a.max.x <= b.min.x || b.max.x <= a.min.x || a.max.y <= b.min.y || b.max.y <= a.min.y;
}

std::string cut_words(const Gui& gui) {
  std::string all;
  for (const CutText& text : gui.drawn().cut_texts()) all += "'" + text.text + "' ";
  return all;
}

// Everything that is written inside this rectangle.
std::vector<std::string> words_inside(Gui& gui, const DrawnControl& r) {
  std::vector<std::string> words;
  for (const DrawnText& text : gui.texts()) {
    if (inside({text.min, text.max}, r)) words.push_back(text.words);
  }
  return words;
}

const struct {
  ImVec2 size;
  float scale;
  int rows;  // of the table that can be seen at least
} kWindows[] = {{{1280, 720}, 1, 12},
                {{1280, 720}, 1.5f, 6},
                {{1280, 720}, 2, 4},
                {{1024, 640}, 1, 10},
                {{1920, 1080}, 1, 12}};

// With the sheet open.
template <class F>
void for_each_window(Gui& gui, const F& f) {
  for (const auto& window : kWindows) {
    INFO(window.size.x, " x ", window.size.y, ", scale ", window.scale);
    gui.set_scale(window.scale);
    gui.set_size(window.size.x, window.size.y);
    gui.push(DoCommand{Command::kCompareBackends});
    gui.frame(2);
    f(window);
  }
}

// The height of a cell of the page's result, which is the last of its panes.
float result_cell(const Gui& gui) {
  int last = -1;
  float height = 0;
  for (const auto& control : gui.drawn().all()) {
    if (!control.first.starts_with("pane/")) continue;
    const int place = std::stoi(control.first.substr(5));
    if (place < last) continue;
    last = place;
    const HeatmapQuad& q = gui.heatmap(control.first).quad;
    height = (q.y1 - q.y0) / static_cast<float>(q.rows);
  }
  return height;
}

void choose_both(Gui& gui) {
  gui.push(ChooseCompute{ComputeMode::kBoth});
  settle(gui);
  REQUIRE(gui.state().derived.both);
}

}  // namespace

TEST_CASE("compute look: at every size the sheet shows operations, and its cross closes it") {
  Gui gui(eleven_tokens());
  choose_both(gui);
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    gui.push(ChooseLanguage{language});
    for_each_window(gui, [&](const auto& window) {
      const DrawnControl sheet = gui.rect("panel/compute"), table = gui.rect("compute_rows");
      int seen = 0;
      for (int i = 0; gui.has("compute/row/" + std::to_string(i)); ++i)
        seen += inside(gui.rect("compute/row/" + std::to_string(i)), table);
      CHECK(seen >= window.rows);
      CHECK(table.max.y <= sheet.max.y);
      const char* const controls[] = {"compute/mode/cpu",  "compute/mode/gpu",  "compute/mode/both",
                                      "compute/automatic", "compute/tab/table", "compute/tab/sizes",
                                      "compute/close"};
      for (const char* one : controls) {
        CHECK(inside(gui.rect(one), sheet));
        for (const char* other : controls)
          CHECK((one == other || apart(gui.rect(one), gui.rect(other))));
      }
      CHECK(cut_words(gui) == "");
      gui.click("compute/close");
      gui.frame(2);
      CHECK(!gui.has("panel/compute"));
    });
  }
}

TEST_CASE("compute look: at every size time against size is drawn, with the sizes measured") {
  Gui gui(small_document());
  gui.push(DoCommand{Command::kCompareBackends});
  gui.push(ShowSizes{true});
  gui.frame(2);
  measure_three_sizes(gui);
  std::set<std::string> measured;
  for (const SizePoint& point : gui.state().derived.sizes.points)
    measured.insert(count_text(point.tokens));
  for_each_window(gui, [&](const auto& window) {
    REQUIRE(gui.has("compute/chart"));
    const DrawnControl chart = gui.rect("compute/chart");
    CHECK(inside(chart, gui.rect("panel/compute")));
    CHECK(chart.max.y - chart.min.y >= 60 * window.scale);
    const float s = window.scale;
    const auto below = words_inside(gui, {{chart.min.x - 40 * s, chart.max.y - 1},
                                          {chart.max.x + 40 * s, chart.max.y + 26 * s}});
    // In a wide window what lies behind the sheet is written there, too.
    CHECK(std::count_if(below.begin(), below.end(),
                        [&](const std::string& words) { return measured.contains(words); }) >= 2);
    CHECK(cut_words(gui) == "");
    gui.click("compute/close");
    gui.frame(2);
  });
}

TEST_CASE("compute look: every column says what it means, every row its error and limit") {
  Gui gui(eleven_tokens());
  choose_both(gui);
  gui.push(DoCommand{Command::kCompareBackends});
  gui.frame(2);
  const std::pair<std::string, std::string> columns[] = {
      {"step", "A step of the model"},      {"difference", "The largest distance"},
      {"where", "A click on the line"},     {"error", "All differences together"},
      {"limit", "that rounding may leave"}, {"cpu", "took the processor"},
      {"gpu", "What its shaders took"}};
  for (const auto& column : columns) {
    CAPTURE(column.first);
    gui.hover("label/compute.column." + column.first);
    gui.frame(3);
    CHECK(gui.shows(column.second));
  }
  gui.hover("compute/row/3");
  gui.frame(3);
  const CallDifference& d = gui.state().derived.both->comparison.calls[3];
  CHECK(gui.shows("error " + number_text(d.cells.error, 2) + ", limit " + number_text(d.limit, 2)));
}

TEST_CASE("compute look: with Both on a low stage the matrices keep their room") {
  const float scale = 2;
  Gui gui(eleven_tokens(), {1280, 720}, scale);
  choose_both(gui);
  for (const bool inspector : {false, true}) {
    if (inspector) gui.push(DoCommand{Command::kToggleInspector});
    for (const std::string& step : step_names(gui.trace().program())) {
      if (step == "token_ids") continue;
      gui.push(GoToStep{step});
      gui.frame(2);
      INFO(step, inspector ? " beside the inspector" : "");
      // The result is drawn last. Q, K and V below one another have a third of the height each.
      const float least = step == "blocks.0.attn.q" ? 0.25f : 2.0f;
      CHECK(result_cell(gui) >= least * scale);
    }
  }
}

TEST_CASE("compute look: small gradients are no zeros in their cells, and ids have no decimals") {
  Gui gui(eleven_tokens(), {1920, 1080});
  gui.push(ShowBackward{true});
  gui.push(GoToStep{"d.loss"});
  gui.frame(2);
  int gradients = 0, ids = 0;
  for (const auto& control : gui.drawn().all()) {
    const std::string& id = control.first;
    if (!id.starts_with("pane/")) continue;
    CAPTURE(id);
    for (const std::string& words : words_inside(gui, control.second)) {
      CAPTURE(words);
      CHECK(words != "0.00");
      if (id.ends_with("/d.logits")) ++gradients;
      if (!id.ends_with("/targets")) continue;
      CHECK(words.find('.') == std::string::npos);
      ++ids;
    }
  }
  CHECK(gradients > 20);
  CHECK(ids == 11);
}

TEST_CASE("compute look: the legend of a gradient is that of the one asked about") {
  Gui gui(eleven_tokens());
  gui.push(ShowBackward{true});
  gui.push(GoToStep{"d.blocks.0.attn.scores_raw"});
  gui.frame(2);
  const auto legend = [&] { return words_inside(gui, gui.rect("legend/high")); };
  const auto limit = [&](const std::string& pane) {
    const float value = gui.heatmap(pane).quad.scale.limit;
    return std::vector<std::string>{number_text(value, 3)};
  };
  const std::string asks = "pane/0/d.blocks.0.attn.q", scores = "pane/2/d.blocks.0.attn.scores_raw";
  REQUIRE(gui.state().session.picked->tensor == "d.blocks.0.attn.q");
  CHECK(limit(asks) != limit(scores));
  CHECK(legend() == limit(asks));
  gui.click_cell(scores, 5, 0);
  gui.move_to({1, 1});
  gui.frame(2);
  CHECK(legend() == limit(scores));
}

}  // namespace headlight::test
