// Any bytes as a .safetensors file: read in full or refused with an Error. Half of the inputs are
// taken as the header alone, so that the fuzzer need not guess its length.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/base/error.h"
#include "core/io/safetensors.h"

namespace {

void read_all(std::string bytes) {
  try {
    const headlight::SafetensorsFile file = headlight::parse_safetensors(std::move(bytes));
    std::size_t total = 0;
    for (const auto& [name, entry] : file.entries) {
      total += file.data_of(entry).size();
      try {
        (void)headlight::tensor_as_float(file, name);
        (void)headlight::tensor_as_int64(file, name);
      } catch (const headlight::Error&) {
      }
    }
    if (file.data_start + total != file.bytes.size()) std::abort();
  } catch (const headlight::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read_all(bytes);
  // The text up to the last '}' is a header, the rest is data.
  const std::uint64_t length = bytes.rfind('}') + 1;  // 0 when there is none
  std::string framed(8, '\0');
  std::memcpy(framed.data(), &length, 8);
  read_all(framed + bytes);
  return 0;
}
