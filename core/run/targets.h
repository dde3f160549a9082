// What a model should have said to a row, and the loss of what it did say.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model.h"
#include "core/run/trace.h"

namespace headlight {

/// What the model should have said to this very row, for L to be measured: the next token of each
/// place ([EOS] behind the last one of an encoder-decoder). Where the row does not tell, see
/// open_targets(), it is what `targets` (Document::targets) says, or else what the model finds
/// likeliest. A model that knows [MASK] and sees none is asked for each place's own token. Writes
/// the program's targets; needs a run's logits.
void aim(const Program&, const Model*, const RunInput&, std::span<const std::string> targets,
         std::span<float* const> memory);

/// The places of the program's targets about which the row says nothing, in order: the class of a
/// classifier, each [MASK] for a model that knows it, each number.
std::vector<std::int64_t> open_targets(const Program&, const Model*, const RunInput&);

/// What such a place can be asked for, by name: the classes, or the tokens of the vocabulary.
std::span<const std::string> target_names(const Program&, const Model*, const RunInput&);
/// The one with this name.
std::optional<std::int64_t> target_named(const Program&, const Model*, const RunInput&,
                                         std::string_view name);

/// How many targets are counted, and their mean loss, of a trace of a training program.
std::int64_t counted_targets(const Trace&);
double mean_loss(const Trace&);

}  // namespace headlight
