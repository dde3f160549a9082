// Thousands of random clicks, keys and letters: nothing may crash, and what is shown must always be
// the document's, or a problem must be said. HEADLIGHT_RANDOM_FRAMES says how many frames (a share
// of them runs with the other tests), HEADLIGHT_RANDOM_SEED where to begin. Each seed begins in one
// of the languages and modes, which the clicks and keys then leave again.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "app/ui/state/commands.h"
#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/model/model.h"
#include "core/train/model_recipe.h"
#include "test_paths.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

// The standard distributions differ between libraries; this does not.
class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(std::max(n, 1))); }
  float part() { return static_cast<float>(random_() % 10001) / 10000.0f; }

 private:
  std::mt19937 random_;
};

// Saving may write where it likes, in here.
struct InFolder {
  explicit InFolder(const std::string& path) : before(std::filesystem::current_path()) {
    std::filesystem::current_path(path);
  }
  ~InFolder() { std::filesystem::current_path(before); }
  std::filesystem::path before;
};

// So does the list of folders, which is left as soon as it shows another one.
void stay_within(Gui& gui, const std::string& folder) {
  const std::string& listed = gui.state().session.path_folder;
  if (!listed.empty() && !listed.starts_with(folder)) gui.push(ListFolder{folder});
}

std::string random_control(const Gui& gui, Dice& dice) {
  std::vector<std::string> ids;
  for (const auto& [id, r] : gui.drawn().all()) ids.push_back(id);
  std::sort(ids.begin(), ids.end());  // the same order everywhere
  return ids[static_cast<std::size_t>(dice.below(static_cast<int>(ids.size())))];
}

ImVec2 inside(const DrawnControl& r, Dice& dice) {
  return {r.min.x + (r.max.x - r.min.x) * dice.part(), r.min.y + (r.max.y - r.min.y) * dice.part()};
}

std::string random_letters(Dice& dice) {
  static const std::u32string kLetters =
      U"abc .,0123456789-ß中文🙂👩👧‍\u0301\u200Dשل\U00020BB7[]";
  std::string text;
  for (int n = 1 + dice.below(4); n > 0; --n) {
    text +=
        to_utf8(kLetters[static_cast<std::size_t>(dice.below(static_cast<int>(kLetters.size())))]);
  }
  return text;
}

// Does one thing; says what it was.
std::string do_something(Gui& gui, Dice& dice) {
  const int kind = dice.below(100);
  if (kind < 55) {
    const std::string id = random_control(gui, dice);
    const ImVec2 at = inside(gui.rect(id), dice);
    gui.click_at(at);
    return "click " + id;
  }
  if (kind < 60) {
    const std::string id = random_control(gui, dice);
    gui.shift_click(id);
    return "shift-click " + id;
  }
  if (kind < 65) {
    const std::string from = random_control(gui, dice), to = random_control(gui, dice);
    const ImVec2 end = inside(gui.rect(to), dice);
    gui.move_to(inside(gui.rect(from), dice));
    gui.press(true);
    gui.move_to(end);
    gui.press(false);
    return "drag " + from + " to " + to;
  }
  if (kind < 82) {
    const auto commands = all_commands();
    const CommandInfo& info =
        commands[static_cast<std::size_t>(dice.below(static_cast<int>(commands.size())))];
    gui.key(info.key);
    return "key " + std::string(info.id);
  }
  if (kind < 90) {
    const std::string letters = random_letters(dice);
    gui.type(letters);
    return "type " + letters;
  }
  if (kind < 95) {
    constexpr ImGuiKey kKeys[] = {ImGuiKey_Enter, ImGuiKey_Backspace, ImGuiKey_Delete,
                                  ImGuiKey_Home,  ImGuiKey_End,       ImGuiKey_Tab};
    gui.edit_key({kKeys[dice.below(6)], dice.below(4) == 0, dice.below(4) == 0});
    return "an editing key";
  }
  if (kind < 96) {
    const std::string path = std::filesystem::current_path() / "dropped.txt";
    write_text(path, random_letters(dice) + random_letters(dice));
    gui.push(DropFiles{{path}});
    return "drop a text";
  }
  if (kind < 98) {
    const std::string id = random_control(gui, dice);
    gui.wheel(inside(gui.rect(id), dice), static_cast<float>(dice.below(9) - 4));
    return "wheel at " + id;
  }
  if (kind < 99) {
    constexpr float kScales[] = {0.75f, 1, 1, 1.5f, 2, 3};
    const float scale = kScales[dice.below(6)];
    gui.set_scale(scale);
    return "scale " + std::to_string(scale);
  }
  const ImVec2 kSizes[] = {{1440, 900}, {960, 540}, {1920, 1080}, {3840, 2160}, {1280, 720},
                           {700, 400},  {400, 300}, {320, 200},   {427, 240}};
  const ImVec2 size = kSizes[dice.below(9)];
  gui.set_size(size.x, size.y);
  return "size " + std::to_string(static_cast<int>(size.x));
}

// Both languages; steps forward and in reverse, training and labs.
void begin_in(Gui& gui, unsigned seed) {
  constexpr Mode kModes[] = {Mode::kSteps, Mode::kTrain, Mode::kLabs};
  gui.push(ChooseLanguage{seed % 2 ? Language::kEnglish : Language::kChinese});
  gui.push(ShowMode{kModes[seed / 2 % 3]});
  if (seed / 6 % 2) gui.push(ShowBackward{true});
}

