// Any bytes as the config.json of a model folder: read or refused with an Error, never a crash, and
// what was read makes a program whose every parameter the type knows a place for.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/base/error.h"
#include "core/model/checkpoint.h"
#include "core/model/folders/folder_type.h"

namespace {

using namespace headlight;

void read(std::string_view text, const TensorShapes& shapes) {
  try {
    const FolderConfig config(text);
    const FolderType& type = folder_type(config);
    const ModelFile file = type.read(config, shapes);
    const std::vector<WeightRow> rows = type.rows(config, shapes);
    validate(file.config);
    if (file.config.layers > 4 || file.config.encoder_layers > 4) return;  // only slower
    for (const TensorSpec& spec : program_parameters(file)) {
      const std::optional<WeightSource> source = source_of(rows, spec, shapes);
      if (!source) std::abort();
      const StridedSource from = strided_source(*source, spec.axes, spec.role);
      if (from.strides.size() != spec.axes.size()) std::abort();
    }
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const std::vector<std::int64_t> kHead = {3, 16};
  read(text, [](std::string_view) { return nullptr; });
  read(text, [](std::string_view) { return &kHead; });
  return 0;
}
