#include "app/ui/frame/model/part_settings.h"

#include <cmath>
#include <optional>

namespace headlight {
namespace {

// As a power of ten, which is how models choose it: 5 stands for 1e-5.
bool epsilon_field(Form& form, double& epsilon) {
  constexpr int kMostDigits = 12;
  int digits = static_cast<int>(std::lround(-std::log10(epsilon)));
  if (!number_field(form, "model/norm_epsilon", form.ui.tr("model.norm_epsilon"), digits, 0,
                    kMostDigits))
    return false;
  epsilon = std::pow(10, -digits);
  return true;
}

bool bias_field(Form& form, std::string_view id, std::string_view label,
                std::optional<bool>& bias) {
  form.label(label);
  const int now = !bias ? 0 : *bias ? 1 : 2;
  const int pressed = choice_lines(form, id, bias_choices(form.ui), now);
  if (pressed < 0 || pressed == now) return false;
  if (pressed == 0) {
    bias.reset();
  } else {
    bias = pressed == 1;
  }
  return true;
}

}  // namespace

void embedding_settings(Form& form, Config& c, bool& changed) {
  const Ui& ui = form.ui;
  if (!c.numbers)
    changed |= switch_field(form, "model/embed_scale", ui.tr("model.embed_scale"), c.embed_scale);
  if (c.has_norms())
    changed |= switch_field(form, "model/embed_norm", ui.tr("model.embed_norm"), c.embed_norm);
  // Halves of a row are of one width.
  if (c.positions == PositionKind::kSinusoidal && c.d_model % 2 == 0 && c.d_model >= 4)
    changed |= choice_field(form, "model/sinusoid", ui.tr("model.sinusoid"), c.sinusoid);
  if (c.has_places())
    changed |= number_field(form, "model/position_offset", ui.tr("model.position_offset"),
                            c.position_offset, 0, kMaxPositionOffset);
}

void norm_and_bias_settings(Form& form, Config& c, bool& changed) {
  const Ui& ui = form.ui;
  if (c.has_norms()) changed |= epsilon_field(form, c.norm_epsilon);
  changed |= switch_field(form, "model/bias", ui.tr("model.bias"), c.bias);
  const bool projects = c.attends() && c.attention != AttentionKind::kBasic;
  if (projects) changed |= bias_field(form, "model/qkv_bias", ui.tr("model.qkv_bias"), c.qkv_bias);
  if (projects ? c.output_projection : !c.attends() && c.mixes())
    changed |= bias_field(form, "model/output_bias", ui.tr("model.output_bias"), c.output_bias);
  if (c.has_feed_forward())
    changed |= bias_field(form, "model/mlp_bias", ui.tr("model.mlp_bias"), c.mlp_bias);
  changed |= bias_field(form, "model/head_bias", ui.tr("model.head_bias"), c.head_bias);
}

void head_settings(Form& form, Config& c, bool& changed) {
  const Ui& ui = form.ui;
  if (c.form == ModelForm::kTokens && !c.numbers && !c.is_gated())
    changed |=
        switch_field(form, "model/head_transform", ui.tr("model.head_transform"), c.head_transform);
  if (c.form == ModelForm::kClasses)
    changed |= choice_field(form, "model/pooler", ui.tr("model.pooler"), c.pooler);
}

}  // namespace headlight
