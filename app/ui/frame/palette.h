// What the command palette offers: every command, recent file and step, found by a few letters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/ui/state/actions.h"

namespace headlight {

struct PaletteLine {
  std::string id;      // stable: "file/save", "step/blocks.0.attn.q", "recent/0"
  std::string label;   // in the person's language
  std::string detail;  // the key, the folder; may be empty
  Action action;
  bool enabled = true;
};

/// How well `query` fits `text`, without regard to case: every word of it must be found, at best as
/// the beginning of a word, at least letter by letter in order. 0: it does not fit; an empty query
/// fits everything with 1.
int match_score(std::string_view query, std::string_view text);

/// The lines that fit what has been typed, best first.
std::vector<PaletteLine> palette_lines(const AppState&);

}  // namespace headlight
