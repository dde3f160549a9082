// People's wishes and films as vectors of features; and a table of ratings, with two numbers for
// each person and film whose products come near to it.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "core/lab/lab_run.h"

namespace headlight {

inline constexpr std::array<const char*, 4> kFilmFeatures = {"action", "romance", "comedy",
                                                             "length"};
using FilmFeatures = std::array<float, kFilmFeatures.size()>;  // from −1 (none of it, short) to 1
// What the people wish for; the first is the person who sits here.
inline constexpr std::array<const char*, 3> kWishers = {"you", "ann", "ben"};
inline constexpr std::array<FilmFeatures, kWishers.size()> kWishVectors = {
    {{0.8f, -0.5f, 0.3f, 0.0f}, {-0.7f, 0.9f, 0.2f, 0.4f}, {-0.2f, -0.3f, 1.0f, -0.8f}}};
inline constexpr std::array<const char*, 6> kFilmIds = {"chase",  "heist", "love",
                                                        "romcom", "farce", "drama"};
inline constexpr std::array<FilmFeatures, kFilmIds.size()> kFilmVectors = {
    {{0.9f, -0.6f, -0.4f, 0.5f},
     {0.7f, -0.2f, 0.6f, -0.1f},
     {-0.8f, 0.9f, -0.1f, 0.7f},
     {-0.6f, 0.8f, 0.8f, -0.3f},
     {-0.9f, -0.5f, 0.9f, -0.8f},
     {0.1f, 0.3f, -0.7f, 0.9f}}};

inline std::string film_name(std::string_view id) { return "lab.word." + std::string(id); }

template <std::size_t n>
std::vector<std::string> film_names(const std::array<const char*, n>& ids) {
  std::vector<std::string> names;
  for (const char* id : ids) names.push_back(film_name(id));
  return names;
}

// The vectors as they are edited, and whose wishes are looked at.
struct FilmTable {
  std::array<FilmFeatures, kWishers.size()> wishes = kWishVectors;
  std::array<FilmFeatures, kFilmVectors.size()> films = kFilmVectors;
  std::size_t who = 0;

  double term(std::size_t person, std::size_t film, std::size_t feature) const {
    return static_cast<double>(wishes[person][feature]) * static_cast<double>(films[film][feature]);
  }
  double product(std::size_t person, std::size_t film) const {
    double sum = 0;
    for (std::size_t i = 0; i < kFilmFeatures.size(); ++i) sum += term(person, film, i);
    return sum;
  }
};

inline FilmTable film_table(const LabRun& run) {
  FilmTable t;
  FilmFeatures own{};
  for (std::size_t i = 0; i < kFilmFeatures.size(); ++i)
    own[i] = static_cast<float>(run.number(kFilmFeatures[i]));
  const std::string& edited = run.word("edit");
  for (std::size_t i = 0; i < kWishers.size(); ++i) {
    if (edited == kWishers[i]) t.wishes[t.who = i] = own;
  }
  for (std::size_t i = 0; i < kFilmIds.size(); ++i) {
    if (edited == kFilmIds[i]) t.films[i] = own;
  }
  return t;
}

// The films, those that fit best first.
inline std::vector<std::size_t> film_ranking(const FilmTable& t) {
  std::vector<std::size_t> films;
  for (std::size_t f = 0; f < kFilmVectors.size(); ++f) films.push_back(f);
  std::ranges::stable_sort(films, std::greater{},
                           [&](std::size_t f) { return t.product(t.who, f); });
  return films;
}

// ---- ratings ----

inline constexpr std::size_t kRatedFilms = 6;
// Five people's ratings of these films, −2 to 2.
inline constexpr std::array<const char*, 5> kRaters = {"ann", "ben", "carla", "dan", "eve"};
inline constexpr std::size_t kRaterCount = kRaters.size(), kFactorCount = 2;
inline constexpr std::array<std::array<float, kRatedFilms>, kRaterCount> kRatings = {
    {{-1, 0, 2, 1, -1, 1},
     {0, 1, -1, 1, 2, -2},
     {2, 1, -2, -1, -1, 0},
     {1, 2, -1, 0, 1, -1},
     {-2, -1, 1, 2, 1, 0}}};
inline constexpr int kFactorUpdates = 200;
inline constexpr double kFactorRate = 0.05;

// Two factors for each person and film, so that their products come near to the ratings.
struct FilmFactors {
  std::vector<double> people, films;  // (person, factor), (film, factor)
};

inline double factor_error(const FilmFactors& f, std::vector<double>* misses = nullptr) {
  double sum = 0;
  if (misses) misses->clear();
  for (std::size_t p = 0; p < kRaterCount; ++p) {
    for (std::size_t m = 0; m < kRatedFilms; ++m) {
      double product = 0;
      for (std::size_t k = 0; k < kFactorCount; ++k)
        product += f.people[p * kFactorCount + k] * f.films[m * kFactorCount + k];
      const double miss = product - static_cast<double>(kRatings[p][m]);
      if (misses) misses->push_back(miss);
      sum += miss * miss;
    }
  }
  return sum / static_cast<double>(kRaterCount * kRatedFilms);
}

// One step down the gradient of half the sum of squares.
inline void update_factors(FilmFactors& f) {
  std::vector<double> misses;
  factor_error(f, &misses);
  const FilmFactors old = f;
  for (std::size_t p = 0; p < kRaterCount; ++p) {
    for (std::size_t m = 0; m < kRatedFilms; ++m) {
      for (std::size_t k = 0; k < kFactorCount; ++k) {
        const double miss = kFactorRate * misses[p * kRatedFilms + m];
        f.people[p * kFactorCount + k] -= miss * old.films[m * kFactorCount + k];
        f.films[m * kFactorCount + k] -= miss * old.people[p * kFactorCount + k];
      }
    }
  }
}

}  // namespace headlight
