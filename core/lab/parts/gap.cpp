// A hidden word, asked of the bundled model that fills gaps, which reads both sides, and of the one
// that says what comes next, which reads the left side alone. Both learned the same language.
#include <algorithm>
#include <cmath>

#include "core/lab/lab_training.h"
#include "core/lab/parts/parts.h"
#include "core/model/bundled.h"
#include "core/train/tasks/english.h"

namespace headlight {
namespace {

constexpr std::size_t kGapRows = 24, kGapWords = 23, kGapPlaces = 22;

using GapRows = std::vector<std::vector<std::string>>;

GapRows draw_words() {
  GapRows rows;
  Random random(7);
  for (std::size_t r = 0; r < kGapRows; ++r) {
    std::vector<std::string> words;
    while (words.size() < kGapWords) {
      for (const std::string_view word : draw_story(random).words) words.emplace_back(word);
    }
    words.resize(kGapWords);
    rows.push_back(std::move(words));
  }
  return rows;
}

std::vector<std::vector<int>> gap_ids_of(const GapRows& rows, const Vocabulary& vocabulary,
                                         std::optional<Special> first) {
  std::vector<std::vector<int>> all;
  for (const auto& words : rows) {
    std::vector<int> ids;
    if (first) ids.push_back(vocabulary.id_of(*first).value());
    for (const std::string& word : words) ids.push_back(vocabulary.find(word).value());
    all.push_back(std::move(ids));
  }
  return all;
}

// The logits that one model has for each hidden word, (places, rows, vocab), and which is right.
struct GapAnswers {
  std::vector<float> logits, right;
  std::int64_t vocab = 0;

  // By place and row.
  double probability(std::size_t place, std::size_t row) const {
    const std::size_t at = place * kGapRows + row;
    const std::span<const float> cells{logits.data() + at * static_cast<std::size_t>(vocab),
                                       static_cast<std::size_t>(vocab)};
    const int target = static_cast<int>(right[at]);
    return std::exp(-mean_loss(cells, {&target, 1}));
  }
  double mean(std::size_t place) const {
    double sum = 0;
    for (std::size_t r = 0; r < kGapRows; ++r) sum += probability(place, r);
    return sum / static_cast<double>(kGapRows);
  }
  void add(std::span<const float> row, int id) {
    logits.insert(logits.end(), row.begin(), row.end());
    right.push_back(static_cast<float>(id));
    vocab = std::ssize(row);
  }
  void export_to(LabResult& result, const std::string& name) const {
    result.tensors.push_back(lab_tensor(
        "said." + name, {{"kept", kGapPlaces}, {"batch", kGapRows}, {"vocab", vocab}}, logits));
    result.tensors.push_back(
        lab_tensor("right." + name, {{"kept", kGapPlaces}, {"batch", kGapRows}}, right));
  }
};

std::vector<int> flat_gap_ids(const std::vector<std::vector<int>>& rows) {
  std::vector<int> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

GapAnswers by_both_sides(LabRun& run, const GapRows& words) {
  Predictor predictor(run.runner().load(std::string(kBundledRef) + "masked"), kLabThreads);
  const Vocabulary& vocabulary = *predictor.model().vocabulary;
  const auto rows = gap_ids_of(words, vocabulary, Special::kClass);
  const std::size_t width = rows[0].size();
  GapAnswers answers;
  for (std::size_t place = 1; place <= kGapPlaces; ++place) {
    run.tell(static_cast<double>(place) / kGapPlaces);
    auto hidden = rows;
    for (auto& row : hidden) row[place + 1] = vocabulary.id_of(Special::kMask).value();
    const auto logits = predictor.logits(flat_gap_ids(hidden), static_cast<std::int64_t>(width));
    const std::size_t vocab = logits.size() / (kGapRows * width);
    for (std::size_t r = 0; r < kGapRows; ++r)
      answers.add(logits.subspan((r * width + place + 1) * vocab, vocab), rows[r][place + 1]);
  }
  return answers;
}

GapAnswers by_left_side(LabRun& run, const GapRows& words) {
  Predictor predictor(run.runner().load(std::string(kBundledRef) + "grammar"), kLabThreads);
  const auto rows = gap_ids_of(words, *predictor.model().vocabulary, std::nullopt);
  const std::size_t width = rows[0].size();
  const auto logits = predictor.logits(flat_gap_ids(rows), static_cast<std::int64_t>(width));
  const std::size_t vocab = logits.size() / (kGapRows * width);
  GapAnswers answers;
  for (std::size_t place = 1; place <= kGapPlaces; ++place) {
    for (std::size_t r = 0; r < kGapRows; ++r)
      answers.add(logits.subspan((r * width + place - 1) * vocab, vocab), rows[r][place]);
  }
  return answers;
}

// "… mary gives ___ ball to …"
std::string around_gap(const std::vector<std::string>& words, std::size_t place) {
  const std::size_t first = place > 5 ? place - 5 : 0, last = std::min(place + 6, words.size());
  std::string text = first > 0 ? "…" : "";
  for (std::size_t i = first; i < last; ++i)
    text += (text.empty() ? "" : " ") + (i == place ? std::string("___") : words[i]);
  return text + (last < words.size() ? " …" : "");
}

}  // namespace

void show_gap(LabRun& run) {
  const GapRows words = draw_words();
  const GapAnswers both = by_both_sides(run, words), left = by_left_side(run, words);
  LabSeries of_both{"gap.both", {}, {}}, of_left{"gap.left", {}, {}};
  for (std::size_t place = 0; place < kGapPlaces; ++place) {
    of_both.x.push_back(static_cast<double>(place + 1));
    of_left.x.push_back(static_cast<double>(place + 1));
    of_both.y.push_back(both.mean(place));
    of_left.y.push_back(left.mean(place));
  }
  const auto chosen = static_cast<std::size_t>(run.whole("gap")) - 1;
  const double b = of_both.y[chosen], l = of_left.y[chosen];
  run.value("gap.both", b);
  run.value("gap.left", l);
  both.export_to(run.result, "both");
  left.export_to(run.result, "left");
  const auto apart = [&](std::size_t row) {
    return both.probability(chosen, row) - left.probability(chosen, row);
  };
  std::size_t most = 0;
  for (std::size_t row = 1; row < kGapRows; ++row) most = apart(row) > apart(most) ? row : most;
  if (apart(most) > 0.1)
    run.notice("gap", {{"rows", std::to_string(kGapRows)},
                       {"text", around_gap(words[most], chosen + 1)},
                       {"word", words[most][chosen + 1]},
                       {"both", lab_percent(both.probability(chosen, most))},
                       {"left", lab_percent(left.probability(chosen, most))}});
  LabQuestion ask{"gap",
                  {{"gap", std::to_string(chosen + 1)}},
                  {"both", "left", "same"},
                  b > 1.1 * l   ? 0u
                  : l > 1.1 * b ? 1u
                                : 2u,
                  {}};
  ask.because = run.because("gap", {{"both", lab_percent(b)}, {"left", lab_percent(l)}});
  run.result.questions.push_back(std::move(ask));
  run.result.series.push_back(std::move(of_both));
  run.result.series.push_back(std::move(of_left));
}

}  // namespace headlight
