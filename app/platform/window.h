// The real window: GLFW, OpenGL and input around a Shell.
#pragma once

#include <optional>
#include <string>

#include "app/shell/settings.h"
#include "core/base/texts.h"
#include "core/document/document.h"
#include "core/run/runner.h"
#include "core/train/heads/head_claims.h"

namespace headlight {

struct WindowOptions {
  std::string session_path;
  std::optional<HeadClaim> look_at;  // the cell that is shown first; none: as the shell chooses
  std::optional<Message> problem;    // to be said at once
  // What is not given is as it was the last time.
  std::optional<std::string> size;  // "1440x900"
  std::optional<float> scale;       // 0: the screen's own
  std::optional<bool> dark;
  std::optional<Language> language;
  UserFolders folders;  // where settings and unsaved work are kept; empty: nowhere
  int frames = 0;       // > 0: close after so many and report (for measuring)
  RunLimits limits;
  std::string backend = "cpu";  // of the processor
  ComputeMode compute = ComputeMode::kCpu;
  int threads = 2;
};

/// Opens the window and runs it until it is closed; returns the exit status. Throws Error when
/// there is no display or no OpenGL 3.3.
int run_window(const Document&, const WindowOptions&);

/// What the environment says, as other programs read it.
Language language_of_machine();

bool path_exists(const std::string&);

}  // namespace headlight
