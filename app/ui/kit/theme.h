// Colours and measures of the window: the tokens of the design, light and dark.
#pragma once

#include "app/ui/kit/imgui_compat.h"
#include "core/view/heatmap.h"

namespace headlight {

struct Theme {
  bool dark = false;
  Color background, surface, line, text, muted, selection;
  Color q, k, v, pattern;
  Color negative, positive;
  // The sizes T, d_model, d_head and H, wherever one is written.
  Color size_tokens, size_model, size_head_width, size_heads;
  Color error, hatch;

  static Theme make(bool dark);
  /// Colours of signed numbers; full colour at ±limit.
  ColorScale signed_scale(float limit) const;
  /// Colours of weights; full colour at `limit`.
  ColorScale weight_scale(float limit) const;
};

inline ImU32 to_u32(Color c) {
  const auto byte = [](float v) { return static_cast<ImU32>(v * 255.0f + 0.5f); };
  return byte(c.a) << IM_COL32_A_SHIFT | byte(c.b) << IM_COL32_B_SHIFT |
         byte(c.g) << IM_COL32_G_SHIFT | byte(c.r) << IM_COL32_R_SHIFT;
}
inline ImVec4 to_vec4(Color c) { return {c.r, c.g, c.b, c.a}; }
inline Color faded(Color c, float alpha) { return {c.r, c.g, c.b, alpha}; }

/// The colour of a head, wherever heads stand side by side. Eight hues that colour-blind eyes can
/// tell apart (after Tol's "muted" scheme, away from the colours of Q, K, V and the pattern); with
/// more heads the hues come again in other shades, so a head's number always stands beside its
/// colour.
Color head_color(const Theme&, int head, int count);

/// Black or white, whichever can be read on `background`.
Color ink_on(Color background);

/// Sets ImGui's style to the theme, all sizes times `scale`.
void apply_style(const Theme&, float scale);

}  // namespace headlight
