// The two ways in which an encoder-decoder reads its own row: the row that it is given, token by
// token, whatever it said itself (teacher forcing; Williams & Zipser 1989), and the row that it
// writes, each token of which is what it said before (free running).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/model/model.h"
#include "core/run/trace.h"

namespace headlight {

/// The likeliest token behind a place, the first of equal ones.
struct SaidToken {
  int id = 0;
  float probability = 0;
};

struct ForcedAndFree {
  std::vector<int> read;        // the trace's row, from [BOS] on
  std::vector<SaidToken> said;  // behind each place of it
  // What the model writes by itself, from [BOS] on, without [EOS]. Empty: there is no room for it.
  std::vector<int> own;
  bool own_ends = false;  // by [EOS], before there was no more room
  bool forced = false;    // `read` was given, and is not what the model wrote
  /// Of the tokens that were given, how many the place before them said.
  std::size_t right = 0, asked = 0;
  /// The place from which on `own` is another row than `read`. Unset: as far as `read` goes, both
  /// are the same.
  std::optional<std::size_t> parts;
};

/// Is the token at this place of the row set by the model's settings, whatever is said before it?
bool is_set(const Model&, std::span<const int> row, std::size_t i);

/// `own`: RunResult::own_row. Unset for a trace that is not of this model's own row (no
/// encoder-decoder, or a row that is not there).
std::optional<ForcedAndFree> forced_and_free(const Trace&, const Model&, std::span<const int> own,
                                             bool own_ends, bool forced);

}  // namespace headlight
