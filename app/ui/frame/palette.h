// What the command palette offers: every command, recent file, step, model, setting and example
// sentence, found by a few letters of its name in any of the languages.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/state/actions.h"

namespace headlight {

struct PaletteLine {
  std::string id;      // stable: "file/save", "step/blocks.0.attn.q", "model/grammar", "recent/0"
  std::string label;   // in the person's language
  std::string detail;  // the key, the folder; may be empty
  Action action;
  bool enabled = true;
};

/// What can be set besides the choices that have lines of their own: the control that it is set
/// with, its name, where it stands.
struct SettingInfo {
  std::string_view control, text, place;  // the last two by their text ids
};
std::span<const SettingInfo> all_settings();

/// How well `query` fits `text`, without regard to case: every word of it must be found, at best as
/// the beginning of a word, at least letter by letter in order. 0: it does not fit; an empty query
/// fits everything with 1.
int match_score(std::string_view query, std::string_view text);

/// The lines that fit what has been typed, best first.
std::vector<PaletteLine> palette_lines(const AppState&);

}  // namespace headlight
