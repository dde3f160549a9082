// Program: the transformer as data. A list of operations over named tensors, built from a Config in
// one place; every other part of the app is a reader of this list.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/tensor.h"
#include "core/graph/config.h"
#include "core/graph/roles.h"
#include "core/ops/op.h"

namespace headlight {

/// kGradient: dL/d(source), of a program with a backward pass. It lies where the backward pass
/// keeps it.
enum class TensorKind { kInput, kParameter, kActivation, kAlias, kGradient };

/// Steps of cross-attention are those of attention, in a section of their own.
enum class Section { kInput, kAttention, kCrossAttention, kMixer, kFeedForward, kPrediction };

/// Which stack of layers a step or a tensor belongs to.
enum class Stack { kOnly, kEncoder, kDecoder };

/// Where in the model a tensor belongs; what two stacks share is the encoder's.
struct Place {
  Stack stack = Stack::kOnly;
  Section section = Section::kInput;
  int layer = -1;  // -1 outside the layers
  bool operator==(const Place&) const = default;
};

/// Whose heads an attention's are.
inline HeadsOf heads_of(Stack stack, Section section) {
  if (section == Section::kCrossAttention) return HeadsOf::kCross;
  return stack == Stack::kEncoder ? HeadsOf::kEncoder : HeadsOf::kOwn;
}

/// A tensor of a program: its name, its axes, where its memory comes from, what it is for. A
/// gradient has the role and the place of what it is the gradient of.
struct TensorSpec {
  std::string name;
  std::vector<Axis> axes;
  TensorKind kind = TensorKind::kActivation;
  TensorId source = -1;  // kAlias: the tensor whose memory this is another name of; kGradient
  Role role{};
  Place place{};
  std::string symbol{};     // in figures: "S", "Q", "dx"; captions read "Q (12 × 16)"
  std::string file_name{};  // kParameter: the field's name, by which weights files know it
};

/// What is said of a step that goes one way: ids of the table of texts or, where it is the same in
/// every language, the text itself.
struct StepWords {
  std::string_view hint;      // on the rail: "Q Kᵀ"
  std::string_view formula;   // markup: {q|Q} in the colour of Q, ^{T} raised, _{k} lowered
  std::string_view sentence;  // under the title; its {places} are named in core/explain/lookups.h
};

/// All that is said of a step.
struct StepRow {
  std::string_view title;  // an id, or the same in every language: "ReLU"
  StepWords forward, backward;
  std::vector<std::string_view> paragraphs;  // ids of what is said at length, of the way forward
};

/// A place on the rail. One step shows one operation, or a few that belong together.
struct Step {
  StepRow row;
  Section section{};
  int layer = -1;          // -1 outside the layers
  std::vector<int> calls;  // places in Program::calls; empty for the tokens
  TensorId tensor = -1;    // the step's main output; its name is the step's name
  Stack stack = Stack::kOnly;
  // The same operations run in reverse: their gradients are shown, `tensor` is that of the
  // result.
  bool backward = false;
  int twin = -1;  // the place of the step that goes the other way; -1: there is none

  const StepWords& words() const { return backward ? row.backward : row.forward; }
};

/// Sizes of a run that are not in the Config.
struct RunShape {
  std::int64_t batch = 1, positions = 0, vocab = 0;
  std::int64_t classes = 0;  // ModelForm::kClasses: how many, at least 2
  std::int64_t source = 0;   // ModelForm::kTranslate: source tokens, at least 1
  // Rows may end in padding: whatever the config's mask is, every attention whose queries would
  // look at padding has a mask as input.
  bool padded = false;
  // ModelForm::kTokens: what is asked for is the token at each position, as where [MASK] hides it
  // or a number belongs to the one that stands there, and not the next one.
  bool in_place = false;
  // Config::memory: so many rows of the segment before are there; at most that many.
  std::int64_t memory = 0;
  // Config::segments: the id of [SEP], behind which the next sentence begins; -1: there is none.
  int separator = -1;
  // Places that learned positions have rows for, of the tokens and of the source; 0: as many as
  // there are tokens. A batch may be narrower than the rows that a model learns.
  std::int64_t context = 0, context_source = 0;
  // kTranslate: rows of the table that the encoder has for itself; 0: it reads the decoder's.
  std::int64_t source_vocab = 0;
  bool operator==(const RunShape&) const = default;
};

/// Calls that follow each other and are one attention, from the queries, keys and values of all
/// heads to what the heads found. What the builder says of them; fusion.h says who runs them as
/// one.
struct FusedAttention {
  int first_call = -1, last_call = -1;  // places in Program::calls
  // (batch, position, head · d_head), and the calls and inputs that pass their gradients on.
  TensorId q = -1, k = -1, v = -1;
  int q_call = -1, k_call = -1, v_call = -1;
  int k_input = 0, v_input = 0;
  TensorId mask = -1;  // (batch, query, key), −1: none
  // Of rotary positions: what q and k become, each laid out like them; −1: they stay as they are.
  TensorId turned_q = -1, turned_k = -1;
  int turn = -1;          // the call that turns q, −1: none
  TensorId pattern = -1;  // (batch, head, query, key)
  TensorId dropout = -1;  // what the pattern is multiplied by, −1: nothing
  TensorId out = -1;      // (batch, query, head · d_head)
  float factor = 1;       // of the scores
  double temperature = 1;
  bool operator==(const FusedAttention&) const = default;
};

struct Program {
  Config config;
  RunShape shape;
  std::vector<TensorSpec> tensors;
  std::vector<OpCall> calls;
  std::vector<Step> steps;
  std::vector<FusedAttention> attentions;  // in the order of their calls; of dot products only
  // The inputs; those that the model has no use for are -1.
  TensorId token_ids = -1, mask = -1;
  TensorId local_mask = -1;   // that of Config::local_layers, in place of `mask`
  TensorId segment_ids = -1;  // (batch, position): which sentence of the row
  // kClasses, of some kinds of pooling (batch, position): 1 for a token, 0 for padding
  TensorId present = -1;
  TensorId picked = -1;       // (batch, position): 1 for the token that stands for all
  TensorId pool_mask = -1;    // (batch, focus, key): 0 for a token, −∞ for padding
  TensorId added_mask = -1;   // of MaskSpec::adds(): (batch, head, query, key)
  TensorId source_ids = -1;   // kTranslate (batch, source)
  TensorId source_mask = -1;  // the encoder's (batch, source_query, source_key)
  TensorId cross_mask = -1;   // cross-attention's (batch, query, source_key)
  // Of Config::memory, by layer: the rows of the segment before (batch, memory, d_model), and the
  // tensor whose last rows they will be for the next segment.
  std::vector<TensorId> memories, remembered;
  // Of Config::masked_heads, of each attention that has such: (head), 1, or 0 for one that is off.
  std::vector<TensorId> head_masks;
  TensorId logits = -1, probabilities = -1;
  TensorId targets = -1, loss = -1;  // only of a program that is for training
  // Config::token_head (batch, position, vocab), and of training (batch, position): the tokens that
  // stand at hidden places, -1 elsewhere, their losses, and the share (batch, head, mean, key) that
  // each has in the mean.
  TensorId token_logits = -1, token_targets = -1, token_loss = -1, chosen = -1;
  // With a backward pass (with_gradients()), by TensorId: "d.…" of it, or -1. Otherwise empty.
  std::vector<TensorId> gradients;
  std::vector<TensorId> dropout;  // inputs of 0 and 1 / (1 − p), of the shapes of what they drop

