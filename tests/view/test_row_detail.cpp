// What pages open up, and the words for sizes: over all steps of several models each number is the
// trace's or explain()'s, NaN and −∞ included.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "core/backends/backend.h"
#include "core/base/number_text.h"
#include "core/document/document.h"
#include "core/explain/explain.h"
#include "core/graph/axis_symbols.h"
#include "core/run/runner.h"
#include "core/view/row_detail.h"

namespace headlight::test_row_detail {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<Document> models() {
  Document base;
  base.sentence = "the cat sat on the mat";
  base.config.layers = 1;
  base.config.d_model = 12;
  base.config.heads = 3;
  base.config.d_hidden = 20;
  std::vector<Document> all(8, base);
  all[1].config.block = BlockKind::kPostNorm;
  all[1].config.bias = false;
  all[1].config.positions = PositionKind::kLearned;
  all[2].config.block = BlockKind::kAttention;
  all[2].config.scores = ScoreKind::kAdditive;
  all[3].config.attention = AttentionKind::kBasic;
  all[3].config.scores = ScoreKind::kDot;
  all[3].config.block = BlockKind::kAttention;
  all[4].config.attention = AttentionKind::kWide;
  all[4].config.activation = Activation::kRelu;
  all[5].config.attention = AttentionKind::kSingle;
  all[5].config.activation = Activation::kGeluTanh;
  all[5].config.residual = false;
  all[6].config.mask.kind = MaskKind::kFree;  // a row of the pattern without a key
  for (int key = 0; key < 6; ++key) all[6].config.mask.forbidden.insert(2, key);
  all[7].config.norm = NormKind::kRms;
  all[7].config.activation = Activation::kGeglu;
  return all;
}

std::shared_ptr<const Trace> run(const Document& document) {
  Runner runner;
  const std::unique_ptr<Backend> backend = make_backend("reference", 1);
  const RunResult result = runner.run(document, *backend);
  REQUIRE(result.problem == "");
  return result.trace;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

double quantity(const Explanation& e, const std::string& name) {
  for (const Quantity& q : e.quantities) {
    if (q.name == name) return q.value;
  }
  return kNan;
}

const RowLine* line_of(const OpRow& row, std::string_view id) {
  for (const RowLine& line : row.lines) {
    if (line.id == id) return &line;
  }
  return nullptr;
}

// exp(x − max) of the key as explain() has it; 0 for a key that explain() leaves out.
double explained_exp(const Explanation& e, std::int64_t key) {
  for (const Term& term : e.terms) {
    if (term.inner && term.cell.index.back() == key) return *term.inner;
  }
  return 0;
}

void check_row(const Trace& trace, const Step& step, const RowDetail& detail) {
  const OpCall& call = trace.program().calls[static_cast<std::size_t>(step.calls[0])];
  const TensorView in = trace.tensor(call.in[0]), out = trace.tensor(call.out);
  const std::size_t n = detail.row.lines.front().values.size();
  REQUIRE(n == static_cast<std::size_t>(out.axes.back().size));
  std::vector<std::int64_t> index = detail.index;
  for (std::size_t j = 0; j < n; ++j) {
    index.back() = static_cast<std::int64_t>(j);
    const Explanation e = explain(trace, call.out, index);
    CHECK(same(detail.row.lines.front().values[j], in.at(index)));
    CHECK(same(detail.row.lines.back().values[j], out.at(index)));
    for (const Quantity& q : detail.row.quantities) {
      CAPTURE(q.name);
      CHECK(same(q.value, quantity(e, q.name)));
    }
    if (const RowLine* exps = line_of(detail.row, "exp"))
      CHECK(same(exps->values[j], explained_exp(e, static_cast<std::int64_t>(j))));
    if (const RowLine* gates = line_of(detail.row, "gate"))
      CHECK(same(gates->values[j], quantity(e, "gate")));
    for (std::size_t l = 0; l < detail.tensors.size(); ++l) {
      if (detail.tensors[l] < 0) continue;
      CHECK(same(detail.row.lines[l].values[j], trace.tensor(detail.tensors[l]).at(index)));
    }
    if (const RowLine* over = line_of(detail.row, "over_rms"))
      CHECK(same(over->values[j], in.at(index) / quantity(e, "sqrt(mean(x²) + ε)")));
    if (line_of(detail.row, "product")) {
      CHECK(detail.row.lines.size() == 3);
      CHECK(same(detail.row.lines[1].values[j], trace.tensor(call.in[1]).at(index)));
    }
    if (const RowLine* centred = line_of(detail.row, "centred")) {
      const double mean = quantity(e, "mean"), sigma = quantity(e, "sqrt(variance + ε)");
      CHECK(same(centred->values[j], in.at(index) - mean));
      CHECK(same(line_of(detail.row, "normalised")->values[j], (in.at(index) - mean) / sigma));
      // The last lines bring the normalised cell to the run's own.
      const float w = trace.tensor(call.in[1]).data[j];
      const float b = call.in.size() > 2 ? trace.tensor(call.in[2]).data[j] : 0.0f;
      const double scaled = line_of(detail.row, "scaled")->values[j];
      CHECK(scaled == doctest::Approx((in.at(index) - mean) / sigma * w));
      CHECK(detail.row.lines.back().values[j] == doctest::Approx(scaled + b).epsilon(1e-4));
    }
  }
}

}  // namespace

TEST_CASE(
    "detail rows: each number is the trace's or explain's, over all steps of several models") {
  int softmax = 0, norms = 0, activations = 0, roots = 0, products = 0;
  for (const Document& document : models()) {
    const auto trace = run(document);
    for (const Step& step : trace->program().steps) {
      const std::string name = trace->program().tensors[static_cast<std::size_t>(step.tensor)].name;
      CAPTURE(name);
      for (std::int64_t head = 0; head < document.config.head_count(); ++head) {
        for (std::int64_t row = 0; row < trace->length(); ++row) {
          const auto detail = open_row(*trace, step, head, row, row);
          if (!detail) continue;
          CHECK(detail->position == row);
          check_row(*trace, step, *detail);
          softmax += line_of(detail->row, "weight") != nullptr;
          norms += line_of(detail->row, "centred") != nullptr;
          roots += line_of(detail->row, "over_rms") != nullptr;
          products += line_of(detail->row, "product") != nullptr;
          activations += line_of(detail->row, "gate") != nullptr;
        }
      }
    }
  }
  CHECK(softmax > 50);
  CHECK(norms > 50);
  CHECK(activations > 50);
  CHECK(roots > 50);
  CHECK(products > 15);
}

TEST_CASE("detail rows: forbidden keys, a row without keys, and NaN are shown as they are") {
  const std::vector<Axis> axes = {{"batch", 1}, {"head", 1}, {"query", 3}, {"key", 3}};
  Tensor x{"scores", axes, {}};
  x.data = {1, -kInf, 2, -kInf, -kInf, -kInf, 1, kNan, 2};
  Tensor y{"pattern", axes, {}};
  y.data.resize(9);
  const OpInfo& info = op_info(Op::kSoftmax);
  const std::vector<TensorView> in = {view(x)};
  info.forward({in, view(y), {}, y.data.data()});
  const OpArgs args{in, view(y), {}, nullptr};

  const std::vector<std::int64_t> masked = {0, 0, 0, 1}, none = {0, 0, 1, 0}, broken = {0, 0, 2, 0};
  const OpRow first = info.open_row(args, masked);
  CHECK(first.lines[0].values[1] == -kInf);
  CHECK(first.lines[1].values[1] == 0);
  CHECK(first.lines[2].values[1] == 0);
  const OpRow second = info.open_row(args, none);
  CHECK(second.quantities.empty());
  CHECK(second.lines.size() == 2);
  CHECK(second.lines[1].values == std::vector<double>{0, 0, 0});
  const OpRow third = info.open_row(args, broken);
  CHECK(std::isnan(third.quantities[0].value));
  CHECK(std::isnan(third.lines[1].values[0]));
  CHECK(std::isnan(third.lines[2].values[2]));
}

TEST_CASE("pages: of keys and values a page shows the head that the head of queries reads") {
  Document d = models()[0];
  d.config.heads = 4;
  d.config.kv_heads = 2;
  d.config.positions = PositionKind::kRotary;
  d.config.rotary_width = 2;
  const auto trace = run(d);
  const Program& program = trace->program();
  int shared = 0;
  for (const Step& step : program.steps) {
    for (std::int64_t head = 0; head < 4; ++head) {
      for (const auto& line : step_page(*trace, step, head).lines) {
        for (const PagePane& p : line) {
          const TensorView t = trace->tensor(p.tensor);
          CAPTURE(t.name);
          CHECK(pane_flat(p.pane, p.pane.rows - 1, p.pane.columns - 1) < t.size());
          for (std::int64_t i = 0; i < std::min<std::int64_t>(p.pane.columns, 40); ++i)
            CHECK(pane_place(p.pane, pane_flat(p.pane, 0, i)) == std::pair{std::int64_t{0}, i});
          if (p.pane.head_stride > 0) continue;  // all heads side by side
          const int axis = t.find_dim("kv_head");
          if (axis < 0 || t.axes.size() - static_cast<std::size_t>(axis) != 3) continue;
          CHECK(p.pane.offset == head / 2 * (t.size() / 2));
          ++shared;
        }
      }
    }
  }
  CHECK(shared >= 4 * 6);  // k and v when split, rot_k made and read, v read, …
}

TEST_CASE("sizes: each is the axis's own, and has the word of its kind, on every step") {
  for (const Document& document : models()) {
    const auto trace = run(document);
    const Config& c = document.config;
    for (const Step& step : trace->program().steps) {
      const StepPage page = step_page(*trace, step, 0);
      for (const auto& line : page.lines) {
        for (const PagePane& p : line) {
          const std::string name =
              trace->program().tensors[static_cast<std::size_t>(p.tensor)].name;
          CAPTURE(name);
          for (const bool rows : {true, false}) {
            if (rows && p.pane.role == PaneRole::kRowVector) continue;
            const std::string axis(rows ? p.pane.row_axis : p.pane.column_axis);
            const std::int64_t length = rows ? p.pane.rows : p.pane.columns;
            CAPTURE(axis);
            std::int64_t product = 1;
            for (const NamedSize& size : axis_sizes(trace->program(), p.tensor, axis, length)) {
              product *= size.size;
              const bool token_axis =
                  axis == "position" || axis == "query" || axis == "key" || axis == "context";
              if (size.kind == SizeKind::kTokens) {
                CHECK(size.size == trace->length());
                CHECK(token_axis);
              }
              if (size.kind == SizeKind::kModel) CHECK(size.size == c.d_model);
              if (size.kind == SizeKind::kHeadWidth) CHECK(size.size == c.head_width());
              if (size.kind == SizeKind::kHeads) CHECK(size.size == c.head_count());
              // Only the vocabulary, the hidden layer and a long table of positions are neutral.
              if (size.kind == SizeKind::kOther) {
                const bool neutral = axis == "vocab" || axis == "hidden" || axis == "context";
                CHECK(neutral);
              }
            }
            CHECK(product == length);
          }
        }
      }
    }
  }
}

TEST_CASE("sizes: the heads' columns side by side are H times d_head") {
  const auto trace = run(models()[0]);
  const Program& program = trace->program();
  const auto sizes = [&](const char* name) {
    return axis_sizes(program, program.require(name), "feature", 12);
  };
  const std::vector<NamedSize> heads = {{SizeKind::kHeads, "H", 3},
                                        {SizeKind::kHeadWidth, "d_head", 4}};
  CHECK(sizes("blocks.0.attn.q_proj") == heads);
  CHECK(sizes("blocks.0.attn.concat") == heads);
  CHECK(sizes("blocks.0.attn.W_O") == heads);
  CHECK(sizes("blocks.0.resid_pre") == std::vector<NamedSize>{{SizeKind::kModel, "d_model", 12}});
}

TEST_CASE("columns as curves: between the positions, too, they are the wave itself") {
  const auto trace = run(models()[0]);
  const Program& program = trace->program();
  const TensorId p = program.require("pos_embed");
  const Step& step = program.steps[static_cast<std::size_t>(program.step_of(p))];
  const std::vector<double> wave = open_column(*trace, step, 0, 20, 4);
  REQUIRE(wave.size() == 77);
  for (std::size_t i = 0; i < wave.size(); ++i)
    CHECK(wave[i] == doctest::Approx(std::sin(static_cast<double>(i) / 4)));
  CHECK(wave[4] == doctest::Approx(trace->tensor(p).at(std::vector<std::int64_t>{0, 1, 0})));
}

TEST_CASE("targets: they are no amounts, and below 0 there is none") {
  const auto backend = make_backend("reference", 1);
  const auto trace = Runner().run(models()[0], *backend, nullptr, true).trace;
  REQUIRE(trace);
  PagePane targets;
  targets.tensor = trace->program().require("targets");
  targets.pane.rows = 6;
  targets.pane.columns = targets.pane.row_stride = 1;
  for (const CellRange& range : {shared_range(*trace, targets), own_range(*trace, targets)}) {
    CHECK(range.names);
    CHECK(range.limit > 1e30f);
  }
}

TEST_CASE("rankings: the largest first, NaN before all, the rest added up") {
  Tensor t{"probs", {{"batch", 1}, {"position", 2}, {"vocab", 5}}, {}};
  t.data = {9, 9, 9, 9, 9, 0.1f, 0.4f, 0.1f, kNan, 0.3f};
  const Pane pane = matrix_pane(view(t), -1, PaneRole::kResult, 0);
  const Ranking ranking = rank_row(view(t), pane, 1, 3);
  CHECK(ranking.columns == std::vector<std::int64_t>{3, 1, 4});
  CHECK(ranking.rest == 2);
  CHECK(ranking.rest_sum == doctest::Approx(0.2));
  CHECK(ranking.rest_largest == 0.1f);
  CHECK(rank_row(view(t), pane, 0, 10).rest == 0);
}

TEST_CASE(
    "columns that are shown: the chosen one is always among them, and looking moves nothing") {
  const std::vector<double> values = {5, 1, 4, 2, 3, 0, 6};
  CHECK(shown_columns(values, 1, 9, true).size() == 7);
  CHECK(shown_columns(values, 1, 3, true) == std::vector<std::int64_t>{0, 1, 6});
  CHECK(shown_columns(values, 6, 3, true) == std::vector<std::int64_t>{0, 2, 6});
  CHECK(shown_columns(values, 3, 3, false) == std::vector<std::int64_t>{3, 4, 5});
  CHECK(shown_columns(values, 5, 3, false) == std::vector<std::int64_t>{3, 4, 5});
  CHECK(shown_columns(values, 6, 3, false) == std::vector<std::int64_t>{4, 5, 6});
}

TEST_CASE("anomalies: NaN, infinities, equal cells and rows of −∞ are counted") {
  Tensor t{"x", {{"query", 3}, {"key", 2}}, {}};
  t.data = {-kInf, -kInf, 1, kNan, kNan, kInf};
  const Anomalies anomalies = find_anomalies(view(t));
  CHECK(anomalies.nan == 2);
  CHECK(anomalies.first_nan == 3);
  CHECK(anomalies.infinite == 3);
  CHECK(anomalies.first_infinite == 0);
  CHECK(anomalies.empty_rows == 1);
  CHECK_FALSE(anomalies.all_equal);
  t.data = {2, 2, 2, 2, 2, 2};
  CHECK(find_anomalies(view(t)).all_equal);
  t.data[5] = 3;
  CHECK_FALSE(find_anomalies(view(t)).all_equal);
}

}  // namespace headlight::test_row_detail
