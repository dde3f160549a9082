// SpareMemory: what was freed goes back to the system while the window runs. Between small blocks
// that are kept, those of the numbers of a day of training leave gaps that the C library holds on
// to: 100 MB after seven hours, while what is in use stays the same (tests/hard/RESULTS.md).
#pragma once

#include "app/workers/background_writer.h"

namespace headlight {

class SpareMemory {
 public:
  explicit SpareMemory(BackgroundWriter& background) : background_(background) {}
  /// Once in a while, with seconds of any steady clock.
  void pass(double seconds);

 private:
  BackgroundWriter& background_;  // it takes some milliseconds
  double next_ = 0;
};

}  // namespace headlight
