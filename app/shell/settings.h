// Settings: what the window remembers from one start to the next, in a readable JSON file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/state/state.h"

namespace headlight {

struct Settings {
  int width = 1440, height = 900;  // of the window while it is not maximised
  bool maximized = false;
  float zoom = 1;  // scale of everything, times the screen's own
  bool dark = false;
  Language language = Language::kEnglish;
  PanelSizes sizes;
  std::optional<bool> rail_open, heads_open, inspector_open;
  RangeMode range = RangeMode::kShared;
  Vision vision = Vision::kFull;
  float speed = 1;
  ComputeRequest compute = ComputeRequest::kAutomatic;
  bool hints_seen = false;
  std::vector<std::string> recent;       // session files, newest first
  std::vector<std::string> kept_models;  // folders of models that were kept or opened, newest first
  std::vector<std::string> kept_runs;    // saved when a window was closed; told at the next start
  std::string other;                     // keys that this version does not know, as a JSON object

  bool operator==(const Settings&) const = default;
};

inline constexpr std::size_t kMaxRecent = 10;

/// The text of a settings file; keys of `other` are kept.
std::string settings_text(const Settings&);

/// What could be read. `problem` says what could not, with the key; the rest is as it was set.
struct SettingsRead {
  Settings settings;
  Message problem;
  std::string not_copied;  // why there is no copy of what could not be read
  bool exists = true;      // false: the very first start
};
SettingsRead parse_settings(std::string_view text);
/// Never throws. A file that is broken is copied to PATH.broken first, so that nothing is lost when
/// it is written again; where that cannot be, `not_copied` says why.
SettingsRead read_settings(const std::string& path);

/// `stored` with everything that differs between `before` and `now` taken from `now`: what the
/// command line set for one start alone is not remembered.
Settings merge_changes(Settings stored, const Settings& before, const Settings& now);

/// Writes the file as it is now with what differs between `before` and `now`; where it cannot be
/// read, `otherwise` with that; what can be neither read nor copied stays as it is. Windows that do
/// so at the same moment wait for one another, so that none takes back what another one changes.
/// Throws Error.
void keep_changes(const std::string& path, const Settings& otherwise, const Settings& before,
                  const Settings& now);

/// Puts a path in front, without doubles, at most kMaxRecent.
std::vector<std::string> with_recent(std::vector<std::string> recent, const std::string& path);

/// Where the window may keep things; "" where it may not (no home folder).
struct UserFolders {
  std::string settings;  // a file
  std::string autosave;  // a folder
  std::string runs;      // a folder: what was being trained when a window was closed
  bool empty() const { return settings.empty() && autosave.empty(); }
};
/// By the XDG Base Directory Specification: $XDG_CONFIG_HOME/headlight/settings.json and
/// $XDG_STATE_HOME/headlight/autosave, $XDG_DATA_HOME/headlight/runs; relative values count as
/// unset.
UserFolders user_folders();

}  // namespace headlight
