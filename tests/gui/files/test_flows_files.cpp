// Saving and opening, and everything that can be wrong with a file.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "core/document/session_file.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

// Opens the path sheet with a key, types the path and presses Enter.
void answer_path(Gui& gui, Shortcut shortcut, const std::string& path) {
  gui.key(shortcut);
  REQUIRE(gui.has("path"));
  REQUIRE(gui.in_field());
  gui.edit_key({ImGuiKey_A, true});
  gui.type(path);
  gui.edit_key({ImGuiKey_Enter});
  CHECK_FALSE(gui.has("path"));
}

// While this lives, no file may grow beyond so many bytes: a disk that is full.
struct SmallDisk {
  explicit SmallDisk(rlim_t bytes) {
    before_signal = std::signal(SIGXFSZ, SIG_IGN);  // the write fails instead
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, before_signal);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  rlimit before{};
  void (*before_signal)(int) = nullptr;
};

constexpr Shortcut kOpenKey{'O', true}, kSaveKey{'S', true}, kSaveAsKey{'S', true, true};

}  // namespace

TEST_CASE("flow: save by typing a path, change, save again, open again") {
  const TemporaryFolder folder;
  const std::string path = folder.path("mine.headlight.json");
  Gui gui(small_document());
  gui.click("mask/none");
  CHECK_FALSE(gui.state().history.is_saved());
  answer_path(gui, kSaveKey, path);
  CHECK(gui.notices_say("Saved in " + path));
  CHECK(gui.state().session_path == path);
  CHECK(gui.state().history.is_saved());
  CHECK(read_session(path).document == gui.document());
  const Document saved = gui.document();

  gui.click("sentence");
  gui.edit_key({ImGuiKey_End});
  gui.type(" 中🙂");
  gui.key({kKeyEscape});
  gui.push(DoEdit{SetSentence{saved.sentence + " 中🙂"}, ""});
  CHECK_FALSE(gui.state().history.is_saved());
  gui.key(kSaveKey);  // the path is known: no question
  CHECK_FALSE(gui.has("path"));
  CHECK(read_session(path).document == gui.document());
  CHECK(read_session(path).document.sentence == saved.sentence + " 中🙂");

  const std::string other = folder.path("other.headlight.json");
  answer_path(gui, kSaveAsKey, other);
  CHECK(gui.state().session_path == other);
  gui.click("mask/causal");

  answer_path(gui, kOpenKey, path);
  CHECK(gui.shows("Opening "));
  gui.click("question/second");  // the change is not saved
  CHECK(gui.document() == read_session(path).document);
  CHECK(gui.config().mask.kind == MaskKind::kNone);
  CHECK(gui.state().session_path == path);
  CHECK_FALSE(gui.state().history.can_undo());
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("flow: opening while the sentence field is active shows the new sentence") {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.json");
  Document other = small_document();
  other.sentence = "quite another text";
  write_session(path, other);
  Gui gui(small_document());
  gui.click("sentence");
  gui.type("zzz");
  gui.push(OpenFile{path});
  gui.click("question/second");
  CHECK(gui.document() == other);
  CHECK(gui.shows("quite another text"));
  gui.click("sentence");
  gui.edit_key({ImGuiKey_End});
  gui.type("!");
  CHECK(gui.document().sentence == "quite another text!");
}

TEST_CASE("flow: the button of the path sheet, and a path with an emoji") {
  const TemporaryFolder folder;
  const std::string path = folder.path("猫🙂.json");
  Gui gui(small_document());
  gui.key(kSaveAsKey);
  gui.edit_key({ImGuiKey_A, true});
  gui.paste(path);
  gui.click("path/ok");
  CHECK(std::filesystem::exists(path));
  CHECK(gui.state().session_path == path);
  CHECK(gui.notices_say("Saved in " + path));
}

TEST_CASE("flow: Escape leaves the path sheet, and nothing is saved") {
  const TemporaryFolder folder;
  Gui gui(small_document());
  gui.key(kSaveKey);
  gui.edit_key({ImGuiKey_A, true});
  gui.type(folder.path("no.json"));
  gui.key({kKeyEscape});
  if (gui.has("path")) gui.key({kKeyEscape});  // first the field, then the sheet
  CHECK_FALSE(gui.has("path"));
  CHECK_FALSE(std::filesystem::exists(folder.path("no.json")));
  CHECK(gui.state().session_path == "");
}

TEST_CASE("flow: a file that is no session gives a notice, and the document stays") {
  const TemporaryFolder folder;
  const std::string good = session_text(small_document());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    REQUIRE_MESSAGE(at != std::string::npos, "the session has no ", from);
    return text.replace(at, from.size(), to);
  };
  struct Case {
    std::string name, text, part;  // part of the notice
  };
  const std::string layers = "\"layers\": 1";
  const std::vector<Case> cases = {
      {"empty.json", "", "empty"},
      {"words.json", "hello", ""},
      {"truncated.json", good.substr(0, good.size() / 2), ""},
      {"list.json", "[1, 2]", ""},
      {"nan.json", changed(layers, "\"layers\": NaN"), ""},
      {"huge.json", changed(layers, "\"layers\": 1e999"), ""},
      {"fraction.json", changed(layers, "\"layers\": 1.5"), "layers"},
      {"negative.json", changed(layers, "\"layers\": -1"), "layers"},
      {"string.json", changed(layers, "\"layers\": \"two\""), "layers"},
      {"version.json", changed("\"version\": 1", "\"version\": 99"), "99"},
      {"binary.json", std::string("\x00\xFF\xFE\x01", 4), ""},
  };
  Gui gui(small_document());
  gui.click("mask/none");
  const Document before = gui.document();
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const std::string path = folder.path(c.name);
    write_text(path, c.text);
    while (!gui.state().notices.empty()) gui.click("notice/0/close");
    gui.push(OpenFile{path});
    REQUIRE(gui.state().notices.size() == 1);
    CHECK(gui.state().notices[0].kind == NoticeKind::kError);
    CHECK(gui.state().notices[0].text.size() > 20);
    if (!c.part.empty()) CHECK(gui.notices_say(c.part));
    CHECK(gui.notices_say(c.name));  // which file it is about
    CHECK(gui.document() == before);
    CHECK(gui.state().session_path == "");
    CHECK(gui.state().history.can_undo());
    CHECK(inconsistency(gui.state()) == "");
  }
  for (const std::string& path :
       {folder.path("missing.json"), folder.path(""), std::string("/dev/null/x")}) {
    CAPTURE(path);
    while (!gui.state().notices.empty()) gui.click("notice/0/close");
    gui.push(OpenFile{path});
    CHECK(gui.state().notices.size() == 1);
    CHECK(gui.document() == before);
  }
}

