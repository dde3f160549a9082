// Head scores: how much one head's attention looks like a kind that the field has a name for, and
// the badge that says so.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace headlight {

/// Kinds of heads, the more particular first.
enum class Badge {
  kDiagonal,
  kAntiDiagonal,
  kInduction,
  kPreviousToken,
  kSameToken,
  kCurrentToken,
  kFirstToken,
  kUniform,
};
inline constexpr std::size_t kBadgeCount = 8;

/// Where the two halves of a copy lie: output t is made at query target + t and belongs to key
/// source + t, or, read backwards, to key source + length − 1 − t.
struct Halves {
  std::int64_t source = 0, target = 0, length = 0;
};

/// One head's attention.
struct HeadPattern {
  std::span<const float> weights;  // (query, key): rows that add up to 1, or zeros
  std::int64_t queries = 0, keys = 0;
  std::span<const int> ids;      // the token at each key; empty for cross-attention
  std::span<const float> mask;   // (query, key): −∞ where forbidden, else 0; empty: all allowed
  std::optional<Halves> halves;  // unset: no diagonals to look for
  std::int64_t memory = 0;  // so many keys, remembered ones, stand before the first query's own
};

/// From 0 to 1; `rows` says how many queries it was measured on. 0: there was nothing to measure
/// (no token comes twice), and the value means nothing.
struct HeadScore {
  double value = 0;
  std::int64_t rows = 0;
  bool operator==(const HeadScore&) const = default;
};

struct HeadScores {
  std::array<HeadScore, kBadgeCount> all;
  HeadScore& operator[](Badge badge) { return all[static_cast<std::size_t>(badge)]; }
  const HeadScore& operator[](Badge badge) const { return all[static_cast<std::size_t>(badge)]; }
};

/// All scores of a head. With A(i, j) the weight of query i on key j, keys counted from 0, and i of
/// a query the place of its own key:
///
///   previous-token  key i − 1
///   same-token      the other keys whose token is query i's
///   current-token   key i
///   induction       the keys before i whose own previous token is query i's (Elhage et al. 2021)
///   diagonal        key source + t, for query target + t
///   anti-diagonal   key source + length − 1 − t, for query target + t
///
/// are scored as Σ_i A(i, its keys) / Σ_i A(i, all keys but 0). Heads that have nothing to say rest
/// on the first token, so key 0 is left out of both sums, which swamps nothing; only when it takes
/// more than three quarters of the weight is the lower sum kept at a quarter of the rows, so that
/// what little is left does not decide.
///
///   first-token     the mean of A(i, 0), the first query left out
///   uniform         the mean of −Σ_j A(i, j) ln A(i, j) / ln(number of allowed keys)
///
/// A row counts only where attention had a choice: at least one allowed key that the score asks for
/// and one that it does not, which for same-token and induction is not the query's own. Rows with
/// nothing allowed, or with a number that is not finite, never count. Allocates nothing. Throws
/// Error when sizes do not fit.
HeadScores head_scores(const HeadPattern&);

/// The mean of a head's scores over many sentences, each weighed by the rows that it was measured
/// on.
class HeadScoreMean {
 public:
  void add(const HeadScores&);
  HeadScores scores() const;

 private:
  HeadScores sum_;  // of value × rows
};

struct BadgeInfo {
  Badge badge{};
  std::string_view word;   // "previous-token"
  std::string_view label;  // text ids: the name on the badge, and the tooltip that defines it
  std::string_view help;
  std::string_view brief;  // the name in a word, where there is little room
  double threshold = 0;    // a score of this or more earns the badge
};
/// In the order of enum Badge.
std::span<const BadgeInfo> badges();
const BadgeInfo& badge_info(Badge);

/// A score measured on fewer rows earns no badge: chance alone would do.
inline constexpr std::int64_t kBadgeRows = 3;

/// The badge whose score has gone furthest from its threshold towards 1, if any; of equal ones the
/// first in the order of enum Badge.
std::optional<Badge> best_badge(const HeadScores&);

}  // namespace headlight
