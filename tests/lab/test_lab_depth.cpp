// The lab "depth": what a short training finds, and what is said of it. Streams and gradients are
// in test_labs.cpp.
#include <cmath>

#include "core/lab/lab_training.h"
#include "tests/support/lab_bench.h"

namespace headlight::test_lab_depth {

TEST_CASE("labs: streams and gradients by layer, and nothing of depth where there is one layer") {
  OneLab bench("depth");
  const LabResult deep = bench.with({{"layers", "24"}});
  for (const char* id : {"grows", "level", "bare"}) CHECK(has_notice(deep, id));
  const LabResult one = bench.with({{"layers", "1"}});
  for (const char* id : {"grows", "level", "bare", "lost"}) CHECK_FALSE(has_notice(one, id));
  CHECK(right_answer(one, "residual") == "");
  std::vector<std::string> answers;
  for (int layers = 2; layers <= 32; layers += 6)
    answers.push_back(right_answer(bench.with({{"layers", std::to_string(layers)}}), "residual"));
  CHECK(std::ranges::count(answers, "less") > 0);
  CHECK(std::ranges::count(answers, "less") < std::ssize(answers));
}

TEST_CASE("labs: depth says which builds still start, and judges the chosen one") {
  OneLab bench("depth");
  const LabResult pre = bench.with({});
  CHECK(all_are_drawn(find_lab("depth"), pre));
  CHECK(right_answer(pre, "start") == "yes");
  CHECK(has_notice(pre, "starts"));
  CHECK(has_notice(pre, "explodes"));
  CHECK(right_answer(bench.with({{"build", "no-residual"}}), "start") == "no");
  CHECK(right_answer(bench.with({{"build", "post-norm"}}), "start") == "no");
  CHECK(pre.value("deepest.pre-norm") == 32);
  CHECK(pre.value("deepest.no-residual") < 32);
  CHECK(pre.value("frequencies") > 3);
  CHECK(pre.value("frequencies") < std::log(78.0));
  REQUIRE(pre.pictures.size() == 2);
  CHECK(pre.pictures[0].rows.size() == 12);
  // The pictures are of the chosen build: without the residual the first row's gradient is pale.
  const LabResult cut = bench.with({{"build", "no-residual"}, {"layers", "32"}});
  CHECK(cut.in_steps.config.residual == false);
  CHECK(series_of(cut, "size.pre-norm").y.size() == 32);
}

TEST_CASE("labs: depth takes the first words of a long sentence") {
  OneLab bench("depth");
  Document d = bench.document();
  for (int i = 0; i < 40; ++i) d.sentence += " w" + std::to_string(i);
  const LabResult r = bench.run(d, {{"layers", "2"}});
  CHECK(has_note(r, "lab.note.first_tokens"));
  CHECK(r.pictures[0].columns.size() == 32);
  CHECK(r.pictures[0].columns[1] == "little");
}

TEST_CASE("labs: depth trains now what is kept, and stops when asked") {
  OneLab bench("depth");
  const LabResult kept = bench.with({});
  int told = 0;
  std::vector<Tensor> so_far;
  const Document d = bench.document();
  const LabInput input{d, bench.runner, *bench.backend,
                       [&](const Progress&) { return ++told < 500; },
                       [&](const LabResult& r) { so_far = r.trained; }};
  CHECK_THROWS_AS(run_lab(find_lab("depth"), input, {{"run", "live"}}), Cancelled);
  // The builds with one layer are done by then.
  for (const std::string build : {"pre-norm.1", "post-norm.1", "no-norm.1", "no-residual.1"}) {
    CAPTURE(build);
    const std::vector<double> now = kept_curve(so_far, build, LabCurve::kLoss),
                              before = kept_curve(kept.trained, build, LabCurve::kLoss);
    REQUIRE(now.size() == before.size());
    for (std::size_t i = 0; i < now.size(); ++i)
      CHECK(now[i] == doctest::Approx(before[i]).epsilon(0.03));
  }
}

}  // namespace headlight::test_lab_depth
