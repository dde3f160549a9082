// Settings and unsaved work: what outlives the window. Files lie in temporary folders.
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <type_traits>

#include "app/platform/icon.h"
#include "app/shell/autosave.h"
#include "app/shell/settings.h"
#include "app/workers/background_writer.h"
#include "core/base/error.h"
#include "core/document/session_file.h"
#include "core/io/png.h"
#include "test_paths.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

UserFolders folders_in(const TemporaryFolder& folder) {
  return {folder.path("config/headlight/settings.json"), folder.path("state/headlight/autosave"),
          folder.path("data/headlight/runs")};
}

ShellOptions options_in(const UserFolders& folders) {
  ShellOptions options;
  options.background = false;
  options.folders = folders;
  return options;
}

int files_in(const std::string& folder) {
  std::error_code error;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    count += entry.path().extension() == ".json";
  }
  return count;
}

Settings unusual() {
  Settings s;
  s.width = 1111;
  s.height = 777;
  s.maximized = true;
  s.zoom = 1.5f;
  s.dark = true;
  s.language = Language::kChinese;
  s.sizes = {200, 300, 150};
  s.rail_open = false;
  s.heads_open = true;
  s.inspector_open = false;
  s.range = RangeMode::kPicture;
  s.vision = Vision::kTritanopia;
  s.speed = 2;
  s.hints_seen = true;
  s.recent = {"/a b/中.headlight.json", "/c"};
  s.other = R"({"of_a_newer_version":[1,2]})";
  return s;
}

}  // namespace

TEST_CASE("settings: what is written is read back, unknown keys too") {
  for (const Settings& s : {Settings{}, unusual()}) {
    const SettingsRead read = parse_settings(settings_text(s));
    CHECK(read.problem.empty());
    CHECK(read.settings == s);
  }
}

TEST_CASE("settings: a broken file gives defaults, a wrong value only its own default") {
  const char* kBroken[] = {"", "{", "[]", "null", "\x00\xFF", "{\"theme\": \"dark\""};
  for (const char* text : kBroken) {
    CAPTURE(text);
    const SettingsRead read = parse_settings(text);
    CHECK_FALSE(read.problem.empty());
    CHECK(read.settings == Settings{});
  }
  CHECK_FALSE(parse_settings(std::string(100000, '[')).problem.empty());
  CHECK_FALSE(parse_settings(R"({"zoom": 1e999})").problem.empty());
  const SettingsRead wrong =
      parse_settings(R"({"theme": "purple", "width": -5, "language": "zh", "recent": [1, "/x"]})");
  const std::string said = say(Language::kEnglish, wrong.problem);
  CHECK(said.find("'width' should be a number from 64") != std::string::npos);
  CHECK_FALSE(wrong.settings.dark);
  CHECK(wrong.settings.width == Settings{}.width);
  CHECK(wrong.settings.language == Language::kChinese);
  CHECK(wrong.settings.recent == std::vector<std::string>{"/x"});
}

TEST_CASE("settings: only what changed here is taken over") {
  Settings stored, before, now;
  stored.dark = true;
  stored.width = 900;
  before.width = now.width = 1280;  // asked for on the command line
  now.language = Language::kChinese;
  const Settings merged = merge_changes(stored, before, now);
  CHECK(merged.dark);
  CHECK(merged.width == 900);
  CHECK(merged.language == Language::kChinese);
}

TEST_CASE("settings: windows that change something at the same moment take nothing back") {
  const TemporaryFolder folder;
  const std::string path = folder.path("config/headlight/settings.json");
  int lost = 0;
  const auto change = [&](auto Settings::*field, int& count) {
    Settings now;
    for (int i = 1; i <= 100; ++i) {
      const Settings before = now;
      now.*field = static_cast<std::remove_reference_t<decltype(now.*field)>>(1 + 0.01 * i);
      keep_changes(path, now, before, now);
      count += read_settings(path).settings.*field != now.*field;
    }
  };
  int lost_there = 0;
  std::thread other([&] { change(&Settings::speed, lost_there); });
  change(&Settings::zoom, lost);
  other.join();
  CHECK(lost == 0);
  CHECK(lost_there == 0);
}

