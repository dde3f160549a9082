// Teacher forcing beside free running: what is said is the largest probability behind each place,
// the own row is what the model writes one token after the other, and where both part is where they
// differ.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/model/bundled.h"
#include "core/run/free_running.h"
#include "core/run/runner.h"

namespace headlight::test_free_running {
namespace {

struct Read {
  RunResult result;
  ForcedAndFree rows;
};

Read read(Runner& runner, Backend& backend, const std::string& sentence, const char* model,
          Config* config = nullptr) {
  Document document;
  document.model = std::string(kBundledRef) + model;
  document.sentence = sentence;
  document.config = runner.load(document.model)->file.config;
  if (config) document.config = *config;
  Read read{runner.run(document, backend), {}};
  REQUIRE_MESSAGE(read.result.trace, read.result.problem);
  read.rows = *forced_and_free(*read.result.trace, *read.result.model, read.result.own_row,
                               read.result.own_row_ends, read.result.forced);
  return read;
}

// The token of the largest logit behind the row's last place, found on its own.
int said_last(const Trace& trace) {
  const std::span<const float> logits = trace.tensor(trace.program().logits).cells();
  const auto width = static_cast<std::size_t>(trace.program().outcomes());
  const auto row = logits.last(width);
  return static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin());
}

}  // namespace

TEST_CASE("free running: each token is what was said of the row so far, whatever row is given") {
  const auto backend = make_reference_backend();
  Runner runner;
  const Read own = read(runner, *backend, "march 5 2021", "dates");
  CHECK_FALSE(own.rows.forced);
  CHECK_FALSE(own.rows.own_ends);  // it is as long as the model reads
  CHECK(own.rows.own == own.rows.read);
  CHECK_FALSE(own.rows.parts);
  REQUIRE(own.rows.own.size() == 11);
  const Vocabulary& vocabulary = *own.result.model->vocabulary;
  std::string given;
  for (std::size_t i = 1; i < own.rows.own.size(); ++i) {
    const Read step = read(runner, *backend, "march 5 2021 → " + given, "dates");
    CHECK(said_last(*step.result.trace) == own.rows.own[i]);
    CHECK(step.rows.said.back().id == own.rows.own[i]);
    CHECK(step.rows.own == own.rows.own);
    CHECK(step.rows.forced);
    CHECK_FALSE(step.rows.parts);
    CHECK(step.rows.right == i - 1);
    CHECK(step.rows.asked == i - 1);
    given += vocabulary.token(own.rows.own[i]);
  }
}

TEST_CASE("free running: another row is given, and both part there") {
  const auto backend = make_reference_backend();
  Runner runner;
  const Read whole = read(runner, *backend, "march 5 2021 → 2021-04-05", "dates");
  const ForcedAndFree& rows = whole.rows;
  CHECK(rows.parts == 7u);  // [BOS] 2 0 2 1 - 0 4
  CHECK(rows.asked == 10);
  std::size_t right = 0;
  const TensorView p = whole.result.trace->tensor(whole.result.trace->program().probabilities);
  const auto width = static_cast<std::size_t>(p.axes.back().size);
  for (std::size_t i = 0; i < rows.read.size(); ++i) {
    const SaidToken& said = rows.said[i];
    CHECK(said.probability == p.data[i * width + static_cast<std::size_t>(said.id)]);
    for (std::size_t v = 0; v < width; ++v) CHECK(p.data[i * width + v] <= said.probability);
    if (i + 1 < rows.read.size()) right += said.id == rows.read[i + 1];
    // Up to where they part both have read the same.
    if (i + 1 < *rows.parts) CHECK(said.id == rows.own[i + 1]);
  }
  CHECK(rows.right == right);
  CHECK(rows.right < rows.asked);
  // A row of its own that ended earlier.
  const std::span<const int> five = std::span(rows.own).first(5);
  const ForcedAndFree ended =
      *forced_and_free(*whole.result.trace, *whole.result.model, five, true, true);
  CHECK(ended.own_ends);
  CHECK(ended.parts == 5u);
}

TEST_CASE("free running: another source, another mask, another model write anew") {
  const auto backend = make_reference_backend();
  Runner runner;
  const Read first = read(runner, *backend, "march 5 2021 → 2", "dates");
  Config config = first.result.model->file.config;
  config.temperature = 5;
  const Read warm = read(runner, *backend, "march 5 2021 → 2", "dates", &config);
  const Read warm_alone = read(runner, *backend, "march 5 2021", "dates", &config);
  CHECK(warm.rows.own == warm_alone.rows.read);
  CHECK(warm.rows.own != first.rows.own);
  const Read second = read(runner, *backend, "june 9 1998 → 2", "dates", &config);
  CHECK(second.rows.own != warm.rows.own);
}

TEST_CASE("free running: a mask that holds for the given row alone leaves the own row out") {
  const auto backend = make_reference_backend();
  Runner runner;
  Config config = runner.load("bundled:dates")->file.config;
  config.mask.added = {0, 3, std::make_shared<const std::vector<float>>(9, 0.0f)};
  const Read given = read(runner, *backend, "march 5 2021 → 20", "dates", &config);
  CHECK(given.rows.forced);
  CHECK(given.rows.own.empty());
  CHECK_FALSE(given.rows.parts);
  CHECK(given.rows.said.size() == 3);
}

}  // namespace headlight::test_free_running
