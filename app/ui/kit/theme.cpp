#include "app/ui/kit/theme.h"

#include <algorithm>
#include <array>

namespace headlight {

Theme Theme::make(bool dark) {
  Theme t;
  t.dark = dark;
  const auto pick = [&](std::uint32_t light_hex, std::uint32_t dark_hex) {
    return rgb(dark ? dark_hex : light_hex);
  };
  t.background = pick(0xF6F5F2, 0x17181B);
  t.surface = pick(0xFFFFFF, 0x1F2125);
  t.line = pick(0xE2E0DA, 0x33363C);
  t.text = pick(0x1F2328, 0xE8E6E1);
  t.muted = pick(0x6E7178, 0x9A9CA3);
  t.selection = pick(0xEFEDE7, 0x2A2D33);
  t.q = pick(0x0072B2, 0x4FA3E0);
  t.k = pick(0xC2500A, 0xF08A4B);
  t.v = pick(0x00805C, 0x3CC79B);
  t.pattern = pick(0x7A2E8C, 0xDCB8F2);  // told apart from Q without red or green, too
  t.negative = pick(0x2F6DA8, 0x5AA0DC);
  t.positive = pick(0xD98324, 0xF0A24B);
  t.size_tokens = pick(0xB2243C, 0xFF737E);
  t.size_model = pick(0x664400, 0xE6CD50);
  t.size_head_width = pick(0x190099, 0x59F1FF);
  t.size_heads = pick(0x153300, 0xA8FF8C);
  t.error = pick(0xB3261E, 0xF2867E);
  t.hatch = pick(0xC9C6BE, 0x4A4E56);
  return t;
}

ColorScale Theme::signed_scale(float limit) const {
  const Color zero = dark ? rgb(0x26282D) : surface;
  return {ColorMap::kDiverging, limit, negative, zero, positive, hatch, error};
}

ColorScale Theme::weight_scale(float limit) const {
  return {ColorMap::kSequential, limit, surface, surface, pattern, hatch, error};
}

Color head_color(const Theme& t, int head, int count) {
  constexpr int kHues = 8;
  // rose, indigo, olive, cyan, wine, teal, sand, grey
  static constexpr std::array<std::uint32_t, kHues> kLight = {
      0xCC5A72, 0x332288, 0x8A8A1F, 0x2E9BD0, 0x882255, 0x2F9C8C, 0xB8922A, 0x6B7280};
  static constexpr std::array<std::uint32_t, kHues> kDark = {
      0xEE8FA0, 0x8F8AF0, 0xC4C45C, 0x88CCEE, 0xC75A8C, 0x55C4B4, 0xE6CE7A, 0xA8AEB8};
  head = std::max(head, 0);
  const Color hue = rgb((t.dark ? kDark : kLight)[static_cast<std::size_t>(head % kHues)]);
  const int rounds = std::max(1, (count + kHues - 1) / kHues);
  const float shade = static_cast<float>(head / kHues % rounds) / static_cast<float>(rounds);
  return mix(hue, t.text, 0.6f * shade);
}

Color ink_on(Color background) {
  const Color black = rgb(0x15171A), white = rgb(0xFFFFFF);
  return contrast(background, black) >= contrast(background, white) ? black : white;
}

void apply_style(const Theme& t, float scale) {
  ImGuiStyle style;
  style.WindowPadding = {12, 10};
  style.FramePadding = {10, 6};
  style.ItemSpacing = {8, 8};
  style.ItemInnerSpacing = {6, 4};
  style.WindowRounding = style.ChildRounding = style.PopupRounding = 8;
  style.FrameRounding = style.GrabRounding = 6;
  style.ScrollbarSize = 10;
  style.ScrollbarRounding = 5;
  style.WindowBorderSize = style.PopupBorderSize = style.FrameBorderSize = 1;
  style.ChildBorderSize = 0;
  style.GrabMinSize = 14;
  style.ScaleAllSizes(scale);
  style.WindowBorderSize = style.PopupBorderSize = style.FrameBorderSize = 1;
  style.AntiAliasedLinesUseTex = true;
  const auto set = [&](ImGuiCol slot, Color c) { style.Colors[slot] = to_vec4(c); };
  set(ImGuiCol_Text, t.text);
  set(ImGuiCol_TextDisabled, t.muted);
  set(ImGuiCol_WindowBg, t.background);
  set(ImGuiCol_ChildBg, faded(t.surface, 0));
  set(ImGuiCol_PopupBg, t.surface);
  set(ImGuiCol_Border, t.line);
  set(ImGuiCol_BorderShadow, faded(t.line, 0));
  set(ImGuiCol_FrameBg, t.surface);
  set(ImGuiCol_FrameBgHovered, t.selection);
  set(ImGuiCol_FrameBgActive, t.selection);
  set(ImGuiCol_ScrollbarBg, faded(t.surface, 0));
  set(ImGuiCol_ScrollbarGrab, t.line);
  set(ImGuiCol_ScrollbarGrabHovered, t.muted);
  set(ImGuiCol_ScrollbarGrabActive, t.muted);
  set(ImGuiCol_CheckMark, t.text);
  set(ImGuiCol_SliderGrab, t.text);
  set(ImGuiCol_SliderGrabActive, t.text);
  set(ImGuiCol_Button, t.surface);
  set(ImGuiCol_ButtonHovered, t.selection);
  set(ImGuiCol_ButtonActive, t.selection);
  set(ImGuiCol_Header, t.selection);
  set(ImGuiCol_HeaderHovered, t.selection);
  set(ImGuiCol_HeaderActive, t.selection);
  set(ImGuiCol_Separator, t.line);
  set(ImGuiCol_TextSelectedBg, faded(t.q, 0.3f));
  set(ImGuiCol_NavHighlight, t.text);
  set(ImGuiCol_ModalWindowDimBg, faded(rgb(0x000000), 0.25f));
  ImGui::GetStyle() = style;
}

}  // namespace headlight
