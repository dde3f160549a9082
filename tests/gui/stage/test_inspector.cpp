// The inspector's gestures: tabs, terms, the trail, copying, words that light matrices; and every
// number that it prints, against the trace.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "app/ui/kit/chart.h"
#include "app/ui/state/commands.h"
#include "core/base/number_text.h"
#include "core/explain/arithmetic.h"
#include "core/explain/step_code.h"
#include "core/explain/steps.h"
#include "core/view/row_detail.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

using Cell = std::vector<std::int64_t>;

const std::string kScores = "blocks.0.attn.scores_raw";

void pick(Gui& gui, const std::string& tensor, const Cell& cell) {
  gui.push(GoToStep{tensor});
  gui.push(PickCell{{tensor, cell}});
  gui.frame();
}

const CellPick& picked(const Gui& gui) {
  REQUIRE(gui.state().session.picked);
  return *gui.state().session.picked;
}

std::string clipboard() { return ImGui::GetClipboardText(); }

Explanation picked_explanation(const Gui& gui) {
  const CellPick& cell = picked(gui);
  return explain(gui.trace(), gui.trace().program().find(cell.tensor), cell.index);
}

std::vector<Document> documents() {
  std::vector<Document> all = {small_document(2, 2, 8)};
  const auto with = [&](auto change) {
    all.push_back(small_document(1, 2, 8));
    change(all.back().config);
  };
  with([](Config& c) { c.scores = ScoreKind::kAdditive, c.scale = false; });
  with([](Config& c) { c.attention = AttentionKind::kBasic; });
  with([](Config& c) { c.block = BlockKind::kPostNorm, c.bias = false; });
  with([](Config& c) { c.activation = Activation::kRelu; });
  with([](Config& c) { c.activation = Activation::kGeluTanh; });
  with([](Config& c) { c.positions = PositionKind::kLearned; });
  for (const MaskKind kind : {MaskKind::kNone, MaskKind::kPadding, MaskKind::kLocal,
                              MaskKind::kStrided, MaskKind::kFree}) {
    with([&](Config& c) {
      c.mask.kind = kind;
      c.mask.padding = {0, 1};
      c.mask.forbidden = {{0, 0}, {2, 1}};
    });
  }
  return all;
}

// ---- the numbers printed ----

// Numbers in a text, as they are written; digits within words and names do not count.
std::vector<std::string> numbers_in(const std::string& text) {
  std::vector<std::string> found;
  const std::string minus = "\u2212";
  for (std::size_t i = 0; i < text.size();) {
    const bool digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    if (!digit) {
      ++i;
      continue;
    }
    std::size_t begin = i;
    if (begin >= 3 && text.compare(begin - 3, 3, minus) == 0) begin -= 3;
    while (i < text.size() &&
           (std::isdigit(static_cast<unsigned char>(text[i])) || text[i] == '.')) {
      ++i;
    }
    if (i < text.size() && text[i] == 'e') {
      ++i;
      if (text.compare(i, 3, minus) == 0) i += 3;
      while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i]))) ++i;
    }
    found.push_back(text.substr(begin, i - begin));
  }
  return found;
}

void add(std::set<std::string>& all, double value) {
  for (int digits = 3; digits <= 5; ++digits) {
    std::string text = number_text(value, digits);
    for (const std::string& number : numbers_in(text)) all.insert(number);
  }
}

// Every number that may stand in the table of a cell: its value, its terms' and their sums, read
// from the trace's cells.
std::set<std::string> allowed_numbers(const Gui& gui, const Explanation& e) {
  std::set<std::string> all;
  const Trace& trace = gui.trace();
  const auto cell = [&](const CellRef& c) { return trace.tensor(c.tensor).at(c.index); };
  add(all, cell(e.cell));
  double sum = 0, inner = 0, rest_sum = 0, rest_inner = 0;
  std::size_t left = 0;
  const auto order = by_size(e.terms);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Term& t = e.terms[order[i]];
    const double value = t.cell.tensor < 0 ? t.value : cell(t.cell);
    const double factor =
        t.factor_cells.size() == 1 && t.note.empty() ? cell(t.factor_cells[0]) : t.factor;
    for (const double x : {value, factor, value * factor}) add(all, x);
    sum += value * factor;
    if (i >= 10) rest_sum += value * factor, ++left;
  }
  std::vector<double> exponentials;
  for (const Term& t : e.terms) {
    if (t.inner) exponentials.push_back(*t.inner);
  }
  std::sort(exponentials.rbegin(), exponentials.rend());
  for (std::size_t i = 0; i < exponentials.size(); ++i) {
    add(all, exponentials[i]);
    if (i >= 10) rest_inner += exponentials[i];
    inner += exponentials[i];
  }
  for (const double x : {sum, rest_sum, rest_inner, inner}) add(all, x);
  for (const Quantity& q : e.quantities) {
    add(all, q.value);
    all.insert(std::to_string(static_cast<long>(std::llround(q.value))));
  }
  for (const std::size_t n : {left, e.terms.size()}) all.insert(std::to_string(n));
  return all;
}

