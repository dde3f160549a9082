// From sentence to trace: limits, words, ranges, and numbers that are the same everywhere.
#include <doctest/doctest.h>

#include <cmath>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/explain/explain.h"
#include "core/explain/steps.h"
#include "core/run/runner.h"
#include "core/view/heatmap.h"
#include "core/view/pane_layout.h"

namespace headlight::test_runner {
namespace {

RunResult run(const Document& document, RunLimits limits = {}) {
  const auto backend = make_reference_backend();
  return Runner(limits).run(document, *backend);
}

Document sentence(const std::string& text) { return apply(Document{}, SetSentence{text}); }

}  // namespace

TEST_CASE("runner: the same sentence gives the same numbers, a word its own row") {
  const RunResult a = run(sentence("the cat sat"));
  const RunResult b = run(sentence("the cat sat"));
  REQUIRE(a.trace);
  for (std::size_t id = 0; id < a.trace->program().tensors.size(); ++id) {
    const auto x = a.trace->tensor(static_cast<TensorId>(id)).cells();
    const auto y = b.trace->tensor(static_cast<TensorId>(id)).cells();
    CHECK(std::equal(x.begin(), x.end(), y.begin(), y.end()));
  }
  const TensorView embed = a.trace->tensor("embed");
  const RunResult other = run(sentence("sat the cat"));
  const TensorView moved = other.trace->tensor("embed");
  for (int f = 0; f < 64; ++f)
    CHECK(moved.data[f] == embed.data[2 * 64 + f]);  // "sat" keeps its row
}

TEST_CASE("runner: another seed, other numbers") {
  Document d = sentence("the cat sat");
  const float before = run(d).trace->tensor("embed").data[0];
  d.config.seed = 2;
  CHECK(run(d).trace->tensor("embed").data[0] != before);
}

TEST_CASE("runner: problems are sentences, never crashes") {
  CHECK(run(sentence("")).problem.find("empty") != std::string::npos);
  CHECK(run(sentence("  \t ")).problem.find("only spaces") != std::string::npos);
  Document wide = sentence("the cat");
  wide.config.d_model = 65536;
  wide.config.layers = 256;
  wide.config.d_hidden = 262144;
  wide.config.heads = 1024;
  const RunResult result = run(wide, {8e9});
  CHECK_FALSE(result.trace);
  CHECK(result.problem.find("of memory") != std::string::npos);
  Document odd = sentence("the cat");
  odd.config.d_model = 10;
  odd.config.heads = 3;
  CHECK(run(odd).problem.find("choose 2 or 5") != std::string::npos);
  CHECK(run(odd).is_usage);
}

TEST_CASE("runner: over the limit the first tokens are run, and all are counted") {
  Document d = sentence("a b c d e f g");
  d.max_tokens = 3;
  const RunResult result = run(d);
  REQUIRE(result.trace);
  CHECK(result.cut);
  CHECK(result.trace->length() == 3);
  CHECK(result.tokens_in_sentence == 7);
}

TEST_CASE("runner: a trace that is looked at is never written over") {
  const auto backend = make_reference_backend();
  Runner runner;
  const auto kept = runner.run(sentence("one two three"), *backend).trace;
  const std::vector<float> before(kept->tensor("logits").cells().begin(),
                                  kept->tensor("logits").cells().end());
  for (int i = 0; i < 8; ++i) runner.run(sentence("four five six"), *backend);
  const auto after = kept->tensor("logits").cells();
  CHECK(std::equal(before.begin(), before.end(), after.begin(), after.end()));
}

TEST_CASE("words: every claim is the trace's") {
  const auto trace = run(sentence("The animal was too tired")).trace;
  const Program& program = trace->program();
  const auto& step =
      program
          .steps[static_cast<std::size_t>(program.step_of(program.find("blocks.0.attn.pattern")))];
  for (int head = 0; head < 4; ++head) {
    for (int query = 0; query < 5; ++query) {
      const TensorView p = trace->tensor("blocks.0.attn.pattern");
      int best = 0;
      for (int j = 1; j < 5; ++j) {
        if (p.data[(head * 5 + query) * 5 + j] > p.data[(head * 5 + query) * 5 + best]) best = j;
      }
      const std::string words = step_sentence(Language::kEnglish, *trace, step, head, query);
      CHECK(words.find("\u201c" + trace->tick("key", best) + "\u201d, with weight " +
                       number_text(p.data[(head * 5 + query) * 5 + best], 3)) != std::string::npos);
    }
  }
  for (const Step& each : program.steps) {
    CHECK_FALSE(step_title(Language::kEnglish, each).empty());
    CHECK_FALSE(step_text(Language::kEnglish, program, each).formula.empty());
    CHECK_FALSE(step_sentence(Language::kEnglish, *trace, each, 0, 0).empty());
  }
}

TEST_CASE("pages: a place in a pane and a place in its tensor belong to each other") {
  const auto trace = run(sentence("The animal was too tired")).trace;
  for (const Step& step : trace->program().steps) {
    for (const auto& line : step_page(*trace, step, 1).lines) {
      for (const PagePane& p : line) {
        const std::int64_t last = trace->tensor(p.tensor).size() - 1;
        for (std::int64_t r = 0; r < p.pane.rows; ++r) {
          const std::int64_t flat = pane_flat(p.pane, r, p.pane.columns - 1);
          CHECK(flat <= last);
          CHECK(pane_place(p.pane, flat) == std::pair{r, p.pane.columns - 1});
        }
      }
    }
  }
}

TEST_CASE("explain: a wrong cell is named") {
  const auto trace = run(sentence("The animal was")).trace;
  const TensorId id = trace->program().find("blocks.0.attn.pattern");
  CHECK_THROWS_WITH_AS(full_index(*trace, id, {0, 3, 0}), doctest::Contains("query 0 to 2; got 3"),
                       UsageError);
  CHECK_THROWS_WITH_AS(full_index(*trace, id, {0}), doctest::Contains("named by 3 numbers; got 1"),
                       UsageError);
  CHECK_THROWS_WITH_AS(trace->tensor("blocks.0.attn.patern"),
                       doctest::Contains("did you mean 'blocks.0.attn.pattern'"), UsageError);
}

TEST_CASE("colours: the ends, the middle, and what is no number") {
  const ColorScale signed_scale{
      ColorMap::kDiverging, 2, rgb(0x0000FF), rgb(0xFFFFFF), rgb(0xFF0000), rgb(0x888888),
      rgb(0xFF00FF)};
  CHECK(color_at(signed_scale, 2) == signed_scale.high);
  CHECK(color_at(signed_scale, 20) == signed_scale.high);
  CHECK(color_at(signed_scale, -2) == signed_scale.low);
  CHECK(color_at(signed_scale, 0) == signed_scale.center);
  CHECK(color_at(signed_scale, -INFINITY) == signed_scale.center);
  CHECK(color_at(signed_scale, NAN) == signed_scale.invalid);
  CHECK(color_at(signed_scale, INFINITY) == signed_scale.invalid);
  ColorScale weights = signed_scale;
  weights.map = ColorMap::kSequential;
  CHECK(color_at(weights, -1) == weights.center);
  CHECK(color_at(weights, 1).g == doctest::Approx(1 - std::pow(0.5f, 0.75f)));
}

TEST_CASE("ranges: one outlier does not pale the rest, infinities do not count") {
  CHECK(robust_limit(std::vector<float>{1, -3, 2}) == 3);
  CHECK(robust_limit(std::vector<float>{1, -100, 2}) == 100);  // too few for an outlier
  std::vector<float> row(kLeastRobust, 2);
  row[1] = -100;
  CHECK(robust_limit(row) == 2);
  CHECK(robust_limit(std::vector<float>{-INFINITY, 0.5f, NAN}) == 0.5f);
  CHECK(robust_limit(std::vector<float>{0, 0}) == 1);
  CHECK(robust_limit(std::vector<float>{}) == 1);
  std::vector<float> many(100000, 0.5f);
  for (int i = 0; i < 20; ++i) many[static_cast<std::size_t>(i) * 4999] = 50;
  CHECK(robust_limit(many) == 0.5f);
}

TEST_CASE("numbers: one way to write each") {
  CHECK(number_text(4.55541, 5) == "4.5554");
  CHECK(number_text(-1.6729, 4) == "\u22121.673");
  CHECK(number_text(12.04, 3) == "12.0");
  CHECK(number_text(0.0909, 3) == "0.091");
  CHECK(number_text(0) == "0");
  CHECK(number_text(-INFINITY) == "\u2212\u221e");
  CHECK(number_text(NAN) == "NaN");
  CHECK(number_text(1e-7, 3) == "1.00e\u22127");
  CHECK(signed_number(4.5554, 4) == "+4.555");
  CHECK(count_text(1234567) == "1,234,567");
  CHECK(count_text(-1000) == "\u22121,000");
  CHECK(exact_number(0.1f) == "0.1");
  CHECK(exact_number(1e-5f) == "1e\u22125");  // a power of ten as everywhere
  CHECK(exact_number(-2.5e20f) == "\u22122.5e20");
  CHECK(exact_double(0.1f) == "0.1");
  CHECK(exact_double(1e-12 / 3) == "3.3333333333333334e\u221213");
  CHECK(number_text(2.5e20, 3) == "2.50e20");
  CHECK(number_text(3.12e-4, 3) == "3.12e\u22124");  // would read as zero
  CHECK(number_text(-3.12e-4, 4) == "\u22123.120e\u22124");
  CHECK(number_text(0.99983, 3) == "0.9998");  // what is not 1 is not written so
  CHECK(number_text(1.00002, 5) == "1.00002");
  CHECK(number_text(-1.00002, 5) == "\u22121.00002");
  CHECK(number_text(1, 5) == "1.0000");
  CHECK(number_text(-0.9999, 2) == "\u22120.9999");
  CHECK(number_text(1.0, 3) == "1.00");
  CHECK(number_text(0.9994, 3) == "0.999");
  CHECK(fine_number(0.00449, 3) == "4.49e\u22123");  // not 0.004
  CHECK(fine_number(-0.0449, 3) == "\u22120.045");
  CHECK(fine_number(0, 3) == "0");
}

TEST_CASE("numbers: the ends of a scale differ as they are written") {
  CHECK(scale_ends(-1.5, 1.5) == std::array<std::string, 2>{"\u22121.50", "1.50"});
  CHECK(scale_ends(-1e-4, 1e-4) ==
        std::array<std::string, 2>{"\u22121.00e\u22124", "1.00e\u22124"});
  CHECK(scale_ends(1.00010, 1.00013) == std::array<std::string, 2>{"1.00010", "1.00013"});
  CHECK(scale_ends(0.0012, 0.0014) == std::array<std::string, 2>{"1.20e\u22123", "1.40e\u22123"});
}

TEST_CASE("numbers: all cells of a matrix have the same decimals") {
  const auto written = [](std::vector<double> values, int room) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const CellFormat format = cell_format(*low, *high, room);
    std::string all;
    for (const double value : values) all += cell_number(value, format) + " ";
    return all;
  };
  CHECK(written({1.234, -0.5, -0.004}, 5) == "1.23 \u22120.50 ~0 ");
  CHECK(written({1.234, -0.5, -0.04}, 4) == "1.2 \u22120.5 ~0 ");
  CHECK(written({-14.13, 2.25}, 5) == "\u221214.1 2.2 ");
  CHECK(written({-14.13, 2.25}, 3) == "\u221214 2 ");
  CHECK(written({17.6, -6.2, -0.4}, 3) == "18 \u22126 ~0 ");  // not "2e1 −6e0 0e0"
  CHECK(written({1, 0.02}, 3) == "  ");                       // "0.0" would read as no weight
  CHECK(written({1, 0.02}, 4) == "1.00 0.02 ");
  CHECK(written({-141.3, 2.25}, 4) == "\u2212141 2 ");
  CHECK(written({123456, 0.5}, 4) == "1e5 5e\u22121 ");
  CHECK(written({123456, 1}, 3) == "  ");
  CHECK(written({0.34, -0.004}, 6) == "0.340 \u22120.004 ");
  CHECK(written({0.34, 0.004}, 4) == "0.34 ~0 ");
  CHECK(written({-0.004, 0.3}, 3) == "  ");  // what lies between the ends has no room
  CHECK(written({0.004, -0.0002}, 5) == "4e\u22123 \u22122e\u22124 ");
  CHECK(written({0.004, 0, -3e-12, 5e-15}, 5) == "4e\u22123 0 ~0 ~0 ");
  CHECK(written({4e-10, -3e-11}, 6) == "4e\u221210 \u22123e\u221211 ");
  CHECK(written({0.004, -0.0002}, 4) == "  ");
  // As many digits as there is room for, the same of all.
  CHECK(written({0.00421, -0.000256}, 6) == "4e\u22123 \u22123e\u22124 ");
  CHECK(written({0.00421, -0.000256}, 7) == "4.2e\u22123 \u22122.6e\u22124 ");
  CHECK(written({0.00421, 0.000256}, 7) == "4.21e\u22123 2.56e\u22124 ");
  CHECK(written({0.00421, 0.000256}, 20) == "4.21e\u22123 2.56e\u22124 ");
  CHECK(written({0, 0}, 4) == "0 0 ");
}

TEST_CASE("numbers: a share in a cell is not written as all or nothing unless it is") {
  const CellFormat shares = cell_format(0, 1, 5);
  CHECK(shares.decimals == 3);
  CHECK(cell_number(0.99992, shares) == "~1");
  CHECK(cell_number(8e-5, shares) == "~0");
  CHECK(cell_number(0.9994, shares) == "0.999");
  CHECK(cell_number(0.0005001, shares) == "0.001");
  CHECK(cell_number(1, shares) == "1.000");
  CHECK(cell_number(0, shares) == "0");
  CHECK(cell_number(0.998, kShareCell) == "~1");
  CHECK(cell_number(0.004, kShareCell) == "~0");
  CHECK(cell_format(0, 1, 4).decimals == 2);                    // no room for more
  CHECK(cell_number(1.0002, cell_format(-2, 2, 5)) == "1.00");  // no share: as 1.9998 is 2.00
}

}  // namespace headlight::test_runner
