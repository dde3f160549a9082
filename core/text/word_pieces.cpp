#include "core/text/word_pieces.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/text/pair_counts.h"

namespace headlight {
namespace {

constexpr std::uint64_t kFewestPairs = 2;  // a pair that comes once is no pattern

bool begins_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

// The characters of a word as pieces; none of one that is too long.
std::vector<std::string> characters(std::string_view word) {
  std::vector<std::string> all;
  for (std::size_t at = 0, end = 0; at < word.size(); at = end) {
    end = at + 1;
    while (end < word.size() && !begins_code_point(word[end])) ++end;
    if (all.size() == kMaxPieceWord) return {};
    all.push_back((at > 0 ? std::string(kGoesOn) : "") + std::string(word.substr(at, end - at)));
  }
  return all;
}

class PieceLearner {
 public:
  PieceLearner(std::span<const PieceCount> words, const ProgressFunction& progress) {
    tell(progress, "progress.learning_pieces", 0);
    for (const PieceCount& word : words) {
      if (word.count == 0) continue;
      for (const std::string& c : characters(word.piece)) ids_.emplace(c, 0);
    }
    // A map sorts "##a" before "a"; what begins words comes first.
    for (const bool inside : {false, true}) {
      for (auto& [piece, id] : ids_) {
        if (goes_on_with_word(piece) != inside) continue;
        id = static_cast<int>(pieces_.size());
        pieces_.push_back(piece);
      }
    }
    tokens_.resize(pieces_.size());
    for (const PieceCount& word : words) {
      std::vector<int> cut;
      for (const std::string& c : characters(word.piece)) cut.push_back(ids_.at(c));
      for (const int id : cut) tokens_[static_cast<std::size_t>(id)] += word.count;
      all_ += word.count * cut.size();
      if (cut.size() > 1 && word.count > 0) pairs_.add(std::move(cut), word.count);
    }
  }

  int size() const { return static_cast<int>(pieces_.size()); }
  std::vector<std::string> take() { return std::move(pieces_); }

  // Adds what the best pair makes; false when none is worth it.
  bool add_piece() {
    // Equal ratios of whole numbers are equal as numbers, so that ties are ties.
    const auto f = [&](int id) {
      return static_cast<double>(tokens_[static_cast<std::size_t>(id)]);
    };
    const auto all = static_cast<double>(all_);
    double best = 0;
    std::uint64_t key = 0;
    for (const auto& [k, pair] : pairs_.pairs()) {
      if (pair.count < kFewestPairs) continue;
      const auto n = static_cast<double>(pair.count);
      const double gain = n * std::log(n * all / (f(left_of(k)) * f(right_of(k))));
      if (gain < best || (gain == best && (best == 0 || k > key))) continue;
      best = gain;
      key = k;
    }
    if (best == 0) return false;
    merge(left_of(key), right_of(key));
    return true;
  }

 private:
  void merge(int left, int right) {
    const std::string joined = pieces_[static_cast<std::size_t>(left)] +
                               pieces_[static_cast<std::size_t>(right)].substr(kGoesOn.size());
    // Two pairs may make the same piece.
    const auto [entry, is_new] = ids_.emplace(joined, size());
    if (is_new) {
      pieces_.push_back(joined);
      tokens_.push_back(0);
    }
    pairs_.merge(left, right, entry->second);
    tokens_[static_cast<std::size_t>(left)] -= pairs_.merged();
    tokens_[static_cast<std::size_t>(right)] -= pairs_.merged();
    tokens_[static_cast<std::size_t>(entry->second)] += pairs_.merged();
    all_ -= pairs_.merged();
  }

  std::map<std::string, int> ids_;
  std::vector<std::string> pieces_;
  std::vector<std::uint64_t> tokens_;  // how often each piece stands in the text as it is cut
  std::uint64_t all_ = 0;
  PairCounts pairs_;
};

}  // namespace

bool goes_on_with_word(std::string_view piece) {
  return piece.size() > kGoesOn.size() && piece.starts_with(kGoesOn);
}

std::vector<std::string> learn_word_pieces(std::span<const PieceCount> words, int pieces,
                                           int others, const ProgressFunction& progress) {
  PieceLearner learner(words, progress);
  const int characters = learner.size();
  if (characters > pieces) {
    throw UsageError(Message{"word_pieces.size",
                             {{"low", count_text(characters + others)},
                              {"characters", count_text(characters)},
                              {"got", count_text(pieces + others)}}});
  }
  while (learner.size() < pieces && learner.add_piece())
    tell(progress, "progress.learning_pieces",
         static_cast<double>(learner.size() - characters) / double(pieces - characters));
  return learner.take();
}

bool cut_word(std::string_view word, bool inside, std::size_t longest,
              const std::function<int(std::string_view)>& find, std::vector<PlacedPiece>& out) {
  const std::size_t before = out.size();
  const auto points = std::count_if(word.begin(), word.end(), begins_code_point);
  bool fits = points <= static_cast<std::ptrdiff_t>(kMaxPieceWord);
  std::string piece;
  for (std::size_t at = 0; fits && at < word.size();) {
    piece = at > 0 || inside ? kGoesOn : std::string_view();
    const std::size_t mark = piece.size();
    std::size_t length = std::min(word.size() - at, longest > mark ? longest - mark : 0);
    piece += word.substr(at, length);
    int id = -1;
    for (; length > 0 && (id = find(piece)) < 0; piece.resize(mark + length)) --length;
    fits = id >= 0;
    at += length;
    if (fits) out.push_back({id, at});
  }
  if (!fits) out.resize(before);
  return fits;
}

}  // namespace headlight
