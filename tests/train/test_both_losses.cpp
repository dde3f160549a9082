// Hidden tokens and next sentences at once, as BERT was pretrained: what is hidden, what the sum of
// both losses is a sum of, and what another model's head becomes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/model/init.h"
#include "core/train/data/masked_text.h"
#include "core/train/fine_tuning.h"
#include "core/train/model_recipe.h"
#include "core/train/tasks/class_token.h"
#include "core/train/trainer.h"
#include "core/train/training_run.h"
#include "tests/support/text_source_support.h"
#include "tests/support/trainer_cases.h"

namespace headlight::test_both_losses {
namespace {

// Words that come again in other places.
std::string stories() {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    const std::string a = std::to_string(i % 5), b = std::to_string(i % 7);
    text +=
        "N" + a + " has a red ball. N" + a + " goes to V" + b + " with it. It is late there.\n\n";
  }
  return text;
}

RunPlan plan_of_both(int masked = 20) {
  RunPlan plan = with_objective(default_plan(""), {masked, true});
  plan.text = pasted(stories());
  plan.text_options.cut = TextCut::kWords;
  plan.text_options.context = 24;
  plan.config.d_model = 16;
  plan.config.layers = 1;
  plan.settings.batch = 8;
  return plan;
}

Config both_heads() {
  Config c;
  c.layers = 1;
  c.heads = 2;
  c.d_model = 16;
  c.form = ModelForm::kClasses;
  c.mask.kind = MaskKind::kNone;
  c.token_head = true;
  return c;
}

std::unique_ptr<Trainer> trainer_of(const Config& c, int threads = 1) {
  const RunShape shape = shape_for(c.form, true);
  TrainerOptions options;
  options.schedule.peak = 0.01;
  options.threads = threads;
  return std::make_unique<Trainer>(
      c, shape, initial_parameters(build_program(c, shape), Init::kGlorot, 5), options);
}

const Tensor& named(std::span<const Tensor> all, std::string_view name) {
  const auto at = std::ranges::find(all, name, &Tensor::name);
  REQUIRE(at != all.end());
  return *at;
}

}  // namespace

TEST_CASE("both losses: of each pair a share is hidden, never [CLS] or [SEP], the class stays") {
  const RunPlan plan = plan_of_both();
  const auto task = as_read_by(plan.config, make_plan_task(plan).task);
  const auto plain = as_read_by(plan.config, make_plan_task(with_next_sentence(plan, true)).task);
  REQUIRE(task->hides_tokens());
  CHECK_FALSE(plain->hides_tokens());
  const Vocabulary& words = task->vocabulary();
  const int mask = *words.id_of(Special::kMask);
  Random random(3);
  int chosen = 0, masked = 0, stayed = 0, next = 0;
  for (int i = 0; i < 1000; ++i) {
    const TaskExample e = task->draw(random);
    REQUIRE(e.targets.size() == e.tokens.size());
    CHECK(e.tokens[0] == *words.id_of(Special::kClass));
    CHECK(e.targets[0] == -1);
    int asked = 0, open = 0;
    for (std::size_t t = 0; t < e.tokens.size(); ++t) {
      open += e.targets[t] >= 0 || !words.is_special(e.tokens[t]);
      if (e.targets[t] < 0) continue;
      ++asked;
      CHECK_FALSE(words.is_special(e.targets[t]));
      masked += e.tokens[t] == mask;
      stayed += e.tokens[t] == e.targets[t];
    }
    CHECK(asked == std::max(1, (open * 20 + 50) / 100));
    CHECK(std::ranges::count(e.tokens, *words.id_of(Special::kSeparator)) == 2);
    chosen += asked;
    next += e.label == 0;
  }
  CHECK(std::abs(next - 500) < 60);
  CHECK(std::abs(masked - 0.8 * chosen) < 0.05 * chosen);
  CHECK(std::abs(stayed - 0.1 * chosen) < 0.05 * chosen);
  // Measured rows are the same each time, and ask for the same pairs.
  for (std::size_t i = 0; i < 5; ++i) {
    const TaskExample e = task->row(i, Split::kValidation);
    CHECK(e == task->row(i, Split::kValidation));
    CHECK(e.label == plain->row(i, Split::kValidation).label);
  }
}

