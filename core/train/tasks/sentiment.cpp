// Judgements as classes: the same words in another order mean the opposite.
#include "core/train/tasks/english.h"
#include "core/train/tasks/task_list.h"

namespace headlight {
namespace {

constexpr Special kClassTokens[] = {Special::kPad};

class SentimentTask : public Task {
 public:
  explicit SentimentTask(const TaskOptions& options)
      : Task({.id = "sentiment",
              .kind = TaskKind::kClassify,
              .vocabulary = words_vocabulary(kClassTokens, english_words()),
              .context = kLongestOpinion,
              .source_length = 0,
              .classes = {"negative", "positive"},
              .options = options}) {}

 private:
  TaskExample make(Random& random, Split) const override {
    const Opinion opinion = draw_opinion(random);
    TaskExample example;
    for (const std::string_view word : opinion.words)
      example.tokens.push_back(*vocabulary().find(word));
    example.targets.assign(example.tokens.size(), -1);
    example.label = opinion.positive ? 1 : 0;
    return example;
  }
};

}  // namespace

TaskEntry sentiment_task() {
  return {{"sentiment",
           TaskKind::kClassify,
           "task.sentiment",
           "task.sentiment.about",
           "task.sentiment.look",
           {}},
          [](const TaskOptions& options) -> std::unique_ptr<Task> {
            return std::make_unique<SentimentTask>(options);
          }};
}

}  // namespace headlight