  /// -1 when there is no such tensor.
  TensorId find(std::string_view name) const;
  /// Throws UsageError with the nearest names that do exist.
  TensorId require(std::string_view name) const;
  /// The first tensor of this role at the place of `near` or, where there is none, anywhere; -1:
  /// the program has none. Gradients are not found.
  TensorId find(Role, TensorId near) const;
  /// Is this what the step makes, or of a step that goes backwards its gradient?
  bool makes(const Step& step, Role role) const { return tensors[step.tensor].role == role; }
  /// Follows aliases to the tensor that owns the memory.
  TensorId resolve(TensorId id) const;
  /// The mask of a row's attention to itself in this layer; -1: it has none.
  TensorId own_mask(int layer) const { return config.is_local(layer) ? local_mask : mask; }
  /// What `local_mask` shows: the run's mask and the window together.
  MaskSpec local_spec() const {
    return config.local_layers.empty() ? config.mask : config.mask_of(config.local_layers.front());
  }
  bool is_own_mask(TensorId id) const { return id >= 0 && (id == mask || id == local_mask); }
  /// Is only what stands behind a [MASK] asked for?
  bool asks_for_masked() const { return shape.in_place && !config.numbers; }
  /// Which call made this tensor (through aliases); -1 for inputs and parameters.
  int producer(TensorId id) const;
  /// The step that shows this tensor: the one that makes it, or the first that reads it.
  int step_of(TensorId id) const;
  /// Of how many things one is chosen: rows of the vocabulary, or classes.
  std::int64_t outcomes() const {
    return config.form == ModelForm::kClasses ? shape.classes : shape.vocab;
  }
  /// The axis that has their names.
  std::string_view outcome_axis() const {
    return config.form == ModelForm::kClasses ? "class" : "vocab";
  }
  /// "d.…" of this tensor; -1 where there is none.
  TensorId gradient(TensorId id) const;
  bool is_gradient(TensorId id) const {
    return id >= 0 && tensors[resolve(id)].kind == TensorKind::kGradient;
  }
  /// Does this step go backwards? The steps that do not come first.
  bool is_backward(std::size_t step) const { return steps[step].backward; }
  std::size_t forward_steps() const;
  TensorView look(TensorId id) const { return {tensors[id].name, tensors[id].axes, nullptr}; }

  std::unordered_map<std::string, TensorId> by_name;

 private:
  int backward_step_of(TensorId id) const;
};

/// The only place that knows the order of a transformer. Throws UsageError (validate), also for a
/// shape without the classes or the source that the config's form asks for.
Program build_program(const Config&, const RunShape&);

/// The same, and what training needs: the input "targets" (batch, position), for each position the
/// id that should come next, or -1 where none is counted; and "loss" (batch, position), the
/// cross-entropy of the logits, 0 where none is counted. Of kClasses both are (batch), and the
/// target is the class; with Config::token_head the loss has the mean of the losses of hidden
/// tokens added. With `dropout`, the patterns and what joins the residual stream are
/// multiplied by the inputs Program::dropout. Throws UsageError (validate).
Program build_training_program(const Config&, const RunShape&, bool dropout = false);

/// call_flops() of one of its calls.
double call_flops(const Program&, const OpCall&);

/// The calls that tensor `id` needs, in order. A run of just these makes it, and leaves what stands
/// apart from it (the probabilities, where the loss is asked for) unwritten.
std::vector<OpCall> calls_for(const Program&, TensorId id);

/// Bytes that a run of build_program(config, shape) takes: all parameters and every kept tensor, as
/// ProgramCost::run_bytes() has them.
double memory_needed(const Config&, const RunShape&);

}  // namespace headlight
