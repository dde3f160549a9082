// Copy: "d a c [SEP] d a c".
#include "core/train/tasks/task_list.h"

namespace headlight {
namespace {

class CopyTask : public SequenceTask {
 public:
  explicit CopyTask(const TaskOptions& options)
      : SequenceTask("copy", options, letters(option(options, "symbols"))) {}

 private:
  void answer(std::vector<int>&) const override {}
};

}  // namespace

TaskEntry copy_task() {
  return {{"copy",
           TaskKind::kNextToken,
           "task.copy",
           "task.copy.about",
           "task.copy.look",
           {{"length", 8, 2, 256, "task.option.length"},
            {"symbols", 12, 2, 500, "task.option.symbols"}}},
          [](const TaskOptions& options) -> std::unique_ptr<Task> {
            return std::make_unique<CopyTask>(options);
          }};
}

}  // namespace headlight
