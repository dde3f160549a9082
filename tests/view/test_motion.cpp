// Motion: a pure function of sizes and seconds. It never goes back, ends as the finished step, and
// what it tells of the first cell is the trace's own arithmetic.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "core/base/number_text.h"
#include "core/run/runner.h"
#include "core/view/motion.h"

namespace headlight::test_motion {
namespace {

const std::vector<MotionSize> kSizes = {
    {1, 1, 1},      {1, 1, 0},       {1, 1, 64},       {1, 2, 2},       {2, 1, 2},
    {11, 11, 16},   {12, 12, 1},     {20, 20, 8},      {21, 20, 8},     {11, 64, 64},
    {1, 500, 64},   {500, 1, 0},     {1024, 1024, 64}, {1024, 1, 0},    {1024, 64, 1024},
    {7, 3, 100000}, {4096, 4096, 1}, {0, 0, 0},        {1024, 1024, 0},
};

std::string name_of(const MotionSize& s) {
  return std::to_string(s.rows) + " x " + std::to_string(s.columns) + ", " +
         std::to_string(s.terms) + " terms";
}

bool before_or_same(const Motion& a, const Motion& b) {
  return a.phase <= b.phase && (a.phase < b.phase || a.part <= b.part) &&
         a.terms_shown <= b.terms_shown && a.terms_summed <= b.terms_summed &&
         a.cells_done <= b.cells_done && a.rows_done <= b.rows_done;
}

// Within the sizes, and each phase after the one that it needs.
bool is_sound(const MotionSize& s, const Motion& m) {
  const std::int64_t last = std::max<std::int64_t>(s.cells() - 1, 0);
  const auto columns = static_cast<double>(s.columns);
  const std::int64_t now = m.row * std::max<std::int64_t>(s.columns, 1) + m.column;
  return m.part >= 0 && m.part <= 1 && m.terms_shown >= 0 && m.terms_shown <= s.terms &&
         m.terms_summed <= m.terms_shown && m.cells_done >= 0 && m.cells_done <= s.cells() &&
         now == std::min(m.cells_done, last) && (m.terms_summed == 0 || m.terms_shown == s.terms) &&
         (m.cells_done == 0 || m.terms_summed == s.terms) && m.rows_done >= 0 &&
         m.rows_done * columns >= static_cast<double>(m.cells_done) - 1e-6 * columns &&
         (s.columns == 0 || m.rows_done <= static_cast<double>(m.row) + 1);
}

Document document(const std::string& sentence) {
  Document d;
  d.sentence = sentence;
  d.config.layers = 1;
  d.config.heads = 2;
  d.config.d_model = 8;
  return d;
}

std::vector<Document> several_documents() {
  std::vector<Document> all;
  all.push_back(document("The animal did not cross the street"));
  all.push_back(document("one"));
  all.back().config.block = BlockKind::kPostNorm;
  all.back().config.positions = PositionKind::kLearned;
  all.back().config.activation = Activation::kRelu;
  all.push_back(document("a b c"));
  all.back().config.scores = ScoreKind::kAdditive;
  all.back().config.mask.kind = MaskKind::kPadding;
  all.back().config.mask.padding = {0, 1, 2};  // every row is wholly masked
  all.back().config.activation = Activation::kGeluTanh;
  all.push_back(document("a b a"));
  all.back().config.attention = AttentionKind::kBasic;
  all.back().config.block = BlockKind::kAttention;
  all.back().config.heads = 1;
  return all;
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

TEST_CASE("motion: it never goes back and stays within its sizes") {
  for (const MotionSize& size : kSizes) {
    CAPTURE(name_of(size));
    const double length = motion_length(size);
    CHECK(length >= 1);
    CHECK(length <= 12);
    Motion before = motion_at(size, 0);
    CHECK(before.phase == MotionPhase::kWords);
    CHECK(before.cells_done == 0);
    CHECK(before.terms_shown == 0);
    bool forward = true, sound = true;
    for (int i = 0; i <= 2000; ++i) {
      const Motion now = motion_at(size, length * 1.05 * i / 2000);
      forward = forward && before_or_same(before, now);
      sound = sound && is_sound(size, now);
      before = now;
    }
    CHECK(forward);
    CHECK(sound);
  }
}

TEST_CASE("motion: at its length everything is there, just before not yet") {
  for (const MotionSize& size : kSizes) {
    CAPTURE(name_of(size));
    const double length = motion_length(size);
    for (const double t : {length, length + 0.001, 1e9}) {
      const Motion end = motion_at(size, t);
      CHECK(end.phase == MotionPhase::kDone);
      CHECK(end.cells_done == size.cells());
      CHECK(end.terms_shown == size.terms);
      CHECK(end.terms_summed == size.terms);
    }
    CHECK(motion_at(size, length - 0.01).phase < MotionPhase::kDone);
    if (size.cells() > 0) CHECK(motion_at(size, length - 0.001).cells_done < size.cells());
    CHECK(motion_at(size, -5) == motion_at(size, 0));
  }
}

TEST_CASE(
    "motion: every phase begins where it says, and each cell and term of a small step is seen") {
  const MotionSize size{3, 4, 5};
  for (int p = 0; p <= static_cast<int>(MotionPhase::kDone); ++p) {
    const auto phase = static_cast<MotionPhase>(p);
    const double begin = motion_begin(size, phase);
    CHECK(motion_at(size, begin + 1e-6).phase == phase);
    if (p > 0) CHECK(motion_at(size, begin - 1e-6).phase == static_cast<MotionPhase>(p - 1));
  }
  std::set<std::int64_t> shown, summed, cells;
  for (double t = 0; t < motion_length(size) + 1; t += 1.0 / 60) {
    const Motion m = motion_at(size, t);
    shown.insert(m.terms_shown);
    summed.insert(m.terms_summed);
    cells.insert(m.cells_done);
  }
  CHECK(shown.size() == 6);
  CHECK(summed.size() == 6);
  CHECK(cells.size() == 13);
}

TEST_CASE("motion: the first cell takes its time, the rest gets faster, large ones go by rows") {
  const MotionSize size{12, 12, 8};
  const double first = motion_begin(size, MotionPhase::kRest), end = motion_length(size);
  CHECK(first > 4);
  const std::int64_t half = motion_at(size, (first + end) / 2).cells_done;
  CHECK(half > 1);
  CHECK(half < size.cells() / 2);
  const MotionSize large{1024, 1024, 64};
  bool whole_rows = true;
  for (double t = motion_begin(large, MotionPhase::kRest) + 1.01; t < motion_length(large);
       t += 0.01) {
    whole_rows = whole_rows && motion_at(large, t).column == 0;
  }
  CHECK(whole_rows);
}

TEST_CASE("motion: what is told of the first cell adds up to the cell, over all steps") {
  int told = 0, softmaxes = 0;
  for (const Document& d : several_documents()) {
    const auto backend = make_cpu_backend(1);
    Runner runner;
    const RunResult run = runner.run(d, *backend);
    REQUIRE(run.trace);
    const Trace& trace = *run.trace;
    for (const Step& step : trace.program().steps) {
      for (int head = 0; head < trace.config().head_count(); ++head) {
        const StepPage page = step_page(trace, step, head);
        const MotionSize size = motion_size(trace, page);
        const std::string& name =
            trace.program().tensors[static_cast<std::size_t>(step.tensor)].name;
        CAPTURE(name);
        if (page.lines.empty()) {
          CHECK(size == MotionSize{trace.length(), 1, 0});
          continue;
        }
        const PagePane& result = page.lines[0].back();
        REQUIRE(size.cells() == result.pane.rows * result.pane.columns);
        const Telling t = tell_cell(trace, page, 0, 0);
        const float cell = trace.tensor(result.tensor).data[pane_flat(result.pane, 0, 0)];
        CHECK(same_bits(t.cell.value, cell));
        CHECK(size.terms == static_cast<std::int64_t>(t.lines.size()));
        double sum = 0;
        for (std::size_t i = 0; i < t.lines.size(); ++i) {
          const Term& term = t.cell.terms[t.lines[i]];
          CHECK(same_bits(t.running(i), sum));
          if (i < t.lines.size()) CHECK(t.running_text(i) == number_text(sum));
          sum += t.exponentials ? *term.inner : term.value * term.factor;
        }
        ++told;
        if (t.exponentials) {
          ++softmaxes;
          CHECK(t.running_text(t.lines.size()) == number_text(sum));
          const std::vector<Quantity>& q = t.cell.quantities;
          REQUIRE(q.size() == 3);
          CHECK(q[2].value == doctest::Approx(sum));
          CHECK(q[1].value / sum == doctest::Approx(cell));
        } else {
          CHECK(t.running_text(t.lines.size()) == number_text(cell));
          if (std::isfinite(cell)) CHECK(std::fabs(sum - cell) <= 1e-5 * (1 + std::fabs(cell)));
        }
      }
    }
  }
  CHECK(told > 100);
  CHECK(softmaxes >= 4);
}

TEST_CASE("motion: the tokens' page has no cell to tell") {
  const auto backend = make_cpu_backend(1);
  Runner runner;
  const RunResult run = runner.run(document("a b"), *backend);
  REQUIRE(run.trace);
  const StepPage page = step_page(*run.trace, run.trace->program().steps[0], 0);
  CHECK(page.lines.empty());
  CHECK_THROWS(tell_cell(*run.trace, page, 0, 0));
}

}  // namespace headlight::test_motion