TEST_CASE("settings: recent files without doubles, ten at most") {
  std::vector<std::string> recent;
  for (int i = 0; i < 15; ++i) recent = with_recent(recent, "/" + std::to_string(i));
  recent = with_recent(recent, "/7");
  CHECK(recent.size() == kMaxRecent);
  CHECK(recent[0] == "/7");
  CHECK(recent[1] == "/14");
  CHECK(std::count(recent.begin(), recent.end(), "/7") == 1);
}

TEST_CASE("settings: remembered from one start to the next") {
  const TemporaryFolder folder;
  const UserFolders folders = folders_in(folder);
  {
    Gui gui(small_document(), {1440, 900}, 1, {}, folders);
    gui.shell().start_keeping(0);
    CHECK(gui.state().session.hint == 0);  // the very first start
    gui.push(ShowHint{-1});
    gui.key({'T', true});
    gui.key({'=', true});
    gui.push(ChooseLanguage{Language::kChinese});
    gui.push(SizePanels{{250, 0, 0}});
    gui.push(DoCommand{Command::kToggleHeads});
    gui.shell().set_window(1234, 765, false);
    gui.push(SaveFile{folder.path("x.headlight.json")});
    gui.shell().keep(1);
    CHECK(std::filesystem::exists(folders.settings));
    gui.shell().finish_keeping();
  }
  Gui gui(small_document(), {1440, 900}, 2, {}, folders);
  const Session& s = gui.state().session;
  CHECK(s.dark);
  CHECK(s.language == Language::kChinese);
  CHECK(s.scale == doctest::Approx(2.2));  // a tenth larger than the screen's own
  CHECK(s.sizes.rail == 250);
  CHECK(s.heads_open == std::optional<bool>(false));
  CHECK(s.hint == -1);
  CHECK(s.recent == std::vector<std::string>{folder.path("x.headlight.json")});
  CHECK(gui.shell().settings().width == 1234);
  CHECK(gui.shell().settings().height == 765);
  CHECK(gui.state().notices.empty());
}

TEST_CASE("settings: what two windows change is kept from both") {
  const TemporaryFolder folder;
  const UserFolders folders = folders_in(folder);
  Shell a(small_document(), options_in(folders)), b(small_document(), options_in(folders));
  a.start_keeping(0);
  b.start_keeping(0);
  a.push(DoCommand{Command::kToggleTheme});
  a.apply();
  a.keep(1);
  b.push(ChooseLanguage{Language::kChinese});
  b.apply();
  b.keep(1);
  const Settings kept = read_settings(folders.settings).settings;
  CHECK(kept.dark);
  CHECK(kept.language == Language::kChinese);
}

TEST_CASE("settings: a broken file is said, copied, and the window works") {
  const TemporaryFolder folder;
  const UserFolders folders = folders_in(folder);
  std::filesystem::create_directories(folder.path("config/headlight"));
  write_text(folders.settings, "{ \"theme\": ");
  Gui gui(small_document(), {1440, 900}, 1, {}, folders);
  CHECK(gui.notices_say("settings.json could not be read"));
  gui.shell().start_keeping(0);
  gui.key({'T', true});
  gui.shell().keep(1);
  CHECK(read_settings(folders.settings).settings.dark);
  CHECK(read_text(folders.settings + ".broken") == "{ \"theme\": ");
}

