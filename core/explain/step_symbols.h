// What a step is in mathematics, which is the same in every language.
#pragma once

#include <string_view>

#include "core/graph/program.h"

namespace headlight {

struct StepSymbols {
  std::string_view hint, formula;  // as in StepText
};

StepSymbols step_symbols(const Program&, const Step&);
/// The same of a step that goes backwards: what it passes on, and how.
StepSymbols gradient_symbols(const Program&, const Step&);

}  // namespace headlight
