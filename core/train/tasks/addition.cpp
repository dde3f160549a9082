// Modular addition: "17 + 9 = 3" (mod 23). There are only modulus² sums, so some can be kept from
// the training: a model that has understood knows them, one that has memorized them does not.
#include "core/train/tasks/task_list.h"

namespace headlight {
namespace {

std::vector<std::string> addition_tokens(int modulus) {
  std::vector<std::string> tokens = numbers(modulus);
  tokens.emplace_back("+");
  tokens.emplace_back("=");
  return tokens;
}

class AdditionTask : public Task {
 public:
  explicit AdditionTask(const TaskOptions& options)
      : Task({.id = "addition",
              .kind = TaskKind::kNextToken,
              .vocabulary = words_vocabulary({}, addition_tokens(option(options, "modulus"))),
              .context = 4,
              .source_length = 0,
              .classes = {},
              .options = options}),
        modulus_(option(options, "modulus")) {
    const int sums = modulus_ * modulus_;
    for (int i = 0; i < sums; ++i) sums_.push_back(i);
    Random fixed(hash_text("sums held out"));  // the same sums for every seed
    shuffle(sums_, fixed);
    const int percent = option(options, "held_out");
    if (percent > 0) held_out_ = static_cast<std::size_t>(std::max(1, sums * percent / 100));
  }

 private:
  TaskExample make(Random& random, Split split) const override {
    const std::size_t training = sums_.size() - held_out_;
    const bool from_held_out = split == Split::kValidation && held_out_ > 0;
    const std::size_t at =
        from_held_out ? training + random.below(held_out_) : random.below(training);
    const int a = sums_[at] / modulus_, b = sums_[at] % modulus_;
    return next_token_example({a, modulus_, b, modulus_ + 1, (a + b) % modulus_}, 3);
  }

  int modulus_;
  std::vector<int> sums_;  // a · modulus + b, those held out last
  std::size_t held_out_ = 0;
};

}  // namespace

TaskEntry addition_task() {
  return {{"addition",
           TaskKind::kNextToken,
           "task.addition",
           "task.addition.about",
           "task.addition.look",
           {{"modulus", 23, 2, 300, "task.option.modulus"},
            {"held_out", 0, 0, 90, "task.option.held_out"}}},
          [](const TaskOptions& options) -> std::unique_ptr<Task> {
            return std::make_unique<AdditionTask>(options);
          }};
}

}  // namespace headlight
