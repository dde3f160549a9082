// The switches under the sentence: mask, scale, positions, layer, head.
#include <algorithm>

#include "app/ui/commands.h"
#include "app/ui/panels.h"

namespace headlight {
namespace {

struct Row {
  float x, y, height, right;
};

std::vector<std::string> words_of(auto kind) {
  std::vector<std::string> words;
  for (const auto& choice : choices(kind)) words.emplace_back(choice.word);
  return words;
}

void label(Ui& ui, Row& row, std::string_view text) {
  ui.text(ui.fonts.control,
          {row.x, row.y + (row.height - ui.fonts.control->FontSize) / 2 - ui.px(1)}, ui.theme.muted,
          text);
  row.x += ui.measure(ui.fonts.control, text).x + ui.px(10);
}

// A drop-down for when the segments would not fit.
int drop_down(Ui& ui, std::string_view id, std::span<const std::string> words, int chosen, Row& row,
              float width) {
  int result = -1;
  const Rect r{row.x, row.y, row.x + width, row.y + row.height};
  const std::string popup = "popup/" + std::string(id);
  const std::string shown = (chosen >= 0 ? words[static_cast<std::size_t>(chosen)] : "?") + " ▾";
  if (ui.button(id, shown, r)) ImGui::OpenPopup(popup.c_str());
  ImGui::SetNextWindowPos({r.x0, r.y1 + ui.px(2)});
  if (ImGui::BeginPopup(popup.c_str())) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (ui.menu_item(std::string(id) + "/" + words[i], words[i], {},
                       static_cast<int>(i) == chosen))
        result = static_cast<int>(i);
    }
    ImGui::EndPopup();
  }
  row.x += width;
  return result;
}

int choose(Ui& ui, std::string_view id, const std::vector<std::string>& words, int chosen, Row& row,
           bool roomy) {
  int pressed = -1;
  if (roomy) {
    const std::vector<std::string_view> ids(words.begin(), words.end());
    pressed = ui.segmented(id, words, chosen, {row.x, row.y}, row.height, ids);
    row.x += ui.segmented_width(words);
  } else {
    float widest = 0;
    for (const std::string& word : words)
      widest = std::max(widest, ui.measure(ui.fonts.control, word).x);
    pressed = drop_down(ui, id, words, chosen, row, widest + ui.px(40));
  }
  row.x += ui.px(22);
  return pressed;
}

void mask_numbers(const MaskSpec& mask, Ui& ui, Row& row) {
  const bool local = mask.kind == MaskKind::kLocal, strided = mask.kind == MaskKind::kStrided;
  const auto push = [&](const MaskSpec& next) {
    if (!(next == mask)) ui.push(DoEdit{SetMask{next}, ""});
  };
  if (local || strided) {
    row.x -= ui.px(12);
    const Rect r{row.x, row.y, row.x + ui.px(92), row.y + row.height};
    MaskSpec next = mask;
    int& number = local ? next.window : next.stride;
    number = ui.stepper(local ? "mask/window" : "mask/stride", number, local ? 0 : 1, 999, r);
    push(next);
    row.x = r.x1 + ui.px(4);
  }
  if (local || strided || mask.kind == MaskKind::kPadding || mask.kind == MaskKind::kFree) {
    if (!local && !strided) row.x -= ui.px(12);
    const float width = ui.measure(ui.fonts.control, "+ causal").x + ui.px(18);
    const Rect r{row.x, row.y, row.x + width, row.y + row.height};
    if (ui.button("mask/also_causal", "+ causal", r, mask.is_causal(), true,
                  "Also forbid all later tokens")) {
      MaskSpec next = mask;
      next.causal = !mask.is_causal();
      push(next);
    }
    row.x = r.x1 + ui.px(22);
  }
}

// Layers or heads: a button each while they are few, a stepper when they are many.
void numbered(Ui& ui, std::string_view id, int count, int chosen, Row& row, bool roomy,
              auto choose_number) {
  if (roomy && count <= 8) {
    std::vector<std::string> words;
    for (int i = 0; i < count; ++i) words.push_back(std::to_string(i));
    const int pressed = choose(ui, id, words, chosen, row, true);
    if (pressed >= 0) choose_number(pressed);
    return;
  }
  const Rect r{row.x, row.y, row.x + ui.px(92), row.y + row.height};
  const int next = ui.stepper(id, chosen, 0, count - 1, r);
  if (next != chosen) choose_number(next);
  row.x = r.x1 + ui.px(22);
}

float label_width(const Ui& ui, std::string_view text) {
  return ui.measure(ui.fonts.control, text).x + ui.px(32);
}

}  // namespace

void panel_switches(const AppState& state, Ui& ui, const Rect& r) {
  const Config& c = state.document().config;
  const Config& shown = shown_config(state);
  Row row{r.x0, r.y0, r.height(), r.x1};
  const std::vector<std::string> masks = words_of(MaskKind{});
  const std::vector<std::string> positions = words_of(PositionKind{});
  const std::vector<std::string> on_off = {"on", "off"};
  // What everything open would take; groups close to drop-downs until the row fits.
  const auto numbers_width = [&](int count) {
    return count <= 8 ? static_cast<float>(count) * ui.px(30) : ui.px(92);
  };
  float need = ui.segmented_width(masks) + ui.segmented_width(positions) +
               ui.segmented_width(on_off) + label_width(ui, "Mask") + label_width(ui, "÷ √d_k") +
               label_width(ui, "Positions") + label_width(ui, "Layer") + label_width(ui, "Head") +
               numbers_width(shown.layers) + numbers_width(shown.head_count());
  const bool extra = c.mask.kind != MaskKind::kNone && c.mask.kind != MaskKind::kCausal;
  if (extra) need += ui.px(190);
  const bool roomy_positions = need <= r.width();
  if (!roomy_positions) need -= ui.segmented_width(positions) - ui.px(110);
  const bool roomy_mask = need <= r.width();
  if (!roomy_mask) need -= ui.segmented_width(masks) - ui.px(100);
  const bool roomy_numbers = need <= r.width();

  label(ui, row, "Mask");
  const int mask = choose(ui, "mask", masks, static_cast<int>(c.mask.kind), row, roomy_mask);
  if (mask >= 0) {
    MaskSpec next = c.mask;
    next.kind = static_cast<MaskKind>(mask);
    next.causal.reset();
    ui.push(DoEdit{SetMask{next}, ""});
  }
  mask_numbers(c.mask, ui, row);
  label(ui, row, "÷ √d_k");
  const int scale = choose(ui, "scale", on_off, c.scale ? 0 : 1, row, true);
  if (scale >= 0) {
    Config next = c;
    next.scale = scale == 0;
    ui.push(DoEdit{SetConfig{next}, ""});
  }
  label(ui, row, "Positions");
  const int position =
      choose(ui, "positions", positions, static_cast<int>(c.positions), row, roomy_positions);
  if (position >= 0) {
    Config next = c;
    next.positions = static_cast<PositionKind>(position);
    ui.push(DoEdit{SetConfig{next}, ""});
  }
  label(ui, row, "Layer");
  numbered(ui, "layer", shown.layers, state.session.layer, row, roomy_numbers,
           [&](int i) { ui.push(ChooseLayer{i}); });
  label(ui, row, "Head");
  numbered(ui, "head", shown.head_count(), state.session.head, row, roomy_numbers,
           [&](int i) { ui.push(ChooseHead{i}); });
}

}  // namespace headlight
