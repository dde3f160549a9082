// HeadMeasurement: what a model's heads do on many sentences, not only on the one that is shown.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/run/runner.h"
#include "core/train/heads/head_rules.h"
#include "core/train/heads/head_scores.h"

namespace headlight {

struct MeasuredSentence {
  std::string text;
  bool written = false;          // only its beginning: the model goes on with it
  std::optional<Halves> halves;  // of an example of a task that copies
  int claim = -1;                // of the model's recipe, whose rule it belongs to; -1: of none
  MarkedSentence marked;
};

/// The sentences that a model's heads are measured on. Of one that learned a task 200 fresh
/// examples. Of one that writes text 24 texts, and of a bundled one before them 200 or more
/// sentences of each rule of its recipe. Of any other one, and of random weights (null), 200 of the
/// rules' sentences of that bundled model whose sentences become the fewest tokens. Empty: it does
/// not know their words.
std::vector<MeasuredSentence> measured_sentences(const Model*);

struct MeasuredHeads {
  std::size_t sentences = 0;
  std::size_t written = 0;  // of them: texts that the model wrote
  std::string first;        // the first of those that the scores are means over
  // As TraceHeads::scores has them: means over the rows of all texts that the model wrote, or where
  // there are none of all sentences. Those of a rule are too much alike for the usual scores.
  std::vector<std::vector<HeadScores>> scores;
  // By claim of the model's recipe: the mean weight over the sentences of its rule.
  std::vector<std::optional<double>> claims;
};

class HeadMeasurement {
 public:
  /// The document says what is computed; its sentence does not count. A null model: the sandbox.
  HeadMeasurement(const Document&, std::shared_ptr<const Model>, RunLimits = {});

  /// How many sentences there are, and how many have been measured.
  std::size_t count() const { return sentences_.size(); }
  std::size_t done() const { return done_; }
  /// Measures the next one; there must be one. Throws Error for what cannot be run.
  void step();
  MeasuredHeads result() const;

 private:
  std::string written_text(const std::string& beginning) const;
  void add_scores(const Trace&, const MeasuredSentence&);
  void add_claim(const Trace&, const MeasuredSentence&);

  struct ClaimSum {
    double weight = 0;
    std::size_t count = 0;
  };

  Document document_;
  std::shared_ptr<const Model> model_;
  std::vector<MeasuredSentence> sentences_;
  std::size_t done_ = 0, written_ = 0;
  bool writes_ = false;
  std::string first_;
  Runner runner_;
  std::unique_ptr<Backend> backend_;
  std::vector<std::vector<HeadScoreMean>> means_;
  std::vector<ClaimSum> claims_;
};

}  // namespace headlight
