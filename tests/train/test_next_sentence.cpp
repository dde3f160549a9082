// Next-sentence prediction: which sentences make a row, what is told apart, what is held out.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/graph/program_memory.h"
#include "core/train/data/next_sentence.h"
#include "core/train/fine_tuning.h"
#include "core/train/tasks/class_token.h"
#include "core/train/training_run.h"
#include "tests/support/text_source_support.h"

namespace headlight::test_next_sentence {
namespace {

// Passages of four sentences; each sentence is its passage's letter and its own number.
std::string numbered(int passages, int sentences = 4) {
  std::string text;
  for (int p = 0; p < passages; ++p) {
    for (int s = 0; s < sentences; ++s)
      text += "P" + std::to_string(p) + " s" + std::to_string(p * sentences + s) + ". ";
    text += "\n\n";
  }
  return text;
}

TextOptions pairs(int context = 20, int validation = 20) {
  TextOptions options = by(TextCut::kWords, context);
  options.next_sentence = true;
  options.validation = validation;
  return options;
}

std::shared_ptr<const Task> loaded(const std::string& text, const TextOptions& options) {
  return std::move(load_own_task(OwnData::kText, pasted(text), options).task);
}

// Which sentence each of the row's two is, by its number; −1 where it was cut away.
std::pair<int, int> sentences_of(const Task& task, const TaskExample& e) {
  const int separator = *task.vocabulary().id_of(Special::kSeparator);
  int found[2] = {-1, -1}, at = 0;
  for (const int id : e.tokens) {
    if (id == separator) ++at;
    const std::string& word = task.vocabulary().token(id);
    if (at < 2 && word[0] == 's') found[at] = std::stoi(word.substr(1));
  }
  CHECK(at == 2);
  CHECK(e.tokens.back() == separator);
  return {found[0], found[1]};
}

std::string refusal(const std::string& text, const TextOptions& options) {
  return error_of([&] { (void)load_own_task(OwnData::kText, pasted(text), options); });
}

}  // namespace

TEST_CASE("next sentence: half of the rows go on, the others come from another passage") {
  const auto task = loaded(numbered(20), pairs());
  CHECK(task->kind() == TaskKind::kClassify);
  CHECK(task->classes() == Words{"next", "other"});
  CHECK(task->id() == kNextSentenceTask);
  Random random(3);
  int follows = 0;
  std::set<int> firsts, drawn;
  for (int i = 0; i < 2000; ++i) {
    const TaskExample e = task->draw(random);
    const auto [a, b] = sentences_of(*task, e);
    CHECK(a / 4 == (a + 1) / 4);  // the last one of a passage has no next
    firsts.insert(a);
    if (e.label == 0) {
      ++follows;
      CHECK(b == a + 1);
    } else {
      CHECK(b / 4 != a / 4);
      drawn.insert(b);
    }
    CHECK(std::max(a, b) < 64);  // 20 % of 80 sentences are held out
  }
  CHECK(std::abs(follows - 1000) < 120);  // the deviation is 22
  CHECK(firsts.size() == 48);             // three of each of the 16 passages
  CHECK(drawn.size() == 64);              // also the first and the last of a passage
}

TEST_CASE("next sentence: validation has its own sentences, and the same pairs each time") {
  const auto task = loaded(numbered(20), pairs());
  CHECK(task->rows(Split::kTraining) == 48);
  REQUIRE(task->rows(Split::kValidation) == 12);
  int follows = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    const TaskExample e = task->row(i, Split::kValidation);
    CHECK(e == task->row(i, Split::kValidation));
    const auto [a, b] = sentences_of(*task, e);
    CHECK(std::min(a, b) >= 64);
    CHECK((e.label == 0) == (b == a + 1));
    follows += e.label == 0;
  }
  CHECK(follows > 1);
  CHECK(follows < 11);
}

TEST_CASE("next sentence: a text of one passage draws any sentence but the two") {
  const auto task = loaded(numbered(1, 12), pairs(20, 0));
  Random random(3);
  std::set<int> apart;
  for (int i = 0; i < 2000; ++i) {
    const TaskExample e = task->draw(random);
    const auto [a, b] = sentences_of(*task, e);
    if (e.label == 0) CHECK(b == a + 1);
    if (e.label == 1) apart.insert(b - a);
  }
  CHECK(!apart.contains(0));
  CHECK(!apart.contains(1));
  CHECK(apart.contains(-1));
  CHECK(apart.contains(2));
}

