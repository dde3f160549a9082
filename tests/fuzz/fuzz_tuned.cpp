// Any bytes as the file of a graphics card's best sizes: a table that fits the card's limits, or a
// problem that is named, never both.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "app/gl/tuning/tuned.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headlight;
  static const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("headlight-fuzz-" + std::to_string(::getpid()));
  GlDevice device;
  device.vendor = device.renderer = "fuzz";
  const std::filesystem::path file = tuned_file(folder, device);
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const TunedTable read = read_tuned(folder, device);
  if (read.table && !read.problem.empty()) std::abort();
  if (!read.table && read.problem.empty()) std::abort();
  return 0;
}
