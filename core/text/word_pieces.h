// WordPiece (Schuster & Nakajima 2012, "Japanese and Korean voice search"; Wu et al. 2016; with
// "##" as Devlin et al. 2019): a word is cut into pieces, and what goes on with a word begins with
// "##".
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/progress.h"
#include "core/text/bpe.h"

namespace headlight {

inline constexpr std::string_view kGoesOn = "##";
/// A longer word is no piece and has none: it is [UNK].
inline constexpr std::size_t kMaxPieceWord = 100;  // code points

/// Does this piece go on with the word before it? "##" alone does not.
bool goes_on_with_word(std::string_view piece);

/// Learns pieces of words until there are `pieces` of them, or no pair comes twice, or none would
/// raise the likelihood. First every character, as it begins words and as it goes on with them, in
/// the order of code points; then, one by one, the pair of neighbours a b with the largest
///   f(ab) · log(f(ab) · N / (f(a) · f(b))),
/// f the counts and N all tokens of the text as it is cut by now: by so much, to first order, one
/// more piece raises the logarithm of the text's likelihood where each piece stands by itself. Of
/// equal ones that whose left, then right piece was made first. Words are valid UTF-8. Throws
/// UsageError where there is no room for the characters, with `others` tokens besides; Cancelled.
std::vector<std::string> learn_word_pieces(std::span<const PieceCount> words, int pieces,
                                           int others = 0, const ProgressFunction& progress = {});

/// Cuts a word from its beginning, always the longest piece that fits. `find` says the id of a
/// piece, −1 for none; `longest` is the bytes of the longest piece, "##" counted. `inside`: it goes
/// on with a word. Appends the id and the end of each piece; false, and nothing is appended, where
/// none fits.
struct PlacedPiece {
  int id = 0;
  std::size_t end = 0;  // byte of the word
};
bool cut_word(std::string_view word, bool inside, std::size_t longest,
              const std::function<int(std::string_view)>& find, std::vector<PlacedPiece>& out);

}  // namespace headlight
