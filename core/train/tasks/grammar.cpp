// The grammar as a language: stories one after another, each token predicts the next.
#include "core/train/tasks/english.h"
#include "core/train/tasks/task_list.h"

namespace headlight {
namespace {

class GrammarTask : public Task {
 public:
  explicit GrammarTask(const TaskOptions& options)
      : Task({.id = "grammar",
              .kind = TaskKind::kNextToken,
              .vocabulary = words_vocabulary({}, english_words()),
              .context = option(options, "context"),
              .source_length = 0,
              .classes = {},
              .options = options}) {}

 private:
  TaskExample make(Random& random, Split) const override {
    const std::size_t length = static_cast<std::size_t>(context()) + 1;
    std::vector<int> row;
    std::vector<std::uint8_t> sure;
    while (row.size() < length) {
      const Story story = draw_story(random);
      for (const std::string_view word : story.words) row.push_back(*vocabulary().find(word));
      sure.insert(sure.end(), story.sure.begin(), story.sure.end());
    }
    row.resize(length);
    TaskExample example = next_token_example(row, 0);
    example.scored.assign(sure.begin() + 1, sure.begin() + static_cast<std::ptrdiff_t>(length));
    return example;
  }
};

}  // namespace

TaskEntry grammar_task() {
  return {{"grammar",
           TaskKind::kNextToken,
           "task.grammar",
           "task.grammar.about",
           "task.grammar.look",
           {{"context", 32, 4, 1024, "task.option.context"}}},
          [](const TaskOptions& options) -> std::unique_ptr<Task> {
            return std::make_unique<GrammarTask>(options);
          }};
}

}  // namespace headlight
