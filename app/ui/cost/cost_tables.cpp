// Parameters by part, and the numbers and products of a run by step.
#include <array>

#include "app/ui/cost/cost_view.h"
#include "core/base/number_text.h"
#include "core/explain/steps.h"

namespace headlight {
namespace {

constexpr std::array<float, 4> kPartEnds = {0.48f, 0.66f, 0.8f, 1.0f};
constexpr std::array<float, 5> kStepEnds = {0.4f, 0.56f, 0.71f, 0.82f, 1.0f};
// In a narrow sheet the columns between are left out.
constexpr std::array<float, 3> kFewEnds = {0.44f, 0.7f, 1.0f};
constexpr float kNarrow = 460;

std::string percent(double part, double all) {
  return all > 0 ? number_text(100 * part / all, 3) + " %" : "–";
}

struct Table {
  Ui& ui;
  Rect r;
  std::span<const float> ends;
  std::string part = {};

  void head(std::initializer_list<std::string_view> names) {
    std::vector<std::string> texts;
    for (const std::string_view name : names) texts.emplace_back(ui.tr(name));
    r.y0 += columns(r, texts, ui.theme.muted);
    ImGui::GetWindowDrawList()->AddLine({r.x0, r.y0 - ui.px(3)}, {r.x1, r.y0 - ui.px(3)},
                                        to_u32(ui.theme.line));
  }
  float columns(const Rect& at, const std::vector<std::string>& texts, Color color) {
    if (r.width() >= ui.px(kNarrow)) return cost_line(ui, at, texts, ends, color);
    return cost_line(ui, at, std::array{texts[0], texts[1], texts.back()}, kFewEnds, color);
  }
  // A heading where another part begins.
  void begin(const std::string& name) {
    if (name == part) return;
    part = name;
    ui.text(ui.fonts.note, {r.x0, r.y0 + ui.px(4)}, ui.theme.muted, name, r.width());
    r.y0 += ui.px(22);
  }
  // With a bar for its share of all behind it.
  void line(const std::vector<std::string>& texts, double share, Color color) {
    Rect room{r.x0, r.y0 - ui.px(1), r.x1, r.y0 + ui.px(19)};
    color.a = 0.16f;
    ui.bar(room, share, color);
    r.y0 += columns({r.x0 + ui.px(8), r.y0, r.x1, r.y1}, texts, ui.theme.text);
  }
};

float parameter_table(const ModelCost& m, Ui& ui, const Rect& r) {
  Table t{ui, r, kPartEnds};
  const double all = m.run.parameter_count;
  t.r.y0 +=
      ui.wrapped(ui.fonts.strong, t.r.min(), r.width(), ui.theme.text,
                 ui.tr("cost.parameters.title", {{"n", count_text(static_cast<long long>(all))},
                                                 {"bytes", bytes_text(m.run.parameter_bytes())}})) +
      ui.px(8);
  t.head({"cost.column.parameters", "cost.column.numbers", "cost.column.share",
          "cost.column.in_layer"});
  for (const ParameterCost& row : m.run.parameters) {
    t.begin(row.norm ? std::string(ui.tr("cost.norms"))
                     : section_name(ui.language, row.section, row.stack));
    t.line({row.symbol, amount_text(ui.language, row.count), percent(row.count, all),
            row.in_layer > 0 ? amount_text(ui.language, row.in_layer) : ""},
           row.count / all, ui.theme.q);
  }
  return t.r.y0;
}

float step_table(const ModelCost& m, Ui& ui, const Rect& r) {
  Table t{ui, r, kStepEnds};
  t.r.y0 +=
      ui.wrapped(ui.fonts.strong, t.r.min(), r.width(), ui.theme.text,
                 ui.tr("cost.steps.title", {{"n", amount_text(ui.language, m.run.activations)},
                                            {"bytes", bytes_text(m.run.activation_bytes)}})) +
      ui.px(8);
  t.head({"cost.column.step", "cost.column.numbers", "cost.column.bytes", "cost.column.share",
          "cost.column.products"});
  for (const StepCost& row : m.run.steps) {
    t.begin(section_name(ui.language, row.section, row.stack));
    const std::string name(tr_or(ui.language, row.row.title, row.row.title));
    t.line({row.pairs.empty() ? name : name + "  " + std::string(row.pairs),
            amount_text(ui.language, row.numbers), bytes_text(row.bytes),
            percent(row.bytes, m.run.activation_bytes),
            row.multiply_adds > 0 ? amount_text(ui.language, row.multiply_adds) : ""},
           row.bytes / m.run.activation_bytes, row.pairs.empty() ? ui.theme.v : ui.theme.k);
  }
  return t.r.y0;
}

}  // namespace

float cost_tables(const AppState& state, Ui& ui, const Rect& r) {
  if (!state.derived.cost) return r.y0;
  const float y = parameter_table(*state.derived.cost, ui, r) + ui.px(14);
  return step_table(*state.derived.cost, ui, {r.x0, y, r.x1, r.y1});
}

}  // namespace headlight
