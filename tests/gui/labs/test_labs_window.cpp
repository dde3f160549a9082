// Labs in the window: each is played through in both languages by its controls' ids; what is asked,
// answered and said is the run's; settings are undone, kept with a session, and lead to Steps.
#include <algorithm>

#include "core/document/session_file.h"
#include "core/lab/lab_files.h"
#include "core/model/model.h"
#include "core/train/training_run.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

Document lab_document(const Lab& lab) {
  Document document = small_document(2, 2, 16);
  document.sentence = "the little dog was sad because it lost the ball";
  if (!lab.takes.empty() && lab.takes != "random")
    document = bundled_document(std::string(lab.takes).c_str());
  document.labs.lab = lab.id;
  return document;
}

bool shows_all(Gui& gui, const std::string& words) {
  // Wrapped: its longest word is on the screen.
  std::string longest, word;
  for (const char c : words + " ") {
    if (c != ' ') {
      word += c;
      continue;
    }
    if (word.size() > longest.size()) longest = word;
    word.clear();
  }
  return gui.shows(gui.state().session.language == Language::kChinese ? words.substr(0, 6)
                                                                      : longest);
}

}  // namespace

TEST_CASE("labs window: every lab is played through in both languages") {
  for (const Lab& lab : all_labs()) {
    CAPTURE(lab.id);
    Gui gui(lab_document(lab), {1600, 2400});
    for (const Language language : {Language::kEnglish, Language::kChinese}) {
      gui.push(ChooseLanguage{language});
      if (gui.state().session.mode != Mode::kLabs) gui.click("mode/labs");
      gui.frame(2);
      gui.click("lab/list/" + std::string(lab.id));
      gui.frame(2);
      const LabsData& data = gui.state().labs;
      CHECK_MESSAGE(data.problem.empty(), say(language, data.problem));
      REQUIRE(data.result);
      CHECK(data.lab == lab.id);
      CHECK(shows_all(gui, std::string(lab_text(language, lab, "question"))));
      for (const LabControl& control : lab.controls)
        CHECK(gui.shows(tr(language, "lab.control." + std::string(control.id))));
      for (const LabChart& chart : lab.charts) {
        const bool there = std::ranges::any_of(data.result->series, [&](const LabSeries& s) {
          return s.name == chart.id || s.name.starts_with(std::string(chart.id) + ".");
        });
        CHECK(gui.has("lab/chart/" + std::string(chart.id)) == there);
      }
      std::size_t place = 0;
      for (const LabPicture& p : data.result->pictures) {
        const std::string id = "lab/picture/" + p.name + "/" + std::to_string(place++);
        if (gui.has(id) && gui.rect(id).max.y < 2300) {
          const DrawnHeatmap& drawn = gui.heatmap(id);
          CHECK(drawn.cell(0, 0) == p.cells[0]);
        }
      }
      for (const LabQuestion& q : data.result->questions) {
        const AskedQuestion text = asked(language, lab, q);
        const std::size_t wrong = q.right == 0 ? 1 : 0;
        gui.push(StopLab{true});  // asked anew in the second language
        gui.frame();
        const std::string right = "lab/ask/" + q.id + "/" + q.answers[q.right];
        const std::string other = "lab/ask/" + q.id + "/" + q.answers[wrong];
        gui.click(other);
        gui.click(right);
        CHECK(gui.state().session.labs.answers.at(data.lab).at(q.id).chosen ==
              static_cast<int>(q.right));
        if (!gui.state().session.labs.answers.at(data.lab).at(q.id).seen)
          gui.click("lab/see/" + q.id);
        gui.frame();
        CHECK(gui.shows(tr(language, "lab.right")));
        CHECK(shows_all(gui, say(language, q.because)));
      }
      for (const Message& m : data.result->notice) CHECK(shows_all(gui, say(language, m)));
      gui.click("lab/code");
      gui.frame();
      CHECK_FALSE(gui.state().labs.code.empty());
      CHECK(gui.shows("import numpy as np"));
      gui.click("lab/code");
      gui.click("lab/open_in_steps");
      gui.frame(2);
      CHECK(gui.state().session.mode == Mode::kSteps);
      CHECK(gui.state().derived.problem == "");
      CHECK(same_run(gui.document(), data.result->in_steps));
      gui.key({'W', false, false});
      gui.frame();
      CHECK(gui.state().session.mode == Mode::kLabs);
      gui.ctrl('Z');
      gui.frame(2);
    }
  }
}

