// Menus: their order, ticks and keys; the sheet of keys; everything that Ctrl+K finds.
#include <algorithm>

#include "app/ui/frame/palette.h"
#include "app/ui/state/commands.h"
#include "core/explain/steps.h"
#include "core/model/bundled.h"
#include "core/train/model_recipe.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

std::string open_menu(const Gui& gui) { return gui.state().session.menu; }

std::vector<std::string> found(Gui& gui, std::string_view query) {
  gui.push(TypeQuery{std::string(query)});
  std::vector<std::string> ids;
  for (const PaletteLine& line : palette_lines(gui.state())) ids.push_back(line.id);
  return ids;
}

// Among the first few lines.
bool finds(Gui& gui, std::string_view query, const std::string& id, std::ptrdiff_t first = 12) {
  const std::vector<std::string> ids = found(gui, query);
  const auto at = std::find(ids.begin(), ids.end(), id);
  return at != ids.end() && at - ids.begin() < first;
}

}  // namespace

TEST_CASE("menus: in narrow windows nothing lies under them, and the theme's button is left out") {
  for (const float width : {280.0f, 320.0f, 400.0f, 1280.0f}) {
    CAPTURE(width);
    Gui gui(small_document(1, 2, 8), {width, 240});
    gui.frame(2);
    CHECK(gui.has("view/theme") == (width >= 320));
    const char* next = gui.has("view/theme") ? "view/theme" : "top/language";
    CHECK(gui.rect("menu/Help").max.x <= gui.rect(next).min.x);
  }
}

TEST_CASE("menus: every command has one place, and Quit is the last of its menu") {
  std::vector<const CommandInfo*> placed;
  for (const MenuInfo& menu : all_menus())
    placed.insert(placed.end(), menu.commands.begin(), menu.commands.end());
  for (const CommandInfo& info : all_commands()) {
    CAPTURE(std::string(info.id));
    CHECK(std::count(placed.begin(), placed.end(), &info) == (info.menu.empty() ? 0 : 1));
  }
  const MenuInfo& file = all_menus().front();
  CHECK(file.commands.front()->command == Command::kNew);
  CHECK(file.commands.back()->command == Command::kQuit);
}

TEST_CASE("menus: an open one follows the mouse, and keys stay in it") {
  Gui gui(small_document());
  const std::string step = gui.state().session.step;
  gui.click("menu/File");
  CHECK(open_menu(gui) == "File");
  gui.hover("menu/View");
  gui.frame(3);
  CHECK(open_menu(gui) == "View");
  CHECK(gui.has("menu/view/theme"));
  CHECK_FALSE(gui.has("menu/file/quit"));
  gui.key({kKeyLeft});
  gui.frame(3);
  CHECK(open_menu(gui) == "Go");
  gui.key({kKeyRight});
  gui.key({kKeyRight});
  gui.frame(3);
  CHECK(open_menu(gui) == "Run");
  gui.key({kKeyDown});
  gui.frame(2);
  CHECK(gui.state().session.focus.id == "menu/labs/open");
  gui.key({'M'});  // no mask behind the menu
  CHECK(gui.state().session.step == step);
  CHECK_FALSE(gui.state().history.can_undo());
  gui.key({kKeyEscape});
  gui.frame(3);
  CHECK(open_menu(gui) == "");
  gui.key({kKeyRight});
  CHECK_FALSE(gui.state().session.focus.id.empty());
}

TEST_CASE("menus: ticks say what is on") {
  Gui gui(small_document());
  for (const Command command : {Command::kToggleCausal, Command::kToggleScale, Command::kToggleRail,
                                Command::kToggleInspector, Command::kToggleRange}) {
    CAPTURE(std::string(command_info(command).id));
    const auto before = is_on(command, gui.state());
    REQUIRE(before);
    gui.push(DoCommand{command});
    CHECK(is_on(command, gui.state()) == !*before);
  }
  CHECK_FALSE(is_on(Command::kSave, gui.state()));  // nothing to switch
}

