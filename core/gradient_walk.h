// The walk backwards, as a part of the program that a person can go through: the gradient of every
// tensor is a tensor of its own, "d.…", and every step has one that goes the other way.
#pragma once

#include <memory>

#include "core/backward.h"
#include "core/model/model.h"
#include "core/trace.h"

namespace headlight {

/// The program of the walk with the gradients it reaches, and its steps in reverse behind those
/// that go forward. Tensors, calls and steps of the walk's own program keep their places.
Program with_gradients(const Backward&);

/// What the model should have said to this very row, for L to be measured: the next token of each
/// place ([EOS] behind the last one of an encoder-decoder). Where the row does not tell, see
/// open_targets(), it is what `targets` (Document::targets) says, or else what the model finds
/// likeliest. A model that knows [MASK] and sees none is asked for each place's own token. Writes
/// the program's targets; needs a run's logits.
void aim(const Program&, const Model*, const RunInput&, std::span<const std::string> targets,
         std::span<float* const> memory);

/// The places of the program's targets about which the row says nothing, in order: the class of a
/// classifier, each [MASK] for a model that knows it.
std::vector<std::int64_t> open_targets(const Program&, const Model*, const RunInput&);

/// What such a place can be asked for, by name: the classes, or the tokens of the vocabulary.
std::span<const std::string> target_names(const Program&, const Model&);
/// The one with this name.
std::optional<std::int64_t> target_named(const Program&, const Model&, std::string_view name);

/// In which order explain() has them: the calls that read this tensor and pass a gradient to it.
struct GradientPart {
  int call = -1;   // its place in Program::calls
  int input = -1;  // which of its inputs the tensor is
};
std::vector<GradientPart> gradient_parts(const Program&, TensorId tensor);

}  // namespace headlight
