// Work that takes seconds: how far it is, and a way to stop it.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "core/base/error.h"

namespace headlight {

struct Progress {
  std::string_view doing;  // a text id: "Reading", "Cutting into tokens" …
  double share = 0;        // 0 to 1 of this part of the work
};

/// Called now and then by the thread that works; false stops the work. An empty one never stops it.
using ProgressFunction = std::function<bool(const Progress&)>;

/// Called now and then by work that goes through bytes once, with how many it is done with.
using PassedFunction = std::function<void(std::size_t)>;

/// The work was stopped by its ProgressFunction.
class Cancelled : public Error {
 public:
  Cancelled() : Error(Message{"progress.cancelled"}) {}
};

/// Tells how far the work is. Throws Cancelled.
inline void tell(const ProgressFunction& progress, std::string_view doing, double share) {
  if (progress && !progress({doing, share})) throw Cancelled();
}

}  // namespace headlight
