// The model: a summary beside the sentence, its settings behind it.
#include <algorithm>
#include <utility>

#include "app/ui/cost/cost_view.h"
#include "app/ui/frame/model/attention_form.h"
#include "app/ui/frame/model/model_form.h"
#include "app/ui/frame/model/part_settings.h"
#include "app/ui/frame/panels.h"
#include "app/ui/state/commands.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/model/bundled.h"
#include "core/run/model_input.h"
#include "core/text/number_words.h"
#include "core/text/unknown_words.h"
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
  changed |= rotary_scaling_fields(form, c);
}

// The same of positions by distance.
void distance_settings(Ui& ui, Form& form, Config& c, bool& changed) {
  if (c.positions == PositionKind::kRelative)
    changed |= number_field(form, "model/relative_reach", ui.tr("model.relative_reach"),
                            c.relative_reach, 1, kMaxReach);
  if (c.positions != PositionKind::kT5) return;
  changed |=
      number_field(form, "model/t5_buckets", ui.tr("model.t5_buckets"), c.t5_buckets, 2, kMaxReach);
  changed |=
      number_field(form, "model/t5_reach", ui.tr("model.t5_reach"), c.t5_reach, 1, kMaxReach);
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

// Several feed-forward networks and a gate in place of one.
void expert_settings(Ui& ui, Form& form, Config& c, bool& changed) {
  if (!c.has_feed_forward() || c.is_gated()) return;
  changed |= number_field(form, "model/experts", ui.tr("model.experts"), c.experts, 0, kMaxExperts);
  c.top_experts = std::min(c.top_experts, c.experts);
  if (!c.has_experts()) return;
  changed |= number_field(form, "model/top_experts", ui.tr("model.top_experts"), c.top_experts, 0,
                          c.experts, c.experts);
}

// How much of the segment before is remembered. Places that a row counts for itself would repeat:
// who begins to remember with a random model gets positions that only know distances.
void memory_settings(const AppState& state, Ui& ui, Form& form, Config& c, bool& changed) {
  if (c.form != ModelForm::kTokens) return;
  if (!number_field(form, "model/memory", ui.tr("model.memory"), c.memory, 0, kMaxMemory)) return;
  changed = true;
  const bool counts =
      c.positions == PositionKind::kSinusoidal || c.positions == PositionKind::kLearned;
  if (c.memory > 0 && counts && state.document().model.empty())
    c.positions = c.head_width() % 2 == 0 ? PositionKind::kRotary : PositionKind::kNone;
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

// What mixes the tokens, and of a convolution its window. Only attention has queries and keys that
// positions can act on; of masks the others know the causal one alone.
void mixer_settings(Ui& ui, Form& form, Config& c, bool& changed) {
  if (c.form == ModelForm::kTranslate) return;
  if (choice_field(form, "model/mixer", ui.tr("model.mixer"), c.mixer)) {
    changed = true;
    if (!c.attends() && (c.has_rotary() || c.is_relative()))
      c.positions = PositionKind::kSinusoidal;
    if (!c.attends()) {
      const bool causal = c.mask.is_causal();
      c.mask.kind = causal ? MaskKind::kCausal : MaskKind::kNone;
      c.mask.causal.reset();
      c.memory = 0;
    }
  }
  if (c.mixer != MixerKind::kConvolution) return;
  changed |= number_field(form, "model/kernel", ui.tr("model.kernel"), c.kernel, 1, kMaxKernel);
  changed |=
      number_field(form, "model/dilation", ui.tr("model.dilation"), c.dilation, 1, kMaxDilation);
}

// Tokens that are numbers, and how many bell curves say which number belongs to each. A sentence of
// words is no row of numbers, so one of those comes along.
void number_settings(const AppState& state, Ui& ui, Form& form, Config& c, bool& changed) {
  if (c.form != ModelForm::kTokens) return;
  if (switch_field(form, "model/numbers", ui.tr("model.numbers"), c.numbers)) {
    changed = true;
    c.components = 0;
    if (c.numbers) c.tied_head = false;
    const bool sandbox = state.document().model.empty();
    const Vocabulary& numbers = sandbox_numbers();
    if (c.numbers && sandbox && !unknown_tokens(numbers, state.document().sentence).empty())
      ui.push(DoEdit{SetSentence{std::string(kNumberSentence)}, "numbers"});
  }
  if (!c.numbers) return;
  changed |= number_field(form, "model/components", ui.tr("model.components"), c.components, 0,
                          kMaxComponents);
}

// A row for each of two sentences joins the embeddings. A random model's sentence gets a second
// one, where it has none, so that there is something to see.
void segment_rows(const AppState& state, Ui& ui, Form& form, Config& c, bool& changed) {
  if (c.form == ModelForm::kTranslate || c.numbers || c.memory > 0) c.segments = false;
  if (c.form == ModelForm::kTranslate || c.numbers || c.memory > 0) return;
  const bool switched =
      switch_field(form, "model/segment_rows", ui.tr("model.segment_rows"), c.segments);
  if (c.segments)
    changed |= number_field(form, "model/segment_count", ui.tr("model.segment_count"),
                            c.segment_rows, 1, kSegments);
  if (!switched) return;
  changed = true;
  const std::string mark(to_string(Special::kSeparator));
  const std::string& sentence = state.document().sentence;
  if (c.segments && !sentence.empty() && sentence.find(mark) == std::string::npos)
    ui.push(DoEdit{
        SetSentence{sentence + " " + mark + " " + std::string(ui.tr("model.second_sentence"))},
        "model"});
}

void attention_settings(Ui& ui, Form& form, Config& c, bool& changed) {
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
  const std::string_view fixed = std::exchange(form.fixed, std::string_view{});
  changed |= switch_field(form, "model/scale", ui.tr("model.scale"), c.scale);
  changed |= switch_field(form, "model/average_weights", ui.tr("model.average_weights"),
                          c.average_weights);
  changed |= switch_field(form, "model/fused_attention", ui.tr("model.fused_attention"),
                          c.fused_attention);
  form.fixed = fixed;
  if (c.attention != AttentionKind::kBasic) {
    changed |= switch_field(form, "model/output_projection", ui.tr("model.output_projection"),
                            c.output_projection);
    changed |= number_field(form, "model/d_value", ui.tr("model.d_value"), c.d_value, 0, kMaxWidth,
                            c.head_width());
  }
  changed |= switch_field(form, "model/bias_kv", ui.tr("model.bias_kv"), c.bias_kv);
  changed |=
      switch_field(form, "model/zero_attention", ui.tr("model.zero_attention"), c.zero_attention);
  changed |= score_fields(form, c);
}

// What needs no other weights can be changed of a trained model too.
void kind_settings(const AppState& state, Ui& ui, Form& form, Config& c, bool& changed) {
  const std::string_view fixed = form.fixed;
  form.heading(ui.tr("model.kinds"));
  mixer_settings(ui, form, c, changed);
  if (c.attends()) attention_settings(ui, form, c, changed);
  changed |= choice_field(form, "model/block", ui.tr("model.block"), c.block);
  changed |= choice_field(form, "model/norm", ui.tr("model.norm"), c.norm);
  changed |= choice_field(form, "model/activation", ui.tr("model.activation"), c.activation);
  // Experts are networks of two layers: without such a network there are none.
  if (!c.has_feed_forward() || c.is_gated()) c.experts = c.top_experts = 0;
  expert_settings(ui, form, c, changed);
  number_settings(state, ui, form, c, changed);
  segment_rows(state, ui, form, c, changed);
  form.fixed = {};
  changed |= choice_field(form, "model/positions", ui.tr("model.positions"),
                          position_choices(state, ui), c.positions);
  memory_settings(state, ui, form, c, changed);
  form.fixed = fixed;
  rotary_settings(ui, form, c, changed);
  distance_settings(ui, form, c, changed);
  embedding_settings(form, c, changed);
  norm_and_bias_settings(form, c, changed);
  if (c.form != ModelForm::kClasses && !c.numbers)
    changed |= switch_field(form, "model/tied_head", ui.tr("model.tied_head"), c.tied_head);
  head_settings(form, c, changed);
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
  if (changed) ui.push(DoEdit{SetConfig{without_idle_options(c)}, "model"});

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
  const bool remembers = c.memory > 0;
  if (number_field(form, "model/max_tokens",
                   ui.tr(remembers ? "model.segment" : "model.max_tokens"), limit, 1,
                   kLargestMaxTokens)) {
    ui.push(DoEdit{SetMaxTokens{limit}, "limit"});
  }
  segment_settings(state, ui, form);
  return form.y;
}

// What the shown model has learned from, in a few words.
std::string learned_from(const AppState& state, const Ui& ui) {
  const std::string& ref = state.document().model;
  if (ref.empty()) return std::string(ui.tr("stage.random.brief"));
  const auto& model = state.derived.model;
  const auto known = words_of_model(ref, model && model->ref == ref ? model->file.task : "");
  if (known) return ui.tr("model.learned", {{"task", std::string(ui.tr(known->name))}});
  if (model && model->ref == ref) {
    const auto count = static_cast<double>(parameter_count(*model));
    return ui.tr("model.from_folder", {{"count", amount_text(ui.language, count)}});
  }
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
  std::string summary = tr_count(ui.language, "count.layers", c.layers);
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
