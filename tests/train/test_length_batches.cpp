// Batches of rows of similar length: every row once a round, little padding, the same again from
// any point; and that a narrower batch costs and teaches what a padded one does.
#include "core/train/data/length_batches.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "core/model/init.h"
#include "core/train/trainer.h"
#include "tests/support/text_source_support.h"
#include "tests/support/trainer_cases.h"

namespace headlight::test_length_batches {
namespace {

// Rows of 1 to 24 words, the first of which is the row's own; unsorted.
std::shared_ptr<const Task> rows_task(int rows) {
  std::string text;
  for (int i = 0; i < rows; ++i) {
    text += "w" + std::to_string(i);
    for (int t = 0; t < i * 7 % 24; ++t) text += " and";
    text += i % 2 ? "\todd\n" : "\teven\n";
  }
  TextOptions options = by(TextCut::kWords, 0);
  options.validation = 0;
  return load_labelled_task(pasted(text), options).task;
}

Config classifier(PoolKind pool = PoolKind::kMean) {
  Config c;
  c.layers = 1;
  c.heads = 2;
  c.d_model = 16;
  c.form = ModelForm::kClasses;
  c.mask.kind = MaskKind::kNone;
  c.positions = PositionKind::kLearned;
  c.pool = pool;
  return c;
}

std::vector<int> first_words(const TokenBatch& batch) {
  std::vector<int> words;
  for (std::int64_t r = 0; r < batch.rows; ++r)
    words.push_back(batch.tokens[static_cast<std::size_t>(r * batch.positions)]);
  return words;
}

}  // namespace

TEST_CASE("batches by length: each row once a round, in another order the next, by the seed") {
  const auto task = rows_task(200);
  const Config config = classifier();
  LengthBatches one(task, config, 8, 3), same(task, config, 8, 3), other(task, config, 8, 4);
  CHECK(one.batches() == 25);
  std::vector<std::vector<int>> rounds(2);
  bool differs = false;
  for (auto& round : rounds) {
    for (int b = 0; b < 25; ++b) {
      const TokenBatch batch = one.next();
      CHECK(batch.tokens == same.next().tokens);
      differs |= batch.tokens != other.next().tokens;
      const std::vector<int> words = first_words(batch);
      round.insert(round.end(), words.begin(), words.end());
    }
    CHECK(std::set<int>(round.begin(), round.end()).size() == 200);
  }
  CHECK(differs);
  CHECK(rounds[0] != rounds[1]);
  CHECK(one.state() == 50);
}

TEST_CASE("batches by length: a source that was restored goes on with the same batches") {
  const auto task = rows_task(90);
  const Config config = classifier();
  LengthBatches whole(task, config, 16, 1), resumed(task, config, 16, 1);
  for (int b = 0; b < 7; ++b) whole.next();
  resumed.restore(whole.state());
  for (int b = 0; b < 8; ++b) {
    const TokenBatch one = whole.next(), other = resumed.next();
    CHECK(one.tokens == other.tokens);
    CHECK(one.targets == other.targets);
  }
}

TEST_CASE("batches by length: little is padding, and of few rows some come again") {
  const auto task = rows_task(600);
  LengthBatches sorted(task, classifier(), 8, 1);
  TaskBatches drawn(task, 8, 1, Split::kTraining);
  PaddingCount of_sorted, of_drawn;
  for (int b = 0; b < 75; ++b) {
    const TokenBatch& batch = sorted.next();
    int longest = 0;
    for (const int n : batch.lengths) longest = std::max(longest, n);
    CHECK(batch.positions == batch_width(longest, task->context()));
    of_sorted.add(batch);
    of_drawn.add(drawn.next());
  }
  CHECK(of_drawn.share() > 0.4);
  CHECK(of_sorted.share() < 0.2);
  LengthBatches few(rows_task(3), classifier(), 8, 1);
  CHECK(first_words(few.next()).size() == 8);
  CHECK(few.batches() == 1);
  CHECK(batch_width(1, 24) == 3);
  CHECK(batch_width(4, 24) == 6);
  CHECK(batch_width(24, 24) == 24);
  CHECK(batch_width(100, 100) == 100);
  CHECK(batch_width(1, 3) == 1);
}

TEST_CASE("batches by length: a head with a weight for each place reads whole rows") {
  const auto task = rows_task(40);
  const Config concat = classifier(PoolKind::kConcat);
  LengthBatches batches(task, concat, 4, 1);
  for (int b = 0; b < 10; ++b) CHECK(batches.next().positions == task->context());
  std::size_t row = 0;
  while (task->row(row, Split::kTraining).tokens.size() > 3) ++row;
  const TokenBatch narrow =
      narrow_batch_of(*task, classifier(), std::vector{task->row(row, Split::kTraining)});
  CHECK_THROWS_WITH(check_batch(narrow, concat, shape_of(*task, concat)),
                    doctest::Contains("expected a batch of rows"));
  CHECK_THROWS_WITH(LengthBatches(make_task("sentiment"), concat, 4, 1),
                    doctest::Contains("only rows of a table"));
}

TEST_CASE("batches by length: a narrow batch has the loss and the gradients of the padded one") {
  for (const ModelForm form : {ModelForm::kTokens, ModelForm::kClasses, ModelForm::kTranslate}) {
    for (const PositionKind positions :
         {PositionKind::kLearned, PositionKind::kSinusoidal, PositionKind::kRelative}) {
      CAPTURE(word(form));
      CAPTURE(word(positions));
      Config config = classifier();
      config.form = form;
      config.positions = positions;
      if (form != ModelForm::kClasses) config.mask.kind = MaskKind::kCausal;
      const RunShape shape = shape_for(form, true);
      TokenBatch wide = batch_for(shape, 5, 1), narrow = wide;
      const auto cut = [](std::vector<int>& ids, std::int64_t from, std::int64_t to) {
        std::vector<int> kept;
        for (std::size_t i = 0; i < ids.size(); ++i)
          if (std::int64_t(i) % from < to) kept.push_back(ids[i]);
        ids = kept;
      };
      for (int& n : wide.lengths) n = std::min(n, 4);
      if (form != ModelForm::kClasses) {
        for (std::size_t i = 0; i < wide.targets.size(); ++i)
          if (std::int64_t(i) % 6 >= wide.lengths[i / 6]) wide.targets[i] = -1;
      }
      for (int& n : wide.source_lengths) n = std::min(n, 5);
      narrow = wide;
      narrow.positions = 4;
      cut(narrow.tokens, 6, 4);
      if (form != ModelForm::kClasses) cut(narrow.targets, 6, 4);
      if (form == ModelForm::kTranslate) {
        narrow.sources = 5;
        cut(narrow.source, 7, 5);
      }
      TrainerOptions options;
      const auto start = initial_parameters(build_program(config, shape), Init::kGlorot, 5);
      Trainer a(config, shape, start, options), b(config, shape, start, options);
      const TrainStep one = a.step(wide), other = b.step(narrow);
      CHECK(one.counted == other.counted);
      CHECK(one.loss == doctest::Approx(other.loss).epsilon(1e-6));
      CHECK(one.gradient_norm == doctest::Approx(other.gradient_norm).epsilon(1e-5));
      const std::size_t parameters = std::as_const(a).parameters().size();
      for (std::size_t p = 0; p < parameters; ++p) {
        CAPTURE(std::as_const(a).parameters()[p].name);
        for (std::size_t i = 0; i < a.gradient(p).size(); ++i)
          CHECK(a.gradient(p)[i] == doctest::Approx(b.gradient(p)[i]).epsilon(1e-4).scale(0.01));
      }
      CHECK(a.evaluate(wide).chosen == b.evaluate(narrow).chosen);
    }
  }
}

TEST_CASE("measured rows: each at most once, the same rows in either order, and their confusion") {
  const auto task = rows_task(100);
  const Config config = classifier();
  std::map<int, int> classes;
  for (const bool narrow : {false, true}) {
    const auto batches = measured_rows(*task, config, Split::kTraining, 30, 8, narrow);
    CHECK(batches.size() == 4);
    std::set<int> words;
    for (const TokenBatch& batch : batches) {
      for (const int w : first_words(batch)) words.insert(w);
      for (const int label : batch.targets) ++classes[label];
    }
    CHECK(words.size() == 30);
  }
  CHECK(classes[0] + classes[1] == 60);
  CHECK(measured_rows(*task, config, Split::kValidation, 30, 8, true).empty());
}

}  // namespace headlight::test_length_batches
