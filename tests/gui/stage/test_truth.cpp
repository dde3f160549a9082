// Over every kind of model, every page, both directions and both languages: legends whose ends
// differ, cells of one matrix written alike, one range for a sum, and words that are cut only where
// they can be read whole.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "app/ui/inspector/term_names.h"
#include "core/train/model_recipe.h"
#include "core/view/pane_layout.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

// "" is the random model.
std::vector<std::string> all_models() {
  std::vector<std::string> all = bundled_names();
  all.insert(all.begin(), "");
  return all;
}

Gui make_gui(const std::string& model, ImVec2 size) {
  if (!model.empty()) return Gui(bundled_document(model), size);
  Document document = small_document(1, 2, 8);
  document.sentence = "an extraordinarily unpronounceable internationalization sat on a mat";
  return Gui(document, size);
}

// To the backward pass, which brings the gradients.
void turn_back(Gui& gui) {
  gui.key({'B'});
  gui.frame(2);
  REQUIRE(gui.state().session.step.starts_with("d."));
}

// Every step that has a page with matrices; those that go back last.
std::vector<std::string> all_steps(Gui& gui) {
  turn_back(gui);
  std::vector<std::string> names;
  const Program& program = gui.trace().program();
  for (const bool backward : {true, false}) {
    for (const std::string& name : page_names(program)) {
      const Step& step =
          program.steps[static_cast<std::size_t>(program.step_of(program.find(name)))];
      if (step.backward == backward && !step.calls.empty()) names.push_back(name);
    }
  }
  return names;
}

// Visits every page in both languages; the mouse is away, and left there.
template <class Visit>
void each_page(ImVec2 size, Visit visit) {
  int pages = 0;
  for (const std::string& model : all_models()) {
    CAPTURE(model);
    Gui gui = make_gui(model, size);
    const std::vector<std::string> all = all_steps(gui);
    REQUIRE(all.size() > 40);
    const std::vector<std::string> steps = walked(all);
    REQUIRE(steps.front().starts_with("d."));
    for (const Language language : {Language::kEnglish, Language::kChinese}) {
      gui.push(ChooseLanguage{language});
      if (!gui.state().session.step.starts_with("d.")) turn_back(gui);
      for (const std::string& step : steps) {
        gui.push(GoToStep{step});
        REQUIRE(gui.state().session.step == step);
        CAPTURE(step);
        visit(gui);
        ++pages;
      }
    }
  }
  CHECK(pages > 600 / static_cast<int>(kWalkStride));
}

std::string words_at(const std::vector<DrawnText>& texts, const DrawnControl& r) {
  for (const DrawnText& text : texts) {
    const ImVec2 middle{(text.min.x + text.max.x) / 2, (text.min.y + text.max.y) / 2};
    if (middle.x >= r.min.x - 1 && middle.x <= r.max.x + 1 && middle.y >= r.min.y - 2 &&
        middle.y <= r.max.y + 2)
      return text.words;
  }
  return "";
}

// "0.00", "−0.0", "0.00e−4": no digit that tells it from zero.
bool reads_as_zero(std::string words) {
  words = words.substr(0, words.find('e'));
  return words.find_first_of("123456789") == std::string::npos;
}

// "1.25" has 2, "4.21e−3" too, and an exponent, which counts as 100 more; "0" and what only rounds
// to 0 or 1 may stand among any.
std::optional<int> decimals_of(const std::string& words) {
  if (words.starts_with("~") || words == "0" || words == "NaN" || words.ends_with("∞"))
    return std::nullopt;
  const std::size_t e = std::min(words.find('e'), words.size());
  const std::size_t point = std::min(words.find('.'), e);
  return static_cast<int>(e - std::min(point + 1, e)) + (e < words.size() ? 100 : 0);
}

// Cells in which numbers stand so far apart that they are read back one by one.
constexpr float kRoomy = 56;

