// Files: sessions that are opened and saved, the questions before work is lost, what is dropped on
// the window.
#pragma once

#include <future>
#include <memory>

#include "app/shell/controllers/document_controller.h"
#include "app/shell/session_saver.h"
#include "app/shell/settings.h"
#include "app/workers/background_writer.h"

namespace headlight {

class FilesController : public Controller {
 public:
  /// `folders.settings`: the file whose recent sessions other windows add to; `writer` writes it.
  FilesController(const Shared&, DocumentController&, FilesSession&, std::string& session_path,
                  const UserFolders& folders, BackgroundWriter& writer);

  void restore(const Settings& stored) { session_.recent = stored.recent; }
  /// The file that the document came from, or that Ctrl+S will make.
  void set_session_path(const std::string& path);
  /// Opens the file when it exists; a notice says what went wrong. The document is then unchanged.
  void open(const std::string& path);
  /// False when it was not saved: a notice says why, a question is asked first, or its weights are
  /// being written.
  bool save(const std::string& path);
  /// Is a session being written in the background?
  bool is_saving() const { return saving_ != nullptr; }
  /// Is a file being read in the background?
  bool is_reading() const { return reading_mask_.valid(); }
  void wait_for_mask() {
    if (reading_mask_.valid()) reading_mask_.wait();
  }
  /// Takes in what was written; true when something changed.
  bool poll();
  /// After a run: are the weights those that the session was saved with?
  void check_weights();
  /// The document's weights are nowhere: shows random ones, and asks for the folder.
  void find_missing();
  /// The session file's contents as last read or written here (content_mark()).
  std::uint64_t file_mark() const { return file_mark_; }
  /// The document is unsaved work that belongs to this file, known by this mark.
  void belong_to(const std::string& path, std::uint64_t mark);
  void ask(Question question) { session_.question = std::move(question); }

  void on(const OpenFile&);
  void on(const SaveFile&);
  void on(const AnswerQuestion&);
  void on(const DropFiles&);
  void on(const FindModel&);
  void on(const UseMaskFile&);
  void on(const Ask& a) { ask(a.question); }
  void on(const EndWindow&) { session_.quit = true; }
  void on(Is<kNew>) { leave(Leaving::kNew); }
  void on(Is<kOpen>) { perform(AskPath{Sheet::kOpen, session_path_}); }
  void on(Is<kOpenModel>);
  void on(Is<kMaskFile>) { perform(AskPath{Sheet::kMaskFile, ""}); }
  void on(Is<kSave>);
  void on(Is<kSaveAs>);
  void on(Is<kQuit>) { leave(Leaving::kQuit); }

 private:
  void leave(Leaving, const std::string& path = {});
  void finish_leaving(Leaving, const std::string& path);
  void answer_leave(const Question&, Answer);
  void answer_overwrite(const Question&, Answer);
  void ask_path_to_save();
  void answer_find(const Question&, Answer);
  void ask_find(Asking, const std::string& folder);
  void show_found(const std::string& model);
  bool write(const std::string& path);
  bool write_with_weights(const std::string& path);
  bool finish_save();
  bool take_mask();
  std::string kept_folder() const;
  SessionWeights known_weights(const std::string& path) const;
  void remember_recent(const std::string& path);
  void replace_document(Document, const std::string& path);

  DocumentController& document_;
  FilesSession& session_;
  std::string& session_path_;
  const std::string settings_, runs_;
  BackgroundWriter& writer_;
  std::uint64_t file_mark_ = 0;
  // What the session that was opened or saved last said of the weights of this model.
  SessionWeights weights_;
  std::string weights_of_;
  bool checked_ = false;
  // A session whose weights are looked for: it is opened once they are found, or is open already.
  struct Finding {
    std::string path;
    SessionFile file;
    bool open = false;
  };
  std::optional<Finding> finding_;
  std::shared_ptr<SessionSave> saving_;
  // A mask that is read from a file, or why it cannot be.
  struct ReadMask {
    AddedMask mask;
    Message problem;
  };
  std::future<ReadMask> reading_mask_;
  // The departure that goes on once the path sheet has led to a saved file.
  Leaving leave_after_save_ = Leaving::kNone;
  std::string leave_after_save_path_;
};

}  // namespace headlight
