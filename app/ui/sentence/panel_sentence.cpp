// The sentence.
#include <algorithm>

#include "app/ui/frame/panels.h"
#include "app/ui/kit/imgui_compat.h"
#include "app/ui/kit/line_text.h"
#include "app/ui/sentence/token_marks.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/run/row_around.h"

namespace headlight {
namespace {

// An active field keeps a text of its own; after an undo it has to be told the new one.
struct Refresh {
  const std::string* text;
  bool wanted;
};

int refresh_field(ImGuiInputTextCallbackData* data) {
  const auto& refresh = *static_cast<const Refresh*>(data->UserData);
  if (refresh.wanted &&
      *refresh.text != std::string_view(data->Buf, static_cast<std::size_t>(data->BufTextLen))) {
    data->DeleteChars(0, data->BufTextLen);
    data->InsertChars(0, refresh.text->data(), refresh.text->data() + refresh.text->size());
  }
  return 0;
}

// Of a sentence that has been added to while nobody types in it, the end is looked at: what the
// model writes would go on out of sight.
bool end_is_news(const std::string& sentence, bool active, bool writing) {
  ImGuiStorage& memory = *ImGui::GetStateStorage();  // of the last frame's sentence
  const ImGuiID length = ImGui::GetID("##length"), hash = ImGui::GetID("##hash"),
                news = ImGui::GetID("##news");
  const auto hash_of = [](const std::string& text) {
    return static_cast<int>(ImHashStr(text.c_str(), text.size()));
  };
  const auto before = static_cast<std::size_t>(memory.GetInt(length));
  const int old = memory.GetInt(hash), now = hash_of(sentence);
  const bool grew =
      before > 0 && sentence.size() > before && hash_of(sentence.substr(0, before)) == old;
  if (active) memory.SetInt(news, 0);
  if (now != old && !active) memory.SetInt(news, writing || grew ? 1 : 0);
  memory.SetInt(length, static_cast<int>(sentence.size()));
  memory.SetInt(hash, now);
  return memory.GetInt(news) != 0;
}

// The byte from which on the end of a sentence fits into `room`, at the beginning of a character.
std::size_t fitting_end(ImFont* font, const std::string& sentence, float room) {
  std::size_t from = sentence.size();
  for (float width = 0; from > 0;) {
    std::size_t next = from - 1;
    while (next > 0 && (sentence[next] & 0xC0) == 0x80) --next;
    const std::string_view letter = std::string_view(sentence).substr(next, from - next);
    width +=
        font->CalcTextSizeA(drawn_size(font), 1e9f, 0, letter.data(), letter.data() + letter.size())
            .x;
    if (width > room) break;
    from = next;
  }
  return from;
}

// Where the text stands that a field shows, and from where on it is seen.
struct SeenText {
  float x = 0, from = 0;
};

// A sentence longer than its field, at rest: the letters that fit at its beginning, or at its end,
// and a mark.
SeenText mark_cut(Ui& ui, ImVec2 at, float room, const std::string& sentence, bool end) {
  ImFont* font = ui.fonts.sentence;
  const std::string begin = shortened(sentence, static_cast<std::size_t>(std::max(room, 1.0f)));
  if (ui.measure(font, begin).x <= room) return {at.x, at.x};
  const ImVec2 corner{at.x + room + ui.px(16), at.y + font_size(font) * 1.3f};
  ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y - font_size(font) * 0.2f}, corner,
                                            to_u32(ui.theme.surface));
  if (!end) {
    ui.user_text(font, at, ui.theme.text, begin, room);
    return {at.x, at.x};
  }
  const float mark = ui.measure(font, "…").x;
  const std::size_t from = fitting_end(font, sentence, room - mark);
  ui.text(font, at, ui.theme.text, "…" + sentence.substr(from));
  return {at.x + mark - ui.measure(font, sentence.substr(0, from)).x, at.x + mark};
}

