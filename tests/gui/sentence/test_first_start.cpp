// What a person sees and does first: a model that knows a language, a head that means something.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "core/graph/step_names.h"
#include "core/train/model_recipe.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

std::string next_words(Gui& gui) {
  const int id = most_probable(outcome_of(&gui.trace()).probabilities, 1)[0];
  return gui.state().derived.model->vocabulary->decode(std::vector{id});
}

std::vector<float> said(const Gui& gui) {
  const auto all = outcome_of(&gui.trace()).probabilities;
  return {all.begin(), all.end()};
}

// A claim about the same sentence, and another head.
const HeadClaim& elsewhere(const FirstStart& first) {
  const std::string& ref = first.document.model;
  const auto& claims = bundled_recipe(ref.substr(kBundledRef.size())).claims;
  const auto found = std::ranges::find_if(claims, [&](const HeadClaim& c) {
    const bool same = c.step == first.look_at.step && c.head == first.look_at.head;
    return c.sentence == first.document.sentence && !same;
  });
  REQUIRE(found != claims.end());
  return *found;
}

}  // namespace

TEST_CASE("first start: tokens are named without the blank before a word") {
  const FirstStart first = first_start(Language::kEnglish);
  Gui gui(first.document, {1440, 900});
  const Vocabulary& vocabulary = *gui.state().derived.model->vocabulary;
  CHECK(gui.trace().tick("position", 2) == "dog");
  CHECK(gui.trace().tick("vocab", vocabulary.encode(" dog")[0]) == "dog");
  // What goes on with a word has a dot.
  CHECK(gui.trace().tick("vocab", vocabulary.encode("s")[0]) == "·s");
  CHECK(gui.trace().tick("vocab", vocabulary.encode(" \"")[0]) == " \"");
}

TEST_CASE("first start: a head that means something; three tokens and back, a badge, own words") {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    const FirstStart first = first_start(language);
    const HeadClaim& claim = first.look_at;
    Gui gui(first.document, {1440, 900});
    gui.push(ChooseLanguage{language});
    gui.shell().show_claim(claim);
    gui.frame(2);
    CHECK(gui.state().session.step == claim.step);
    CHECK(gui.state().session.head == claim.head);
    REQUIRE(gui.state().session.picked);
    CHECK(gui.state().session.picked->index ==
          std::vector<std::int64_t>{0, claim.head, *claim.query, claim.keys[0]});
    CHECK(measured_weight(claim, gui.trace()) >= claim.least);
    CHECK(gui.has("label/heads/" + std::to_string(claim.head) + "/badge"));

    const std::string sentence = gui.document().sentence;
    std::string grown = sentence;
    const std::int64_t length = gui.trace().length();
    for (int i = 0; i < 3; ++i) {
      grown += next_words(gui);
      gui.click("next/0");
      CHECK(gui.document().sentence == grown);
      CHECK(gui.trace().length() == length + 1 + i);
    }
    for (int i = 0; i < 3; ++i) gui.ctrl('Z');
    CHECK(gui.document().sentence == sentence);
    CHECK(gui.trace().length() == length);

    // Another head that has earned a badge.
    const HeadClaim& other = elsewhere(first);
    const std::string layer = std::to_string(split_name(other.step).layer) + ".";
    const std::string id =
        "heads/" + (other.step == claim.step ? "" : layer) + std::to_string(other.head);
    REQUIRE(gui.has("label/" + id + "/badge"));
    gui.click(id);
    CHECK(gui.state().session.step == other.step);
    CHECK(gui.state().session.head == other.head);

    // Any text is taken.
    for (const char* typed : {"A cat sat here", "你好 🙂", "x = 3 * (y - 1)"}) {
      gui.click("sentence");
      gui.edit_key({ImGuiKey_A, true});
      gui.type(typed);
      CHECK(gui.document().sentence == typed);
      CHECK(gui.state().notices.empty());
      CHECK(gui.state().derived.model->vocabulary->decode(gui.trace().input().ids) == typed);
      CHECK_FALSE(next_words(gui).empty());
    }
  }
}

