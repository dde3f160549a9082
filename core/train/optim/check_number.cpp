#include "core/train/optim/check_number.h"

#include <string>

#include "core/base/error.h"
#include "core/base/number_text.h"

namespace headlight {

void expect_number(std::string_view what, double value, double low, double high, double usual) {
  if (value >= low && value <= high) return;
  throw UsageError(Message{"error.number_range",
                           {{"what", std::string(what), true},
                            {"low", number_text(low, 6)},
                            {"high", number_text(high, 6)},
                            {"value", number_text(value, 6)},
                            {"usual", number_text(usual, 6)}}});
}

}  // namespace headlight