// A folder stands where the copy would go; a pipe would be waited for.
TEST_CASE("settings: what can be neither read nor copied is left as it is, and that is said") {
  const TemporaryFolder folder;
  const UserFolders folders = folders_in(folder);
  std::filesystem::create_directories(folders.settings + ".broken");
  SUBCASE("cut off") { write_text(folders.settings, "{ \"theme\": "); }
  SUBCASE("a pipe") { REQUIRE(::mkfifo(folders.settings.c_str(), 0600) == 0); }
  const bool file = std::filesystem::is_regular_file(folders.settings);
  Gui gui(small_document(), {1440, 900}, 1, {}, folders);
  CHECK(gui.notices_say("the file is left as it is"));
  CHECK_FALSE(gui.notices_say(".broken"));
  CHECK_FALSE(gui.notices_say(".."));
  gui.shell().start_keeping(0);
  gui.key({'T', true});
  gui.shell().keep(1);
  gui.shell().keep(2);
  CHECK(gui.notices_say("Settings will not be remembered"));
  if (file) CHECK(read_text(folders.settings) == "{ \"theme\": ");
}

TEST_CASE("settings, autosave: what was said of a full disk is taken back when there is room") {
  const TemporaryFolder folder;
  write_text(folder.path("home"), "in the way");
  const UserFolders folders{folder.path("home/settings.json"), folder.path("home/autosave"), {}};
  Gui gui(small_document(), {1440, 900}, 1, {}, folders);
  gui.shell().start_keeping(0);
  gui.key({'T', true});
  gui.push(DoEdit{SetSentence{"text 1"}, ""});
  for (const double second : {1.0, 2.0, 6.0, 7.0}) gui.shell().keep(second);
  CHECK(gui.notices_say("Settings will not be remembered"));
  CHECK(gui.notices_say("Unsaved work cannot be kept"));
  std::filesystem::remove(folder.path("home"));
  for (const double second : {11.0, 12.0, 16.0, 17.0}) gui.shell().keep(second);
  CHECK_FALSE(gui.notices_say("Settings will not be remembered"));
  CHECK_FALSE(gui.notices_say("Unsaved work cannot be kept"));
  CHECK(std::filesystem::exists(folders.settings));
  CHECK(std::filesystem::exists(folders.autosave));
}

TEST_CASE("settings: where nothing can be kept it is said once, and everything else works") {
  const TemporaryFolder folder;
  write_text(folder.path("a_file"), "not a folder");  // root may write into read-only folders
  for (const std::string& base : {folder.path("a_file"), std::string("/proc/headlight")}) {
    CAPTURE(base);
    const UserFolders folders{base + "/settings.json", base + "/autosave", base + "/runs"};
    Gui gui(small_document(), {1440, 900}, 1, {}, folders);
    gui.shell().start_keeping(0);
    for (int second = 1; second < 10; ++second) {
      gui.key({'T', true});
      gui.push(DoEdit{SetSentence{"text " + std::to_string(second)}, ""});
      gui.shell().keep(second);
      gui.frame();
    }
    int settings = 0, work = 0;
    for (const Notice& notice : gui.state().notices) {
      settings += notice.text.starts_with("Settings will not be remembered");
      work += notice.text.starts_with("Unsaved work cannot be kept");
    }
    CHECK(settings == 1);
    CHECK(work == 1);
    CHECK(gui.state().notices.size() == 2);
    CHECK(gui.document().sentence == "text 9");
    gui.push(SaveFile{folder.path("still.headlight.json")});
    CHECK(gui.state().history.is_saved());
    std::filesystem::remove(folder.path("still.headlight.json"));
    gui.shell().finish_keeping();
  }
}

TEST_CASE("folders: by the XDG variables, relative ones ignored") {
  const auto with = [](const char* config, const char* state, const char* home) {
    const std::vector<std::pair<const char*, const char*>> variables = {
        {"XDG_CONFIG_HOME", config}, {"XDG_STATE_HOME", state}, {"HOME", home}};
    for (const auto& [name, value] : variables) {
      if (value) {
        ::setenv(name, value, 1);
      } else {
        ::unsetenv(name);
      }
    }
    return user_folders();
  };
  const char* old_home = std::getenv("HOME");
  const std::string home = old_home ? old_home : "";
  UserFolders f = with("/c", "/s", "/h");
  CHECK(f.settings == "/c/headlight/settings.json");
  CHECK(f.autosave == "/s/headlight/autosave");
  f = with(nullptr, "relative", "/h");
  CHECK(f.settings == "/h/.config/headlight/settings.json");
  CHECK(f.autosave == "/h/.local/state/headlight/autosave");
  f = with(nullptr, nullptr, nullptr);
  CHECK(f.empty());
  if (old_home) ::setenv("HOME", home.c_str(), 1);
}

