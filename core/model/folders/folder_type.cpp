#include "core/model/folders/folder_type.h"

#include <array>

#include "core/base/error.h"
#include "core/model/folders/types/types.h"

namespace headlight {

std::span<const FolderType> folder_types() {
  static const std::array all = {gpt2_type(), llama_type(), mistral_type(), qwen2_type()};
  return all;
}

const FolderType& folder_type(const FolderConfig& config) {
  const std::string got = config.text_or("model_type", "");
  std::string known;
  for (const FolderType& type : folder_types()) {
    if (type.model_type == got) return type;
    known += (known.empty() ? "" : ", ") + std::string(type.model_type);
  }
  throw Error(Message{"folder.unknown_type", {{"got", got}, {"known", known}}});
}

std::optional<WeightSource> source_of(std::span<const WeightRow> rows, const TensorSpec& spec) {
  for (const WeightRow& row : rows) {
    if (row.role != spec.role) continue;
    if (row.section && *row.section != spec.place.section) continue;
    if (row.stack && *row.stack != spec.place.stack) continue;
    WeightSource source{std::string(row.name), row.layout, row.part, row.parts};
    const std::size_t layer = source.name.find("{l}");
    if (layer != std::string::npos) source.name.replace(layer, 3, std::to_string(spec.place.layer));
    return source;
  }
  return std::nullopt;
}

}  // namespace headlight
