// What two descriptions of a model say differently, as far as it changes numbers.
#pragma once

#include <string>
#include <vector>

#include "core/model/model_file.h"

namespace headlight {

/// One option, as the command line calls it, and its two values.
struct OptionDifference {
  std::string option, own, other;
};

/// Nothing: a run of either gives the same numbers with the same weights. What matters to training
/// alone (the seed, penalties), and how attention is computed and shown, does not count.
std::vector<OptionDifference> number_differences(const ModelFile& own, const ModelFile& other);

/// `own` with what adds nothing while it is zeros, where `other` has it: biases, and rows of
/// segments.
ModelFile with_zeros(ModelFile own, const ModelFile& other);

}  // namespace headlight
