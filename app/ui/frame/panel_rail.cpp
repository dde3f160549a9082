// The rail: every step of the computation, with a thumbnail of the real tensor. Layers that are not
// looked at fold: to one line per half, and to one line each where they are many.
#include <algorithm>
#include <cmath>

#include "app/ui/frame/panels.h"
#include "app/ui/matrix/linked_hover.h"
#include "app/ui/matrix/pane_view.h"
#include "core/explain/steps.h"
#include "core/view/pane_layout.h"

namespace headlight {
namespace {

// With more layers each folds to a line of its own.
constexpr int kMostHalvedLayers = 8;

// Steps that fold together: a section of one layer, or all of one where they are many.
struct Group {
  Stack stack{};
  Section section{};
  int layer = -1;
  bool whole_layer = false;
  std::size_t begin = 0, end = 0;
};

bool has_many_layers(const Program& program) {
  return std::ranges::any_of(program.steps,
                             [](const Step& s) { return s.layer >= kMostHalvedLayers; });
}

// Of the steps that go forwards, or of those that go back.
std::vector<Group> groups_of(const Program& program, bool backward) {
  const bool many = has_many_layers(program);
  std::vector<Group> groups;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (step.backward != backward) continue;
    const bool whole = many && step.layer >= 0;
    if (groups.empty() || groups.back().layer != step.layer || groups.back().stack != step.stack ||
        (!whole && groups.back().section != step.section)) {
      groups.push_back({step.stack, step.section, step.layer, whole, i, i});
    }
    groups.back().end = i + 1;
  }
  return groups;
}

struct Cursor {
  Ui& ui;
  Rect panel;
  float y;
  bool follow = false;  // the step has changed: bring its line into view
  float row() const { return ui.px(33); }
  bool visible(float height) const { return y + height > panel.y0 && y < panel.y1; }
};

// What stands above the group: its layer, or what its steps are for, and the stack of the two that
// they belong to. Layers that are folded to a line each stand under one heading.
std::string heading_words(const Ui& ui, const Group& group, bool folds) {
  std::string words;
  if (group.stack != Stack::kOnly)
    words = std::string(ui.tr(group.stack == Stack::kEncoder ? "rail.encoder" : "rail.decoder")) +
            " · ";
  if (folds && group.whole_layer) return words + std::string(ui.tr("rail.layers"));
  if (group.layer >= 0) return words + ui.tr("rail.layer", {{"n", std::to_string(group.layer)}});
  const bool encodes = group.stack == Stack::kEncoder;
  return words + std::string(ui.tr(group.section == Section::kInput ? "rail.input"
                                   : encodes                        ? "rail.output"
                                                                    : "rail.prediction"));
}

struct FoldWords {
  std::string id, title;
};

FoldWords fold_words(const Ui& ui, const Group& group) {
  std::string id = "rail/fold/";
  if (group.stack != Stack::kOnly) id += group.stack == Stack::kEncoder ? "encoder/" : "decoder/";
  id += std::to_string(group.layer);
  if (group.whole_layer)
    return {id, ui.tr("rail.whole_layer", {{"n", std::to_string(group.layer)}})};
  const auto section = [&](std::string_view end, std::string_view title) {
    return FoldWords{id + std::string(end), std::string(ui.tr(title))};
  };
  switch (group.section) {
    case Section::kAttention:
      return section("/attention", "rail.attention");
    case Section::kMixer:
      return section("/mixer", "rail.section.mixer");
    case Section::kCrossAttention:
      return section("/cross_attention", "rail.cross_attention");
    default:
      return section("/feed_forward", "rail.feed_forward");
  }
}

// The pictures of a folded group: the pattern for attention, the last tensor otherwise; of a whole
// layer both.
std::vector<const Step*> fold_pictures(const Program& program, const Group& group) {
  const Step* last = &program.steps[group.end - 1];
  const Step* pattern = nullptr;
  for (std::size_t i = group.begin; i < group.end; ++i) {
    if (program.makes(program.steps[i], Role::kPattern)) pattern = &program.steps[i];
  }
  if (!pattern) return {last};
  if (!group.whole_layer) return {pattern};
  return {pattern, last};
}

void heading(Cursor& c, const std::string& words) {
  if (c.visible(c.ui.px(30))) {
    c.ui.text(c.ui.fonts.note, {c.panel.x0 + c.ui.px(16), c.y + c.ui.px(10)}, c.ui.theme.muted,
              words);
  }
  c.y += c.ui.px(29);
}

// The picture of a step's tensor in small.
void draw_thumb(const AppState& state, Ui& ui, const Step& step, const Rect& thumb, bool over) {
  const Trace& trace = *state.derived.trace;
  const StepPage page =
      step_page(trace, step, std::min(state.session.head, trace.config().head_count() - 1));
  PagePane picture{vector_pane(trace.tensor(step.tensor), -1, PaneRole::kResult), step.tensor};
  if (!page.lines.empty()) picture = page.lines[0].back();
  if (!state.derived.empty) {  // otherwise the pictures would be those of an older sentence
    draw_heatmap(ui, trace, picture, thumb, 0);
    if (over) hover_picture(state, ui, picture, thumb);
    mark_hovered_cell(state, ui, picture, thumb);
  }
  ImGui::GetWindowDrawList()->AddRect(thumb.min(), thumb.max(),
                                      to_u32(ui.theme.line));  // over pale cells
}

// One line of the rail; true when it was pressed.
bool rail_line(Cursor& c, const AppState& state, std::string_view id,
               std::span<const Step* const> pictures, std::string_view title, std::string_view hint,
               bool current) {
  Ui& ui = c.ui;
  const Rect line{c.panel.x0 + ui.px(8), c.y, c.panel.x1 - ui.px(8), c.y + c.row() - ui.px(1)};
  c.y += c.row();
  if (current) {
    ui.drawn.add("rail/current", line.min(), line.max());
    if (c.follow && (line.y0 < c.panel.y0 || line.y1 > c.panel.y1))
      ImGui::SetScrollFromPosY(line.y0 - ImGui::GetWindowPos().y, 0.4f);
  }
  if (!(line.y1 > c.panel.y0 && line.y0 < c.panel.y1)) {
    ui.drawn.add(id, line.min(), line.max(), false);
    return ui.focusable(id, line);
  }
  bool over = false;
  const bool pressed = ui.hot(id, line, &over);
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (current || over)
    list->AddRectFilled(line.min(), line.max(), to_u32(ui.theme.selection), ui.px(6));
  if (current)
    list->AddRectFilled({c.panel.x0, line.y0}, {c.panel.x0 + ui.px(3), line.y1},
                        to_u32(ui.theme.text));
  const float side = ui.px(24), top = (line.y0 + line.y1 - side) / 2;
  float x = line.x0 + ui.px(6);
  for (const Step* picture : pictures) {
    draw_thumb(state, ui, *picture, {x, top, x + side, top + side}, over);
    x += side + ui.px(6);
  }
  const float text_x = x + ui.px(4), text_y = (line.y0 + line.y1) / 2 - ui.px(8);
  ImFont* font = current ? ui.fonts.strong : ui.fonts.control;
  ui.text(font, {text_x, text_y}, ui.theme.text, title, line.x1 - text_x);
  const float hint_width = ui.measure(ui.fonts.mono_small, hint).x;
  const float title_end = text_x + ui.measure(font, title).x;
  if (title_end + ui.px(8) + hint_width < line.x1 - ui.px(6)) {
    ui.text_right(ui.fonts.mono_small, line.x1 - ui.px(8), text_y + ui.px(2), ui.theme.muted, hint);
  }
  return pressed;
}

// Which way the steps run, and the button that folds the rail; below it, where the rail is narrow.
// Stays where it is when the list scrolls. Returns its lower edge.
float draw_head(const AppState& state, Ui& ui, const Rect& r, bool backward) {
  const std::string labels[] = {std::string(ui.tr("rail.forward")),
                                std::string(ui.tr("rail.backward"))};
  const std::string_view ids[] = {"forward", "backward"};
  const ImVec2 at{r.x0 + ui.px(12), r.y0 + ui.px(8)};
  const bool wanted = backward || (state.session.backward && state.derived.computing);
  const int pressed = ui.segmented("rail/direction", labels, wanted ? 1 : 0, at, ui.px(26), ids);
  if (pressed >= 0) ui.push(ShowBackward{pressed == 1});
  const bool narrow = at.x + ui.segmented_width(labels) > r.x1 - ui.px(38);
  const float top = r.y0 + ui.px(narrow ? 38 : 9);
  const Rect fold{r.x1 - ui.px(38), top, r.x1 - ui.px(10), top + ui.px(24)};
  bool over = false;
  if (ui.hot("view/rail", fold, &over)) ui.push(DoCommand{Command::kToggleRail});
  ui.text(ui.fonts.control, {fold.x0 + ui.px(10), top + ui.px(3)},
          over ? ui.theme.text : ui.theme.muted, "«");
  if (over) ui.tooltip(ui.tr("panel.fold"));
  const float bottom = std::round(fold.y1 + ui.px(6));
  ImGui::GetWindowDrawList()->AddLine({r.x0 + 1, bottom}, {r.x1 - 1, bottom},
                                      to_u32(ui.theme.line));
  return bottom + 1;
}

void draw_steps(const AppState& state, Ui& ui, const Rect& r, const Step& current) {
  ImGui::SetCursorScreenPos({r.x0 + 1, r.y0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ui.drawn.add("panel/rail_steps", r.min(), r.max());
  begin_child("steps", {r.width() - 2, r.height() - 1}, ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar();
  const Program& program = state.derived.trace->program();
  const auto current_index = static_cast<std::size_t>(&current - program.steps.data());
  // Only then: otherwise the wheel could not turn away from the current step.
  int& followed = *ImGui::GetStateStorage()->GetIntRef(ImGui::GetID("followed"), -1);
  const auto place = static_cast<int>(current_index) * 4096 + static_cast<int>(r.height());
  Cursor c{ui, r, r.y0 - ImGui::GetScrollY(), followed != place};
  followed = place;
  std::string headed;
  for (const Group& group : groups_of(program, current.backward)) {
    const Step& first = program.steps[group.begin];
    const bool folds =
        group.layer >= 0 && (current_index < group.begin || current_index >= group.end);
    const std::string words = heading_words(ui, group, folds);
    if (words != headed) heading(c, words);
    headed = words;
    const auto go = [&](const Step& step) {
      ui.push(GoToStep{program.tensors[static_cast<std::size_t>(step.tensor)].name});
    };
    if (folds) {
      const FoldWords fold = fold_words(ui, group);
      const std::string count =
          tr_count(ui.language, "count.steps", static_cast<long long>(group.end - group.begin));
      const std::vector<const Step*> pictures = fold_pictures(program, group);
      if (rail_line(c, state, fold.id, pictures, fold.title, count, false)) go(first);
      continue;
    }
    for (std::size_t i = group.begin; i < group.end; ++i) {
      const Step& step = program.steps[i];
      const StepText text = step_text(ui.language, program, step);
      const std::string id = "rail/" + program.tensors[static_cast<std::size_t>(step.tensor)].name;
      const Step* picture = &step;
      if (rail_line(c, state, id, {&picture, 1}, text.title, text.hint, i == current_index))
        go(step);
    }
  }
  ImGui::SetCursorScreenPos({r.x0, c.y + ui.px(8)});
  ImGui::Dummy({1, 1});
  ImGui::EndChild();
}

}  // namespace

void panel_rail(const AppState& state, Ui& ui, const Rect& r) {
  ui.begin_panel("rail", r);
  if (const Step* current = current_step(state)) {
    const float top = draw_head(state, ui, r, current->backward);
    draw_steps(state, ui, {r.x0, top, r.x1, r.y1}, *current);
  } else {
    ui.text(ui.fonts.control, {r.x0 + ui.px(16), r.y0 + ui.px(16)}, ui.theme.muted,
            ui.tr("rail.empty"));
  }
  ui.end_panel();
}

}  // namespace headlight