// What is wrong with the numbers in the cells of this picture; "" where it has no room for any.
std::string wrong_numbers(const DrawnHeatmap& drawn, const DrawnControl& pane,
                          const std::vector<DrawnText>& texts) {
  const HeatmapQuad& q = drawn.quad;
  const float w = (q.x1 - q.x0) / static_cast<float>(q.columns);
  const float h = (q.y1 - q.y0) / static_cast<float>(q.rows);
  if (w < kRoomy || h < 15 || q.rows * q.columns > 2000) return "";
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> written;
  for (const DrawnText& text : texts) {
    const float x = (text.min.x + text.max.x) / 2, y = (text.min.y + text.max.y) / 2;
    if (x < pane.min.x || x > pane.max.x || y < pane.min.y || y > pane.max.y) continue;
    written[{static_cast<std::int64_t>((y - q.y0) / h),
             static_cast<std::int64_t>((x - q.x0) / w)}] = text.words;
  }
  std::set<int> decimals;
  for (std::int64_t r = 0; r < q.rows; ++r) {
    for (std::int64_t c = 0; c < q.columns; ++c) {
      const float value = drawn.cell(r, c);
      const bool empty = q.scale.map == ColorMap::kSequential && value == 0;
      const auto at = written.find({r, c});
      const std::string place = std::to_string(r) + ", " + std::to_string(c);
      if (at == written.end()) {
        if (empty || !std::isfinite(value)) continue;
        return "no number at " + place + ": " + std::to_string(value);
      }
      if (const auto d = decimals_of(at->second)) decimals.insert(*d);
      if (value != 0 && reads_as_zero(at->second) && at->second != "~0")
        return "reads as nothing at " + place + ": " + at->second;
      if (value != 1 && at->second.starts_with("1.000") && q.scale.map == ColorMap::kSequential)
        return "reads as all at " + place + ": " + std::to_string(value);
      if (decimals.size() > 1) return "other decimals at " + place + ": " + at->second;
    }
  }
  return "";
}

int times_said(Gui& gui, std::string words) {
  std::erase(words, ' ');
  std::string all;  // the lines of a paragraph follow each other
  for (const DrawnText& text : gui.texts()) all += text.words;
  int times = 0;
  for (std::size_t at = 0; (at = all.find(words, at)) != std::string::npos; ++at) ++times;
  return times;
}

// How much the walk below has looked at: none of it may stay near zero.
struct Seen {
  int sums = 0, weights = 0, tables = 0, letters = 0;
};

void check_legend(Gui& gui) {
  if (!gui.has("legend/high")) return;
  const std::vector<DrawnText> texts = gui.texts();
  std::string high = words_at(texts, gui.rect("legend/high"));
  std::string low = words_at(texts, gui.rect("legend/low"));
  CHECK(high != "");
  CHECK(low != "");
  CHECK(high != low);
  CHECK_FALSE(reads_as_zero(high));
  if (gui.has("legend/zero")) CHECK_FALSE(reads_as_zero(low));
}

// The pictures of a sum have one range, of what they span, and weights 0 to 1.
void check_ranges(Gui& gui, Seen& seen) {
  const Program& program = gui.trace().program();
  const Step& step =
      program
          .steps[static_cast<std::size_t>(program.step_of(program.find(gui.state().session.step)))];
  const bool adds = op_info(program.calls[static_cast<std::size_t>(step.calls[0])].op).id == "add";
  std::set<float> limits;
  float largest = 0;
  for (const auto& pane : gui.drawn().all()) {  // no binding: Clang does not capture those
    const std::string& id = pane.first;
    if (!id.starts_with("pane/")) continue;
    CAPTURE(id);
    const HeatmapQuad& q = gui.heatmap(id).quad;
    const std::string name = id.substr(id.find('/', 5) + 1);
    if (name.ends_with("pattern") && !name.starts_with("d.")) {
      CHECK(q.scale.map == ColorMap::kSequential);
      CHECK(q.scale.limit == 1);
      ++seen.weights;
    }
    if (step.backward != name.starts_with("d.")) continue;  // what no gradient reaches
    limits.insert(q.scale.limit);
    largest = std::max(largest, robust_limit(gui.tensor(name).cells()));
  }
  if (!adds) return;
  CHECK(limits.size() == 1);
  CHECK(*limits.begin() == largest);
  ++seen.sums;
}

