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
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*e", significant - 1, value);
  return with_true_minus(buffer.data());
}

std::string exact_number(float value) {
  if (!std::isfinite(value)) return special(value);
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return with_true_minus(std::string(buffer.data(), end.ptr));
}

std::string cell_number(double value, int characters) {
  if (!std::isfinite(value)) {
    const std::string text = special(value);
    return width_of(text) <= characters ? text : "";
  }
  if (value == 0) return characters >= 1 ? "0" : "";
  for (int decimals = 2; decimals >= 0; --decimals) {
    std::string text = fixed(value, decimals);
    // Three significant digits are enough: 12.3, not 12.34.
    const auto digits = static_cast<int>(
        std::count_if(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }));
    if (digits > 3 && decimals > 0) continue;
    // A number that is not zero must not read as zero, unless there is no room at all.
    if (is_all_zero(text) && decimals < 2) break;
    text = with_true_minus(text);
    if (width_of(text) <= characters) return text;
  }
  return "";
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
