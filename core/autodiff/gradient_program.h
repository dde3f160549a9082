// The backward pass, as a part of the program that a person can go through: the gradient of every
// tensor is a tensor of its own, "d.…", and every step has one that goes the other way.
#pragma once

#include <vector>

#include "core/autodiff/backward.h"

namespace headlight {

/// The program of the backward pass with the gradients it reaches, and its steps in reverse behind
/// those that go forward. Tensors, calls and steps of the backward pass's own program keep their
/// places.
Program with_gradients(const Backward&);

/// In which order explain() has them: the calls that read this tensor and pass a gradient to it.
struct GradientPart {
  int call = -1;   // its place in Program::calls
  int input = -1;  // which of its inputs the tensor is
};
std::vector<GradientPart> gradient_parts(const Program&, TensorId tensor);

}  // namespace headlight
