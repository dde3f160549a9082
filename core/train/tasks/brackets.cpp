// Balanced brackets: "( [ ] ( [SEP] ) )": close all that is still open, the last one first.
#include "core/train/tasks/task_list.h"

namespace headlight {
namespace {

constexpr std::string_view kBrackets = "()[]{}<>";
constexpr Special kSpecialTokens[] = {Special::kPad, Special::kSeparator, Special::kEnd};
constexpr int kSeparatorId = 1, kEndId = 2, kFirstBracket = 3;

std::vector<std::string> bracket_tokens(int kinds) {
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < 2 * static_cast<std::size_t>(kinds); ++i)
    tokens.emplace_back(1, kBrackets[i]);
  return tokens;
}

class BracketsTask : public Task {
 public:
  explicit BracketsTask(const TaskOptions& options)
      : Task({.id = "brackets",
              .kind = TaskKind::kNextToken,
              .vocabulary =
                  words_vocabulary(kSpecialTokens, bracket_tokens(option(options, "kinds"))),
              .context = option(options, "length") + 1 +
                         std::min(option(options, "length"), option(options, "depth")),
              .source_length = 0,
              .classes = {},
              .options = options}),
        length_(option(options, "length")),
        kinds_(option(options, "kinds")),
        depth_(option(options, "depth")) {}

 private:
  TaskExample make(Random& random, Split) const override {
    std::vector<int> row, open;
    for (int i = 0; i < length_; ++i) {
      const auto depth = static_cast<int>(open.size());
      const bool last = i + 1 == length_;  // at least one must be left open
      if (depth == 0 || (last && depth == 1) || (depth < depth_ && random.percent(55))) {
        open.push_back(kFirstBracket + 2 * random.between(0, kinds_ - 1));
        row.push_back(open.back());
      } else {
        row.push_back(open.back() + 1);
        open.pop_back();
      }
    }
    row.push_back(kSeparatorId);
    for (auto bracket = open.rbegin(); bracket != open.rend(); ++bracket)
      row.push_back(*bracket + 1);
    row.push_back(kEndId);
    return next_token_example(row, static_cast<std::size_t>(length_));
  }

  int length_, kinds_, depth_;
};

}  // namespace

TaskEntry brackets_task() {
  return {{"brackets",
           TaskKind::kNextToken,
           "task.brackets",
           "task.brackets.about",
           "task.brackets.look",
           {{"length", 12, 1, 256, "task.option.brackets"},
            {"kinds", 2, 1, 4, "task.option.kinds"},
            {"depth", 6, 2, 256, "task.option.depth"}}},
          [](const TaskOptions& options) -> std::unique_ptr<Task> {
            return std::make_unique<BracketsTask>(options);
          }};
}

}  // namespace headlight
