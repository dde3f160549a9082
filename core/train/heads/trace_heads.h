// TraceHeads: what kind of heads a trace has, on its own sentence.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/run/trace.h"
#include "core/train/heads/head_scores.h"

namespace headlight {

/// The steps that make attention weights, as places in Program::steps: one for each layer; of an
/// encoder-decoder the encoder's first, then of each decoder layer its own and the crossing one.
/// Steps that go backwards are none of them.
std::vector<int> pattern_steps(const Program&);

/// The scores of every head of a trace.
struct TraceHeads {
  std::uint64_t serial = 0;  // of the trace
  // By attention, in the order of pattern_steps(), and by head.
  std::vector<std::vector<HeadScores>> scores;
};

/// Measures them as head_scores() does. Of cross-attention only what asks for no tokens; the halves
/// are those of the trace's own tokens. Takes as long as reading every weight a few times: once for
/// a trace, not for a frame.
TraceHeads score_heads(const Trace&, const std::optional<Halves>& = std::nullopt);

}  // namespace headlight
