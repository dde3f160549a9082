// What a dot product says: people and films as vectors of features, the same from a table of
// ratings by gradient descent, and then the sentence's own query and keys, read in the same way.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/lab/lab_run.h"
#include "core/lab/labs/labs.h"
#include "core/run/trace.h"

namespace headlight {
namespace {

constexpr std::array<const char*, 4> kFeatures = {"action", "romance", "comedy", "length"};
// From −1 (none of it, short) to 1.
constexpr std::array<std::array<float, 4>, 6> kFilms = {{{0.9f, -0.6f, -0.4f, 0.5f},
                                                         {0.7f, -0.2f, 0.6f, -0.1f},
                                                         {-0.8f, 0.9f, -0.1f, 0.7f},
                                                         {-0.6f, 0.8f, 0.8f, -0.3f},
                                                         {-0.9f, -0.5f, 0.9f, -0.8f},
                                                         {0.1f, 0.3f, -0.7f, 0.9f}}};
// Five people's ratings of these films, −2 to 2.
constexpr std::size_t kPeople = 5, kFactors = 2;
constexpr std::array<std::array<float, 6>, kPeople> kRatings = {{{2, 1, -2, -1, -1, 0},
                                                                 {1, 2, -1, 0, 1, -1},
                                                                 {-2, -1, 2, 1, -1, 1},
                                                                 {-1, 0, 1, 2, 1, -1},
                                                                 {0, -1, 1, -1, -2, 2}}};
constexpr int kUpdates = 200;
constexpr double kRate = 0.05;

std::string film(std::size_t i) { return "lab.dot-product.film." + std::to_string(i); }

// The person's wishes against each film, best first.
struct Ranked {
  std::size_t film = 0;
  double product = 0;
};

std::vector<Ranked> ranking(std::span<const float> wish) {
  std::vector<Ranked> all;
  for (std::size_t f = 0; f < kFilms.size(); ++f) {
    double sum = 0;
    for (std::size_t i = 0; i < wish.size(); ++i)
      sum += static_cast<double>(wish[i]) * static_cast<double>(kFilms[f][i]);
    all.push_back({f, sum});
  }
  std::ranges::stable_sort(all, std::greater{}, &Ranked::product);
  return all;
}

// Two factors for each person and film, so that their products come near to the ratings.
struct Factors {
  std::vector<double> people, films;  // (person, factor), (film, factor)
};

double error_of(const Factors& f, std::vector<double>* misses = nullptr) {
  double sum = 0;
  if (misses) misses->clear();
  for (std::size_t p = 0; p < kPeople; ++p) {
    for (std::size_t m = 0; m < kFilms.size(); ++m) {
      double product = 0;
      for (std::size_t k = 0; k < kFactors; ++k)
        product += f.people[p * kFactors + k] * f.films[m * kFactors + k];
      const double miss = product - static_cast<double>(kRatings[p][m]);
      if (misses) misses->push_back(miss);
      sum += miss * miss;
    }
  }
  return sum / static_cast<double>(kPeople * kFilms.size());
}

// One step down the gradient of half the sum of squares.
void update(Factors& f) {
  std::vector<double> misses;
  error_of(f, &misses);
  const Factors old = f;
  for (std::size_t p = 0; p < kPeople; ++p) {
    for (std::size_t m = 0; m < kFilms.size(); ++m) {
      for (std::size_t k = 0; k < kFactors; ++k) {
        const double miss = kRate * misses[p * kFilms.size() + m];
        f.people[p * kFactors + k] -= miss * old.films[m * kFactors + k];
        f.films[m * kFactors + k] -= miss * old.people[p * kFactors + k];
      }
    }
  }
}

LabSeries factorise(LabRun& run, Factors& f) {
  const std::uint64_t key = scatter(static_cast<std::uint64_t>(run.whole("draw")));
  const auto start = [&](std::size_t count, std::uint64_t from) {
    std::vector<double> cells;
    for (std::size_t i = 0; i < count; ++i)
      cells.push_back(static_cast<double>(static_cast<float>(0.3 * normal(key, from + i))));
    return cells;
  };
  f = {start(kPeople * kFactors, 0), start(kFilms.size() * kFactors, 100)};
  const auto as_tensor = [&](const char* name, std::size_t rows, const std::vector<double>& cells) {
    return lab_tensor(name,
                      {{"position", static_cast<std::int64_t>(rows)},
                       {"feature", static_cast<std::int64_t>(kFactors)}},
                      {cells.begin(), cells.end()});
  };
  run.result.tensors.push_back(as_tensor("people", kPeople, f.people));
  run.result.tensors.push_back(as_tensor("films", kFilms.size(), f.films));
  std::vector<float> ratings;
  for (const auto& row : kRatings) ratings.insert(ratings.end(), row.begin(), row.end());
  run.result.tensors.push_back(
      lab_tensor("ratings", {{"position", kPeople}, {"feature", std::ssize(kFilms)}}, ratings));
  LabSeries error{"error", {}, {}};
  for (int step = 0; step <= kUpdates; ++step) {
    error.x.push_back(step);
    error.y.push_back(error_of(f));
    if (step < kUpdates) update(f);
  }
  return error;
}

// The last token's query against its best key, feature by feature; null where nothing attends.
struct OwnProduct {
  std::vector<float> query, key;
  std::string asks, answers;
};

std::optional<OwnProduct> own_product(LabRun& run) {
  const Trace& trace = run.trace();
  const Program& p = trace.program();
  const TensorId pattern = p.find(Role::kPattern, p.logits);
  if (pattern < 0) return std::nullopt;
  TensorId q = p.find(Role::kTurnedQueries, pattern), k = p.find(Role::kTurnedKeys, pattern);
  if (q < 0) q = p.find(Role::kQueries, pattern);
  if (k < 0) k = p.find(Role::kKeys, pattern);
  if (q < 0 || k < 0) return std::nullopt;
  const TensorView queries = trace.tensor(q), keys = trace.tensor(k),
                   weights = trace.tensor(pattern);
  const std::int64_t n = weights.axes[2].size, all = weights.axes[3].size;
  const std::int64_t width = queries.axes.back().size;
  const float* row = weights.data + (n - 1) * all;
  const std::int64_t own = std::min(all, keys.axes[2].size);
  const std::int64_t best = std::max_element(row, row + own) - row;
  OwnProduct o;
  o.query.assign(queries.data + (n - 1) * width, queries.data + n * width);
  o.key.assign(keys.data + best * width, keys.data + (best + 1) * width);
  o.asks = trace.name(weights.axes[2].name, n - 1);
  o.answers = trace.name(weights.axes[3].name, best);
  return o;
}

void add_own(LabRun& run) {
  const std::optional<OwnProduct> own = own_product(run);
  if (!own) return;
  LabSeries terms{"query_times_key", {}, {}};
  double sum = 0, agree = 0;
  std::size_t agreeing = 0;
  for (std::size_t e = 0; e < own->query.size(); ++e) {
    const double term = static_cast<double>(own->query[e]) * static_cast<double>(own->key[e]);
    terms.x.push_back(static_cast<double>(e));
    terms.y.push_back(term);
    sum += term;
    if (term > 0) agree += term, ++agreeing;
  }
  run.result.series.push_back(std::move(terms));
  run.value("query_times_key", sum);
  const auto width = static_cast<std::int64_t>(own->query.size());
  run.result.tensors.push_back(lab_tensor("query", {{"d_head", width}}, own->query));
  run.result.tensors.push_back(lab_tensor("key", {{"d_head", width}}, own->key));
  run.notice("own", {{"asks", own->asks},
                     {"answers", own->answers},
                     {"n", std::to_string(agreeing)},
                     {"all", std::to_string(width)},
                     {"agree", lab_number(agree)},
                     {"against", lab_number(sum - agree)},
                     {"sum", lab_number(sum)}});
}

void add_words(LabRun& run, std::span<const float> wish, const std::vector<Ranked>& ranked,
               const LabSeries& error) {
  const Ranked &best = ranked.front(), &last = ranked.back();
  if (best.product > ranked[1].product)
    run.notice("best", {{"film", film(best.film), true},
                        {"product", lab_number(best.product)},
                        {"last", film(last.film), true},
                        {"lowest", lab_number(last.product)}});
  if (error.y.back() < error.y.front() / 4)
    run.notice("learned",
               {{"before", lab_number(error.y.front())}, {"after", lab_number(error.y.back())}});
  // Turned round, each product changes its sign.
  std::vector<float> turned(wish.begin(), wish.end());
  for (float& w : turned) w = -w;
  const std::vector<Ranked> opposite = ranking(turned);
  LabQuestion ask{"turned", {{"film", film(best.film), true}}, {"first", "last", "between"}, 2, {}};
  if (best.product == last.product) return;  // nothing is wished for
  if (opposite.front().film == best.film) ask.right = 0;
  if (opposite.back().product == -best.product) ask.right = 1;
  ask.because = run.because("turned", {{"film", film(best.film), true},
                                       {"before", lab_number(best.product)},
                                       {"after", lab_number(-best.product)}});
  run.result.questions.push_back(std::move(ask));
}

void run_dot_product(LabRun& run) {
  std::array<float, kFeatures.size()> wish{};
  for (std::size_t i = 0; i < kFeatures.size(); ++i)
    wish[i] = static_cast<float>(run.number(kFeatures[i]));
  const std::vector<Ranked> ranked = ranking(wish);
  std::vector<float> table;
  for (const auto& row : kFilms) table.insert(table.end(), row.begin(), row.end());
  const std::vector<Axis> axes = {{"position", std::ssize(kFilms)},
                                  {"feature", std::ssize(kFeatures)}};
  run.result.tensors.push_back(lab_tensor("features", axes, table));
  run.result.tensors.push_back(
      lab_tensor("wish", {{"feature", std::ssize(kFeatures)}}, {wish.begin(), wish.end()}));
  for (const Ranked& r : ranked) run.value("film." + std::to_string(r.film), r.product);
  Factors factors;
  LabSeries error = factorise(run, factors);
  run.value("error", error.y.back());
  add_words(run, wish, ranked, error);
  run.result.series.push_back(std::move(error));
  LabSeries map{"films_on_a_map", {}, {}};
  for (std::size_t m = 0; m < kFilms.size(); ++m) {
    map.x.push_back(factors.films[m * kFactors]);
    map.y.push_back(factors.films[m * kFactors + 1]);
  }
  run.result.series.push_back(std::move(map));
  add_own(run);
}

}  // namespace

Lab dot_product_lab() {
  return {"dot-product",
          "what",
          "Koren, Bell, Volinsky 2009, Matrix factorization techniques for recommender systems",
          {{"action", {}, -1, 1, 0.8},
           {"romance", {}, -1, 1, -0.5},
           {"comedy", {}, -1, 1, 0.3},
           {"length", {}, -1, 1, 0},
           {"draw", {}, 1, 1e6, 1, true}},
          run_dot_product};
}

}  // namespace headlight
