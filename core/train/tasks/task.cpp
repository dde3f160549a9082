#include "core/train/tasks/task.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/similar.h"
#include "core/train/tasks/task_list.h"

namespace headlight {
namespace {

const std::vector<TaskEntry>& entries() {
  static const std::vector<TaskEntry> kEntries = {
      copy_task(),     reverse_task(), sort_task(),      induction_task(), addition_task(),
      brackets_task(), grammar_task(), sentiment_task(), masked_task(),    dates_task(),
      recall_task(),   curve_task(),   branches_task()};
  return kEntries;
}

const TaskEntry& entry_of(std::string_view id) {
  std::vector<std::string_view> ids;
  for (const TaskEntry& entry : entries()) {
    if (entry.info.id == id) return entry;
    ids.push_back(entry.info.id);
  }
  std::string list;
  for (const std::string_view name : ids) list += (list.empty() ? "" : ", ") + std::string(name);
  const Message unknown{"task.unknown",
                        {{"task", "'" + std::string(id.substr(0, 80)) + "'"}, {"list", list}}};
  throw UsageError(unknown.with(did_you_mean(id, ids)));
}

// The options with defaults for those that are not given.
TaskOptions complete(const TaskInfo& info, const TaskOptions& given) {
  TaskOptions options;
  std::vector<std::string_view> names;
  std::string list;
  for (const TaskOption& known : info.options) {
    options.emplace(known.name, known.value);
    names.push_back(known.name);
    list += (list.empty() ? "" : ", ") + std::string(known.name);
  }
  for (const auto& entry : given) {
    const std::string& name = entry.first;
    const int value = entry.second;
    const auto known = std::find_if(info.options.begin(), info.options.end(),
                                    [&](const TaskOption& o) { return o.name == name; });
    if (known == info.options.end()) {
      const Message unknown{list.empty() ? "task.no_options" : "task.unknown_option",
                            {{"task", std::string(info.id)},
                             {"option", "'" + name.substr(0, 80) + "'"},
                             {"list", list}}};
      throw UsageError(unknown.with(did_you_mean(name, names)));
    }
    if (value < known->low || value > known->high) {
      throw UsageError(Message{"task.option_range",
                               {{"task", std::string(info.id)},
                                {"option", name},
                                {"low", std::to_string(known->low)},
                                {"high", std::to_string(known->high)},
                                {"got", std::to_string(value)}}});
    }
    options.find(name)->second = value;
  }
  return options;
}

}  // namespace

const std::vector<TaskInfo>& all_tasks() {
  static const std::vector<TaskInfo> kInfos = [] {
    std::vector<TaskInfo> infos;
    for (const TaskEntry& entry : entries()) infos.push_back(entry.info);
    return infos;
  }();
  return kInfos;
}

const TaskInfo& task_info(std::string_view id) { return entry_of(id).info; }

std::unique_ptr<Task> make_task(std::string_view id, const TaskOptions& options) {
  const TaskEntry& entry = entry_of(id);
  return entry.make(complete(entry.info, options));
}

TaskExample Task::row(std::size_t, Split) const {
  throw Error(Message{"task.no_rows", {{"task", id()}}});
}

TaskExample Task::draw(Random& random, Split split) const {
  if (!has(split)) throw Error(Message{"task.no_validation"});
  return make(random, split);
}

void pad(TaskExample& example, const Task& task) {
  pad(example, task, static_cast<std::size_t>(task.context()),
      static_cast<std::size_t>(task.source_length()));
}

void pad(TaskExample& example, const Task& task, std::size_t context, std::size_t source) {
  if (example.tokens.size() >= context && example.source.size() >= source) return;
  const int filler = task.vocabulary().id_of(Special::kPad).value();
  example.source.resize(std::max(source, example.source.size()), filler);
  example.tokens.resize(std::max(context, example.tokens.size()), filler);
  example.targets.resize(example.tokens.size(), -1);
  if (!example.scored.empty()) example.scored.resize(example.tokens.size(), 0);
}

void TaskScore::add(const TaskExample& example, std::span<const int> predicted) {
  const bool classify = example.label >= 0;
  const std::size_t expected = classify ? 1 : example.targets.size();
  if (predicted.size() < expected) {
    throw Error(Message{
        "task.few_predictions",
        {{"expected", std::to_string(expected)}, {"got", std::to_string(predicted.size())}}});
  }
  std::int64_t counted = 0, right = 0;
  if (classify) {
    counted = 1;
    right = predicted[0] == example.label;
  } else {
    for (std::size_t i = 0; i < expected; ++i) {
      if (example.targets[i] < 0 || (!example.scored.empty() && !example.scored[i])) continue;
      ++counted;
      right += predicted[i] == example.targets[i];
    }
  }
  if (counted == 0) return;
  tokens += counted;
  tokens_right += right;
  sequences += 1;
  sequences_right += counted == right;
}

std::vector<std::string> letters(int n) {
  std::vector<std::string> tokens;
  for (int i = 0; i < n; ++i) {
    std::string token;
    if (i >= 26) token += static_cast<char>('a' + i / 26 - 1);
    tokens.push_back(token + static_cast<char>('a' + i % 26));
  }
  return tokens;
}

std::vector<std::string> numbers(int n) {
  std::vector<std::string> tokens;
  for (int i = 0; i < n; ++i) tokens.push_back(std::to_string(i));
  return tokens;
}

std::shared_ptr<const Vocabulary> words_vocabulary(std::span<const Special> specials,
                                                   std::vector<std::string> words) {
  std::vector<std::string> tokens;
  for (const Special special : specials) tokens.emplace_back(to_string(special));
  tokens.insert(tokens.end(), words.begin(), words.end());
  return std::make_shared<const Vocabulary>(TextCut::kWords, std::move(tokens));
}

TaskExample next_token_example(const std::vector<int>& row, std::size_t given) {
  TaskExample example;
  example.tokens.assign(row.begin(), row.end() - 1);
  example.targets.assign(row.begin() + 1, row.end());
  std::fill_n(example.targets.begin(), std::min(given, example.targets.size()), -1);
  return example;
}

namespace {

constexpr Special kOnlySeparator[] = {Special::kSeparator};

}  // namespace

SequenceTask::SequenceTask(std::string id, const TaskOptions& options,
                           std::vector<std::string> symbols)
    : Task({.id = std::move(id),
            .kind = TaskKind::kNextToken,
            .vocabulary = words_vocabulary(kOnlySeparator, std::move(symbols)),
            .context = 2 * option(options, "length"),
            .source_length = 0,
            .classes = {},
            .options = options}) {}

TaskExample SequenceTask::make(Random& random, Split) const {
  const int length = context() / 2;
  std::vector<int> row;
  for (int i = 0; i < length; ++i) row.push_back(random.between(1, vocabulary().size() - 1));
  std::vector<int> result = row;
  answer(result);
  row.push_back(0);  // [SEP]
  row.insert(row.end(), result.begin(), result.end());
  return next_token_example(row, static_cast<std::size_t>(length));
}

}  // namespace headlight
