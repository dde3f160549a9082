#include "core/text/number_words.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace headlight {
namespace {

double value_of(int id, int count) { return -1 + 2.0 * id / std::max(count - 1, 1); }

// A step of 0.02 asks for two decimals; a third of the way for as many as tell neighbours apart.
int decimals_of(int count) {
  constexpr int kMostExact = 4;
  const double step = 2.0 / std::max(count - 1, 1);
  for (int decimals = 0; decimals <= kMostExact; ++decimals) {
    const double scaled = step * std::pow(10.0, decimals);
    if (std::abs(scaled - std::round(scaled)) < 1e-9 * scaled) return decimals;
  }
  return static_cast<int>(std::ceil(-std::log10(step))) + 2;
}

constexpr std::string_view kBetween[] = {" ", "\t", "\n", "\r", ",", ";", "，", "；", "　", "、"};

// Bytes of what stands between words here; 0: a word does.
std::size_t between_at(std::string_view text) {
  for (const std::string_view one : kBetween) {
    if (text.starts_with(one)) return one.size();
  }
  return 0;
}

}  // namespace

std::vector<std::string> grid_words(int count) {
  std::vector<std::string> words;
  const int decimals = decimals_of(count);
  for (int id = 0; id < count; ++id) {
    const double value = value_of(id, count);
    char text[40];
    std::snprintf(text, sizeof text, "%.*f", decimals, std::abs(value) < 1e-12 ? 0.0 : value);
    words.emplace_back(text);
  }
  return words;
}

void for_each_number_word(std::string_view text,
                          const std::function<bool(std::size_t, std::size_t)>& visit) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (const std::size_t skip = between_at(text.substr(at))) {
      at += skip;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && between_at(text.substr(at)) == 0) ++at;
    if (!visit(begin, at)) return;
  }
}

std::optional<double> number_of_word(std::string_view word) {
  constexpr std::string_view kTrueMinus = "−";
  const bool minus = word.starts_with(kTrueMinus);
  if (minus) word.remove_prefix(kTrueMinus.size());
  if (word.starts_with('+')) word.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(number))
    return std::nullopt;
  return minus ? -number : number;
}

int nearest_grid_id(double number, int count) {
  const double place = (std::clamp(number, -1.0, 1.0) + 1) / 2 * std::max(count - 1, 1);
  return std::clamp(static_cast<int>(std::lround(place)), 0, count - 1);
}

std::optional<int> grid_id(double number, int count) {
  const int id = nearest_grid_id(number, count);
  // What a token is written with may be rounded.
  const double most = 2.0 / std::max(count - 1, 1) * 0.02 + 1e-12;
  if (std::abs(number - value_of(id, count)) > most) return std::nullopt;
  return id;
}

}  // namespace headlight
