// The keyboard's way through the controls: their order is the order in which they are drawn.
#include <algorithm>
#include <cmath>

#include "app/ui/kit/ui.h"

namespace headlight {
namespace {

int open_popups() { return ImGui::GetCurrentContext()->OpenPopupStack.Size; }

// Scrolls the window that is being drawn until `r` lies in it.
void scroll_to(const Rect& r) {
  const ImRect seen = ImGui::GetCurrentWindow()->InnerClipRect;
  const ImVec2 origin = ImGui::GetWindowPos();
  if (r.y0 < seen.Min.y || r.y1 > seen.Max.y)
    ImGui::SetScrollFromPosY((r.y0 + r.y1) / 2 - origin.y, 0.5f);
  if (r.x0 < seen.Min.x || r.x1 > seen.Max.x)
    ImGui::SetScrollFromPosX((r.x0 + r.x1) / 2 - origin.x, 0.5f);
}

}  // namespace

bool Ui::focusable(std::string_view id, const Rect& r, FocusKind kind) {
  if (!focus_ || (!focus_->visible && request_.move == 0)) return false;
  focusables_.push_back(
      {std::string(id), r, kind, ImGui::GetCurrentContext()->BeginPopupStack.Size});
  if (!is_focused(id)) return false;
  const ImVec2 low = ImGui::GetWindowDrawList()->GetClipRectMin();
  const ImVec2 high = ImGui::GetWindowDrawList()->GetClipRectMax();
  ring_ = Ring{r, {low.x, low.y, high.x, high.y}};
  if (request_.reveal) scroll_to(r);
  return request_.activate && kind != FocusKind::kField;
}

bool Ui::menu_item(std::string_view id, std::string_view label, std::string_view key, bool checked,
                   bool enabled) {
  const std::string words(label), shortcut(key);
  ImGui::PushID(id.data(), id.data() + id.size());
  const bool chosen = ImGui::MenuItem(words.c_str(), shortcut.c_str(), checked, enabled);
  ImGui::PopID();
  const ImVec2 low = ImGui::GetItemRectMin(), high = ImGui::GetItemRectMax();
  if (ImGui::IsItemVisible()) drawn.add(id, low, high, enabled);  // a long menu scrolls
  if (!enabled) return chosen;
  const bool by_key = focusable(id, {low.x, low.y, high.x, high.y});
  if (by_key) ImGui::CloseCurrentPopup();
  return chosen || by_key;
}

void Ui::before_field(std::string_view id) {
  if (is_focused(id) && (request_.reveal || request_.activate)) ImGui::SetKeyboardFocusHere();
}

void Ui::after_field(std::string_view id) {
  const ImVec2 low = ImGui::GetItemRectMin(), high = ImGui::GetItemRectMax();
  drawn.add(id, low, high);
  focusable(id, {low.x, low.y, high.x, high.y}, FocusKind::kField);
  if (ImGui::IsItemActivated() && focus_ && focus_->id != id)
    push(FocusOn{std::string(id), FocusKind::kField, false, false, ""});
}

// The nearest control of the grid in the direction of the arrow key; null at its edge.
const Focusable* Ui::neighbour(const Focusable& of) const {
  const auto middle = [](const Rect& r) { return ImVec2((r.x0 + r.x1) / 2, (r.y0 + r.y1) / 2); };
  const ImVec2 here = middle(of.rect);
  const Focusable* best = nullptr;
  float nearest = 0;
  for (const Focusable& c : focusables_) {
    if (c.kind != FocusKind::kGrid && c.kind != FocusKind::kGridCell) continue;
    const ImVec2 there = middle(c.rect);
    const float x = there.x - here.x, y = there.y - here.y;
    const bool across = request_.right != 0;
    const float ahead =
        across ? x * static_cast<float>(request_.right) : y * static_cast<float>(request_.down);
    const float aside = std::abs(across ? y : x);
    if (ahead < 1 || aside > ahead || (across && aside > 1)) continue;
    const float distance = ahead + 4 * aside;
    if (best && distance >= nearest) continue;
    best = &c;
    nearest = distance;
  }
  return best;
}

void Ui::settle_focus() {
  if (!focus_) return;
  const Focus& f = *focus_;
  if (ring_ && f.visible) {
    // Over everything, but cut where the control's panel ends.
    const float out = px(3.5f), halo = px(1.5f);
    ImDrawList* list = ImGui::GetForegroundDrawList();
    list->PushClipRect({ring_->clip.x0 - out, ring_->clip.y0 - out},
                       {ring_->clip.x1 + out, ring_->clip.y1 + out});
    const Rect& r = ring_->rect;
    list->AddRect({r.x0 - halo, r.y0 - halo}, {r.x1 + halo, r.y1 + halo}, to_u32(theme.surface),
                  px(7), 0, px(2.5f));
    list->AddRect({r.x0 - out + px(1), r.y0 - out + px(1)},
                  {r.x1 + out - px(1), r.y1 + out - px(1)}, to_u32(theme.text), px(8), 0, px(2));
    list->PopClipRect();
  }
  if (f.visible && ImGui::IsMouseClicked(0)) {
    push(FocusOn{f.id, f.kind, false, false, f.opener});
    return;
  }
  if (!f.visible && request_.move == 0) return;

  // Only what lies in the uppermost menu or sheet.
  const int level = open_popups();
  std::erase_if(focusables_, [&](const Focusable& c) { return c.popups != level; });
  const auto find = [&](const std::string& id) {
    return std::find_if(focusables_.begin(), focusables_.end(),
                        [&](const Focusable& c) { return c.id == id; });
  };
  const auto go = [&](const Focusable& c, std::string opener) {
    if (ImGui::GetIO().WantTextInput && c.id != f.id) ImGui::ClearActiveID();
    push(FocusOn{c.id, c.kind, true, true, std::move(opener)});
  };
  const auto now = find(f.id);
  if (now == focusables_.end() && !focusables_.empty() && level > 0) {
    // A menu or sheet has opened: into it, and back to its opener when it closes.
    go(request_.move < 0 ? focusables_.back() : focusables_.front(),
       f.opener.empty() ? f.id : f.opener);
  } else if (now == focusables_.end() && find(f.opener) != focusables_.end()) {
    go(*find(f.opener), "");
  } else if (now != focusables_.end() && (request_.right != 0 || request_.down != 0)) {
    if (const Focusable* next = neighbour(*now)) go(*next, f.opener);
  } else if (request_.move != 0 && !focusables_.empty()) {
    const auto by_arrows = [&](const Focusable& c) {
      return c.kind == FocusKind::kGridCell && c.id != f.id;
    };
    std::erase_if(focusables_, by_arrows);
    const auto count = static_cast<int>(focusables_.size());
    const auto from = find(f.id);
    const int start = from == focusables_.end() ? (request_.move > 0 ? -1 : 0)
                                                : static_cast<int>(from - focusables_.begin());
    const int next = ((start + request_.move) % count + count) % count;
    go(focusables_[static_cast<std::size_t>(next)], f.opener);
  }
}

}  // namespace headlight
