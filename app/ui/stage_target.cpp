// The page of the loss: what it takes for right where the sentence does not tell.
#include <algorithm>
#include <numeric>

#include "app/ui/number_row.h"
#include "app/ui/panels.h"
#include "app/ui/stage_view.h"
#include "core/gradient_walk.h"
#include "core/text/number_text.h"
#include "core/text/utf8.h"

namespace headlight {
namespace {

constexpr std::size_t kMostBoxes = 6;    // of a sentence with many [MASK]s the first
constexpr std::size_t kMostListed = 10;  // the others are found by typing
constexpr std::size_t kFewNames = 12;    // these need no finding, and are all listed

// One place that can be asked for something.
struct Asked {
  std::size_t number = 0;  // in Document::targets
  std::int64_t place = 0;  // in the program's targets
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
  const std::size_t shown = few ? fit.size() : std::min(fit.size(), kMostListed);
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

// The boxes one behind the other, over as many lines as they need.
class Boxes {
 public:
  Boxes(const AppState& state, Ui& ui, const Rect& area)
      : state_(state), ui_(ui), area_(area), x_(area.x0), y_(area.y0) {}

  void add(const std::string& label, const Asked& asked) {
    const float text = ui_.measure(ui_.fonts.control, label).x, box = ui_.px(190);
    if (x_ > area_.x0 && x_ + text + ui_.px(8) + box > area_.x1) {
      x_ = area_.x0;
      y_ += ui_.px(31);
    }
    ui_.text(ui_.fonts.control, {x_, y_ + ui_.px(5)}, ui_.theme.muted, label);
    x_ += text + ui_.px(8);
    const Rect r{x_, y_, std::min(x_ + box, area_.x1), y_ + ui_.px(26)};
    const std::string id = "target/" + std::to_string(asked.number);
    const std::string shown =
        asked.chosen.empty() ? likeliest_label(ui_, asked) : token_label(asked.chosen);
    if (drop_box(ui_, id, shown, r)) ui_.push(TypeTarget{});
    ImGui::SetNextWindowSizeConstraints({0, 0}, {ui_.px(320), ui_.px(340)});
    if (ImGui::BeginPopup(("popup/" + id).c_str())) {
      target_list(state_, ui_, id, asked);
      ImGui::EndPopup();
    } else if (r.contains(ImGui::GetIO().MousePos) && ImGui::IsWindowHovered()) {
      ui_.tooltip(ui_.tr("target.help"));
    }
    x_ = r.x1 + ui_.px(14);
  }
  float bottom() const { return y_ + ui_.px(30); }

 private:
  const AppState& state_;
  Ui& ui_;
  Rect area_;
  float x_, y_;
};

}  // namespace

float draw_target_tools(const AppState& state, Ui& ui, const Rect& area) {
  const Step* step = current_step(state);
  const Model* model = state.derived.model.get();
  if (!step || step->kind != StepKind::kLoss || !model) return 0;
  const Trace& trace = *state.derived.trace;
  const Program& program = trace.program();
  const std::vector<std::int64_t> places = open_targets(program, model, trace.input());
  if (places.empty()) return 0;
  const bool classes = program.config.form == ModelForm::kClasses;
  const auto outcomes = static_cast<std::size_t>(program.outcomes());
  Boxes boxes(state, ui, area);
  for (std::size_t i = 0; i < std::min(places.size(), kMostBoxes); ++i) {
    Asked asked{i, places[i], target_names(program, *model), {}, {}};
    asked.probabilities = trace.tensor("probs").cells().subspan(
        static_cast<std::size_t>(places[i]) * outcomes, outcomes);
    const auto& targets = state.document().targets;
    if (i < targets.size() && target_named(program, *model, targets[i])) asked.chosen = targets[i];
    boxes.add(classes ? std::string(ui.tr("target.class"))
                      : ui.tr("target.token",
                              {{"place", token_label(trace.name("position", places[i]))}}),
              asked);
  }
  return boxes.bottom() - area.y0;
}

}  // namespace headlight
