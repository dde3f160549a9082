#include "app/ui/matrix/place_words.h"

namespace headlight {

std::string place_label(const Ui& ui, const Trace& trace, std::string_view axis, std::int64_t i) {
  return axis == "batch" ? std::string(ui.tr("axis.sentence")) : token_label(trace.tick(axis, i));
}

std::string place_name(const Ui& ui, const Trace& trace, std::string_view axis, std::int64_t i) {
  return axis == "batch" ? std::string(ui.tr("axis.sentence")) : token_label(trace.name(axis, i));
}

}  // namespace headlight
