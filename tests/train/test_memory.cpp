// Segments: what is remembered of the segment before, in runs, in training, in measuring and in
// writing.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"
#include "core/graph/program_memory.h"
#include "core/model/checkpoint.h"
#include "core/run/runner.h"
#include "core/train/data/text_source.h"
#include "core/train/metrics/model_score.h"
#include "core/train/predictor.h"
#include "core/train/trainer.h"
#include "core/train/training_run.h"

namespace headlight::test_memory {
namespace {

const char* const kText =
    "one fine day the old king went out to see the sea, and the sea was still and grey; one fine "
    "night the young king came home, and the moon was round and bright. ";

std::string long_text() {
  std::string text;
  for (int i = 0; i < 8; ++i) text += kText;
  return text;
}

RunPlan text_plan(int memory) {
  RunPlan plan = default_plan("");
  plan.text.text = long_text();
  plan.text_options.context = 8;
  plan.text_options.validation = 20;
  plan.config.layers = 2;
  plan.config.heads = 2;
  plan.config.d_model = 16;
  plan.config.d_hidden = 20;
  plan.config.positions = PositionKind::kRotary;
  plan.config.memory = memory;
  plan.settings.batch = 5;
  plan.settings.dropout = 0.1;
  plan.stop.steps = plan.settings.schedule.steps = 40;
  plan.settings.schedule.warmup = 4;
  return plan;
}

TrainingRun make_run(const RunPlan& plan, int threads = 1) {
  return TrainingRun(plan, make_plan_task(plan).task, threads);
}

bool same_weights(const Model& a, const Model& b) {
  return std::ranges::equal(a.weights, b.weights, [](const Tensor& x, const Tensor& y) {
    return x.data.size() == y.data.size() &&
           std::memcmp(x.data.data(), y.data.data(), x.data.size() * sizeof(float)) == 0;
  });
}

Document sandbox(const std::string& sentence, int memory, int segment,
                 PositionKind positions = PositionKind::kRotary) {
  Document doc = apply(Document{}, SetSentence{sentence});
  doc.config.layers = 2;
  doc.config.d_model = 16;
  doc.config.memory = memory;
  doc.config.positions = positions;
  doc.max_tokens = segment;
  return doc;
}

RunResult run(const Document& doc) {
  const auto backend = make_cpu_backend(1);
  return Runner().run(doc, *backend);
}

float largest_difference(std::span<const float> a, std::span<const float> b) {
  REQUIRE(a.size() == b.size());
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]));
  return most;
}