TEST_CASE("both losses: the sum of the mean over the rows and that over all their hidden tokens") {
  const Config c = both_heads();
  const auto trainer = trainer_of(c);
  const TokenBatch batch = batch_for(c, trainer->shape(), 7, 1);
  std::int64_t hidden = 0;
  double of_rows = 0, of_tokens = 0, of_means = 0;
  for (std::int64_t r = 0; r < batch.rows; ++r) {
    const auto n = batch.positions;
    const auto part = [&](const std::vector<int>& all) {
      return std::vector(all.begin() + r * n, all.begin() + (r + 1) * n);
    };
    const TokenBatch one{.rows = 1,
                         .positions = n,
                         .tokens = part(batch.tokens),
                         .targets = {batch.targets[static_cast<std::size_t>(r)]},
                         .lengths = {batch.lengths[static_cast<std::size_t>(r)]},
                         .token_targets = part(batch.token_targets)};
    const Evaluation found = trainer->evaluate(one);
    of_rows += found.class_loss();
    of_tokens += found.hidden.loss * static_cast<double>(found.hidden.counted);
    of_means += found.hidden.loss;
    hidden += found.hidden.counted;
  }
  const Evaluation all = trainer->evaluate(batch);
  CHECK(all.hidden.counted == hidden);
  CHECK(all.counted == 7);
  const double mean = of_tokens / static_cast<double>(hidden);
  CHECK(all.hidden.loss == doctest::Approx(mean).epsilon(1e-6));
  CHECK(std::fabs(of_means / 7 - mean) > 1e-3);  // rows differ in how many they hide
  CHECK(all.loss == doctest::Approx(of_rows / 7 + mean).epsilon(1e-6));
  const TrainStep step = trainer->step(batch);
  CHECK(step.loss == doctest::Approx(all.loss).epsilon(1e-6));
  CHECK(step.hidden_loss == doctest::Approx(mean).epsilon(1e-6));
  // Several batches are measured as one.
  const TokenBatch parts[] = {batch, batch_for(c, trainer->shape(), 3, 2)};
  const Evaluation one = trainer->evaluate(parts[0]), other = trainer->evaluate(parts[1]);
  const Evaluation together = evaluate_all(*trainer, parts);
  const double tokens = static_cast<double>(one.hidden.counted + other.hidden.counted);
  CHECK(together.hidden.loss ==
        doctest::Approx((one.hidden.loss * static_cast<double>(one.hidden.counted) +
                         other.hidden.loss * static_cast<double>(other.hidden.counted)) /
                        tokens));
  CHECK(together.class_loss() ==
        doctest::Approx((7 * one.class_loss() + 3 * other.class_loss()) / 10));
}

TEST_CASE("both losses: the gradient is that of the sum that is told, on any number of threads") {
  const Config c = both_heads();
  const auto trainer = trainer_of(c), threads = trainer_of(c, 3);
  const TokenBatch batch = batch_for(c, trainer->shape(), 9, 4);
  for (const char* name : {"unembed.W_U", "classify.W_C", "blocks.0.mlp.W_in"}) {
    CAPTURE(name);
    const auto all = trainer->parameters();
    const auto p =
        static_cast<std::size_t>(std::ranges::find(all, name, &Tensor::name) - all.begin());
    const auto fresh = trainer_of(c);
    fresh->step(batch);
    const auto gradient = fresh->gradient(p);
    const auto cell = static_cast<std::size_t>(
        std::ranges::max_element(gradient, {}, [](float g) { return std::fabs(g); }) -
        gradient.begin());
    const auto loss_at = [&](float change) {
      const auto moved = trainer_of(c);
      moved->parameters()[p].data[cell] += change;
      return moved->evaluate(batch).loss;
    };
    const double difference = (loss_at(0.01f) - loss_at(-0.01f)) / 0.02;
    CHECK(gradient[cell] == doctest::Approx(difference).epsilon(0.01));
  }
  for (std::uint64_t step = 0; step < 3; ++step) {
    const TokenBatch next = batch_for(c, trainer->shape(), 9, step);
    CHECK(trainer->step(next).loss == threads->step(next).loss);
  }
  CHECK(same_bits(*trainer, *threads));
}

TEST_CASE("both losses: nothing hidden is no loss, and no gradient of what is not a number") {
  const Config c = both_heads();
  const auto trainer = trainer_of(c);
  TokenBatch batch = batch_for(c, trainer->shape(), 4, 1);
  std::ranges::fill(batch.token_targets, -1);
  const TrainStep step = trainer->step(batch);
  CHECK(step.hidden_loss == 0);
  CHECK(std::isfinite(step.gradient_norm));
  batch.token_targets.clear();
  CHECK(error_of([&] { trainer->step(batch); }) != "");
}

