#include "core/graph/masks/layer_list.h"

#include <algorithm>
#include <charconv>

#include "core/base/error.h"

namespace headlight {

std::string layers_text(const std::vector<int>& layers) {
  std::string text;
  for (const int layer : layers) text += (text.empty() ? "" : ",") + std::to_string(layer);
  return text;
}

std::vector<int> read_layers(std::string_view text) {
  const std::string whole(text);
  std::vector<int> layers;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, std::min(text.find(','), text.size()));
    const char* end = part.data() + part.size();
    int layer = 0;
    const auto [at, error] = std::from_chars(part.data(), end, layer);
    if (error != std::errc() || at != end || layer < 0)
      throw UsageError(Message{"error.layers_text", {{"got", whole}}});
    layers.push_back(layer);
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  std::sort(layers.begin(), layers.end());
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  return layers;
}

}  // namespace headlight
