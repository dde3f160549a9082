#include "core/train/optim/check_number.h"

#include <string>

#include "core/base/error.h"
#include "core/base/number_text.h"

namespace headlight {

void expect_number(std::string_view what, double value, double low, double high, double usual) {
  if (value >= low && value <= high) return;
  // As a person writes them: 1e−20, not 1.00000e−20.
  const auto text = [](double number) { return exact_number(static_cast<float>(number)); };
  throw UsageError(Message{"error.number_range",
                           {{"what", std::string(what), true},
                            {"low", text(low)},
                            {"high", text(high)},
                            {"value", text(value)},
                            {"usual", text(usual)}}});
}

}  // namespace headlight
