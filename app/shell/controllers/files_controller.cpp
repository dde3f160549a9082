#include "app/shell/controllers/files_controller.h"

#include <chrono>
#include <filesystem>

#include "app/shell/autosave.h"
#include "app/shell/dropped_file.h"
#include "core/base/error.h"
#include "core/document/session_file.h"
#include "core/graph/masks/number_file.h"
#include "core/io/atomic_file.h"
#include "core/train/model_recipe.h"

namespace headlight {
namespace {

std::string file_name(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name.empty() ? path : name;
}

std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return error ? path : whole.lexically_normal().string();
}

// Are the weights of this model (its ref, core/model/model.h) not there? A run's are in memory
// alone: what a file calls so is gone.
bool is_missing(const std::string& model) {
  if (model == kRunRef) return true;
  if (model.empty() || model.starts_with(kBundledRef)) return false;
  std::error_code ignored;
  return !std::filesystem::exists(std::filesystem::path(model) / "config.json", ignored);
}

}  // namespace

FilesController::FilesController(const Shared& shared, DocumentController& document,
                                 FilesSession& session, std::string& session_path,
                                 const UserFolders& folders, BackgroundWriter& writer)
    : Controller(shared),
      document_(document),
      session_(session),
      session_path_(session_path),
      settings_(folders.settings),
      runs_(folders.runs),
      writer_(writer) {}

void FilesController::on(Is<kOpenModel>) {
  const std::string& model = state_.document().model;
  perform(AskPath{Sheet::kOpenModel, model.starts_with('/') ? model : ""});
}

void FilesController::on(Is<kSave>) {
  leave_after_save_ = Leaving::kNone;
  if (session_path_.empty()) return ask_path_to_save();
  save(session_path_);
}

void FilesController::on(Is<kSaveAs>) {
  leave_after_save_ = Leaving::kNone;
  ask_path_to_save();
}

void FilesController::ask_path_to_save() {
  perform(AskPath{Sheet::kSave, session_path_.empty() ? "untitled.headlight.json" : session_path_});
}

// ---- leaving the document: quit, new, open ----

void FilesController::leave(Leaving what, const std::string& path) {
  if (state_.history.is_saved()) return finish_leaving(what, path);
  Question& q = session_.question;
  q = {};
  q.asking = Asking::kLeave;
  q.leaving = what;
  q.leaving_path = path;
}

void FilesController::finish_leaving(Leaving what, const std::string& path) {
  leave_after_save_ = Leaving::kNone;
  switch (what) {
    case Leaving::kQuit:
      return perform(LeaveWindow{});
    case Leaving::kNew:
      return replace_document(Document{}, "");
    case Leaving::kOpen:
      return open(path);
    case Leaving::kNone:
      return;
  }
}

void FilesController::on(const AnswerQuestion& a) {
  const Question question = std::exchange(session_.question, {});
  if (question.asking == Asking::kLeave) answer_leave(question, a.answer);
  if (question.asking == Asking::kOverwrite) answer_overwrite(question, a.answer);
  if (question.asking == Asking::kRecover) perform(AnswerRecovery{a.answer});
  if (question.asking == Asking::kFind || question.asking == Asking::kChanged)
    answer_find(question, a.answer);
  if (question.asking == Asking::kNotKept) perform(AnswerNotKept{a.answer});
  if (question.asking == Asking::kRemove)
    a.answer == Answer::kFirst ? perform(RemoveRun{question.path})
                               : perform(DoCommand{Command::kRuns});
}

// Save, don't save, cancel.
void FilesController::answer_leave(const Question& q, Answer answer) {
  if (answer == Answer::kCancel) return;
  if (answer == Answer::kSecond) return finish_leaving(q.leaving, q.leaving_path);
  leave_after_save_ = q.leaving;
  leave_after_save_path_ = q.leaving_path;
  if (session_path_.empty()) return ask_path_to_save();
  // Whatever keeps it from being saved also keeps the document.
  if (save(session_path_)) finish_leaving(q.leaving, q.leaving_path);
}

