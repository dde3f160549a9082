// A tree of continuations: what may come, what may come behind it, how probable each is.
#include <algorithm>
#include <cmath>

#include "app/ui/frame/panels.h"
#include "app/ui/labs/labs_view.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

struct Node {
  int depth = 0;
  float line = 0;  // leaves follow each other, the others stand in the middle of theirs
  double all = 1;  // of it and its parents together
};

void place(const std::vector<LabBranch>& tree, int of, int depth, double all, float& next,
           std::vector<Node>& nodes) {
  float first = -1, last = 0;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (tree[i].parent != of) continue;
    const double own = all * tree[i].probability;
    place(tree, static_cast<int>(i), depth + 1, own, next, nodes);
    nodes[i].depth = depth;
    nodes[i].all = own;
    if (first < 0) first = nodes[i].line;
    last = nodes[i].line;
  }
  if (of < 0) return;
  Node& node = nodes[static_cast<std::size_t>(of)];
  node.line = first < 0 ? next++ : (first + last) / 2;
}

}  // namespace

float lab_tree(const AppState& state, Ui& ui, const Rect& r) {
  const std::vector<LabBranch>& tree = state.labs.result->tree;
  if (tree.empty()) return r.y0;
  std::vector<Node> nodes(tree.size());
  float lines = 0;
  place(tree, -1, 0, 1, lines, nodes);
  const int depth = std::ranges::max(nodes, {}, &Node::depth).depth + 1;
  const float top = r.y0 + ui.px(22) +
                    ui.wrapped(ui.fonts.note, {r.x0, r.y0 + ui.px(20)}, r.width(), ui.theme.muted,
                               ui.tr("lab.tree.about"));
  ui.text(ui.fonts.strong, r.min(), ui.theme.text, ui.tr("lab.tree"), r.width());
  const float high = ui.px(24);
  const float step = std::min(r.width() / static_cast<float>(depth), ui.px(240));
  const float wide = step - ui.px(34);
  const auto left = [&](std::size_t i) { return r.x0 + step * static_cast<float>(nodes[i].depth); };
  const auto middle = [&](std::size_t i) { return top + (nodes[i].line + 0.5f) * high; };
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (tree[i].parent >= 0) {
      const auto parent = static_cast<std::size_t>(tree[i].parent);
      const ImVec2 from{left(parent) + wide + ui.px(2), middle(parent)},
          to{left(i) - ui.px(3), middle(i)};
      const float bend = (to.x - from.x) / 2;
      const float thick = ui.px(1) + ui.px(3) * static_cast<float>(tree[i].probability);
      list->AddBezierCubic(from, {from.x + bend, from.y}, {to.x - bend, to.y}, to,
                           to_u32(faded(ui.theme.pattern, 0.6f)), thick);
    }
    const Rect box{left(i), middle(i) - high / 2 + ui.px(2), left(i) + wide,
                   middle(i) + high / 2 - ui.px(2)};
    list->AddRectFilled(box.min(), box.max(), to_u32(ui.theme.selection), ui.px(4));
    ui.bar({box.x0, box.y1 - ui.px(3), box.x1, box.y1}, tree[i].probability, ui.theme.pattern);
    const std::string number = number_text(100 * tree[i].probability, 3) + " %";
    const float room = wide - ui.measure(ui.fonts.mono_small, number).x - ui.px(14);
    ui.user_text(ui.fonts.control, {box.x0 + ui.px(6), box.y0 + ui.px(1)}, ui.theme.text,
                 token_label(tree[i].text), std::max(room, ui.px(8)));
    ui.text_right(ui.fonts.mono_small, box.x1 - ui.px(5), box.y0 + ui.px(3), ui.theme.muted,
                  number);
    bool over = false;
    ui.hot("lab/tree/" + std::to_string(i), box, &over, true, FocusKind::kGridCell);
    if (over)
      ui.tooltip(ui.tr("lab.tree.node", {{"token", token_label(tree[i].text)},
                                         {"share", number_text(100 * tree[i].probability, 4)},
                                         {"all", number_text(100 * nodes[i].all, 4)}}));
  }
  return top + lines * high + ui.px(16);
}

}  // namespace headlight
