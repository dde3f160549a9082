// What a line of arithmetic comes to as it is printed, for a reader with a pocket calculator.
#pragma once

#include <optional>
#include <string_view>

namespace headlight {

/// The value of the last part of a chain "a = b × (c − d) / √e". Understands numbers ("−1.5e−3",
/// "∞"), + − × /, √, brackets, exp, log, cos, sin, tanh, tanh² and max(a, b); nothing else:
/// nullopt.
std::optional<double> printed_value(std::string_view line);

}  // namespace headlight