TEST_CASE("first start: bars stand under their tokens, also under parts of a character") {
  Gui gui(first_start(Language::kEnglish).document, {1440, 900});
  const auto right_end = [&](const char* sentence) {
    gui.push(DoEdit{SetSentence{sentence}, ""});
    gui.frame(2);
    const std::int64_t last = gui.trace().length() - 1;
    float right = 0;
    for (std::int64_t i = 0; i <= last; ++i) {
      const DrawnControl bar = gui.rect("sentence/weight/" + std::to_string(i));
      CHECK(bar.min.x >= right - 1.5f);
      right = bar.max.x;
    }
    return right;
  };
  const float letter = right_end("x dog"), emoji = right_end("🙂 dog");
  CHECK(gui.trace().length() == 5);  // a character of four bytes
  CHECK(emoji > letter);
  CHECK(emoji < letter + 25);
}

TEST_CASE("first start: no two tokens of the vocabulary have one name") {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    Gui gui(first_start(language).document, {1440, 900});
    std::set<std::string> names;
    const auto count = static_cast<std::int64_t>(gui.trace().input().vocab.size());
    for (std::int64_t id = 0; id < count; ++id) names.insert(gui.trace().tick("vocab", id));
    CHECK(static_cast<std::int64_t>(names.size()) == count);
  }
}

// The residual stream as it enters the first layer.
std::vector<float> entering(const Gui& gui) {
  const std::span<const float> all = gui.tensor("blocks.0.resid_pre").cells();
  return {all.begin(), all.end()};
}

TEST_CASE("first start: positions are taken away or computed, and come back") {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    Gui gui(first_start(language).document, {1920, 1080});
    const std::vector<float> own = said(gui);
    gui.click("positions/none");
    CHECK(said(gui) != own);
    const std::span<const float> tokens = gui.tensor("embed").cells();
    CHECK(std::ranges::equal(entering(gui), tokens));
    gui.click("positions/sinusoidal");
    // At position 0 the sines are 0 and the cosines 1.
    const std::vector<float> with = entering(gui);
    const std::span<const float> words = gui.tensor("embed").cells();
    const auto width = static_cast<std::size_t>(gui.config().d_model);
    float sum = 0;
    for (std::size_t i = 0; i < width; ++i) sum += with[i] - words[i];
    CHECK(sum == doctest::Approx(static_cast<double>(width) / 2));
    gui.click("positions/rotary");
    CHECK(gui.trace().find("blocks.0.attn.rot_q").data);
    CHECK(gui.has("next/as_trained"));
    gui.click("positions/learned");
    CHECK(said(gui) == own);
    CHECK_FALSE(gui.has("next/as_trained"));
    gui.click("positions/none");
    gui.click("next/as_trained");
    CHECK(said(gui) == own);
    CHECK(gui.config().positions == PositionKind::kLearned);
  }
}

TEST_CASE("first start: learned positions cannot be chosen where none were learned") {
  Gui gui({}, {1920, 1080});
  CHECK(gui.has("positions/learned"));
  gui.push(ChooseModel{"bundled:dates"});
  gui.frame(2);
  const bool learned = gui.state().derived.model->file.config.positions == PositionKind::kLearned;
  CHECK(gui.has("positions/learned") == learned);
  CHECK(gui.has("positions/none"));
  REQUIRE_FALSE(learned);
  // A session that asks for them has the model's own.
  Config other = gui.config();
  other.positions = PositionKind::kLearned;
  gui.push(DoEdit{SetConfig{other}, ""});
  gui.frame(2);
  CHECK_FALSE(gui.has("next/as_trained"));
}

