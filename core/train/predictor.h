// Predictor: token ids in, logits out, as often as asked: generating and measuring with a model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/backends/backend.h"
#include "core/model/model.h"
#include "core/run/segment_memory.h"
#include "core/train/cached_predictor.h"
#include "core/train/sampling.h"

namespace headlight {

class Predictor {
 public:
  /// With the model's own config. Throws UsageError for a model that does not predict the tokens of
  /// one row: a classifier, an encoder-decoder.
  Predictor(std::shared_ptr<const Model>, int threads);

  /// `ids`: rows of `positions` tokens each, one after another; the result: (row, position, vocab),
  /// valid until the next call. Asked again for the same numbers it allocates nothing. Throws Error
  /// for ids that the model does not have and for more positions than it has learned. A model with
  /// memory remembers the segments before, of as many rows.
  std::span<const float> logits(std::span<const int> ids, std::int64_t positions);

  /// From now on the rows of the last logits() are the segment before: a model with memory
  /// remembers them. Nothing for other models.
  void remember();
  /// Nothing is remembered any more.
  void forget() { memory_.rows = 0; }

  /// The most positions at once: what it was trained on.
  std::int64_t context() const { return model_->file.context; }
  const Model& model() const { return *model_; }
  const std::shared_ptr<const Model>& shared_model() const { return model_; }

 private:
  void prepare(std::int64_t rows, std::int64_t positions);

  std::shared_ptr<const Model> model_;
  std::unique_ptr<Backend> backend_;
  ModelParameters source_;
  std::shared_ptr<const Program> program_;
  std::vector<OpCall> calls_;
  FloatBuffer arena_;
  std::vector<float*> cells_;
  std::vector<std::shared_ptr<const Tensor>> parameters_;
  SegmentMemory memory_, next_;
};

/// What the model reads of a text that it goes on with: what its tokenizer puts before a text, and
/// the text's own tokens.
std::vector<int> prompt_ids(const Model&, const std::string& prompt);

/// How a text goes on, token by token.
class Generator {
 public:
  /// Throws UsageError (validate), and Error for a prompt without a token where the model has no
  /// [BOS] to begin with, and for a token that it does not know.
  Generator(std::shared_ptr<const Model>, const std::string& prompt, const SamplingOptions&,
            std::uint64_t seed, int threads);
  /// The same of a prompt that is given as ids. Throws Error for an id that is not there.
  Generator(std::shared_ptr<const Model>, std::vector<int> ids, const SamplingOptions&,
            std::uint64_t seed, int threads);

  /// The text that the next token adds to what stands there; nothing after [EOS].
  std::optional<std::string> next();
  /// Are the tokens more than the model's context? Then the last ones alone are read, and their
  /// positions begin at 0 again. Not of a model with memory, which reads segment after segment.
  bool shifted() const {
    return !remembers() && static_cast<std::int64_t>(ids_.size()) > predictor_.context();
  }
  const std::vector<int>& ids() const { return ids_; }

 private:
  bool remembers() const { return predictor_.model().file.config.memory > 0; }
  std::span<const float> logits();
  std::span<const float> logits_by_segments();

  Predictor predictor_;
  std::optional<CachedPredictor> cached_;  // while all tokens are read, where the model allows it
  SamplingOptions options_;
  std::uint64_t seed_, drawn_ = 0;
  std::vector<int> ids_;
  std::int64_t remembered_ = 0;  // tokens of the segments before the one that is being written
};

}  // namespace headlight
