// SessionSave: a session whose weights are nowhere else is saved with them: NAME.headlight.json,
// and beside it the folder NAME.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "core/document/session_file.h"
#include "core/model/model.h"

namespace headlight {

/// One save, asked for on one thread and carried out on another.
struct SessionSave {
  std::string path;
  Document document;
  std::shared_ptr<const Model> model;  // whose weights they are
  std::string kept;                    // the folder where they lie already; empty: nowhere yet

  // What came of it, once `done`.
  std::atomic<bool> done{false};
  std::string text, folder;  // of the session file; of the weights
  SessionWeights weights;
  Message problem;  // empty: all is there. Else nothing has changed on the disk
};

/// Writes the weights, then the session that names their folder. Another model's folder is never
/// written over, only what an older save of the same session has put there. Never throws.
void carry_out(SessionSave&);

/// "/home/me/first.headlight.json" -> "/home/me/first".
std::string weights_folder(const std::string& session_path);

}  // namespace headlight
