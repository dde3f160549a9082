// Numbers as people read them: the same number is written the same way everywhere, with a true
// minus sign, and never with digits that it does not have.
#pragma once

#include <array>
#include <string>

namespace headlight {

/// `significant` digits, no exponent between 1e-4 and 1e6 but where only zeros would be left:
/// "−1.673", "0.91", "12.0", "3.12e−4" of three digits, "−∞", "NaN".
std::string number_text(double value, int significant = 4);

/// The shortest text that gives back the same float.
std::string exact_number(float value);
/// The same double; as short as a float's where it is one.
std::string exact_double(double value);

/// number_text(), but with an exponent below 0.01, so that no digit is lost: "4.49e−3".
std::string fine_number(double value, int significant = 3);

/// The ends of a scale, low < high, with as many digits as tell them apart.
std::array<std::string, 2> scale_ends(double low, double high);

/// How the numbers of one matrix are written in its cells: all with the same decimals, or all with
/// a power of ten. "0" is 0; what only rounds to it is "~0", and of shares "~1" what only rounds to
/// 1: 0.99992 beside 8e−5 is "~1" beside "~0", where "1.000" beside "0.000" would say that nothing
/// is left for the others.
struct CellFormat {
  enum class Kind { kNothing, kWhole, kFixed, kPower } kind = Kind::kNothing;
  int decimals = 0;     // kFixed, kPower
  double smallest = 0;  // kPower: what is smaller is written "~0"
  bool shares = false;  // of 1: none is below 0 or above 1
};
/// The format for numbers from `lowest` to `highest` in cells of so many characters: three digits
/// of the largest or two; kNothing where that has no room.
CellFormat cell_format(double lowest, double highest, int characters);
std::string cell_number(double value, const CellFormat&);
/// A single share of 1 where there is room for four characters: a score on a badge.
inline constexpr CellFormat kShareCell{CellFormat::Kind::kFixed, 2, 0, true};

/// With a sign always: "+4.555".
std::string signed_number(double value, int significant = 4);

/// "12,345"
std::string count_text(long long count);

/// "3.2 GB"
std::string bytes_text(double bytes);

}  // namespace headlight
