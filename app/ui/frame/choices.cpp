#include "app/ui/frame/choices.h"

namespace headlight {
namespace {

// The label of the word "causal" in the group "mask" is the text "choice.mask.causal".
void add(Choices& all, const Ui& ui, const std::string& group, std::string_view word) {
  all.labels.emplace_back(ui.tr("choice." + group + "." + std::string(word)));
  all.ids.push_back(word);
}

Choices of(const Ui& ui, const std::string& group, auto kind) {
  Choices all;
  for (const auto& choice : choices(kind)) add(all, ui, group, choice.word);
  return all;
}

}  // namespace

Choices choices_of(const Ui& ui, MaskKind kind) { return of(ui, "mask", kind); }
Choices choices_of(const Ui& ui, PositionKind kind) { return of(ui, "positions", kind); }
Choices choices_of(const Ui& ui, AttentionKind kind) { return of(ui, "attention", kind); }
Choices choices_of(const Ui& ui, ScoreKind kind) { return of(ui, "scores", kind); }
Choices choices_of(const Ui& ui, BlockKind kind) { return of(ui, "block", kind); }
Choices choices_of(const Ui& ui, NormKind kind) { return of(ui, "norm", kind); }
Choices choices_of(const Ui& ui, Sinusoid kind) { return of(ui, "sinusoid", kind); }
Choices choices_of(const Ui& ui, Pooler kind) { return of(ui, "pooler", kind); }
Choices choices_of(const Ui& ui, RotaryPairs kind) { return of(ui, "rotary", kind); }
Choices choices_of(const Ui& ui, RotaryScaling kind) { return of(ui, "rotary_scaling", kind); }
Choices choices_of(const Ui& ui, Activation kind) { return of(ui, "activation", kind); }
Choices choices_of(const Ui& ui, MixerKind kind) { return of(ui, "mixer", kind); }
Choices choices_of(const Ui& ui, PoolKind kind) { return of(ui, "pool", kind); }

Choices form_choices(const Ui& ui) {
  Choices all;
  for (const ModelForm form : {ModelForm::kTokens, ModelForm::kClasses, ModelForm::kTranslate})
    add(all, ui, "form", word(form));
  return all;
}

Choices position_choices(const AppState& state, const Ui& ui) {
  Choices possible;
  const PositionKind own = shown_config(state).positions;  // of a model that is being opened, too
  for (const auto& choice : choices(PositionKind{})) {
    if (can_have(state, choice.value) || choice.value == own)
      add(possible, ui, "positions", choice.word);
  }
  return possible;
}

Choices on_off_choices(const Ui& ui) {
  Choices all;
  add(all, ui, "switch", "on");
  add(all, ui, "switch", "off");
  return all;
}

Choices bias_choices(const Ui& ui) {
  Choices all;
  for (const char* word : {"as_all", "on", "off"}) add(all, ui, "bias", word);
  return all;
}

Choices tokenizer_choices(const Ui& ui) {
  Choices all;
  for (const auto kind :
       {TokenizerKind::kWords, TokenizerKind::kCharacters, TokenizerKind::kBytes}) {
    add(all, ui, "tokenizer", to_string(kind));
  }
  return all;
}

}  // namespace headlight
