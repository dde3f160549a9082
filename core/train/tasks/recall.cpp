// Recall: one letter among digits, then more digits, and at the end a question mark: which letter
// was it? How many tokens lie between is the distance over which it must be remembered.
#include <algorithm>

#include "core/train/tasks/task_list.h"

namespace headlight {
namespace {

constexpr int kDigits = 10;

// digits, then the keys, then "?"
std::vector<std::string> words(int keys) {
  std::vector<std::string> all = numbers(kDigits);
  for (std::string& letter : letters(keys)) all.push_back(std::move(letter));
  all.emplace_back("?");
  return all;
}

class RecallTask : public Task {
 public:
  explicit RecallTask(const TaskOptions& options)
      : Task({.id = "recall",
              .kind = TaskKind::kNextToken,
              .vocabulary = words_vocabulary({}, words(option(options, "symbols"))),
              .context = option(options, "context"),
              .source_length = 0,
              .classes = {},
              .options = options}),
        keys_(option(options, "symbols")) {}

  std::optional<int> distance(const TaskExample& example) const override {
    const auto is_key = [&](int id) { return id >= kDigits && id < kDigits + keys_; };
    const auto key = std::ranges::find_if(example.tokens, is_key);
    return static_cast<int>(example.tokens.end() - key) - 1;
  }

 private:
  // Every distance is as likely as every other; only what is asked for at the end counts.
  TaskExample make(Random& random, Split) const override {
    TaskExample example;
    for (int t = 0; t + 1 < context(); ++t)
      example.tokens.push_back(static_cast<int>(random.below(kDigits)));
    const std::size_t at = random.below(example.tokens.size());
    const int key = kDigits + static_cast<int>(random.below(static_cast<std::size_t>(keys_)));
    example.tokens[at] = key;
    example.tokens.push_back(kDigits + keys_);
    example.targets.assign(example.tokens.size(), -1);
    example.targets.back() = key;
    return example;
  }

  int keys_;
};

std::unique_ptr<Task> make_recall(const TaskOptions& options) {
  return std::make_unique<RecallTask>(options);
}

}  // namespace

TaskEntry recall_task() {
  return {{"recall",
           TaskKind::kNextToken,
           "task.recall",
           "task.recall.about",
           "task.recall.look",
           {{"context", 33, 3, 1024, "task.option.context"},
            {"symbols", 16, 2, 500, "task.option.symbols"}}},
          make_recall};
}

}  // namespace headlight
