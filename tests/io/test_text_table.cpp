// The table of texts: whole, in both languages, and exactly what the program says.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "core/base/error.h"
#include "core/base/message.h"
#include "core/base/tensor.h"
#include "core/base/texts.h"
#include "core/graph/config.h"
#include "core/model/bundled.h"
#include "core/text/tokenizer.h"
#include "core/train/model_recipe.h"
#include "test_paths.h"

namespace headlight::test_text_table {
namespace {

const std::string kRoot = std::string(HEADLIGHT_TEST_DIR) + "../";

struct Source {
  std::string path, text;
};

// Every .cpp and .h below these folders, without // comments.
std::vector<Source> sources(std::initializer_list<const char*> folders) {
  std::vector<Source> all;
  for (const char* folder : folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot + folder)) {
      const std::string ending = entry.path().extension().string();
      if (ending != ".cpp" && ending != ".h") continue;
      std::ifstream file(entry.path());
      std::string text, line;
      while (std::getline(file, line)) {
        const std::size_t comment = line.find("//");
        const bool quoted = comment != line.npos && comment > 0 && line[comment - 1] == ':';
        text += (quoted ? line : line.substr(0, comment)) + "\n";
      }
      all.push_back({std::filesystem::relative(entry.path(), kRoot).string(), text});
    }
  }
  return all;
}

std::vector<std::string> matches(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), pattern), end; i != end; ++i)
    found.push_back((*i)[1].str());
  return found;
}

std::set<std::string> places(const std::string& text) {
  static const std::regex kPlace("(\\{[^}]*\\})");
  const std::vector<std::string> found = matches(text, kPlace);
  return {found.begin(), found.end()};
}

std::set<std::string> table_ids() {
  std::set<std::string> ids;
  for (const TextEntry& entry : all_texts()) ids.insert(entry.id);
  return ids;
}

// Every literal of the program that may be a text id, or the beginning of one ("op.").
std::set<std::string> id_literals() {
  static const std::regex kId("\"([a-z][a-z0-9_]*\\.[A-Za-z0-9_./-]*)\"");
  std::set<std::string> found;
  for (const Source& source : sources({"app", "core"})) {
    for (const std::string& id : matches(source.text, kId)) found.insert(id);
  }
  return found;
}

template <class T>
void add_choices(std::set<std::string>& ids, const std::string& group, T kind) {
  for (const auto& choice : choices(kind))
    ids.insert("choice." + group + "." + std::string(choice.word));
}

// The ids that are put together at run time, from the tables that they are put together from.
std::set<std::string> computed_ids() {
  std::set<std::string> ids = {"choice.switch.on", "choice.switch.off", "choice.bias.as_all",
                               "choice.bias.on", "choice.bias.off"};
  add_choices(ids, "mask", MaskKind{});
  add_choices(ids, "positions", PositionKind{});
  add_choices(ids, "attention", AttentionKind{});
  add_choices(ids, "scores", ScoreKind{});
  add_choices(ids, "block", BlockKind{});
  add_choices(ids, "activation", Activation{});
  add_choices(ids, "norm", NormKind{});
  add_choices(ids, "rotary", RotaryPairs{});
  add_choices(ids, "pool", PoolKind{});
  add_choices(ids, "pooler", Pooler{});
  add_choices(ids, "sinusoid", Sinusoid{});
  add_choices(ids, "rotary_scaling", RotaryScaling{});
  add_choices(ids, "mixer", MixerKind{});
  ids.insert({"choice.form.tokens", "choice.form.classes", "choice.form.translate"});
  for (const auto kind : {TokenizerKind::kWords, TokenizerKind::kCharacters, TokenizerKind::kBytes})
    ids.insert("choice.tokenizer." + std::string(to_string(kind)));
  for (const BundledModel& model : bundled_models()) {
    for (const HeadClaim& claim : bundled_recipe(model.name).claims) {
      ids.insert(claim.why);
      if (!claim.badge.empty()) ids.insert(claim.badge);
    }
  }
  static const std::regex kCommand("Command::k\\w+,\\s*\"([^\"]+)\"");
  for (const Source& source : sources({"app/ui"})) {
    if (!source.path.ends_with("commands.cpp")) continue;
    for (const std::string& id : matches(source.text, kCommand)) {
      ids.insert("command." + id);
      ids.insert("command." + id + ".help");
    }
  }
  return ids;
}

}  // namespace

TEST_CASE("texts: every entry has both languages, the same places, and an id of its own") {
  std::set<std::string> seen;
  CHECK(all_texts().size() > 200);
  for (const TextEntry& entry : all_texts()) {
    CAPTURE(entry.id);
    CHECK(seen.insert(entry.id).second);
    CHECK_FALSE(entry.english.empty());
    CHECK_FALSE(entry.chinese.empty());
    CHECK(places(entry.english) == places(entry.chinese));
    for (const std::string& text : {entry.english, entry.chinese}) {
      CHECK(text.find("  ") == std::string::npos);
      CHECK(std::count(text.begin(), text.end(), '{') == std::count(text.begin(), text.end(), '}'));
    }
  }
}

TEST_CASE("texts: every axis has its word") {
  for (const std::string_view axis : axis_words()) {
    CAPTURE(axis);
    for (const Language language : {Language::kEnglish, Language::kChinese})
      CHECK(tr_or(language, "inspector.axis." + std::string(axis), "") != "");
  }
}

