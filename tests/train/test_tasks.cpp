// Tasks: every example follows its task's rule, which is checked here in another way than the task
// makes it; the same seed gives the same examples; only what is determined counts.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/texts.h"
#include "core/train/tasks/english.h"
#include "core/train/tasks/task.h"
#include "tests/support/error_text.h"

namespace headlight::test_tasks {
namespace {

using Words = std::vector<std::string>;

constexpr int kDraws = 300;

Words words_of(const Task& task, const std::vector<int>& ids) {
  Words words;
  for (const int id : ids) words.push_back(task.vocabulary().token(id));
  return words;
}

// The row that a next-token example was made from: its tokens and the last target.
Words row_of(const Task& task, const TaskExample& e) {
  std::vector<int> ids = e.tokens;
  ids.push_back(e.targets.back());
  return words_of(task, ids);
}

std::size_t counted(const TaskExample& e) {
  return static_cast<std::size_t>(
      std::count_if(e.targets.begin(), e.targets.end(), [](int id) { return id >= 0; }));
}

// Which is counted must be the token that really comes next.
void check_next_tokens(const TaskExample& e, std::size_t first) {
  for (std::size_t i = 0; i < e.tokens.size(); ++i) {
    const bool counts = i >= first;
    REQUIRE((e.targets[i] >= 0) == counts);
    if (counts && i + 1 < e.tokens.size()) REQUIRE(e.targets[i] == e.tokens[i + 1]);
  }
}

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

Words split_words(const std::string& text) {
  std::istringstream in(text);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool is_one_of(const std::string& word, const std::string& list) {
  const Words words = split_words(list);
  return std::find(words.begin(), words.end(), word) != words.end();
}

template <class Check>
void for_examples(const Task& task, Check check, int draws = kDraws) {
  Random random(7);
  for (int i = 0; i < draws; ++i) check(task.draw(random));
}

}  // namespace

TEST_CASE("tasks: the stream of random numbers is SplitMix64, even, and goes on from its state") {
  Random stream = Random::at_state(0);
  CHECK(stream.next() == 0xE220A8397B1DCDAFull);
  CHECK(stream.next() == 0x6E789E6AA1B965F4ull);
  Random again = Random::at_state(stream.state());
  CHECK(again.next() == stream.next());
  CHECK(Random(1).next() != Random(1, 1).next());
  CHECK(Random(1).next() == Random(1).next());
  std::map<int, int> seen;
  for (int i = 0; i < 30000; ++i) ++seen[stream.between(-1, 1)];
  REQUIRE(seen.size() == 3);
  for (const auto& entry : seen) CHECK(std::abs(entry.second - 10000) < 400);
  CHECK(stream.below(1) == 0);
  CHECK(stream.between(-2147483647 - 1, 2147483647) != 0);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double x = stream.uniform();
    REQUIRE((x >= 0 && x < 1));
    sum += x;
  }
  CHECK(std::abs(sum / 10000 - 0.5) < 0.02);
}

TEST_CASE("tasks: thirteen of them, each with its words, sizes and examples that fit") {
  REQUIRE(all_tasks().size() == 13);
  std::set<std::string_view> ids;
  for (const TaskInfo& info : all_tasks()) {
    CAPTURE(info.id);
    CHECK(ids.insert(info.id).second);
    for (const std::string_view text : {info.name, info.about, info.look})
      CHECK(tr_or(Language::kChinese, text, "-") != "-");
    const auto task = make_task(info.id);
    CHECK(task->id() == info.id);
    CHECK(task->kind() == info.kind);
    CHECK(task->options().size() == info.options.size());
    CHECK((task->source_length() > 0) == (info.kind == TaskKind::kTranslate));
    CHECK((task->classes().size() == 2) == (info.kind == TaskKind::kClassify));
    const int n = task->vocabulary().size();
    std::size_t longest = 0;
    for_examples(
        *task,
        [&](TaskExample e) {
          longest = std::max(longest, e.tokens.size());
          REQUIRE(e.tokens.size() <= static_cast<std::size_t>(task->context()));
          REQUIRE(e.source.size() <= static_cast<std::size_t>(task->source_length()));
          REQUIRE(e.targets.size() == e.tokens.size());
          REQUIRE((e.label >= 0) == (info.kind == TaskKind::kClassify));
          REQUIRE((counted(e) > 0) == (info.kind != TaskKind::kClassify));
          const std::size_t before = counted(e);
          pad(e, *task);
          REQUIRE(e.tokens.size() == static_cast<std::size_t>(task->context()));
          REQUIRE(e.source.size() == static_cast<std::size_t>(task->source_length()));
          REQUIRE(counted(e) == before);
          for (const auto* list : {&e.source, &e.tokens}) {
            for (const int id : *list) REQUIRE((id >= 0 && id < n));
          }
          for (const int id : e.targets) REQUIRE((id >= -1 && id < n));
        },
        1500);
    CHECK(longest == static_cast<std::size_t>(task->context()));
  }
}

TEST_CASE("tasks: the same seed gives the same examples, another seed others") {
  for (const TaskInfo& info : all_tasks()) {
    CAPTURE(info.id);
    const auto task = make_task(info.id), same = make_task(info.id, task->options());
    CHECK(task->vocabulary() == same->vocabulary());
    Random a(3), b(3), c(4);
    int differ = 0;
    for (int i = 0; i < 20; ++i) {
      const TaskExample x = task->draw(a);
      CHECK(x == same->draw(b));
      differ += x != task->draw(c);
    }
    CHECK(differ > 10);
  }
  // Pinned, so that a seed means the same examples for ever.
  Random random(1);
  const auto copy = make_task("copy", {{"length", 3}});
  CHECK(joined(row_of(*copy, copy->draw(random))) == "d e b [SEP] d e b");
}

TEST_CASE("tasks: copy, reverse and sort do what they say, from the separator on") {
  for (const std::string id : {"copy", "reverse", "sort"}) {
    CAPTURE(id);
    const auto task = make_task(id, {{"length", 6}});
    CHECK(task->context() == 12);
    for_examples(*task, [&](const TaskExample& e) {
      const Words row = row_of(*task, e);
      REQUIRE(row.size() == 13);
      REQUIRE(row[6] == "[SEP]");
      Words given(row.begin(), row.begin() + 6), answer(row.begin() + 7, row.end());
      if (id == "reverse") std::reverse(given.begin(), given.end());
      if (id == "sort") {
        std::sort(given.begin(), given.end(), [](const std::string& a, const std::string& b) {
          return std::stoi(a) < std::stoi(b);
        });
      }
      REQUIRE(given == answer);
      check_next_tokens(e, 6);
    });
  }
}

TEST_CASE("tasks: repeated sequences repeat, and count once their second letter has come again") {
  const auto task = make_task("induction", {{"shortest", 3}, {"longest", 9}});
  std::set<std::size_t> periods;
  for_examples(*task, [&](const TaskExample& e) {
    std::size_t period = 1;
    while (e.tokens[period] != e.tokens[0]) ++period;
    periods.insert(period);
    REQUIRE(std::set<int>(e.tokens.begin(), e.tokens.begin() + std::ptrdiff_t(period)).size() ==
            period);
    for (std::size_t i = period; i < e.tokens.size(); ++i) {
      REQUIRE(e.tokens[i] == e.tokens[i - period]);
      REQUIRE(e.targets[i] == e.tokens[i + 1 - period]);
    }
    check_next_tokens(e, period);
  });
  CHECK(periods == std::set<std::size_t>{3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("tasks: sums are right, and those held out never come in training") {
  const auto task = make_task("addition", {{"modulus", 7}, {"held_out", 20}});
  std::map<Split, std::set<std::pair<int, int>>> sums;
  Random random(2);
  for (const Split split : {Split::kTraining, Split::kValidation}) {
    for (int i = 0; i < 1000; ++i) {
      const TaskExample e = task->draw(random, split);
      const Words row = row_of(*task, e);
      REQUIRE(row.size() == 5);
      REQUIRE((row[1] == "+" && row[3] == "="));
      const int a = std::stoi(row[0]), b = std::stoi(row[2]);
      REQUIRE((a + b - std::stoi(row[4])) % 7 == 0);
      check_next_tokens(e, 3);
      sums[split].emplace(a, b);
    }
  }
  CHECK(sums[Split::kTraining].size() == 40);
  CHECK(sums[Split::kValidation].size() == 9);
  for (const auto& sum : sums[Split::kValidation]) CHECK(!sums[Split::kTraining].contains(sum));
  const auto all = make_task("addition", {{"modulus", 3}});
  std::set<std::string> rows;
  for (int i = 0; i < 300; ++i)
    rows.insert(joined(row_of(*all, all->draw(random, Split::kValidation))));
  CHECK(rows.size() == 9);
}

TEST_CASE("tasks: brackets are balanced in the end, and only the closing ones count") {
  for (const TaskOptions& options :
       {TaskOptions{}, TaskOptions{{"kinds", 4}, {"depth", 2}, {"length", 9}},
        TaskOptions{{"length", 1}}}) {
    const auto task = make_task("brackets", options);
    const auto length = static_cast<std::size_t>(task->options().at("length"));
    for_examples(*task, [&](const TaskExample& e) {
      const Words row = row_of(*task, e);
      REQUIRE(row[length] == "[SEP]");
      REQUIRE(row.back() == "[EOS]");
      std::string text = joined(row);
      for (const std::string mark : {"[SEP]", "[EOS]", " "}) {
        for (auto at = text.find(mark); at != text.npos; at = text.find(mark))
          text.erase(at, mark.size());
      }
      // Pairs next to each other vanish until nothing is left.
      for (bool changed = true; changed;) {
        changed = false;
        for (const std::string pair : {"()", "[]", "{}", "<>"}) {
          const auto at = text.find(pair);
          if (at == text.npos) continue;
          text.erase(at, 2);
          changed = true;
        }
      }
      REQUIRE(text.empty());
      check_next_tokens(e, length);
      REQUIRE(counted(e) >= 2);
    });
  }
}

TEST_CASE("tasks: dates are days of the calendar, written in both ways") {
  const std::string months = "jan feb mar apr may jun jul aug sep oct nov dec";
  const auto task = make_task("dates");
  std::set<std::string> shapes;
  for_examples(*task, [&](const TaskExample& e) {
    std::string result = task->vocabulary().decode(e.targets);
    REQUIRE(result.ends_with("[EOS]"));
    result.resize(result.size() - 5);
    REQUIRE(task->vocabulary().decode(e.tokens) == "[BOS]" + result);
    int year = 0, month = 0, day = 0;
    char dash = 0;
    std::istringstream(result) >> year >> dash >> month >> dash >> day;
    REQUIRE(result.size() == 10);
    // Without zeros in front a sign would be read: the numbers are -month and -day otherwise.
    month = std::abs(month);
    day = std::abs(day);
    Words parts = split_words(task->vocabulary().decode(e.source));
    REQUIRE(parts.size() == 3);
    const bool day_first = std::isdigit(static_cast<unsigned char>(parts[0][0])) != 0;
    if (day_first) std::swap(parts[0], parts[1]);
    shapes.insert(day_first ? "day first" : parts[0].size() > 3 ? "month first" : "short");
    REQUIRE(split_words(months)[std::size_t(month) - 1] == parts[0].substr(0, 3));
    REQUIRE(std::stoi(parts[1]) == day);
    REQUIRE(std::stoi(parts[2]) == year);
    const int lengths[] = {31, year % 4 == 0 ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    REQUIRE((day >= 1 && day <= lengths[month - 1]));
    REQUIRE((year >= 1950 && year <= 2049));
  });
  CHECK(shapes.size() == 3);
  CHECK(task->vocabulary().encode("[BOS]may 5 2021").size() == 11);
  // 1900 was no leap year, 2000 was one.
  Random random(5);
  for (const int year : {1900, 2000}) {
    const auto one =
        make_task("dates", {{"first_year", year}, {"last_year", year}, {"formats", 1}});
    bool leap_day = false;
    for (int i = 0; i < 4000; ++i) {
      const std::string text = one->vocabulary().decode(one->draw(random).source);
      leap_day |= text.starts_with("february 29");
    }
    CHECK(leap_day == (year == 2000));
  }
}

namespace {

const std::string kSingularVerbs = "gives sends shows thanks likes hates thinks washes is does";
const std::string kPluralVerbs = "give send show thank like hate think wash are do";
const std::string kPlurals = "boys girls dogs cats books balls letters flowers cakes they";
const std::string kMen = "john peter tom paul boy he", kWomen = "mary anna lucy emma girl she";

struct Subject {
  bool many = false;
  std::string group;  // he, she, they or it
};

// The subject that begins at `at`; `at` moves to what follows it.
Subject read_subject(const Words& words, std::size_t& at) {
  Subject s;
  if (words[at] == "the") ++at;
  const std::string noun = words[at++];
  s.many = is_one_of(noun, kPlurals);
  if (words[at] == "and") {
    at += 2;
    s.many = true;
  }
  if (words[at] == "near") at += 3;
  s.group = s.many ? "they" : is_one_of(noun, kMen) ? "he" : is_one_of(noun, kWomen) ? "she" : "it";
  return s;
}

Subject check_agreement(const Words& words, std::size_t& at) {
  const Subject s = read_subject(words, at);
  CAPTURE(joined(words));
  REQUIRE(is_one_of(words[at], s.many ? kPluralVerbs : kSingularVerbs));
  return s;
}

std::string object_form(const std::string& group) {
  return group == "he" ? "him" : group == "she" ? "her" : group == "they" ? "them" : "it";
}

}  // namespace

TEST_CASE("tasks: in the grammar verbs and pronouns agree, and not turns liking round") {
  Random random(11);
  std::map<std::string, int> kinds;
  for (int i = 0; i < 2000; ++i) {
    const Story story = draw_story(random);
    const Words words(story.words.begin(), story.words.end());
    REQUIRE(words.size() <= kLongestStory);
    CAPTURE(joined(words));
    std::size_t at = 0;
    const Subject first = check_agreement(words, at);
    const std::string verb = words[at++];
    if (is_one_of(verb, "gives give sends send shows show")) {
      ++kinds["give"];
      REQUIRE((words[at] == "the" || !is_one_of(words[at + 1], kPlurals)));
      at += 2;
      REQUIRE(words[at++] == "to");
      const Subject taker = read_subject(words, at);
      REQUIRE(words[at++] == ".");
      REQUIRE(words[at] == taker.group);
      check_agreement(words, at);
      REQUIRE(words[at + 1] == object_form(first.group));
    } else if (is_one_of(verb, "washes wash")) {
      ++kinds["wash"];
      const std::string own = first.group == "he"    ? "himself"
                              : first.group == "she" ? "herself"
                                                     : "themselves";
      REQUIRE(words[at] == own);
    } else if (is_one_of(words[at], "happy tired busy")) {
      ++kinds["near"];
    } else {
      ++kinds["quality"];
      const bool negated = words[at] == "not";
      at += negated;
      const bool good = is_one_of(words[at++], "good great nice fine") != negated;
      REQUIRE(words[at++] == ".");
      check_agreement(words, at);
      REQUIRE(is_one_of(words[at], "does do") != good);
      REQUIRE(words[words.size() - 2] == (first.many ? "them" : "it"));
      REQUIRE(words.size() - at == (good ? 3 : 5));
    }
    REQUIRE(words.back() == ".");
  }
  for (const auto& entry : kinds) CHECK(entry.second > 400);
  CHECK(kinds.size() == 4);
}

namespace {

const std::string kAlwaysSure =
    "to . he she they him her them it himself herself themselves thanks thank likes like is are";

}  // namespace

TEST_CASE("tasks: the grammar's sure words are those that can be no other") {
  Random random(12);
  std::map<std::string, std::map<std::string, int>> next;  // what came after each beginning
  std::map<std::string, std::set<int>> sure;
  for (int i = 0; i < 15000; ++i) {
    const Story story = draw_story(random);
    std::string beginning;
    for (std::size_t k = 0; k < story.words.size(); ++k) {
      ++next[beginning][std::string(story.words[k])];
      sure[beginning].insert(story.sure[k]);
      // Beginnings are too many to see each often; these words are certain wherever they stand.
      if (is_one_of(std::string(story.words[k]), kAlwaysSure)) REQUIRE(story.sure[k] == 1);
      beginning += std::string(story.words[k]) + " ";
    }
  }
  int sure_ones = 0;
  for (const auto& entry : next) {
    CAPTURE(entry.first);
    REQUIRE(sure[entry.first].size() == 1);
    const bool is_sure = *sure[entry.first].begin() == 1;
    if (is_sure) REQUIRE(entry.second.size() == 1);
    int seen = 0;
    for (const auto& word : entry.second) seen += word.second;
    if (!is_sure && seen > 60) CHECK(entry.second.size() > 1);
    sure_ones += is_sure;
  }
  CHECK(sure_ones > 500);
}

TEST_CASE(
    "tasks: grammar and masked rows are stories one after another, and count what they should") {
  const auto grammar = make_task("grammar", {{"context", 40}});
  Random random(13), same(13);
  const TaskExample e = grammar->draw(random);
  Words expected;
  std::vector<std::uint8_t> sure;
  while (expected.size() < 41) {
    const Story story = draw_story(same);
    expected.insert(expected.end(), story.words.begin(), story.words.end());
    sure.insert(sure.end(), story.sure.begin(), story.sure.end());
  }
  expected.resize(41);
  CHECK(row_of(*grammar, e) == expected);
  CHECK(e.scored == std::vector<std::uint8_t>(sure.begin() + 1, sure.begin() + 41));
  check_next_tokens(e, 0);

  const auto masked = make_task("masked", {{"share", 20}});
  std::size_t hidden = 0;
  for_examples(*masked, [&](const TaskExample& m) {
    const Words words = words_of(*masked, m.tokens);
    REQUIRE(words[0] == "[CLS]");
    REQUIRE(m.targets[0] == -1);
    for (std::size_t i = 0; i < words.size(); ++i) {
      REQUIRE((words[i] == "[MASK]") == (m.targets[i] >= 0));
      if (m.targets[i] >= 0) REQUIRE(!masked->vocabulary().is_special(m.targets[i]));
    }
    hidden += counted(m);
  });
  const double share = double(hidden) / (kDraws * (masked->context() - 1));
  CHECK(share > 0.18);
  CHECK(share < 0.22);
  const auto few = make_task("masked", {{"share", 1}, {"context", 4}});
  for_examples(*few, [&](const TaskExample& m) { REQUIRE(counted(m) >= 1); });
}

TEST_CASE("tasks: a judgement's label follows its words, its negations and its doubts") {
  const auto task = make_task("sentiment");
  std::map<int, int> labels;
  std::map<std::multiset<std::string>, std::set<int>> by_words;
  Random random(14);
  for (int i = 0; i < 5000; ++i) {
    const TaskExample e = task->draw(random);
    const Words words = words_of(*task, e.tokens);
    CAPTURE(joined(words));
    // Each part between commas says the same, perhaps in other words.
    std::vector<bool> says;
    bool good = true, judged = false;
    for (const std::string& word : words) {
      if (word == "not") good = !good;
      if (is_one_of(word, "bad awful poor dull hate hates")) good = !good;
      judged |= is_one_of(word, "bad awful poor dull hate hates good great nice fine like likes");
      if (word != "," && word != ".") continue;
      REQUIRE(judged);
      says.push_back(good);
      good = true;
      judged = false;
    }
    for (const bool one : says)
      REQUIRE(one == (task->classes()[std::size_t(e.label)] == "positive"));
    std::size_t at = 0;
    check_agreement(words, at);
    ++labels[e.label];
    by_words[{words.begin(), words.end()}].insert(e.label);
  }
  CHECK(std::abs(labels[0] - labels[1]) < 300);
  // The same words in another order can mean the opposite: counting words is not enough.
  int both = 0;
  for (const auto& entry : by_words) both += entry.second.size() == 2;
  CHECK(both > 20);
}

TEST_CASE("tasks: every word of the grammar's vocabulary is used, and no other") {
  std::set<std::string> used;
  Random random(15);
  for (int i = 0; i < 3000; ++i) {
    for (const auto word : draw_story(random).words) used.emplace(word);
    for (const auto word : draw_opinion(random).words) used.emplace(word);
  }
  const Words all = english_words();
  CHECK(used == std::set<std::string>(all.begin(), all.end()));
  CHECK(used.size() == all.size());
}

TEST_CASE("tasks: a typed sentence is cut into the task's own tokens") {
  const auto decoded = [](std::string_view id, std::string_view text) {
    const auto task = make_task(id);
    return joined(words_of(*task, task->vocabulary().encode(text)));
  };
  CHECK(decoded("grammar", "mary gives the book to john.") == "mary gives the book to john .");
  CHECK(decoded("masked", "[CLS] the boys near the dog [MASK] happy") ==
        "[CLS] the boys near the dog [MASK] happy");
  CHECK(decoded("brackets", "([][SEP])") == "( [ ] [SEP] )");
  CHECK(decoded("addition", "17+9 =") == "17 + 9 =");
  CHECK(decoded("copy", "a c[SEP]a") == "a c [SEP] a");
  const std::string message = error_of([&] { decoded("grammar", "mary gives the zebra"); });
  CAPTURE(message);
  CHECK(message.find("does not know 'zebra'; its vocabulary has 78 tokens") != message.npos);
}

TEST_CASE("tasks: a score counts what is right where it counts") {
  TaskExample e;
  e.tokens = {1, 2, 3, 4};
  e.targets = {-1, 5, 6, 7};
  TaskScore score;
  score.add(e, std::vector<int>{9, 5, 6, 7});
  score.add(e, std::vector<int>{9, 5, 6, 0});
  CHECK(score.token_accuracy() == doctest::Approx(5.0 / 6));
  CHECK(score.sequence_accuracy() == 0.5);
  e.scored = {1, 0, 0, 1};  // what is not counted is not scored either
  TaskScore sure;
  sure.add(e, std::vector<int>{9, 0, 0, 7});
  CHECK(sure.tokens == 1);
  CHECK(sure.token_accuracy() == 1);
  TaskScore classes;
  TaskExample c;
  c.label = 1;
  c.tokens = {1, 2};
  c.targets = {-1, -1};
  classes.add(c, std::vector<int>{1});
  classes.add(c, std::vector<int>{0});
  CHECK(classes.token_accuracy() == 0.5);
  CHECK(classes.sequence_accuracy() == 0.5);
  CHECK(TaskScore{}.token_accuracy() == 0);
  CHECK(error_of([&] { score.add(e, std::vector<int>{1}); }).starts_with("expected 4 predictions"));
}

TEST_CASE("tasks: what cannot be made is refused with what to do") {
  CHECK(error_of([] {
          (void)make_task("copi");
        }).starts_with("there is no task 'copi'; did you mean 'copy'? the tasks are copy, "));
  CHECK(error_of([] {
          (void)make_task("copy", {{"lenght", 3}});
        }) ==
        "the task copy has no option 'lenght'; did you mean 'length'? its options are length, "
        "symbols");
  CHECK(error_of([] {
          (void)make_task("sentiment", {{"size", 3}});
        }).starts_with("the task sentiment has no options"));
  CHECK(error_of([] {
          (void)make_task("copy", {{"length", 1}});
        }) == "the option length of the task copy must be between 2 and 256; got 1");
  CHECK_THROWS_AS((void)make_task("copy", {{"length", 257}}), UsageError);
  CHECK(error_of([] {
          (void)make_task("induction", {{"longest", 30}});
        }).find("its longest is 30, and at most 24") != std::string::npos);
  CHECK(error_of([] {
          (void)make_task("induction", {{"shortest", 15}});
        }).find("shortest length, 15, is above its longest, 14") != std::string::npos);
  CHECK(error_of([] {
          (void)make_task("dates", {{"first_year", 2050}});
        }).starts_with("the first year must not be after the last"));
  CHECK_THROWS_AS((void)make_task("none"), UsageError);
  // Every option at its limits, the others at their defaults, either works or says why not.
  for (const TaskInfo& info : all_tasks()) {
    for (const TaskOption& option : info.options) {
      for (const int value : {option.low, option.high}) {
        CAPTURE(info.id);
        CAPTURE(option.name);
        CAPTURE(value);
        try {
          const auto task = make_task(info.id, {{std::string(option.name), value}});
          Random random(1);
          for (int i = 0; i < 20; ++i) {
            TaskExample e = task->draw(random);
            pad(e, *task);
            CHECK(e.tokens.size() == static_cast<std::size_t>(task->context()));
          }
        } catch (const UsageError& error) {
          CHECK(std::string(error.what()).size() > 20);
        }
      }
    }
  }
}

TEST_CASE("task recall: one key among digits, asked for at the end, as far away as it says") {
  const auto task = make_task("recall");
  Random random(5, 0);
  std::set<int> distances;
  for (int i = 0; i < kDraws; ++i) {
    const TaskExample e = task->draw(random);
    REQUIRE(e.tokens.size() == static_cast<std::size_t>(task->context()));
    const Words words = words_of(*task, e.tokens);
    CHECK(words.back() == "?");
    CHECK(counted(e) == 1);
    const int key = e.targets.back();
    const auto at = std::find(e.tokens.begin(), e.tokens.end(), key);
    REQUIRE(at != e.tokens.end());
    CHECK(std::count_if(words.begin(), words.end() - 1, [](const std::string& word) {
            return word.find_first_of("0123456789") == word.npos;
          }) == 1);
    const auto distance = task->distance(e);
    REQUIRE(distance);
    CHECK(*distance == e.tokens.end() - at - 1);
    distances.insert(*distance);
  }
  CHECK(*distances.begin() == 1);
  CHECK(*distances.rbegin() == task->context() - 1);
}

}  // namespace headlight::test_tasks
