#include "core/model/folders/folder_type.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/model/folders/types/types.h"

namespace headlight {

std::span<const FolderType> folder_types() {
  static const std::array all = {gpt2_type(),    gpt_neo_type(), gpt_neox_type(), llama_type(),
                                 mistral_type(), qwen2_type(),   bert_type(),     distilbert_type(),
                                 roberta_type(), marian_type(),  bart_type(),     m2m_100_type()};
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

namespace {

// The first of "architectures", "BertForMaskedLM"; empty where there is none.
std::string architecture(const FolderConfig& config) {
  if (!config.has("architectures")) return "";
  const OrderedJson& names = config.at("architectures");
  return names.is_array() && !names.empty() && names[0].is_string() ? names[0].get<std::string>()
                                                                    : "";
}

}  // namespace

std::string named_head(const FolderConfig& config) {
  const std::string name = architecture(config);
  const std::size_t at = name.find("For");
  return at == name.npos ? "" : name.substr(at + 3);
}

bool ties_head(const FolderConfig& config, bool stored, bool usual) {
  if (config.flag_or("tie_word_embeddings", usual)) return true;
  const std::string name = architecture(config);
  const bool has_head = !named_head(config).empty() || name.find("LMHead") != name.npos ||
                        name.find("MTModel") != name.npos;
  return !stored && !has_head;
}

void check_head(const FolderConfig& config, const FolderType& type) {
  const std::string name = architecture(config), named = named_head(config);
  if (named.empty()) return;
  std::string known;
  for (const std::string_view head : type.read_heads) {
    if (named == head) return;
    known += (known.empty() ? "For" : ", For") + std::string(head);
  }
  throw Error(Message{known.empty() ? "folder.no_head" : "folder.unknown_head",
                      {{"got", name}, {"type", std::string(type.model_type)}, {"known", known}}});
}

namespace {

std::string filled(std::string name, const Place& place) {
  const auto put = [&](std::string_view slot, const std::string& text) {
    const std::size_t at = name.find(slot);
    if (at != std::string::npos) name.replace(at, slot.size(), text);
  };
  put("{l}", std::to_string(place.layer));
  put("{s}", place.stack == Stack::kDecoder ? "decoder" : "encoder");
  return name;
}

// The first of the names that is there, or else the first.
std::string found_name(std::string_view names, const Place& place, const TensorShapes& shapes) {
  std::string first;
  while (!names.empty()) {
    const std::size_t bar = std::min(names.find('|'), names.size());
    std::string name = filled(std::string(names.substr(0, bar)), place);
    if (shapes(name)) return name;
    if (first.empty()) first = std::move(name);
    names.remove_prefix(std::min(bar + 1, names.size()));
  }
  return first;
}

}  // namespace

std::optional<WeightSource> source_of(std::span<const WeightRow> rows, const TensorSpec& spec,
                                      const TensorShapes& shapes) {
  for (const WeightRow& row : rows) {
    if (row.role != spec.role) continue;
    if (row.section && *row.section != spec.place.section) continue;
    if (row.stack && *row.stack != spec.place.stack) continue;
    return WeightSource{found_name(row.name, spec.place, shapes), row.layout, row.part, row.parts};
  }
  return std::nullopt;
}

}  // namespace headlight
