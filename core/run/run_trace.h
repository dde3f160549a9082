// A run on its own: a program, what it reads and its weights in; a trace out. Runner does the same
// for a document, and keeps what the next keystroke can use again.
#pragma once

#include <memory>

#include "core/backends/backend.h"
#include "core/model/parameter_source.h"
#include "core/run/trace.h"

namespace headlight {

/// Runs a program of one row. Its inputs come from `input`: the ids, as many as the program has
/// positions and source tokens, none of them padding, and the mask of its config. Targets, where it
/// has them, are −1 but for what should come next within the row; dropout leaves nothing out.
/// Throws Error for an input of other sizes.
std::shared_ptr<const Trace> run_trace(std::shared_ptr<const Program>, RunInput, ParameterSource&,
                                       Backend&);

}  // namespace headlight
