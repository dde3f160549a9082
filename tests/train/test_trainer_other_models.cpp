// Training of classifiers and encoder-decoders, padding within a batch, dropout; and that the tasks
// which need them are learned.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/model/init.h"
#include "core/train/data/batch_inputs.h"
#include "core/train/data/batches.h"
#include "core/train/trainer.h"
#include "tests/support/error_text.h"
#include "tests/support/trainer_cases.h"

namespace headlight::test_trainer_other_models {
namespace {

constexpr ModelForm kForms[] = {ModelForm::kTokens, ModelForm::kClasses, ModelForm::kTranslate};

Config small_config(ModelForm form) {
  Config c;
  c.layers = 2;
  c.heads = 2;
  c.d_model = 16;
  c.form = form;
  c.mask.kind = form == ModelForm::kTranslate ? MaskKind::kCausal : MaskKind::kNone;
  return c;
}

std::unique_ptr<Trainer> trainer_for(ModelForm form, TrainerOptions options,
                                     const Trainer* weights = nullptr) {
  const Config config = small_config(form);
  const RunShape shape = shape_for(form, true);
  std::vector<Tensor> start =
      weights ? std::vector<Tensor>(weights->parameters().begin(), weights->parameters().end())
              : initial_parameters(build_program(config, shape), Init::kGlorot, 5);
  return std::make_unique<Trainer>(config, shape, std::move(start), options);
}

TrainerOptions options_for(int threads, double dropout = 0, std::uint64_t seed = 1) {
  TrainerOptions options;
  options.schedule.peak = 0.01;
  options.threads = threads;
  options.dropout = dropout;
  options.seed = seed;
  return options;
}

TokenBatch batch_for(ModelForm form, std::int64_t rows, std::uint64_t number) {
  return batch_for(shape_for(form, true), rows, number);
}

}  // namespace

TEST_CASE("forms: what stands in the padding changes nothing") {
  for (const ModelForm form : kForms) {
    CAPTURE(word(form));
    TokenBatch batch = batch_for(form, 5, 1);
    const auto one = trainer_for(form, options_for(1)), other = trainer_for(form, options_for(1));
    const TrainStep a = one->step(batch);
    for (std::size_t r = 0; r < 5; ++r) {
      for (std::size_t t = static_cast<std::size_t>(batch.lengths[r]); t < 6; ++t)
        batch.tokens[6 * r + t] = (batch.tokens[6 * r + t] + 1) % 9;
      if (form != ModelForm::kTranslate) continue;
      for (std::size_t t = static_cast<std::size_t>(batch.source_lengths[r]); t < 7; ++t)
        batch.source[7 * r + t] = (batch.source[7 * r + t] + 1) % 9;
    }
    const TrainStep b = other->step(batch);
    CHECK(a.loss == b.loss);
    CHECK(a.gradient_norm == b.gradient_norm);
    CHECK(same_bits(*one, *other));
    // It does change something where it is not padding.
    const auto third = trainer_for(form, options_for(1));
    batch.lengths.assign(5, 6);
    if (form == ModelForm::kTranslate) batch.source_lengths.assign(5, 7);
    CHECK(third->step(batch).loss != a.loss);
  }
}

TEST_CASE("forms: nor does it where layers have a window of their own") {
  Config config = small_config(ModelForm::kClasses);
  config.local_layers = {0};
  config.local_window = 2;
  const RunShape shape = shape_for(config.form, true);
  const auto trainer = [&] {
    return Trainer(config, shape,
                   initial_parameters(build_program(config, shape), Init::kGlorot, 5),
                   options_for(1));
  };
  TokenBatch batch = batch_for(config.form, 5, 1);
  Trainer one = trainer(), other = trainer();
  const TrainStep a = one.step(batch);
  for (std::size_t r = 0; r < 5; ++r)
    for (std::size_t t = static_cast<std::size_t>(batch.lengths[r]); t < 6; ++t)
      batch.tokens[6 * r + t] = (batch.tokens[6 * r + t] + 1) % 9;
  CHECK(other.step(batch).loss == a.loss);
  CHECK(same_bits(one, other));
}

TEST_CASE("forms: a padded row costs what it costs alone") {
  for (const ModelForm form : kForms) {
    CAPTURE(word(form));
    const auto together = trainer_for(form, options_for(1));
    const TokenBatch batch = batch_for(form, 4, 2);
    double sum = 0;
    std::int64_t counted = 0;
    for (std::size_t r = 0; r < 4; ++r) {
      RunShape shape = shape_for(form, true);
      shape.padded = false;
      shape.positions = batch.lengths[r];
      if (form == ModelForm::kTranslate) shape.source = batch.source_lengths[r];
      Trainer alone(small_config(form), shape,
                    {together->parameters().begin(), together->parameters().end()}, options_for(1));
      TokenBatch row{1, shape.positions, {}, {}};
      const auto cut = [](const std::vector<int>& all, std::size_t begin, std::int64_t n) {
        const auto at = all.begin() + static_cast<std::ptrdiff_t>(begin);
        return std::vector<int>(at, at + n);
      };
      row.tokens = cut(batch.tokens, 6 * r, shape.positions);
      row.targets = form == ModelForm::kClasses ? cut(batch.targets, r, 1)
                                                : cut(batch.targets, 6 * r, shape.positions);
      row.sources = shape.source;
      if (shape.source > 0) row.source = cut(batch.source, 7 * r, shape.source);
      const Evaluation own = alone.evaluate(row);
      sum += own.loss * static_cast<double>(own.counted);
      counted += own.counted;
    }
    const Evaluation all = together->evaluate(batch);
    CHECK(all.counted == counted);
    CHECK(all.rows == 4);
    CHECK(all.loss == doctest::Approx(sum / static_cast<double>(counted)).epsilon(1e-5));
  }
}

TEST_CASE("dropout: the same bits on any number of threads, and from a run that stopped") {
  for (const ModelForm form : kForms) {
    CAPTURE(word(form));
    const auto whole = trainer_for(form, options_for(1, 0.25));
    const auto threaded = trainer_for(form, options_for(3, 0.25));
    auto stopped = trainer_for(form, options_for(2, 0.25));
    for (std::uint64_t s = 0; s < 6; ++s) {
      if (s == 3) {  // as a checkpoint keeps it: the weights, the moments, the step
        auto resumed = trainer_for(form, options_for(2, 0.25), stopped.get());
        resumed->optimizer().restore(3, stopped->optimizer().state());
        stopped = std::move(resumed);
      }
      const std::vector<TokenBatch> batches = {batch_for(form, 11, 2 * s),
                                               batch_for(form, 3, 2 * s + 1)};
      const TrainStep a = whole->step(batches), b = threaded->step(batches);
      const TrainStep c = stopped->step(batches);
      CHECK(a.loss == b.loss);
      CHECK(a.loss == c.loss);
    }
    CHECK(same_bits(*whole, *threaded));
    CHECK(same_bits(*whole, *stopped));
  }
}

TEST_CASE("dropout: only in training, other numbers each step and seed, whatever the shards") {
  const ModelForm form = ModelForm::kTranslate;
  const TokenBatch batch = batch_for(form, 8, 4);
  const auto plain = trainer_for(form, options_for(1));
  const auto drops = trainer_for(form, options_for(1, 0.3));
  CHECK(plain->evaluate(batch).loss == doctest::Approx(drops->evaluate(batch).loss).epsilon(1e-6));
  TrainerOptions one_shard = options_for(1, 0.3);
  one_shard.shards = 1;
  const auto together = trainer_for(form, one_shard);
  const double first = drops->step(batch).loss;
  CHECK(first != plain->step(batch).loss);
  CHECK(together->step(batch).loss == doctest::Approx(first).epsilon(1e-6));
  CHECK(trainer_for(form, options_for(1, 0.3, 2))->step(batch).loss != first);
  TrainerOptions still = options_for(1, 0.3);
  still.optimizer = default_options(OptimizerKind::kSgd);
  still.schedule.peak = 1e-9;  // the weights stay, what is left out does not
  const auto slow = trainer_for(form, still);
  const double a = slow->step(batch).loss, b = slow->step(batch).loss;
  CHECK(std::fabs(a - b) > 1e-4);
  // Two batches of a step do not leave out the same.
  std::vector<TokenBatch> twice = {batch, batch};
  const auto both = trainer_for(form, options_for(1, 0.3));
  CHECK(std::fabs(both->step(twice).loss - first) > 1e-5);
}

TEST_CASE("dropout: the share that is left out is the rate, and the mean stays") {
  Config c = small_config(ModelForm::kTokens);
  const Program p = build_training_program(c, {.batch = 40, .positions = 30, .vocab = 9}, true);
  REQUIRE(p.dropout.size() == 6);
  std::vector<FloatBuffer> cells(p.tensors.size());
  std::vector<float*> memory(p.tensors.size(), nullptr);
  for (const TensorId id : p.dropout) {
    const auto at = static_cast<std::size_t>(id);
    cells[at].resize(static_cast<std::size_t>(cell_count(p.tensors[at].axes)));
    memory[at] = cells[at].data();
  }
  for (const double rate : {0.1, 0.5}) {
    fill_dropout(p, {.rate = rate, .seed = 3, .step = 5, .row = 0}, memory);
    std::set<float> seen;
    double sum = 0, out = 0, n = 0;
    for (const TensorId id : p.dropout) {
      for (const float cell : cells[static_cast<std::size_t>(id)]) {
        seen.insert(cell);
        sum += cell;
        out += cell == 0;
        ++n;
      }
    }
    CHECK(seen == std::set<float>{0, static_cast<float>(1 / (1 - rate))});
    CHECK(out / n == doctest::Approx(rate).epsilon(0.02));
    CHECK(sum / n == doctest::Approx(1).epsilon(0.01));
  }
  // A row has the same numbers wherever it lies, and another row others.
  const auto cells_of = [&](std::int64_t row, std::size_t place) {
    fill_dropout(p, {.rate = 0.5, .seed = 3, .step = 5, .row = row}, memory);
    const FloatBuffer& all = cells[static_cast<std::size_t>(p.dropout[1])];
    const auto width = static_cast<std::ptrdiff_t>(all.size() / 40);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(place) * width;
    return std::vector<float>(begin, begin + width);
  };
  CHECK(cells_of(0, 3) == cells_of(2, 1));
  CHECK(cells_of(0, 3) != cells_of(0, 4));
}

TEST_CASE("forms: what a batch lacks is named") {
  const auto classes = trainer_for(ModelForm::kClasses, options_for(1));
  TokenBatch batch = batch_for(ModelForm::kClasses, 3, 1);
  TokenBatch bad = batch;
  bad.targets[1] = 4;
  CHECK(has(error_of([&] { classes->step(bad); }), "0 to 3"));
  bad = batch;
  bad.targets.resize(18, -1);
  CHECK(has(error_of([&] { classes->step(bad); }), "6"));
  bad = batch;
  bad.lengths = {1, 7, 2};
  CHECK(has(error_of([&] { classes->step(bad); }), "got 7"));
  bad.lengths = {1, 2};
  CHECK(has(error_of([&] { classes->step(bad); }), "got 2"));
  const auto pairs = trainer_for(ModelForm::kTranslate, options_for(1));
  bad = batch_for(ModelForm::kTranslate, 3, 1);
  bad.sources = 6;
  CHECK(has(error_of([&] { pairs->step(bad); }), "7 source tokens"));
  bad = batch_for(ModelForm::kTranslate, 3, 1);
  bad.source[4] = 9;
  CHECK(has(error_of([&] { pairs->step(bad); }), "0 to 8"));
  const Config c = small_config(ModelForm::kClasses);
  RunShape whole = shape_for(ModelForm::kClasses, true);
  whole.padded = false;
  Trainer unpadded(c, whole, {classes->parameters().begin(), classes->parameters().end()},
                   options_for(1));
  CHECK(has(error_of([&] { unpadded.step(batch); }), "padding"));
  CHECK(has(error_of([&] { trainer_for(ModelForm::kTokens, options_for(1, 1.0)); }), "0.95"));
}

// ---- the tasks ----

namespace {

struct Lesson {
  const char* task;
  TaskOptions sizes;
  int layers, width, heads;
  double rate;
  std::int64_t batch, steps;
};

Evaluation learn(const Lesson& lesson) {
  const std::shared_ptr<const Task> task = make_task(lesson.task, lesson.sizes);
  Config c;
  c.layers = lesson.layers;
  c.heads = lesson.heads;
  c.d_model = lesson.width;
  c.form = form_of(task->kind());
  c.mask.kind = c.form == ModelForm::kTranslate ? MaskKind::kCausal : MaskKind::kNone;
  const RunShape shape = shape_of(*task, c);
  TrainerOptions options;
  options.schedule = {ScheduleKind::kCosine, lesson.rate, 0, 20, lesson.steps};
  options.clip = 1;
  options.threads = 2;
  Trainer trainer(c, shape, initial_parameters(build_program(c, shape), Init::kGlorot, 1), options);
  TaskBatches data(task, lesson.batch, 1, Split::kTraining);
  for (std::int64_t s = 0; s < lesson.steps; ++s) trainer.step(data.next());
  TaskBatches fresh(task, 256, 1, Split::kValidation);
  fresh.count_only_scored();
  return trainer.evaluate(fresh.next());
}

double share(std::int64_t part, std::int64_t of) {
  return static_cast<double>(part) / static_cast<double>(of);
}

}  // namespace

TEST_CASE("forms: a short run of each task learns") {
  const Evaluation mood = learn({"sentiment", {}, 1, 32, 4, 0.01, 32, 400});
  MESSAGE("sentiment: " << share(mood.correct, mood.counted));
  CHECK(share(mood.correct, mood.counted) > 0.85);
  const Evaluation holes = learn({"masked", {{"context", 16}}, 1, 32, 2, 0.01, 32, 250});
  MESSAGE("masked: " << share(holes.correct, holes.counted));
  CHECK(share(holes.correct, holes.counted) > 0.3);
  const Evaluation dates = learn({"dates", {{"formats", 1}}, 1, 32, 2, 0.01, 32, 250});
  MESSAGE("dates: " << share(dates.correct, dates.counted) << " of the characters, "
                    << share(dates.rows_correct, dates.rows) << " of the dates");
  CHECK(share(dates.correct, dates.counted) > 0.8);
}

}  // namespace headlight::test_trainer_other_models