// No two terms of a number are called the same.
void check_terms(Gui& gui, Seen& seen) {
  REQUIRE(gui.state().derived.inspected);
  const Explanation& e = gui.state().derived.inspected->explanation;
  const TermNames names(gui.trace(), e, Language::kEnglish);
  std::set<std::string> names_seen;
  for (const Term& term : e.terms) {
    CAPTURE(names.name(term));
    CHECK(names_seen.insert(names.name(term)).second);
  }
  seen.tables += e.terms.size() > 1;
}

// Where a token is a hyphen, labels side by side read like "-05".
bool has_hyphens(Gui& gui) { return std::ranges::count(gui.trace().input().vocab, "-") > 0; }

// A minus is a minus sign; no axis has an English name in Chinese.
void check_signs(Gui& gui) {
  const bool hyphens = has_hyphens(gui);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (const DrawnText& text : gui.texts()) {
    const std::string& words = text.words;
    CAPTURE(words);
    for (std::size_t at = 0; !hyphens && (at = words.find('-', at)) != std::string::npos; ++at) {
      const bool date = at > 0 && is_digit(words[at - 1]);
      CHECK((date || at + 1 == words.size() || !is_digit(words[at + 1])));
    }
    if (gui.state().session.language == Language::kChinese) {
      for (const char* english : {"vocab", "hidden", "classes"})
        CHECK_FALSE(words.find(english + std::string("1")) != std::string::npos);
    }
  }
}

// An index has the letter of its table's heading.
void check_letter(Gui& gui, Seen& seen) {
  const Explanation& e = gui.state().derived.inspected->explanation;
  const TermNames names(gui.trace(), e, Language::kEnglish);
  const std::size_t sum = e.formula.rfind("Σ_");
  if (e.formula.find("Σ_h") != std::string::npos) return;  // two indices along one axis
  if (!e.in_letters || e.terms.size() < 2 || names.tensor() < 0 || sum == std::string::npos) return;
  const bool head = names.axis() == "d_head", feature = names.axis() == "feature";
  if (!head && !feature) return;
  CAPTURE(e.formula);
  CHECK(e.formula[sum + 3] == (head ? 'd' : 'f'));
  ++seen.letters;
}

}  // namespace

TEST_CASE("truth: on every page, legends, ranges, names of terms, signs and letters are true") {
  Seen seen;
  each_page({1280, 720}, [&](Gui& gui) {
    check_legend(gui);
    check_ranges(gui, seen);
    check_terms(gui, seen);
    check_signs(gui);
    check_letter(gui, seen);
  });
  // Not each fifth page is of each kind.
  const int part = kWalkStride == 1 ? 1 : 20;
  CHECK(seen.sums > 40 / part);
  CHECK(seen.weights > 20 / part);
  CHECK(seen.tables > 300 / part);
  CHECK(seen.letters > 50 / part);
}

TEST_CASE(
    "truth: every cell that has room has its number, all of a matrix with the same decimals") {
  int written = 0;
  each_page({2560, 1440}, [&](Gui& gui) {
    const std::vector<DrawnText> texts = gui.texts();
    for (const auto& pane : gui.drawn().all()) {  // no binding: Clang does not capture those
      const std::string& id = pane.first;
      if (!id.starts_with("pane/")) continue;
      CAPTURE(id);
      const DrawnHeatmap& drawn = gui.heatmap(id);
      // Targets are names: test_marks reads them.
      if (drawn.quad.scale.limit == std::numeric_limits<float>::max()) continue;
      CHECK(wrong_numbers(drawn, pane.second, texts) == "");
      written += (drawn.quad.x1 - drawn.quad.x0) / static_cast<float>(drawn.quad.columns) >= kRoomy;
    }
  });
  CHECK(written > 50 / static_cast<int>(kWalkStride));
}

