// What the files task_*.cpp share: each gives one entry of the list of tasks.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/train/tasks/task.h"

namespace headlight {

struct TaskEntry {
  TaskInfo info;
  std::unique_ptr<Task> (*make)(const TaskOptions&);  // all options there and in range
};

TaskEntry copy_task();
TaskEntry reverse_task();
TaskEntry sort_task();
TaskEntry induction_task();
TaskEntry addition_task();
TaskEntry brackets_task();
TaskEntry grammar_task();
TaskEntry sentiment_task();
TaskEntry masked_task();
TaskEntry dates_task();
TaskEntry recall_task();
TaskEntry curve_task();
TaskEntry branches_task();

inline int option(const TaskOptions& options, std::string_view name) {
  return options.find(name)->second;
}

/// a … z, aa, ab …; 0, 1, 2 …
std::vector<std::string> letters(int n);
std::vector<std::string> numbers(int n);
/// A vocabulary of words: the specials first, then the others.
std::shared_ptr<const Vocabulary> words_vocabulary(std::span<const Special> specials,
                                                   std::vector<std::string> words);

/// A row as next-token example: all but the last are read, all but the first are targets. The first
/// `given` targets do not count, since nothing says what they must be.
TaskExample next_token_example(const std::vector<int>& row, std::size_t given);

template <class T>
const T& one_of(Random& random, std::span<const T> items) {
  return items[random.below(items.size())];
}

template <class T>
void shuffle(std::vector<T>& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

/// "letters [SEP] answer": the task is what the answer is.
class SequenceTask : public Task {
 protected:
  /// The vocabulary's id 0 is [SEP]; the others are what rows are made of.
  SequenceTask(std::string id, const TaskOptions& options, std::vector<std::string> symbols);
  virtual void answer(std::vector<int>& given) const = 0;

 private:
  TaskExample make(Random& random, Split split) const override;
};

}  // namespace headlight
