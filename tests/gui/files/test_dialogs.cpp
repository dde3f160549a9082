// The sheet that asks for files, the desktop's dialog in its place, and matrices as files.
#include <chrono>
#include <filesystem>
#include <thread>

#include "app/shell/dialogs/desktop_dialog.h"
#include "core/document/session_file.h"
#include "core/io/table.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

namespace fs = std::filesystem;

void type_path(Gui& gui, const std::string& path) {
  REQUIRE(gui.has("path"));
  gui.edit_key({ImGuiKey_A, true});
  gui.type(path);
}

std::string problem(const Gui& gui) {
  return say(Language::kEnglish, gui.state().session.path_problem);
}

// A program that answers as a desktop's dialog does.
std::string answering(const TemporaryFolder& folder, const std::string& script) {
  const std::string program = folder.path("zenity");
  write_text(program, "#!/bin/sh\n" + script + "\n");
  fs::permissions(program, fs::perms::owner_all);
  return program;
}

// A shell in the background, with these programs for dialogs; polls until its dialog has answered.
void answer(Shell& shell) {
  for (int i = 0; i < 1000 && shell.state().session.desktop_dialog; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    shell.poll();
    shell.apply();
  }
}

ShellOptions with_dialog(const std::string& program) {
  ShellOptions options = still_options(1);
  options.dialogs = {"no such program", program};
  return options;
}

}  // namespace

TEST_CASE("dialogs: a name without an ending is a session file, in the listed folder") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path("inside"));
  Gui gui(small_document());
  gui.push(AskPath{Sheet::kSave, folder.path("x.json")});
  REQUIRE(gui.has("panel/save_path"));
  REQUIRE(gui.has("path/line/inside"));
  gui.click("path/line/inside");
  CHECK(gui.state().session.path_folder == folder.path("inside"));
  gui.click("path");
  type_path(gui, "a");
  gui.click("path/ok");
  CHECK_FALSE(gui.has("path"));
  CHECK(fs::exists(folder.path("inside/a.headlight.json")));
  CHECK(gui.state().session_path == folder.path("inside/a.headlight.json"));
}

TEST_CASE("dialogs: what is typed takes the place of the path that the sheet opens with") {
  const TemporaryFolder folder;
  Gui gui(small_document());
  for (const char* name : {"first", "second", "third"}) {
    gui.push(AskPath{Sheet::kSave, folder.path("x.json")});
    gui.frame(2);
    REQUIRE(gui.state().session.path_typed != "");
    gui.type(name);
    CHECK(gui.state().session.path_typed == name);
    gui.type("_");  // and goes on behind what has been typed
    CHECK(gui.state().session.path_typed == std::string(name) + "_");
    gui.click("path/cancel");
    gui.frame(2);
  }
}

TEST_CASE("dialogs: a wrong path keeps the sheet open and says why; cancel leaves it") {
  const TemporaryFolder folder;
  write_text(folder.path("broken.json"), "{");
  Gui gui(small_document());
  const Document before = gui.document();
  gui.push(AskPath{Sheet::kOpen, folder.path("nothing.json")});
  gui.click("path/ok");
  REQUIRE(gui.has("panel/open_path"));
  CHECK(problem(gui).find("is not there") != std::string::npos);
  CHECK(gui.shows("is not there"));
  type_path(gui, folder.path("broken.json"));
  CHECK(problem(gui) == "");  // it is another one now
  gui.edit_key({ImGuiKey_Enter});
  REQUIRE(gui.has("panel/open_path"));
  CHECK(problem(gui).find("broken.json") != std::string::npos);
  CHECK(gui.document() == before);
  CHECK(gui.state().session_path == "");
  gui.click("path/cancel");
  CHECK_FALSE(gui.has("panel/open_path"));
  for (const Sheet sheet : {Sheet::kSave, Sheet::kTrainFolder, Sheet::kSaveNumbers}) {
    gui.push(AskPath{sheet, ""});
    type_path(gui, folder.path("no/such/folder"));
    gui.click("path/ok");
    CHECK(problem(gui).find("is not there") != std::string::npos);
    gui.key({kKeyEscape});
    CHECK_FALSE(gui.has("path"));
  }
}

