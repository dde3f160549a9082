// Any bytes as a recipe.json or as the train.json of a checkpoint: read or refused with an Error.
// What was read survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/train/model_recipe.h"

namespace {

using namespace headlight;

void require(bool condition) {
  if (!condition) std::abort();
}

void read_recipe(std::string_view text) {
  try {
    const std::string written = recipe_text(parse_recipe(text));
    require(recipe_text(parse_recipe(written)) == written);
  } catch (const Error&) {
  }
}

void read_train(std::string_view text) {
  try {
    RunSettings settings, again;
    TrainState state, state_again;
    parse_train(text, settings, state);
    parse_train(train_text(settings, state), again, state_again);
    require(train_text(again, state_again) == train_text(settings, state));
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_recipe(text);
  read_train(text);
  return 0;
}
