// The model: a summary beside the sentence, its settings behind it.
#include <algorithm>

#include "app/ui/frame/choices.h"
#include "app/ui/frame/panels.h"
#include "app/ui/state/commands.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/model/bundled.h"
#include "core/train/model_recipe.h"

namespace headlight {
namespace {

std::string shown_model_name(const AppState& state, const Ui& ui) {
  const std::string& ref = state.document().model;
  if (ref.empty()) return std::string(ui.tr("model.sandbox"));
  if (ref == kRunRef) return std::string(ui.tr("model.run"));
  if (ref.starts_with(kBundledRef)) return ref.substr(kBundledRef.size());
  return to_field_text(shortened(ref.substr(ref.find_last_of('/') + 1), 24));
}

struct Form {
  Ui& ui;
  float x, y, width;
  std::string_view fixed = {};  // why the next fields cannot be changed; empty: they can
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

// A number that can be stepped, to the multiples of `step`, or typed. Width 0 stands for
// "automatic".
bool number_field(Form& form, const char* id, std::string_view label, int& value, int low, int high,
                  int automatic = -1, int step = 1) {
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
                      ImVec2(ui.px(8), (r.height() - ui.fonts.mono->FontSize) / 2));
  int typed = value;
  ImGui::PushStyleColor(ImGuiCol_Text, to_u32(free ? ui.theme.text : ui.theme.muted));
  ui.before_field(id);
  if (ImGui::InputInt(("##" + name).c_str(), &typed, 0, 0,
                      free ? 0 : ImGuiInputTextFlags_ReadOnly) &&
      free)
    next = typed;
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

template <class T>
bool choice_field(Form& form, std::string_view id, std::string_view label, const Choices& all,
                  T& value) {
  form.label(label);
  const Rect r = form.field(0);
  const auto now = static_cast<int>(std::ranges::find(all.ids, word(value)) - all.ids.begin());
  const int pressed = form.ui.segmented(id, all.labels, now, r.min(), r.height(), all.ids,
                                        form.fixed.empty(), form.fixed);
  form.next();
  if (pressed < 0 || pressed == now) return false;
  value = *from_word<T>(all.ids[static_cast<std::size_t>(pressed)]);
  return true;
}

template <class T>
bool choice_field(Form& form, std::string_view id, std::string_view label, T& value) {
  return choice_field(form, id, label, choices_of(form.ui, T{}), value);
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
  std::uint64_t typed = seed;
  ui.before_field("model/seed");
  const bool free = form.fixed.empty();
  const bool entered = ImGui::InputScalar("##seed", ImGuiDataType_U64, &typed, nullptr, nullptr,
                                          nullptr, free ? 0 : ImGuiInputTextFlags_ReadOnly);
  ui.after_field("model/seed");
  ImGui::PopFont();
  bool changed = free && entered && typed != seed;
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

// A button of the list of models; goes to the next line where it does not fit.
bool model_chip(Form& form, float& at, std::string_view id, std::string_view label, bool chosen,
                std::string_view help = {}) {
  Ui& ui = form.ui;
  const float most = form.width - ui.px(40), gap = ui.px(4);
  const float width = std::min(most, ui.measure(ui.fonts.control, label).x + ui.px(20));
  if (at > form.x && at + width > form.x + most) {
    at = form.x;
    form.y += ui.px(32);
  }
  const Rect r{at, form.y, at + width, form.y + ui.px(28)};
  at = r.x1 + gap;
  return ui.button("model/trained/" + std::string(id), label, r, chosen, true, help) && !chosen;
}

// What the heads of a model that comes with the program do, under each sentence on which they do
// it.
std::string claim_words(const ModelRecipe& recipe, const Ui& ui) {
  std::string words;
  const std::string* before = nullptr;
  for (const HeadClaim& claim : recipe.claims) {
    if (!before || *before != claim.sentence)
      words += ui.tr("claim.on", {{"sentence", claim.sentence}}) + "\n";
    before = &claim.sentence;
    words += claim_text(ui.language, claim) + "\n";
  }
  return words;
}

// What the chosen model is, in words.
std::string model_words(const AppState& state, const Ui& ui) {
  const std::string& ref = state.document().model;
  if (ref.empty()) return std::string(ui.tr("model.sandbox.about"));
  std::string words;
  const auto& model = state.derived.model;
  const bool loaded = model && model->ref == ref;
  const bool bundled = ref.starts_with(kBundledRef);
  if (const auto known = words_of_model(ref, loaded ? model->file.task : "")) {
    words = std::string(ui.tr(known->about)) + "\n" +
            ui.tr("model.look_for", {{"what", std::string(ui.tr(known->look))}}) + "\n";
  }
  if (bundled) words += claim_words(bundled_recipe(ref.substr(kBundledRef.size())), ui);
  if (!loaded) return words;
  return words + ui.tr("model.size", {{"parameters", count_text(parameter_count(*model))},
                                      {"vocab", count_text(model->file.vocab)},
                                      {"context", count_text(model->file.context)}});
}

// The sandbox, the bundled models, the folder in use, and a way to another folder.
void trained_models(const AppState& state, Ui& ui, Form& form) {
  form.heading(ui.tr("model.trained"));
  const std::string& ref = state.document().model;
  float at = form.x;
  if (model_chip(form, at, "sandbox", ui.tr("model.sandbox"), ref.empty(),
                 ui.tr("model.sandbox.about")))
    ui.push(ChooseModel{});
  bool listed = ref.empty();
  for (const BundledModel& model : bundled_models()) {
    const std::string its = std::string(kBundledRef) + std::string(model.name);
    listed = listed || its == ref;
    const std::string takes =
        std::string(ui.tr(bundled_words(model.name).about)) + "\n" +
        ui.tr("model.example", {{"sentence", bundled_recipe(model.name).example}});
    if (model_chip(form, at, model.name, model.name, its == ref, takes)) ui.push(ChooseModel{its});
  }
  if (!listed) model_chip(form, at, "now", shown_model_name(state, ui), true, to_field_text(ref));
  if (model_chip(form, at, "open", ui.tr("model.open"), false,
                 command_hint(ui.language, Command::kOpenModel))) {
    ui.push(DoCommand{Command::kOpenModel});
    ImGui::CloseCurrentPopup();
  }
  form.y += ui.px(38);
  form.y += ui.wrapped(ui.fonts.note, {form.x, form.y}, form.width - ui.px(40), ui.theme.muted,
                       to_field_text(model_words(state, ui))) +
            ui.px(8);
}

void shape_settings(Ui& ui, Form& form, Config& c, bool& changed) {
  form.heading(ui.tr("model.shape"));
  if (!form.fixed.empty()) {
    form.y += ui.wrapped(ui.fonts.note, {form.x, form.y - ui.px(2)}, form.width - ui.px(40),
                         ui.theme.muted, form.fixed) +
              ui.px(6);
  }
  const int least = c.form == ModelForm::kClasses ? 0 : 1;
  changed |= number_field(form, "model/layers", ui.tr("model.layers"), c.layers, least, kMaxLayers);
  changed |= number_field(form, "model/heads", ui.tr("model.heads"), c.heads, 1, kMaxHeads);
  // Rotary positions turn the features of a head in pairs.
  const int pair = c.has_rotary() && c.rotary_width == 0 ? 2 : 1;
  changed |= number_field(form, "model/d_model", ui.tr("model.d_model"), c.d_model, 1, kMaxWidth,
                          -1, c.d_head == 0 ? pair * c.head_count() : 1);
  Config automatic = c;
  automatic.d_head = automatic.d_hidden = 0;
  changed |= number_field(form, "model/d_head", ui.tr("model.d_head"), c.d_head, 0, kMaxWidth,
                          automatic.head_width(), pair);
  changed |= number_field(form, "model/d_hidden", ui.tr("model.d_hidden"), c.d_hidden, 0,
                          4 * kMaxWidth, automatic.hidden_width());
  changed |= number_field(form, "model/kv_heads", ui.tr("model.kv_heads"), c.kv_heads, 0, kMaxHeads,
                          c.head_count());
}

// What of rotary positions can be chosen, while they are.
void rotary_settings(Ui& ui, Form& form, Config& c, bool& changed) {
  if (!c.has_rotary()) return;
  changed |= choice_field(form, "model/rotary", ui.tr("model.rotary"), c.rotary);
  changed |= number_field(form, "model/rotary_width", ui.tr("model.rotary_width"), c.rotary_width,
                          0, c.head_width(), c.head_width());
  int base = static_cast<int>(c.rotary_base);
  if (number_field(form, "model/rotary_base", ui.tr("model.rotary_base"), base, 1, 1'000'000'000)) {
    c.rotary_base = base;
    changed = true;
  }
}

// What the model makes of its rows: of a random one that can be chosen. Who judges a whole sentence
// looks both ways.
void form_settings(const AppState& state, Ui& ui, Form& form, Config& c, bool& changed) {
  if (state.document().model.empty()) {
    const bool other =
        choice_field(form, "model/form", ui.tr("model.form"), form_choices(ui), c.form);
    if (other) {
      const bool classes = c.form == ModelForm::kClasses;
      c.mask.kind = classes ? MaskKind::kNone : MaskKind::kCausal;
      if (!classes) c.layers = std::max(c.layers, 1);
      if (classes) c.tied_head = false;
    }
    changed |= other;
  }
  if (c.form != ModelForm::kClasses) return;
  changed |= choice_field(form, "model/pool", ui.tr("model.pool"), c.pool);
  if (c.pool != PoolKind::kFoci) return;
  changed |= number_field(form, "model/foci", ui.tr("model.foci"), c.foci, 1, kMaxFoci);
  changed |= number_field(form, "model/pool_hidden", ui.tr("model.pool_hidden"), c.pool_hidden, 0,
                          kMaxWidth, c.d_model);
}

// What needs no other weights can be changed of a trained model too.
void kind_settings(const AppState& state, Ui& ui, Form& form, Config& c, bool& changed) {
  const std::string_view fixed = form.fixed;
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
  form.fixed = {};
  changed |= switch_field(form, "model/scale", ui.tr("model.scale"), c.scale);
  form.fixed = fixed;
  changed |= choice_field(form, "model/block", ui.tr("model.block"), c.block);
  changed |= choice_field(form, "model/norm", ui.tr("model.norm"), c.norm);
  changed |= choice_field(form, "model/activation", ui.tr("model.activation"), c.activation);
  form.fixed = {};
  changed |= choice_field(form, "model/positions", ui.tr("model.positions"),
                          position_choices(state, ui), c.positions);
  form.fixed = fixed;
  rotary_settings(ui, form, c, changed);
  changed |= switch_field(form, "model/bias", ui.tr("model.bias"), c.bias);
  if (c.form != ModelForm::kClasses)
    changed |= switch_field(form, "model/tied_head", ui.tr("model.tied_head"), c.tied_head);
  form.fixed = {};
  changed |= switch_field(form, "model/residual", ui.tr("model.residual"), c.residual);
  form.fixed = fixed;
  changed |= seed_field(form, c.seed);
}

// Returns where the form ends.
float settings(const AppState& state, Ui& ui, Form form) {
  trained_models(state, ui, form);
  const bool trained = !state.document().model.empty();
  if (trained) form.fixed = ui.tr("model.fixed");
  Config c = state.document().config;
  bool changed = false;
  shape_settings(ui, form, c, changed);
  form_settings(state, ui, form, c, changed);
  kind_settings(state, ui, form, c, changed);
  if (changed) ui.push(DoEdit{SetConfig{c}, "model"});

  form.heading(ui.tr("model.text"));
  form.label(ui.tr("model.tokenizer"));
  const Choices tokenizers = tokenizer_choices(ui);
  const Rect r = form.field(0);
  const int kind = ui.segmented("model/tokenizer", tokenizers.labels,
                                static_cast<int>(state.document().tokenizer), r.min(), r.height(),
                                tokenizers.ids, !trained, form.fixed);
  if (kind >= 0) ui.push(DoEdit{SetTokenizer{static_cast<TokenizerKind>(kind)}, ""});
  form.next();
  form.fixed = {};
  int limit = state.document().max_tokens;
  if (number_field(form, "model/max_tokens", ui.tr("model.max_tokens"), limit, 1,
                   kLargestMaxTokens)) {
    ui.push(DoEdit{SetMaxTokens{limit}, "limit"});
  }
  return form.y;
}

// What the shown model has learned from, in a few words.
std::string learned_from(const AppState& state, const Ui& ui) {
  const std::string& ref = state.document().model;
  if (ref.empty()) return std::string(ui.tr("stage.random.brief"));
  const auto& model = state.derived.model;
  const auto known = words_of_model(ref, model && model->ref == ref ? model->file.task : "");
  if (known) return ui.tr("model.learned", {{"task", std::string(ui.tr(known->name))}});
  return std::string(ui.tr("model.trained"));
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
  // Two floors where the sentence's card has them: the name, and what the model has learned from.
  const bool two = r.height() > ui.px(60);
  const float y = two ? r.y0 + ui.px(13) : (r.y0 + r.y1) / 2 - ui.px(8);
  if (two)
    ui.text(ui.fonts.note, {r.x0 + ui.px(16), r.y1 - ui.px(25)}, ui.theme.muted,
            learned_from(state, ui), r.width() - ui.px(30));
  const bool narrow = r.width() < ui.px(120);
  const std::string name = shown_model_name(state, ui);
  ui.user_text(ui.fonts.strong, {r.x0 + ui.px(narrow ? 8 : 16), y}, ui.theme.text, name,
               r.width() - ui.px(narrow ? 12 : 46));
  const std::string summary = tr_count(ui.language, "count.layers", c.layers) + " · " +
                              tr_count(ui.language, "count.heads", c.head_count()) + " · d " +
                              std::to_string(c.d_model);
  const float name_width = ui.measure(ui.fonts.strong, name).x;
  if (name_width + ui.measure(ui.fonts.control, summary).x + ui.px(62) <= r.width()) {
    ui.text(ui.fonts.control, {r.x0 + ui.px(30) + name_width, y}, ui.theme.muted, summary);
  }
  if (!narrow) ui.text_right(ui.fonts.control, r.x1 - ui.px(14), y, ui.theme.muted, "▾");
  if (pressed || state.requests.open == Sheet::kModel) ImGui::OpenPopup("model_settings");
  const float content = ui.px(500);
  const ImVec2 window = ImGui::GetIO().DisplaySize;
  const float width = std::min(content, window.x - ui.px(16));
  const float height = std::min(ui.px(690), window.y - r.y1 - ui.px(16));
  ImGui::SetNextWindowPos({std::max(ui.px(8), r.x1 - width), r.y1 + ui.px(6)});
  ImGui::SetNextWindowSize({width, height});
  if (ImGui::BeginPopup("model_settings", ImGuiWindowFlags_HorizontalScrollbar)) {
    const ImVec2 at = ImGui::GetWindowPos();
    const float left = at.x - ImGui::GetScrollX();
    const float top = at.y + ui.px(12) - ImGui::GetScrollY();
    const float end = settings(state, ui, {ui, left + ui.px(20), top, content});
    // As wide and as high as the form, so that a small window scrolls to all of it.
    ImGui::SetCursorScreenPos(
        {width < content ? left + content - ui.px(20) : left, end + ui.px(8)});
    ImGui::Dummy({1, 1});
    ui.drawn.add("panel/model_settings", at, {at.x + width, at.y + height});
    ImGui::EndPopup();
  }
}

}  // namespace headlight