TEST_CASE("dialogs: a file of the list is opened by two clicks, a model's folder by its name") {
  const TemporaryFolder folder;
  Document other = small_document();
  other.sentence = "of the list";
  write_session(folder.path("one.headlight.json"), other);
  fs::create_directories(folder.path("model"));
  write_text(folder.path("model/config.json"), "{}");
  write_text(folder.path("other.txt"), "no session");
  Gui gui(small_document());
  gui.push(AskPath{Sheet::kOpen, folder.path("x")});
  CHECK_FALSE(gui.has("path/line/other.txt"));
  gui.click("path/line/one.headlight.json");
  CHECK(gui.state().session.path_typed == "one.headlight.json");
  gui.click("path/line/one.headlight.json");
  CHECK(gui.document() == other);
  gui.push(AskPath{Sheet::kOpenModel, folder.path("x")});
  gui.click("path/up");
  CHECK(gui.state().session.path_folder == fs::path(folder.path("x")).parent_path().parent_path());
  gui.key({kKeyEscape});
}

TEST_CASE("dialogs: keys do not reach the steps behind the sheet") {
  Gui gui(small_document());
  const std::string step = gui.state().session.step;
  gui.push(AskPath{Sheet::kOpen, ""});
  gui.click("panel/open_path");
  gui.click("path/up");
  gui.key({kKeyRight});
  gui.key({'M'});
  CHECK(gui.state().session.step == step);
  CHECK_FALSE(gui.state().history.can_undo());
}

TEST_CASE(
    "dialogs: the desktop's answers, or is cancelled, and ours takes its place where it fails") {
  const TemporaryFolder folder;
  Document other = small_document();
  other.sentence = "chosen elsewhere";
  write_session(folder.path("one.headlight.json"), other);
  {
    Shell shell(small_document(),
                with_dialog(answering(folder, "echo '" + folder.path("one.headlight.json") + "'")));
    shell.push(AskPath{Sheet::kOpen, ""});
    shell.apply();
    CHECK(shell.state().session.desktop_dialog);
    CHECK(shell.is_working());
    answer(shell);
    CHECK(shell.state().document() == other);
    CHECK(shell.state().session.path_sheet == Sheet::kNone);
  }
  {
    Shell shell(small_document(), with_dialog(answering(folder, "exit 1")));
    shell.push(AskPath{Sheet::kOpen, ""});
    shell.apply();
    answer(shell);
    CHECK(shell.state().document() == small_document());
    CHECK(shell.state().session.path_sheet == Sheet::kNone);
  }
  for (const char* script : {"exit 5", "kill -9 $$"}) {
    Shell shell(small_document(), with_dialog(answering(folder, script)));
    shell.push(AskPath{Sheet::kOpen, ""});
    shell.apply();
    answer(shell);
    CHECK(shell.state().session.path_sheet == Sheet::kOpen);
  }
  {  // what it answers is looked at as well
    Shell shell(small_document(), with_dialog(answering(folder, "echo /no/such/file")));
    shell.push(AskPath{Sheet::kOpen, ""});
    shell.apply();
    answer(shell);
    CHECK(shell.state().session.path_sheet == Sheet::kOpen);
    CHECK_FALSE(shell.state().session.path_problem.empty());
  }
}

TEST_CASE("dialogs: the command lines of the desktop's programs") {
  const DialogWish wish{DialogWish::Kind::kSave, "Save as", "/tmp/a b.json", "*.json"};
  CHECK(dialog_command("zenity", wish) ==
        std::vector<std::string>{"zenity", "--file-selection", "--title=Save as", "--save",
                                 "--confirm-overwrite", "--filename=/tmp/a b.json",
                                 "--file-filter=*.json"});
  CHECK(dialog_command("/usr/bin/kdialog", wish) ==
        std::vector<std::string>{"/usr/bin/kdialog", "--title", "Save as", "--getsavefilename",
                                 "/tmp/a b.json", "*.json"});
  CHECK(dialog_command("rm", wish).empty());
}

