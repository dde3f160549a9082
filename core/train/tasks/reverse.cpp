// Reverse: "d a c [SEP] c a d".
#include <algorithm>

#include "core/train/tasks/task_list.h"

namespace headlight {
namespace {

class ReverseTask : public SequenceTask {
 public:
  explicit ReverseTask(const TaskOptions& options)
      : SequenceTask("reverse", options, letters(option(options, "symbols"))) {}

 private:
  void answer(std::vector<int>& given) const override { std::reverse(given.begin(), given.end()); }
};

}  // namespace

TaskEntry reverse_task() {
  return {{"reverse",
           TaskKind::kNextToken,
           "task.reverse",
           "task.reverse.about",
           "task.reverse.look",
           {{"length", 8, 2, 256, "task.option.length"},
            {"symbols", 12, 2, 500, "task.option.symbols"}}},
          [](const TaskOptions& options) -> std::unique_ptr<Task> {
            return std::make_unique<ReverseTask>(options);
          }};
}

}  // namespace headlight
