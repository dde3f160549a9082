// Does training on this driver compute what it should? Steps of small models beside the
// processor's: attention as one kernel, the loss, the backward pass, clipping, and every
// optimizer's update. It is a part of the self-test (gl_self_test.h).
#pragma once

#include <string>
#include <vector>

#include "app/gl/compute/backend_gl.h"
#include "core/base/message.h"
#include "core/train/optim/optimizer.h"

namespace headlight {

/// Steps of one model with one optimizer that went wrong.
struct GlTrainingFailure {
  OptimizerKind optimizer{};
  /// The larger of two: of the first step's gradients, and of what two steps changed of the weights
  /// (CellDifference::error over all parameters together). 0 where there is a message.
  double error = 0;
  double limit = 0;
  Message message;  // why it could not be run at all
};

/// How many trials there are, of each optimizer one or more.
int training_trials();
/// Makes one of them, and adds to the failures, of which each optimizer has one at most. Throws as
/// test_training() does.
void try_training(GlBackend&, int trial, std::vector<GlTrainingFailure>&);

/// All of them: the failures. Limits are 1e-9 with a software renderer, 1e-7 with
/// hardware. Throws Error for a device that is lost or has no memory left.
std::vector<GlTrainingFailure> test_training(GlBackend&);

}  // namespace headlight
