// Leaving with unsaved changes, files that changed on disk, recent files, dropped files.
#include "app/shell/dropped_file.h"
#include "core/document/session_file.h"
#include "core/train/model_recipe.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

constexpr Shortcut kQuitKey{'Q', true}, kNewKey{'N', true}, kSaveKey{'S', true};

Asking asking(const Gui& gui) { return gui.state().session.question.asking; }

// Saved once under this path, then changed.
void save_and_change(Gui& gui, const std::string& path) {
  gui.push(SaveFile{path});
  REQUIRE(gui.state().history.is_saved());
  gui.click("mask/none");
  REQUIRE_FALSE(gui.state().history.is_saved());
}

void type_path(Gui& gui, const std::string& path) {
  REQUIRE(gui.has("path"));
  gui.edit_key({ImGuiKey_A, true});
  gui.type(path);
  gui.edit_key({ImGuiKey_Enter});
}

}  // namespace

TEST_CASE("leaving: without changes nothing is asked") {
  Gui gui(small_document());
  gui.key(kQuitKey);
  CHECK(gui.state().session.quit);
  CHECK_FALSE(gui.has("panel/question"));
}

TEST_CASE("leaving: Save, Don't save and Cancel by click and by key") {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.headlight.json");
  Gui gui(small_document());
  save_and_change(gui, path);
  const Document changed = gui.document();

  gui.key(kQuitKey);
  CHECK(gui.has("panel/question"));
  CHECK(gui.shows("Save the changes in a.headlight.json?"));
  gui.key({kKeyEscape});
  CHECK_FALSE(gui.has("panel/question"));
  CHECK_FALSE(gui.state().session.quit);
  CHECK(gui.document() == changed);

  gui.key(kQuitKey);
  gui.click("question/cancel");
  CHECK_FALSE(gui.has("panel/question"));
  CHECK_FALSE(gui.state().session.quit);

  // No other key gets past it: not the mask's, not undo, not a letter into the sentence.
  gui.key(kQuitKey);
  gui.key({'M'});
  gui.key({'Z', true});
  gui.key({'L', true});
  gui.type("zzz");
  CHECK(asking(gui) == Asking::kLeave);
  CHECK(gui.document() == changed);
  gui.ctrl('D');  // don't save
  CHECK(gui.state().session.quit);
  CHECK_FALSE(read_session(path).document == changed);
}

TEST_CASE("leaving: Enter saves and goes on") {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.headlight.json");
  Gui gui(small_document());
  save_and_change(gui, path);
  gui.key(kQuitKey);
  gui.key({kKeyEnter});
  CHECK(gui.state().session.quit);
  CHECK(read_session(path).document == gui.document());
}

TEST_CASE("leaving: a document without a file asks where, and then goes on") {
  const TemporaryFolder folder;
  const std::string path = folder.path("new.headlight.json");
  Gui gui(small_document());
  gui.click("mask/none");
  const Document changed = gui.document();
  gui.key(kQuitKey);
  gui.click("question/first");
  REQUIRE(gui.has("path"));
  CHECK_FALSE(gui.state().session.quit);
  type_path(gui, path);
  CHECK(gui.state().session.quit);
  CHECK(read_session(path).document == changed);
}

TEST_CASE("leaving: a path sheet that was left does not quit at a later save") {
  const TemporaryFolder folder;
  Gui gui(small_document());
  gui.click("mask/none");
  gui.key(kQuitKey);
  gui.click("question/first");
  REQUIRE(gui.has("path"));
  gui.key({kKeyEscape});
  if (gui.has("path")) gui.key({kKeyEscape});
  CHECK_FALSE(gui.has("path"));
  gui.key(kSaveKey);
  type_path(gui, folder.path("b.headlight.json"));
  CHECK(gui.state().history.is_saved());
  CHECK_FALSE(gui.state().session.quit);
}