// Save as, overwrite, cancel.
void FilesController::answer_overwrite(const Question& q, Answer answer) {
  leave_after_save_ = q.leaving;
  leave_after_save_path_ = q.leaving_path;
  if (answer == Answer::kFirst) {
    perform(AskPath{Sheet::kSave, q.path});
  } else if (answer == Answer::kSecond) {
    if (write(q.path)) finish_leaving(q.leaving, q.leaving_path);
  } else {
    leave_after_save_ = Leaving::kNone;
  }
}

// ---- weights that a session names ----

// Find, random weights (or: use them), cancel.
void FilesController::answer_find(const Question& q, Answer answer) {
  if (answer == Answer::kFirst) return perform(AskPath{Sheet::kFindModel, q.path});
  if (q.asking == Asking::kFind && answer == Answer::kSecond) return show_found("");
  finding_.reset();
  // At the start there is no document to stay with.
  const std::string& model = state_.history.now().model;
  if (is_missing(model) && !(model == kRunRef && state_.derived.run_model))
    document_.edit(choose_sandbox(state_.history.now()));
}

void FilesController::ask_find(Asking asking, const std::string& folder) {
  Question& q = session_.question;
  q = {};
  q.asking = asking;
  q.path = folder == kRunRef ? "" : folder;
}

void FilesController::on(const FindModel& a) {
  if (!finding_) return perform(ChooseModel{a.folder});
  const std::string folder = absolute(a.folder);
  if (!is_missing(folder)) return show_found(folder);
  notify(NoticeKind::kError, Message{"files.no_model", {{"path", a.folder}}});
  ask_find(Asking::kFind, folder);
}

// The session as it was saved, with these weights; undo goes back to what it names.
void FilesController::show_found(const std::string& model) {
  if (!finding_) return;
  const Finding found = *std::exchange(finding_, std::nullopt);
  Document document = found.file.document;
  if (!found.open) replace_document(document, found.path);
  if (!found.path.empty()) remember_recent(found.path);
  document.model = model;
  if (model.empty()) document = headlight::apply(document, choose_sandbox(document));
  document_.edit(SetDocument{document});
  weights_ = found.file.weights;
  weights_of_ = model;
  checked_ = model.empty();
}

void FilesController::find_missing() {
  const Document now = state_.history.now();
  if (!is_missing(now.model)) return;
  finding_ = Finding{session_path_, {now}, true};
  document_.edit(choose_sandbox(now));
  ask_find(Asking::kFind, now.model);
}

void FilesController::check_weights() {
  const auto& model = state_.derived.model;
  if (checked_ || !model || model->ref != weights_of_) return;
  if (state_.document().model != weights_of_) return;
  checked_ = true;
  if (weights_.mark == 0 || model->mark == 0 || weights_.mark == model->mark) return;
  if (session_.question.asking != Asking::kNothing) return;
  finding_ = Finding{session_path_, {state_.history.now(), weights_}, true};
  ask_find(Asking::kChanged, weights_of_);
}

// What is to be written of a folder's weights.
SessionWeights FilesController::known_weights(const std::string& path) const {
  const std::string& ref = state_.history.now().model;
  const auto& model = state_.derived.model;
  SessionWeights weights;
  if (ref.empty() || ref.starts_with(kBundledRef)) return weights;
  if (ref == weights_of_) weights = weights_;
  if (path != session_path_ || !ref.starts_with(weights_folder(path))) weights.own = false;
  if (model && model->ref == ref) weights.mark = model->mark;
  return weights;
}

// ---- files ----

void FilesController::on(const OpenFile& a) {
  std::error_code ignored;
  if (std::filesystem::is_directory(a.path, ignored)) return perform(ChooseModel{a.path});
  if (state_.history.is_saved()) return open(a.path);
  try {
    read_session(a.path);  // what cannot be opened needs no question
    leave(Leaving::kOpen, a.path);
  } catch (const Error& error) {
    notify(NoticeKind::kError, error.message());
  }
}

