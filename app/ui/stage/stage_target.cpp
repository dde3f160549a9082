// The page of the loss: what it takes for right where the sentence does not tell.
#include <algorithm>
#include <numeric>

#include "app/ui/frame/panels.h"
#include "app/ui/kit/number_row.h"
#include "app/ui/stage/stage_view.h"
#include "core/autodiff/gradient_program.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/run/targets.h"

namespace headlight {
namespace {

constexpr std::size_t kMaxListed = 10;  // the others are found by typing
constexpr std::size_t kFewNames = 12;   // these need no finding, and are all listed

// One place that can be asked for something.
struct Asked {
  std::size_t number = 0;  // in Document::targets
  std::span<const std::string> names;
  std::span<const float> probabilities;
  std::string chosen;  // empty: the likeliest
  std::size_t likeliest() const {
    return static_cast<std::size_t>(std::max_element(probabilities.begin(), probabilities.end()) -
                                    probabilities.begin());
  }
};

std::string likeliest_label(const Ui& ui, const Asked& asked) {
  return ui.tr("target.likeliest", {{"name", token_label(asked.names[asked.likeliest()])}});
}

// Those that fit what was typed, the likeliest first.
std::vector<std::size_t> listed(const Asked& asked, const std::string& typed) {
  std::vector<std::size_t> fit;
  for (std::size_t i = 0; i < asked.names.size(); ++i) {
    if (asked.names[i].find(typed) != std::string::npos) fit.push_back(i);
  }
  const bool few = asked.names.size() <= kFewNames;
  const std::size_t shown = few ? fit.size() : std::min(fit.size(), kMaxListed);
  std::partial_sort(fit.begin(), fit.begin() + static_cast<std::ptrdiff_t>(shown), fit.end(),
                    [&](std::size_t a, std::size_t b) {
                      const float pa = asked.probabilities[a], pb = asked.probabilities[b];
                      return pa != pb ? pa > pb : a < b;
                    });
  fit.resize(shown);
  return fit;
}

void find_field(const AppState& state, Ui& ui, const std::string& id) {
  const std::string before = to_field_text(state.session.target_typed);
  std::string typed = before;
  const std::string hint(ui.tr("target.find"));
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(ui.px(200));
  ui.drawn.note(typed);
  ui.before_field(id);
  ImGui::InputTextWithHint("##find", hint.c_str(), &typed);
  ui.after_field(id);
  if (typed != before) ui.push(TypeTarget{from_field_text(typed)});
}

void target_list(const AppState& state, Ui& ui, const std::string& id, const Asked& asked) {
  const auto choose = [&](const std::string& name) {
    ui.push(DoEdit{SetTarget{static_cast<int>(asked.number), name}, ""});
  };
  const bool many = asked.names.size() > kFewNames;
  const std::string typed = many ? state.session.target_typed : std::string();
  if (many) find_field(state, ui, id + "/find");
  if (typed.empty() &&
      ui.menu_item(id + "/likeliest", likeliest_label(ui, asked), {}, asked.chosen.empty()))
    choose("");
  const std::vector<std::size_t> fit = listed(asked, typed);
  for (const std::size_t i : fit) {
    const std::string& name = asked.names[i];
    if (ui.menu_item(id + "/is/" + name, token_label(name),
                     number_text(static_cast<double>(asked.probabilities[i]), 2),
                     name == asked.chosen))
      choose(name);
  }
  if (fit.empty()) ImGui::TextUnformatted(ui.tr("target.none").data());
}

struct PlacedBox {
  ImVec2 label;
  Rect box;
};

// The boxes one behind the other, over as many lines as leave the picture its room; those that
// find a place.
std::vector<PlacedBox> place_boxes(const Ui& ui, const Rect& area,
                                   std::span<const std::string> labels) {
  std::vector<PlacedBox> placed;
  const float width = ui.px(190), height = ui.px(26), picture = ui.px(110);
  float x = area.x0, y = area.y0;
  for (const std::string& label : labels) {
    const float text = ui.measure(ui.fonts.control, label).x + ui.px(8);
    if (x > area.x0 && x + text + width > area.x1) {
      x = area.x0;
      y += ui.px(31);
    }
    const float room = area.y1 - y - height;
    if (room < (y > area.y0 ? picture : 0)) break;
    const float left = x + text;
    placed.push_back({{x, y + ui.px(5)}, {left, y, std::min(left + width, area.x1), y + height}});
    x = left + width + ui.px(14);
  }
  return placed;
}

void draw_box(const AppState& state, Ui& ui, const PlacedBox& at, const std::string& label,
              const Asked& asked) {
  ui.text(ui.fonts.control, at.label, ui.theme.muted, label);
  const std::string id = "target/" + std::to_string(asked.number);
  const std::string shown =
      asked.chosen.empty() ? likeliest_label(ui, asked) : token_label(asked.chosen);
  if (drop_box(ui, id, shown, at.box)) ui.push(TypeTarget{});
  ImGui::SetNextWindowSizeConstraints({0, 0}, {ui.px(320), ui.px(340)});
  if (ImGui::BeginPopup(("popup/" + id).c_str())) {
    target_list(state, ui, id, asked);
    ImGui::EndPopup();
  } else if (at.box.contains(ImGui::GetIO().MousePos) && ImGui::IsWindowHovered()) {
    ui.tooltip(ui.tr("target.help"));
  }
}

// Which of the places the picked cell stands at; 0: none of them.
std::size_t picked_number(const AppState& state, const std::vector<std::int64_t>& places) {
  const auto& picked = state.session.picked;
  if (!picked || picked->index.size() < 2) return 0;
  const auto at = std::find(places.begin(), places.end(), picked->index[1]);
  return at == places.end() ? 0 : static_cast<std::size_t>(at - places.begin());
}

}  // namespace

float draw_target_tools(const AppState& state, Ui& ui, const Rect& area) {
  const Step* step = current_step(state);
  const Model* model = state.derived.model.get();
  if (!step || !state.derived.trace) return 0;
  const Trace& trace = *state.derived.trace;
  const Program& program = trace.program();
  // Of foci with a penalty the loss of the class is a step of its own, before the sum.
  const bool sum = program.find(Role::kClassLoss, program.loss) >= 0;
  if (!program.makes(*step, sum ? Role::kClassLoss : Role::kLoss)) return 0;
  const std::vector<std::int64_t> places = open_targets(program, model, trace.input());
  const bool classes = program.config.form == ModelForm::kClasses;
  std::vector<std::string> labels;
  for (const std::int64_t place : places) {
    labels.push_back(
        classes ? std::string(ui.tr("target.class"))
                : ui.tr("target.token", {{"place", token_label(trace.name("position", place))}}));
  }
  // Where not all have room, from the one on that is looked at.
  std::size_t first = 0;
  std::vector<PlacedBox> placed = place_boxes(ui, area, labels);
  if (const std::size_t picked = picked_number(state, places); picked >= placed.size()) {
    first = picked;
    placed = place_boxes(ui, area, std::span(labels).subspan(std::min(first, labels.size())));
  }
  if (placed.empty()) return 0;
  const auto outcomes = static_cast<std::size_t>(program.outcomes());
  const auto& targets = state.document().targets;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    Asked asked{first + i, target_names(program, model, trace.input()), {}, {}};
    const auto row = static_cast<std::size_t>(places[first + i]) * outcomes;
    asked.probabilities = trace.tensor(program.probabilities).cells().subspan(row, outcomes);
    const bool given = asked.number < targets.size();
    if (given && target_named(program, model, trace.input(), targets[asked.number]))
      asked.chosen = targets[asked.number];
    draw_box(state, ui, placed[i], labels[first + i], asked);
  }
  return placed.back().box.y1 + ui.px(4) - area.y0;
}

}  // namespace headlight
