#include "app/ui/sentence/token_marks.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "app/ui/kit/line_text.h"
#include "app/ui/matrix/linked_hover.h"
#include "app/ui/state/commands.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/graph/step_names.h"

namespace headlight {
namespace {

// The row of weights that is looked at: of the chosen head, in the layer that is looked at.
struct AskedRow {
  std::span<const float> weights;
  std::int64_t row = 0;
  bool from_source = false, to_source = false;  // whose tokens ask, whose are the keys
};

std::optional<std::int64_t> row_of(const Trace& trace, const std::optional<CellPick>& cell) {
  if (!cell) return std::nullopt;
  const TensorView t = trace.find(cell->tensor);
  const Axis* axis = t.data ? find_row_axis(t.axes) : nullptr;
  if (!axis || cell->index.size() != t.axes.size()) return std::nullopt;
  return cell->index[static_cast<std::size_t>(axis - t.axes.data())];
}

// On the pages of foci: the weights of the focus that is looked at. No token asks.
std::optional<AskedRow> asked_focus(const AppState& state) {
  const Trace& trace = *state.derived.trace;
  const TensorView step = trace.find(state.session.step);
  const TensorId weights = trace.program().find(Role::kFocusWeights, trace.program().probabilities);
  if (weights < 0 || !step.data || step.find_dim("focus") < 0) return std::nullopt;
  const TensorView t = trace.tensor(weights);
  std::int64_t focus = 0;
  for (const auto* cell : {&state.session.hovered, &state.session.picked}) {
    const TensorView of = *cell ? trace.find((*cell)->tensor) : TensorView{};
    const int dim = of.data ? of.find_dim("focus") : -1;
    if (dim < 0 || (*cell)->index.size() != of.axes.size()) continue;
    focus = (*cell)->index[static_cast<std::size_t>(dim)];
    break;
  }
  const std::int64_t keys = t.axes[3].size;
  return AskedRow{{t.data + focus * keys, static_cast<std::size_t>(keys)}, -1, false, false};
}

std::optional<AskedRow> asked_row(const AppState& state) {
  const Trace& trace = *state.derived.trace;
  if (const auto focus = asked_focus(state)) return focus;
  const std::string name = shown_pattern(trace.program(), state.session.step, state.session.layer);
  const TensorView t = trace.find(name);
  if (!t.data || t.axes.size() != 4) return std::nullopt;
  AskedRow asked;
  asked.from_source = t.axes[2].name.starts_with("source");
  asked.to_source = t.axes[3].name.starts_with("source");
  const std::int64_t rows = t.axes[2].size, keys = t.axes[3].size;
  asked.row = rows - 1;
  // Under the mouse, else the chosen cell; cells of other rows' tokens say nothing here.
  for (const auto* cell : {&state.session.hovered, &state.session.picked}) {
    const auto row = row_of(trace, *cell);
    if (!row) continue;
    const TensorView of = trace.find((*cell)->tensor);
    if (find_row_axis(of.axes)->name.starts_with("source") != asked.from_source) continue;
    asked.row = std::min(*row, rows - 1);
    break;
  }
  const std::int64_t head = std::min<std::int64_t>(state.session.head, t.axes[1].size - 1);
  asked.weights = {t.data + (head * rows + asked.row) * keys, static_cast<std::size_t>(keys)};
  return asked;
}

std::string bytes_text(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    std::array<char, 4> hex{};
    std::snprintf(hex.data(), hex.size(), "%02X", static_cast<unsigned char>(byte));
    text += (text.empty() ? "" : " ") + std::string(hex.data());
  }
  return text;
}

// Id, bytes and weight of a token.
std::string token_words(const AppState& state, const Ui& ui, const PlacedToken& token,
                        std::string_view bytes, std::optional<float> weight) {
  const std::string label = token_label(bytes);
  std::string words = "“" + label + "”";
  if (state.derived.model)
    words += "   " + ui.tr("sentence.token_id", {{"id", std::to_string(token.id)}});
  words += "   " + ui.tr("sentence.token_bytes", {{"bytes", bytes_text(bytes)}});
  if (weight) words += "\n" + ui.tr("sentence.token_weight", {{"w", number_text(*weight, 4)}});
  return words;
}

// Where the bytes of a line stand, asked for from left to right. A byte within a character has its
// share of the character's width: a token may be a part of an emoji.
class Ruler {
 public:
  Ruler(const Ui& ui, ImFont* font, const std::string& text, float x)
      : ui_(ui), font_(font), text_(text), x_(x) {}