void FilesController::on(const SaveFile& a) {
  const Leaving what = leave_after_save_;
  const std::string path = leave_after_save_path_;
  if (save(a.path)) finish_leaving(what, path);
}

void FilesController::replace_document(Document document, const std::string& path) {
  document_.replace(std::move(document));
  belong_to(path, path.empty() ? 0 : content_mark(path));
  weights_ = {};
  weights_of_.clear();
}

void FilesController::belong_to(const std::string& path, std::uint64_t mark) {
  session_path_ = path;
  file_mark_ = mark;
}

void FilesController::set_session_path(const std::string& path) {
  belong_to(path, content_mark(path));
  if (file_mark_ == 0) return;
  remember_recent(path);
  try {
    SessionFile file = read_session(path);
    weights_ = file.weights;
    weights_of_ = file.document.model;
    const bool missing = is_missing(weights_of_) && state_.history.now().model == weights_of_;
    if (!missing) return;
    ask_find(Asking::kFind, weights_of_);
    finding_ = Finding{path, std::move(file)};
  } catch (const Error&) {
    // Said when it was read.
  }
}

void FilesController::open(const std::string& path) {
  try {
    SessionFile file = read_session(path);
    if (is_missing(file.document.model)) {
      ask_find(Asking::kFind, file.document.model);
      finding_ = Finding{path, std::move(file)};
      return;
    }
    const std::string model = file.document.model;
    replace_document(std::move(file.document), path);
    weights_ = file.weights;
    weights_of_ = model;
    checked_ = false;
    remember_recent(path);
    for (const Message& note : file.notes) notify(NoticeKind::kWarning, note);
  } catch (const Error& error) {
    notify(NoticeKind::kError, error.message());
    // A recent file that is gone is not offered again.
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) std::erase(session_.recent, absolute(path));
  }
}

bool FilesController::save(const std::string& path) {
  // What someone else has put there since is not overwritten unasked.
  const bool known = path == session_path_ && file_mark_ != 0;
  const std::uint64_t on_disk = content_mark(path);
  if (on_disk == 0 || (known && on_disk == file_mark_)) return write(path);
  Question& q = session_.question;
  q = {};
  q.asking = Asking::kOverwrite;
  q.path = path;
  q.known = known;
  q.leaving = leave_after_save_;
  q.leaving_path = leave_after_save_path_;
  return false;
}

bool FilesController::write(const std::string& path) {
  const Document& document = state_.history.now();
  // What a window has put aside of a run is not there for ever.
  const bool passing = !runs_.empty() && document.model.starts_with(runs_ + "/");
  const auto& loaded = state_.derived.model;
  if (document.model == kRunRef || (passing && loaded && loaded->ref == document.model))
    return write_with_weights(path);
  try {
    const SessionWeights weights = known_weights(path);
    const std::string text = session_text(document, weights, folder_of(path));
    write_file_atomic(path, text);
    belong_to(path, content_mark_of(text));
    document_.mark_saved(document);
    weights_ = weights;
    weights_of_ = document.model;
    checked_ = true;
    remember_recent(path);
    notify(NoticeKind::kInfo, Message{"files.saved", {{"path", path}}});
    return true;
  } catch (const Error& error) {
    leave_after_save_ = Leaving::kNone;
    notify(NoticeKind::kError, Message{"notice.not_saved"}.with(error.message()));
    return false;
  }
}

// The folder where the weights that are shown were kept by hand, as of this very step.
std::string FilesController::kept_folder() const {
  const RunView& run = state_.train.run;
  const SaveReport& save = run.status.save;
  const bool same =
      save.run == run.status.run && save.step == shown_step(state_.session.train, run);
  const bool kept = same && save.count > 0 && save.problem.empty();
  return kept && state_.history.now().model == kRunRef ? absolute(save.folder) : "";
}