// As a window has it, or with all numbers at once.
ShellOptions options_for(unsigned seed, bool beside) {
  ShellOptions options = still_options(2);
  options.background = beside;
  // What is typed into the settings may ask for a huge model.
  options.limits.memory_bytes = beside ? 200e6 : 40e6;
  if (beside || seed % 3 == 0) options.limits.keep_all_to = 0;  // layers come and go
  return options;
}

// Is what is shown the document's? What is still computed beside the window is asked for later.
std::string wrong_in(const Gui& gui) {
  if (!missing_text().empty()) return "no text for " + missing_text();
  for (const DrawnHeatmap& d : gui.heatmaps().drawn()) {
    if (!d.quad.data || d.quad.rows < 1 || d.quad.columns < 1) return "an empty heatmap";
  }
  return gui.state().derived.computing ? "" : inconsistency(gui.state());
}

// Now and then everything that is computed is waited for, else what has come by now is taken.
void take_answers(Gui& gui, Dice& dice) {
  for (int left = dice.below(6) == 0 ? 1000 : 1; left > 0; --left) {
    gui.shell().poll();
    gui.shell().apply();
    if (!gui.state().derived.computing) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Empty when all went well, else what was wrong and what had been done.
std::string play(unsigned seed, int frames, Document document, bool beside) {
  const TemporaryFolder folder;
  const InFolder here(folder.path(""));
  const ShellOptions options = options_for(seed, beside);
  Gui gui(std::move(document), std::cref(options));
  begin_in(gui, seed);
  Dice dice(seed);
  std::vector<std::string> done;
  for (int i = 0; ImGui::GetFrameCount() < frames; ++i) {
    done.push_back(do_something(gui, dice));
    stay_within(gui, std::filesystem::current_path());
    if (beside) take_answers(gui, dice);
    const std::string wrong = wrong_in(gui);
    if (wrong.empty()) continue;
    std::string last;
    for (std::size_t k = done.size() - std::min<std::size_t>(done.size(), 6); k < done.size();
         ++k) {
      last += done[k] + "; ";
    }
    return "seed " + std::to_string(seed) + ", event " + std::to_string(i) + ": " + wrong +
           " after " + last;
  }
  return "";
}

// A number from the environment, or what stands there when it is not set.
int number_from(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text ? std::max(1, std::atoi(text)) : otherwise;
}

// A folder of another program, whose tokens are ids.
Document folder_document(unsigned which) {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(HEADLIGHT_TEST_DIR) / "reference/folders")) {
    if (std::filesystem::exists(entry.path() / "config.json")) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  const std::string folder = folders[which % folders.size()];
  Document document = apply(Document{}, choose_model(Document{}, *load_model(folder)));
  document.sentence = "5 7 9 11 5";
  return document;
}

// Models and sentences of every kind, in turn; the bundled ones read, mark, translate and fill in.
Document random_document(unsigned seed) {
  if (seed % 5 == 4) return folder_document(seed / 5);
  if (seed % 5 == 3) {
    const std::vector<std::string> names = bundled_names();
    return bundled_document(names[seed / 5 % names.size()]);
  }
  Document document = small_document(2, 4, 8);
  if (seed % 3 == 1) {
    document = small_document(1, 3, 12);
    document.config.scores = ScoreKind::kAdditive;
    document.config.block = BlockKind::kPostNorm;
    document.config.mask.kind = MaskKind::kFree;
  } else if (seed % 3 == 2) {
    document = small_document(1, 1, 8);
    document.config.attention = AttentionKind::kBasic;
    document.sentence = "";
    document.tokenizer = TokenizerKind::kCharacters;
  }
  if (seed % 4 == 0) {
    document = small_document(2, 2, 8);
    document.config.mixer = seed % 8 == 0 ? MixerKind::kConvolution : MixerKind::kGru;
  }
  return document;
}

// A decoder, a classifier and an encoder-decoder, whose runs take long enough to be computed
// beside.
Document long_document(unsigned seed) {
  Document document = small_document(12, 4, 64);
  if (seed % 3 == 1) document.config.form = ModelForm::kClasses;
  if (seed % 3 == 2) document.config.form = ModelForm::kTranslate;
  document.max_tokens = 400;
  for (int i = 0; i < 60; ++i) document.sentence += " the cat sat on a mat";
  return document;
}

}  // namespace

TEST_CASE("random: thousands of frames of clicks, keys, letters, sizes and scales") {
  constexpr int kFramesEach = 1500;
  const int frames = number_from("HEADLIGHT_RANDOM_FRAMES", 6000);
  auto seed = static_cast<unsigned>(number_from("HEADLIGHT_RANDOM_SEED", 1));
  for (int left = frames; left > 0; left -= kFramesEach, ++seed) {
    CHECK(play(seed, std::min(left, kFramesEach), random_document(seed), false) == "");
  }
}

TEST_CASE("random: the same while numbers are computed beside the window") {
  constexpr int kFramesEach = 500;
  const int frames = number_from("HEADLIGHT_RANDOM_FRAMES", 6000) / 6;
  auto seed = static_cast<unsigned>(number_from("HEADLIGHT_RANDOM_SEED", 1));
  for (int left = frames; left > 0; left -= kFramesEach, ++seed) {
    CHECK(play(seed, std::min(left, kFramesEach), long_document(seed), true) == "");
  }
}

}  // namespace headlight::test
