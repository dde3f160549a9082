// The window's own files on a disk that fills up, breaks or is read-only: everything that it
// writes, and the n-th call fails, for n = 1, 2, … to the last (faults.h, inside this program). No
// file is left half written, whatever was not saved is said, and what is tried again later is there
// in the end. HEADLIGHT_HARD=long: every call with every error.
#include <cerrno>
#include <cstring>
#include <iostream>

#include "core/document/session_file.h"
#include "core/io/table.h"
#include "core/train/run_checkpoint.h"
#include "tests/gui/harness.h"
#include "tests/hard/faults.h"
#include "tests/hard/hard.h"

namespace headlight::test {
namespace {

namespace fs = std::filesystem;

constexpr int kErrors[] = {ENOSPC, EIO, EROFS, EACCES};

UserFolders folders_in(const TemporaryFolder& folder) {
  return {folder.path("config/settings.json"), folder.path("state/autosave"),
          folder.path("data/runs")};
}

// What a person does in a while: every kind of file is written. The disk is as it was again before
// the end, and so much later everything has been tried again.
class Visit {
 public:
  explicit Visit(const TemporaryFolder& folder)
      : folder_(folder),
        session_(folder.path("mine.headlight.json")),
        gui_(small_document(), {1440, 900}, 1, {}, folders_in(folder)) {
    gui_.shell().start_keeping(0);
  }

  void act() {
    gui_.push(DoEdit{SetSentence{"a b c"}, ""});
    gui_.key({'T', true});
    keep();
    gui_.push(SaveFile{session_});
    saved_ = gui_.state().history.is_saved();
    listen();
    gui_.push(DoEdit{SetSentence{"a b c d"}, ""});
    keep();
    for (const char* name : {"numbers.csv", "picture.png"}) {
      gui_.push(AskExport{std::string_view(name).ends_with("png"), ""});
      gui_.push(WriteExport{folder_.path(name)});
      settle();
    }
    gui_.push(DoCommand{Command::kTrain});
    gui_.push(PlayRun{true, 3});
    settle();
    gui_.push(KeepRun{folder_.path("kept"), gui_.state().train.run.status.run});
    settle();
    gui_.push(PlayRun{true, 5});
    settle();
    keep();
    settle();  // what is tried again is written in the background
  }

  // Long after the disk has room again.
  void later() {
    for (int i = 0; i < 4; ++i) {
      keep(10);
      settle();
    }
  }

  void end() { gui_.shell().finish_keeping(); }

  bool saved() const { return saved_; }
  const std::string& session() const { return session_; }
  /// All that was said, also what has gone by.
  const std::string& said() const { return said_; }
  Gui& gui() { return gui_; }

 private:
  void settle() {
    gui_.shell().wait();
    gui_.frame(2);
    listen();
  }
  void keep(double seconds = 3) {
    gui_.shell().keep(seconds_ += seconds);
    listen();
    gui_.frame();
  }
  void listen() { said_ += gui_.notices(); }

  const TemporaryFolder& folder_;
  std::string session_, said_;
  Gui gui_;
  bool saved_ = false;
  double seconds_ = 1;
};

// Every file in the folder can be read, and nothing else is there.
void check_files(const std::string& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string(), name = entry.path().filename().string();
    CAPTURE(path);
    CHECK_FALSE(name.starts_with(".headlight-"));
    CHECK(name.find(".old-") == name.npos);
    if (name == "settings.json") CHECK(read_settings(path).problem.empty());
    if (name.ends_with(".headlight.json")) CHECK_NOTHROW(read_session(path));
    if (name == "config.json")
      CHECK_NOTHROW((void)load_checkpoint(entry.path().parent_path().string(), true));
    if (name.ends_with(".csv")) CHECK(parse_table(read_text(path), TableFormat::kCsv).size() > 1);
    if (name.ends_with(".png")) CHECK(read_text(path).find("IEND") != std::string::npos);
  }
}

bool is_autosaved(const TemporaryFolder& folder, const std::string& sentence) {
  const fs::path autosaves = folder.path("state/autosave");
  if (!fs::exists(autosaves)) return false;
  for (const auto& entry : fs::directory_iterator(autosaves)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".headlight.json") && read_session(path).document.sentence == sentence)
      return true;
  }
  return false;
}

