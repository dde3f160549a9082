#include "core/base/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace headlight {
namespace {

const std::string kMinus = "\u2212";

std::string special(double value) {
  if (std::isnan(value)) return "NaN";
  return value < 0 ? kMinus + "\u221e" : "\u221e";
}

std::string with_true_minus(std::string text) {
  for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += kMinus.size()) {
    text.replace(at, 1, kMinus);
  }
  return text;
}

bool is_all_zero(const std::string& text) {
  return text.find_first_of("123456789") == std::string::npos;
}

std::string fixed(double value, int decimals) {
  std::array<char, 400> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*f", std::max(0, decimals), value);
  std::string text = buffer.data();
  if (text[0] == '-' && is_all_zero(text)) text.erase(0, 1);  // no minus zero
  return text;
}

// "3.12e−04"
std::string power_text(double value, int decimals) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*e", std::max(0, decimals), value);
  return with_true_minus(buffer.data());
}

// Characters, not bytes.
int width_of(const std::string& text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string number_text(double value, int significant) {
  if (!std::isfinite(value)) return special(value);
  if (value == 0) return "0";
  const double size = std::fabs(value);
  if (size >= 1e-4 && size < 1e6) {
    const int magnitude = static_cast<int>(std::floor(std::log10(size)));
    const std::string text = fixed(value, significant - 1 - std::max(magnitude, -1));
    if (!is_all_zero(text)) return with_true_minus(text);  // 0.0003 is not 0.000
  }
  return power_text(value, significant - 1);
}

std::string exact_number(float value) {
  if (!std::isfinite(value)) return special(value);
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return with_true_minus(std::string(buffer.data(), end.ptr));
}

std::string fine_number(double value, int significant) {
  constexpr double kSmall = 0.01;
  const bool small = value != 0 && std::fabs(value) < kSmall;
  return small ? power_text(value, significant - 1) : number_text(value, significant);
}

std::array<std::string, 2> scale_ends(double low, double high) {
  constexpr int kMost = 9;  // as many as a float has
  std::array<std::string, 2> ends;
  for (int digits = 3; digits <= kMost; ++digits) {
    ends = {fine_number(low, digits), fine_number(high, digits)};
    if (ends[0] != ends[1]) break;
  }
  return ends;
}

namespace {

// A power of ten with one digit has room from here on; what is smaller reads "0e−9".
constexpr double kZero = 1e-9;
constexpr int kZeroWidth = 4;

}  // namespace

CellFormat cell_format(double lowest, double highest, int characters) {
  using Kind = CellFormat::Kind;
  const double size = std::max(std::fabs(lowest), std::fabs(highest));
  const int magnitude = size > 0 ? static_cast<int>(std::floor(std::log10(size))) : 0;
  const auto fits = [&](CellFormat& format) {
    format.width =
        std::max(width_of(cell_number(lowest, format)), width_of(cell_number(highest, format)));
    return format.width <= characters;
  };
  // Three digits of the largest, or two: with one only too many others would read as zero.
  const int most = std::clamp(2 - magnitude, 0, 3);
  const int least = magnitude > 1 ? 0 : magnitude >= 0 ? 1 : 1 - magnitude;
  for (int decimals = most; decimals >= least; --decimals) {
    CellFormat format{Kind::kFixed, decimals, 0};
    if (fits(format)) return format;
  }
  CellFormat power{Kind::kPower, 0, 0};
  // The end that is smaller may be written as zero (cell_number()).
  const auto has_room = [&](double end) {
    const bool zero = std::fabs(end) < std::min(kZero, size) && characters >= kZeroWidth;
    return zero || width_of(cell_number(end, power)) <= characters;
  };
  if (!has_room(lowest) || !has_room(highest)) return {};
  power.width = characters;
  return power;
}

std::string cell_number(double value, const CellFormat& format) {
  using Kind = CellFormat::Kind;
  if (format.kind == Kind::kNothing) return "";
  if (!std::isfinite(value)) return special(value);
  if (value == 0) return "0";
  if (format.kind == Kind::kWhole) return exact_number(static_cast<float>(value));
  if (format.kind == Kind::kFixed) return with_true_minus(fixed(value, format.decimals));
  std::string text = power_text(value, 0);
  const std::size_t e = text.find('e') + 1, sign = text.find_first_of("0123456789+", e);
  const std::size_t digits = std::min(text.find_first_not_of("0+", sign), text.size() - 1);
  text.erase(sign, digits - sign);  // "4e−3", not "4e−03"
  // No room for so small a power: zero to as many decimals as have room.
  if (format.width == 0 || width_of(text) <= format.width) return text;
  const bool zero = format.width >= kZeroWidth && std::fabs(value) < kZero;
  return zero ? "0e" + kMinus + "9" : "0e0";
}

std::string signed_number(double value, int significant) {
  const std::string text = number_text(value, significant);
  return value > 0 ? "+" + text : text;
}

std::string count_text(long long count) {
  std::string text = std::to_string(count < 0 ? -count : count);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return (count < 0 ? kMinus : "") + text;
}

}  // namespace headlight
