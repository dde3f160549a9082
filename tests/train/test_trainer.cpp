// Training: losses equal to PyTorch's, the same bits on any number of threads, and what a step does
// with what it cannot use.
#include <doctest/doctest.h>

#include <cmath>

#include "core/explain/step_code.h"
#include "core/graph/step_names.h"
#include "core/io/atomic_file.h"
#include "core/io/safetensors.h"
#include "core/model/init.h"
#include "core/train/trainer.h"
#include "test_paths.h"
#include "tests/support/error_text.h"
#include "tests/support/trainer_cases.h"

namespace headlight::test_trainer {
namespace {

// ---- the runs of make_training.py ----

constexpr std::int64_t kVocab = 7;

struct Case {
  const char* name;
  Config config;
  std::int64_t positions;
  std::int64_t classes = 0, source = 0;

  RunShape shape() const {
    return {1, positions, kVocab, classes, source, config.form != ModelForm::kTokens};
  }
};

std::vector<int> ids_of(const SafetensorsFile& file, const char* name) {
  if (!file.entries.contains(name)) return {};
  const std::vector<float> numbers = tensor_as_float(file, name);
  return {numbers.begin(), numbers.end()};
}

// Part `i` of `count`.
std::vector<int> part(const std::vector<int>& all, std::size_t i, std::size_t count) {
  const std::size_t n = all.size() / count;
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i * n);
  return {begin, begin + static_cast<std::ptrdiff_t>(n)};
}

std::vector<Case> reference_runs() {
  Config base;
  base.layers = 1;
  base.heads = 2;
  base.d_hidden = 10;
  base.mask.kind = MaskKind::kCausal;
  std::vector<Case> cases;
  Config c = base;
  c.layers = 2;
  c.d_model = 8;
  c.positions = PositionKind::kLearned;
  cases.push_back({"run-decoder", c, 6});
  c = base;
  c.d_model = 6;
  c.mask.kind = MaskKind::kNone;
  c.block = BlockKind::kPostNorm;
  c.activation = Activation::kRelu;
  cases.push_back({"run-encoder", c, 5});
  c = base;
  c.heads = 3;
  c.d_model = 6;
  c.activation = Activation::kGeluTanh;
  c.bias = false;
  cases.push_back({"run-sgd", c, 6});
  c = base;
  c.form = ModelForm::kClasses;
  c.d_model = 6;
  c.mask.kind = MaskKind::kNone;
  c.positions = PositionKind::kLearned;
  cases.push_back({"run-classes", c, 5, 3});
  c = base;
  c.form = ModelForm::kTranslate;
  c.layers = 2;
  c.d_model = 6;
  c.activation = Activation::kRelu;
  cases.push_back({"run-translate", c, 4, 0, 5});
  return cases;
}

TrainerOptions options_of(const std::map<std::string, std::string>& words, std::int64_t steps) {
  const auto number = [&](const char* key) { return std::stod(words.at(key)); };
  TrainerOptions options;
  options.optimizer = default_options(*from_word<OptimizerKind>(words.at("optimizer")));
  options.optimizer.weight_decay = number("decay");
  options.optimizer.momentum = number("momentum");
  if (options.optimizer.kind != OptimizerKind::kSgd) {
    options.optimizer.beta1 = number("beta1");
    options.optimizer.beta2 = number("beta2");
  }
  options.schedule.kind = *from_word<ScheduleKind>(words.at("schedule"));
  options.schedule.peak = number("lr");
  options.schedule.warmup = static_cast<std::int64_t>(number("warmup"));
  options.schedule.steps = steps;
  options.clip = number("clip");
  return options;
}

std::vector<Tensor> parameters_of(const SafetensorsFile& file, const Program& program) {
  std::vector<Tensor> parameters;
  for (const TensorSpec& spec : program.tensors) {
    if (spec.kind != TensorKind::kParameter) continue;
    const std::vector<float> cells = tensor_as_float(file, "param:" + spec.file_name);
    parameters.push_back({spec.name, spec.axes, FloatBuffer(cells.begin(), cells.end())});
  }
  return parameters;
}

// ---- small runs of our own ----

Config small_config() {
  Config c;
  c.layers = 2;
  c.heads = 2;
  c.d_model = 16;
  c.mask.kind = MaskKind::kCausal;
  return c;
}

// Rows that count upwards from somewhere, modulo the vocabulary: easy to learn.
TokenBatch counting(std::int64_t rows, std::int64_t positions, int vocab, int first) {
  TokenBatch batch{rows, positions, {}, {}};
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t t = 0; t < positions; ++t) {
      const int id = (first + static_cast<int>(3 * r + t)) % vocab;
      batch.tokens.push_back(id);
      batch.targets.push_back((id + 1) % vocab);
    }
  }
  return batch;
}