// ---- unsaved work ----

TEST_CASE("autosave: unsaved work of a window that died is on offer, and comes back") {
  const TemporaryFolder folder;
  const UserFolders folders = folders_in(folder);
  const std::string path = folder.path("mine.headlight.json");
  Document lost;
  {
    Shell shell(small_document(), options_in(folders));
    shell.start_keeping(0);
    shell.save(path);
    shell.push(DoEdit{SetSentence{"words that were not saved 🙂"}, ""});
    shell.apply();
    lost = shell.state().document();
    shell.keep(1);
    CHECK(files_in(folders.autosave) == 1);
    // Another window that starts meanwhile is offered nothing: this one still runs.
    Shell second(small_document(), options_in(folders));
    second.start_keeping(0);
    CHECK(second.state().session.question.asking == Asking::kNothing);
  }  // without finish_keeping(): as if killed
  CHECK(files_in(folders.autosave) == 1);
  Gui gui(Document{}, {1440, 900}, 1, {}, folders);
  gui.shell().start_keeping(0);
  gui.frame(2);
  CHECK(gui.has("panel/question"));
  CHECK(gui.shows("Headlight was closed without saving"));
  CHECK(gui.shows("mine.headlight.json"));
  // And a third window is not offered the same work.
  Shell third(small_document(), options_in(folders));
  third.start_keeping(0);
  CHECK(third.state().session.question.asking == Asking::kNothing);
  gui.key({kKeyEnter});
  CHECK(gui.document() == lost);
  CHECK(gui.state().session_path == path);
  CHECK_FALSE(gui.state().history.is_saved());
  CHECK(gui.shows("words that were not saved"));
  CHECK(files_in(folders.autosave) == 1);  // under this window's name
  gui.key({'Z', true});                    // one step
  CHECK(gui.document() == Document{});
  gui.key({'Z', true, true});
  gui.key({'S', true});
  CHECK(read_session(path).document == lost);
  gui.shell().keep(10);
  CHECK(files_in(folders.autosave) == 0);
}

TEST_CASE("autosave: recovered work does not overwrite a file that changed meanwhile") {
  const TemporaryFolder folder;
  const UserFolders folders = folders_in(folder);
  const std::string path = folder.path("mine.headlight.json");
  {
    Shell shell(small_document(), options_in(folders));
    shell.start_keeping(0);
    shell.save(path);
    shell.push(DoEdit{SetSentence{"lost"}, ""});
    shell.apply();
    shell.keep(1);
  }
  Document newer = small_document();
  newer.sentence = "newer";
  write_session(path, newer);
  Gui gui(Document{}, {1440, 900}, 1, {}, folders);
  gui.shell().start_keeping(0);
  gui.frame(2);
  gui.click("question/first");
  CHECK(gui.document().sentence == "lost");
  gui.key({'S', true});
  CHECK(gui.state().session.question.asking == Asking::kOverwrite);
  CHECK(read_session(path).document == newer);
}

