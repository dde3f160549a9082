// Sort: "7 2 5 [SEP] 2 5 7"; a number may come twice.
#include <algorithm>

#include "core/train/tasks/task_list.h"

namespace headlight {
namespace {

class SortTask : public SequenceTask {
 public:
  explicit SortTask(const TaskOptions& options)
      : SequenceTask("sort", options, numbers(option(options, "numbers"))) {}

 private:
  void answer(std::vector<int>& given) const override { std::sort(given.begin(), given.end()); }
};

}  // namespace

TaskEntry sort_task() {
  return {{"sort",
           TaskKind::kNextToken,
           "task.sort",
           "task.sort.about",
           "task.sort.look",
           {{"length", 8, 2, 256, "task.option.length"},
            {"numbers", 16, 2, 500, "task.option.numbers"}}},
          [](const TaskOptions& options) -> std::unique_ptr<Task> {
            return std::make_unique<SortTask>(options);
          }};
}

}  // namespace headlight