TEST_CASE("next sentence: of a row that is too long the longer sentence is cut, and it is told") {
  const std::string text = "A b c d e f g h i j. K l. M n o p q r. S t.";
  TextOptions options = pairs(12, 0);
  const LoadedTask short_row = load_own_task(OwnData::kText, pasted(text), options);
  CHECK(say(short_row.notes).find("1 of 3 pairs") != std::string::npos);
  for (std::size_t i = 0; i < 3; ++i) {
    const TaskExample e = short_row.task->row(i, Split::kTraining);
    CHECK(e.tokens.size() <= 12);
    const int separator = *short_row.task->vocabulary().id_of(Special::kSeparator);
    CHECK(std::ranges::count(e.tokens, separator) == 2);
  }
  // 11 and 3 tokens in room for 10: the short one stays whole.
  Random random(1);
  bool seen = false;
  for (int i = 0; i < 50; ++i) {
    const TaskExample e = short_row.task->draw(random);
    if (e.label != 0 || short_row.task->vocabulary().token(e.tokens[0]) != "A") continue;
    const Words last = {short_row.task->vocabulary().token(e.tokens[8]),
                        short_row.task->vocabulary().token(e.tokens[9])};
    CHECK(last == Words{"K", "l"});
    seen = true;
  }
  CHECK(seen);
  options.context = 16;
  CHECK(say(load_own_task(OwnData::kText, pasted(text), options).notes).find("pairs") ==
        std::string::npos);
}

TEST_CASE("next sentence: texts and rows that cannot be, each with what to do") {
  CHECK(refusal("Only one sentence here.", pairs()).find("has 1. Choose a longer text") !=
        std::string::npos);
  CHECK(refusal("One. Two.", pairs()).find("at least 3") != std::string::npos);
  CHECK(refusal("One.\n\nTwo.\n\nThree.\n\nFour.", pairs()).find("empty lines part them all") !=
        std::string::npos);
  CHECK(refusal(numbered(9), pairs(7)).find("at least 8 tokens; got 7") != std::string::npos);
  CHECK(refusal(numbered(9), pairs(8)).empty());
  TextOptions known = pairs();
  known.known = std::make_shared<const Vocabulary>(TextCut::kWords, Words{"[UNK]", "[PAD]", "P1"});
  CHECK(refusal(numbered(9), known).find("[SEP]") != std::string::npos);
  // Too little to hold out: all of it is learned from.
  const LoadedTask all = load_own_task(OwnData::kText, pasted(numbered(2)), pairs(20, 10));
  CHECK_FALSE(all.task->has(Split::kValidation));
  CHECK(say(all.notes).find("validation") != std::string::npos);
}

TEST_CASE("next sentence: a plan judges by [CLS] with segments, and takes it back") {
  RunPlan plan = with_next_sentence(default_plan(""), true);
  CHECK(plan.config.form == ModelForm::kClasses);
  CHECK(plan.config.pool == PoolKind::kFirst);
  CHECK(plan.config.segments);
  CHECK(plan.config.mask.kind == MaskKind::kNone);
  CHECK(plan.text_options.cut == TextCut::kWordPiece);
  CHECK(!same_start(plan, default_plan("")));
  CHECK(with_next_sentence(plan, false).config == default_plan("").config);
  CHECK(with_masked(plan, 15).config == with_masked(default_plan(""), 15).config);
  CHECK_FALSE(with_masked(plan, 15).text_options.next_sentence);
  CHECK(with_data(plan, OwnData::kLabels).config ==
        with_data(default_plan(""), OwnData::kLabels).config);
}

