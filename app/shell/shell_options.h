// What a shell is made with.
#pragma once

#include <string>
#include <vector>

#include "app/shell/settings.h"
#include "app/workers/trace_worker.h"

namespace headlight {

struct ShellOptions {
  RunLimits limits;
  int threads = 2;
  int train_threads = 2;
  std::string backend = "cpu";
  BackendMaker make_backend = nullptr;           // null: the backend of that name
  Language first_language = Language::kEnglish;  // of a first start, without stored settings
  bool background = true;  // large runs go to another thread; off: everything at once, for pictures
  ComputeMode compute = ComputeMode::kCpu;  // to begin with
  GpuMaker make_gpu;                        // null: one without a window
  std::vector<std::string> dialogs;  // programs that ask for files (desktop_dialog.h), the first
                                     // that there is; none: a list of our own
  std::string program;               // headlight itself, which draws pictures of labs; empty: none
  UserFolders folders;               // where settings and unsaved work are kept; empty: nowhere
};

}  // namespace headlight
