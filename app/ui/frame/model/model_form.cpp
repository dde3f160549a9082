#include "app/ui/frame/model/model_form.h"

#include <span>
#include <string>

#include "app/ui/kit/whole_field.h"

namespace headlight {

namespace {

// A whole number that is computed with while it is typed. What is none keeps the number that was
// there before: "2,5" is neither 25 nor 2.
std::uint64_t whole_field(const std::string& id, std::uint64_t value, bool free) {
  std::string text = std::to_string(value);
  const bool typed =
      whole_text_field(("##" + id).c_str(), text, free ? 0 : ImGuiInputTextFlags_ReadOnly);
  ImGuiStorage& memory = *ImGui::GetStateStorage();
  const ImGuiID low = ImGui::GetID((id + "/before").c_str()),
                high = ImGui::GetID((id + "/before/high").c_str());
  if (ImGui::IsItemActivated()) {
    memory.SetInt(low, static_cast<int>(value));
    memory.SetInt(high, static_cast<int>(value >> 32));
  }
  if (!typed || !free || text.empty()) return value;
  const auto before = static_cast<std::uint64_t>(static_cast<std::uint32_t>(memory.GetInt(high)));
  const std::uint64_t old = before << 32 | static_cast<std::uint32_t>(memory.GetInt(low));
  return typed_whole(text).value_or(old);
}

}  // namespace

bool number_field(Form& form, const char* id, std::string_view label, int& value, int low, int high,
                  int automatic, int step) {
  Ui& ui = form.ui;
  form.label(label);
  const Rect r = form.field(ui.px(150));
  int next = value;
  const float side = r.height();
  const bool free = form.fixed.empty();
  const std::string name(id);
  if (ui.button(name + "/less", "−", {r.x0, r.y0, r.x0 + side, r.y1}, false, free && value > low,
                form.fixed))
    next = (value - 1) / step * step;
  ImGui::SetCursorScreenPos({r.x0 + side + ui.px(3), r.y0});
  ImGui::SetNextItemWidth(r.width() - 2 * side - ui.px(6));
  ImGui::PushFont(ui.fonts.mono);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding,
                      ImVec2(ui.px(8), (r.height() - font_size(ui.fonts.mono)) / 2));
  ImGui::PushStyleColor(ImGuiCol_Text, to_u32(free ? ui.theme.text : ui.theme.muted));
  ui.before_field(id);
  const std::uint64_t typed = whole_field(name, static_cast<std::uint64_t>(value), free);
  if (typed != static_cast<std::uint64_t>(value))
    next = static_cast<int>(std::min(typed, static_cast<std::uint64_t>(high)));
  ui.after_field(id);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar();
  ImGui::PopFont();
  if (ui.button(name + "/more", "+", {r.x1 - side, r.y0, r.x1, r.y1}, false, free && value < high,
                form.fixed))
    next = (value / step + 1) * step;
  if (automatic >= 0 && value == 0) {
    ui.text(ui.fonts.note, {r.x1 + ui.px(10), r.y0 + ui.px(7)}, ui.theme.muted,
            ui.tr("model.automatic", {{"n", std::to_string(automatic)}}));
  }
  form.next();
  if (free) next = std::clamp(next, low, high);
  const bool changed = next != value;
  value = next;
  return changed;
}

int choice_lines(Form& form, std::string_view id, const Choices& all, int chosen) {
  const float room = form.width - form.label_width() - form.ui.px(40);
  const std::span<const std::string> labels = all.labels;
  const std::span<const std::string_view> ids = all.ids;
  int pressed = -1;
  for (std::size_t first = 0, count = 0; first < labels.size(); first += count) {
    count = 1;
    while (first + count < labels.size() &&
           form.ui.segmented_width(labels.subspan(first, count + 1)) <= room)
      ++count;
    const Rect r = form.field(0);
    const int at = form.ui.segmented(id, labels.subspan(first, count),
                                     chosen - static_cast<int>(first), r.min(), r.height(),
                                     ids.subspan(first, count), form.fixed.empty(), form.fixed);
    if (at >= 0) pressed = static_cast<int>(first) + at;
    form.next();
  }
  return pressed;
}

bool switch_field(Form& form, std::string_view id, std::string_view label, bool& value) {
  form.label(label);
  const Choices all = on_off_choices(form.ui);
  const Rect r = form.field(0);
  const int pressed = form.ui.segmented(id, all.labels, value ? 0 : 1, r.min(), r.height(), all.ids,
                                        form.fixed.empty(), form.fixed);
  form.next();
  if (pressed < 0 || (pressed == 0) == value) return false;
  value = pressed == 0;
  return true;
}

bool seed_field(Form& form, std::uint64_t& seed) {
  Ui& ui = form.ui;
  form.label(ui.tr("model.seed"));
  const Rect r = form.field(ui.px(150));
  ImGui::SetCursorScreenPos(r.min());
  ImGui::SetNextItemWidth(r.width());
  ImGui::PushFont(ui.fonts.mono);
  ui.before_field("model/seed");
  const bool free = form.fixed.empty();
  std::uint64_t typed = whole_field("seed", seed, free);
  ui.after_field("model/seed");
  ImGui::PopFont();
  bool changed = typed != seed;
  const Rect fresh{r.x1 + ui.px(8), r.y0, r.x1 + ui.px(78), r.y1};
  if (ui.button("model/seed/next", ui.tr("model.seed.next"), fresh, false, free,
                free ? ui.tr("model.seed.next.help") : form.fixed)) {
    ++typed;
    changed = true;
  }
  seed = typed;
  form.next();
  return changed;
}

}  // namespace headlight
