// Numbers as people read them: the same number is written the same way everywhere, with a true
// minus sign, and never with digits that it does not have.
#pragma once

#include <string>

namespace headlight {

/// `significant` digits, no exponent between 1e-4 and 1e6 but where only zeros would be left:
/// "−1.673", "0.91", "12.0", "3.12e−04" of three digits, "−∞", "NaN".
std::string number_text(double value, int significant = 4);

/// The shortest text that gives back the same float.
std::string exact_number(float value);

/// At most `characters` characters wide, up to three significant digits, for a heatmap's cell;
/// empty when nothing truthful fits.
std::string cell_number(double value, int characters);

/// With a sign always: "+4.555".
std::string signed_number(double value, int significant = 4);

/// "12,345"
std::string count_text(long long count);

}  // namespace headlight
