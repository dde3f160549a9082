#include "app/ui/kit/rich_text.h"

namespace headlight {

float measure_words(const Ui& ui, ImFont* font, std::span<const Word> words) {
  float width = 0;
  for (const Word& word : words) width += ui.measure(font, word.text).x;
  return width;
}

float draw_words(Ui& ui, ImFont* font, ImVec2 at, std::span<const Word> words) {
  const float start = at.x;
  for (const Word& word : words) {
    ui.text(font, at, word.color, word.text);
    at.x += ui.measure(font, word.text).x;
  }
  return at.x - start;
}

Color size_color(const Theme& theme, SizeKind kind) {
  switch (kind) {
    case SizeKind::kTokens:
      return theme.size_tokens;
    case SizeKind::kModel:
      return theme.size_model;
    case SizeKind::kHeadWidth:
      return theme.size_head_width;
    case SizeKind::kHeads:
      return theme.size_heads;
    case SizeKind::kOther:
      break;
  }
  return theme.muted;
}

void add_size(Words& words, const Ui& ui, const Trace& trace, TensorId id, std::string_view axis,
              std::int64_t length, bool named) {
  bool first = true;
  for (const NamedSize& size : axis_sizes(trace.program(), id, axis, length)) {
    if (!first) words.push_back({"·", ui.theme.muted});
    first = false;
    const std::string text_id = "size." + std::string(size.word);
    std::string text(named ? tr_or(ui.language, text_id, size.word) : "");
    if (!text.empty()) text += " ";
    words.push_back({text + std::to_string(size.size), size_color(ui.theme, size.kind)});
  }
}

Words shape_words(const Ui& ui, const Trace& trace, const PagePane& p, bool named) {
  Words words = {{"(", ui.theme.muted}};
  if (p.pane.role != PaneRole::kRowVector) {
    add_size(words, ui, trace, p.tensor, p.pane.row_axis, p.pane.rows, named);
    words.push_back({" × ", ui.theme.muted});
  }
  add_size(words, ui, trace, p.tensor, p.pane.column_axis, p.pane.columns, named);
  words.push_back({")", ui.theme.muted});
  return words;
}

}  // namespace headlight
