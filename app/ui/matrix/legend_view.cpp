#include "app/ui/matrix/legend_view.h"

#include <limits>

#include "app/ui/state/commands.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

constexpr float kTitle = 20, kSpan = 18, kSample = 20, kChoice = 34;  // design pixels

void draw_bar(Ui& ui, const Rect& bar, const ColorScale& scale) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  constexpr int kSteps = 48;
  const bool diverging = scale.map == ColorMap::kDiverging;
  for (int i = 0; i < kSteps; ++i) {
    const float t = 1.0f - (static_cast<float>(i) + 0.5f) / kSteps;
    const float value = diverging ? (2 * t - 1) * scale.limit : t * scale.limit;
    const float y0 = bar.y0 + bar.height() * static_cast<float>(i) / kSteps;
    list->AddRectFilled({bar.x0, y0}, {bar.x1, y0 + bar.height() / kSteps + 1},
                        to_u32(color_at(scale, value)));
  }
  list->AddRect(bar.min(), {bar.x1, bar.y1 + 1}, to_u32(ui.theme.line));
}

// The number of one end, under the probe's name `id`.
void end_number(Ui& ui, const char* id, ImVec2 at, const std::string& words) {
  ImFont* font = ui.fonts.mono_small;
  ui.text(font, at, ui.theme.muted, words);
  const ImVec2 size = ui.measure(font, words);
  ui.drawn.add(id, at, {at.x + size.x, at.y + font_size(font)}, false);  // no control
}

// A cell of this value as the pictures show it, and its name.
void sample(Ui& ui, ImVec2 at, const ColorScale& scale, const float* value, std::uint64_t key,
            std::string_view name) {
  const float side = ui.px(14);
  HeatmapQuad quad{at.x, at.y, at.x + side, at.y + side, value, 1,    1,
                   1,    1,    key,         ui.scale,    0,     scale};
  ui.heatmaps.draw(ImGui::GetWindowDrawList(), quad);
  ImGui::GetWindowDrawList()->AddRect(at, {at.x + side, at.y + side}, to_u32(ui.theme.line));
  ui.text(ui.fonts.note, {at.x + side + ui.px(6), at.y + ui.px(1)}, ui.theme.muted, name);
}

}  // namespace

float legend_height(const Ui& ui, float bar_height, const PaneColors& colors, bool with_choice) {
  const int samples =
      (colors.range.forbidden > 0) + (colors.range.broken > 0) + (colors.range.overflowed > 0);
  return ui.px(kTitle) + bar_height + ui.px(8) + (*colors.span ? ui.px(kSpan) : 0) +
         ui.px(kSample) * static_cast<float>(samples) + (with_choice ? ui.px(kChoice) : 0);
}

float draw_legend(Ui& ui, const Rect& column, float y, float bar_height, const PaneColors& colors,
                  std::string_view title, bool with_choice) {
  const ColorScale& scale = colors.scale;
  const CellRange& range = colors.range;
  const float start = y;
  ui.user_text(ui.fonts.note, {column.x0, y}, ui.theme.muted, title, column.width());
  y += ui.px(kTitle);
  const Rect bar{column.x0, y, column.x0 + ui.px(10), y + bar_height};
  draw_bar(ui, bar, scale);
  ui.drawn.add("legend", bar.min(), bar.max(), false);
  const bool diverging = scale.map == ColorMap::kDiverging;
  const float x = bar.x1 + ui.px(8), half = font_size(ui.fonts.mono_small) / 2;
  const auto [low, high] = scale_ends(diverging ? -scale.limit : 0, scale.limit);
  end_number(ui, "legend/high", {x, bar.y0 - half + ui.px(4)},
             (range.clips_high() ? "≥ " : "") + high);
  if (diverging) end_number(ui, "legend/zero", {x, (bar.y0 + bar.y1) / 2 - half}, "0");
  end_number(ui, "legend/low", {x, bar.y1 - half - ui.px(4)},
             (diverging && range.clips_low() ? "≤ " : "") + low);
  y = bar.y1 + ui.px(8);
  if (*colors.span) {
    ui.user_text(ui.fonts.note, {column.x0, y}, ui.theme.muted, ui.tr(colors.span), column.width());
    y += ui.px(kSpan);
  }
  static constexpr float kForbidden = -std::numeric_limits<float>::infinity();
  static constexpr float kBroken = std::numeric_limits<float>::quiet_NaN();
  const auto line = [&](std::int64_t count, const float* value, std::uint64_t key,
                        std::string_view name) {
    if (count == 0) return;
    sample(ui, {column.x0, y}, scale, value, key, name);
    y += ui.px(kSample);
  };
  line(range.forbidden, &kForbidden, 1, ui.tr("legend.forbidden"));
  line(range.broken, &kBroken, 2, "NaN");
  line(range.overflowed, &kBroken, 2, "+∞");
  if (with_choice) {
    const bool shared = ui.range == RangeMode::kShared;
    const std::string help = std::string(ui.tr(shared ? "range.shared_help" : "range.own_help")) +
                             "  " + shortcut_text(command_info(Command::kToggleRange).key);
    if (ui.button("legend/range", ui.tr(shared ? "range.shared" : "range.own"),
                  {column.x0, y, column.x1 - ui.px(12), y + ui.px(26)}, false, true, help)) {
      ui.push(DoCommand{Command::kToggleRange});
    }
    y += ui.px(kChoice);
  }
  return y - start;
}

}  // namespace headlight
