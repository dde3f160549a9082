// A run of a row that begins as an earlier one did: the rows of the tokens that they share are
// taken over, and those behind are computed ("keys and values are kept", and everything else too).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/backends/backend.h"
#include "core/run/large/kept_tensors.h"
#include "core/run/trace.h"

namespace headlight {

/// Does this mask show no query of a text of so many tokens what stands behind it?
bool looks_back_only(const MaskSpec&, int tokens);

/// Do the rows of a token depend on it and on the tokens before it alone (and, in the decoder of an
/// encoder-decoder, on the source)? True of programs that go on with a row, whose mask shows no
/// query what stands behind it; not with memory or gradients.
bool looks_back_only(const Program&);

/// Floating-point operations of the calls that take a token's rows one by one.
double row_work(const Program&);

/// How the rows behind others are computed.
struct RowsBehind {
  /// Of a call: it is not run, for what it makes is there or is not asked for; it makes all rows,
  /// or those behind alone (calls_by_rows()).
  enum class Makes { kNothing, kAll, kLast };
  std::vector<Makes> calls;  // by call
  /// By TensorId: do its rows before those lie in its memory, too? Where the last ones alone are
  /// made, they lie at its start if not.
  std::vector<bool> keeps;

  RowsBehind() = default;
  /// Of a run of which all tensors stay; or those that `stays` says.
  explicit RowsBehind(const Program&, const KeptTensors* stays = nullptr);
  /// Of a run of which nothing stays but the rows that are read as a whole later; of one that does
  /// not look back only all rows are made.
  static RowsBehind of_rows_read_whole(const Program&);
};

/// Puts the first `kept` rows of whatever has to have them before run_grown() into `memory`, from
/// where `from` says they lie: in a run of the same program, of another number of positions. An old
/// row of a pattern looks at no new token, and at none that is gone.
void take_first_rows(const Program& before, const std::function<const float*(TensorId)>& from,
                     std::int64_t kept, const Program&, std::span<float* const> memory,
                     const RowsBehind&);

/// Runs the program whose inputs lie in `memory`, with the first `kept` rows that
/// take_first_rows() puts there: at least 1, and fewer than there are. What has a row for each
/// token, as linear maps, norms and attention have, is computed for the others alone; the rest as
/// ever. Rows are as those of a whole run to a few units in the last place.
void run_grown(const Program&, std::span<float* const> memory, std::int64_t kept, Backend&,
               const RowsBehind&);

/// Both, behind a run whose first `kept` ids are the same.
void run_grown(const Program&, std::span<float* const> memory, const Trace& before,
               std::int64_t kept, Backend&, const KeptTensors* stays = nullptr);

}  // namespace headlight
