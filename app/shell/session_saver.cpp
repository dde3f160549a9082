#include "app/shell/session_saver.h"

#include <filesystem>

#include "core/base/error.h"
#include "core/base/mailbox.h"
#include "core/io/atomic_file.h"
#include "core/train/run_checkpoint.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSessionEnding = ".headlight.json";
constexpr int kMostNames = 1000;

// The folder that the session on the disk has brought its weights in; "" where there is none.
std::string own_folder(const std::string& path) {
  try {
    const SessionFile old = read_session(path);
    // A copy of the file under another name leaves alone what belongs to the first one.
    const bool named = old.document.model.starts_with(weights_folder(path));
    if (old.weights.own && named) return old.document.model;
  } catch (const Error&) {
    // There is no session yet.
  }
  return "";
}

std::string free_folder(const std::string& path) {
  const std::string own = own_folder(path), name = weights_folder(path);
  if (!own.empty()) return own;
  std::error_code ignored;
  for (int n = 1; n < kMostNames; ++n) {
    const std::string folder = n == 1 ? name : name + "-" + std::to_string(n);
    if (!fs::exists(fs::symlink_status(folder, ignored))) return folder;
  }
  return name;  // saving says what is wrong
}

void write_both(SessionSave& save) {
  std::error_code ignored;
  save.weights.own = save.kept.empty() || !fs::exists(fs::path(save.kept) / "config.json", ignored);
  save.folder = save.weights.own ? free_folder(save.path) : save.kept;
  const bool fresh = save.weights.own && !fs::exists(save.folder, ignored);
  if (save.weights.own) checkpoint_of(*save.model).save(save.folder);
  save.weights.mark = weights_mark(save.model->weights);
  Document document = save.document;
  document.model = save.folder;
  save.text = session_text(document, save.weights, folder_of(save.path));
  try {
    write_file_atomic(save.path, save.text);
  } catch (...) {
    if (fresh) fs::remove_all(save.folder, ignored);
    throw;
  }
}

}  // namespace

std::string weights_folder(const std::string& path) {
  const std::string whole =
      (fs::path(folder_of(path)) / fs::path(path).filename()).lexically_normal().string();
  return whole.ends_with(kSessionEnding) ? whole.substr(0, whole.size() - kSessionEnding.size())
                                         : whole + ".model";
}

void carry_out(SessionSave& save) {
  try {
    write_both(save);
  } catch (...) {
    save.problem = caught_problem();
  }
  save.done = true;
}

}  // namespace headlight
