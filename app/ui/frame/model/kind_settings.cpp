// What can be set of a model's kind: its attention, its positions, the parts of a block, and what
// stands in attention's place.
#include "app/ui/frame/model/kind_settings.h"

#include <algorithm>
#include <utility>

#include "app/ui/frame/model/attention_form.h"
#include "app/ui/frame/model/part_settings.h"
#include "core/run/model_input.h"
#include "core/text/number_words.h"
#include "core/text/unknown_words.h"

namespace headlight {
namespace {

// What of rotary positions can be chosen, while they are.
void rotary_settings(Ui& ui, Form& form, Config& c, bool& changed) {
  if (!c.has_rotary()) return;
  changed |= choice_field(form, "model/rotary", ui.tr("model.rotary"), c.rotary);
  changed |= number_field(form, "model/rotary_width", ui.tr("model.rotary_width"), c.rotary_width,
                          0, c.head_width(), c.head_width());
  changed |= rotary_fields(form, c);
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

}  // namespace

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

}  // namespace headlight
