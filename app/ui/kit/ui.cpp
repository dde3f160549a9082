#include "app/ui/kit/ui.h"

#include <algorithm>
#include <cmath>

#include "app/ui/kit/chart.h"
#include "app/ui/kit/line_break.h"
#include "core/base/utf8.h"

namespace headlight {

std::string token_label(std::string_view token) {
  return to_field_text(visual_order(visible_label(shortened(token, 80))));
}

ImVec2 Ui::measure(ImFont* font, std::string_view text) const {
  return font->CalcTextSizeA(drawn_size(font), 1e9f, 0, text.data(), text.data() + text.size());
}

void Ui::text(ImFont* font, ImVec2 at, Color color, std::string_view text, float room) {
  if (room > 0) {
    const float width = measure(font, text).x;
    if (width > room + 0.5f) drawn.add_cut_text(std::string(text), width, room);
  }
  drawn.note(text);
  ImGui::GetWindowDrawList()->AddText(font, drawn_size(font), {std::round(at.x), std::round(at.y)},
                                      to_u32(color), text.data(), text.data() + text.size());
}

void Ui::user_text(ImFont* font, ImVec2 at, Color color, std::string_view words, float room) {
  std::string shown(words);
  if (measure(font, shown).x > room) {
    // The longest beginning that fits with its mark.
    std::size_t fits = 0, too_long = words.size();
    while (fits + 1 < too_long) {
      const std::size_t middle = (fits + too_long) / 2;
      (measure(font, shortened(words, middle)).x > room ? too_long : fits) = middle;
    }
    shown = shortened(words, fits);
    const ImVec2 end{at.x + room, at.y + font_size(font)};
    drawn.add_shortened({std::string(words), shown, at, end});
    if (ImGui::IsMouseHoveringRect(at, end) && ImGui::IsWindowHovered()) tooltip(words);
  }
  text(font, at, color, shown);
}

void Ui::text_right(ImFont* font, float right, float y, Color color, std::string_view words) {
  text(font, {right - measure(font, words).x, y}, color, words);
}

float Ui::bar(const Rect& room, double share, Color color) {
  const float length = bar_length(room.width(), share, std::max(1.0f, px(1)));
  if (length <= 0) return room.x0;
  // Corners rounder than the bar is long would bend it out of its column.
  ImGui::GetWindowDrawList()->AddRectFilled(room.min(), {room.x0 + length, room.y1}, to_u32(color),
                                            length > px(4) ? px(2) : 0);
  return room.x0 + length;
}

namespace {

// Calls `draw(line)` for each line of `words` broken at `width`; returns how many there are.
int for_each_line(const ImFont* font, float width, std::string_view words, auto draw) {
  int count = 0;
  while (!words.empty()) {
    const auto advance = [&](char32_t c) { return char_advance(font, static_cast<ImWchar>(c)); };
    const std::size_t stop = first_line(words, width, advance);
    draw(words.substr(0, stop), count++);
    words.remove_prefix(stop);
    while (!words.empty() && (words[0] == ' ' || words[0] == '\n')) words.remove_prefix(1);
  }
  return count;
}

float line_advance(const ImFont* font) { return std::round(font_size(font) * 1.35f); }

}  // namespace

float Ui::wrapped(ImFont* font, ImVec2 at, float width, Color color, std::string_view words) {
  const int lines = for_each_line(font, width, words, [&](std::string_view line, int i) {
    text(font, {at.x, at.y + line_advance(font) * static_cast<float>(i)}, color, line);
  });
  return line_advance(font) * static_cast<float>(lines);
}

float Ui::wrapped_height(ImFont* font, float width, std::string_view words) const {
  return line_advance(font) *
         static_cast<float>(for_each_line(font, width, words, [](std::string_view, int) {}));
}

namespace {

// One piece of formula markup: a letter in braces with its style, or plain text.
struct FormulaPiece {
  std::string_view text;
  char style = ' ';  // 'q' 'k' 'v' 'p' colours, '^' raised, '_' lowered
};

std::vector<FormulaPiece> parse_formula(std::string_view markup) {
  std::vector<FormulaPiece> pieces;
  std::size_t at = 0;
  while (at < markup.size()) {
    const bool shifted =
        (markup[at] == '^' || markup[at] == '_') && at + 1 < markup.size() && markup[at + 1] == '{';
    const bool coloured = markup[at] == '{' && at + 2 < markup.size() && markup[at + 2] == '|';
    if (shifted || coloured) {
      const std::size_t begin = at + (shifted ? 2 : 3);
      const std::size_t end = std::min(markup.find('}', begin), markup.size());
      pieces.push_back({markup.substr(begin, end - begin), shifted ? markup[at] : markup[at + 1]});
      at = end + 1;
      continue;
    }
    std::size_t end = markup.find_first_of("{^_", at + 1);
    end = std::min(end, markup.size());
    pieces.push_back({markup.substr(at, end - at), ' '});
    at = end;
  }
  return pieces;
}

}  // namespace

Color formula_color(const Theme& theme, char letter) {
  switch (letter) {
    case 'q':
      return theme.q;
    case 'k':
      return theme.k;
    case 'v':
      return theme.v;
    case 'p':
      return theme.pattern;
    default:
      return theme.text;
  }
}

float Ui::formula(ImVec2 at, std::string_view markup, bool draw) {
  const float start = at.x;
  ImFont* font = fonts.formula;
  for (const FormulaPiece& piece : parse_formula(markup)) {
    const bool shifted = piece.style == '^' || piece.style == '_';
    const float size = drawn_size(font) * (shifted ? 0.66f : 1.0f);
    const float lift = piece.style == '^' ? -0.08f : piece.style == '_' ? 0.48f : 0.0f;
    const Color color = formula_color(theme, piece.style);
    const char* begin = piece.text.data();
    const char* end = begin + piece.text.size();
    if (draw) {
      ImGui::GetWindowDrawList()->AddText(font, size, {at.x, at.y + lift * font_size(font)},
                                          to_u32(color), begin, end);
    }
    at.x += font->CalcTextSizeA(size, 1e9f, 0, begin, end).x + (shifted ? px(1) : 0);
  }
  return at.x - start;
}

void Ui::begin_panel(const char* id, const Rect& r, bool scrolls) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(r.min(), r.max(), to_u32(theme.surface), px(8));
  list->AddRect(r.min(), r.max(), to_u32(theme.line), px(8));
  ImGui::SetCursorScreenPos({r.x0 + 1, r.y0 + 1});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  int flags = ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoScrollbar;
  if (scrolls) flags = 0;
  begin_child(id, {r.width() - 2, r.height() - 2}, flags | ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar();
  drawn.add(std::string("panel/") + id, r.min(), r.max());
}

void Ui::end_panel() { ImGui::EndChild(); }

bool Ui::hot(std::string_view id, const Rect& r, bool* hovered, bool enabled, FocusKind kind) {
  drawn.add(id, r.min(), r.max(), enabled);
  if (r.width() < 1 || r.height() < 1) return false;
  ImGui::SetCursorScreenPos(r.min());
  ImGui::PushID(id.data(), id.data() + id.size());
  const bool pressed = ImGui::InvisibleButton("hot", {r.width(), r.height()});
  const bool over = ImGui::IsItemHovered();
  ImGui::PopID();
  if (hovered) *hovered = over;
  if (!enabled) return false;
  // Tab goes on from what was clicked.
  if (pressed && focus_) push(FocusOn{std::string(id), kind, false, false, ""});
  const bool by_key = focusable(id, r, kind);
  return pressed || by_key;
}

ImGuiID Ui::hot_id(std::string_view id) const {
  ImGui::PushID(id.data(), id.data() + id.size());
  const ImGuiID made = ImGui::GetID("hot");
  ImGui::PopID();
  return made;
}

bool Ui::button(std::string_view id, std::string_view label, const Rect& r, bool on, bool enabled,
                std::string_view help) {
  bool over = false;
  const bool pressed = hot(id, r, &over, enabled);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Color fill = on ? theme.text : over && enabled ? theme.selection : theme.surface;
  list->AddRectFilled(r.min(), r.max(), to_u32(fill), px(6));
  if (!on) list->AddRect(r.min(), r.max(), to_u32(theme.line), px(6));
  const ImVec2 size = measure(fonts.control, label);
  const Color ink = on ? theme.surface : enabled ? theme.text : faded(theme.muted, 0.55f);
  text(fonts.control, {(r.x0 + r.x1 - size.x) / 2, (r.y0 + r.y1 - size.y) / 2 - px(0.5f)}, ink,
       label, r.width());
  if (over && !help.empty()) tooltip(help);
  return pressed;
}

float Ui::segmented_width(std::span<const std::string> labels) const {
  float width = 0;
  for (const std::string& label : labels) width += measure(fonts.control, label).x + px(18) + px(3);
  return width - px(3);
}

int Ui::segmented(std::string_view id, std::span<const std::string> labels, int chosen, ImVec2 at,
                  float height, std::span<const std::string_view> words, bool enabled,
                  std::string_view help) {
  int pressed = -1;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float width = measure(fonts.control, labels[i]).x + px(18);
    const Rect r{at.x, at.y, at.x + width, at.y + height};
    const std::string part =
        std::string(id) + "/" + std::string(i < words.size() ? words[i] : labels[i]);
    if (button(part, labels[i], r, static_cast<int>(i) == chosen, enabled, help))
      pressed = static_cast<int>(i);
    at.x += width + px(3);
  }
  return pressed;
}

