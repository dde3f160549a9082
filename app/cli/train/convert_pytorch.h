// headlight convert --to pytorch: the run of a folder, with the data that it learns from.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace headlight {

/// Under which the help lists them.
inline constexpr const char* kPytorchGroup = "With --to pytorch";

struct PytorchOptions {
  std::string text, labels, pairs, data_ids, validation;  // as of headlight train
  std::int64_t steps = 1000;  // whose batches are written, where they are not drawn from a text
};

void add_pytorch_options(CLI::App&, PytorchOptions&);

/// Writes the folder `to` for the run or the model `from`, the ref of a model. A run whose data are
/// not given is written without them, which is said. Throws as open_data() and
/// write_pytorch_folder().
void convert_to_pytorch(const std::string& from, const std::string& to, const PytorchOptions&);

}  // namespace headlight