TEST_CASE("texts: every id that the program names is in the table") {
  const std::set<std::string> ids = table_ids();
  static const std::regex kTr("\\btr\\((?:language, |ui\\.language, )?\"([^\"]+)\"");
  static const std::regex kCount("\\btr_count\\([^\"]*\"([^\"]+)\"");
  static const std::regex kMessage("\\bMessage\\{\"([^\"]+)\"");
  std::size_t found = 0;
  for (const Source& source : sources({"app", "core"})) {
    CAPTURE(source.path);
    for (const std::regex* pattern : {&kTr, &kMessage, &kCount}) {
      for (const std::string& id : matches(source.text, *pattern)) {
        if (id == ".one") continue;  // tr_count's own
        ++found;
        CAPTURE(id);
        CHECK((ids.contains(id) || id.ends_with('.')));
        if (pattern == &kCount) CHECK(ids.contains(id + ".one"));
      }
    }
  }
  CHECK(found > 80);
  for (const std::string& id : computed_ids()) {
    CAPTURE(id);
    CHECK(ids.contains(id));
  }
}

TEST_CASE("texts: every id of the table is used") {
  const std::set<std::string> literals = id_literals(), computed = computed_ids();
  for (const TextEntry& entry : all_texts()) {
    CAPTURE(entry.id);
    bool used = literals.contains(entry.id) || computed.contains(entry.id);
    if (entry.id.ends_with(".one"))
      used = literals.contains(entry.id.substr(0, entry.id.size() - 4));
    // Said instead of a text about a step that has nothing to say (core/explain/steps.cpp).
    if (entry.id.ends_with(".none"))
      used |= literals.contains(entry.id.substr(0, entry.id.size() - 5));
    // The same where several have what one alone usually has.
    if (entry.id.ends_with(".equal"))
      used |= literals.contains(entry.id.substr(0, entry.id.size() - 6));
    // The tooltip of a control whose label is the id without this end.
    if (entry.id.ends_with(".help"))
      used |= literals.contains(entry.id.substr(0, entry.id.size() - 5));
    // Put together at run time: a literal says how it begins. Commands and choices are listed one
    // by one above.
    for (const std::string& literal : literals) {
      const bool listed = literal == "command." || literal == "choice.";
      used |= literal.ends_with('.') && !listed && entry.id.starts_with(literal);
    }
    CHECK(used);
  }
}

TEST_CASE("texts: no panel writes words of its own") {
  // Letters are symbols while they are one or two, or mathematics.
  static const std::regex kDrawn(
      "\\b(?:ui\\.|c\\.ui\\.)?(?:text|text_right|wrapped|button|tooltip|paragraph|MenuItem|"
      "TextUnformatted|InputTextWithHint)\\(([^;]*)\\)\\s*[;{]");
  static const std::regex kLiteral("\"([^\"]*)\""), kWord("[A-Za-z]{3}");
  static const std::set<std::string> kAllowed = {"Headlight", "Headlight ", "exp(x − max)"};
  std::size_t calls = 0;
  for (const Source& source : sources({"app/ui"})) {
    for (const std::string& call : matches(source.text, kDrawn)) {
      ++calls;
      for (const std::string& words : matches(call, kLiteral)) {
        if (!std::regex_search(words, kWord)) continue;
        INFO(source.path, ": '", words, "' in ", call);
        // Ids of controls and of texts have no spaces and begin with a small letter; the end of
        // one, with a point.
        const bool id = words.find(' ') == std::string::npos &&
                        (words[0] == '#' || (words[0] >= 'a' && words[0] <= 'z') ||
                         words[0] == '/' || words[0] == '.');
        CHECK((id || kAllowed.contains(words)));
      }
    }
  }
  CHECK(calls > 30);
}

TEST_CASE("texts: places are filled, counts have a form for one") {
  CHECK(fill("head {n} of {m}, {other}", std::vector<Slot>{{"n", "2"}, {"m", "4"}}) ==
        "head 2 of 4, {other}");
  CHECK(tr_count(Language::kEnglish, "count.tokens", 1) == "1 token");
  CHECK(tr_count(Language::kEnglish, "count.tokens", 1024) == "1,024 tokens");
  CHECK(tr_count(Language::kChinese, "count.tokens", 12) == "12 个词元");
  CHECK(tr(Language::kChinese, "no.such.text") == "no.such.text");
  CHECK(tr_or(Language::kChinese, "no.such.text", "x") == "x");
}

TEST_CASE("messages: the same problem in either language") {
  Config config;
  config.d_model = 10;
  config.heads = 3;
  try {
    validate(config);
    FAIL("3 heads do not divide a width of 10");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) ==
          "width 10 does not divide into 3 heads; choose 2 or 5 heads, or set the head width "
          "(d_head)");
    CHECK(say(Language::kChinese, error.message()) ==
          "宽度 10 无法平均分给 3 个头；请改用 2 或 5 个头，或者指定头的维度 d_head");
    const Message around = Message{"notice.still_shown"}.with(error.message());
    CHECK(say(Language::kEnglish, around).starts_with("Width 10 does not divide"));
    CHECK(say(Language::kEnglish, around)
              .ends_with("(d_head). The last run that worked is still shown"));
    CHECK(around == Message{"notice.still_shown"}.with(error.message()));
    CHECK_FALSE(around == Message{"notice.problem"}.with(error.message()));
  }
  const Message file{"file.not_read",
                     {{"path", "'a'"},
                      {"reason", "file.reason.missing", true},
                      {"advice", "file.advice.spelling", true}}};
  CHECK(
      say(Language::kEnglish, file) ==
      "Could not read 'a': No such file or directory. Check the spelling of the path, and whether "
      "it was moved or deleted.");
  CHECK(say(Language::kChinese, Message::of("as it is")) == "as it is");
}

}  // namespace headlight::test_text_table
