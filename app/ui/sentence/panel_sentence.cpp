// The sentence.
#include <algorithm>

#include "app/ui/frame/panels.h"
#include "app/ui/kit/imgui_compat.h"
#include "app/ui/kit/line_text.h"
#include "app/ui/sentence/token_marks.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"

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

// A sentence longer than its field, at rest: the letters that fit, and a mark.
void mark_cut(Ui& ui, ImVec2 at, float room, const std::string& sentence) {
  ImFont* font = ui.fonts.sentence;
  const std::string begin = shortened(sentence, static_cast<std::size_t>(std::max(room, 1.0f)));
  if (ui.measure(font, begin).x <= room) return;
  const ImVec2 end{at.x + room + ui.px(16), at.y + font->FontSize * 1.3f};
  ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y - font->FontSize * 0.2f}, end,
                                            to_u32(ui.theme.surface));
  ui.user_text(font, at, ui.theme.text, begin, room);
}

}  // namespace

void panel_sentence(const AppState& state, Ui& ui, const Rect& r) {
  std::string count;
  if (state.derived.cut) {
    const long long shown = state.derived.trace ? state.derived.trace->length() : 0;
    const auto all = static_cast<long long>(state.derived.tokens_in_sentence);
    count = ui.tr("sentence.cut", {{"shown", count_text(shown)}, {"all", count_text(all)}});
  } else {
    count = tr_count(ui.language, "count.tokens",
                     static_cast<long long>(state.derived.tokens_in_sentence));
  }
  if (r.width() < ui.px(280)) count.clear();  // the sentence comes first
  const float count_width = ui.measure(ui.fonts.note, count).x;

  ImGui::PushFont(ui.fonts.sentence);
  ImGui::PushStyleColor(ImGuiCol_FrameBg, ImVec4(0, 0, 0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0);
  const float pad = (r.height() - ui.fonts.sentence->FontSize) / 2;
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
  if (!active) mark_cut(ui, {r.x0 + ui.px(16), r.y0 + pad}, room, shown);
  if (active)
    ImGui::GetWindowDrawList()->AddRect(r.min(), r.max(), to_u32(ui.theme.text), ui.px(8), 0,
                                        ui.px(1.5f));
  const float begin = r.x0 + ui.px(16);
  const ImGuiInputTextState* typing = active ? ImGui::GetInputTextState(field) : nullptr;
  draw_token_marks(state, ui, {begin - (typing ? typing->ScrollX : 0), r.y0 + pad}, begin,
                   begin + room + ui.px(16), r.y1 - ui.px(7));
  ui.drawn.add("sentence", r.min(), {r.x1 - count_width - ui.px(32), r.y1});
  ui.text(ui.fonts.note, {r.x1 - ui.px(16) - count_width, (r.y0 + r.y1) / 2 - ui.px(7)},
          state.derived.cut ? ui.theme.k : ui.theme.muted, count);
}

}  // namespace headlight
