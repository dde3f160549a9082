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
