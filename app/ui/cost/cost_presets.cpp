// Models from papers in their own sizes, with what they take on this machine.
#include <algorithm>

#include "app/ui/cost/cost_view.h"
#include "core/base/number_text.h"
#include "core/model/presets.h"

namespace headlight {
namespace {

// "12 layers · 12 heads · d 768 · vocabulary 50,257 · 1,024 tokens"
std::string size_words(const Preset& p, const Ui& ui) {
  const Config& c = p.config;
  return tr_count(ui.language, "count.layers", c.layers) + " · " +
         tr_count(ui.language, "count.heads", c.head_count()) + " · d " +
         std::to_string(c.d_model) + " · " +
         ui.tr("preset.vocab", {{"n", count_text(p.shape.vocab)}}) + " · " +
         ui.tr("preset.context", {{"n", count_text(p.shape.positions)}});
}

// "109,482,240 parameters (the paper: 110 M)", and what it took to get there.
std::string count_words(const Preset& p, const PresetCost& cost, const Ui& ui) {
  std::string words =
      ui.tr("preset.parameters", {{"n", count_text(p.published)}, {"said", std::string(p.said)}});
  if (p.differences.empty()) return words;
  std::string list;
  for (const PresetDifference& d : p.differences) {
    if (!list.empty()) list += ui.tr("preset.and");
    list += (d.count < 0 ? "−" : "+") + count_text(std::abs(d.count)) + " " +
            std::string(ui.tr(d.what));
  }
  return words + ui.tr("preset.here", {{"n", count_text(static_cast<long long>(cost.parameters))},
                                       {"list", list}});
}

std::string cost_words(const AppState& state, const PresetCost& cost, const Ui& ui) {
  const std::optional<double> ms = predicted_ms(state, cost.run);
  return ui.tr("preset.takes", {{"memory", bytes_text(cost.run_bytes)},
                                {"parameters", bytes_text(cost.run.parameter_bytes())},
                                {"products", amount_text(ui.language, cost.run.multiply_adds)},
                                {"time", ms ? duration_text(ui.language, *ms)
                                            : std::string(ui.tr("cost.measuring"))}});
}

// Returns where they begin.
float preset_buttons(const AppState& state, Ui& ui, const Preset& p, const Rect& r) {
  float x = r.x1;
  const auto button = [&](std::string_view what, std::string_view text, bool full) {
    const std::string id = "preset/" + std::string(p.name) + "/" + std::string(what);
    const float wide = ui.measure(ui.fonts.control, ui.tr(text)).x + ui.px(20);
    const bool now = state.document().model.empty() &&
                     state.document().config == (full ? p.config : miniature(p));
    const Rect at{x - wide, r.y0, x, r.y0 + ui.px(28)};
    x -= wide + ui.px(6);
    if (!ui.button(id, ui.tr(text), at, now, true, ui.tr(std::string(text) + ".help"))) return;
    ui.push(ChoosePreset{std::string(p.name), full});
    ImGui::CloseCurrentPopup();
  };
  button("full", "preset.full", true);
  button("miniature", "preset.miniature", false);
  return x;
}

}  // namespace

float cost_presets(const AppState& state, Ui& ui, const Rect& r) {
  float y = r.y0 +
            ui.wrapped(ui.fonts.note, r.min(), r.width(), ui.theme.muted,
                       ui.tr("preset.about", {{"free", bytes_text(state.derived.free_bytes)}})) +
            ui.px(8);
  const auto presets = all_presets();
  for (std::size_t i = 0; i < std::min(presets.size(), state.derived.presets.size()); ++i) {
    const Preset& p = presets[i];
    const PresetCost& cost = state.derived.presets[i];
    const float right = preset_buttons(state, ui, p, {r.x0, y, r.x1, r.y1});
    const std::string title = std::string(p.title) + "  " + std::to_string(p.year);
    ui.user_text(ui.fonts.strong, {r.x0, y + ui.px(4)}, ui.theme.text, title, right - r.x0);
    y += ui.px(32);
    const auto line = [&](Color color, const std::string& words) {
      y += ui.wrapped(ui.fonts.control, {r.x0, y}, r.width(), color, words) + ui.px(2);
    };
    line(ui.theme.text, size_words(p, ui));
    line(ui.theme.text, count_words(p, cost, ui));
    const bool fits = cost.run_bytes <= state.derived.free_bytes;
    line(fits ? ui.theme.text : ui.theme.error, cost_words(state, cost, ui));
    y += ui.wrapped(ui.fonts.note, {r.x0, y}, r.width(), ui.theme.muted,
                    std::string(p.source) + "  ·  " + std::string(p.link) + "\n" +
                        std::string(ui.tr(p.apart))) +
         ui.px(8);
    ImGui::GetWindowDrawList()->AddLine({r.x0, y}, {r.x1, y}, to_u32(ui.theme.line));
    y += ui.px(10);
  }
  return y;
}

}  // namespace headlight
