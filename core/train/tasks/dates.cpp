// Dates: "march 5 2021", "5 march 2021" or "mar 5 2021" becomes "2021-03-05", by characters.
#include <set>

#include "core/base/error.h"
#include "core/train/tasks/task_list.h"

namespace headlight {
namespace {

constexpr std::string_view kMonths[] = {"january",   "february", "march",    "april",
                                        "may",       "june",     "july",     "august",
                                        "september", "october",  "november", "december"};
constexpr int kLongestSource = 17;  // "september 30 2021"
constexpr int kLongestResult = 10;  // "2021-03-05"
constexpr std::size_t kShortMonth = 3;

int days_in(int month, int year) {
  if (month == 2) return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

std::shared_ptr<const Vocabulary> date_vocabulary() {
  std::vector<std::string> tokens = {"[PAD]", "[BOS]", "[EOS]", " ", "-"};
  for (const std::string& digit : numbers(10)) tokens.push_back(digit);
  std::set<char> used;
  for (const std::string_view month : kMonths) used.insert(month.begin(), month.end());
  for (const char letter : used) tokens.emplace_back(1, letter);
  return std::make_shared<const Vocabulary>(TextCut::kCharacters, std::move(tokens));
}

std::string digits(int value, std::size_t width) {
  std::string text = std::to_string(value);
  return std::string(width - std::min(width, text.size()), '0') + text;
}

class DatesTask : public Task {
 public:
  explicit DatesTask(const TaskOptions& options)
      : Task({.id = "dates",
              .kind = TaskKind::kTranslate,
              .vocabulary = date_vocabulary(),
              .context = kLongestResult + 1,
              .source_length = kLongestSource,
              .classes = {},
              .options = options}),
        first_(option(options, "first_year")),
        last_(option(options, "last_year")),
        formats_(option(options, "formats")) {}

 private:
  TaskExample make(Random& random, Split) const override {
    const int year = random.between(first_, last_), month = random.between(1, 12);
    const int day = random.between(1, days_in(month, year)), format = random.between(1, formats_);
    std::string name(kMonths[month - 1]), number = std::to_string(day);
    if (format == 3) name.resize(kShortMonth);
    if (format == 2) std::swap(name, number);
    TaskExample example;
    add(name + " " + number + " " + std::to_string(year), example.source);
    const std::string result = digits(year, 4) + "-" + digits(month, 2) + "-" + digits(day, 2);
    example.tokens.push_back(*vocabulary().id_of(Special::kBegin));
    add(result, example.tokens);
    add(result, example.targets);
    example.targets.push_back(*vocabulary().id_of(Special::kEnd));
    return example;
  }

  void add(const std::string& text, std::vector<int>& ids) const {
    for (const char letter : text) ids.push_back(*vocabulary().find(std::string_view(&letter, 1)));
  }

  int first_, last_, formats_;
};

std::unique_ptr<Task> make_dates(const TaskOptions& options) {
  const int first = option(options, "first_year"), last = option(options, "last_year");
  if (first > last) {
    throw UsageError(Message{"task.dates.years",
                             {{"first", std::to_string(first)}, {"last", std::to_string(last)}}});
  }
  return std::make_unique<DatesTask>(options);
}

}  // namespace

TaskEntry dates_task() {
  return {{"dates",
           TaskKind::kTranslate,
           "task.dates",
           "task.dates.about",
           "task.dates.look",
           {{"first_year", 1950, 1000, 9999, "task.option.first_year"},
            {"last_year", 2049, 1000, 9999, "task.option.last_year"},
            {"formats", 3, 1, 3, "task.option.formats"}}},
          make_dates};
}

}  // namespace headlight