TEST_CASE("labs window: a control is one step of undo, is kept with a session, and starts again") {
  Gui gui(lab_document(find_lab("scale")), {1440, 900});
  gui.click("mode/labs");
  gui.frame(2);
  const auto setting = [&](const char* control) {
    return gui.state().labs.result->settings.at(control);
  };
  CHECK(setting("mask") == "causal");
  gui.click("lab/set/mask/none");
  gui.frame(2);
  CHECK(setting("mask") == "none");
  CHECK(gui.state().labs.result->settings.at("d_k") == "64");
  const Document kept = parse_session(session_text(gui.document())).document;
  CHECK(kept.labs == gui.document().labs);
  CHECK(kept.labs.settings.at("scale").at("mask") == "none");
  gui.ctrl('Z');
  gui.frame(2);
  CHECK(setting("mask") == "causal");
  CHECK(gui.document().labs.settings.empty());
  gui.ctrl('Z', true);
  gui.frame(2);
  CHECK(setting("mask") == "none");
  // In Steps an undo of a lab's control shows what it takes back.
  gui.click("mode/steps");
  gui.frame();
  gui.ctrl('Z');
  gui.frame(2);
  CHECK(gui.state().session.mode == Mode::kLabs);
  CHECK(setting("mask") == "causal");
  gui.click("lab/set/mask/none");
  gui.frame();
  gui.click("lab/reset");
  gui.frame(2);
  CHECK(setting("mask") == "causal");
}

TEST_CASE(
    "labs window: another sentence asks anew; a wrong answer is told; settings that are none say "
    "so") {
  Gui gui(lab_document(find_lab("scale")), {1440, 900});
  gui.click("mode/labs");
  gui.frame(2);
  const LabQuestion q = gui.state().labs.result->questions.at(0);
  const std::size_t wrong = q.right == 0 ? 1 : 0;
  CHECK_FALSE(gui.rect("lab/see/" + q.id).enabled);
  gui.click("lab/ask/" + q.id + "/" + q.answers[wrong]);
  gui.click("lab/see/" + q.id);
  gui.frame();
  CHECK(gui.shows(tr(Language::kEnglish, "lab.wrong")));
  // It cannot be taken back afterwards.
  gui.click("lab/ask/" + q.id + "/" + q.answers[q.right]);
  CHECK(gui.state().session.labs.answers.at("scale").at(q.id).chosen == static_cast<int>(wrong));
  const std::uint64_t serial = gui.state().labs.serial;
  gui.push(DoEdit{SetSentence{"a cat sat down"}, ""});
  gui.frame(2);
  CHECK(gui.state().labs.serial > serial);
  CHECK_FALSE(gui.state().session.labs.answers.contains("scale"));
  CHECK(gui.state().session.labs.answered.contains("scale"));
  // A result that is there already is shown again, not computed.
  const auto kept = gui.state().labs.result;
  gui.push(DoEdit{SetSentence{"a dog ran"}, ""});
  gui.frame(2);
  CHECK(gui.state().labs.result != kept);
  gui.ctrl('Z');
  gui.frame(2);
  CHECK(gui.state().labs.result == kept);
  LabChoice broken = gui.document().labs;
  broken.settings["scale"]["d_k"] = "seven";
  gui.push(DoEdit{SetLab{broken}, ""});
  gui.frame(2);
  CHECK_FALSE(gui.state().labs.problem.empty());
  gui.click("lab/problem/reset");
  gui.frame(2);
  CHECK(gui.state().labs.problem.empty());
  CHECK(gui.state().labs.result);
}