TEST_CASE("autosave: Discard forgets it, Later keeps it for the next start") {
  const TemporaryFolder folder;
  const UserFolders folders = folders_in(folder);
  for (const char* text : {"one", "two"}) {
    Shell shell(small_document(), options_in(folders));
    shell.start_keeping(0);
    if (shell.state().session.question.asking == Asking::kRecover) {
      shell.push(AnswerQuestion{Answer::kCancel});
      shell.apply();
    }
    shell.push(DoEdit{SetSentence{text}, ""});
    shell.apply();
    shell.keep(1);
  }
  CHECK(files_in(folders.autosave) == 2);
  {
    Gui gui(small_document(), {1440, 900}, 1, {}, folders);
    gui.shell().start_keeping(0);
    gui.frame(2);
    gui.key({kKeyEscape});  // later
    CHECK_FALSE(gui.has("panel/question"));
    CHECK(gui.document() == small_document());
    gui.shell().finish_keeping();
  }
  CHECK(files_in(folders.autosave) == 2);
  Gui gui(small_document(), {1440, 900}, 1, {}, folders);
  gui.shell().start_keeping(0);
  gui.frame(2);
  gui.click("question/second");  // discard the newer one
  CHECK(files_in(folders.autosave) == 1);
  REQUIRE(gui.has("question/first"));  // the older one is on offer now
  gui.ctrl('D');
  CHECK_FALSE(gui.has("panel/question"));
  CHECK(files_in(folders.autosave) == 0);
  CHECK(gui.document() == small_document());
}

TEST_CASE("autosave: work that cannot be read is told of, and stays until it is put aside") {
  const TemporaryFolder folder;
  const UserFolders folders = folders_in(folder);
  std::filesystem::create_directories(folders.autosave);
  const std::string path = folders.autosave + "/77-0.headlight.json";
  std::string text = "{ \"version\": ", why = "JSON";
  SUBCASE("cut off") {}
  SUBCASE("of a newer version") {
    text = session_text(small_document());
    const std::size_t at = text.find("\"version\": ");
    REQUIRE(at != std::string::npos);
    text.replace(at, text.find(',', at) - at, "\"version\": 99");
    why = "has version 99";
  }
  write_text(path, text);
  for (int start = 0; start < 2; ++start) {
    Gui gui(small_document(), {1440, 900}, 1, {}, folders);
    gui.shell().start_keeping(0);
    gui.frame(2);
    CHECK_FALSE(gui.has("panel/question"));
    CHECK(gui.notices_say(path));
    CHECK(gui.notices_say(why));
    CHECK(read_text(path) == text);
    if (start == 1) gui.click("notice/aside");
    gui.shell().finish_keeping();
  }
  CHECK(files_in(folders.autosave) == 0);
  CHECK(files_in(folders.autosave + "/discarded") == 1);
  Gui gui(small_document(), {1440, 900}, 1, {}, folders);
  gui.shell().start_keeping(0);
  CHECK(gui.state().notices.empty());
  // It is listed with what is wrong, and cannot be recovered.
  gui.push(DoCommand{Command::kRuns});
  gui.shell().wait();
  gui.frame(3);
  REQUIRE(gui.state().runs.runs.size() == 1);
  const SavedRun& listed = gui.state().runs.runs[0];
  CHECK(listed.name.ends_with("77-0.headlight.json"));
  CHECK(say(Language::kEnglish, listed.problem).find(why) != std::string::npos);
  CHECK(listed.written > 0);
  gui.click("runs/0/restore");
  gui.frame(2);
  CHECK(gui.has("panel/runs"));
  CHECK(gui.document() == small_document());
}

TEST_CASE("autosave: work that cannot be put aside stays where it is, and the window says so") {
  const TemporaryFolder folder;
  const UserFolders folders = folders_in(folder);
  std::filesystem::create_directories(folders.autosave);
  const std::string path = folders.autosave + "/77-0.headlight.json";
  write_text(path, "{ \"version\": ");
  write_text(folders.autosave + "/discarded", "a file in the folder's place");
  Gui gui(small_document(), {1440, 900}, 1, {}, folders);
  gui.shell().start_keeping(0);
  gui.frame(2);
  gui.click("notice/aside");
  gui.frame(2);
  CHECK(gui.notices_say(path + " cannot be moved"));
  CHECK(read_text(path) == "{ \"version\": ");
  CHECK(read_text(folders.autosave + "/discarded") == "a file in the folder's place");
}

