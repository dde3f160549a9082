// Runs a line for the shell, where what is tested is what the shell sets up: limits, closed
// streams.
#pragma once

#include <string>

#include "tests/cli/child.h"

namespace headlight::test {

/// run() of a line for the shell, which finds the program in $HEADLIGHT.
Result run_shell(const std::string& line);

}  // namespace headlight::test
