#include "core/lab/learned_pieces.h"

#include <set>

#include "core/base/utf8.h"
#include "core/text/word_pieces.h"

namespace headlight {
namespace {

constexpr int kSingleBytes = 256;

// A word's characters as pieces.
std::vector<std::string> pieces_of_one(std::string_view word) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t size = code_point_at(word, at).size;
    all.push_back((at > 0 ? std::string(kGoesOn) : "") + std::string(word.substr(at, size)));
    at += size;
  }
  return all;
}

}  // namespace

LearnedPieces::LearnedPieces(std::string_view text, int most, const ProgressFunction& progress)
    : bpe_(learn_bpe(text, kSingleBytes + most, progress)) {
  learn_words(text, most, progress);
}

void LearnedPieces::learn_words(std::string_view text, int most, const ProgressFunction& progress) {
  std::map<std::string, std::uint64_t, std::less<>> counts;
  for (const Token& word : words_.tokenize(text)) ++counts[word.text];
  distinct_words_ = counts.size();
  std::vector<PieceCount> given;
  std::set<std::string> single;
  for (const auto& [word, count] : counts) {
    given.push_back({word, count});
    const std::vector<std::string> characters = pieces_of_one(word);
    if (characters.size() <= kMaxPieceWord) single.insert(characters.begin(), characters.end());
  }
  characters_ = single.size();
  pieces_ = learn_word_pieces(given, static_cast<int>(characters_) + most, 0, progress);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    place_.emplace(pieces_[i], i);
    longest_ = std::max(longest_, pieces_[i].size());
  }
}

Bpe LearnedPieces::after(int count) const {
  const std::vector<BpeMerge>& all = bpe_.merges();
  return Bpe({all.begin(), all.begin() + std::min(count, merges())});
}

std::vector<std::string> LearnedPieces::cut(std::string_view text, int learned) {
  const std::size_t limit = known(learned);
  const auto find = [&](std::string_view piece) {
    const auto found = place_.find(piece);
    return found != place_.end() && found->second < limit ? static_cast<int>(found->second) : -1;
  };
  std::vector<std::string> all;
  for (const Token& word : words_.tokenize(text)) {
    std::vector<PlacedPiece> placed;
    if (!cut_word(word.text, false, longest_, find, placed)) all.emplace_back("[UNK]");
    for (const PlacedPiece& p : placed) all.push_back(pieces_[static_cast<std::size_t>(p.id)]);
  }
  return all;
}

int LearnedPieces::learned_as(std::string_view piece) const {
  const auto found = place_.find(piece);
  if (found == place_.end() || found->second < characters_) return 0;
  return static_cast<int>(found->second - characters_) + 1;
}

std::vector<std::size_t> run_ends(std::string_view text) {
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < text.size();) ends.push_back(at = bpe_piece_end(text, at));
  return ends;
}

}  // namespace headlight
