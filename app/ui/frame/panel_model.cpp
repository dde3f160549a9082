// The model: a summary beside the sentence, its settings behind it.
#include <algorithm>

#include "app/ui/cost/cost_view.h"
#include "app/ui/frame/model/kind_settings.h"
#include "app/ui/frame/model/model_form.h"
#include "app/ui/frame/panels.h"
#include "app/ui/state/commands.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/model/bundled.h"
#include "core/text/pieces/piece_tokenizer.h"
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
  form.y += cost_links(ui, {form.x, form.y});
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
  if (c.form == ModelForm::kTranslate)
    changed |= number_field(form, "model/encoder_layers", ui.tr("model.encoder_layers"),
                            c.encoder_layers, 0, kMaxLayers, c.layers);
  if (c.attends())
    changed |= number_field(form, "model/heads", ui.tr("model.heads"), c.heads, 1, kMaxHeads);
  // Rotary positions turn the features of a head in pairs.
  const int pair = c.has_rotary() && c.rotary_width == 0 ? 2 : 1;
  changed |= number_field(form, "model/d_model", ui.tr("model.d_model"), c.d_model, 1, kMaxWidth,
                          -1, c.attends() && c.d_head == 0 ? pair * c.head_count() : 1);
  Config automatic = c;
  automatic.d_head = automatic.d_hidden = 0;
  if (c.attends())
    changed |= number_field(form, "model/d_head", ui.tr("model.d_head"), c.d_head, 0, kMaxWidth,
                            automatic.head_width(), pair);
  changed |= number_field(form, "model/d_hidden", ui.tr("model.d_hidden"), c.d_hidden, 0,
                          4 * kMaxWidth, automatic.hidden_width());
  if (!c.attends()) return;
  changed |= number_field(form, "model/kv_heads", ui.tr("model.kv_heads"), c.kv_heads, 0, kMaxHeads,
                          c.head_count());
}

// With memory the limit of tokens is a segment's, and the sentence is cut into several. Into how
// many it is, and a way to two where it is one.
void segment_settings(const AppState& state, Ui& ui, Form& form) {
  if (state.document().config.memory == 0) return;
  const auto segments = static_cast<long long>(state.derived.segments);
  const std::size_t tokens = state.derived.tokens_in_sentence;
  if (segments == 1 && tokens > 1) {
    const std::string_view cut = ui.tr("model.segments.cut");
    const Rect r{form.x + form.label_width(), form.y,
                 form.x + form.label_width() + ui.measure(ui.fonts.control, cut).x + ui.px(20),
                 form.y + ui.px(27)};
    if (ui.button("model/segments", cut, r))
      ui.push(DoEdit{SetMaxTokens{static_cast<int>((tokens + 1) / 2)}, "limit"});
    form.next();
  }
  const std::string words = segments > 1 ? ui.tr("model.segments", {{"n", count_text(segments)}})
                                         : std::string(ui.tr("model.segments.one"));
  form.y +=
      ui.wrapped(ui.fonts.note, {form.x, form.y}, form.width - ui.px(40), ui.theme.muted, words) +
      ui.px(8);
}

// What the model makes of its rows: of a random one that can be chosen, where tokens are no
// numbers, which get numbers. Who judges a whole sentence looks both ways.
void form_settings(const AppState& state, Ui& ui, Form& form, Config& c, bool& changed) {
  if (state.document().model.empty() && !c.numbers) {
    const bool other =
        choice_field(form, "model/form", ui.tr("model.form"), form_choices(ui), c.form);
    if (other) {
      const bool classes = c.form == ModelForm::kClasses;
      c.mask.kind = classes ? MaskKind::kNone : MaskKind::kCausal;
      if (!classes) c.layers = std::max(c.layers, 1);
      if (classes) c.tied_head = false;
      if (!classes) c.token_head = false;
      if (c.form == ModelForm::kTranslate) c.mixer = MixerKind::kAttention;
      if (c.form != ModelForm::kTokens) c.memory = 0;
    }
    changed |= other;
  }
  if (c.form != ModelForm::kClasses) return;
  if (state.document().model.empty())
    changed |= switch_field(form, "model/token_head", ui.tr("model.token_head"), c.token_head);
  changed |= choice_field(form, "model/pool", ui.tr("model.pool"), c.pool);
  if (c.pool != PoolKind::kFoci) return;
  changed |= number_field(form, "model/foci", ui.tr("model.foci"), c.foci, 1, kMaxFoci);
  changed |= number_field(form, "model/pool_hidden", ui.tr("model.pool_hidden"), c.pool_hidden, 0,
                          kMaxWidth, c.d_model);
}