// Does the inspector say this, over however many lines?
bool says(Gui& gui, std::string words) {
  const DrawnControl panel = gui.rect("panel/inspector");
  std::string all;
  for (const DrawnText& text : gui.texts()) {
    if (text.min.x >= panel.min.x && text.max.x <= panel.max.x) all += text.words;
  }
  std::erase(words, ' ');
  return all.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE(
    "inspector: a number goes where it is computed with, not where only its tensor's sizes count") {
  for (const char* model : {"stories", "grammar", "dates"}) {
    CAPTURE(std::string(model));
    Gui gui(bundled_document(model), {1440, 900});
    gui.push(GoToStep{"token_ids"});
    gui.push(PickCell{{"token_ids", {0, 1}}});
    gui.frame(2);
    REQUIRE(gui.has("inspector/next/0"));
    CHECK_FALSE(gui.has("inspector/next/1"));  // positions only count the tokens
    gui.click("inspector/next/0");
    CHECK(gui.state().session.step.ends_with("embed"));
    CHECK_FALSE(gui.state().session.step.ends_with("pos_embed"));
  }
}

TEST_CASE("inspector: keys and clicks choose the tab") {
  Gui gui(small_document());
  CHECK(gui.state().session.inspector_tab == InspectorTab::kNumbers);
  gui.click("inspector/code");
  CHECK(gui.state().session.inspector_tab == InspectorTab::kCode);
  CHECK(gui.shows("import numpy as np"));
  gui.key({'3', false, false});
  CHECK(gui.state().session.inspector_tab == InspectorTab::kWords);
  CHECK(gui.has("words/0"));
  gui.key({'1', false, false});
  CHECK(gui.state().session.inspector_tab == InspectorTab::kNumbers);
  CHECK(gui.has("term/0"));
  gui.key({'2', false, false});
  CHECK(gui.state().session.inspector_tab == InspectorTab::kCode);
}

TEST_CASE("inspector: every number of a cell's table is the trace's, for every operation") {
  for (const Document& document : documents()) {
    Gui gui(document, {1920, 2400});
    std::set<std::string> operations;
    for (const std::string& step : step_names(gui.trace().program())) {
      if (step == "token_ids") continue;
      const TensorView t = gui.tensor(step);
      for (const std::int64_t flat : {std::int64_t{0}, t.size() / 2, t.size() - 1}) {
        pick(gui, step, unravel(t.axes, flat));
        const Explanation e = picked_explanation(gui);
        operations.insert(e.operation);
        CAPTURE(cell_text(gui.trace(), e.cell));
        CHECK(says(gui, line_number(e, t.data[flat])));
        LineStyle style;
        style.most = 3;
        style.label = token_label;
        CHECK(says(gui, arithmetic_line(gui.trace(), e, style)));
        if (e.terms.empty()) continue;
        const std::set<std::string> allowed = allowed_numbers(gui, e);
        const std::vector<DrawnText> texts = gui.texts();
        for (std::size_t i = 0; i < e.terms.size(); ++i) {
          const std::string id = "term/" + std::to_string(i);
          if (!gui.has(id)) continue;
          const DrawnControl line = gui.rect(id);
          for (const DrawnText& text : texts) {
            const float y = (text.min.y + text.max.y) / 2;
            const bool inside = y > line.min.y && y < line.max.y && text.min.x > line.min.x + 60 &&
                                text.max.x < line.max.x;
            if (!inside) continue;
            for (const std::string& number : numbers_in(text.words)) {
              INFO(number, " in the line of term ", i);
              CHECK(allowed.contains(number));
            }
          }
        }
      }
    }
    CHECK(operations.size() >= 8);
  }
}

TEST_CASE("inspector: a term leads to its cell, crumbs and Backspace lead back") {
  Gui gui(small_document(4, 2, 8));
  pick(gui, "blocks.3.attn.scores_raw", {0, 1, 4, 2});
  CHECK(gui.state().session.trail.empty());
  std::vector<CellPick> way = {picked(gui)};
  // Down to a weight or an input: the largest term each time.
  for (int i = 0; i < 40; ++i) {
    const Explanation e = picked_explanation(gui);
    if (e.terms.empty()) break;
    const std::size_t largest = by_size(e.terms)[0];
    if (e.terms[largest].cell.tensor < 0) break;
    if (!gui.has("term/" + std::to_string(largest))) gui.click("inspector/all_terms");  // a norm
    gui.click("term/" + std::to_string(largest));
    way.push_back(picked(gui));
    CHECK(gui.state().session.trail.size() == way.size() - 1);
  }
  REQUIRE(way.size() > 8);
  const Explanation end = picked_explanation(gui);
  CHECK((end.operation == "parameter" || end.operation == "sinusoid"));
  // A long trail stays on its line: the first, "…", the last ones, none over another.
  CHECK(gui.has("inspector/crumb/more"));
  std::vector<DrawnControl> crumbs;
  for (const auto& entry : gui.drawn().all()) {
    if (entry.first.starts_with("inspector/crumb/")) crumbs.push_back(entry.second);
  }
  std::sort(crumbs.begin(), crumbs.end(),
            [](const DrawnControl& a, const DrawnControl& b) { return a.min.x < b.min.x; });
  for (std::size_t i = 0; i + 1 < crumbs.size(); ++i) {
    CHECK(crumbs[i].max.x <= crumbs[i + 1].min.x);
  }
  CHECK(crumbs.back().max.x <= gui.rect("panel/inspector").max.x);
  gui.key({kKeyBackspace, false, false});
  CHECK(picked(gui) == way[way.size() - 2]);
  CHECK(gui.state().session.trail.size() == way.size() - 2);
  gui.click("inspector/crumb/0");
  CHECK(picked(gui) == way[0]);
  CHECK(gui.state().session.step == "blocks.3.attn.scores_raw");
  CHECK(gui.state().session.trail.empty());
}

TEST_CASE("inspector: a cell picked on the stage starts a new trail") {
  Gui gui(small_document());
  pick(gui, kScores, {0, 0, 4, 2});
  gui.click("term/0");
  CHECK(gui.state().session.trail.size() == 1);
  gui.push(GoToStep{kScores});
  gui.frame();
  CHECK(gui.state().session.trail.empty());
  gui.click("term/0");
  gui.push(GoToStep{kScores});
  gui.click_cell("pane/2/" + kScores, 3, 1);
  CHECK(picked(gui).index == Cell{0, 0, 3, 1});
  CHECK(gui.state().session.trail.empty());
}

TEST_CASE("inspector: small terms are counted, summed, and shown on demand") {
  Gui gui(small_document(1, 2, 64), {1440, 3000});
  pick(gui, "blocks.0.attn.q_proj", {0, 4, 3});
  const Explanation e = picked_explanation(gui);
  REQUIRE(e.terms.size() == 65);
  const auto order = by_size(e.terms);
  double rest = 0;
  for (std::size_t i = 10; i < order.size(); ++i) rest += e.terms[order[i]].product();
  CHECK(gui.shows("+ 55 smaller terms"));
  CHECK(gui.shows(signed_number(rest)));
  CHECK_FALSE(gui.has("term/" + std::to_string(order.back())));
  gui.click("inspector/all_terms");
  for (std::size_t i = 0; i < e.terms.size(); ++i) CHECK(gui.has("term/" + std::to_string(i)));
  gui.click("inspector/all_terms");
  CHECK_FALSE(gui.has("term/" + std::to_string(order.back())));
}

TEST_CASE("inspector: a norm's cell goes its way line by line, its terms are shown on demand") {
  Gui gui(small_document(1, 2, 16), {1440, 3000});
  pick(gui, "blocks.0.ln1.normalized", {0, 2, 5});
  const Explanation e = picked_explanation(gui);
  REQUIRE(e.terms.size() == 17);
  const auto row = row_of(gui.trace(), e.cell.tensor, e.cell.index);
  REQUIRE(row);
  REQUIRE(row->lines.size() == 5);
  for (const char* line : {"x − mean", "÷ √(variance + ε)", "· w", "+ b"}) CHECK(gui.shows(line));
  for (const RowLine& line : row->lines) CHECK(gui.shows(line_number(e, line.values[5])));
  CHECK_FALSE(gui.has("term/0"));
  CHECK(gui.shows("Its sum of 17 terms: show"));
  gui.click("inspector/all_terms");
  gui.frame();
  CHECK(gui.has("term/0"));
  CHECK_FALSE(gui.shows("Its sum of 17 terms: show"));
  CHECK(gui.shows("sum of 17 terms"));
}

TEST_CASE("inspector: bars of tiny terms stay in their column, larger ones are never shorter") {
  CHECK(bar_length(44, 0, 1) == 0);
  CHECK(bar_length(44, NAN, 1) == 0);
  float last = 0;
  for (const double share : {2.4e-8, 3.3e-5, 6.5e-5, 0.01, 0.5, 1.0, 1.0001}) {
    const float length = bar_length(44, share, 1);
    CHECK(length >= std::max(last, 1.0f));
    CHECK(length <= 44);
    last = length;
  }
  CHECK(bar_length(44, 0.5, 1) == 22);
}

TEST_CASE("inspector: copying puts text, LaTeX, a table and code into the clipboard") {
  Gui gui(small_document());
  pick(gui, kScores, {0, 0, 4, 2});
  const Explanation e = picked_explanation(gui);
  gui.click("copy/text");
  CHECK(clipboard() == explanation_as_text(gui.trace(), e));
  CHECK(gui.state().session.copied_by == "copy/text");
  gui.click("copy/latex");
  CHECK(clipboard() == explanation_as_latex(gui.trace(), e));
  gui.click("copy/table");
  CHECK(clipboard() == explanation_as_table(gui.trace(), e));
  gui.ctrl('C');
  CHECK(clipboard() == explanation_as_text(gui.trace(), e));
  gui.ctrl('C', true);
  CHECK(clipboard() == explanation_as_latex(gui.trace(), e));
  gui.click("inspector/code");
  gui.click("inspector/library/torch");
  gui.click("copy/code");
  const Step& step = gui.trace().program().steps[static_cast<std::size_t>(
      gui.trace().program().step_of(e.cell.tensor))];
  CHECK(clipboard() == step_code(gui.trace(), step, CodeLibrary::kTorch).text);
}

TEST_CASE("inspector: the code follows the step and the model") {
  Gui gui(small_document());
  gui.click("inspector/code");
  for (const std::string& name : step_names(gui.trace().program())) {
    gui.push(GoToStep{name});
    gui.frame();
    CAPTURE(name);
    const Program& program = gui.trace().program();
    const Step& step = program.steps[static_cast<std::size_t>(program.step_of(program.find(name)))];
    REQUIRE(gui.state().derived.inspected);
    CHECK(gui.state().derived.inspected->code.text ==
          step_code(gui.trace(), step, CodeLibrary::kNumpy).text);
  }
  gui.push(DoEdit{SetSentence{"one two three four"}, ""});
  gui.frame();
  CHECK(gui.state().derived.inspected->code.text.find("(4, 4)") != std::string::npos);
}

TEST_CASE("words: every name is a tensor of the program, and what is said of tokens is so") {
  for (const Document& document : documents()) {
    Gui gui(document);
    const Trace& trace = gui.trace();
    std::set<std::string> tokens(trace.input().tokens.begin(), trace.input().tokens.end());
    for (const Step& step : trace.program().steps) {
      for (const Language language : {Language::kEnglish, Language::kChinese}) {
        CAPTURE(trace.program().tensors[static_cast<std::size_t>(step.tensor)].name);
        std::string all;
        int links = 0;
        for (const WordPiece& piece : step_paragraphs(language, trace, step, 0, 3)) {
          all += piece.text;
          links += piece.tensor >= 0;
          CHECK(piece.tensor < static_cast<TensorId>(trace.program().tensors.size()));
        }
        CHECK(links > 0);
        for (const char* markup : {"[[", "]]", "{", "}", "words."}) {
          INFO(markup, " in ", all);
          CHECK(all.find(markup) == std::string::npos);
        }
        const std::string open = language == Language::kEnglish ? "\u201c" : "\u300c";
        const std::string close = language == Language::kEnglish ? "\u201d" : "\u300d";
        for (std::size_t at = 0; (at = all.find(open, at)) != std::string::npos;) {
          at += open.size();
          const std::string token = all.substr(at, all.find(close, at) - at);
          INFO("\"", token, "\" in ", all);
          CHECK(tokens.contains(token));
        }
      }
    }
  }
}

TEST_CASE("words: the key that scores highest is the one with the largest score of the row") {
  Gui gui(small_document(1, 2, 8));
  const TensorView scores = gui.tensor(kScores);
  const Program& program = gui.trace().program();
  const Step& step =
      program.steps[static_cast<std::size_t>(program.step_of(program.find(kScores)))];
  for (std::int64_t query = 0; query < gui.trace().length(); ++query) {
    std::int64_t best = 0;
    for (std::int64_t key = 0; key <= query; ++key) {  // the others are masked
      if (scores.at(Cell{0, 1, query, key}) > scores.at(Cell{0, 1, query, best})) best = key;
    }
    std::string all;
    for (const WordPiece& p : step_paragraphs(Language::kEnglish, gui.trace(), step, 1, query)) {
      all += p.text;
    }
    const std::string said = "In head 1, \u201c" + gui.trace().tick("query", query) +
                             "\u201d scores highest with \u201c" + gui.trace().tick("key", best) +
                             "\u201d among the keys that it may look at: " +
                             number_text(scores.at(Cell{0, 1, query, best}), 3);
    INFO(all);
    CHECK(all.find(said) != std::string::npos);
  }
}

TEST_CASE("words: a name under the mouse lights its matrix, and the other way round") {
  Gui gui(small_document());
  gui.push(GoToStep{kScores});
  gui.click("inspector/words");
  gui.hover("words/0");
  gui.frame(2);
  CHECK(gui.state().session.lit_tensor == "blocks.0.attn.q");
  const DrawnControl lit = gui.rect("lit/blocks.0.attn.q"),
                     pane = gui.rect("pane/0/blocks.0.attn.q");
  CHECK(lit.min.x < pane.min.x);
  CHECK(lit.max.y > pane.max.y);
  CHECK(gui.has("words/lit/blocks.0.attn.q"));
  gui.move_to({2, 2});
  gui.frame(2);
  CHECK(gui.state().session.lit_tensor == "");
  CHECK_FALSE(gui.has("lit/blocks.0.attn.q"));
  gui.move_to(gui.cell_center("pane/1/blocks.0.attn.k", 1, 1));
  gui.frame(2);
  CHECK(gui.has("words/lit/blocks.0.attn.k"));
  CHECK_FALSE(gui.has("words/lit/blocks.0.attn.q"));
  gui.click("words/0");
  CHECK(gui.state().session.step == "blocks.0.attn.q");  // the step that cuts q, k and v
}

TEST_CASE("inspector: a number that is not finite is named, with a way to where it came in") {
  Gui gui(small_document());
  pick(gui, "blocks.0.attn.scores_masked", {0, 0, 1, 4});
  CHECK(says(gui, "the mask forbids it"));
  gui.click("inspector/special");
  CHECK(picked(gui).tensor == "mask");
  CHECK(picked(gui).index == Cell{0, 1, 4});

  const TensorView weights = gui.tensor("blocks.0.attn.W_Q"),
                   q = gui.tensor("blocks.0.attn.q_proj");
  const float was = weights.data[1];
  const_cast<float*>(weights.data)[1] = std::numeric_limits<float>::quiet_NaN();
  const_cast<float*>(q.data)[1] = std::numeric_limits<float>::quiet_NaN();
  pick(gui, "blocks.0.attn.q_proj", {0, 0, 1});
  CHECK(says(gui, "This number is NaN: it came in at"));
  gui.click("inspector/special");
  CHECK(picked(gui).tensor == "blocks.0.attn.W_Q");
  CHECK(picked(gui).index == Cell{0, 0, 1});
  const_cast<float*>(weights.data)[1] = was;
}

TEST_CASE("inspector: nothing is cut off in any tab, at any size, in both languages") {
  Gui gui(small_document(1, 2, 16));
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    gui.push(ChooseLanguage{language});
    for (const ImVec2 size : {ImVec2{1280, 720}, ImVec2{1920, 1080}}) {
      gui.set_size(size.x, size.y);
      for (const InspectorTab tab :
           {InspectorTab::kNumbers, InspectorTab::kCode, InspectorTab::kWords}) {
        gui.push(ChooseTab{tab});
        for (const std::string& step : step_names(gui.trace().program())) {
          gui.push(GoToStep{step});
          gui.frame();
          CAPTURE(step);
          const DrawnControl panel = gui.rect("panel/inspector");
          for (const DrawnText& text : gui.texts()) {
            if (text.slanted || text.min.x < panel.min.x || text.min.y < panel.min.y) continue;
            INFO(text.words);
            CHECK(text.max.x <= panel.max.x + 1);
            CHECK(text.words.find("inspector.") == std::string::npos);  // an id without a text
            CHECK(text.words.find("words.") == std::string::npos);
          }
          for (const CutText& text : gui.drawn().cut_texts()) FAIL_CHECK(text.text);
        }
      }
    }
  }
}

