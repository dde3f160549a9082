// Masked language modelling on running text: what is chosen, what becomes of it, what counts.
#include <doctest/doctest.h>

#include <set>

#include "core/train/data/masked_text.h"
#include "core/train/training_run.h"
#include "tests/support/text_source_support.h"

namespace headlight::test_masked_text {
namespace {

std::string some_text() {
  std::string text;
  for (int i = 0; i < 400; ++i)
    text += "the " + std::string(i % 3 ? "cat" : "dog") + " sat on mat " + std::to_string(i % 17) +
            " . ";
  return text;
}

TextOptions masked(int context = 40, int share = 15) {
  TextOptions options = by(TextCut::kWords, context);
  options.masked = share;
  return options;
}

}  // namespace

TEST_CASE("masked text: 15 % are chosen; of these 80 % hidden, 10 % another token, 10 % kept") {
  const LoadedTask loaded = load_text_task(pasted(some_text()), masked());
  const Task& task = *loaded.task;
  CHECK(task.kind() == TaskKind::kMasked);
  CHECK(task.context() == 40);
  const int mask = *task.vocabulary().id_of(Special::kMask);
  Random random(5);
  int chosen = 0, hidden = 0, kept = 0, other = 0;
  std::set<std::size_t> places;
  for (int i = 0; i < 1000; ++i) {
    const TaskExample e = task.draw(random);
    REQUIRE(e.tokens.size() == 40);
    int here = 0;
    for (std::size_t t = 0; t < 40; ++t) {
      if (e.targets[t] < 0) {
        CHECK(e.tokens[t] != mask);
        continue;
      }
      CHECK(e.targets[t] != mask);
      places.insert(t);
      ++here;
      (e.tokens[t] == mask ? hidden : e.tokens[t] == e.targets[t] ? kept : other) += 1;
    }
    CHECK(here == 6);  // 15 % of 40
    chosen += here;
  }
  CHECK(places.size() == 40);
  // Of 6,000 draws the deviation is 31 (80 %) and 23 (10 %). Of the other tokens one in 25 is by
  // chance the one that stood there.
  CHECK(std::abs(hidden - 0.8 * chosen) < 150);
  CHECK(std::abs(other - 0.096 * chosen) < 110);
  CHECK(std::abs(kept - 0.104 * chosen) < 110);
}

TEST_CASE("masked text: a row always hides the same, and is the text where nothing is chosen") {
  const std::string text = some_text();
  const auto source =
      std::make_shared<const TextSource>(TextSource::load(pasted(text), masked(10, 30)));
  const std::unique_ptr<Task> task = masked_text_task(source, 30);
  CHECK(task->rows(Split::kValidation) > 5);
  CHECK(task->rows(Split::kTraining) == source->part(Split::kTraining).end / 10);
  std::set<std::vector<int>> hidden;
  for (const Split split : {Split::kTraining, Split::kValidation}) {
    for (std::size_t i = 0; i < 6; ++i) {
      TaskExample e = task->row(i, split);
      CHECK(e == task->row(i, split));
      std::vector<int> places;
      for (std::size_t t = 0; t < e.tokens.size(); ++t) {
        if (e.targets[t] < 0) continue;
        e.tokens[t] = e.targets[t];
        places.push_back(static_cast<int>(t));
      }
      CHECK(places.size() == 3);
      hidden.insert(places);
      CHECK(e.tokens == source->window(source->part(split).begin + i * 10, 10));
    }
  }
  CHECK(hidden.size() > 3);  // not the same places in each row
}

TEST_CASE("masked text: specials are never chosen, and a row of nothing else asks nothing") {
  const Vocabulary v(TextCut::kWords, {"[UNK]", "[MASK]", "a", "b"});
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    const TaskExample e = hide_tokens({0, 2, 0, 3, 0}, 90, v, random);
    for (const std::size_t t : {0u, 2u, 4u}) {
      CHECK(e.tokens[t] == 0);
      CHECK(e.targets[t] == -1);
    }
    for (const std::size_t t : {1u, 3u}) CHECK(e.tokens[t] != 0);
  }
  CHECK(hide_tokens({0, 0}, 15, v, random).targets == Ids{-1, -1});
  // A short row still asks for one.
  const TaskExample one = hide_tokens({2, 3}, 1, v, random);
  CHECK((one.targets[0] >= 0) + (one.targets[1] >= 0) == 1);
}

TEST_CASE("masked text: every cut has [MASK]; too short a text, and shares that cannot be") {
  for (const TextCut cut : {TextCut::kWords, TextCut::kCharacters, TextCut::kBytes, TextCut::kBpe,
                            TextCut::kWordPiece}) {
    CAPTURE(to_string(cut));
    TextOptions options = masked();
    options.cut = cut;
    if (cut == TextCut::kBpe) options.vocabulary = 300;
    const LoadedTask loaded = load_text_task(pasted(some_text()), options);
    Random random(1);
    CHECK(loaded.task->draw(random).tokens.size() == 40);
    CHECK(loaded.task->vocabulary().id_of(Special::kMask).has_value());
  }
  const auto refused = [](const std::string& text, const TextOptions& options) {
    return error_of([&] { (void)load_text_task(pasted(text), options); });
  };
  CHECK(refused("a b c", masked(4)).find("a window has 4 tokens, but the text has 3") !=
        std::string::npos);
  CHECK(refused("a b c d", masked(4)).empty());  // just one window, and no token more
  CHECK(refused(some_text(), masked(4, 91)).find("between 0 and 90; got 91") != std::string::npos);
  TextOptions known = masked();
  known.known = std::make_shared<const Vocabulary>(TextCut::kWords, Words{"[UNK]", "the"});
  CHECK(refused(some_text(), known).find("[MASK]") != std::string::npos);
}

TEST_CASE("masked text: a run looks both ways, and the same run without looks back") {
  RunPlan plan = with_masked(default_plan(""), 15);
  CHECK(plan.config.mask.kind == MaskKind::kNone);
  CHECK(plan.config.form == ModelForm::kTokens);
  CHECK(!same_start(plan, default_plan("")));
  CHECK(with_masked(plan, 0).config == default_plan("").config);
  plan.text = pasted(some_text());
  plan.text_options.cut = TextCut::kWords;
  plan.text_options.context = 12;
  plan.config.layers = 1;
  plan.config.d_model = 16;
  plan.stop.steps = 150;
  plan.settings.schedule.peak = 1e-2;
  plan.settings.schedule.warmup = 5;
  const std::shared_ptr<const Task> task = make_plan_task(plan).task;
  TrainingRun run(plan, task, 1);
  while (!run.finished()) run.step();
  CHECK(run.history().validation().back().loss < 0.7 * run.history().validation().front().loss);
  CHECK(run.model()->file.kind == "masked");
}

}  // namespace headlight::test_masked_text