TEST_CASE("autosave: at most every two seconds, and gone after a save or a clean end") {
  const TemporaryFolder folder;
  const UserFolders folders = folders_in(folder);
  Shell shell(small_document(), options_in(folders));
  shell.start_keeping(0);
  const auto type = [&](const char* text, double seconds) {
    shell.push(DoEdit{SetSentence{text}, ""});
    shell.apply();
    shell.keep(seconds);
  };
  const auto kept = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(folders.autosave)) {
      if (entry.path().extension() == ".json")
        return read_session(entry.path().string()).document.sentence;
    }
    return std::string("nothing");
  };
  shell.keep(1);
  CHECK_FALSE(std::filesystem::exists(folders.autosave));  // nothing is unsaved
  type("a", 2);
  CHECK(kept() == "a");
  type("ab", 3);
  CHECK(kept() == "a");  // too early
  shell.keep(4.1);
  CHECK(kept() == "ab");
  shell.push(DoCommand{Command::kUndo});
  shell.push(DoCommand{Command::kUndo});
  shell.apply();
  shell.keep(7);
  CHECK(kept() == "nothing");  // as it was saved: nothing is lost
  type("abc", 10);
  CHECK(kept() == "abc");
  shell.finish_keeping();
  CHECK(kept() == "nothing");
  CHECK(std::filesystem::is_empty(folders.autosave));
}

TEST_CASE("autosave: files that are none are left alone") {
  const TemporaryFolder folder;
  const UserFolders folders = folders_in(folder);
  std::filesystem::create_directories(folders.autosave);
  write_text(folders.autosave + "/1-0.headlight.json", "not a session");
  write_text(folders.autosave + "/note.txt", "hello");
  Shell shell(small_document(), options_in(folders));
  shell.start_keeping(0);
  CHECK(shell.state().session.question.asking == Asking::kNothing);
  CHECK(read_text(folders.autosave + "/1-0.headlight.json") == "not a session");
  CHECK(std::filesystem::exists(folders.autosave + "/note.txt"));
}

TEST_CASE("background writer: the newest text, in the order asked, whole at the end") {
  const TemporaryFolder folder;
  const std::string a = folder.path("new/a.txt"), b = folder.path("b.txt");
  {
    BackgroundWriter writer(true);
    for (int i = 0; i < 200; ++i) {
      writer.write(a, [i] { return std::to_string(i); });
      writer.write(b, [] { return std::string("b"); });
    }
    writer.remove(b);
    writer.wait();
    CHECK(read_text(a) == "199");
    CHECK_FALSE(std::filesystem::exists(b));
    writer.write(folder.path("new/a.txt/x"), [] { return std::string("no"); });
    writer.wait();
    CHECK(writer.take_problem(folder.path("new/a.txt/x")) != "");
    CHECK(writer.take_problem(folder.path("new/a.txt/x")) == "");
    writer.write(b, [] { return std::string("last"); });
  }  // what waits is written before it goes
  CHECK(read_text(b) == "last");
}

TEST_CASE("times of day, and with the date on other days") {
  CHECK(time_words(1000, 1000).size() == 5);
  CHECK(time_words(1000, 1000 + 3 * 86400).size() == 16);
}

TEST_CASE("the icon: the files for the desktop are the ones that the program draws") {
  const std::string folder = HEADLIGHT_TEST_DIR "../assets/icon/";
  const std::string png = encode_png(256, 256, icon_pixels(256));
  if (std::getenv("HEADLIGHT_UPDATE_GOLDEN")) {
    write_text(folder + "headlight.svg", icon_svg());
    write_text(folder + "headlight.png", png);
  }
  CHECK(read_text(folder + "headlight.svg") == icon_svg());
  CHECK(read_text(folder + "headlight.png") == png);
}

}  // namespace headlight::test
