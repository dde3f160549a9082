// The numbers in a pane's cells, where these are large enough.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "app/ui/matrix/pane_view.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

constexpr float kSmallRange = 0.5f;  // below it a cell of a few hundredths is a large one

// Ids, counts and masks are whole numbers, and written so.
bool all_whole(const PlacedPane& p, const float* data) {
  const Pane& pane = p.pane->pane;
  for (std::int64_t r = p.rows.begin(); r < p.rows.end(); ++r) {
    for (std::int64_t c = p.columns.begin(); c < p.columns.end(); ++c) {
      const float value = data[pane_step(pane, r, c)];
      if (std::isfinite(value) && (std::floor(value) != value || std::fabs(value) >= 1e4f))
        return false;
    }
  }
  return true;
}

// "4e−3" for what is no zero and would read as "0.00"; that where it has no room.
std::string small_number(float value, int room) {
  const std::string words = cell_number(value, room);
  if (words != "0.00") return words;
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.0e", std::fabs(static_cast<double>(value)));
  const std::string number(digits.data());  // "4e-03"
  const std::size_t power = std::min(number.find_first_not_of("-0", 2), number.size());
  const std::string sign = value < 0 ? "\u2212" : "";
  const int width = static_cast<int>(number.size() - power) + 3 + (value < 0 ? 1 : 0);
  return width <= room ? sign + number[0] + "e\u2212" + number.substr(power) : words;
}

// What a cell says. In a picture of small numbers two decimals would be zeros in most cells.
std::string number_in_cell(float value, int room, bool whole, bool small) {
  if (whole && std::isfinite(value)) {
    const std::string words = exact_number(value);
    if (ImTextCountCharsFromUtf8(words.data(), nullptr) <= room) return words;
  }
  return small ? small_number(value, room) : cell_number(value, room);
}

}  // namespace

void draw_pane_numbers(Ui& ui, const PlacedPane& p, const ColorScale& scale, const float* data) {
  const auto room_for = [&](ImFont* f) {
    return static_cast<int>((p.cell_w - ui.px(3)) / ui.measure(f, "0").x);
  };
  const bool small = scale.limit < kSmallRange;
  const int wanted = small ? 5 : 4;  // "−4e−3"
  ImFont* font = room_for(ui.fonts.mono_small) >= wanted ? ui.fonts.mono_small : ui.fonts.mono_cell;
  const int room = room_for(font);
  const Pane& pane = p.pane->pane;
  const std::int64_t seen = (p.rows.end() - p.rows.begin()) * (p.columns.end() - p.columns.begin());
  // Cells that stay empty among others would look like zeros.
  if (room < 4 || p.cell_h < font->FontSize + ui.px(2) || seen > 2500) return;
  const bool whole = all_whole(p, data);
  const bool weights = scale.map == ColorMap::kSequential;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRect(p.rect.min(), p.rect.max(), true);
  for (std::int64_t r = p.rows.begin(); r < p.rows.end(); ++r) {
    for (std::int64_t c = p.columns.begin(); c < p.columns.end(); ++c) {
      const float value = data[pane_step(pane, r, c)];
      if (weights && value == 0) continue;  // an empty cell says it
      const std::string words = number_in_cell(value, std::min(room, 5), whole, small);
      // A small hatched cell says it already.
      if (words.empty() || (!std::isfinite(value) && p.cell_w < ui.px(26))) continue;
      const ImVec2 size = ui.measure(font, words);
      const ImVec2 at = {p.columns.center(c) - size.x / 2, p.rows.center(r) - size.y / 2};
      const Color ink = std::isfinite(value) ? ink_on(color_at(scale, value)) : ui.theme.muted;
      list->AddText(font, font->FontSize, {std::round(at.x), std::round(at.y)}, to_u32(ink),
                    words.data(), words.data() + words.size());
    }
  }
  list->PopClipRect();
}

}  // namespace headlight
