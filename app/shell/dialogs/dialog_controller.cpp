#include "app/shell/dialogs/dialog_controller.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/document/session_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

// What is asked for: `title` is the text of the question, `endings` of which one is added to a name
// that has none of them.
struct Asked {
  Sheet sheet;
  std::string_view title;
  bool saves = false, folder = false;
  std::string_view filter;
  std::vector<std::string_view> endings, listed;  // listed: endings of the files that are shown
};

const Asked& asked_of(Sheet sheet) {
  static const Asked kAll[] = {
      {Sheet::kOpen, "files.open_which", false, false, "*.json", {}, {".json"}},
      {Sheet::kSave,
       "files.save_where",
       true,
       false,
       "*.headlight.json",
       {".headlight.json", ".json"},
       {".json"}},
      {Sheet::kOpenModel, "files.open_model", false, true, "", {}, {"/"}},
      {Sheet::kFindModel, "files.find_model", false, true, "", {}, {"/"}},
      {Sheet::kTrainFolder, "train.keep_where", true, true, "", {}, {"/"}},
      {Sheet::kTrainText, "train.text_which", false, false, "", {}, {}},
      {Sheet::kMaskFile, "mask.file_which", false, false, "", {}, {".npy", ".csv", ".tsv", ".txt"}},
      {Sheet::kSavePicture, "files.picture_where", true, false, "*.png", {".png"}, {".png"}},
      {Sheet::kSaveNumbers,
       "files.numbers_where",
       true,
       false,
       "",
       {".csv", ".npy", ".npz"},
       {".csv", ".npy", ".npz"}},
      {Sheet::kSaveLab,
       "files.lab_where",
       true,
       false,
       "",
       {".csv", ".json", ".safetensors", ".py", ".png"},
       {".csv", ".json", ".safetensors", ".py", ".png"}},
  };
  return *std::find_if(std::begin(kAll), std::end(kAll),
                       [&](const Asked& a) { return a.sheet == sheet; });
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_model(const std::string& path) { return exists((fs::path(path) / "config.json").string()); }

// "a" is "a.headlight.json".
std::string with_ending(const Asked& asked, std::string path) {
  if (asked.endings.empty() || path.ends_with('/') || is_folder(path)) return path;
  for (const std::string_view ending : asked.endings) {
    if (path.ends_with(ending)) return path;
  }
  return path + std::string(asked.endings.front());
}

std::string start_folder() {
  std::error_code error;
  const std::string here = fs::current_path(error).string();
  if (!error && here.size() > 1) return here;
  const char* home = std::getenv("HOME");
  return home && *home ? home : "/";
}

}  // namespace

std::vector<FileLine> lines_of_folder(const std::string& folder,
                                      const std::vector<std::string_view>& endings) {
  std::vector<FileLine> lines;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with('.')) continue;
    std::error_code ignored;
    const bool is_folder = at->is_directory(ignored);
    const bool model = is_folder && is_model(at->path().string());
    const bool listed = endings.empty() || std::any_of(endings.begin(), endings.end(),
                                                       [&](auto e) { return name.ends_with(e); });
    if (is_folder || listed) lines.push_back({name, is_folder && !model, model});
  }
  std::sort(lines.begin(), lines.end(), [](const FileLine& a, const FileLine& b) {
    return a.folder != b.folder ? a.folder : a.name < b.name;
  });
  return lines;
}

DialogController::DialogController(const Shared& shared, const ShellOptions& options,
                                   DialogSession& session)
    : Controller(shared), options_(options), session_(session) {}

// A name without a folder is one of the listed folder.
std::string DialogController::whole(const std::string& typed) const {
  std::string path = typed;
  const char* home = std::getenv("HOME");
  if (home && (path == "~" || path.starts_with("~/"))) path = home + path.substr(1);
  const fs::path base(session_.path_folder.empty() ? start_folder() : session_.path_folder);
  return (base / path).lexically_normal().string();
}

void DialogController::on(const AskPath& a) {
  if (dialog_.running()) return;  // one question at a time
  session_.path_typed = a.path;
  session_.path_problem = {};
  replaces_.clear();
  const Asked& asked = asked_of(a.sheet);
  const fs::path path(a.path.empty() ? "" : whole(a.path));
  if (path.has_parent_path() && is_folder(path.parent_path().string()))
    session_.path_folder = path.parent_path().string();
  if (session_.path_folder.empty()) session_.path_folder = start_folder();
  DialogWish wish{asked.saves    ? DialogWish::Kind::kSave
                  : asked.folder ? DialogWish::Kind::kOpenFolder
                                 : DialogWish::Kind::kOpenFile,
                  std::string(tr(state_.session.language, asked.title)),
                  a.path.empty() ? session_.path_folder + "/" : path.string(),
                  std::string(asked.filter)};
  if (!options_.dialogs.empty() && dialog_.start(options_.dialogs, wish)) {
    asked_ = a.sheet;
    session_.desktop_dialog = true;
    return;
  }
  show_sheet(a.sheet);
}