TEST_CASE(
    "truth: what is chosen on the way back is of the head shown, and something came back to it") {
  int weights = 0, splits = 0;
  for (const char* model : {"grammar", "sentiment"}) {
    Gui gui = make_gui(model, {1280, 720});
    gui.push(ChooseHead{1});
    for (const std::string& step : all_steps(gui)) {
      if (!step.starts_with("d.")) break;
      gui.push(GoToStep{step});
      gui.frame();
      CAPTURE(step);
      const CellPick picked = *gui.state().session.picked;
      const TensorView t = gui.tensor(picked.tensor);
      CHECK(t.at(picked.index) != 0);
      const Program& program = gui.trace().program();
      const Step& now =
          program.steps[static_cast<std::size_t>(program.step_of(program.find(step)))];
      const std::string_view op =
          op_info(program.calls[static_cast<std::size_t>(now.calls[0])].op).id;
      if (op == "split_heads") {
        CHECK(picked.index[2] / gui.trace().config().head_width() == 1);
        ++splits;
      }
      if (!picked.tensor.ends_with("attn.pattern")) continue;
      CHECK(gui.tensor(picked.tensor.substr(2)).at(picked.index) != 0);
      ++weights;
    }
  }
  CHECK(weights > 2);
  CHECK(splits > 2);
}

TEST_CASE("truth: the words of a page do not give way to an empty band") {
  Gui gui = make_gui("grammar", {1280, 720});
  gui.push(DoEdit{SetSentence{bundled_recipe("grammar").example}, ""});
  for (const char* step : {"blocks.0.attn.v_proj", "logits", "d.blocks.0.attn.v_proj"}) {
    if (step[0] == 'd') turn_back(gui);
    gui.push(GoToStep{step});
    gui.frame(2);
    CAPTURE(step);
    const DrawnControl stage = gui.rect("panel/stage");
    bool said = false;
    for (const DrawnText& text : gui.texts())
      said |= text.words.size() > 30 && text.min.x < stage.min.x + 40 && text.min.x > stage.min.x &&
              text.min.y > stage.min.y + 40 && text.min.y < stage.min.y + 90;
    CHECK(said);
  }
}

TEST_CASE("truth: words that are cut say all of themselves under the mouse") {
  int shortened = 0;
  each_page({1024, 640}, [&](Gui& gui) {
    std::set<std::string> seen;
    const std::vector<ShortenedText> all = gui.drawn().shortened();
    for (const ShortenedText& text : all) {
      CHECK(text.shown.find("…") != std::string::npos);
      if (!seen.insert(text.whole).second || seen.size() > 3) continue;
      CAPTURE(text.whole);
      gui.move_to({1, 1});  // away from the last one, whose tooltip may hold the same word
      gui.frame();
      // Beside the column that is marked now a name gives way.
      const auto& now = gui.drawn().shortened();
      if (std::ranges::none_of(now, [&](const auto& t) { return t.whole == text.whole; })) continue;
      const int before = times_said(gui, text.whole);
      gui.move_to({(text.min.x + text.max.x) / 2, (text.min.y + text.max.y) / 2});
      gui.frame();
      CHECK(times_said(gui, text.whole) > before);
      ++shortened;
    }
    if (!seen.empty()) gui.move_to({-1, -1});
    CHECK(gui.drawn().cut_texts().empty());
  });
  CHECK(shortened > 20 / static_cast<int>(kWalkStride));
}