TEST_CASE("both losses: a run learns both, keeps them apart, and goes on from its own plan") {
  const RunPlan plan = plan_of_both();
  CHECK(plan.config.token_head);
  CHECK(plan.config.segments);
  CHECK(plan.config.pool == PoolKind::kFirst);
  CHECK_FALSE(with_masked(plan, 15).config.token_head);
  CHECK_FALSE(with_next_sentence(plan, true).config.token_head);
  CHECK(with_next_sentence(plan, true).text_options.masked == 0);
  CHECK_FALSE(same_start(plan, with_next_sentence(plan, true)));
  const auto task = as_read_by(plan.config, make_plan_task(plan).task);
  TrainingRun run(plan, task, 1);
  for (int i = 0; i < 60; ++i) run.step();
  const auto points = run.history().validation();
  REQUIRE(points.size() == 7);
  CHECK(points[6].hidden_loss < points[0].hidden_loss - 0.2);
  CHECK(points[6].hidden_accuracy > points[0].hidden_accuracy);
  CHECK(points[0].loss - points[0].hidden_loss == doctest::Approx(std::log(2)).epsilon(0.1));
  // Data that hide nothing are refused, and the other way round.
  RunPlan wrong = plan;
  wrong.text_options.masked = 0;
  CHECK(error_of([&] {
          TrainingRun no(wrong, as_read_by(wrong.config, make_plan_task(wrong).task), 1);
        }).find("hide none") != std::string::npos);
  wrong = plan;
  wrong.config.token_head = false;
  CHECK(error_of([&] {
          TrainingRun no(wrong, as_read_by(wrong.config, make_plan_task(wrong).task), 1);
        }).find("--token-head off") != std::string::npos);
}

TEST_CASE("both losses: random weights in its place are a model of tokens") {
  Document document;
  document.config = both_heads();
  const SetModel edit = choose_sandbox(document);
  REQUIRE(edit.config);
  validate(*edit.config);
  CHECK(edit.config->form == ModelForm::kTokens);
}

TEST_CASE("both losses: a head of tokens goes over, column by column, where there is one") {
  RunPlan masked = with_masked(default_plan(""), 20);
  masked.text = pasted(stories());
  masked.text_options.cut = TextCut::kWords;
  masked.text_options.context = 13;
  masked.config.layers = 1;
  masked.config.d_model = 16;
  TrainingRun first(masked, make_plan_task(masked).task, 1);
  for (int i = 0; i < 3; ++i) first.step();
  const std::shared_ptr<const Model> base = first.model();
  RunPlan plan = tuning_plan(plan_of_both(), "holes", base->file.config, base->file.context);
  CHECK(plan.config.token_head);
  CHECK(plan.text_options.masked == 20);
  plan.settings.base.clear();
  plan.text_options.known = vocabulary_on(*base, OwnData::kText, plan.text_options);
  const auto task = as_read_by(plan.config, make_plan_task(plan).task);
  const RunShape shape = shape_of(*task, plan.config);
  const std::vector<Tensor> weights = classifier_weights(*base, plan.config, shape, Init::kNormal);
  const Tensor &own = named(weights, "unembed.W_U"), &theirs = named(base->weights, "unembed.W_U");
  const auto wide = static_cast<std::size_t>(shape.vocab);
  const auto narrow = static_cast<std::size_t>(base->vocabulary->size());
  REQUIRE(wide == narrow + 3);  // [PAD], [SEP], [CLS]
  for (std::size_t r = 0; r < 16; ++r) {
    CHECK(std::equal(theirs.data.begin() + static_cast<std::ptrdiff_t>(r * narrow),
                     theirs.data.begin() + static_cast<std::ptrdiff_t>((r + 1) * narrow),
                     own.data.begin() + static_cast<std::ptrdiff_t>(r * wide)));
  }
  CHECK(left_out(*base, plan.config, shape).empty());
  // Of both heads one that is of no use is left out: of pairs alone, of hidden tokens alone.
  Model both = *base;
  both.file.config = plan.config;
  both.weights = weights;
  Config pairs = plan.config;
  pairs.token_head = false;
  CHECK(left_out(both, pairs, shape) ==
        std::vector<std::string>{"unembed.W_U", "unembed.b_U", "classify.W_C", "classify.b_C"});
  const Config holes = without_classes(plan.config);
  CHECK(holes.form == ModelForm::kTokens);
  CHECK(left_out(both, holes, shape) == std::vector<std::string>{"classify.W_C", "classify.b_C"});
}

}  // namespace headlight::test_both_losses