// What the tokens of a loaded model are, where the random model has no such tokens.
std::string own_tokens(const Model& model, const Ui& ui) {
  const Vocabulary& vocabulary = *model.vocabulary;
  if (has_ids_alone(model)) return std::string(ui.tr("model.tokens.ids"));
  if (const PieceTokenizer* pieces = vocabulary.pieces())
    return ui.tr("model.tokens.pieces", {{"kind", std::string(pieces->kind())}});
  switch (vocabulary.cut()) {
    case TextCut::kBpe:
      return std::string(ui.tr("train.cut.bpe"));
    case TextCut::kWordPiece:
      return std::string(ui.tr("train.cut.wordpiece"));
    case TextCut::kNumbers:
      return std::string(ui.tr("model.tokens.numbers"));
    default:
      return {};
  }
}

void tokenizer_settings(const AppState& state, Ui& ui, Form& form) {
  form.label(ui.tr("model.tokenizer"));
  const Rect r = form.field(0);
  const bool trained = !state.document().model.empty();
  const Model* model = trained ? state.derived.model.get() : nullptr;
  const std::string own = model ? own_tokens(*model, ui) : std::string();
  if (!own.empty()) {
    ui.text(ui.fonts.control, {r.x0, form.y + ui.px(6)}, ui.theme.text, own,
            form.width - form.label_width() - ui.px(40));
    form.next();
    return;
  }
  const TokenizerKind shown =
      model ? model->vocabulary->tokenizer_kind() : state.document().tokenizer;
  const Choices tokenizers = tokenizer_choices(ui);
  const int kind = ui.segmented("model/tokenizer", tokenizers.labels, static_cast<int>(shown),
                                r.min(), r.height(), tokenizers.ids, !trained, form.fixed);
  if (kind >= 0) ui.push(DoEdit{SetTokenizer{static_cast<TokenizerKind>(kind)}, ""});
  form.next();
}

// A model may have learned fewer positions than the limit allows.
void note_learned(const AppState& state, Ui& ui, Form& form, int limit) {
  const Model* model = state.document().model.empty() ? nullptr : state.derived.model.get();
  if (!model || !model->file.config.ends_at_context()) return;
  const bool pair = model->file.config.form == ModelForm::kTranslate;
  const std::int64_t learned = pair ? model->file.source : model->file.context;
  if (learned >= limit) return;
  form.y += ui.wrapped(ui.fonts.note, {form.x, form.y}, form.width - ui.px(40), ui.theme.muted,
                       ui.tr("model.max_tokens.learned", {{"n", count_text(learned)}})) +
            ui.px(8);
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
  if (changed) ui.push(DoEdit{SetConfig{without_idle_options(c)}, "model"});

  form.heading(ui.tr("model.text"));
  tokenizer_settings(state, ui, form);
  form.fixed = {};
  int limit = state.document().max_tokens;
  const bool remembers = c.memory > 0;
  if (number_field(form, "model/max_tokens",
                   ui.tr(remembers ? "model.segment" : "model.max_tokens"), limit, 1,
                   kLargestMaxTokens)) {
    ui.push(DoEdit{SetMaxTokens{limit}, "limit"});
  }
  note_learned(state, ui, form, limit);
  segment_settings(state, ui, form);
  return form.y;
}

// What the shown model has learned from, in a few words.
std::string learned_from(const AppState& state, const Ui& ui) {
  const std::string& ref = state.document().model;
  if (ref.empty()) return std::string(ui.tr("stage.random.brief"));
  const auto& model = state.derived.opened;
  const auto known = words_of_model(ref, model && model->ref == ref ? model->file.task : "");
  if (known) return ui.tr("model.learned", {{"task", std::string(ui.tr(known->name))}});
  if (model && model->ref == ref) {
    const auto count = static_cast<double>(parameter_count(*model));
    return ui.tr("model.from_folder", {{"count", amount_text(ui.language, count)}});
  }
  return std::string(ui.tr(state.derived.computing ? "model.opening" : "model.not_open"));
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
  std::string summary = tr_count(ui.language, "count.layers", c.layers);
  if (c.encoder_layers > 0) {
    summary = ui.tr("count.layers.both", {{"encoder", std::to_string(c.encoder_layers)},
                                          {"decoder", std::to_string(c.layers)}});
  }
  if (c.attends()) summary += " · " + tr_count(ui.language, "count.heads", c.head_count());
  summary += " · d " + std::to_string(c.d_model);
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