TEST_CASE("truth: a result of few cells fills its place, and its row opens right below it") {
  Gui gui = make_gui("sentiment", {2560, 1440});
  gui.push(GoToStep{"probs"});
  gui.frame(2);
  const HeatmapQuad q = gui.heatmap("pane/1/probs").quad;
  CHECK((q.x1 - q.x0) / 2 >= 60);
  // Two classes, 1.00 and 8e-5: neither is an outlier.
  CHECK(q.scale.limit == 1);
  const DrawnControl row = gui.rect("panel/detail");
  CHECK(row.min.y - q.y1 < 60);
  CHECK(row.min.x < q.x1);
  CHECK(row.max.x > q.x0);
}

TEST_CASE("truth: rows against a long vocabulary are as high as they have room") {
  Gui gui = make_gui("grammar", {1920, 1080});
  gui.push(DoEdit{SetSentence{"the boys are"}, ""});
  for (const char* name : {"logits", "probs"}) {
    gui.push(GoToStep{name});
    gui.frame(2);
    for (const auto& [id, r] : gui.drawn().all()) {
      if (!id.starts_with("pane/") || !id.ends_with(name)) continue;
      CHECK((r.max.y - r.min.y) / 3 >= 20);
    }
  }
}

TEST_CASE("truth: the name of the chosen number is read whole, the key with it") {
  Gui gui = make_gui("", {1280, 720});
  for (const char* step : {"blocks.0.attn.pattern", "blocks.0.attn.scores_masked"}) {
    gui.push(GoToStep{step});
    gui.push(PickCell{{step, {0, 0, 3, 2}}});
    gui.move_to({-1, -1});
    gui.frame(2);
    CAPTURE(step);
    CHECK(gui.shows("unpronounceable]"));
    for (const ShortenedText& text : gui.drawn().shortened())
      CHECK(text.whole.find(']') == std::string::npos);
  }
}

TEST_CASE("truth: a target is an id without a colour, and none is a dash") {
  Gui gui = make_gui("induction", {1920, 1080});
  turn_back(gui);
  gui.push(GoToStep{"d.loss"});
  gui.frame(2);
  int panes = 0;
  for (const auto& [id, r] : gui.drawn().all()) {
    if (!id.starts_with("pane/") || !id.ends_with("targets")) continue;
    ++panes;
    const DrawnHeatmap& drawn = gui.heatmap(id);
    const std::int64_t last = drawn.quad.rows - 1;
    REQUIRE(drawn.cell(last, 0) == -1);
    CHECK(color_at(drawn.quad.scale, drawn.cell(0, 0)) == color_at(drawn.quad.scale, 0));
    std::string words;
    for (const DrawnText& text : gui.texts()) {
      const float x = (text.min.x + text.max.x) / 2, y = (text.min.y + text.max.y) / 2;
      if (x > r.min.x && x < r.max.x && y > r.min.y && y < r.max.y) words += text.words + " ";
    }
    CAPTURE(words);
    CHECK(words.find("–") != std::string::npos);
    CHECK(words.find("−1") == std::string::npos);
  }
  CHECK(panes == 1);
}

TEST_CASE("truth: an encoder's page does not say that it is causal") {
  Gui gui = make_gui("dates", {1920, 1080});
  gui.push(GoToStep{"encoder.blocks.0.attn.pattern"});
  gui.frame(2);
  CHECK(gui.shows("Decoder mask"));
  Gui other = make_gui("grammar", {1920, 1080});
  CHECK(other.shows("Mask"));
  CHECK_FALSE(other.shows("Decoder mask"));
}

TEST_CASE("truth: a sine of the position has no table of one constant") {
  Gui gui = make_gui("", {1920, 1080});
  gui.push(GoToStep{"pos_embed"});
  gui.frame(2);
  CHECK(gui.shows("sin("));
  CHECK_FALSE(gui.has("term/0"));
  gui.push(GoToStep{"blocks.0.resid_pre"});
  gui.frame(2);
  CHECK(gui.has("term/0"));
}

}  // namespace headlight::test