TEST_CASE("flow: a session whose model cannot run opens with its reason") {
  const TemporaryFolder folder;
  const std::string path = folder.path("odd.json");
  Document odd = small_document(1, 3, 8);
  write_session(path, odd);
  Gui gui(small_document());
  gui.push(OpenFile{path});
  CHECK(gui.document() == odd);
  CHECK(gui.notices_say("Width 8 does not divide into 3 heads"));
  CHECK(gui.trace().config().heads == 2);
}

TEST_CASE("flow: a save that fails says so and keeps the old file and the document") {
  const TemporaryFolder folder;
  Gui gui(small_document());
  gui.click("mask/none");
  const Document before = gui.document();
  const auto fails = [&](const std::string& path) {
    CAPTURE(path);
    while (!gui.state().notices.empty()) gui.click("notice/0/close");
    gui.push(SaveFile{path});
    if (gui.has("question/second")) gui.click("question/second");  // it exists: overwrite it
    REQUIRE(gui.state().notices.size() == 1);
    CHECK(gui.state().notices[0].kind == NoticeKind::kError);
    CHECK(gui.notices_say("Could not save '" + path + "'"));
    CHECK(gui.notices_say("Your work is still here"));
    CHECK_FALSE(gui.notices_say(".. "));
    CHECK(gui.document() == before);
    CHECK_FALSE(gui.state().history.is_saved());
    CHECK(gui.state().session_path == "");
  };
  fails("/dev/full");
  CHECK(gui.notices_say("No space left on device"));
  fails(folder.path("no/such/folder/x.json"));
  CHECK(gui.notices_say("Create the folder first"));
  fails(folder.path(""));
  fails("/proc/headlight.json");  // nobody may write there, root neither
  const std::string old = folder.path("old.json");
  write_text(old, "the old contents");
  {
    const SmallDisk disk(100);
    fails(old);
  }
  CHECK(read_text(old) == "the old contents");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path("")), {}) == 1);
  if (::geteuid() != 0) {  // root may write everything
    ::chmod(old.c_str(), 0444);
    fails(old);
    ::chmod(folder.path("").c_str(), 0555);
    fails(folder.path("new.json"));
    ::chmod(folder.path("").c_str(), 0755);
  } else {
    std::puts("SKIPPED: files that may not be written (running as root)");
  }
  CHECK(read_text(old) == "the old contents");
  gui.push(SaveFile{folder.path("good.json")});
  CHECK(read_session(folder.path("good.json")).document == before);
}

}  // namespace headlight::test