TEST_CASE("inspector: how factors came about is said in the interface's language") {
  Document document = small_document(1, 2, 16);
  document.config.activation = Activation::kGelu;
  Gui gui(std::move(document), {1920, 3000});
  // The texts of a frame are without spaces.
  const auto over_factors = [&](std::string_view words) {
    const float y = gui.rect("term/0").min.y;
    return std::ranges::any_of(gui.texts(), [&](const DrawnText& text) {
      return text.words == words && text.min.y < y && text.min.y > y - 40;
    });
  };
  pick(gui, "blocks.0.attn.scores_scaled", {0, 0, 4, 2});
  CHECK(over_factors("1/√d_k"));
  pick(gui, "blocks.0.mlp.post", {0, 4, 2});
  CHECK(over_factors("gate"));
  // A number that is only moved has no factor but 1.
  pick(gui, "blocks.0.attn.concat", {0, 4, 2});
  CHECK(over_factors("factor"));
  CHECK_FALSE(over_factors("fromhead0"));
  gui.push(ChooseLanguage{Language::kChinese});
  pick(gui, "blocks.0.mlp.post", {0, 4, 2});
  CHECK(over_factors("门控值"));
  // Of a row and its bias there is no one word for both.
  pick(gui, "blocks.0.attn.q_proj", {0, 4, 3});
  CHECK_FALSE(over_factors("偏置"));
  gui.click("inspector/all_terms");
  gui.hover("term/16");  // behind sixteen products
  CHECK(gui.shows("偏置"));
  gui.hover("term/0");
  CHECK_FALSE(gui.shows("偏置"));
}

TEST_CASE("inspector: a term under the mouse lights its cell on the stage") {
  Gui gui(small_document(), {1600, 900});
  for (const char* tensor : {"blocks.0.attn.scores_raw", "blocks.0.attn.pattern"}) {
    pick(gui, tensor, {0, 0, 4, 2});
    const Explanation e = picked_explanation(gui);
    int seen = 0;
    for (std::size_t i = 0; i < e.terms.size(); ++i) {
      const std::string id = "term/" + std::to_string(i);
      if (!gui.has(id) || gui.rect(id).max.y > gui.rect("panel/inspector").max.y) continue;
      gui.hover(id);
      const CellRef& cell = e.terms[i].cell;
      REQUIRE(gui.state().session.hovered);
      CHECK(gui.trace().program().find(gui.state().session.hovered->tensor) == cell.tensor);
      CHECK(gui.state().session.hovered->index == cell.index);
      ++seen;
    }
    CHECK(seen > 1);
    gui.move_to({1, 1});
    gui.frame();
    CHECK_FALSE(gui.state().session.hovered);
  }
}

}  // namespace headlight::test
