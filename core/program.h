// Program: the transformer as data. A list of operations over named tensors, built from a Config in
// one place; every other part of the app is a reader of this list.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/config.h"
#include "core/ops/op.h"
#include "core/tensor.h"

namespace headlight {

enum class TensorKind { kInput, kParameter, kActivation, kAlias };

/// A tensor of a program: its name, its axes, where its memory comes from.
struct TensorSpec {
  std::string name;
  std::vector<Axis> axes;
  TensorKind kind = TensorKind::kActivation;
  TensorId source = -1;  // kAlias: the tensor whose memory this is another name of
};

/// The places on the rail. One step shows one operation, or a few that belong together.
enum class StepKind {
  kTokens,
  kEmbedding,
  kPosition,
  kPositionSum,
  kNormBeforeAttention,
  kQueries,
  kKeys,
  kValues,
  kSplit,
  kScores,
  kScale,
  kMask,
  kSoftmax,
  kWeightedSum,
  kConcat,
  kOutput,
  kResidualAttention,
  kNormAfterAttention,
  kNormBeforeFeedForward,
  kFeedForwardIn,
  kActivation,
  kFeedForwardOut,
  kResidualFeedForward,
  kNormAfterFeedForward,
  kFinalNorm,
  kLogits,
  kProbabilities,
  kLoss,
};

enum class Section { kInput, kAttention, kFeedForward, kPrediction };

struct Step {
  StepKind kind{};
  Section section{};
  int layer = -1;          // -1 outside the layers
  std::vector<int> calls;  // places in Program::calls; empty for the tokens
  TensorId tensor = -1;    // the step's main output; its name is the step's name
};

/// Sizes of a run that are not in the Config.
struct RunShape {
  std::int64_t batch = 1, positions = 0, vocab = 0;
  bool operator==(const RunShape&) const = default;
};

struct Program {
  Config config;
  RunShape shape;
  std::vector<TensorSpec> tensors;
  std::vector<OpCall> calls;
  std::vector<Step> steps;
  TensorId token_ids = -1, mask = -1;  // the inputs; mask is -1 when there is none
  TensorId targets = -1, loss = -1;    // only of a program that is for training

  /// -1 when there is no such tensor.
  TensorId find(std::string_view name) const;
  /// Throws UsageError with the nearest names that do exist.
  TensorId require(std::string_view name) const;
  /// Follows aliases to the tensor that owns the memory.
  TensorId resolve(TensorId id) const;
  /// Which call made this tensor (through aliases); -1 for inputs and parameters.
  int producer(TensorId id) const;
  /// The step that shows this tensor: the one that makes it, or the first that reads it.
  int step_of(TensorId id) const;
  TensorView look(TensorId id) const { return {tensors[id].name, tensors[id].axes, nullptr}; }

  std::unordered_map<std::string, TensorId> by_name;
};

/// The only place that knows the order of a transformer. Throws UsageError (validate).
Program build_program(const Config&, const RunShape&);

/// The same, and what training needs: the input "targets" (batch, position), for each position the
/// id that should come next, or -1 where none is counted; and "loss" (batch, position), the
/// cross-entropy of the logits, 0 where none is counted. Throws UsageError (validate).
Program build_training_program(const Config&, const RunShape&);

/// The calls that tensor `id` needs, in order. A run of just these makes it, and leaves what stands
/// apart from it (the probabilities, where the loss is asked for) unwritten.
std::vector<OpCall> calls_for(const Program&, TensorId id);

/// Bytes that a run of build_program(config, shape) takes: all parameters and every kept tensor.
/// Computed without building anything, so that it can be said before memory is asked for.
double memory_needed(const Config&, const RunShape&);

}  // namespace headlight