std::string problem(Config config) {
  try {
    validate(config);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("memory: what cannot remember says what to do") {
  Config c;
  c.memory = 4;
  c.positions = PositionKind::kSinusoidal;
  CHECK(problem(c).find("rotary, relative, t5, alibi, transformer-xl") != std::string::npos);
  c.positions = PositionKind::kLearned;
  CHECK(problem(c).find("--positions learned") != std::string::npos);
  c.positions = PositionKind::kNone;
  CHECK(problem(c).empty());
  c.form = ModelForm::kClasses;
  CHECK(problem(c).find("--form tokens") != std::string::npos);
  c.form = ModelForm::kTranslate;
  CHECK(problem(c).find("translate") != std::string::npos);
  c.form = ModelForm::kTokens;
  c.mixer = MixerKind::kGru;
  CHECK(problem(c).find("memory holds keys") != std::string::npos);
  c.mixer = MixerKind::kAttention;
  c.memory = -1;
  CHECK(problem(c).find("remembered rows") != std::string::npos);
  c.memory = 2;
  RunShape shape{1, 4, 5};
  shape.memory = 3;
  CHECK_THROWS_WITH(build_program(c, shape), doctest::Contains("0 to 2 rows"));
}

TEST_CASE("memory: the first segment and a model without memory have the same program") {
  Config c;
  c.positions = PositionKind::kRotary;
  const Program without = build_program(c, {1, 5, 7});
  c.memory = 9;
  const Program first = build_program(c, {1, 5, 7});
  REQUIRE(first.calls.size() == without.calls.size());
  CHECK(first.memories.empty());
  CHECK(first.remembered.size() == 2);
  for (std::size_t i = 0; i < first.calls.size(); ++i) {
    CHECK(first.calls[i].op == without.calls[i].op);
    CHECK(first.calls[i].params == without.calls[i].params);
  }
  CHECK(without.remembered.empty());
}

TEST_CASE("memory: a query looks at what is remembered and at nothing behind it") {
  const auto row = [](MaskSpec mask, int i) {
    std::vector<float> cells(3 * 5);
    fill_mask(mask, 3, cells.data(), 2);
    std::string text;
    for (int j = 0; j < 5; ++j) text += cells[static_cast<std::size_t>(i * 5 + j)] == 0 ? '1' : '0';
    return text;
  };
  MaskSpec mask;
  CHECK(row(mask, 0) == "11100");
  CHECK(row(mask, 2) == "11111");
  mask.kind = MaskKind::kLocal;
  mask.window = 1;
  CHECK(row(mask, 0) == "01100");
  CHECK(row(mask, 2) == "00011");
  mask.kind = MaskKind::kPadding;
  mask.padding = {0};
  CHECK(row(mask, 1) == "11011");
  mask.kind = MaskKind::kFree;
  mask.forbidden.insert(1, 1);
  CHECK(row(mask, 1) == "11101");
}

TEST_CASE("memory: of all segments before it gives what one segment of all tokens would") {
  const std::string sentence = "a b c d e f g a c e b h";
  for (const PositionKind positions : {PositionKind::kNone, PositionKind::kRotary}) {
    const RunResult whole = run(sandbox(sentence, 0, 100, positions));
    const RunResult last = run(sandbox(sentence, 50, 5, positions));
    REQUIRE(last.trace);
    CHECK(last.segments == 3);
    CHECK(last.skipped == 10);
    CHECK(last.trace->length() == 2);
    CHECK(last.trace->program().shape.memory == 10);
    const auto logits = whole.trace->tensor("logits").cells();
    const auto own = last.trace->tensor("logits").cells();
    CHECK(largest_difference(own, logits.last(own.size())) < 1e-5f);
    // A shorter memory leaves something out.
    const auto shorter = run(sandbox(sentence, 3, 5, positions));
    const auto cut = shorter.trace->tensor("logits");
    CHECK(largest_difference(cut.cells(), logits.last(own.size())) > 1e-3f);
  }
}

TEST_CASE("memory: the rows that are kept are the last ones") {
  // In one layer without positions a row of the last segment is made of itself and of the three
  // tokens before the segment: as if the sentence began with these.
  Document remembering = sandbox("a b c d e f g h", 3, 5, PositionKind::kNone);
  Document whole = sandbox("c d e f g h", 0, 100, PositionKind::kNone);
  remembering.config.layers = whole.config.layers = 1;
  const auto last = run(remembering).trace, all = run(whole).trace;
  const auto own = last->tensor("blocks.0.resid_post").cells();
  const auto expected = all->tensor("blocks.0.resid_post").cells();
  REQUIRE(own.size() == 3 * 16);
  CHECK(largest_difference(own, expected.last(own.size())) < 1e-5f);
}

TEST_CASE("memory: its keys are named by the tokens before, each with a name of its own") {
  const RunResult last = run(sandbox("the cat and the dog saw the bird", 4, 5));
  REQUIRE(last.trace);
  const Trace& t = *last.trace;
  CHECK(t.length() == 3);
  CHECK(shape_text(t.tensor("blocks.0.attn.pattern").axes) == "(batch 1, head 4, query 3, key 7)");
  CHECK(t.tick("key", 0) == "‹cat");
  CHECK(t.tick("key", 3) == "‹dog");
  CHECK(t.tick("key", 4) == "saw");
  CHECK(t.tick("position", 0) == "saw");
  CHECK(t.tick("memory", 1) == "‹and");
  const RunResult twice = run(sandbox("a b a b c", 4, 4));
  CHECK(twice.trace->name("key", 0) == "‹a₀");
  CHECK(twice.trace->name("key", 2) == "‹a₂");
  CHECK(twice.trace->name("key", 4) == "c");
}

TEST_CASE("memory: one token, one segment, and more rows than there are") {
  CHECK(run(sandbox("alone", 3, 5)).segments == 1);
  CHECK(run(sandbox("alone", 3, 5)).trace->program().shape.memory == 0);
  const RunResult one = run(sandbox("a b c", 60000, 1));
  REQUIRE(one.trace);
  CHECK(one.segments == 3);
  CHECK(one.trace->program().shape.memory == 2);
  for (const float x : one.trace->tensor("probs").cells()) CHECK(std::isfinite(x));
  CHECK(run(sandbox("", 3, 5)).problem.find("empty") != std::string::npos);
}

TEST_CASE("memory: a keystroke reads on from what is kept, to the same bits") {
  const auto backend = make_cpu_backend(1);
  Runner kept;
  for (const char* sentence :
       {"a b c d e", "a b c d e f", "a b c d e f g h i", "x b c d e f g h i", "a b", "a b c d e"}) {
    const Document doc = sandbox(sentence, 3, 2);
    const RunResult warm = kept.run(doc, *backend), cold = run(doc);
    const auto a = warm.trace->tensor("logits").cells(), b = cold.trace->tensor("logits").cells();
    CHECK_MESSAGE(std::equal(a.begin(), a.end(), b.begin(), b.end()), sentence);
  }
  Document other = sandbox("a b c d e", 3, 2);
  other.config.seed = 9;
  const auto a = kept.run(other, *backend).trace, b = run(other).trace;
  CHECK(std::ranges::equal(a->tensor("logits").cells(), b->tensor("logits").cells()));
}

TEST_CASE("memory: streams read a text segment after segment, and begin again together") {
  TextOptions options;
  options.context = 4;
  options.validation = 0;
  const std::shared_ptr<const Task> task =
      load_text_task({"", "abcdefghijklmnopqrstuvwxyz"}, options).task;
  StreamBatches source(task, 2, Split::kTraining);
  CHECK(source.segments() == 3);  // 6 of 4 tokens
  const auto text = [&](const TokenBatch& batch, std::int64_t row) {
    const auto begin = batch.tokens.begin() + row * 4;
    return task->vocabulary().decode(std::vector(begin, begin + 4));
  };
  std::vector<std::string> rows;
  std::string follows;
  for (int i = 0; i < 4; ++i) {
    const TokenBatch& batch = source.next();
    rows.push_back(text(batch, 0) + " " + text(batch, 1));
    follows += batch.follows ? '1' : '0';
    CHECK(batch.targets[0] == batch.tokens[1]);
  }
  CHECK(rows == std::vector<std::string>{"abcd mnop", "efgh qrst", "ijkl uvwx", "abcd mnop"});
  CHECK(follows == "0110");
  StreamBatches again(task, 2, Split::kTraining);
  again.restore(2);
  CHECK(again.next().follows);
  CHECK_THROWS_WITH(StreamBatches(task, 4, Split::kTraining), doctest::Contains("(at most 3)"));
  options.context = 12;
  const std::shared_ptr<const Task> two =
      load_text_task({"", "abcdefghijklmnopqrstuvwxyz"}, options).task;
  CHECK_THROWS_WITH(StreamBatches(two, 2, Split::kTraining), doctest::Contains("longer text"));
  CHECK_THROWS_WITH(StreamBatches(make_task("copy"), 2, Split::kTraining),
                    doctest::Contains("--text FILE"));
}

TEST_CASE("memory: a run learns the same on any number of threads, and its memory matters") {
  TrainingRun one = make_run(text_plan(12), 1), three = make_run(text_plan(12), 3);
  TrainingRun none = make_run(text_plan(0), 1);
  double first = 0, last = 0;
  for (int i = 0; i < 40; ++i) {
    const TrainStep a = one.step(), b = three.step();
    CHECK(a.loss == b.loss);
    (i == 0 ? first : last) = a.loss;
    none.step();
  }
  CHECK(same_weights(*one.model(), *three.model()));
  CHECK(last < first - 0.3);
  // The same weights that remember nothing are measured otherwise.
  Model forgetful = *one.model();
  forgetful.file.config.memory = 0;
  const double with = score_text(one.model(), long_text(), 8, 1).nats;
  const double without = score_text(std::make_shared<Model>(forgetful), long_text(), 8, 1).nats;
  CHECK(std::fabs(with - without) > 1e-3 * with);
}

TEST_CASE("memory: a run that was saved goes on as if it had never stopped, to the last bit") {
  const auto folder = std::filesystem::temp_directory_path() / "headlight_test_memory";
  std::filesystem::remove_all(folder);
  const RunPlan plan = text_plan(12);
  TrainingRun run = make_run(plan);
  for (int i = 0; i < 7; ++i) run.step();
  run.save(folder);
  RunPlan resumed = resume_plan(folder);
  CHECK(resumed.config.memory == 12);
  resumed.text = plan.text;
  resumed.text_options.validation = plan.text_options.validation;
  const std::shared_ptr<const Task> task = make_plan_task(resumed).task;
  TrainingRun again(resumed, task, 2, kHistoryBytes, {}, plan_start(resumed, *task));
  // What is remembered came from weights that were learned from since: it was kept.
  for (int i = 0; i < 9; ++i) CHECK(again.step().loss == run.step().loss);
  CHECK(same_weights(*again.model(), *run.model()));
  Checkpoint bad = load_checkpoint(folder, true);
  std::filesystem::remove_all(folder);
  const auto memory = std::ranges::find(bad.training->optimizer, "memory.1", &StoredArray::name);
  REQUIRE(memory != bad.training->optimizer.end());
  CHECK(memory->shape == std::vector<std::int64_t>{5, 12, 16});
  bad.training->optimizer.erase(memory);
  Trainer trainer(bad.model.config, bad.model.vocab, bad.model.context, bad.weights, {});
  CHECK_THROWS_WITH(restore_run(trainer, {.step = 7}, bad.training->optimizer),
                    doctest::Contains("memory.1"));
}

TEST_CASE("memory: training and measuring do not remember each other's text") {
  const RunPlan plan = text_plan(12);
  const std::shared_ptr<const Task> task = make_plan_task(plan).task;
  TrainerOptions options;
  const auto weights = initial_parameters(build_program(plan.config, shape_of(*task, plan.config)),
                                          Init::kNormal, 1);
  Trainer a(plan.config, task->vocabulary().size(), 8, weights, options);
  Trainer b(plan.config, task->vocabulary().size(), 8, weights, options);
  StreamBatches for_a(task, 3, Split::kTraining), for_b(task, 3, Split::kTraining);
  const std::vector<TokenBatch> measured = measured_segments(task, Split::kValidation, 64);
  REQUIRE(measured.size() >= 2);
  CHECK_FALSE(measured[0].follows);
  CHECK(measured[1].follows);
  for (int i = 0; i < 4; ++i) {
    CHECK(a.step(for_a.next()).loss == b.step(for_b.next()).loss);
    const double found = evaluate_all(a, measured).loss;
    CHECK(evaluate_all(a, measured).loss == found);
  }
  TokenBatch fewer = for_a.next();
  fewer.rows = 2;
  fewer.tokens.resize(16);
  fewer.targets.resize(16);
  CHECK_THROWS_WITH(a.step(fewer), doctest::Contains("3 rows"));
}

TEST_CASE("memory: what is written is read as it is measured") {
  TrainingRun run = make_run(text_plan(12));
  for (int i = 0; i < 10; ++i) run.step();
  const std::shared_ptr<const Model> model = run.model();
  SamplingOptions greedy;
  greedy.temperature = 0;
  const std::string prompt = long_text().substr(0, 21);
  Generator generator(model, prompt, greedy, 1, 1);
  for (int i = 0; i < 15; ++i) generator.next();
  CHECK_FALSE(generator.shifted());
  // Segment after segment, all at once.
  const std::vector<int>& ids = generator.ids();
  Predictor predictor(model, 1);
  const auto vocab = static_cast<std::size_t>(model->file.vocab);
  for (std::size_t begin = 0; begin + 1 < ids.size(); begin += 8) {
    const std::size_t length = std::min<std::size_t>(8, ids.size() - 1 - begin);
    const auto logits =
        predictor.logits(std::span(ids).subspan(begin, length), static_cast<std::int64_t>(length));
    for (std::size_t i = 0; i < length; ++i) {
      const auto row = logits.subspan(i * vocab, vocab);
      const auto best = std::ranges::max_element(row) - row.begin();
      if (begin + i + 1 >= 21) CHECK(ids[begin + i + 1] == best);
    }
    predictor.remember();
  }
  CHECK_FALSE(CachedPredictor::can_read(*model, model->file.config));
  CHECK_THROWS_WITH(score_text(model, prompt, 4, 1), doctest::Contains("--stride"));
  const TextFigures figures = score_text(model, long_text(), 8, 1);
  CHECK(figures.tokens == static_cast<std::int64_t>(long_text().size()) - 1);
  CHECK(std::isfinite(figures.nats));
}

}  // namespace headlight::test_memory
