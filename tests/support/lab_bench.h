// Runs labs as a person would: a sentence, settings, the random model or a bundled one.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "core/lab/lab.h"
#include "core/lab/lab_files.h"
#include "core/model/bundled.h"
#include "core/model/model.h"

namespace headlight {

inline constexpr const char* kLabSentence = "the little dog was sad because it lost the ball";

struct LabBench {
  Runner runner;
  std::unique_ptr<Backend> backend = make_backend("cpu", 1);

  LabResult run(const char* lab, const Document& document, const LabSettings& settings = {},
                ProgressFunction progress = {}) {
    return run_lab(find_lab(lab), {document, runner, *backend, std::move(progress)}, settings);
  }
  LabResult run(const char* lab, const std::string& sentence = kLabSentence,
                const LabSettings& settings = {}, const std::string& model = "") {
    Document document;
    document.sentence = sentence;
    if (!model.empty()) {
      document.model = std::string(kBundledRef) + model;
      document.config = runner.load(document.model)->file.config;
    }
    return run(lab, document, settings);
  }
};

/// One lab, run on documents; and it can be stopped.
struct OneLab : LabBench {
  std::string lab;
  explicit OneLab(std::string id) : lab(std::move(id)) {}

  Document document(const std::string& model = "") {
    Document d;
    d.sentence = kLabSentence;
    if (model.empty()) return d;
    d.model = std::string(kBundledRef) + model;
    d.config = runner.load(d.model)->file.config;
    return d;
  }
  LabResult run(const Document& d, const LabSettings& settings = {}, ProgressFunction told = {}) {
    return LabBench::run(lab.c_str(), d, settings, std::move(told));
  }
  LabResult with(const LabSettings& settings) { return run(document(), settings); }
  /// It can be stopped when it has told so often of its progress.
  void stops_after(int times, const Document& d, const LabSettings& settings = {}) {
    int told = 0;
    CHECK_THROWS_AS(run(d, settings, [&](const Progress&) { return ++told < times; }), Cancelled);
    CHECK(told == times);
  }
};

inline bool has_note(const LabResult& r, std::string_view id) {
  return std::ranges::any_of(r.notes, [&](const Message& m) { return m.id == id; });
}

inline bool has_notice(const LabResult& r, std::string_view id) {
  return std::ranges::any_of(
      r.notice, [&](const Message& m) { return m.id.ends_with(".notice." + std::string(id)); });
}

/// The right answer of the question with this id; "" where it is not asked.
inline std::string right_answer(const LabResult& r, std::string_view question) {
  const auto found = std::ranges::find(r.questions, question, &LabQuestion::id);
  return found == r.questions.end() ? "" : found->answers.at(found->right);
}

inline const LabSeries& series_of(const LabResult& r, std::string_view name) {
  const auto found = std::ranges::find(r.series, name, &LabSeries::name);
  REQUIRE(found != r.series.end());
  return *found;
}

/// Trains live until the first curve has so many points, and stops it there: is it that of the run
/// that is kept? Both are float32; another compiler rounds otherwise, and little of that grows in
/// few steps.
inline void check_first_points(LabBench& bench, const char* lab, std::size_t points) {
  Document document;
  document.sentence = kLabSentence;
  std::vector<Tensor> live;
  bool enough = false;
  const LabInput input{document, bench.runner, *bench.backend,
                       [&](const Progress&) { return !enough; },
                       [&](const LabResult& r) {
                         if (r.trained.empty()) return;
                         live = r.trained;
                         enough = live[0].axes[0].size >= static_cast<std::int64_t>(points);
                       }};
  CHECK_THROWS_AS(run_lab(find_lab(lab), input, {{"run", "live"}}), Cancelled);
  REQUIRE_FALSE(live.empty());
  REQUIRE(live.size() == 1);
  const LabResult kept = run_lab(find_lab(lab), {document, bench.runner, *bench.backend});
  const auto found = std::ranges::find(kept.trained, live[0].name, &Tensor::name);
  REQUIRE(found != kept.trained.end());
  REQUIRE(live[0].data.size() == 3 * points);
  for (std::size_t i = 0; i < live[0].data.size(); ++i)
    CHECK(live[0].data[i] == doctest::Approx(found->data[i]).epsilon(0.02));
}

/// Every series is drawn in one of the lab's charts.
inline bool all_are_drawn(const Lab& lab, const LabResult& r) {
  return std::ranges::all_of(r.series, [&](const LabSeries& s) {
    return std::ranges::any_of(lab.charts, [&](const LabChart& c) {
      if (s.name == c.id) return c.lines.empty();
      return std::ranges::any_of(c.lines, [&](std::string_view line) {
        return s.name == std::string(c.id) + "." + std::string(line);
      });
    });
  });
}

}  // namespace headlight