std::unique_ptr<Trainer> small_trainer(int threads, double rate = 0.01,
                                       const Config& config = small_config()) {
  TrainerOptions options;
  options.schedule.peak = rate;
  options.clip = 1;
  options.threads = threads;
  const Program program = build_program(config, {1, 8, 11});
  return std::make_unique<Trainer>(config, 11, 8, initial_parameters(program, Init::kNormal, 5),
                                   options);
}

}  // namespace

TEST_CASE("trainer: losses and norms are PyTorch's, from the same start") {
  for (const Case& run : reference_runs()) {
    CAPTURE(run.name);
    const SafetensorsFile file = parse_safetensors(read_file(
        HEADLIGHT_TEST_DIR "reference/train/" + std::string(run.name) + ".safetensors", 1 << 20));
    const std::vector<int> tokens = ids_of(file, "tokens"), targets = ids_of(file, "targets");
    const std::vector<int> source = ids_of(file, "source");
    const std::vector<float> losses = tensor_as_float(file, "losses");
    const std::vector<float> norms = tensor_as_float(file, "norms");
    const auto steps = static_cast<std::int64_t>(losses.size());
    const Program program = build_program(run.config, run.shape());
    TrainerOptions options = options_of(file.metadata, steps);
    options.shards = 3;  // of five rows: shards of different sizes
    Trainer trainer(run.config, run.shape(), parameters_of(file, program), options);
    for (std::size_t s = 0; s < losses.size(); ++s) {
      CAPTURE(s);
      TokenBatch batch{5, run.positions, part(tokens, s, losses.size()),
                       part(targets, s, losses.size()), ids_of(file, "lengths")};
      batch.sources = run.source;
      batch.source = part(source, s, losses.size());
      batch.source_lengths = ids_of(file, "source_lengths");
      const TrainStep step = trainer.step(batch);
      CHECK(step.step == static_cast<std::int64_t>(s));
      CHECK(step.loss == doctest::Approx(losses[s]).epsilon(1e-5));
      CHECK(step.gradient_norm == doctest::Approx(norms[s]).epsilon(1e-4));
    }
  }
}

TEST_CASE("trainer: any number of threads gives the same bits, and the model learns") {
  const auto one = small_trainer(1), two = small_trainer(2), five = small_trainer(5);
  double first = 0, last = 0;
  for (int s = 0; s < 60; ++s) {
    const TokenBatch batch = counting(13, 8, 11, s);
    const TrainStep a = one->step(batch), b = two->step(batch), c = five->step(batch);
    CHECK(a.loss == b.loss);
    CHECK(a.loss == c.loss);
    CHECK(a.gradient_norm == b.gradient_norm);
    CHECK(a.counted == 13 * 8);
    if (s == 0) first = a.loss;
    last = a.loss;
  }
  CHECK(same_bits(*one, *two));
  CHECK(same_bits(*one, *five));
  CHECK(first == doctest::Approx(std::log(11.0)).epsilon(0.02));
  CHECK(last < 0.1);
  const Evaluation seen = one->evaluate(counting(5, 8, 11, 400));
  CHECK(seen.counted == 40);
  CHECK(seen.correct == 40);
  CHECK(seen.loss < 0.1);
}

TEST_CASE("trainer: an evaluation between two steps changes neither") {
  const auto measured = small_trainer(2), left = small_trainer(2);
  for (int s = 0; s < 12; ++s) {
    const TokenBatch batch = counting(13, 8, 11, s);
    const Evaluation seen = measured->evaluate(batch);  // keeps no slopes; a step must again
    const TrainStep step = measured->step(batch);
    CHECK(seen.loss == doctest::Approx(step.loss).epsilon(1e-6));
    CHECK(step.loss == left->step(batch).loss);
  }
  CHECK(same_bits(*measured, *left));
}

TEST_CASE("trainer: every mechanism learns, to the same bits on any number of threads") {
  std::vector<Config> configs(6, small_config());
  configs[0].norm = NormKind::kRms;
  configs[1].positions = PositionKind::kRotary;
  configs[2].heads = 4;
  configs[2].kv_heads = 2;
  configs[3].activation = Activation::kSwiglu;
  configs[4].activation = Activation::kGeglu;
  Config& llama = configs[5];
  llama.norm = NormKind::kRms;
  llama.positions = PositionKind::kRotary;
  llama.rotary = RotaryPairs::kInterleaved;
  llama.heads = 4;
  llama.kv_heads = 1;
  llama.activation = Activation::kSwiglu;
  llama.bias = false;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    CAPTURE(i);
    const auto one = small_trainer(1, 0.01, configs[i]), three = small_trainer(3, 0.01, configs[i]);
    double last = 0;
    for (int s = 0; s < 60; ++s) {
      const TokenBatch batch = counting(13, 8, 11, s);
      last = one->step(batch).loss;
      CHECK(three->step(batch).loss == last);
    }
    CHECK(same_bits(*one, *three));
    CHECK(last < 0.15);
  }
}

