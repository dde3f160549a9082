// Any bytes as numbers from elsewhere: a NumPy array or lines of text. Read or refused with an
// Error; what was read has as many values as its shape says, and truth values are 0 or 1.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/base/error.h"
#include "core/graph/masks/number_file.h"
#include "core/io/npy.h"

namespace {

using namespace headlight;

void require(bool condition) {
  if (!condition) std::abort();
}

void check_size(const std::vector<std::int64_t>& shape, std::size_t values) {
  std::size_t cells = 1;
  for (const std::int64_t size : shape) {
    require(size >= 0);
    cells *= static_cast<std::size_t>(size);
  }
  require(cells == values);
}

template <class Read>
void numbers(Read&& read) {
  try {
    const NumberArray array = read();
    check_size(array.shape, array.values.size());
    for (const double value : array.values) require(!array.is_boolean || value == 0 || value == 1);
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)is_npy(bytes);
  numbers([&] { return parse_npy_numbers(bytes); });
  numbers([&] { return parse_number_text(bytes); });
  try {
    const NpyIntegers array = parse_npy_integers(bytes);
    check_size(array.shape, array.values.size());
  } catch (const Error&) {
  }
  return 0;
}
