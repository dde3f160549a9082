// The grammar with holes: [CLS] and stories, some words behind a [MASK] (Devlin et al. 2019, but
// always the mark: no word is left as it is or replaced by another).
#include "core/train/tasks/english.h"
#include "core/train/tasks/task_list.h"

namespace headlight {
namespace {

constexpr Special kSpecialTokens[] = {Special::kClass, Special::kMask};
constexpr int kClassId = 0, kMaskId = 1;

class MaskedTask : public Task {
 public:
  explicit MaskedTask(const TaskOptions& options)
      : Task({.id = "masked",
              .kind = TaskKind::kMasked,
              .vocabulary = words_vocabulary(kSpecialTokens, english_words()),
              .context = option(options, "context"),
              .source_length = 0,
              .classes = {},
              .options = options}),
        share_(option(options, "share")) {}

 private:
  TaskExample make(Random& random, Split) const override {
    TaskExample example;
    std::vector<int>& tokens = example.tokens;
    tokens.push_back(kClassId);
    while (tokens.size() < static_cast<std::size_t>(context())) {
      for (const std::string_view word : draw_story(random).words)
        tokens.push_back(*vocabulary().find(word));
    }
    tokens.resize(static_cast<std::size_t>(context()));
    example.targets.assign(tokens.size(), -1);
    const auto hide = [&](std::size_t i) {
      example.targets[i] = tokens[i];
      tokens[i] = kMaskId;
    };
    bool any = false;
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      if (!random.percent(share_)) continue;
      hide(i);
      any = true;
    }
    if (!any) hide(1 + random.below(tokens.size() - 1));
    return example;
  }

  int share_;
};

}  // namespace

TaskEntry masked_task() {
  return {{"masked",
           TaskKind::kMasked,
           "task.masked",
           "task.masked.about",
           "task.masked.look",
           {{"context", 24, 4, 1024, "task.option.context"},
            {"share", 15, 1, 90, "task.option.share"}}},
          [](const TaskOptions& options) -> std::unique_ptr<Task> {
            return std::make_unique<MaskedTask>(options);
          }};
}

}  // namespace headlight
