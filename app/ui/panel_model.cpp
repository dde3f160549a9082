// The model: a summary beside the sentence, its settings behind it.
#include <algorithm>

#include "app/ui/choices.h"
#include "app/ui/commands.h"
#include "app/ui/panels.h"
#include "core/text/number_text.h"

namespace headlight {
namespace {

struct Form {
  Ui& ui;
  float x, y, width;
  float label_width() const { return ui.px(110); }
  float line() const { return ui.px(34); }
  void label(std::string_view text) {
    ui.text(ui.fonts.control, {x, y + ui.px(6)}, ui.theme.muted, text, label_width());
  }
  Rect field(float field_width) const {
    return {x + label_width(), y, x + label_width() + field_width, y + ui.px(27)};
  }
  void next() { y += line(); }
  void heading(std::string_view text) {
    y += ui.px(6);
    ui.text(ui.fonts.strong, {x, y}, ui.theme.text, text);
    y += ui.px(26);
  }
};

// A number that can be stepped or typed. Width 0 stands for "automatic".
bool number_field(Form& form, const char* id, std::string_view label, int& value, int low, int high,
                  int automatic = -1) {
  Ui& ui = form.ui;
  form.label(label);
  const Rect r = form.field(ui.px(150));
  int next = value;
  const float side = r.height();
  const std::string name(id);
  if (ui.button(name + "/less", "−", {r.x0, r.y0, r.x0 + side, r.y1}, false, value > low)) --next;
  ImGui::SetCursorScreenPos({r.x0 + side + ui.px(3), r.y0});
  ImGui::SetNextItemWidth(r.width() - 2 * side - ui.px(6));
  ImGui::PushFont(ui.fonts.mono);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding,
                      ImVec2(ui.px(8), (r.height() - ui.fonts.mono->FontSize) / 2));
  int typed = value;
  ui.before_field(id);
  if (ImGui::InputInt(("##" + name).c_str(), &typed, 0, 0)) next = typed;
  ui.after_field(id);
  ImGui::PopStyleVar();
  ImGui::PopFont();
  if (ui.button(name + "/more", "+", {r.x1 - side, r.y0, r.x1, r.y1}, false, value < high)) ++next;
  if (automatic >= 0 && value == 0) {
    ui.text(ui.fonts.note, {r.x1 + ui.px(10), r.y0 + ui.px(7)}, ui.theme.muted,
            ui.tr("model.automatic", {{"n", std::to_string(automatic)}}));
  }
  form.next();
  next = std::clamp(next, low, high);
  const bool changed = next != value;
  value = next;
  return changed;
}

template <class T>
bool choice_field(Form& form, std::string_view id, std::string_view label, T& value) {
  form.label(label);
  const Choices all = choices_of(form.ui, T{});
  const Rect r = form.field(0);
  const int pressed =
      form.ui.segmented(id, all.labels, static_cast<int>(value), r.min(), r.height(), all.ids);
  form.next();
  if (pressed < 0 || pressed == static_cast<int>(value)) return false;
  value = static_cast<T>(pressed);
  return true;
}

bool switch_field(Form& form, std::string_view id, std::string_view label, bool& value) {
  form.label(label);
  const Choices all = on_off_choices(form.ui);
  const Rect r = form.field(0);
  const int pressed =
      form.ui.segmented(id, all.labels, value ? 0 : 1, r.min(), r.height(), all.ids);
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
  std::uint64_t typed = seed;
  ui.before_field("model/seed");
  const bool entered = ImGui::InputScalar("##seed", ImGuiDataType_U64, &typed);
  ui.after_field("model/seed");
  ImGui::PopFont();
  bool changed = entered && typed != seed;
  const Rect fresh{r.x1 + ui.px(8), r.y0, r.x1 + ui.px(78), r.y1};
  if (ui.button("model/seed/next", ui.tr("model.seed.next"), fresh, false, true,
                ui.tr("model.seed.next.help"))) {
    ++typed;
    changed = true;
  }
  seed = typed;
  form.next();
  return changed;
}

void settings(const AppState& state, Ui& ui, Form form) {
  Config c = state.document().config;
  bool changed = false;
  form.heading(ui.tr("model.shape"));
  changed |= number_field(form, "model/layers", ui.tr("model.layers"), c.layers, 1, kMaxLayers);
  changed |= number_field(form, "model/heads", ui.tr("model.heads"), c.heads, 1, kMaxHeads);
  changed |= number_field(form, "model/d_model", ui.tr("model.d_model"), c.d_model, 1, kMaxWidth);
  Config automatic = c;
  automatic.d_head = automatic.d_hidden = 0;
  changed |= number_field(form, "model/d_head", ui.tr("model.d_head"), c.d_head, 0, kMaxWidth,
                          automatic.head_width());
  changed |= number_field(form, "model/d_hidden", ui.tr("model.d_hidden"), c.d_hidden, 0,
                          4 * kMaxWidth, automatic.hidden_width());
  form.heading(ui.tr("model.kinds"));
  const AttentionKind before = c.attention;
  changed |= choice_field(form, "model/attention", ui.tr("model.attention"), c.attention);
  // Basic attention has no scale unless asked for; going back brings it back.
  if (c.attention != before &&
      (c.attention == AttentionKind::kBasic) != (before == AttentionKind::kBasic)) {
    c.scale = c.attention != AttentionKind::kBasic && c.scores == ScoreKind::kDot;
  }
  const ScoreKind scores_before = c.scores;
  changed |= choice_field(form, "model/scores", ui.tr("model.scores"), c.scores);
  if (c.scores != scores_before)
    c.scale = c.scores == ScoreKind::kDot && c.attention != AttentionKind::kBasic;
  changed |= switch_field(form, "model/scale", ui.tr("model.scale"), c.scale);
  changed |= choice_field(form, "model/block", ui.tr("model.block"), c.block);
  changed |= choice_field(form, "model/activation", ui.tr("model.activation"), c.activation);
  changed |= choice_field(form, "model/positions", ui.tr("model.positions"), c.positions);
  changed |= switch_field(form, "model/bias", ui.tr("model.bias"), c.bias);
  changed |= switch_field(form, "model/residual", ui.tr("model.residual"), c.residual);
  changed |= seed_field(form, c.seed);
  if (changed) ui.push(DoEdit{SetConfig{c}, "model"});

  form.heading(ui.tr("model.text"));
  form.label(ui.tr("model.tokenizer"));
  const Choices tokenizers = tokenizer_choices(ui);
  const Rect r = form.field(0);
  const int kind = ui.segmented("model/tokenizer", tokenizers.labels,
                                static_cast<int>(state.document().tokenizer), r.min(), r.height(),
                                tokenizers.ids);
  if (kind >= 0) ui.push(DoEdit{SetTokenizer{static_cast<TokenizerKind>(kind)}, ""});
  form.next();
  int limit = state.document().max_tokens;
  if (number_field(form, "model/max_tokens", ui.tr("model.max_tokens"), limit, 1,
                   kLargestMaxTokens)) {
    ui.push(DoEdit{SetMaxTokens{limit}, "limit"});
  }
}

}  // namespace