TEST_CASE("leaving: a save that fails keeps the window open and the document") {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.headlight.json");
  Gui gui(small_document());
  save_and_change(gui, path);
  const Document changed = gui.document();
  // Nobody may write there, root neither: a folder stands where the file was.
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  gui.key(kQuitKey);
  gui.key({kKeyEnter});
  CHECK_FALSE(gui.state().session.quit);
  CHECK(gui.notices_say("Could not save"));
  CHECK(gui.document() == changed);
  CHECK_FALSE(gui.state().history.is_saved());
  gui.key(kQuitKey);  // and it can be tried again
  CHECK(asking(gui) == Asking::kLeave);
}

TEST_CASE("new: asks first, then starts from the first sentence without a file") {
  const TemporaryFolder folder;
  Gui gui(small_document());
  save_and_change(gui, folder.path("a.headlight.json"));
  gui.key(kNewKey);
  CHECK(asking(gui) == Asking::kLeave);
  gui.key({kKeyEscape});
  CHECK(gui.state().session_path != "");
  gui.key(kNewKey);
  gui.click("question/second");
  CHECK(gui.document() == Document{});
  CHECK(gui.state().session_path == "");
  CHECK(gui.state().history.is_saved());
  CHECK(gui.shows("The animal didn't cross"));
}

TEST_CASE("open: with unsaved changes asks first; a file that cannot be opened does not") {
  const TemporaryFolder folder;
  const std::string path = folder.path("other.headlight.json");
  Document other = small_document();
  other.sentence = "quite another text";
  write_session(path, other);
  Gui gui(small_document());
  gui.click("mask/none");
  const Document changed = gui.document();
  gui.push(OpenFile{folder.path("missing.json")});
  CHECK(asking(gui) == Asking::kNothing);
  CHECK(gui.notices_say("missing.json"));
  gui.push(OpenFile{path});
  CHECK(asking(gui) == Asking::kLeave);
  CHECK(gui.document() == changed);
  gui.key({kKeyEscape});
  CHECK(gui.document() == changed);
  gui.push(OpenFile{path});
  gui.ctrl('D');
  CHECK(gui.document() == other);
}

TEST_CASE("two windows: what the other one saved is not overwritten unasked") {
  const TemporaryFolder folder;
  const std::string path = folder.path("shared.headlight.json");
  Document start = small_document();
  write_session(path, start);
  ShellOptions options;
  options.background = false;
  Shell other(start, options);
  other.open(path);
  Gui gui(start);
  gui.push(OpenFile{path});

  other.push(DoEdit{SetSentence{"theirs"}, ""});
  other.apply();
  CHECK(other.save(path));
  gui.click("mask/none");
  const Document mine = gui.document();
  gui.key(kSaveKey);
  CHECK(asking(gui) == Asking::kOverwrite);
  CHECK(gui.shows("shared.headlight.json has changed on disk"));
  CHECK(read_session(path).document.sentence == "theirs");
  gui.key({kKeyEscape});
  CHECK(read_session(path).document.sentence == "theirs");
  CHECK(gui.document() == mine);

  // Save as: both texts are kept.
  gui.key(kSaveKey);
  gui.key({kKeyEnter});
  type_path(gui, folder.path("mine.headlight.json"));
  CHECK(read_session(path).document.sentence == "theirs");
  CHECK(read_session(folder.path("mine.headlight.json")).document == mine);

  // The other window's next save is its own business again, and ours is asked about.
  other.push(DoEdit{SetSentence{"theirs 2"}, ""});
  other.apply();
  CHECK(other.save(path));
  gui.push(SaveFile{path});
  gui.frame();  // the sheet takes its size
  CHECK(gui.shows("exists already"));
  gui.ctrl('O');  // overwrite
  CHECK(read_session(path).document == mine);
  CHECK(gui.state().session_path == path);
  CHECK_FALSE(other.save(path));  // now it is asked
  CHECK(other.state().session.question.asking == Asking::kOverwrite);
}

TEST_CASE("leaving: a file that changed on disk is asked about before it is left") {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.headlight.json");
  Gui gui(small_document());
  save_and_change(gui, path);
  const Document changed = gui.document();
  write_session(path, Document{});
  gui.key(kQuitKey);
  gui.key({kKeyEnter});  // save
  CHECK(asking(gui) == Asking::kOverwrite);
  CHECK_FALSE(gui.state().session.quit);
  gui.key({kKeyEscape});
  CHECK_FALSE(gui.state().session.quit);
  gui.key(kQuitKey);
  gui.key({kKeyEnter});
  gui.click("question/second");  // overwrite
  CHECK(gui.state().session.quit);
  CHECK(read_session(path).document == changed);
}

