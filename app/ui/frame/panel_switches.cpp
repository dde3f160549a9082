// The switches under the sentence: mask, scale, positions, layer, head.
#include <algorithm>

#include "app/ui/frame/choices.h"
#include "app/ui/frame/panels.h"
#include "app/ui/frame/temperature_slider.h"
#include "app/ui/state/commands.h"
#include "core/graph/step_names.h"

namespace headlight {
namespace {

// Groups of switches from left to right; in the sheet behind "More" one below the other.
struct Row {
  float x, y, height, right;
  bool column = false;
  std::size_t first = 0, last = 0;  // the groups that stand here
  std::size_t next = 0;
  float left = 0;
  /// Goes on to the next group; false when it stands elsewhere.
  bool begins(const Ui& ui) {
    const std::size_t group = next++;
    if (group < first || group >= last) return false;
    if (column && group > first) y += height + ui.px(10);
    if (column) x = left;
    return true;
  }
};

void label(Ui& ui, Row& row, std::string_view text) {
  ui.text(ui.fonts.control,
          {row.x, row.y + (row.height - font_size(ui.fonts.control)) / 2 - ui.px(1)},
          ui.theme.muted, text);
  row.x += ui.measure(ui.fonts.control, text).x + ui.px(10);
}

// A drop-down for when the segments would not fit.
int drop_down(Ui& ui, std::string_view id, const Choices& choices, int chosen, Row& row,
              float width, std::string_view fixed) {
  const std::vector<std::string>& words = choices.labels;
  int result = -1;
  const Rect r{row.x, row.y, row.x + width, row.y + row.height};
  const std::string popup = "popup/" + std::string(id);
  const bool known = chosen >= 0 && chosen < std::ssize(words);
  const std::string shown = (known ? words[static_cast<std::size_t>(chosen)] : "?") + " ▾";
  if (ui.button(id, shown, r, false, fixed.empty(), fixed)) ImGui::OpenPopup(popup.c_str());
  ImGui::SetNextWindowPos({r.x0, r.y1 + ui.px(2)});
  if (ImGui::BeginPopup(popup.c_str())) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (ui.menu_item(std::string(id) + "/" + std::string(choices.ids[i]), words[i], {},
                       static_cast<int>(i) == chosen))
        result = static_cast<int>(i);
    }
    ImGui::EndPopup();
  }
  row.x += width;
  return result;
}

// `fixed`: why it cannot be chosen; empty: it can.
int choose(Ui& ui, std::string_view id, const Choices& choices, int chosen, Row& row, bool roomy,
           std::string_view fixed = {}) {
  int pressed = -1;
  if (roomy) {
    pressed = ui.segmented(id, choices.labels, chosen, {row.x, row.y}, row.height, choices.ids,
                           fixed.empty(), fixed);
    row.x += ui.segmented_width(choices.labels);
  } else {
    float widest = 0;
    for (const std::string& label : choices.labels)
      widest = std::max(widest, ui.measure(ui.fonts.control, label).x);
    pressed = drop_down(ui, id, choices, chosen, row, widest + ui.px(40), fixed);
  }
  row.x += ui.px(22);
  return pressed;
}