void DialogController::show_sheet(Sheet sheet) {
  session_.path_sheet = sheet;
  list(session_.path_folder);
}

// A folder on a slow disk must not stop the window.
void DialogController::list(const std::string& folder) {
  session_.path_folder = folder;
  session_.path_lines.clear();
  const std::vector<std::string_view>& endings = asked_of(session_.path_sheet).listed;
  if (!options_.background) {
    session_.path_lines = lines_of_folder(folder, endings);
  } else {
    listing_ = std::async(std::launch::async,
                          [folder, &endings] { return lines_of_folder(folder, endings); });
  }
}

bool DialogController::poll() {
  bool changed = false;
  const bool listed =
      listing_.valid() && listing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  if (listed) {
    session_.path_lines = listing_.get();
    changed = true;
  }
  std::optional<DialogAnswer> answer = dialog_.poll();
  if (!answer) return changed;
  session_.desktop_dialog = false;
  if (answer->failed) {
    show_sheet(asked_);
  } else if (!answer->path.empty()) {
    session_.path_sheet = asked_;
    replaces_ = with_ending(asked_of(asked_), answer->path);  // the desktop has asked
    on(TakePath{answer->path});
    if (session_.path_sheet != Sheet::kNone && session_.path_lines.empty())
      list(session_.path_folder);
  }
  return true;
}

// Pasted paths often bring a line's end along.
void DialogController::on(const TypePath& a) {
  session_.path_typed = a.text;
  session_.path_problem = {};
  std::erase_if(session_.path_typed, [](char c) { return c == '\n' || c == '\r'; });
}

void DialogController::on(const ClosePath&) {
  session_.path_sheet = Sheet::kNone;
  session_.path_lines.clear();
}

void DialogController::on(const ListFolder& a) {
  if (session_.path_sheet == Sheet::kNone) return;
  session_.path_problem = {};
  const bool saves = asked_of(session_.path_sheet).saves;
  std::string folder = whole(a.folder);
  if (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  list(folder);
  if (!saves) session_.path_typed.clear();
}

Message DialogController::problem_with(const std::string& path) const {
  const Asked& asked = asked_of(session_.path_sheet);
  const auto say = [&](std::string_view id) {
    return Message{std::string(id), {{"path", shortened(path, 200)}}};
  };
  if (asked.saves) {
    const fs::path parent = fs::path(path).parent_path();
    if (!is_folder(parent.string()))
      return Message{"files.no_folder", {{"path", shortened(parent.string(), 200)}}};
    const std::string& written = exists(path) ? path : parent.string();
    if (access(written.c_str(), W_OK) != 0) return say("files.not_writable");
    if (asked.folder && exists(path) && !is_folder(path)) return say("files.is_file");
    const bool asks_by_itself = asked.folder || asked.sheet == Sheet::kSave;
    if (!asks_by_itself && exists(path) && path != replaces_) return say("files.replace");
    return {};
  }
  if (!exists(path)) return say("files.not_there");
  if (access(path.c_str(), R_OK) != 0) return say("files.not_readable");
  if (asked.folder) return is_model(path) ? Message{} : say("files.no_model");
  if (asked.sheet != Sheet::kOpen || is_model(path)) return {};
  try {
    (void)read_session(path);
    return {};
  } catch (const Error& error) {
    return error.message();
  }
}

void DialogController::on(const TakePath& a) {
  if (session_.path_sheet == Sheet::kNone) return;
  const Asked& asked = asked_of(session_.path_sheet);
  const std::string& typed = a.path.empty() ? session_.path_typed : a.path;
  if (typed.empty()) return;
  const std::string path = with_ending(asked, whole(typed));
  // A folder is gone into, unless it is what was asked for.
  const bool wanted = asked.folder ? asked.saves || is_model(path) : is_model(path) && !asked.saves;
  if (is_folder(path) && !wanted) return on(ListFolder{path});
  session_.path_problem = problem_with(path);
  if (session_.path_problem.id == "files.replace") replaces_ = path;
  if (session_.path_problem.empty()) use(path);
}

void DialogController::use(const std::string& path) {
  const Sheet sheet = session_.path_sheet;
  on(ClosePath{});
  if (sheet == Sheet::kOpen) return perform(OpenFile{path});
  if (sheet == Sheet::kSave) return perform(SaveFile{path});
  if (sheet == Sheet::kOpenModel) return perform(ChooseModel{path});
  if (sheet == Sheet::kFindModel) return perform(FindModel{path});
  if (sheet == Sheet::kTrainFolder) return perform(KeepRun{path, state_.session.train.keep});
  if (sheet == Sheet::kMaskFile) return perform(UseMaskFile{path});
  if (sheet == Sheet::kTrainText) return perform(UseText{path, {}});
  perform(WriteExport{path});
}

}  // namespace headlight