// As the pages of the tokens count them: "13 tokens", "128 of 302 tokens", "4 → 6 tokens". Empty
// until somebody has counted.
std::string tokens_counted(const AppState& state, const Ui& ui) {
  const Derived& d = state.derived;
  if (!d.trace && !d.empty) return {};
  const bool failed = !d.problem.empty() && !d.empty;
  if (failed && d.tokens_sentence != state.document().sentence) return {};
  if (!d.trace || d.empty) return tr_count(ui.language, "count.tokens", 0);
  const auto in_sentence = static_cast<long long>(d.tokens_in_sentence);
  if (d.segments > 1 && !d.cut) return tr_count(ui.language, "count.tokens", in_sentence);
  const RunInput& input = d.trace->input();
  std::optional<CutRow> cut;
  if (d.cut) cut = cut_row(*d.trace, d.model.get(), d.asked, d.tokens_in_sentence);
  const auto part = [&](long long shown, bool source) {
    return cut && cut->source == source ? ui.tr("sentence.part", {{"shown", count_text(shown)},
                                                                  {"all", count_text(cut->all())}})
                                        : count_text(shown);
  };
  if (input.source_tokens.empty() && !cut)
    return tr_count(ui.language, "count.tokens", d.trace->length());
  std::string text = part(d.trace->length(), false);
  if (!input.source_tokens.empty())
    text = part(std::ssize(input.source_tokens), true) + " → " + text;
  return ui.tr("count.tokens", {{"n", text}});
}

}  // namespace

void panel_sentence(const AppState& state, Ui& ui, const Rect& r) {
  std::string count = tokens_counted(state, ui);
  if (state.derived.segments > 1)
    count = ui.tr(
        "sentence.segment",
        {{"tokens", count}, {"n", count_text(static_cast<long long>(state.derived.segments))}});
  if (r.width() < ui.px(280)) count.clear();  // the sentence comes first
  const float count_width = ui.measure(ui.fonts.note, count).x;

  ImGui::PushFont(ui.fonts.sentence);
  ImGui::PushStyleColor(ImGuiCol_FrameBg, ImVec4(0, 0, 0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0);
  const float pad = (r.height() - font_size(ui.fonts.sentence)) / 2;
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(ui.px(16), pad));
  ImGui::SetCursorScreenPos(r.min());
  ImGui::SetNextItemWidth(r.width() - count_width - ui.px(32));
  if (state.requests.focus_sentence) ImGui::SetKeyboardFocusHere();
  ui.before_field("sentence");
  // ImGui keeps the text being typed itself; this copy only carries it in and out.
  std::string text = to_line_text(state.document().sentence);
  const std::string shown = text;
  int& revision = *ImGui::GetStateStorage()->GetIntRef(ImGui::GetID("##revision"), 0);
  Refresh refresh{&shown, revision != state.session.text_revision};
  revision = state.session.text_revision;
  const bool changed =
      ImGui::InputTextWithHint("##sentence", ui.tr("sentence.hint").data(), &text,
                               ImGuiInputTextFlags_CallbackAlways, refresh_field, &refresh);
  if (changed && text != shown) ui.push(DoEdit{SetSentence{from_field_text(text)}, "sentence"});
  const bool active = ImGui::IsItemActive();
  const ImGuiID field = ImGui::GetItemID();
  if (ImGui::IsItemDeactivated()) ui.push(EndEdit{});
  ui.after_field("sentence");
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor();
  ImGui::PopFont();
  const float room = r.width() - count_width - ui.px(2 * 16 + 32);
  const bool end = end_is_news(shown, active, state.derived.writing);
  const float begin = r.x0 + ui.px(16);
  SeenText seen{begin, begin};
  if (!active) seen = mark_cut(ui, {begin, r.y0 + pad}, room, shown, end);
  if (active)
    ImGui::GetWindowDrawList()->AddRect(r.min(), r.max(), to_u32(ui.theme.text), ui.px(8), 0,
                                        ui.px(1.5f));
  const ImGuiInputTextState* typing = active ? ImGui::GetInputTextState(field) : nullptr;
  draw_token_marks(state, ui, {seen.x - (typing ? scrolled(*typing) : 0), r.y0 + pad}, seen.from,
                   begin + room + ui.px(16), r.y1 - ui.px(7));
  ui.drawn.add("sentence", r.min(), {r.x1 - count_width - ui.px(32), r.y1});
  ui.kept_clear = {r.x0, r.y0, r.x1, r.y1};
  ui.text(ui.fonts.note, {r.x1 - ui.px(16) - count_width, (r.y0 + r.y1) / 2 - ui.px(7)},
          state.derived.cut ? ui.theme.k : ui.theme.muted, count);
}

}  // namespace headlight