TEST_CASE("recent files: newest first, in the menu and in the sheet; a missing one goes") {
  const TemporaryFolder folder;
  const std::string a = folder.path("a.headlight.json"), b = folder.path("b.headlight.json");
  Document other = small_document();
  other.sentence = "the text of b";
  write_session(b, other);
  Gui gui(small_document());
  gui.push(SaveFile{a});
  gui.push(OpenFile{b});
  CHECK(gui.state().session.recent == std::vector<std::string>{b, a});
  gui.key({'O', true});
  REQUIRE(gui.has("path/recent/1"));
  CHECK(gui.shows("a.headlight.json"));
  gui.click("path/recent/1");
  CHECK(gui.document() == small_document());
  CHECK(gui.state().session.recent == std::vector<std::string>{a, b});
  gui.click("menu/File");
  gui.click("menu/recent/1");
  CHECK(gui.document() == other);
  std::filesystem::remove(a);
  gui.push(OpenFile{a});
  CHECK(gui.notices_say("a.headlight.json"));
  CHECK(gui.state().session.recent == std::vector<std::string>{b});
}

TEST_CASE("dropped files: a text becomes the sentence in one step of undo") {
  const TemporaryFolder folder;
  const std::string path = folder.path("note.txt");
  write_text(path, "\xEF\xBB\xBFtwo lines,\r\nof any 语言 🙂\r\n");
  Gui gui(small_document());
  gui.click("sentence");
  gui.type("zz");
  const Document before = gui.document();
  gui.push(DropFiles{{path}});
  CHECK(gui.document().sentence == "two lines,\nof any 语言 🙂");
  CHECK(gui.notices_say("note.txt"));
  CHECK(inconsistency(gui.state()) == "");
  gui.push(DoCommand{Command::kUndo});
  CHECK(gui.document() == before);
  gui.push(DoCommand{Command::kRedo});
  CHECK(gui.document().sentence == "two lines,\nof any 语言 🙂");
}

TEST_CASE("dropped files: a session opens, after the question") {
  const TemporaryFolder folder;
  Document other = small_document();
  other.sentence = "from a session";
  for (const char* name : {"a.headlight.json", "renamed.txt"}) {
    const std::string path = folder.path(name);
    write_session(path, other);
    Gui gui(small_document());
    gui.click("mask/none");
    const Document changed = gui.document();
    gui.push(DropFiles{{path}});
    CHECK(asking(gui) == Asking::kLeave);
    CHECK(gui.document() == changed);
    // A second one waits for the answer to the first.
    gui.push(DropFiles{{folder.path("b.headlight.json")}});
    CHECK(gui.notices_say("answer the question first"));
    gui.ctrl('D');
    CHECK(gui.document() == other);
    CHECK(gui.state().session_path == path);
  }
}

TEST_CASE("dropped files: what is neither is refused with its reason, and nothing changes") {
  const TemporaryFolder folder;
  const auto file = [&](const char* name, const std::string& bytes) {
    write_text(folder.path(name), bytes);
    return folder.path(name);
  };
  struct Case {
    std::string path, part;
  };
  const std::vector<Case> cases = {
      {folder.path(""), "folder"},
      {folder.path("missing.txt"), "not there"},
      {file("empty.txt", ""), "is empty"},
      {file("blank.txt", " \n\t\r\n"), "is empty"},
      {file("picture.png", std::string("\x89PNG\r\n\x1A\n\0\0", 10)), "neither a text"},
      {file("latin1.txt", "caf\xE9"), "neither a text"},
      {file("utf16.txt", std::string("\xFF\xFEh\0i\0", 6)), "neither a text"},
      {file("huge.txt", std::string((1u << 20) + 1, 'a')), "larger than 1 MB"},
      {"/dev/zero", "neither a text"},
      {file("broken.headlight.json", "{ \"format\": "), "broken.headlight.json"},
  };
  Gui gui(small_document());
  const Document before = gui.document();
  for (const Case& c : cases) {
    CAPTURE(c.path);
    while (!gui.state().notices.empty()) gui.push(DismissNotice{0});
    gui.push(DropFiles{{c.path}});
    REQUIRE(gui.state().notices.size() == 1);
    CHECK(gui.state().notices[0].kind == NoticeKind::kError);
    CHECK(gui.notices_say(c.part));
    CHECK(gui.document() == before);
    CHECK_FALSE(gui.state().history.can_undo());
  }
}

