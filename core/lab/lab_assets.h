// The files of assets/labs, built into the program: a lab's calculation in NumPy (<id>.py, with
// read.py before all of them and write.py behind), and what its training found (<id>.safetensors).
#pragma once

#include <string_view>

namespace headlight {

/// Empty where there is none.
std::string_view lab_asset(std::string_view name);

}  // namespace headlight
