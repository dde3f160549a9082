#include "app/ui/matrix/place_words.h"

namespace headlight {

std::string step_place(const Ui& ui, const Step& step, const Place* from) {
  std::string words;
  const auto add = [&](std::string_view part) {
    words += words.empty() ? "" : " · ";
    words += part;
  };
  if (step.stack != Stack::kOnly && !(from && from->stack == step.stack))
    add(ui.tr(step.stack == Stack::kEncoder ? "stage.encoder" : "stage.decoder"));
  if (step.layer >= 0) add(ui.tr("stage.layer", {{"n", std::to_string(step.layer)}}));
  if (step.section == Section::kCrossAttention && !(from && from->section == step.section))
    add(ui.tr("stage.cross_attention"));
  return words;
}

std::string place_label(const Ui& ui, const Trace& trace, std::string_view axis, std::int64_t i) {
  return axis == "batch" ? std::string(ui.tr("axis.sentence")) : token_label(trace.tick(axis, i));
}

std::string place_name(const Ui& ui, const Trace& trace, std::string_view axis, std::int64_t i) {
  return axis == "batch" ? std::string(ui.tr("axis.sentence")) : token_label(trace.name(axis, i));
}

}  // namespace headlight
