// Repeated random sequences: letters without a pattern, and the same again. Only who finds the
// place where the last letter stood before, and looks at what followed it, knows what comes (an
// induction head; Olsson et al. 2022).
#include "core/base/error.h"
#include "core/train/tasks/task_list.h"

namespace headlight {
namespace {

class InductionTask : public Task {
 public:
  explicit InductionTask(const TaskOptions& options)
      : Task({.id = "induction",
              .kind = TaskKind::kNextToken,
              .vocabulary = words_vocabulary({}, letters(option(options, "symbols"))),
              .context = option(options, "context"),
              .source_length = 0,
              .classes = {},
              .options = options}),
        shortest_(option(options, "shortest")),
        longest_(option(options, "longest")) {}

 private:
  // The length of the repeated part differs, so that a fixed distance is no help; no letter comes
  // twice in it, so that the answer is certain from its second letter on.
  TaskExample make(Random& random, Split) const override {
    const int period = random.between(shortest_, longest_);
    std::vector<int> ids;
    for (int id = 0; id < vocabulary().size(); ++id) ids.push_back(id);
    shuffle(ids, random);
    std::vector<int> row;
    for (int i = 0; i <= context(); ++i) row.push_back(ids[static_cast<std::size_t>(i % period)]);
    return next_token_example(row, static_cast<std::size_t>(period));
  }

  int shortest_, longest_;
};

std::unique_ptr<Task> make_induction(const TaskOptions& options) {
  const int shortest = option(options, "shortest"), longest = option(options, "longest");
  const int most = std::min(option(options, "symbols"), option(options, "context") - 1);
  if (shortest > longest) {
    throw UsageError(
        Message{"task.induction.order",
                {{"shortest", std::to_string(shortest)}, {"longest", std::to_string(longest)}}});
  }
  if (longest > most) {
    throw UsageError(
        Message{"task.induction.sizes",
                {{"longest", std::to_string(longest)}, {"most", std::to_string(most)}}});
  }
  return std::make_unique<InductionTask>(options);
}

}  // namespace

TaskEntry induction_task() {
  return {{"induction",
           TaskKind::kNextToken,
           "task.induction",
           "task.induction.about",
           "task.induction.look",
           {{"context", 32, 4, 1024, "task.option.context"},
            {"symbols", 24, 2, 500, "task.option.symbols"},
            {"shortest", 6, 1, 500, "task.option.shortest"},
            {"longest", 14, 1, 500, "task.option.longest"}}},
          make_induction};
}

}  // namespace headlight
