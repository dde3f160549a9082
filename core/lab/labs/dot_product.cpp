// What a dot product says: people and films as vectors of features, the same from a table of
// ratings by gradient descent, and then the sentence's own query and keys, read in the same way.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/lab/lab_attention.h"
#include "core/lab/lab_run.h"
#include "core/lab/labs/films.h"
#include "core/lab/labs/labs.h"
#include "core/run/trace.h"

namespace headlight {
namespace {

// The films that fit, the terms of which each product is the sum, and everyone's products.
void add_ranking(LabRun& run, const FilmTable& t, const std::vector<std::size_t>& ranked) {
  LabSeries products{"ranking", {}, {}};
  std::array<LabSeries, kFilmFeatures.size()> terms;
  LabPicture rows{"terms", {}, {}, {}, LabColours::kSigned};
  for (const std::size_t film : ranked) {
    const auto at = static_cast<double>(products.x.size());
    products.x.push_back(at);
    products.y.push_back(t.product(t.who, film));
    products.names.push_back(film_name(kFilmIds[film]));
    for (std::size_t i = 0; i < kFilmFeatures.size(); ++i) {
      terms[i].x.push_back(at);
      terms[i].y.push_back(t.term(t.who, film, i));
      rows.cells.push_back(static_cast<float>(t.term(t.who, film, i)));
    }
    rows.cells.push_back(static_cast<float>(products.y.back()));
    run.value("product." + std::string(kFilmIds[film]), products.y.back());
  }
  rows.rows = products.names;
  rows.over = film_name(kWishers[t.who]);
  for (std::size_t i = 0; i < kFilmFeatures.size(); ++i) {
    terms[i].name = "terms." + std::string(kFilmFeatures[i]);
    terms[i].names = products.names;
    rows.columns.push_back("lab.control." + std::string(kFilmFeatures[i]));
  }
  rows.columns.emplace_back("lab.dot-product.line.sum");
  LabPicture everyone{
      "products", film_names(kWishers), film_names(kFilmIds), {}, LabColours::kSigned};
  for (std::size_t p = 0; p < kWishers.size(); ++p) {
    for (std::size_t f = 0; f < kFilmVectors.size(); ++f)
      everyone.cells.push_back(static_cast<float>(t.product(p, f)));
  }
  run.result.series.push_back(std::move(products));
  for (LabSeries& s : terms) run.result.series.push_back(std::move(s));
  run.result.pictures.push_back(std::move(rows));
  run.result.pictures.push_back(std::move(everyone));
}

// Learned from the ratings alone: the error by update, and the films and people on a map of both
// factors.
LabSeries factorise(LabRun& run, FilmFactors& f) {
  const std::uint64_t key = scatter(1);
  const auto start = [&](std::size_t count, std::uint64_t from) {
    std::vector<double> cells;
    for (std::size_t i = 0; i < count; ++i)
      cells.push_back(static_cast<double>(static_cast<float>(0.3 * normal(key, from + i))));
    return cells;
  };
  f = {start(kRaterCount * kFactorCount, 0), start(kFilmVectors.size() * kFactorCount, 100)};
  const auto as_tensor = [&](const char* name, std::size_t rows, const std::vector<double>& cells) {
    return lab_tensor(name,
                      {{"position", static_cast<std::int64_t>(rows)},
                       {"feature", static_cast<std::int64_t>(kFactorCount)}},
                      {cells.begin(), cells.end()});
  };
  run.result.tensors.push_back(as_tensor("people", kRaterCount, f.people));
  run.result.tensors.push_back(as_tensor("films", kFilmVectors.size(), f.films));
  std::vector<float> ratings;
  for (const auto& row : kRatings) ratings.insert(ratings.end(), row.begin(), row.end());
  run.result.tensors.push_back(lab_tensor(
      "ratings", {{"position", kRaterCount}, {"feature", std::ssize(kFilmVectors)}}, ratings));
  LabSeries error{"error", {}, {}};
  for (int step = 0; step <= kFactorUpdates; ++step) {
    error.x.push_back(step);
    error.y.push_back(factor_error(f));
    if (step < kFactorUpdates) update_factors(f);
  }
  return error;
}

void add_map(LabRun& run, const FilmFactors& f) {
  const auto places = [&](const char* name, const std::vector<double>& cells,
                          std::vector<std::string> names) {
    LabSeries s{name, {}, {}};
    for (std::size_t i = 0; i < names.size(); ++i) {
      s.x.push_back(cells[i * kFactorCount]);
      s.y.push_back(cells[i * kFactorCount + 1]);
    }
    s.names = std::move(names);
    run.result.series.push_back(std::move(s));
  };
  places("map.films", f.films, film_names(kFilmIds));
  places("map.people", f.people, film_names(kRaters));
  LabPicture given{"ratings", film_names(kRaters), film_names(kFilmIds), {}, LabColours::kSigned};
  LabPicture learned = given;
  given.over = "lab.dot-product.over.given", learned.over = "lab.dot-product.over.learned";
  for (std::size_t p = 0; p < kRaterCount; ++p) {
    for (std::size_t m = 0; m < kFilmVectors.size(); ++m) {
      double product = 0;
      for (std::size_t k = 0; k < kFactorCount; ++k)
        product += f.people[p * kFactorCount + k] * f.films[m * kFactorCount + k];
      given.cells.push_back(kRatings[p][m]);
      learned.cells.push_back(static_cast<float>(product));
    }
  }
  run.result.pictures.push_back(std::move(given));
  run.result.pictures.push_back(std::move(learned));
}

// The last token's query against its best key, feature by feature; null where nothing attends.
struct OwnProduct {
  std::vector<float> query, key;
  std::string asks, answers;
};

std::optional<OwnProduct> own_product(LabRun& run) {
  const Trace& trace = run.trace();
  const std::vector<LabAttention> all = lab_attentions(trace.program());
  if (all.empty() || all[0].queries < 0 || all[0].keys < 0) return std::nullopt;
  const TensorView queries = trace.tensor(all[0].queries), keys = trace.tensor(all[0].keys),
                   weights = trace.tensor(all[0].pattern);
  const std::int64_t n = weights.axes[2].size, width = queries.axes.back().size;
  if (keys.axes[2].size != weights.axes[3].size) return std::nullopt;
  const float* row = weights.data + (n - 1) * weights.axes[3].size;
  const std::int64_t best = std::max_element(row, row + weights.axes[3].size) - row;
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
  LabSeries terms{"own", {}, {}};
  LabPicture rows{"own", {}, {}, {}, LabColours::kSigned};
  for (const char* row : {"query", "key", "term"})
    rows.rows.push_back("lab.dot-product.row." + std::string(row));
  rows.cells = own->query;
  rows.cells.insert(rows.cells.end(), own->key.begin(), own->key.end());
  double sum = 0, agree = 0;
  std::size_t agreeing = 0;
  for (std::size_t e = 0; e < own->query.size(); ++e) {
    const double term = static_cast<double>(own->query[e]) * static_cast<double>(own->key[e]);
    terms.x.push_back(static_cast<double>(e));
    terms.y.push_back(term);
    rows.columns.push_back(std::to_string(e));
    rows.cells.push_back(static_cast<float>(term));
    sum += term;
    if (term > 0) agree += term, ++agreeing;
  }
  run.result.series.push_back(std::move(terms));
  rows.over = own->asks + " · " + own->answers;
  rows.under = lab_number(sum);
  run.result.pictures.push_back(std::move(rows));
  run.value("own", sum);
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

void add_words(LabRun& run, const FilmTable& t, const std::vector<std::size_t>& ranked,
               const LabSeries& error) {
  const std::size_t best = ranked.front(), last = ranked.back();
  const double most = t.product(t.who, best), least = t.product(t.who, last);
  const std::string who = film_name(kWishers[t.who]), film = film_name(kFilmIds[best]);
  if (most > t.product(t.who, ranked[1]))
    run.notice("best", {{"who", who, true},
                        {"film", film, true},
                        {"product", lab_number(most)},
                        {"last", film_name(kFilmIds[last]), true},
                        {"lowest", lab_number(least)}});
  double with = 0, against = 0;
  for (std::size_t i = 0; i < kFilmFeatures.size(); ++i) {
    const double term = t.term(t.who, best, i);
    (term > 0 ? with : against) += term;
  }
  if (with > 0 && against < 0)
    run.notice(
        "terms",
        {{"film", film, true}, {"with", lab_number(with)}, {"against", lab_number(against)}});
  if (error.y.back() < error.y.front() / 4)
    run.notice("learned",
               {{"before", lab_number(error.y.front())}, {"after", lab_number(error.y.back())}});
  if (most == least) return;  // nothing is wished for
  // Turned round, each product changes its sign.
  FilmTable opposite = t;
  for (float& wish : opposite.wishes[t.who]) wish = -wish;
  LabQuestion ask{
      "turned", {{"who", who, true}, {"film", film, true}}, {"first", "last", "between"}, 2, {}};
  const std::size_t lowest = film_ranking(opposite).back();
  if (opposite.product(t.who, best) == opposite.product(t.who, film_ranking(opposite).front()))
    ask.right = 0;
  if (opposite.product(t.who, best) == opposite.product(t.who, lowest)) ask.right = 1;
  ask.because = run.because(
      "turned", {{"film", film, true}, {"before", lab_number(most)}, {"after", lab_number(-most)}});
  run.result.questions.push_back(std::move(ask));
}

void run_dot_product(LabRun& run) {
  const FilmTable t = film_table(run);
  const auto tensor = [&](const char* name, const auto& vectors) {
    std::vector<float> cells;
    for (const FilmFeatures& v : vectors) cells.insert(cells.end(), v.begin(), v.end());
    run.result.tensors.push_back(lab_tensor(
        name, {{"position", std::ssize(vectors)}, {"feature", std::ssize(kFilmFeatures)}}, cells));
  };
  tensor("wishes", t.wishes);
  tensor("features", t.films);
  run.result.tensors.push_back(lab_tensor("who", {{"feature", 1}}, {static_cast<float>(t.who)}));
  const std::vector<std::size_t> ranked = film_ranking(t);
  add_ranking(run, t, ranked);
  FilmFactors factors;
  LabSeries error = factorise(run, factors);
  run.value("error", error.y.back());
  add_words(run, t, ranked, error);
  run.result.series.push_back(std::move(error));
  add_map(run, factors);
  add_own(run);
}

}  // namespace

Lab dot_product_lab() {
  Lab lab{"dot-product",
          "what",
          "Koren, Bell, Volinsky 2009, Matrix factorization techniques for recommender systems",
          {{"edit", {}}},
          run_dot_product,
          {{"ranking", {}, false, false, {}, LabChartForm::kBars},
           {"terms",
            {kFilmFeatures.begin(), kFilmFeatures.end()},
            false,
            false,
            {},
            LabChartForm::kBars},
           {"error", {}, false, true},
           {"map", {"films", "people"}, false, false, {}, LabChartForm::kPoints},
           {"own", {}, false, false, {}, LabChartForm::kBars}},
          "random",
          {Role::kScores},
          "q · k = q₁k₁ + q₂k₂ + … + q_d k_d"};
  std::vector<std::string_view>& words = lab.controls[0].words;
  words.assign(kWishers.begin(), kWishers.end());
  words.insert(words.end(), kFilmIds.begin(), kFilmIds.end());
  for (std::size_t i = 0; i < kFilmFeatures.size(); ++i)
    lab.controls.push_back(
        {kFilmFeatures[i], {}, -1, 1, std::round(100.0 * kWishVectors[0][i]) / 100});
  return lab;
}

}  // namespace headlight
