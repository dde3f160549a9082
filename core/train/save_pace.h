// How often a run that is being trained is saved by itself.
#pragma once

#include <algorithm>

namespace headlight {

/// What is lost at most where the program is killed, in seconds, as long as saving is quick.
inline constexpr double kSaveEvery = 4;

/// Seconds from one save to the next, where the last one took so long: saving takes a twentieth of
/// the time at most, but no more than a minute is lost.
inline double seconds_to_next_save(double took, double every = kSaveEvery) {
  constexpr double kShare = 20, kLongest = 60;
  return std::max(every, std::min(kShare * took, kLongest));
}

}  // namespace headlight