TEST_CASE("export: the numbers of the shown matrix, with the names of its rows and columns") {
  const TemporaryFolder folder;
  Gui gui(small_document());
  gui.push(GoToStep{"blocks.0.attn.pattern"});
  gui.push(ChooseHead{1});
  gui.push(DoCommand{Command::kSaveNumbers});
  REQUIRE(gui.has("panel/save_numbers"));
  CHECK(gui.state().session.path_typed == "blocks.0.attn.pattern-head-1.csv");
  type_path(gui, folder.path("a.csv"));
  gui.click("path/ok");
  CHECK(gui.notices_say("Saved in " + folder.path("a.csv")));
  const std::vector<TableRow> rows =
      parse_table(read_text(folder.path("a.csv")), TableFormat::kCsv);
  const TensorView t = gui.tensor("blocks.0.attn.pattern");
  const std::int64_t n = gui.trace().length();
  REQUIRE(rows.size() == static_cast<std::size_t>(n) + 1);
  CHECK(rows[0].cells[1] == gui.trace().input().tokens[0]);
  for (std::int64_t r = 0; r < n; ++r) {
    const std::vector<std::string>& cells = rows[static_cast<std::size_t>(r) + 1].cells;
    CHECK(cells[0] == gui.trace().input().tokens[static_cast<std::size_t>(r)]);
    for (std::int64_t c = 0; c < n; ++c) {
      const float value = t.data[(n + r) * n + c];
      CHECK(std::stof(cells[static_cast<std::size_t>(c) + 1]) == value);
    }
  }
  // The same path again is asked about first.
  gui.push(DoCommand{Command::kSaveNumbers});
  type_path(gui, folder.path("a.csv"));
  gui.click("path/ok");
  CHECK(problem(gui).find("is there already") != std::string::npos);
  gui.click("path/ok");
  CHECK_FALSE(gui.has("panel/save_numbers"));
}

TEST_CASE("export: npy, npz and png by the ending, of the matrix that was clicked") {
  const TemporaryFolder folder;
  Gui gui(small_document());
  gui.push(GoToStep{"blocks.0.attn.pattern"});
  const std::string pane = [&] {
    for (const auto& [id, r] : gui.drawn().all()) {
      if (id.starts_with("pane/0/")) return id;
    }
    return std::string();
  }();
  gui.right_click(pane);
  REQUIRE(gui.has("matrix/save_numbers"));
  gui.click("matrix/save_numbers");
  REQUIRE(gui.has("panel/save_numbers"));
  CHECK(gui.state().session.export_tensor == pane.substr(7));
  type_path(gui, folder.path("m.npy"));
  gui.click("path/ok");
  const std::string npy = read_text(folder.path("m.npy"));
  CHECK(npy.starts_with("\x93NUMPY"));
  const auto n = static_cast<std::size_t>(gui.trace().length());
  CHECK(npy.size() == 128 + n * n * 4);
  gui.push(AskExport{false, ""});
  type_path(gui, folder.path("m.npz"));
  gui.click("path/ok");
  CHECK(read_text(folder.path("m.npz")).find("blocks.0.attn.pattern.npy") != std::string::npos);
  gui.push(AskExport{true, ""});
  type_path(gui, folder.path("m"));
  gui.click("path/ok");
  CHECK(read_text(folder.path("m.png")).starts_with("\x89PNG"));
  gui.push(GoToStep{"token_ids"});
  gui.push(DoCommand{Command::kSavePicture});
  CHECK_FALSE(gui.has("path"));
  CHECK(gui.notices_say("no matrix"));
}

TEST_CASE("dialogs: after a wrong path the field is written in again, however often") {
  const TemporaryFolder folder;
  Gui gui(small_document());
  gui.push(AskPath{Sheet::kOpenModel, folder.path("x")});
  gui.frame(2);
  for (const char* name : {"a", "b", "c"}) {
    CAPTURE(name);
    gui.type(name);
    gui.edit_key({ImGuiKey_Enter});
    gui.frame(3);
    REQUIRE(gui.has("panel/open_model"));
    CHECK(problem(gui).find("is not there") != std::string::npos);
    CHECK(gui.in_field());
    gui.edit_key({ImGuiKey_Enter});  // and nothing was changed
    gui.frame(3);
    CHECK(gui.in_field());
  }
}

}  // namespace headlight::test
