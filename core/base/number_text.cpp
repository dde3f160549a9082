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

// What is not 1 is not written as 1 while a float tells them apart: 0.9998, not 1.000.
std::string near_one(double value, int decimals) {
  constexpr int kMost = 7;
  const std::string one = fixed(std::copysign(1.0, value), decimals), text = fixed(value, decimals);
  for (int more = decimals; text == one && std::fabs(value) != 1 && more <= kMost; ++more) {
    std::string finer = fixed(value, more);
    if (finer != fixed(std::copysign(1.0, value), more)) return finer;
  }
  return text;
}

// A power of ten as it is written everywhere: "3.12e−4", not "3.12e-04"; "1e20", not "1e+20".
std::string with_short_power(std::string text) {
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return with_true_minus(text);
  const bool negative = text[e + 1] == '-';
  std::string power = text.substr(std::min(text.find_first_not_of("+-0", e + 1), text.size()));
  if (power.empty()) power = "0";
  return with_true_minus(text.substr(0, e + 1) + (negative ? "-" : "") + power);
}

// "3.12e−4"
std::string power_text(double value, int decimals) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*e", std::max(0, decimals), value);
  return with_short_power(buffer.data());
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
  if (size >= 1e-3 && size < 1e6) {
    const int magnitude = static_cast<int>(std::floor(std::log10(size)));
    const int decimals = significant - 1 - std::max(magnitude, -1);
    const std::string text = near_one(value, decimals);
    if (!is_all_zero(text)) return with_true_minus(text);  // 0.003 is not 0.00
  }
  return power_text(value, significant - 1);
}

namespace {

template <class Number>
std::string shortest(Number value) {
  if (!std::isfinite(value)) return special(value);
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return with_short_power(std::string(buffer.data(), end.ptr));
}

}  // namespace

std::string exact_number(float value) { return shortest(value); }

std::string exact_double(double value) {
  const auto single = static_cast<float>(value);
  return static_cast<double>(single) == value ? shortest(single) : shortest(value);
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

// What is smaller, in a matrix with larger numbers, reads "~0".
constexpr double kSmallest = 1e-9;

}  // namespace

CellFormat cell_format(double lowest, double highest, int characters) {
  using Kind = CellFormat::Kind;
  const double size = std::max(std::fabs(lowest), std::fabs(highest));
  const int magnitude = size > 0 ? static_cast<int>(std::floor(std::log10(size))) : 0;
  const bool shares = lowest >= 0 && highest <= 1;
  // Three digits of the largest, or two: with one only too many others would read as zero. So
  // would most of what is a share of 1, which has three decimals also beside 1 itself.
  const int most = shares ? 3 : std::clamp(2 - magnitude, 0, 3);
  const int least = magnitude > 0 ? 0 : size > 1 ? 1 : std::max(1 - magnitude, 2);
  for (int decimals = most; decimals >= least; --decimals) {
    const auto fits = [&](double end) { return width_of(fixed(end, decimals)) <= characters; };
    if (fits(lowest) && fits(highest)) return {Kind::kFixed, decimals, 0, shares};
  }
  // "4e−3" with a minus where there are any: whatever lies between the ends has room then. Two
  // digits more, or one, where they have room with their point.
  const int width = (size < kSmallest ? 5 : 4) + (lowest < 0 ? 1 : 0);
  if (characters < width) return {};
  const int decimals = std::clamp(characters - width - 1, 0, 2);
  return {Kind::kPower, decimals, size < kSmallest ? 0 : kSmallest, shares};
}

std::string cell_number(double value, const CellFormat& format) {
  using Kind = CellFormat::Kind;
  if (format.kind == Kind::kNothing) return "";
  if (!std::isfinite(value)) return special(value);
  if (value == 0) return "0";
  if (format.kind == Kind::kWhole) return exact_number(static_cast<float>(value));
  if (format.kind == Kind::kPower)
    return std::fabs(value) < format.smallest ? "~0" : power_text(value, format.decimals);
  const std::string text = fixed(value, format.decimals);
  if (is_all_zero(text)) return "~0";
  if (format.shares && value != 1 && text == fixed(1, format.decimals)) return "~1";
  return with_true_minus(text);
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

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  int unit = 0;
  while (bytes >= 1000 && unit < 6) {
    bytes /= 1000;
    ++unit;
  }
  char text[64];
  std::snprintf(text, sizeof text, unit == 0 || bytes >= 100 ? "%.0f %s" : "%.1f %s", bytes,
                kUnits[unit]);
  return text;
}

}  // namespace headlight