// An encoder looks both ways whatever is chosen here.
std::string_view mask_label(const Config& c, const Ui& ui) {
  return ui.tr(c.form == ModelForm::kTranslate ? "switch.mask.decoder" : "switch.mask");
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
    const std::string_view words = ui.tr("switch.also_causal");
    const float width = ui.measure(ui.fonts.control, words).x + ui.px(18);
    const Rect r{row.x, row.y, row.x + width, row.y + row.height};
    if (ui.button("mask/also_causal", words, r, mask.is_causal(), true,
                  ui.tr("switch.also_causal.help"))) {
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
  // Three buttons are no wider than a stepper.
  if ((roomy && count <= 8) || count <= 3) {
    Choices numbers;
    for (int i = 0; i < count; ++i) numbers.labels.push_back(std::to_string(i));
    numbers.ids.assign(numbers.labels.begin(), numbers.labels.end());
    const int pressed = choose(ui, id, numbers, chosen, row, true);
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

// Without attention a mask says only whether a row looks ahead: the first two choices.
Choices mask_choices(const Config& c, const Ui& ui) {
  Choices all = choices_of(ui, MaskKind{});
  if (c.attends()) return all;
  all.labels.resize(2);
  all.ids.resize(2);
  return all;
}

// What a group takes, with everything in sight and at the least.
struct GroupWidth {
  float roomy, least;
};

std::vector<GroupWidth> group_widths(const AppState& state, const Ui& ui) {
  const MaskKind kind = state.document().config.mask.kind;
  const Config& shown = shown_config(state);
  const auto drop = [&](const std::vector<std::string>& words) {
    float widest = 0;
    for (const std::string& word : words)
      widest = std::max(widest, ui.measure(ui.fonts.control, word).x);
    return widest + ui.px(40);
  };
  const auto numbers = [&](int count) {
    return count <= 8 ? static_cast<float>(count) * ui.px(30) : ui.px(92);
  };
  const Choices masks = mask_choices(shown, ui), positions = position_choices(state, ui);
  const float extra = kind == MaskKind::kNone || kind == MaskKind::kCausal ? 0 : ui.px(190);
  const float scale =
      label_width(ui, ui.tr("switch.scale")) + ui.segmented_width(on_off_choices(ui).labels);
  const float mask = label_width(ui, mask_label(shown, ui)) + extra;
  const float position_label = label_width(ui, ui.tr("switch.positions"));
  const float layer = label_width(ui, ui.tr("switch.layer"));
  const float head = label_width(ui, ui.tr("switch.head"));
  const auto of_layers = [&](float label, int count) {
    if (shown.layers == 0) return GroupWidth{0, 0};  // and no heads
    return GroupWidth{label + numbers(count), label + std::min(numbers(count), ui.px(92))};
  };
  const float temperature = temperature_width(ui);
  return {shown.mixes()
              ? GroupWidth{mask + ui.segmented_width(masks.labels), mask + drop(masks.labels)}
              : GroupWidth{0, 0},
          shown.attends() ? GroupWidth{scale, scale} : GroupWidth{0, 0},
          {position_label + ui.segmented_width(positions.labels),
           position_label + drop(positions.labels)},
          of_layers(layer, shown.layers),
          shown.attends() ? of_layers(head, shown.head_count()) : GroupWidth{0, 0},
          shown.attends() ? GroupWidth{temperature, temperature} : GroupWidth{0, 0}};
}

// Which groups stay open as segments: positions close first, then the mask, then the numbers.
struct Roomy {
  bool positions = true, mask = true, numbers = true;
};

void choose_mask(const AppState& state, Ui& ui, MaskKind kind) {
  const MaskSpec& mask = state.document().config.mask;
  MaskSpec next = mask;
  next.kind = kind;
  next.causal.reset();
  // Painting goes on from what is seen, or from what was painted before.
  const bool paints =
      kind == MaskKind::kFree && state.derived.trace && state.document().config.attends();
  if (paints && next.forbidden.empty())
    next = as_free(mask, static_cast<int>(state.derived.trace->length()));
  ui.push(DoEdit{SetMask{next}, ""});
  if (paints) ui.push(GoToStep{mask_step(state.document().config, state.session.layer)});
}

void draw_groups(const AppState& state, Ui& ui, Row& row, const Roomy& roomy) {
  const Config& c = state.document().config;
  const Config& shown = shown_config(state);
  if (row.begins(ui) && shown.mixes()) {
    label(ui, row, mask_label(shown, ui));
    const int chosen = c.attends() ? static_cast<int>(c.mask.kind) : c.mask.is_causal() ? 1 : 0;
    const int mask = choose(ui, "mask", mask_choices(c, ui), chosen, row, roomy.mask);
    if (mask >= 0) choose_mask(state, ui, static_cast<MaskKind>(mask));
    if (c.attends()) mask_numbers(c.mask, ui, row);
  }
  if (row.begins(ui) && shown.attends()) {
    label(ui, row, ui.tr("switch.scale"));
    const int scale = choose(ui, "scale", on_off_choices(ui), c.scale ? 0 : 1, row, true);
    if (scale >= 0) {
      Config next = c;
      next.scale = scale == 0;
      ui.push(DoEdit{SetConfig{next}, ""});
    }
  }
  if (row.begins(ui)) {
    label(ui, row, ui.tr("switch.positions"));
    const Choices kinds = position_choices(state, ui);
    const auto at = std::ranges::find(kinds.ids, word(shown.positions)) - kinds.ids.begin();
    const int position = choose(ui, "positions", kinds, static_cast<int>(at), row, roomy.positions);
    if (position >= 0) {
      Config next = c;
      next.positions = *from_word<PositionKind>(kinds.ids[static_cast<std::size_t>(position)]);
      ui.push(DoEdit{SetConfig{next}, ""});
    }
  }
  if (row.begins(ui) && shown.layers > 0) {
    label(ui, row, ui.tr("switch.layer"));
    numbered(ui, "layer", shown.layers, state.session.layer, row, roomy.numbers,
             [&](int i) { ui.push(ChooseLayer{i}); });
  }
  if (row.begins(ui) && shown.layers > 0 && shown.attends()) {
    label(ui, row, ui.tr("switch.head"));
    numbered(ui, "head", shown.head_count(), state.session.head, row, roomy.numbers,
             [&](int i) { ui.push(ChooseHead{i}); });
  }
  if (row.begins(ui) && shown.attends())
    draw_temperature(state, ui, {row.x, row.y}, row.height, row.right);
}

// The groups from `first` on, in a sheet under a button.
void more_sheet(const AppState& state, Ui& ui, const Rect& button, std::size_t first,
                const std::vector<GroupWidth>& widths) {
  const std::string words = std::string(ui.tr(first == 0 ? "switch.all" : "switch.more")) + " ▾";
  if (ui.button("switches/more", words, button)) ImGui::OpenPopup("switches");
  const ImVec2 window = ImGui::GetIO().DisplaySize;
  const float pad = ui.px(14), line = ui.px(28);
  float width = 0;
  for (std::size_t i = first; i < widths.size(); ++i) width = std::max(width, widths[i].roomy);
  Roomy roomy;
  if (width + 2 * pad > window.x - ui.px(16)) roomy = {false, false, true};
  width = std::min(width + 2 * pad, window.x - ui.px(16));
  const auto lines = static_cast<float>(widths.size() - first);
  const float height = std::min(lines * (line + ui.px(10)) - ui.px(10) + 2 * pad,
                                std::max(window.y - button.y1 - ui.px(12), ui.px(60)));
  ImGui::SetNextWindowPos(
      {std::max(ui.px(8), std::min(button.x0, window.x - width - ui.px(8))), button.y1 + ui.px(4)});
  ImGui::SetNextWindowSize({width, height});
  if (!ImGui::BeginPopup("switches")) return;
  const ImVec2 at = ImGui::GetWindowPos();
  Row row{at.x + pad,   at.y + pad - ImGui::GetScrollY(), line, at.x + width - pad, true, first,
          widths.size()};
  row.left = row.x;
  draw_groups(state, ui, row, roomy);
  ImGui::SetCursorScreenPos({row.left, row.y + line + pad});
  ImGui::Dummy({1, 1});
  ui.drawn.add("panel/switches", at, {at.x + width, at.y + height});
  ImGui::EndPopup();
}

}  // namespace

void panel_switches(const AppState& state, Ui& ui, const Rect& r) {
  const std::vector<GroupWidth> widths = group_widths(state, ui);
  float need = 0;
  for (const GroupWidth& w : widths) need += w.roomy;
  Roomy roomy;
  const auto close = [&](bool& open, std::initializer_list<std::size_t> groups) {
    open = need <= r.width();
    if (open) return;
    for (const std::size_t g : groups) need -= widths[g].roomy - widths[g].least;
  };
  close(roomy.positions, {2});
  close(roomy.mask, {0});
  close(roomy.numbers, {3, 4});
  // What still does not fit stands behind a button, the last groups first.
  std::size_t shown = widths.size();
  const float button =
      std::min(r.width(), ui.measure(ui.fonts.control, ui.tr("switch.all")).x + ui.px(44));
  while (shown > 0 && need > r.width() - (shown < widths.size() ? button : 0))
    need -= widths[--shown].least;
  Row row{r.x0, r.y0, r.height(), r.x1, false, 0, shown};
  draw_groups(state, ui, row, roomy);
  if (shown == widths.size()) return;
  const float x = shown == 0 ? r.x0 : row.x;
  more_sheet(state, ui, {x, r.y0, shown == 0 ? r.x1 : x + button, r.y1}, shown, widths);
}

}  // namespace headlight