  float at(std::size_t byte) {
    std::size_t begin = byte;
    while (begin > done_ && begin < text_.size() && (text_[begin] & 0xC0) == 0x80) --begin;
    x_ += width(done_, begin);
    done_ = begin;
    if (begin == byte) return x_;
    const std::size_t size = code_point_at(text_, begin).size;
    return x_ +
           width(begin, begin + size) * static_cast<float>(byte - begin) / static_cast<float>(size);
  }

 private:
  float width(std::size_t from, std::size_t to) const {
    return ui_.measure(font_, to_line_text(text_.substr(from, to - from))).x;
  }
  const Ui& ui_;
  ImFont* font_;
  const std::string& text_;
  float x_;
  std::size_t done_ = 0;
};

}  // namespace

void draw_token_marks(const AppState& state, Ui& ui, ImVec2 at, float x0, float x1, float bars_y) {
  const std::string& sentence = state.document().sentence;
  if (!state.derived.trace || sentence != state.derived.tokens_sentence) return;
  const std::optional<AskedRow> asked = asked_row(state);
  const bool of_source = asked && asked->to_source;
  const SentenceTokens& all = state.derived.tokens;
  const std::vector<PlacedToken>& tokens = of_source ? all.source : all.tokens;
  const ColorScale scale = ui.theme.weight_scale(1);
  ImFont* font = ui.fonts.sentence;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const bool over = ImGui::IsWindowHovered() && mouse.y >= at.y - ui.px(6) &&
                    mouse.y < bars_y + ui.px(8) && mouse.x >= x0 && mouse.x < x1;
  // The frame of the first token reaches a little beyond its letters.
  const float left = at.x >= x0 ? x0 - ui.px(5) : x0;
  list->PushClipRect({left, at.y - ui.px(8)}, {x1, bars_y + ui.px(6)}, true);
  Ruler ruler(ui, font, sentence, at.x);
  float x = at.x;
  std::size_t before = 0;
  // The first tokens are those that are remembered of the segment before.
  const std::int64_t remembered = std::ssize(state.derived.trace->input().memory_ids);
  for (std::size_t i = 0; i < tokens.size() && x < x1; ++i) {
    const PlacedToken& token = tokens[i];
    if (token.begin == token.end) continue;  // [BOS] and [CLS] stand nowhere
    if (token.begin < before || token.end > sentence.size()) continue;
    const std::string_view bytes =
        std::string_view(sentence).substr(token.begin, token.end - token.begin);
    x = ruler.at(token.begin);
    // A space that belongs to the word is not underlined.
    const std::size_t spaces =
        std::min(bytes.find_first_not_of(' '), bytes.size() - !bytes.empty());
    const float own = x + ui.measure(font, bytes.substr(0, spaces)).x;
    const float end = ruler.at(token.end);
    before = token.end;
    x = end;
    if (end < x0) continue;
    // Parts of one word stand close, words apart.
    const bool joined = spaces == 0 && i > 0 && tokens[i - 1].end == token.begin;
    const float from = own + (joined ? ui.px(0.5f) : ui.px(1));
    const bool asks = asked && asked->row + remembered == static_cast<std::int64_t>(i) &&
                      asked->from_source == of_source;
    if (remembered > 0 && static_cast<std::int64_t>(i) == remembered) {
      const Rect line{own - ui.px(3.5f), at.y - ui.px(4), own - ui.px(2), bars_y + ui.px(4)};
      list->AddRectFilled(line.min(), line.max(), to_u32(ui.theme.muted));
      ui.drawn.add("sentence/segment", line.min(), line.max(), false);
    }
    if (asks)
      list->AddRect({own - ui.px(3), at.y - ui.px(3)},
                    {end + ui.px(3), at.y + font_size(font) + ui.px(2)}, to_u32(ui.theme.q),
                    ui.px(4), 0, ui.px(1.5f));
    std::optional<float> weight;
    if (asked && i < asked->weights.size()) weight = asked->weights[i];
    if (weight && *weight > 0) {
      const float to = std::clamp(end - ui.px(1), from + 1, std::max(x1, from + 1));
      const Rect bar{from, bars_y, to, bars_y + ui.px(3.5f)};
      list->AddRectFilled(bar.min(), bar.max(), to_u32(ui.theme.line), ui.px(1));
      list->AddRectFilled(bar.min(), bar.max(), to_u32(color_at(scale, *weight)), ui.px(1));
      ui.drawn.add("sentence/weight/" + std::to_string(i), bar.min(), bar.max(), false);
    }
    if (over && mouse.x >= own && mouse.x < end)
      ui.tooltip(token_words(state, ui, token, bytes, weight));
  }
  list->PopClipRect();
}

}  // namespace headlight
