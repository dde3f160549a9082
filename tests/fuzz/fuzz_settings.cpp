// Any bytes as the settings file: it is always read as far as it can be, with a problem named where
// it cannot, and what was read survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "app/shell/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headlight;
  const SettingsRead read = parse_settings({reinterpret_cast<const char*>(data), size});
  const SettingsRead again = parse_settings(settings_text(read.settings));
  if (!again.problem.empty()) std::abort();
  if (settings_text(again.settings) != settings_text(read.settings)) std::abort();
  return 0;
}