TEST_CASE("keys: the sheet names each of them under its menu") {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    Gui gui(small_document(), {1440, 900});
    gui.push(ChooseLanguage{language});
    gui.push(DoCommand{Command::kKeys});
    gui.frame(2);
    for (const MenuInfo& menu : all_menus()) CHECK(gui.shows(tr(language, menu.text)));
    for (const CommandInfo& info : all_commands()) {
      if (info.key.key == kKeyNone) continue;
      CAPTURE(std::string(info.id));
      CHECK(gui.shows(command_label(language, info.command)));
    }
  }
}

TEST_CASE("palette: every command is found by its words in both languages, whichever is shown") {
  for (const Language shown : {Language::kEnglish, Language::kChinese}) {
    Gui gui(small_document());
    gui.push(ChooseLanguage{shown});
    for (const CommandInfo& info : all_commands()) {
      if (info.command == Command::kPalette || info.command == Command::kLeaveField) continue;
      for (const Language language : {Language::kEnglish, Language::kChinese}) {
        const std::string_view label = command_label(language, info.command);
        CAPTURE(std::string(label));
        CHECK(finds(gui, label, std::string(info.id)));
      }
    }
  }
}

TEST_CASE("palette: every step is found by its displayed name in both languages, either way") {
  for (const Document& document : {small_document(2), bundled_document("dates")}) {
    Gui gui(document);
    gui.push(ShowBackward{true});
    CAPTURE(document.model);
    for (const Language shown : {Language::kEnglish, Language::kChinese}) {
      gui.push(ChooseLanguage{shown});
      const Program& program = gui.trace().program();
      REQUIRE_FALSE(program.gradients.empty());
      for (const Step& step : program.steps) {
        const std::string name = program.tensors[static_cast<std::size_t>(step.tensor)].name;
        for (const Language language : {Language::kEnglish, Language::kChinese}) {
          const std::string_view title = step_text(language, program, step).title;
          CAPTURE(std::string(title));
          CHECK(finds(gui, title, "step/" + name, 40));
        }
      }
    }
  }
}

TEST_CASE("palette: every setting is found by its words in both languages") {
  Gui gui(small_document());
  for (const Language shown : {Language::kEnglish, Language::kChinese}) {
    gui.push(ChooseLanguage{shown});
    for (const SettingInfo& setting : all_settings()) {
      for (const Language language : {Language::kEnglish, Language::kChinese}) {
        CAPTURE(std::string(tr(language, setting.text)));
        CHECK(finds(gui, tr(language, setting.text), "setting/" + std::string(setting.control)));
      }
    }
  }
}

TEST_CASE("palette: models, their sentences, settings, and what is called nothing") {
  Gui gui(small_document());
  for (const BundledModel& model : bundled_models()) {
    const std::string name(model.name);
    CAPTURE(name);
    CHECK(finds(gui, name, "model/" + name));
    CHECK(finds(gui, bundled_recipe(name).example, "sentence/" + name));
  }
  CHECK(finds(gui, "random", "model/sandbox"));
  CHECK(finds(gui, "temperature", "setting/temperature"));
  CHECK(finds(gui, "温度", "setting/temperature"));
  CHECK(finds(gui, "pre-norm", "setting/block/pre-norm"));
  CHECK(finds(gui, "local", "setting/mask/local"));
  CHECK(finds(gui, "save numbers", "file/save_numbers"));
  gui.key({'K', true});
  gui.type("xyzzy");
  CHECK(gui.shows("xyzzy"));
  CHECK(gui.shows("Nothing is called"));
  gui.key({kKeyEscape});
  gui.push(TypeQuery{"grammar"});
  gui.push(ChooseModel{"bundled:grammar", bundled_recipe("grammar").example});
  CHECK(gui.document().sentence == bundled_recipe("grammar").example);
}

TEST_CASE("palette: a setting brings its control into view, with the keyboard on it") {
  for (const SettingInfo& setting : all_settings()) {
    Gui gui(small_document(), {1440, 1000});
    const std::string control(setting.control);
    CAPTURE(control);
    gui.push(ShowSetting{control});
    gui.shell().wait();
    gui.frame(8);
    CHECK(gui.state().session.focus.id == control);
    CHECK(gui.has(control));
  }
}

}  // namespace headlight::test
