// Explanations and panes: for every operation, on random inputs, each cell of the output is the sum
// of its terms, each term's number is a cell that can be asked in turn, and the panes highlight
// just those cells.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/backends/backend.h"
#include "core/base/error.h"
#include "core/base/texts.h"
#include "core/explain/arithmetic.h"
#include "core/explain/explain.h"
#include "core/run/runner.h"
#include "tests/explain/formula_words.h"
#include "tests/support/op_cases.h"

namespace headlight::test_explain {
namespace {

// ---- panes ----

// Where a pane's cell lies in its tensor.
std::int64_t flat(const Pane& p, std::int64_t r, std::int64_t c) {
  const std::int64_t head = p.head_stride > 0 ? c / p.head_columns : 0;
  if (p.head_stride > 0) c %= p.head_columns;
  return p.offset + head * p.head_stride + r * p.row_stride + c * p.column_stride;
}

// Does this row (or column) light up when the result's (row, column) is looked at?
bool follows(Follow follow, std::int64_t at, std::int64_t row, std::int64_t column,
             std::int64_t token_id) {
  switch (follow) {
    case Follow::kFree:
    case Follow::kWholeRow:
      return true;
    case Follow::kRow:
      return at == row;
    case Follow::kColumn:
      return at == column;
    case Follow::kTokenId:
    case Follow::kSourceId:
    case Follow::kSegmentId:
      return at == token_id;
  }
  return false;
}

using Cells = std::map<int, std::set<std::int64_t>>;  // input -> flat places

Cells highlighted(const std::vector<Pane>& panes, std::int64_t row, std::int64_t column,
                  std::int64_t token_id) {
  Cells cells;
  for (const Pane& p : panes) {
    if (p.role == PaneRole::kResult) continue;
    for (std::int64_t r = 0; r < p.rows; ++r) {
      if (!follows(p.row_follow, r + p.row_shift, row, column, token_id)) continue;
      for (std::int64_t c = 0; c < p.columns; ++c) {
        if (follows(p.column_follow, c + p.column_shift, row, column, token_id))
          cells[p.input].insert(flat(p, r, c));
      }
    }
  }
  return cells;
}

const Pane& result_pane(const std::vector<Pane>& panes) {
  const auto is_result = [](const Pane& p) { return p.role == PaneRole::kResult; };
  REQUIRE(std::count_if(panes.begin(), panes.end(), is_result) == 1);
  return *std::find_if(panes.begin(), panes.end(), is_result);
}

bool is_axis_word(std::string_view word) {
  const auto words = axis_words();
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A query is a position, and the features of a row are as many as d_model: one place, two words.
std::string_view common_word(std::string_view axis) {
  if (axis == "query") return "position";
  return axis == "d_model" ? "feature" : axis;
}

// Within its tensor, no cell twice, axes that have a word.
void check_pane(const Computed& c, const Pane& p) {
  CHECK((p.input < 0) == (p.role == PaneRole::kResult));
  CHECK(p.input < static_cast<int>(c.made().in.size()));
  CHECK(p.rows > 0);
  CHECK(p.columns > 0);
  CHECK(is_axis_word(p.column_axis));
  if (p.rows > 1) CHECK(is_axis_word(p.row_axis));
  const std::int64_t size = c.tensor(p.input).size();
  std::set<std::int64_t> cells;
  bool within = true;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    for (std::int64_t column = 0; column < p.columns; ++column) {
      const std::int64_t at = flat(p, r, column);
      within = within && at >= 0 && at < size;
      cells.insert(at);
    }
  }
  CHECK_MESSAGE(within, "a cell of the pane lies outside " << c.tensor(p.input).name);
  CHECK(static_cast<std::int64_t>(cells.size()) == p.rows * p.columns);
}

// These show more than the terms: the rest of a row is context, acts through a sum, or belongs to
// other distances.
bool shows_whole_rows(Op op) {
  return op == Op::kSoftmax || op == Op::kRotary || op == Op::kRmsNorm || op == Op::kConvolution ||
         op == Op::kFusedAttention || op == Op::kDistanceBias || op == Op::kRelativeScores ||
         op == Op::kRelativeSum;
}

// The cells that the panes light up against the cells that the explanation names.
void check_highlight(const Computed& c, const std::vector<Pane>& panes, std::int64_t row,
                     std::int64_t column) {
  const std::int64_t at = flat(result_pane(panes), row, column);
  const auto index = unravel(c.out().axes, at);
  const std::int64_t token_id =
      c.made().op == Op::kEmbed ? static_cast<std::int64_t>(c.tensor(0).data[index[1]]) : -1;
  const Cells lit = highlighted(panes, row, column, token_id);
  Cells named;
  for (const OpTerm& term : c.explain(at).terms) {
    if (term.cell.input >= 0) named[term.cell.input].insert(c.flat(term.cell));
    for (const InputCell& f : term.factor_cells) named[f.input].insert(c.flat(f));
  }
  for (const auto& entry : named) {
    const int input = entry.first;
    const auto& cells = entry.second;
    const bool shown = lit.contains(input);
    // The token ids stand in the step before; they choose the row, which is shown.
    if (!shown && c.made().op == Op::kEmbed && input == 0) continue;
    REQUIRE_MESSAGE(shown, "no pane shows " << c.tensor(input).name);
    const auto& light = lit.at(input);
    const bool all = std::includes(light.begin(), light.end(), cells.begin(), cells.end());
    CHECK_MESSAGE(all, c.tensor(input).name << " has a term outside of the highlight of (" << row
                                            << ", " << column << ")");
    if (!shows_whole_rows(c.made().op)) CHECK(light == cells);
  }
}

}  // namespace

TEST_CASE("explain: every operation has a case") {
  std::set<Op> covered;
  for (const Case& c : all_cases()) covered.insert(c.op);
  for (const OpInfo& info : all_ops()) {
    CHECK_MESSAGE(covered.contains(info.op), info.id << " has no case here");
  }
}

TEST_CASE("explain: the terms add up to every cell") {
  for (const Computed& c : computed_cases()) {
    CAPTURE(c.info().id);
    int infinite = 0;
    for (std::int64_t i = 0; i < c.out().size(); ++i) {
      const double cell = c.out().data[i];
      const OpExplanation made = c.explain(i);
      CHECK_FALSE(made.formula.empty());
      double sum = 0, magnitude = 0;
      for (const OpTerm& term : made.terms) {
        sum += term.value * term.factor;
        magnitude = std::max(magnitude, std::fabs(term.value * term.factor));
      }
      if (std::isinf(cell)) {
        CHECK(sum == cell);
        ++infinite;
      } else {
        // Against the largest term: a sum that cancels keeps only so many digits.
        CHECK_MESSAGE(std::fabs(sum - cell) <= 1e-4 * std::max(magnitude, std::fabs(cell)),
                      "cell " << i << " is " << cell << ", its terms add up to " << sum);
      }
    }
    CHECK((infinite > 0) == (c.made().op == Op::kMask));
  }
}

TEST_CASE("explain: values and factors are the cells they name") {
  for (const Computed& c : computed_cases()) {
    CAPTURE(c.info().id);
    int named = 0, plain_factors = 0;
    for (std::int64_t i = 0; i < c.out().size(); ++i) {
      for (const OpTerm& term : c.explain(i).terms) {
        if (term.cell.input >= 0) {
          REQUIRE(c.flat(term.cell) >= 0);
          CHECK(term.value == c.tensor(term.cell.input).data[c.flat(term.cell)]);
          ++named;
        } else {
          CHECK_FALSE(term.note.empty());  // a constant says where it comes from
        }
        for (const InputCell& f : term.factor_cells) REQUIRE(c.flat(f) >= 0);
        // A note says how the factor came about where it is not simply another cell.
        if (term.factor_cells.size() == 1 && term.note.empty()) {
          const InputCell& f = term.factor_cells[0];
          CHECK(term.factor == c.tensor(f.input).data[c.flat(f)]);
          ++plain_factors;
        }
      }
    }
    const Op op = c.made().op;
    CHECK((named == 0) == (op == Op::kSinusoid || op == Op::kDistanceSinusoid));
    const bool product = op == Op::kDropout || op == Op::kProject || op == Op::kLinear ||
                         op == Op::kLinearTransposed || op == Op::kScores ||
                         op == Op::kWeightedSum || op == Op::kMultiply || op == Op::kFocusScores ||
                         op == Op::kConvolution || op == Op::kExpertLinear || op == Op::kMix ||
                         op == Op::kRelativeScores || op == Op::kRelativeSum ||
                         op == Op::kMaskHeads;
    CHECK((plain_factors > 0) == product);
  }
}

TEST_CASE("explain: what is said in words is said in both languages") {
  std::set<std::string> said;
  for (const Computed& c : computed_cases()) {
    CAPTURE(c.info().id);
    for (std::int64_t i = 0; i < c.out().size(); ++i) check_words(c.explain(i), said);
  }
  CHECK(said.size() > 15);
}

TEST_CASE("explain: softmax says what became of its row") {
  const Computed c({Op::kSoftmax, {masked_scores()}});
  CHECK(c.explain(2).terms.empty());  // the first row has no allowed key
  CHECK(c.explain(2).why == "explain.no_key");
  const OpExplanation made = c.explain(12);  // row 2: three allowed keys, the second of score 0
  CHECK(made.terms.size() == 3);
  CHECK(c.explain(13).terms.size() == 4);  // the score 0 carries its weight as a constant
  REQUIRE(made.quantities.size() == 3);
  const double own = made.quantities[1].value, sum = made.quantities[2].value;
  CHECK(own / sum == doctest::Approx(c.out().data[12]));
}

TEST_CASE("explain: softmax says its temperature where it is not 1") {
  const Computed c({Op::kSoftmax, {masked_scores()}, at_temperature(0.4)});
  const OpExplanation made = c.explain(12);
  CHECK(made.formula == "exp((x[j] − max) / τ) / Σ_k exp((x[k] − max) / τ)");
  REQUIRE(made.quantities.size() == 4);
  CHECK(made.quantities[0].name == "temperature");
  CHECK(made.quantities[0].value == 0.4);
  const double own = made.quantities[2].value, sum = made.quantities[3].value;
  CHECK(own / sum == doctest::Approx(c.out().data[12]));
}

TEST_CASE("explain: a loss is the row's level less the target's logit") {
  const Computed c(
      {Op::kCrossEntropy, {random_tensor("logits", {kBatch, kPlace, {"vocab", 9}}), targets()}});
  const OpExplanation made = c.explain(3);
  REQUIRE(made.terms.size() == 10);
  CHECK(made.terms[3].factor == -1);
  REQUIRE(made.quantities.size() == 4);
  CHECK(made.quantities[0].value == 3);
  const double level = made.quantities[3].value;
  CHECK(level - c.tensor(0).data[3 * 9 + 3] == doctest::Approx(c.out().data[3]));
  for (const Quantity& q : made.quantities) {
    CHECK(tr_or(Language::kChinese, "inspector.quantity." + q.name, "") != "");
  }
  CHECK(tr_or(Language::kChinese, "inspector.op.cross_entropy", "") != "");
  CHECK(c.explain(2).terms.empty());
  CHECK(c.explain(2).why == "explain.no_target");
}

TEST_CASE("explain: panes lie within their tensors and cover the result") {
  for (const Computed& c : computed_cases()) {
    CAPTURE(c.info().id);
    std::set<std::int64_t> covered;
    for (std::int64_t head = 0; head < c.made().heads; ++head) {
      CAPTURE(head);
      const std::vector<Pane> panes = c.info().panes(c.args(), head);
      for (const Pane& p : panes) {
        CAPTURE(p.input);
        check_pane(c, p);
      }
      const Pane& result = result_pane(panes);
      for (std::int64_t r = 0; r < result.rows; ++r) {
        for (std::int64_t column = 0; column < result.columns; ++column) {
          covered.insert(flat(result, r, column));
        }
      }
      CHECK(result.row_follow == Follow::kRow);
      CHECK(result.column_follow == Follow::kColumn);
    }
    // All heads together show all of batch item 0, and nothing of the others.
    const std::int64_t item = c.out().size() / c.out().axes[0].size;
    CHECK(static_cast<std::int64_t>(covered.size()) == item);
    CHECK(*covered.rbegin() == item - 1);
  }
}

TEST_CASE("explain: the panes of a product fit side by side") {
  for (const Computed& c : computed_cases()) {
    if (c.info().layout != Layout::kProduct) continue;
    CAPTURE(c.info().id);
    for (std::int64_t head = 0; head < c.made().heads; ++head) {
      const std::vector<Pane> panes = c.info().panes(c.args(), head);
      const Pane& result = result_pane(panes);
      std::map<PaneRole, const Pane*> by_role;
      for (const Pane& p : panes) by_role[p.role] = &p;
      REQUIRE(by_role.contains(PaneRole::kLeft));
      REQUIRE(by_role.contains(PaneRole::kTop));
      const Pane &left = *by_role[PaneRole::kLeft], &top = *by_role[PaneRole::kTop];
      CHECK(left.rows == result.rows);
      CHECK(top.columns == result.columns);
      CHECK(left.columns == top.rows);
      CHECK(common_word(left.row_axis) == common_word(result.row_axis));
      CHECK(common_word(top.column_axis) == common_word(result.column_axis));
    }
  }
}

TEST_CASE("explain: the panes light up the cells that the explanation names") {
  for (const Computed& c : computed_cases()) {
    CAPTURE(c.info().id);
    for (std::int64_t head = 0; head < c.made().heads; ++head) {
      CAPTURE(head);
      const std::vector<Pane> panes = c.info().panes(c.args(), head);
      const Pane& result = result_pane(panes);
      for (std::int64_t r = 0; r < result.rows; ++r) {
        for (std::int64_t column = 0; column < result.columns; ++column) {
          check_highlight(c, panes, r, column);
        }
      }
    }
  }
}

// ---- on a whole trace ----

namespace {

std::vector<Document> documents() {
  std::vector<Document> all;
  for (BlockKind block : {BlockKind::kAttention, BlockKind::kNormedAttention, BlockKind::kPostNorm,
                          BlockKind::kPreNorm}) {
    for (AttentionKind attention : {AttentionKind::kBasic, AttentionKind::kSingle,
                                    AttentionKind::kNarrow, AttentionKind::kWide}) {
      Document d;
      d.sentence = "the cat saw the dog";
      d.config.layers = 2;
      d.config.heads = 2;
      d.config.d_model = 6;
      d.config.d_hidden = 5;
      d.config.block = block;
      d.config.attention = attention;
      d.config.residual = attention != AttentionKind::kNarrow;
      d.config.scores = attention == AttentionKind::kWide ? ScoreKind::kAdditive : ScoreKind::kDot;
      d.config.positions =
          block == BlockKind::kAttention ? PositionKind::kNone : PositionKind::kLearned;
      all.push_back(d);
    }
  }
  // In front: some tests take the last, which is pre-norm, wide, of 2 heads.
  Document llama = all.back();
  llama.config.attention = AttentionKind::kNarrow;
  llama.config.heads = 4;
  llama.config.kv_heads = 2;
  llama.config.d_head = 4;
  llama.config.norm = NormKind::kRms;
  llama.config.positions = PositionKind::kRotary;
  llama.config.activation = Activation::kSwiglu;
  for (const ScoreKind scores : {ScoreKind::kDot, ScoreKind::kAdditive}) {
    llama.config.scores = scores;
    all.insert(all.begin(), llama);
  }
  return all;
}

std::shared_ptr<const Trace> run(const Document& d) {
  Runner runner;
  const auto backend = make_reference_backend();
  const RunResult result = runner.run(d, *backend);
  REQUIRE_MESSAGE(result.trace, result.problem);
  return result.trace;
}

void check_explained(const Trace& trace, TensorId id, std::int64_t flat) {
  const TensorView t = trace.tensor(id);
  const auto index = unravel(t.axes, flat);
  const Explanation e = explain(trace, id, index);
  CHECK(e.cell == CellRef{id, index});
  CHECK(e.value == t.data[flat]);
  if (trace.program().producer(id) < 0) {
    CHECK(e.terms.empty());
    CHECK((e.operation == "input" || e.operation == "parameter"));
    return;
  }
  double magnitude = std::fabs(e.value);
  for (const Term& term : e.terms) {
    magnitude = std::max(magnitude, std::fabs(term.product()));
    if (term.cell.tensor < 0) continue;
    CHECK(term.value == trace.tensor(term.cell.tensor).at(term.cell.index));
  }
  const bool same_infinity = std::isinf(e.value) && e.sum() == e.value;
  CHECK_MESSAGE((same_infinity || std::fabs(e.sum() - e.value) <= 1e-4 * magnitude),
                t.name << " cell " << flat << " is " << e.value << ", explained as " << e.sum());
  const std::vector<std::size_t> order = by_size(e.terms);
  REQUIRE(order.size() == e.terms.size());
  for (std::size_t i = 1; i < order.size(); ++i) {
    CHECK_FALSE(std::fabs(e.terms[order[i]].product()) >
                std::fabs(e.terms[order[i - 1]].product()));
  }
}

std::string usage_error(const Trace& trace, const char* name, std::vector<std::int64_t> index,
                        bool as_typed) {
  const TensorId id = trace.program().require(name);
  try {
    as_typed ? static_cast<void>(full_index(trace, id, index))
             : static_cast<void>(explain(trace, id, index));
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("explain: every cell of whole models, by any of its names") {
  for (const Document& d : documents()) {
    CAPTURE(word(d.config.block));
    CAPTURE(word(d.config.attention));
    const auto trace = run(d);
    for (std::size_t id = 0; id < trace->program().tensors.size(); ++id) {
      const auto tensor = static_cast<TensorId>(id);
      const std::int64_t size = trace->tensor(tensor).size();
      for (std::int64_t i = 0; i < size; ++i) check_explained(*trace, tensor, i);
    }
  }
}

TEST_CASE("explain: any cell can be followed down to weights and inputs") {
  const auto trace = run(documents().back());
  CellRef at{trace->program().require("probs"), {0, 4, 1}};
  std::vector<std::string> path;
  for (;;) {
    const Explanation e = explain(*trace, at.tensor, at.index);
    path.push_back(e.operation);
    REQUIRE(path.size() < 100);
    const Term* next = nullptr;
    for (std::size_t i : by_size(e.terms)) {
      if (!next && e.terms[i].cell.tensor >= 0) next = &e.terms[i];
    }
    if (!next) break;
    at = next->cell;
  }
  CHECK(path.front() == "softmax");
  CHECK((path.back() == "parameter" || path.back() == "input" || path.back() == "sinusoid"));
  CHECK(path.size() >= 3);
}

TEST_CASE("explain: every quantity and operation has its words") {
  std::vector<Document> all = documents();
  all.push_back(all.back());
  all.back().config.temperature = 0.5f;
  for (const Document& d : all) {
    const auto trace = run(d);
    for (std::size_t id = 0; id < trace->program().tensors.size(); ++id) {
      const auto tensor = static_cast<TensorId>(id);
      const Explanation e = explain(*trace, tensor, unravel(trace->tensor(tensor).axes, 0));
      for (const Language language : {Language::kEnglish, Language::kChinese}) {
        CHECK(tr_or(language, "inspector.op." + e.operation, "") != "");
        for (const Quantity& q : e.quantities) {
          CAPTURE(q.name);
          CHECK(tr_or(language, "inspector.quantity." + q.name, "") != "");
        }
      }
    }
  }
}

TEST_CASE("explain: a token that comes again is told apart by its position") {
  Document d = documents().back();
  d.sentence = "the cat saw the dog see the dog and one two three the";
  const auto trace = run(d);
  CHECK(trace->name("query", 0) == "the₀");
  CHECK(trace->name("key", 12) == "the₁₂");
  CHECK(trace->name("position", 4) == "dog₄");
  CHECK(trace->name("position", 1) == "cat");
  CHECK(trace->tick("position", 12) == "the");
  CHECK(trace->name("vocab", 0) == trace->tick("vocab", 0));
  CHECK(trace->name("d_head", 1) == "1");
  CHECK(trace->name("query", 99) == "99");
  std::set<std::string> names;
  for (std::int64_t i = 0; i < trace->length(); ++i) names.insert(trace->name("query", i));
  CHECK(names.size() == static_cast<std::size_t>(trace->length()));
  const TensorId pattern = trace->program().require("blocks.0.attn.pattern");
  const std::string latex = explanation_as_latex(*trace, explain(*trace, pattern, {0, 0, 12, 3}));
  CHECK(latex.find("the\\textsubscript{1}\\textsubscript{2}") != std::string::npos);
}

TEST_CASE("explain: cells are named by what the person sees") {
  const auto trace = run(documents().back());  // pre-norm, wide, 2 heads
  const auto text = [&trace](const char* name, std::vector<std::int64_t> index) {
    return cell_text(*trace, {trace->program().require(name), std::move(index)});
  };
  CHECK(text("blocks.0.attn.pattern", {0, 1, 4, 0}) == "blocks.0.attn.pattern[head 1, dog, the₀]");
  CHECK(text("blocks.0.attn.pattern", {0, 1, 3, 1}) == "blocks.0.attn.pattern[head 1, the₃, cat]");
  CHECK(text("blocks.1.attn.q", {0, 0, 2, 3}) == "blocks.1.attn.q[head 0, saw, 3]");
  CHECK(text("probs", {0, 1, 2}) == "probs[cat, saw]");
  CHECK(text("embed.W_E", {3, 5}) == "embed.W_E[dog, 5]");
  CHECK(cell_text(*trace, {}) == "constant");
  const TensorId pattern = trace->program().require("blocks.0.attn.pattern");
  CHECK(full_index(*trace, pattern, {1, 4, 0}) == std::vector<std::int64_t>{0, 1, 4, 0});
  const TensorId table = trace->program().require("embed.W_E");
  CHECK(full_index(*trace, table, {3, 5}) == std::vector<std::int64_t>{3, 5});
}

TEST_CASE("explain: a cell that does not exist is refused with its shape") {
  const auto trace = run(documents().back());
  const std::string few = usage_error(*trace, "blocks.0.attn.pattern", {1, 4}, true);
  CHECK(few.find("(head 2, query 5, key 5)") != std::string::npos);
  CHECK(few.find("3 numbers") != std::string::npos);
  CHECK(few.find("got 2") != std::string::npos);
  const std::string far = usage_error(*trace, "blocks.0.attn.pattern", {1, 5, 0}, true);
  CHECK(far == "blocks.0.attn.pattern has query 0 to 4; got 5");
  CHECK(usage_error(*trace, "probs", {0, 0, -1}, false) == "probs has vocab 0 to 3; got -1");
  CHECK(usage_error(*trace, "probs", {0, 0, 0}, false) == "no error");
  for (bool as_typed : {true, false}) {
    const std::string none = usage_error(*trace, "probs", {}, as_typed);
    CHECK_MESSAGE(none.find("2 numbers; got 0") != std::string::npos, none);
  }
}

}  // namespace headlight::test_explain