void panel_model(const AppState& state, Ui& ui, const Rect& r) {
  const Config& c = state.document().config;
  ImDrawList* list = ImGui::GetWindowDrawList();
  bool over = false;
  const bool pressed = ui.hot("model", r, &over);
  list->AddRectFilled(r.min(), r.max(), to_u32(over ? ui.theme.selection : ui.theme.surface),
                      ui.px(8));
  list->AddRect(r.min(), r.max(), to_u32(ui.theme.line), ui.px(8));
  const float y = (r.y0 + r.y1) / 2 - ui.px(8);
  const bool narrow = r.width() < ui.px(120);
  const std::string_view name = ui.tr("model.sandbox");
  ui.text(ui.fonts.strong, {r.x0 + ui.px(narrow ? 8 : 16), y}, ui.theme.text, name);
  const std::string summary = tr_count(ui.language, "count.layers", c.layers) + " · " +
                              tr_count(ui.language, "count.heads", c.head_count()) + " · d " +
                              std::to_string(c.d_model);
  const float name_width = ui.measure(ui.fonts.strong, name).x;
  if (name_width + ui.measure(ui.fonts.control, summary).x + ui.px(62) <= r.width()) {
    ui.text(ui.fonts.control, {r.x0 + ui.px(30) + name_width, y}, ui.theme.muted, summary);
  }
  if (!narrow) ui.text_right(ui.fonts.control, r.x1 - ui.px(14), y, ui.theme.muted, "▾");
  if (pressed || state.session.model_open) ui.push(ClosePopups{});
  if (pressed || state.session.model_open) ImGui::OpenPopup("model_settings");
  const float content = ui.px(480);
  const ImVec2 window = ImGui::GetIO().DisplaySize;
  const float width = std::min(content, window.x - ui.px(16));
  const float height = std::min(ui.px(690), window.y - r.y1 - ui.px(16));
  ImGui::SetNextWindowPos({std::max(ui.px(8), r.x1 - width), r.y1 + ui.px(6)});
  ImGui::SetNextWindowSize({width, height});
  if (ImGui::BeginPopup("model_settings", ImGuiWindowFlags_HorizontalScrollbar)) {
    const ImVec2 at = ImGui::GetWindowPos();
    const float left = at.x - ImGui::GetScrollX();
    const float top = at.y + ui.px(12) - ImGui::GetScrollY();
    settings(state, ui, {ui, left + ui.px(20), top, content});
    // As wide and as high as the form, so that a small window scrolls to all of it.
    ImGui::SetCursorScreenPos(
        {width < content ? left + content - ui.px(20) : left, top + ui.px(655)});
    ImGui::Dummy({1, 1});
    ui.probe.add("panel/model_settings", at, {at.x + width, at.y + height});
    ImGui::EndPopup();
  }
}

}  // namespace headlight