TEST_CASE(
    "first start: a switch that the model was not trained with is marked, with the way back") {
  Gui gui(first_start(Language::kEnglish).document, {1440, 900});
  const Config trained = gui.document().config;
  const std::span<const float> all = outcome_of(&gui.trace()).probabilities;
  const std::vector<float> before(all.begin(), all.end());
  const float likely = before[20];
  CHECK_FALSE(gui.has("next/as_trained"));
  for (const char* changed : {"mask/none", "scale/off"}) {
    CAPTURE(changed);
    gui.click(changed);
    CHECK_FALSE(gui.document().config == trained);
    CHECK(outcome_of(&gui.trace()).probabilities[20] != likely);
    REQUIRE(gui.has("next/as_trained"));
    // The mark on a bar is where it ended before.
    REQUIRE(gui.has("label/next/0/was"));
    const Outcome now = outcome_of(&gui.trace());
    const int id = most_probable(now.probabilities, 1)[0];
    CHECK(said_as_trained(gui.state(), now)[static_cast<std::size_t>(id)] ==
          before[static_cast<std::size_t>(id)]);
    gui.hover("next/0/open");
    gui.frame(2);
    CHECK(gui.shows(share_text(before[static_cast<std::size_t>(id)]) + " as it was trained"));
    // Also of a sentence that is typed meanwhile.
    const std::string sentence = gui.document().sentence;
    gui.push(DoEdit{SetSentence{"Tom saw a"}, ""});
    gui.frame(2);
    CHECK(said_as_trained(gui.state(), outcome_of(&gui.trace())).size() == before.size());
    gui.push(DoEdit{SetConfig{trained}, ""});
    const std::vector<float> own = said(gui);
    gui.push(DoCommand{Command::kUndo});
    gui.frame(2);
    const auto shown = said_as_trained(gui.state(), outcome_of(&gui.trace()));
    CHECK(std::ranges::equal(shown, own));
    CHECK(own != said(gui));
    gui.push(DoEdit{SetSentence{sentence}, ""});
    gui.frame(2);
    gui.click("next/as_trained");
    CHECK(gui.document().config == trained);
    CHECK(gui.document().sentence == first_start(Language::kEnglish).document.sentence);
    CHECK(outcome_of(&gui.trace()).probabilities[20] == likely);
    CHECK_FALSE(gui.has("next/as_trained"));
    gui.ctrl('Z');
    CHECK(gui.has("next/as_trained"));
    for (int i = 0; i < 3; ++i) gui.ctrl('Z');  // both sentences, and the switch
    CHECK(gui.document().config == trained);
  }
}

TEST_CASE("first start: each bundled model says what it takes before it is opened") {
  Gui gui(first_start(Language::kEnglish).document, {1440, 900});
  gui.push(DoCommand{Command::kToggleModel});
  gui.frame(2);
  for (const std::string& name : bundled_names()) {
    CAPTURE(name);
    gui.hover("model/trained/" + name);
    gui.frame(2);
    CHECK(gui.shows("For example:"));
    gui.frame(2);
    CHECK(gui.shows(bundled_recipe(name).example.substr(0, 3)));
  }
}

TEST_CASE("first start: a damaged model is named, and the random one is there") {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    const BundledModel& whole = first_model(language);
    const std::string name(whole.name);
    CAPTURE(name);
    // As it is: the model, and where to look.
    const FirstWindow well = first_window(whole);
    CHECK(well.document.model == "bundled:" + name);
    CHECK(well.look_at);
    CHECK_FALSE(well.problem);

    const auto damaged = [&](std::string_view BundledModel::*file, auto change) {
      std::string bytes(whole.*file);
      change(bytes);
      BundledModel files = whole;
      files.*file = bytes;
      return first_window(files);
    };
    struct Damage {
      std::string_view BundledModel::*file;
      const char* named;
      std::function<void(std::string&)> change;
    };
    const Damage all[] = {
        {&BundledModel::weights, "model.safetensors",
         [](std::string& bytes) { std::fill_n(bytes.begin(), 64, '\xFF'); }},
        {&BundledModel::weights, "model.safetensors",
         [](std::string& bytes) { bytes.resize(bytes.size() / 2); }},
        {&BundledModel::weights, "model.safetensors", [](std::string& bytes) { bytes.clear(); }},
        {&BundledModel::config, "config.json", [](std::string& bytes) { bytes[0] = '['; }},
        {&BundledModel::tokenizer, name.c_str(),
         [](std::string& bytes) { bytes.resize(bytes.size() / 2); }},
    };
    for (const Damage& damage : all) {
      const FirstWindow first = damaged(damage.file, damage.change);
      CHECK(first.document == Document{});
      CHECK_FALSE(first.look_at);
      REQUIRE(first.problem);
      const std::string said = say(language, *first.problem);
      CAPTURE(said);
      CHECK(said.find(name) != said.npos);
      CHECK(said.find(damage.named) != said.npos);

      Gui gui(first.document, {1440, 900});
      gui.push(ChooseLanguage{language});
      gui.shell().notify(NoticeKind::kWarning, *first.problem);
      gui.frame(2);
      CHECK(gui.state().derived.problem == "");
      CHECK(gui.trace().length() > 0);
      CHECK(gui.document().model == "");
      CHECK(gui.notices_say(name));
    }
  }
}

}  // namespace headlight::test
