// A run of a row that begins as an earlier one did: the rows of the tokens that they share are
// taken over, and those behind are computed ("keys and values are kept", and everything else too).
#pragma once

#include <cstdint>
#include <span>

#include "core/backends/backend.h"
#include "core/run/large/kept_tensors.h"
#include "core/run/trace.h"

namespace headlight {

/// Does this mask show no query of a text of so many tokens what stands behind it?
bool looks_back_only(const MaskSpec&, int tokens);

/// Do the rows of a token depend on it and on the tokens before it alone? True of programs that go
/// on with a text, whose mask shows no query what stands behind it; not with memory or gradients.
bool looks_back_only(const Program&);

/// Floating-point operations of the calls that take a token's rows one by one.
double row_work(const Program&);

/// Runs the program whose inputs lie in `memory`. It is that of `before` but for the number of
/// positions, and its first `kept` ids are those of `before`: at least 1, and fewer than there are.
/// What has a row for each token, as linear maps, norms and attention have, is computed for the
/// others alone (calls_by_rows()); the rest as ever. Rows are as those of a whole run to a few
/// units in the last place. Of tensors that do not stay (null: all do) the first rows are left as
/// they were.
void run_grown(const Program&, std::span<float* const> memory, const Trace& before,
               std::int64_t kept, Backend&, const KeptTensors* stays = nullptr);

}  // namespace headlight
