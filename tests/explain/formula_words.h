// Words in what is shown the same in every language.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <string_view>

#include "core/base/texts.h"
#include "core/ops/explanation.h"

namespace headlight {

/// The first run of three Latin letters or more that is no function or index of a formula; empty:
/// there is none.
inline std::string word_in_formula(std::string_view formula) {
  constexpr std::array<std::string_view, 21> kSymbols = {
      "exp",  "log", "tanh", "sin",    "cos",   "max",  "sum",     "mean", "erf", "div",   "mod",
      "head", "pos", "mask", "target", "shift", "sqrt", "softmax", "seg",  "mem", "bucket"};
  for (std::size_t i = 0; i < formula.size();) {
    std::size_t end = i;
    while (end < formula.size() && std::isalpha(static_cast<unsigned char>(formula[end]))) ++end;
    const std::string_view word = formula.substr(i, end - i);
    const bool symbol = std::find(kSymbols.begin(), kSymbols.end(), word) != kSymbols.end();
    if (word.size() >= 3 && !symbol) return std::string(word);
    i = std::max(end, i + 1);
  }
  return "";
}

/// Formulas are without words, and notes in words have both languages; their ids join `said`.
inline void check_words(const OpExplanation& made, std::set<std::string>& said) {
  CHECK(word_in_formula(made.formula) == "");
  for (const OpTerm& term : made.terms) {
    CHECK(word_in_formula(term.note.plain) == "");
    if (term.note.id.empty()) continue;
    said.insert(term.note.id);
    const std::string chinese = say(Language::kChinese, term.note);
    CHECK(chinese != say(Language::kEnglish, term.note));
    const std::string word = word_in_formula(chinese);
    CHECK_MESSAGE((word == "" || word == "logit"), chinese);
  }
}

}  // namespace headlight