// In the background: true when it is done already.
bool FilesController::write_with_weights(const std::string& path) {
  if (saving_) return false;  // and what was asked for after the one before still comes
  const Document& document = state_.history.now();
  const auto& model = document.model == kRunRef ? state_.derived.run_model : state_.derived.model;
  if (!model) {
    leave_after_save_ = Leaving::kNone;
    notify(NoticeKind::kError, Message{"notice.not_saved"}.with(Message{"model.run_gone"}));
    return false;
  }
  saving_ = std::make_shared<SessionSave>();
  saving_->path = path;
  saving_->document = document;
  saving_->model = model;
  saving_->kept = kept_folder();
  writer_.carry_out(path, [save = saving_] { headlight::carry_out(*save); });
  return saving_->done && finish_save();
}

bool FilesController::finish_save() {
  const std::shared_ptr<SessionSave> save = std::exchange(saving_, nullptr);
  if (!save->problem.empty()) {
    leave_after_save_ = Leaving::kNone;
    notify(NoticeKind::kError, Message{"notice.not_saved"}.with(save->problem));
    return false;
  }
  belong_to(save->path, content_mark_of(save->text));
  document_.mark_saved(save->document);
  weights_ = save->weights;
  weights_of_ = save->folder;
  checked_ = true;
  remember_recent(save->path);
  notify(NoticeKind::kInfo,
         Message{"files.saved_model", {{"path", save->path}, {"folder", save->folder}}});
  return true;
}

// A large one takes longer than a frame. One at a time: the first that was asked for.
void FilesController::on(const UseMaskFile& a) {
  if (reading_mask_.valid()) return;
  reading_mask_ = std::async(std::launch::async, [path = a.path]() -> ReadMask {
    try {
      return {added_mask(read_number_file(path)), {}};
    } catch (const Error& error) {
      return {{}, error.message()};
    }
  });
  if (writer_.in_background()) return;
  reading_mask_.wait();
  take_mask();
}

bool FilesController::take_mask() {
  using namespace std::chrono_literals;
  if (!reading_mask_.valid() || reading_mask_.wait_for(0s) != std::future_status::ready)
    return false;
  ReadMask read = reading_mask_.get();
  if (!read.problem.empty()) {
    notify(NoticeKind::kError, read.problem);
    return true;
  }
  MaskSpec mask = state_.document().config.mask;
  mask.added = std::move(read.mask);
  document_.edit(SetMask{std::move(mask)});
  return true;
}

bool FilesController::poll() {
  const bool masked = take_mask();
  if (!saving_ || !saving_->done) return masked;
  const Leaving what = leave_after_save_;
  const std::string path = leave_after_save_path_;
  if (finish_save()) finish_leaving(what, path);
  return true;
}

void FilesController::remember_recent(const std::string& path) {
  // Another window may have added to the list.
  if (!settings_.empty() && writer_.idle()) {
    const SettingsRead read = read_settings(settings_);
    if (read.exists && read.problem.empty()) session_.recent = read.settings.recent;
  }
  session_.recent = with_recent(std::move(session_.recent), absolute(path));
}

// ---- what is dropped on the window ----

void FilesController::on(const DropFiles& a) {
  if (a.paths.empty()) return;
  const std::string& path = a.paths.front();
  const auto say = [&](NoticeKind kind, std::string_view id) {
    notify(kind, Message{std::string(id),
                         {{"file", file_name(path)}, {"n", std::to_string(a.paths.size())}}});
  };
  if (session_.question.asking != Asking::kNothing) {
    return say(NoticeKind::kWarning, "drop.answer_first");
  }
  if (a.paths.size() > 1) say(NoticeKind::kWarning, "drop.only_first");
  if (const std::filesystem::path model = dropped_model(path); !model.empty())
    return perform(ChooseModel{model.string()});
  if (state_.session.mode == Mode::kTrain) return perform(DropText{path});
  DroppedFile dropped = read_dropped(path);
  if (dropped.kind == DroppedFile::Kind::kSession) return on(OpenFile{path});
  if (dropped.kind == DroppedFile::Kind::kNothing) return say(NoticeKind::kError, dropped.problem);
  document_.edit(SetSentence{std::move(dropped.text)});
  say(NoticeKind::kInfo, "drop.is_sentence");
}

}  // namespace headlight
