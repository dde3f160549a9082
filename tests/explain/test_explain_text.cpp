// A number's arithmetic as text, LaTeX and a table, over every step of several models: each number
// that is written is the trace's, the written sum is the cell, and the largest terms lead back to
// where every number begins.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/backends/backend.h"
#include "core/base/number_text.h"
#include "core/explain/arithmetic.h"
#include "core/explain/origin.h"
#include "core/run/runner.h"

namespace headlight::test_explain_text {
namespace {

std::shared_ptr<const Trace> run(const Document& document) {
  Runner runner;
  const auto backend = make_reference_backend();
  const RunResult result = runner.run(document, *backend);
  REQUIRE_MESSAGE(result.trace, result.problem);
  return result.trace;
}

Document document_of(int layers, int heads, int width) {
  Document d;
  d.sentence = "the cat sat on the mat";
  d.config.layers = layers;
  d.config.heads = heads;
  d.config.d_model = width;
  return d;
}

std::vector<Document> documents() {
  std::vector<Document> all = {document_of(2, 2, 8)};
  const auto with = [&](auto change) {
    all.push_back(document_of(1, 2, 8));
    change(all.back().config);
  };
  with([](Config& c) { c.scores = ScoreKind::kAdditive, c.scale = false; });
  with([](Config& c) { c.attention = AttentionKind::kBasic; });
  with([](Config& c) { c.attention = AttentionKind::kSingle; });
  with([](Config& c) { c.block = BlockKind::kPostNorm, c.bias = false; });
  with([](Config& c) { c.activation = Activation::kRelu; });
  with([](Config& c) { c.activation = Activation::kGeluTanh; });
  with([](Config& c) { c.positions = PositionKind::kLearned; });
  with([](Config& c) {
    c.mask.kind = MaskKind::kFree;
    c.mask.forbidden = {{0, 0}, {2, 1}};
  });
  all.push_back(document_of(1, 2, 8));
  all.back().sentence = "50% a_b {x} \\y #1 & ~ ^ 猫 🙂 | < > $";
  return all;
}

// Calls `check` for some cells of every tensor that an operation made.
template <class Check>
void for_cells(const Trace& trace, Check check) {
  for (const OpCall& call : trace.program().calls) {
    const TensorView t = trace.tensor(call.out);
    const std::int64_t stride = std::max<std::int64_t>(1, t.size() / 7);
    for (std::int64_t i = 0; i < t.size(); i += stride) {
      const CellRef cell{call.out, unravel(t.axes, i)};
      const Explanation e = explain(trace, cell.tensor, cell.index);
      check(cell, e);
    }
  }
}

double value_of(const Trace& trace, const CellRef& cell) {
  return trace.tensor(cell.tensor).at(cell.index);
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// A number as we write it, read back.
double read_number(std::string text) {
  for (std::size_t at = 0; (at = text.find("\u2212", at)) != std::string::npos;) {
    text.replace(at, 3, "-");
  }
  if (text == "-\u221e") return -std::numeric_limits<double>::infinity();
  if (text == "\u221e") return std::numeric_limits<double>::infinity();
  return std::stod(text);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

// −1 when brackets close that were not open, else how many stay open. Escaped ones do not count.
int open_braces(const std::string& latex) {
  int open = 0;
  for (std::size_t i = 0; i < latex.size(); ++i) {
    if (latex[i] == '\\') {
      ++i;
      continue;
    }
    open += latex[i] == '{';
    open -= latex[i] == '}';
    if (open < 0) return -1;
  }
  return open;
}

// Breaks a number of a finished run; no model of the sandbox has such a weight.
void break_cell(const Trace& trace, const char* tensor, std::int64_t place) {
  const_cast<float*>(trace.tensor(tensor).data)[place] = std::numeric_limits<float>::quiet_NaN();
}

}  // namespace

TEST_CASE("explain text: the line ends with the cell, and says how many terms it leaves out") {
  for (const Document& document : documents()) {
    const auto trace = run(document);
    for_cells(*trace, [&](const CellRef& cell, const Explanation& e) {
      CAPTURE(cell_text(*trace, cell));
      LineStyle style;
      style.most = 3;
      const std::string line = arithmetic_line(*trace, e, style);
      CHECK(line.ends_with(" = " + number_text(value_of(*trace, cell))));
      if (!e.written.empty() || e.terms.size() <= 4) {
        CHECK(line.find("smaller") == std::string::npos);
        return;
      }
      const auto order = by_size(e.terms);
      std::size_t written = 3;  // of these no zeros
      while (written > 1 && e.terms[order[written - 1]].product() == 0) --written;
      double rest = 0;
      for (std::size_t i = written; i < order.size(); ++i) rest += e.terms[order[i]].product();
      CHECK(line.find(number_text(rest)) != std::string::npos);
      CHECK(line.find(std::to_string(order.size() - written) + " smaller ones") !=
            std::string::npos);
      for (std::size_t i = 0; i < written; ++i) {
        const Term& t = e.terms[order[i]];
        CHECK(line.find(number_text(value_of(*trace, t.cell))) != std::string::npos);
      }
    });
  }
}

TEST_CASE("explain text: formulas and notes are written with the true minus sign") {
  for (const Document& document : documents()) {
    const auto trace = run(document);
    for_cells(*trace, [&](const CellRef& cell, const Explanation& e) {
      CAPTURE(cell_text(*trace, cell));
      CHECK(e.formula.find('-') == std::string::npos);
      for (const Term& t : e.terms)
        CHECK(say(Language::kEnglish, t.note).find('-') == std::string::npos);
    });
  }
}

TEST_CASE("explain text: with all digits, every number reads back as the trace's own") {
  for (const Document& document : documents()) {
    const auto trace = run(document);
    for_cells(*trace, [&](const CellRef& cell, const Explanation& e) {
      CAPTURE(cell_text(*trace, cell));
      const std::string text = explanation_as_text(*trace, e);
      const std::string first = text.substr(0, text.find('\n'));
      const std::size_t equals = first.rfind(" = ");
      REQUIRE(equals != std::string::npos);
      CHECK(first.substr(0, equals) == cell_text(*trace, cell));
      CHECK(
          same(static_cast<float>(read_number(first.substr(equals + 3))), value_of(*trace, cell)));
      for (const Term& t : e.terms) {
        if (t.cell.tensor < 0) continue;
        CHECK(text.find(all_digits(value_of(*trace, t.cell))) != std::string::npos);
        CHECK(text.find(cell_text(*trace, t.cell)) != std::string::npos);
      }
    });
  }
}

TEST_CASE("explain text: the table's terms are cells of the trace and add up") {
  for (const Document& document : documents()) {
    const auto trace = run(document);
    for_cells(*trace, [&](const CellRef& cell, const Explanation& e) {
      CAPTURE(cell_text(*trace, cell));
      const std::vector<std::string> lines = split(explanation_as_table(*trace, e), '\n');
      const auto columns = std::count(lines[0].begin(), lines[0].end(), '\t');
      std::multimap<std::string, double> values;  // a token that stands twice names two cells
      for (const Term& t : e.terms) {
        if (t.cell.tensor >= 0) values.emplace(cell_text(*trace, t.cell), value_of(*trace, t.cell));
      }
      const bool row = lines[0].ends_with("share");
      double sum = 0;
      for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
        const std::vector<std::string> fields = split(lines[i], '\t');
        REQUIRE(static_cast<long>(fields.size()) == columns + 1);
        const double last = read_number(fields.back());
        sum += last;
        if (fields[0] == "constant") continue;
        const auto range = values.equal_range(fields[0]);
        const auto value = static_cast<float>(read_number(fields[1]));
        CHECK(std::any_of(range.first, range.second,
                          [&](const auto& entry) { return same(entry.second, value); }));
      }
      const std::vector<std::string> result = split(lines.back(), '\t');
      const auto value = static_cast<float>(read_number(result.back()));
      CHECK(result[0] == cell_text(*trace, cell));
      CHECK(same(value, value_of(*trace, cell)));
      if (e.terms.empty()) return;
      if (row) CHECK(sum == doctest::Approx(1.0).epsilon(1e-5));
      if (!row && std::isfinite(value)) CHECK(sum == doctest::Approx(value).epsilon(1e-4).scale(1));
      CHECK(lines.back().find("\u2212") == std::string::npos);  // a spreadsheet wants a plain minus
    });
  }
}

TEST_CASE("explain text: LaTeX has balanced braces and no character that it would stumble over") {
  CHECK(latex_text("50% a_b {x} \\y #1 & ~ ^ $") ==
        "50\\% a\\_b \\{x\\} \\textbackslash{}y \\#1 \\& \\textasciitilde{} \\textasciicircum{} "
        "\\$");
  CHECK(latex_text("猫") == "\\ifdefined\\Umathchar 猫\\else U+732B\\fi{}");
  for (const Document& document : documents()) {
    const auto trace = run(document);
    for_cells(*trace, [&](const CellRef& cell, const Explanation& e) {
      CAPTURE(cell_text(*trace, cell));
      const std::string latex = explanation_as_latex(*trace, e);
      CHECK(open_braces(latex) == 0);
      CHECK(latex.starts_with("% amsmath\n\\begin{align*}\n"));
      CHECK(latex.ends_with("\n\\end{align*}\n"));
      for (const char* mark : {"\u2212", "\u221e", "×", "·", "√", "Σ"}) {
        CHECK(latex.find(mark) == std::string::npos);
      }
    });
  }
}

TEST_CASE("explain text: the largest terms lead back to a weight, a position or an input") {
  for (const Document& document : documents()) {
    const auto trace = run(document);
    for_cells(*trace, [&](const CellRef& start, const Explanation&) {
      CAPTURE(cell_text(*trace, start));
      CellRef cell = start;
      std::size_t steps = 0;
      for (; steps <= trace->program().calls.size(); ++steps) {
        const Explanation e = explain(*trace, cell.tensor, cell.index);
        if (e.terms.empty()) break;
        const CellRef next = e.terms[by_size(e.terms)[0]].cell;
        if (next.tensor < 0) return;  // a sine of the position, or the weight of a score of 0
        cell = next;
      }
      CHECK(steps <= trace->program().calls.size());
      const Explanation end = explain(*trace, cell.tensor, cell.index);
      const bool empty_row = end.operation == "softmax" && end.value == 0;
      CHECK((end.operation == "parameter" || end.operation == "input" || empty_row));
    });
  }
}

TEST_CASE("explain origin: −∞ comes from the mask, finite numbers come from nowhere") {
  const auto trace = run(document_of(1, 2, 8));
  const TensorId masked = trace->program().find("blocks.0.attn.scores_masked");
  const auto origin = special_origin(*trace, {masked, {0, 1, 2, 4}});
  REQUIRE(origin);
  CHECK(*origin == CellRef{trace->program().mask, {0, 2, 4}});
  CHECK_FALSE(special_origin(*trace, {masked, {0, 1, 4, 2}}));
}

TEST_CASE("explain origin: NaN is followed to the weight where it came in") {
  const auto trace = run(document_of(1, 2, 8));
  break_cell(*trace, "blocks.0.attn.W_Q", 5);  // head 0, row 1, column 1
  break_cell(*trace, "blocks.0.attn.q_proj", 2 * 8 + 1);
  break_cell(*trace, "blocks.0.attn.q", 2 * 4 + 1);
  break_cell(*trace, "blocks.0.attn.scores_raw", 2 * 6);
  const TensorId scores = trace->program().find("blocks.0.attn.scores_raw");
  const auto origin = special_origin(*trace, {scores, {0, 0, 2, 0}});
  REQUIRE(origin);
  CHECK(*origin == CellRef{trace->program().find("blocks.0.attn.W_Q"), {0, 1, 1}});
  const Explanation e = explain(*trace, scores, {0, 0, 2, 0});
  CHECK(explanation_as_text(*trace, e).find("= NaN") != std::string::npos);
  CHECK(explanation_as_latex(*trace, e).find("\\mathrm{NaN}") != std::string::npos);
}

}  // namespace headlight::test_explain_text
