// What the bundled models' heads are said to do is measured on the models that ship: on the
// sentences of the claims and, where a claim stands for a rule, on fresh examples of the model's
// own task.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/model/bundled.h"
#include "core/run/runner.h"
#include "core/train/heads/measured_heads.h"
#include "core/train/metrics/model_score.h"
#include "core/train/model_recipe.h"
#include "tests/support/error_text.h"

namespace headlight::test_head_claims {
namespace {

RunResult run(const std::string& sentence, const std::shared_ptr<const Model>& model) {
  Document document;
  document.sentence = sentence;
  document.model = model->ref;
  document.config = model->file.config;
  const auto backend = make_cpu_backend(1);
  return Runner().run(document, *backend, model);
}

std::string names(const Trace& trace, const Axis& axis, std::span<const int> places) {
  std::string list;
  for (const int place : places) list += (list.empty() ? "" : ", ") + trace.name(axis.name, place);
  return list;
}

// An encoder-decoder works letter by letter: a claim about it names what has been written, and a
// stretch of what was read.
std::string letters(const Trace& trace, const Axis& axis, std::span<const int> places) {
  std::string list;
  for (const int place : places) list += trace.tick(axis.name, place);
  return list;
}

std::vector<int> up_to(int last) {
  std::vector<int> places;
  for (int i = 1; i <= last; ++i) places.push_back(i);  // 0 is [BOS]
  return places;
}

void check_words(const HeadClaim& claim, const Trace& trace, bool translates) {
  const TensorView pattern = trace.tensor(claim.step);
  const Axis &query = pattern.axes[2], &key = pattern.axes[3];
  CHECK(claim.to == (translates ? letters : names)(trace, key, claim.keys));
  if (!claim.query) {
    CHECK(claim.from.empty());
    return;
  }
  const int one[] = {*claim.query};
  CHECK(claim.from ==
        (translates ? letters(trace, query, up_to(*claim.query)) : names(trace, query, one)));
}

TEST_CASE(
    "head claims: each holds on the model that ships, and names the tokens that it is about") {
  for (const BundledModel& files : bundled_models()) {
    const auto model = load_model(std::string(kBundledRef) + std::string(files.name));
    const ModelRecipe& recipe = bundled_recipe(files.name);
    CAPTURE(files.name);
    CHECK(recipe.claims.size() >= 2);
    CHECK(parse_recipe(recipe_text(recipe)).claims == recipe.claims);
    for (const HeadClaim& claim : recipe.claims) {
      CAPTURE(claim.why);
      const RunResult result = run(claim.sentence, model);
      REQUIRE(result.trace);
      CHECK_FALSE(result.cut);
      CHECK(claim.least >= 0.5);  // less is no claim that a person sees in the picture
      CHECK(measured_weight(claim, *result.trace) >= claim.least);
      check_words(claim, *result.trace, model->file.config.form == ModelForm::kTranslate);
      for (const Language language : {Language::kEnglish, Language::kChinese})
        CHECK(tr_or(language, claim.why, "") != "");
    }
  }
}

// ---- the rules behind the claims, on fresh examples ----

using Words = std::vector<std::string>;
struct Cell {
  int query = 0;
  std::vector<int> keys;
};
struct Rule {
  const char* why;                                           // the claim's, whose head is measured
  double least;                                              // mean over all cells
  std::function<void(const Words&, std::vector<Cell>&)> of;  // where an example shows it
};

bool one_of(const std::string& word, std::initializer_list<const char*> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// At the first places: what repeats is 14 letters long at the most, and starts over behind them.
void previous(const Words&, std::vector<Cell>& cells) {
  for (int i = 1; i <= 14; ++i) cells.push_back({i, {i - 1}});
}

// Behind the last place where the same letter stood; from its second time on.
void induction(const Words& w, std::vector<Cell>& cells) {
  for (std::size_t i = 1; i < w.size(); ++i) {
    Cell cell{static_cast<int>(i), {}};
    for (std::size_t j = 0; j < i; ++j)
      if (w[j] == w[i]) cell.keys.push_back(static_cast<int>(j) + 1);
    if (!cell.keys.empty()) cells.push_back(cell);
  }
}

void backwards(const Words& w, std::vector<Cell>& cells) {
  const int half = static_cast<int>(w.size()) / 2;
  for (int i = half; i < 2 * half; ++i) cells.push_back({i, {2 * half - 1 - i}});
}

void not_smaller(const Words& w, std::vector<Cell>& cells) {
  const int half = static_cast<int>(w.size()) / 2;
  for (int i = half + 1; i < 2 * half; ++i) {
    Cell cell{i, {}};
    for (int j = 0; j < half; ++j)
      if (std::stoi(w[static_cast<std::size_t>(j)]) >= std::stoi(w[static_cast<std::size_t>(i)]))
        cell.keys.push_back(j);
    cells.push_back(cell);
  }
}

// "to john . he": the full stop, and the person before it.
void pronoun(const Words& w, std::vector<Cell>& cells) {
  for (std::size_t i = 1; i + 1 < w.size(); ++i)
    if (w[i] == "." && one_of(w[i + 1], {"he", "she", "they"}))
      cells.push_back({static_cast<int>(i), {static_cast<int>(i) - 1}});
}

// "boys near the cat": the cat, and the boys.
void agreement(const Words& w, std::vector<Cell>& cells) {
  for (std::size_t i = 1; i + 2 < w.size(); ++i)
    if (w[i] == "near") cells.push_back({static_cast<int>(i) + 2, {static_cast<int>(i) - 1}});
}

// "not good . anna likes": who likes, and the not.
void negation(const Words& w, std::vector<Cell>& cells) {
  for (std::size_t i = 0; i + 4 < w.size(); ++i) {
    if (w[i] != "not" || w[i + 2] != ".") continue;
    const std::size_t who = i + 3 + (w[i + 3] == "the");
    if (who + 1 < w.size() && one_of(w[who + 1], {"like", "likes", "do", "does"}))
      cells.push_back({static_cast<int>(who), {static_cast<int>(i)}});
  }
}

void beside_gap(const Words& w, std::vector<Cell>& cells, int by) {
  for (int i = 2; i + 2 < static_cast<int>(w.size()); ++i)
    if (w[static_cast<std::size_t>(i)] == "[MASK]" &&
        w[static_cast<std::size_t>(i + by)] != "[MASK]")
      cells.push_back({i, {i + by}});
}

// "boys near the cat [MASK]": the [MASK] of is or are, and near.
void hidden_verb(const Words& w, std::vector<Cell>& cells) {
  for (int i = 1; i + 3 < static_cast<int>(w.size()); ++i)
    if (w[static_cast<std::size_t>(i)] == "near" && w[static_cast<std::size_t>(i + 3)] == "[MASK]")
      cells.push_back({i + 3, {i}});
}
void near_subject(const Words& w, std::vector<Cell>& cells) {
  for (int i = 1; i < static_cast<int>(w.size()); ++i)
    if (w[static_cast<std::size_t>(i)] == "near") cells.push_back({i, {i - 1}});
}

// A focus on all of these words.
void of_focus(const Words& w, std::vector<Cell>& cells, int focus,
              std::initializer_list<const char*> words) {
  std::vector<int> at;
  for (std::size_t j = 0; j < w.size(); ++j)
    if (one_of(w[j], words)) at.push_back(static_cast<int>(j));
  if (!at.empty()) cells.push_back({focus, at});
}

const std::map<std::string, std::vector<Rule>>& rules() {
  using C = std::vector<Cell>;
  static const std::map<std::string, std::vector<Rule>> kRules = {
      {"induction",
       {{"claim.induction.previous", 0.9, previous},
        {"claim.induction.induction", 0.9, induction}}},
      {"reverse", {{"claim.reverse.first", 0.9, backwards}}},
      {"sort", {{"claim.sort.larger", 0.85, not_smaller}}},
      {"grammar",
       {{"claim.grammar.pronoun", 0.6, pronoun},
        {"claim.grammar.agreement", 0.5, agreement},
        {"claim.grammar.negation", 0.75, negation}}},
      {"sentiment",
       {{"claim.sentiment.turn", 0.85,
         [](const Words& w, C& c) {
           of_focus(w, c, 2, {"not", "think", "thinks"});
         }},
        {"claim.sentiment.bad", 0.65,
         [](const Words& w, C& c) {
           of_focus(w, c, 0, {"bad", "awful", "poor", "dull"});
         }},
        {"claim.sentiment.stop", 0.7, [](const Words& w, C& c) { of_focus(w, c, 1, {"."}); }}}},
      {"masked",
       {{"claim.masked.before", 0.7, [](const Words& w, C& c) { beside_gap(w, c, -1); }},
        {"claim.masked.after", 0.7, [](const Words& w, C& c) { beside_gap(w, c, 1); }},
        {"claim.masked.subject", 0.75, near_subject},
        {"claim.masked.verb", 0.75, hidden_verb}}},
  };
  return kRules;
}

TEST_CASE("head claims: the rules that they stand for hold on fresh examples of the task") {
  for (const auto& rule : rules()) {  // no structured binding: Clang does not capture those
    const auto& name = rule.first;
    const auto& list = rule.second;
    CAPTURE(name);
    const auto model = load_model(std::string(kBundledRef) + name);
    const auto task = task_of(*model);
    const std::vector<HeadClaim>& claims = bundled_recipe(name).claims;
    std::vector<double> sum(list.size(), 0), count(list.size(), 0);
    Random random(123);
    for (int e = 0; e < 200; ++e) {
      const TaskExample example = task->draw(random, Split::kValidation);
      Words words;
      for (const int id : example.tokens) words.push_back(task->vocabulary().token(id));
      const RunResult result = run(task->vocabulary().decode(example.tokens), model);
      REQUIRE(result.trace);
      REQUIRE(result.trace->length() == static_cast<std::int64_t>(words.size()));
      for (std::size_t r = 0; r < list.size(); ++r) {
        const auto claim = std::find_if(claims.begin(), claims.end(),
                                        [&](const HeadClaim& c) { return c.why == list[r].why; });
        REQUIRE(claim != claims.end());
        std::vector<Cell> cells;
        list[r].of(words, cells);
        HeadClaim here = *claim;
        for (const Cell& cell : cells) {
          here.query = cell.query;
          here.keys = cell.keys;
          sum[r] += measured_weight(here, *result.trace);
          ++count[r];
        }
      }
    }
    for (std::size_t r = 0; r < list.size(); ++r) {
      CAPTURE(std::string(list[r].why));
      CHECK(count[r] >= 10);
      CHECK(sum[r] / count[r] >= list[r].least);
    }
  }
}

TEST_CASE("head claims: the rules of models that learned a text hold on 200 sentences and more") {
  for (const BundledModel& files : bundled_models()) {
    const ModelRecipe& recipe = bundled_recipe(files.name);
    if (!recipe.training.text) continue;
    const auto model = load_model(std::string(kBundledRef) + std::string(files.name));
    std::vector<int> sentences(recipe.claims.size(), 0);
    std::size_t of_rules = 0;
    for (const MeasuredSentence& s : measured_sentences(model.get())) {
      if (s.claim < 0) continue;  // after them
      ++sentences[static_cast<std::size_t>(s.claim)];
      ++of_rules;
    }
    Document document;
    document.model = model->ref;
    document.config = model->file.config;
    HeadMeasurement measurement(document, model);
    while (measurement.done() < of_rules) measurement.step();
    const MeasuredHeads heads = measurement.result();
    REQUIRE(heads.claims.size() == recipe.claims.size());
    for (std::size_t c = 0; c < recipe.claims.size(); ++c) {
      const HeadClaim& claim = recipe.claims[c];
      CAPTURE(claim.why);
      if (claim.patterns.empty()) {  // a case of a rule that stands beside it
        CHECK_FALSE(heads.claims[c]);
        CHECK(std::ranges::any_of(recipe.claims, [&](const HeadClaim& rule) {
          return rule.why == claim.why && rule.step == claim.step && rule.head == claim.head &&
                 !rule.patterns.empty();
        }));
        continue;
      }
      CHECK(sentences[c] >= 200);
      CHECK(claim.mean >= 0.5);
      REQUIRE(heads.claims[c]);
      MESSAGE(claim.why << ": " << *heads.claims[c]);
      CHECK(*heads.claims[c] >= claim.mean);
    }
  }
}

TEST_CASE("head rules: names become words, marks become places") {
  const WordLists lists = {{"a", {"x", "yy", "z"}}, {"b", {"p", "q"}}};
  const auto all = marked_sentences("{$a} $a2 <$b>.", lists, 100);
  REQUIRE(all.size() == 18);
  std::set<std::string> texts;
  for (const MarkedSentence& s : all) texts.insert(s.text);
  CHECK(texts.size() == 18);
  CHECK(texts.count("yy z q.") == 1);
  const auto same = marked_sentences("<$a> {$a}", lists, 100);
  REQUIRE(same.size() == 3);
  CHECK(same[1].text == "yy yy");
  CHECK(same[1].query.end == 2);
  CHECK(same[1].keys[0].begin == 3);
  const auto few = marked_sentences("{$a} <$b>", lists, 4);
  REQUIRE(few.size() == 4);
  CHECK(few[3].text != few[0].text);
  // Tokens may hold the blank before them, and a mark several tokens.
  const std::vector<PlacedToken> tokens = {{1, 0, 1}, {2, 1, 2}, {3, 2, 5}};
  const HeadClaim claim = claim_on({}, same[1], tokens);
  CHECK(claim.query == 1);
  CHECK(claim.keys == std::vector<int>{2});
  const auto refused = [&](const char* pattern) {
    return error_of([&] { (void)marked_sentences(pattern, lists, 9); });
  };
  CHECK(has(refused("{$c} <$a>"), "$c"));
  CHECK(has(refused("$a <$b>"), "has no marks"));
  CHECK(has(refused("{$a} $b"), "has no marks"));
}

TEST_CASE("head claims: the dates' decoder reads what it writes, whatever the date") {
  const auto model = load_model("bundled:dates");
  const std::vector<HeadClaim>& claims = bundled_recipe("dates").claims;
  REQUIRE(claims.size() == 3);
  struct Date {
    const char *read, *written;
    std::vector<int> year, month, day;
  };
  const Date dates[] = {
      {"september 30 1987", "1987-09-30", {16}, {0, 1, 2, 3, 4, 5, 6, 7, 8}, {10, 11}},
      {"7 july 2004", "2004-07-07", {10}, {2, 3, 4, 5}, {0}},
      {"oct 19 1951", "1951-10-19", {10}, {0, 1, 2}, {4, 5}},
  };
  for (const Date& date : dates) {
    CAPTURE(std::string(date.read));
    const RunResult result = run(std::string(date.read) + " -> " + date.written, model);
    REQUIRE(result.trace);
    const std::vector<int>* keys[] = {&date.year, &date.month, &date.day};
    for (std::size_t c = 0; c < claims.size(); ++c) {
      HeadClaim here = claims[c];
      CAPTURE(here.why);
      here.keys = *keys[c];
      CHECK(measured_weight(here, *result.trace) >= 0.85);
    }
  }
}

TEST_CASE("head claims: what a person reads has the numbers of the claim") {
  HeadClaim claim;
  claim.step = "blocks.1.attn.pattern";
  claim.head = 3;
  claim.query = 4;
  claim.keys = {2};
  claim.from = "a₄";
  claim.to = "b";
  claim.least = 0.57;
  claim.why = "claim.reverse.last";
  const std::string english = claim_text(Language::kEnglish, claim);
  CHECK(english.starts_with("Layer 1, head 3: a₄ → b, 57 % or more. It ends"));
  CHECK(claim_text(Language::kChinese, claim).starts_with("第 1 层，头 3：a₄ → b，不少于 57%。"));
  claim.query.reset();
  CHECK(claim_text(Language::kEnglish, claim).starts_with("Layer 1, head 3: every token → b"));
}

TEST_CASE("head claims: a place that is not there and a wrong entry are named") {
  const auto model = load_model("bundled:reverse");
  const RunResult result = run("a b [SEP] b", model);
  REQUIRE(result.trace);
  HeadClaim claim = bundled_recipe("reverse").claims[0];
  claim.query = 3;
  claim.keys = {0, 1, 2, 3};
  CHECK(measured_weight(claim, *result.trace) == doctest::Approx(1));
  const auto refused = [&](const HeadClaim& wrong) {
    return error_of([&] { (void)measured_weight(wrong, *result.trace); });
  };
  HeadClaim wrong = claim;
  wrong.keys = {4};
  CHECK(has(refused(wrong), wrong.step));
  wrong = claim;
  wrong.query = 4;
  CHECK(has(refused(wrong), "does not have"));
  wrong = claim;
  wrong.head = 4;
  CHECK(has(refused(wrong), "does not have"));
  wrong = claim;
  wrong.step = "blocks.9.attn.pattern";
  CHECK(has(refused(wrong), "blocks.9"));
  const std::string start =
      R"({"format":"headlight recipe","version":1,"training":{"task":"sort"},)";
  const auto parsed = [&](const std::string& claims) {
    return error_of([&] { (void)parse_recipe(start + R"("claims":)" + claims + "}"); });
  };
  CHECK(has(parsed("7"), "'claims'"));
  CHECK(has(parsed("[7]"), "'claims'"));
  CHECK(has(parsed(R"([{"head":1}])"), "claims.keys"));
  CHECK(has(parsed(R"([{"keys":[-1]}])"), "claims.keys"));
  CHECK(has(parsed(R"([{"keys":[1],"least":2}])"), "claims.least"));
  CHECK(has(parsed(R"([{"keys":[1],"head":-1}])"), "claims.head"));
}

}  // namespace
}  // namespace headlight::test_head_claims