TEST_CASE("labs window: a model that a lab does not take leads to one that it takes") {
  Document document = bundled_document("stories");
  document.labs.lab = "depth";
  Gui gui(document, {1440, 900});
  gui.click("mode/labs");
  gui.frame(2);
  REQUIRE_FALSE(gui.state().labs.problem.empty());
  CHECK_FALSE(gui.state().labs.result);
  gui.click("lab/take");
  gui.shell().wait();
  gui.frame(3);
  CHECK(gui.document().model.empty());
  CHECK(gui.state().labs.problem.empty());
  CHECK(gui.state().labs.result);
}

TEST_CASE("labs window: from any bundled model the buttons of a refusal lead to numbers") {
  for (const std::string& name : bundled_names()) {
    CAPTURE(name);
    Gui gui(bundled_document(name), {1440, 900});
    gui.click("mode/labs");
    for (const Lab& lab : all_labs()) {
      if (lab.takes.empty()) continue;
      CAPTURE(lab.id);
      gui.push(DoEdit{SetDocument{bundled_document(name)}, ""});
      gui.push(ShowLab{std::string(lab.id)});
      gui.frame(2);
      for (int refused = 0; refused < 2 && !gui.state().labs.problem.empty(); ++refused) {
        CHECK_FALSE(gui.has("lab/again"));  // it would be refused again
        gui.click("lab/take");
        gui.shell().wait();
        gui.frame(3);
      }
      CHECK_MESSAGE(gui.state().labs.problem.empty(), gui.state().labs.problem.id);
      CHECK(gui.state().labs.result);
    }
  }
}

TEST_CASE("labs window: a refusal of the random model's own recipe has a button that mends it") {
  struct Refused {
    const char *lab, *button;
    std::function<void(Document&)> change;
  };
  const std::vector<Refused> all = {
      {"dictionary", "lab/take", [](Document& d) { d.config.mixer = MixerKind::kGru; }},
      {"dictionary", "lab/unfuse", [](Document& d) { d.config.fused_attention = true; }},
      {"sampling", "lab/take", [](Document& d) { d.config.form = ModelForm::kClasses; }},
      {"heads", "lab/example", [](Document& d) { d.sentence = " "; }},
      {"shuffle", "lab/example", [](Document& d) { d.sentence.clear(); }},
      {"gradients", "lab/example", [](Document& d) { d.sentence = "cat"; }}};
  for (const Refused& one : all) {
    CAPTURE(one.lab);
    CAPTURE(one.button);
    Document document = small_document(2, 2, 16);
    one.change(document);
    document.labs.lab = one.lab;
    Gui gui(document, {1440, 900});
    gui.click("mode/labs");
    gui.frame(2);
    REQUIRE_FALSE(gui.state().labs.problem.empty());
    CHECK_FALSE(gui.has("lab/again"));
    gui.click(one.button);
    gui.shell().wait();
    gui.frame(3);
    CHECK_MESSAGE(gui.state().labs.problem.empty(), gui.state().labs.problem.id);
    CHECK(gui.state().labs.result);
  }
}

TEST_CASE("labs window: a formula that has words has them in the window's language") {
  Gui gui(lab_document(find_lab("cost")), {1440, 900});
  gui.push(ChooseLanguage{Language::kChinese});
  for (const char* lab : {"cost", "sampling", "dictionary", "pooling"}) {
    CAPTURE(lab);
    gui.push(ShowLab{lab});
    gui.frame(2);
    const std::string id = "lab." + std::string(lab) + ".formula";
    CHECK(gui.shows(tr(Language::kChinese, id).substr(0, 6)));
    CHECK(tr(Language::kChinese, id) != tr(Language::kEnglish, id));
  }
}

TEST_CASE("labs window: one that is cancelled shows no numbers, and runs again on request") {
  Gui gui(lab_document(find_lab("scale")), {1440, 900});
  gui.click("mode/labs");
  gui.frame(2);
  const auto before = gui.state().labs.result;
  gui.push(StopLab{});
  gui.frame();
  CHECK_FALSE(gui.state().labs.result);
  CHECK_FALSE(gui.has("lab/chart/spread"));
  CHECK_FALSE(gui.rect("lab/open_in_steps").enabled);
  gui.click("lab/again");
  gui.frame(2);
  CHECK(gui.state().labs.result == before);
  CHECK(gui.has("lab/chart/spread"));
}

