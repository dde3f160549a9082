// What a test of one lab needs: it run on a sentence, and what it says.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "core/base/error.h"
#include "core/lab/lab.h"
#include "core/model/bundled.h"
#include "tests/support/error_text.h"

namespace headlight {

inline constexpr const char* kLabSentence = "the little dog was sad because it lost the ball";

struct LabBench {
  Runner runner{};
  std::unique_ptr<Backend> backend = make_backend("cpu", 1);
  std::string lab;

  explicit LabBench(std::string id) : lab(std::move(id)) {}

  Document document(const std::string& model = "") {
    Document d;
    d.sentence = kLabSentence;
    if (model.empty()) return d;
    d.model = std::string(kBundledRef) + model;
    d.config = runner.load(d.model)->file.config;
    return d;
  }
  LabResult run(const Document& d, const LabSettings& settings = {}, ProgressFunction told = {}) {
    return run_lab(find_lab(lab), {d, runner, *backend, std::move(told)}, settings);
  }
  LabResult with(const LabSettings& settings) { return run(document(), settings); }
  /// It can be stopped when it has told so often of its progress.
  void stops_after(int times, const Document& d, const LabSettings& settings = {}) {
    int told = 0;
    CHECK_THROWS_AS(run(d, settings, [&](const Progress&) { return ++told < times; }), Cancelled);
    CHECK(told == times);
  }
};

inline bool lab_notices(const LabResult& r, std::string_view id) {
  return std::ranges::any_of(
      r.notice, [&](const Message& m) { return m.id.ends_with(".notice." + std::string(id)); });
}

inline bool lab_notes(const LabResult& r, std::string_view id) {
  return std::ranges::any_of(r.notes, [&](const Message& m) { return m.id == id; });
}

/// The right answer; empty: it is not asked.
inline std::string lab_answer(const LabResult& r, std::string_view question) {
  const auto q = std::ranges::find(r.questions, question, &LabQuestion::id);
  return q == r.questions.end() ? "" : q->answers[q->right];
}

/// The line of a chart; throws where there is none.
inline const LabSeries& lab_line(const LabResult& r, std::string_view name) {
  const auto found = std::ranges::find(r.series, name, &LabSeries::name);
  REQUIRE(found != r.series.end());
  return *found;
}

/// Every series belongs to one of the lab's charts.
inline void check_charts(const LabResult& r, std::string_view lab) {
  for (const LabSeries& s : r.series) {
    CAPTURE(s.name);
    CHECK(std::ranges::any_of(find_lab(lab).charts, [&](const LabChart& c) {
      if (c.lines.empty()) return s.name == c.id;
      return std::ranges::any_of(c.lines, [&](std::string_view line) {
        return s.name == std::string(c.id) + "." + std::string(line);
      });
    }));
  }
}

}  // namespace headlight
