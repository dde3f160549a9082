// Finds the sizes of tiles and groups with which a device is fastest, by trying some.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/gl/compute/backend_gl.h"

namespace headlight {

inline constexpr TunePart kTuneParts[] = {
    TunePart::kProducts,  TunePart::kFewRows, TunePart::kAttention, TunePart::kLongRows,
    TunePart::kShortRows, TunePart::kColumns, TunePart::kCells};
/// "products", "long-rows", …
std::string_view tune_part_name(TunePart);
/// "tiles of 64 x 64, 16 deep, 4 x 4 a piece": this part of a table.
std::string tune_words(TunePart, const KernelTable&);

/// The tables that are tried for a part: `start` first, then those that differ in this part alone
/// and fit the limits.
std::vector<KernelTable> tune_candidates(TunePart, const KernelTable& start, const GlLimits&);

/// One table that was tried.
struct TuneTrial {
  TunePart part{};
  KernelTable table;
  bool is_start = false;
  std::string problem;      // why it is left out: what it computes wrongly, what the driver says,
                            // that the time is up; else empty
  double milliseconds = 0;  // of all calls together
  double speed = 1;         // beside the start's: 2 is twice as fast
  bool is_taken = false;    // the fastest, when it was measured a second time as well
};

/// Seconds for measuring one call, and for all: candidates that come later are left out. Each part
/// has its share of the time.
struct TuneTime {
  double call = 0.1, all = 600;
};

/// Tries the candidates of each part in turn, each with the best of the parts before it. Only
/// tables with which every operation concerned, or training, passes its self-test are measured, and
/// one is taken that is 3 % faster than the start at least. `tried` is called with each, and once
/// more with the one that is taken. `options` are for the backends (their `table` is not looked
/// at). Needs a current context. Throws Error as GlBackend does.
KernelTable tune(const GlBackendOptions& options, const KernelTable& start,
                 std::span<const TunePart> parts, const TuneTime& time,
                 const std::function<void(const TuneTrial&)>& tried);

}  // namespace headlight