// The calls that this visit made.
int visit_with_fault(int at, int error, bool stays) {
  const TemporaryFolder folder;
  Visit visit(folder);
  headlight_faults_begin(folder.path("").c_str(), at, error, stays);
  visit.act();
  const int calls = headlight_faults_seen();
  const std::string failed = headlight_faults_failed();
  headlight_faults_begin("", 0, 0, false);
  INFO("call ", at, " fails with error ", error, std::string(stays ? ", and all behind it" : ""),
       ": ", failed, "\nsaid: ", visit.said());
  check_files(folder.path(""));
  if (visit.saved()) {
    CHECK(read_session(visit.session()).document.sentence == "a b c");
  } else {
    CHECK(visit.said().find("mine.headlight.json") != std::string::npos);
    CHECK_FALSE(fs::exists(visit.session()));
  }
  visit.later();
  // Flushing a folder is only for power cuts; everything else that fails is
  // said, what fails in the background at the next look at it, half a second later.
  const bool flush = failed.starts_with("fsync ") &&
                     (failed.ends_with(".tmp") || failed.find(".headlight-") == failed.npos);
  const bool other_name = failed.ends_with(".lock") && !stays;  // there are more to choose from
  // Runs are saved again and again: what succeeded the next time may be over before it is said.
  const bool again = failed.find(folder.path("data")) != failed.npos && !stays;
  if (at > 0 && !flush && !other_name && !again)
    CHECK(visit.said().find(std::strerror(error)) != std::string::npos);
  const std::string sentence = visit.gui().document().sentence;
  CHECK(is_autosaved(folder, sentence));
  CHECK(read_settings(folders_in(folder).settings).settings.dark);
  visit.end();
  check_files(folder.path(""));
  CHECK(std::distance(fs::directory_iterator(folder.path("data/runs")), fs::directory_iterator()) >
        0);
  return calls;
}

}  // namespace

TEST_CASE("hard: whichever call fails, the window's files are whole, and are there in the end") {
  const int calls = visit_with_fault(0, 0, false);
  REQUIRE(calls > 50);
  const int step = is_long() ? 1 : 7;
  int tried = 0;
  // Folders that could not be made, only then, and were there at the next try.
  for (const int at : {1, 39, 40}) visit_with_fault(at, ENOSPC, false);
  for (int at = 1; at <= calls; at += step) {
    for (int e = 0; e < 4; ++e) {
      if (!is_long() && e != at % 4) continue;
      visit_with_fault(at, kErrors[e], (at + e) % 2 == 0);
      ++tried;
    }
  }
  std::cout << calls << " calls, " << tried << " visits with one that failed" << std::endl;
}

TEST_CASE("hard: folders that somebody removes while the window runs are made again") {
  const TemporaryFolder folder;
  Visit visit(folder);
  visit.act();
  for (const char* name : {"config", "state", "data"}) fs::remove_all(folder.path(name));
  visit.gui().push(DoEdit{SetSentence{"a b c d e"}, ""});
  visit.gui().key({'T', true});
  visit.gui().push(PlayRun{true, 8});
  visit.later();
  CHECK(is_autosaved(folder, visit.gui().document().sentence));
  CHECK_FALSE(read_settings(folders_in(folder).settings).settings.dark);
  // Another window sees that this one still runs.
  CHECK(find_recoverable(folders_in(folder).autosave).recoverable.empty());
  check_files(folder.path(""));
  int runs = 0;
  for (const auto& entry : fs::directory_iterator(folders_in(folder).runs))
    runs += entry.is_directory();
  CHECK(runs == 1);
}

}  // namespace headlight::test
