// Numbers as words: the tokens of a vocabulary that is an even grid from −1 to 1, and how a text is
// cut into them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

/// How many numbers the grid of the sandbox and of the tasks has: steps of 0.02.
inline constexpr int kGridNumbers = 101;
/// A sentence of some of them.
inline constexpr std::string_view kNumberSentence = "-0.80 -0.40 0.00 0.40 0.80";

/// "-1.00", "-0.98" … "1.00": as few decimals as tell each of `count` numbers exactly, or apart.
std::vector<std::string> grid_words(int count);

/// Calls visit(begin, end) with the byte range of each word of a text, until it returns false.
/// Words are what stands between blanks, commas and semicolons.
void for_each_number_word(std::string_view text,
                          const std::function<bool(std::size_t, std::size_t)>& visit);

/// The number that a word writes: "-0.5", ".5", "+1", "−0.50".
std::optional<double> number_of_word(std::string_view word);

/// The id of the number of a grid of `count`; nothing for one between two of them.
std::optional<int> grid_id(double number, int count);
/// The nearest one; of numbers outside the first or the last.
int nearest_grid_id(double number, int count);

}  // namespace headlight
