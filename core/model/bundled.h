// The models that come with the program: made by scripts/make_models.sh, kept in assets/models and
// built into the program.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace headlight {

/// The files of one model, as they stand in assets/models/NAME.
struct BundledModel {
  std::string_view name;
  std::string_view config, tokenizer, recipe;  // .json
  std::string_view weights;                    // model.safetensors
};

/// By name.
std::span<const BundledModel> bundled_models();

/// Throws UsageError for another name, with the nearest ones.
const BundledModel& bundled_model(std::string_view name);

/// The ref of what a person typed: the folder of a model where there is one, else the name of a
/// bundled one. Throws UsageError when it is neither.
std::string model_ref(const std::string& typed);

}  // namespace headlight
