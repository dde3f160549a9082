#include "core/train/heads/head_scores.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace headlight {
namespace {

constexpr double kUsual = 0.6;
// Random patterns reach 0.85 to 0.95, the more keys the more; a head that averages has more.
constexpr double kEven = 0.96;
constexpr std::array<BadgeInfo, kBadgeCount> kBadges = {{
    {Badge::kDiagonal, "diagonal", "badge.diagonal", "badge.diagonal.help", "badge.diagonal.brief",
     kUsual},
    {Badge::kAntiDiagonal, "anti-diagonal", "badge.anti_diagonal", "badge.anti_diagonal.help",
     "badge.anti_diagonal.brief", kUsual},
    {Badge::kInduction, "induction", "badge.induction", "badge.induction.help",
     "badge.induction.brief", kUsual},
    {Badge::kPreviousToken, "previous-token", "badge.previous", "badge.previous.help",
     "badge.previous.brief", kUsual},
    {Badge::kSameToken, "same-token", "badge.same", "badge.same.help", "badge.same.brief", kUsual},
    {Badge::kCurrentToken, "current-token", "badge.current", "badge.current.help",
     "badge.current.brief", kUsual},
    {Badge::kFirstToken, "first-token", "badge.first", "badge.first.help", "badge.first.brief",
     kUsual},
    {Badge::kUniform, "uniform", "badge.uniform", "badge.uniform.help", "badge.uniform.brief",
     kEven},
}};

// What the lower sum is at least, for each row that counts.
constexpr double kMinShare = 0.25;

// One row of the pattern, looked at.
struct Row {
  const HeadPattern& p;
  std::int64_t query = 0;
  std::int64_t allowed = 0;  // keys, the first included
  double others = 0;         // weight on allowed keys but the first
  double entropy = 0;
  bool finite = true;

  bool allows(std::int64_t key) const {
    return p.mask.empty() || p.mask[static_cast<std::size_t>(query * p.keys + key)] == 0;
  }
  double weight(std::int64_t key) const {
    return p.weights[static_cast<std::size_t>(query * p.keys + key)];
  }
  std::int64_t own_key() const { return p.memory + query; }
  bool has_first() const { return p.keys > 0 && allows(0); }
  std::int64_t choice() const { return allowed - has_first(); }
  // Where all other keys hold the same word, to look away from oneself is to look at that word.
  std::int64_t choice_of_others() const {
    const bool has_own = own_key() > 0 && own_key() < p.keys && allows(own_key());
    return choice() - has_own;
  }
};

Row look_at(const HeadPattern& p, std::int64_t query) {
  Row row{.p = p, .query = query};
  for (std::int64_t key = 0; key < p.keys; ++key) {
    if (!row.allows(key)) continue;
    const double a = row.weight(key);
    ++row.allowed;
    row.finite &= std::isfinite(a);
    if (key > 0) row.others += a;
    if (a > 0) row.entropy -= a * std::log(a);
  }
  return row;
}

// The two sums of a score.
struct Share {
  double upper = 0, lower = 0;
  std::int64_t rows = 0;

