#include "app/ui/heads/head_names.h"

#include <array>

namespace headlight {
namespace {

struct Names {
  std::string_view letter, layer, section;  // text ids, the section's empty where there is one only
};

const Names& names_of(const Step& step) {
  static constexpr std::array<Names, 4> kNames = {{
      {"", "train.layer_n", ""},
      {"e", "train.layer_encoder", "heads.encoder"},
      {"d", "train.layer_decoder", "heads.decoder"},
      {"c", "train.layer_cross", "heads.cross"},
  }};
  if (step.section == Section::kCrossAttention) return kNames[3];
  return kNames[static_cast<std::size_t>(step.stack)];
}

}  // namespace

std::string attention_number(const Step& step) {
  return std::string(names_of(step).letter) + std::to_string(step.layer);
}

std::string head_number(const Step& step, int head) {
  return attention_number(step) + "." + std::to_string(head);
}

std::string attention_name(const Ui& ui, const Step& step) {
  return ui.tr(names_of(step).layer, {{"n", std::to_string(step.layer)}});
}

std::string layer_name(const Ui& ui, const Step& step) {
  return ui.tr("train.layer_n", {{"n", std::to_string(step.layer)}});
}

std::string_view section_name(const Ui& ui, const Step& step) {
  const std::string_view id = names_of(step).section;
  return id.empty() ? "" : ui.tr(id);
}

}  // namespace headlight
