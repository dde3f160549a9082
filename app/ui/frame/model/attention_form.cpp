#include "app/ui/frame/model/attention_form.h"

#include <charconv>
#include <cmath>
#include <string>

#include "app/ui/kit/number_row.h"
#include "app/ui/kit/whole_field.h"
#include "core/base/error.h"
#include "core/graph/masks/layer_list.h"

namespace headlight {
namespace {

constexpr int kFirstWindow = 4;  // of local layers, where none was chosen: enough to see one

void explained(Form& form, std::string_view label, std::string_view help) {
  const Rect r{form.x, form.y, form.x + form.label_width(), form.y + form.line()};
  form.label(label);
  if (!help.empty() && ImGui::IsMouseHoveringRect(r.min(), r.max())) form.ui.tooltip(help);
}

struct Limits {
  double low = 0, high = 0;
  bool zero = false;   // may also be 0: off
  bool whole = false;  // a comma parts thousands and is no decimal comma
};

// A number that is typed; it counts once Enter is pressed.
bool real_field(Form& form, const std::string& id, std::string_view label, std::string_view help,
                double& value, const Limits& limits) {
  Ui& ui = form.ui;
  explained(form, label, help);
  const Rect r = form.field(ui.px(150));
  const bool free = form.fixed.empty();
  ImGui::SetCursorScreenPos(r.min());
  ImGui::SetNextItemWidth(r.width());
  ImGui::PushFont(ui.fonts.mono);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding,
                      ImVec2(ui.px(8), (r.height() - font_size(ui.fonts.mono)) / 2));
  ImGui::PushStyleColor(ImGuiCol_Text, to_u32(free ? ui.theme.text : ui.theme.muted));
  char shown[32];
  // A large whole number has more than nine digits; a fraction may have come from 32 bits.
  const bool whole = value == std::floor(value);
  char* end =
      std::to_chars(shown, std::end(shown), value,
                    whole ? std::chars_format::fixed : std::chars_format::general, whole ? 0 : 9)
          .ptr;
  std::string text(shown, end);
  ui.before_field(id);
  const std::string field = "##" + id;
  const int flags =
      ImGuiInputTextFlags_EnterReturnsTrue | (free ? 0 : ImGuiInputTextFlags_ReadOnly);
  const bool entered = limits.whole ? whole_text_field(field.c_str(), text, flags)
                                    : number_text_field(field.c_str(), text, !free);
  ui.after_field(id);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar();
  ImGui::PopFont();
  form.next();
  const std::optional<double> number = limits.whole ? typed_whole_number(text) : typed_number(text);
  if (!free || !entered || !number) return false;
  const bool off = limits.zero && *number == 0;
  const double typed = off ? 0 : std::clamp(*number, limits.low, limits.high);
  const bool changed = typed != value;
  value = typed;
  return changed;
}

// Layers as "1,3,5"; those that are not there are left out.
bool layers_field(Form& form, Config& c) {
  Ui& ui = form.ui;
  explained(form, ui.tr("model.local_layers"), ui.tr("model.local_layers.help"));
  const Rect r = form.field(ui.px(150));
  const bool free = form.fixed.empty();
  ImGui::SetCursorScreenPos(r.min());
  ImGui::SetNextItemWidth(r.width());
  ImGui::PushFont(ui.fonts.mono);
  std::string typed = layers_text(c.local_layers);
  ui.before_field("model/local_layers");
  const bool entered = ImGui::InputText(
      "##local_layers", &typed,
      ImGuiInputTextFlags_EnterReturnsTrue | (free ? 0 : ImGuiInputTextFlags_ReadOnly));
  ui.after_field("model/local_layers");
  ImGui::PopFont();
  form.next();
  if (!free || !entered) return false;
  std::vector<int> layers;
  try {
    layers = read_layers(typed);
  } catch (const UsageError&) {
    return false;  // no list of layers: what was there stays
  }
  std::erase_if(layers, [&](int layer) { return layer >= c.layers; });
  const bool changed = layers != c.local_layers;
  c.local_layers = std::move(layers);
  if (c.local_layers.empty()) c.local_window = 0;
  if (!c.local_layers.empty() && c.local_window == 0) c.local_window = kFirstWindow;
  return changed;
}

}  // namespace

bool score_fields(Form& form, Config& c) {
  Ui& ui = form.ui;
  bool changed = false;
  if (c.scale)
    changed |= real_field(form, "model/score_scale", ui.tr("model.score_scale"),
                          ui.tr("model.score_scale.help"), c.score_scale,
                          {kLowestScoreScale, kHighestScoreScale, true});
  changed |= real_field(form, "model/softcap", ui.tr("model.softcap"), ui.tr("model.softcap.help"),
                        c.softcap, {kLowestSoftcap, kHighestSoftcap, true});
  if (c.softcap != 0) c.fused_attention = false;  // it has no place for a cap
  changed |= layers_field(form, c);
  if (!c.local_layers.empty())
    changed |= number_field(form, "model/local_window", ui.tr("model.local_window"), c.local_window,
                            1, kMostLocalWindow);
  return changed;
}

bool rotary_fields(Form& form, Config& c) {
  Ui& ui = form.ui;
  bool changed = real_field(form, "model/rotary_base", ui.tr("model.rotary_base"), {},
                            c.rotary_base, {kLowestRotaryBase, kHighestRotaryBase, false, true});
  changed |=
      choice_field(form, "model/rotary_scaling", ui.tr("model.rotary_scaling"), c.rotary_scaling);
  if (c.rotary_scaling == RotaryScaling::kNone) return changed;
  changed |= real_field(form, "model/rotary_factor", ui.tr("model.rotary_factor"), {},
                        c.rotary_factor, {1, kHighestRotaryFactor});
  if (c.rotary_scaling != RotaryScaling::kLlama3) return changed;
  // Each stays on its side of the other.
  double low = c.rotary_low, high = c.rotary_high;
  const bool lower = real_field(form, "model/rotary_low", ui.tr("model.rotary_low"),
                                ui.tr("model.rotary_low.help"), low, {1e-3, kHighestRotaryFactor});
  const bool upper =
      real_field(form, "model/rotary_high", ui.tr("model.rotary_high"),
                 ui.tr("model.rotary_high.help"), high, {1e-3, kHighestRotaryFactor});
  if ((lower || upper) && low < high) {
    c.rotary_low = low;
    c.rotary_high = high;
    changed = true;
  }
  changed |= number_field(form, "model/rotary_context", ui.tr("model.rotary_context"),
                          c.rotary_context, 1, kMostRotaryContext);
  return changed;
}

}  // namespace headlight