TEST_CASE("labs window: the step of a lab offers it, and so does the palette") {
  Gui gui(small_document(1, 2, 16), {1920, 1080});
  gui.push(GoToStep{"blocks.0.attn.scores_scaled"});
  gui.frame(2);
  gui.click("lab/link/stage/scale");
  gui.frame(2);
  CHECK(gui.state().session.mode == Mode::kLabs);
  CHECK(gui.state().labs.lab == "scale");
  // Train offers what watches its task.
  gui.push(ShowMode{Mode::kTrain});
  gui.shell().wait();
  gui.push(PlanRun{default_plan("induction")});
  gui.frame(3);
  gui.reveal("train/set/lab/induction", "panel/train_settings");
  gui.click("train/set/lab/induction");
  gui.frame(2);
  CHECK(gui.state().labs.lab == "induction");
  gui.ctrl('K');
  gui.frame(2);
  gui.type("shuffle the words");
  gui.key({kKeyEnter});
  gui.frame(3);
  CHECK(gui.document().labs.lab == "shuffle");
}

TEST_CASE("labs window: nothing is cut off, whatever the size, the scale and the language") {
  struct Size {
    float w, h, scale;
  };
  constexpr Size kSizes[] = {
      {1280, 720, 1}, {1920, 1080, 1}, {600, 400, 1}, {2560, 1440, 2}, {1440, 900, 3}};
  // One window for all: what takes long is drawing the letters of another size or language.
  Gui gui(lab_document(find_lab("scale")), {1280, 720});
  gui.push(ShowMode{Mode::kLabs});
  for (const Size& size : kSizes) {
    CAPTURE(size.w);
    gui.set_size(size.w, size.h);
    gui.set_scale(size.scale);
    for (const Language language : {Language::kEnglish, Language::kChinese}) {
      gui.push(ChooseLanguage{language});
      for (const Lab& lab : all_labs()) {
        CAPTURE(lab.id);
        gui.push(DoEdit{SetDocument{lab_document(lab)}, ""});
        gui.frame(3);
        REQUIRE(gui.state().labs.lab == lab.id);
        REQUIRE(gui.state().labs.result);
        for (const CutText& cut : gui.drawn().cut_texts())
          CHECK_MESSAGE(false, cut.text << " " << cut.width << " in " << cut.room);
        REQUIRE(gui.has("panel/stage"));
        CHECK(gui.rect("panel/stage").max.x <= gui.size().x + 1);
      }
    }
  }
}

TEST_CASE("labs window: what stands over pictures takes more lines where one is too short") {
  Gui gui(lab_document(find_lab("reach")), {900, 900});
  gui.push(ShowMode{Mode::kLabs});
  gui.frame(3);
  REQUIRE(gui.state().labs.result);
  for (const ShortenedText& text : gui.drawn().shortened()) {
    CAPTURE(text.whole);
    CHECK(text.whole.find("attention") == std::string::npos);
    CHECK(text.whole.find("convolution") == std::string::npos);
  }
  CHECK(gui.shows("strided attention, stride 4"));
}

TEST_CASE("labs window: a lab is saved as its numbers, its inputs, its code and what it says") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "headlight_labs_window";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  Gui gui(lab_document(find_lab("scale")), {1440, 900});
  gui.click("mode/labs");
  gui.frame(2);
  for (const char* ending : {"csv", "json", "safetensors", "py"}) {
    const std::filesystem::path file = folder / (std::string("scale.") + ending);
    gui.push(WriteExport{file.string()});
    gui.frame(2);
    CHECK(std::filesystem::file_size(file) > 200);
  }
  gui.push(WriteExport{(folder / "none" / "scale.csv").string()});
  gui.frame(2);
  CHECK_FALSE(gui.notices().empty());
  gui.push(WriteExport{(folder / "scale.png").string()});  // there is no program that draws
  gui.frame(2);
  CHECK_FALSE(std::filesystem::exists(folder / "scale.png"));
  std::filesystem::remove_all(folder);
}
}  // namespace headlight::test