TEST_CASE("dropped files: of several the first, and it says so") {
  const TemporaryFolder folder;
  write_text(folder.path("a.txt"), "first file");
  write_text(folder.path("b.txt"), "second file");
  Gui gui(small_document());
  gui.push(DropFiles{{folder.path("a.txt"), folder.path("b.txt")}});
  CHECK(gui.document().sentence == "first file");
  CHECK(gui.notices_say("2 files were dropped"));
  gui.push(DropFiles{});
  CHECK(gui.document().sentence == "first file");
}

TEST_CASE("pasting: line ends and tabs stay, and no two words become one") {
  Gui gui(small_document());
  gui.click("sentence");
  gui.edit_key({ImGuiKey_A, true});
  gui.paste("first line\r\nsecond\tline\n中文🙂\n");
  CHECK(gui.document().sentence == "first line\nsecond\tline\n中文🙂");
  CHECK(gui.trace().input().tokens.size() >= 6);
  gui.edit_key({ImGuiKey_End});
  gui.type("!");
  CHECK(gui.document().sentence == "first line\nsecond\tline\n中文🙂!");
  CHECK(gui.shows("line↵second⇥line"));
}

TEST_CASE("pasting: 200 KB arrive whole, with a notice of the cut, and undo takes them back") {
  std::string text;
  for (int i = 0; text.size() < 200'000; ++i) text += "word" + std::to_string(i) + "\n中é ";
  while (text.back() == ' ') text.pop_back();
  Gui gui(small_document());
  gui.click("sentence");
  gui.edit_key({ImGuiKey_A, true});
  gui.paste(text);
  CHECK(gui.document().sentence == text);
  CHECK(gui.notices_say("tokens; the first 1,024 are shown"));
  CHECK(inconsistency(gui.state()) == "");
  gui.key({'Z', true});
  CHECK(gui.document() == small_document());
}

TEST_CASE("undo takes back each kind of edit, redo makes it again") {
  Document target = small_document();
  target.sentence = "all at once";
  target.tokenizer = TokenizerKind::kBytes;
  Config config = small_document().config;
  config.heads = 4;
  MaskSpec mask;
  mask.kind = MaskKind::kStrided;
  const std::vector<Edit> edits = {SetSentence{"other"},
                                   SetTokenizer{TokenizerKind::kCharacters},
                                   SetConfig{config},
                                   SetMask{mask},
                                   MoveToken{0, 2},
                                   SetMaxTokens{3},
                                   SetTarget{0, "cat"},
                                   SetIds{{0, 1}, {}},
                                   choose_model(small_document(), *load_model("bundled:sort")),
                                   SetLab{{"scale", {{"scale", {{"d_k", "16"}}}}}},
                                   SetDocument{target}};
  // A new kind of edit belongs into this list.
  REQUIRE(edits.size() == std::variant_size_v<Edit>);
  for (const Edit& edit : edits) {
    CAPTURE(edit.index());
    Gui gui(small_document());
    const Document before = gui.document();
    gui.push(DoEdit{edit, ""});
    const Document after = gui.document();
    CHECK_FALSE(after == before);
    gui.key({'Z', true});
    CHECK(gui.document() == before);
    CHECK(inconsistency(gui.state()) == "");
    CHECK_FALSE(gui.state().history.can_undo());
    gui.key({'Z', true, true});
    CHECK(gui.document() == after);
    CHECK(inconsistency(gui.state()) == "");
  }
}

}  // namespace headlight::test
