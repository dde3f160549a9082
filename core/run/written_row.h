// What an encoder-decoder writes by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/backends/backend.h"
#include "core/base/progress.h"
#include "core/model/model.h"
#include "core/model/parameter_source.h"
#include "core/run/trace.h"

namespace headlight {

/// What is written for `input.source_ids`: [BOS], what is forced to follow, then always the token
/// that is chosen from the logits behind the row so far, up to and without [EOS], `most` ids at the
/// most. For each of them its own row is computed where queries only look back, else all of them;
/// the encoder is run once (all is run each time by a backend that does not run parts). Before each
/// it tells how far the longest row would be. Logits are as those of a whole run to a few units in
/// the last place. Throws Cancelled.
std::vector<int> written_row(const Model&, const Config&, const RunInput& input, std::int64_t most,
                             const std::function<int(std::span<const float> logits)>& choose,
                             ParameterSource&, Backend&, const ProgressFunction& = {});
/// The same, of the largest logit, the first of equal ones.
std::vector<int> greedy_row(const Model&, const Config&, const RunInput& input, std::int64_t most,
                            ParameterSource&, Backend&, const ProgressFunction& = {});

}  // namespace headlight