TEST_CASE("trainer: batches taken as one are one batch, uncounted targets count for nothing") {
  const auto whole = small_trainer(1), parts = small_trainer(1);
  TokenBatch all = counting(8, 8, 11, 2);
  for (std::size_t i = 0; i < all.targets.size(); i += 3) all.targets[i] = -1;
  std::vector<TokenBatch> two(2, TokenBatch{0, 8, {}, {}});
  for (std::size_t b = 0; b < 2; ++b) {
    const std::size_t rows = b == 0 ? 3 : 5, first = b == 0 ? 0 : 24;
    two[b].rows = static_cast<std::int64_t>(rows);
    const auto at = [&](const std::vector<int>& v, std::size_t i) {
      return v.begin() + static_cast<std::ptrdiff_t>(i);
    };
    two[b].tokens.assign(at(all.tokens, first), at(all.tokens, first + rows * 8));
    two[b].targets.assign(at(all.targets, first), at(all.targets, first + rows * 8));
  }
  const TrainStep a = whole->step(all), b = parts->step(two);
  CHECK(a.counted == b.counted);
  CHECK(a.counted == 42);
  CHECK(a.loss == doctest::Approx(b.loss).epsilon(1e-6));
  CHECK(a.gradient_norm == doctest::Approx(b.gradient_norm).epsilon(1e-5));
  for (std::size_t p = 0; p < whole->parameters().size(); ++p) {
    for (std::size_t i = 0; i < whole->gradient(p).size(); ++i)
      CHECK(whole->gradient(p)[i] == doctest::Approx(parts->gradient(p)[i]).epsilon(1e-3));
  }
}

TEST_CASE("trainer: a loss that is no number changes nothing") {
  const auto trainer = small_trainer(2);
  const TokenBatch batch = counting(4, 8, 11, 0);
  trainer->step(batch);
  const float before = trainer->parameters()[0].data[3];
  trainer->parameters()[0].data[5] = NAN;  // the embedding of token 0
  const TrainStep step = trainer->step(batch);
  CHECK(std::isnan(step.loss));
  CHECK(trainer->optimizer().steps() == 1);
  CHECK(trainer->parameters()[0].data[3] == before);
}

TEST_CASE("trainer: what it cannot use it names") {
  const auto trainer = small_trainer(1);
  TokenBatch batch = counting(2, 8, 11, 0);
  TokenBatch wide = counting(2, 9, 11, 0);
  CHECK(has(error_of([&] { trainer->step(wide); }), "8"));
  TokenBatch strange = batch;
  strange.tokens[3] = 11;
  CHECK(has(error_of([&] { trainer->step(strange); }), "11"));
  strange = batch;
  strange.targets[3] = -2;
  CHECK(has(error_of([&] { trainer->step(strange); }), "-2"));
  TokenBatch nothing = batch;
  nothing.targets.assign(nothing.targets.size(), -1);
  CHECK(has(error_of([&] { trainer->step(nothing); }), "target"));

  const Config config = small_config();
  const Program program = build_program(config, {1, 8, 11});
  const auto build = [&](auto change) {
    std::vector<Tensor> parameters = initial_parameters(program, Init::kNormal, 1);
    change(parameters);
    return error_of([&] { Trainer(config, 11, 8, std::move(parameters), {}); });
  };
  CHECK(build([](auto&) {}) == "");
  CHECK(has(build([](auto& p) { p.erase(p.begin()); }), "embed.W_E"));
  CHECK(has(build([](auto& p) { p[0].axes[0].size = 12; }), "vocab 12"));
  CHECK(has(build([](auto& p) { p.push_back({"blocks.9.mlp.W_in", {}, {}}); }), "blocks.9"));
}

// What is asked for before a run must be at least what it takes, and not far from it.
TEST_CASE("training: the memory that it is said to need holds what it takes") {
  for (const ModelForm form : {ModelForm::kTokens, ModelForm::kClasses, ModelForm::kTranslate}) {
    for (const int threads : {1, 3}) {
      Config config;
      config.form = form;
      config.layers = 2;
      config.heads = 2;
      config.d_model = 32;
      if (form == ModelForm::kClasses) config.mask.kind = MaskKind::kNone;
      const RunShape shape = shape_for(form, form != ModelForm::kTokens);
      TrainerOptions options;
      options.threads = threads;
      const std::int64_t rows = 24;
      const double needed = training_memory_needed(config, shape, options, rows);
      Trainer trainer(config, shape,
                      initial_parameters(build_program(config, shape), Init::kNormal, 1), options);
      trainer.step(batch_for(trainer.shape(), rows, 1));
      const auto taken = static_cast<double>(trainer.memory_bytes());
      CAPTURE(threads);
      CAPTURE(static_cast<int>(form));
      CHECK(needed >= taken);
      CHECK(needed <= 4 * taken);
    }
  }
  Config huge;
  huge.d_model = 65536;
  CHECK(training_memory_needed(huge, {1, 65536, 1 << 24}, {}, 1 << 20) > 1e12);
}

}  // namespace headlight::test_trainer