int Ui::stepper(std::string_view id, int value, int low, int high, const Rect& r) {
  const float side = r.height();
  const std::string name(id);
  int result = value;
  if (button(name + "/less", "−", {r.x0, r.y0, r.x0 + side, r.y1}, false, value > low)) --result;
  if (button(name + "/more", "+", {r.x1 - side, r.y0, r.x1, r.y1}, false, value < high)) ++result;
  const std::string number = std::to_string(value);
  const ImVec2 size = measure(fonts.mono, number);
  text(fonts.mono, {(r.x0 + r.x1 - size.x) / 2, (r.y0 + r.y1 - size.y) / 2}, theme.text, number);
  drawn.add(id, r.min(), r.max());
  return std::clamp(result, low, high);
}

void Ui::paragraph(std::string_view words, float width) {
  drawn.note(words);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, px(3)));
  for_each_line(ImGui::GetFont(), width, words, [](std::string_view line, int) {
    ImGui::TextUnformatted(line.data(), line.data() + line.size());
  });
  ImGui::PopStyleVar();
}

// Above the control that it explains, so that neither it nor what it changes is covered; below
// where there is no room, or where it would cover the sentence.
void Ui::tooltip(std::string_view words) {
  const ImVec2 low = ImGui::GetItemRectMin(), high = ImGui::GetItemRectMax();
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const bool on_control =
      high.y - low.y < px(60) && Rect{low.x, low.y, high.x, high.y}.contains(mouse);
  ImGui::PushFont(fonts.control);
  if (on_control) {
    const ImVec2 window = ImGui::GetIO().DisplaySize;
    const float tall = wrapped_height(fonts.control, px(320), words) + px(24);
    // Given a place, ImGui does not keep it inside the window.
    const float wide = std::min(measure(fonts.control, words).x, px(320)) + px(24);
    const float x = std::max(std::min(mouse.x + px(10), window.x - wide), 0.0f);
    const auto hides = [&](const Rect& r) {
      return r.x0 < kept_clear.x1 && r.x1 > kept_clear.x0 && r.y0 < kept_clear.y1 &&
             r.y1 > kept_clear.y0;
    };
    const bool own = hides({low.x, low.y, high.x, high.y});
    const bool covers = !own && hides({x, low.y - tall, x + wide, low.y});
    const bool above = low.y - tall > 0 && !(covers && high.y + tall < window.y);
    ImGui::SetNextWindowPos({x, above ? low.y - px(4) : high.y + px(6)}, ImGuiCond_Always,
                            {0, above ? 1.0f : 0.0f});
  }
  ImGui::BeginTooltip();
  paragraph(words, px(320));
  ImGui::EndTooltip();
  ImGui::PopFont();
}

}  // namespace headlight