TEST_CASE("next sentence: a run learns what follows, and its model reads two sentences") {
  // Sentences of a passage share its word, and that is what can be learned.
  RunPlan plan = with_next_sentence(default_plan(""), true);
  plan.text = pasted(numbered(4));
  plan.text_options.cut = TextCut::kWords;
  plan.text_options.context = 12;
  plan.config.layers = 1;
  plan.config.d_model = 32;
  plan.config.seed = 0;  // one in eight stops half-way where a compiler rounds otherwise; not this
  plan.stop.steps = 600;
  plan.settings.schedule = {ScheduleKind::kConstant, 3e-3, 0, 10, 600};
  const std::shared_ptr<const Task> task = as_read_by(plan.config, make_plan_task(plan).task);
  CHECK(task->context() == 13);
  TrainingRun run(plan, task, 1);
  while (!run.finished()) run.step();
  double last = 0;
  for (const TrainStep& step : run.history().curve().last(20)) last += step.loss / 20;
  CHECK(last < 0.4);  // chance is 0.69
  const std::shared_ptr<const Model> model = run.model();
  CHECK(model->file.task == kNextSentenceTask);
  CHECK(model->file.classes == Words{"next", "other"});
  CHECK(model->file.config.segments);
  const Tensor& table = *std::ranges::find(model->weights, "segment_embed.W_seg", &Tensor::name);
  CHECK(table.axes == std::vector<Axis>{{"segment", 2}, {"d_model", 32}});
  // What it learned stands in both rows: neither is what it was drawn as.
  const std::vector<Tensor> before = initial_parameters(
      build_program(plan.config, shape_of(*task, plan.config)), plan.init, plan.config.seed);
  const Tensor& drawn = *std::ranges::find(before, "segment_embed.W_seg", &Tensor::name);
  for (const std::size_t row : {0u, 1u}) CHECK(table.data[row * 32] != drawn.data[row * 32]);

  // Kept in a folder, it goes on with the same pairs.
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("headlight-pairs-" + std::to_string(::getpid()));
  run.save(folder);
  RunPlan again = resume_plan(folder);
  CHECK(again.data == OwnData::kText);
  CHECK(again.text_options.next_sentence);
  CHECK(again.text_options.context == 12);
  CHECK(again.config == plan.config);
  again.text = plan.text;
  const std::shared_ptr<const Task> same = as_read_by(again.config, make_plan_task(again).task);
  TrainingRun on(again, same, 1, kHistoryBytes, {}, plan_start(again, *same));
  CHECK(on.steps_done() == 600);
  CHECK(on.step().loss == run.step().loss);
  std::filesystem::remove_all(folder);
}

TEST_CASE("next sentence: a masked model becomes one that judges pairs, and then one that labels") {
  RunPlan masked = with_masked(default_plan(""), 20);
  masked.text = pasted(numbered(12));
  masked.text_options.cut = TextCut::kWords;
  masked.text_options.context = 13;
  masked.config.layers = 1;
  masked.config.d_model = 16;
  masked.stop.steps = 3;
  TrainingRun first(masked, make_plan_task(masked).task, 1);
  while (!first.finished()) first.step();
  const std::shared_ptr<const Model> base = first.model();
  Config config = classifier_on(base->file.config, base->name, PoolKind::kFirst);
  config.segments = true;
  TextOptions options = pairs(12);
  options.known = vocabulary_on(*base, OwnData::kText, options);
  const std::shared_ptr<const Task> task = as_read_by(config, loaded(numbered(12), options));
  const RunShape shape = shape_of(*task, config);
  CHECK(shape.separator == *task->vocabulary().id_of(Special::kSeparator));
  const std::vector<Tensor> weights = classifier_weights(*base, config, shape, Init::kNormal);
  const auto of = [](std::span<const Tensor> all, const char* name) -> const FloatBuffer& {
    return std::ranges::find(all, name, &Tensor::name)->data;
  };
  // What it knows of its words goes over; segments are new, and drawn.
  const FloatBuffer &words = of(weights, "embed.W_E"), &known = of(base->weights, "embed.W_E");
  CHECK(std::equal(known.begin(), known.end(), words.begin()));
  CHECK(words.size() == known.size() + 3 * 16);  // [PAD], [SEP], [CLS]
  CHECK(of(weights, "segment_embed.W_seg") ==
        of(initial_parameters(build_program(config, shape), Init::kNormal, config.seed),
           "segment_embed.W_seg"));
}

}  // namespace headlight::test_next_sentence