  // `wanted` keys were allowed and hold `weight`; of `choice` ones, the first left out.
  void add(const Row& row, std::int64_t wanted, std::int64_t choice, double weight) {
    if (wanted == 0 || wanted == choice) return;
    upper += weight;
    lower += row.others;
    ++rows;
  }
  void add_key(const Row& row, std::int64_t key) {
    if (key < 1 || key >= row.p.keys || !row.allows(key)) return;
    add(row, 1, row.choice(), row.weight(key));
  }
  HeadScore score() const {
    if (rows == 0) return {};
    const double least = kMinShare * static_cast<double>(rows);
    return {std::clamp(upper / std::max(lower, least), 0.0, 1.0), rows};
  }
};

// Scores that ask which token stands where.
void add_by_token(const Row& row, Share& same, Share& induction) {
  const std::span<const int> ids = row.p.ids;
  const auto id = [&](std::int64_t place) { return ids[static_cast<std::size_t>(place)]; };
  std::int64_t same_keys = 0, next_keys = 0;
  double same_weight = 0, next_weight = 0;
  for (std::int64_t key = 1; key < row.p.keys; ++key) {
    const bool is_same = key != row.own_key() && id(key) == id(row.own_key());
    const bool is_next = key < row.own_key() && id(key - 1) == id(row.own_key());
    if ((!is_same && !is_next) || !row.allows(key)) continue;
    same_keys += is_same;
    next_keys += is_next;
    same_weight += is_same ? row.weight(key) : 0;
    next_weight += is_next ? row.weight(key) : 0;
  }
  same.add(row, same_keys, row.choice_of_others(), same_weight);
  induction.add(row, next_keys, row.choice_of_others(), next_weight);
}

// A mean over rows.
struct Mean {
  double sum = 0;
  std::int64_t rows = 0;
  void add(double value) {
    sum += value;
    ++rows;
  }
  HeadScore score() const {
    if (rows == 0) return {};
    return {std::clamp(sum / static_cast<double>(rows), 0.0, 1.0), rows};
  }
};

void check_sizes(const HeadPattern& p) {
  const auto cells = static_cast<std::size_t>(p.queries * p.keys);
  const bool self = p.ids.empty() || (p.memory + p.queries == p.keys &&
                                      p.ids.size() == static_cast<std::size_t>(p.keys));
  if (p.queries < 0 || p.keys < 0 || p.weights.size() != cells || !self ||
      (!p.mask.empty() && p.mask.size() != cells)) {
    throw Error("the sizes of a head's pattern, its mask and its tokens do not fit each other");
  }
}

}  // namespace

HeadScores head_scores(const HeadPattern& p) {
  check_sizes(p);
  Share previous, same, current, induction, diagonal, anti;
  Mean first, uniform;
  for (std::int64_t query = 0; query < p.queries; ++query) {
    const Row row = look_at(p, query);
    if (row.allowed == 0 || !row.finite) continue;
    if (!p.ids.empty()) {
      previous.add_key(row, row.own_key() - 1);
      current.add_key(row, row.own_key());
      add_by_token(row, same, induction);
    }
    if (p.halves) {
      const std::int64_t t = query - p.halves->target;
      if (t >= 0 && t < p.halves->length) {
        diagonal.add_key(row, p.halves->source + t);
        anti.add_key(row, p.halves->source + p.halves->length - 1 - t);
      }
    }
    if (row.allowed < 2) continue;
    if (row.own_key() > 0 && row.has_first()) first.add(row.weight(0));
    uniform.add(row.entropy / std::log(static_cast<double>(row.allowed)));
  }
  HeadScores scores;
  scores[Badge::kPreviousToken] = previous.score();
  scores[Badge::kSameToken] = same.score();
  scores[Badge::kCurrentToken] = current.score();
  scores[Badge::kInduction] = induction.score();
  scores[Badge::kDiagonal] = diagonal.score();
  scores[Badge::kAntiDiagonal] = anti.score();
  scores[Badge::kFirstToken] = first.score();
  scores[Badge::kUniform] = uniform.score();
  return scores;
}

void HeadScoreMean::add(const HeadScores& scores) {
  for (std::size_t b = 0; b < kBadgeCount; ++b) {
    sum_.all[b].value += scores.all[b].value * static_cast<double>(scores.all[b].rows);
    sum_.all[b].rows += scores.all[b].rows;
  }
}

HeadScores HeadScoreMean::scores() const {
  HeadScores mean = sum_;
  for (HeadScore& score : mean.all) {
    if (score.rows > 0) score.value /= static_cast<double>(score.rows);
  }
  return mean;
}

std::span<const BadgeInfo> badges() { return kBadges; }

const BadgeInfo& badge_info(Badge badge) { return kBadges[static_cast<std::size_t>(badge)]; }

std::optional<Badge> best_badge(const HeadScores& scores) {
  std::optional<Badge> best;
  double furthest = -1;
  for (const BadgeInfo& info : kBadges) {
    const HeadScore& score = scores[info.badge];
    if (score.rows < kBadgeRows || !(score.value >= info.threshold)) continue;
    const double margin = (score.value - info.threshold) / (1 - info.threshold);
    if (margin > furthest) {
      furthest = margin;
      best = info.badge;
    }
  }
  return best;
}

}  // namespace headlight
