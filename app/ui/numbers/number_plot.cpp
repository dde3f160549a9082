#include "app/ui/numbers/number_plot.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/number_text.h"
#include "core/run/number_curve.h"

namespace headlight {
namespace {

constexpr double kLow = -1.1, kHigh = 1.1;  // a little more than the grid, on both axes

Color part_color(const Theme& theme, std::size_t i) {
  const Color colors[] = {theme.q,           theme.v,          theme.k,
                          theme.size_tokens, theme.size_model, theme.size_heads};
  return colors[i % std::size(colors)];
}

struct Plot {
  Rect r;
  ImVec2 at(double x, double y) const {
    const auto share = [](double v) {
      return static_cast<float>((std::clamp(v, 2 * kLow, 2 * kHigh) - kLow) / (kHigh - kLow));
    };
    return {r.x0 + share(x) * r.width(), r.y1 - share(y) * r.height()};
  }
};

// From number to number, where both ends are finite.
template <class F>
void for_pieces(const std::vector<double>& x, const std::vector<double>& y, F&& f) {
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    if (std::isfinite(y[i]) && std::isfinite(y[i + 1])) f(i);
  }
}

void draw_axes(Ui& ui, const Plot& plot) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Rect& r = plot.r;
  list->AddRect(r.min(), r.max(), to_u32(ui.theme.line), ui.px(2));
  list->AddLine({r.x0, plot.at(0, 0).y}, {r.x1, plot.at(0, 0).y}, to_u32(ui.theme.line));
  list->AddLine({plot.at(0, 0).x, r.y0}, {plot.at(0, 0).x, r.y1}, to_u32(ui.theme.line));
  ImFont* font = ui.fonts.mono_small;
  for (const double mark : {-1.0, 0.0, 1.0}) {
    const std::string text = mark < 0 ? "−1" : mark > 0 ? "1" : "0";
    const ImVec2 at = plot.at(mark, mark);
    ui.text_right(font, r.x0 - ui.px(5), at.y - font_size(font) / 2, ui.theme.muted, text);
    ui.text(font, {at.x - ui.measure(font, text).x / 2, r.y1 + ui.px(3)}, ui.theme.muted, text);
  }
}

// Of the run whose weights are looked at: what it is asked for.
void draw_points(const AppState& state, Ui& ui, const Plot& plot, const NumberCurve& curve) {
  const RunView& run = state.train.run;
  if (state.document().model != kRunRef || !run.task) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto number = [&](int id) { return curve.x[static_cast<std::size_t>(id)]; };
  for (const TaskExample& example : run.examples) {
    for (std::size_t t = 0; t < example.tokens.size(); ++t) {
      const int x = example.tokens[t], y = example.targets[t];
      const int count = static_cast<int>(curve.x.size());
      if (x < 0 || y < 0 || x >= count || y >= count) continue;
      list->AddCircleFilled(plot.at(number(x), number(y)), ui.px(1.8f),
                            to_u32(faded(ui.theme.muted, 0.55f)), 8);
    }
  }
}

// Strong where the gate hears the expert, faint elsewhere.
void draw_experts(Ui& ui, const Plot& plot, const NumberCurve& curve) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (std::size_t e = 0; e < curve.experts.size(); ++e) {
    const NumberCurve::Expert& expert = curve.experts[e];
    if (expert.y.empty()) continue;
    for_pieces(curve.x, expert.y, [&](std::size_t i) {
      const auto weight = static_cast<float>(std::clamp(expert.weight[i], 0.0, 1.0));
      list->AddLine(plot.at(curve.x[i], expert.y[i]), plot.at(curve.x[i + 1], expert.y[i + 1]),
                    to_u32(faded(part_color(ui.theme, e), 0.25f + 0.75f * weight)),
                    ui.px(1.2f + 1.6f * weight));
    });
  }
}

void draw_model(Ui& ui, const Plot& plot, const NumberCurve& curve) {
  if (curve.y.empty()) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const bool alone = curve.experts.empty() || curve.experts[0].y.empty();
  for_pieces(curve.x, curve.y, [&](std::size_t i) {
    list->AddLine(plot.at(curve.x[i], curve.y[i]), plot.at(curve.x[i + 1], curve.y[i + 1]),
                  to_u32(faded(ui.theme.text, alone ? 1.0f : 0.3f)), ui.px(alone ? 2.0f : 5.0f));
  });
}

// A band of one spread to both sides of the mean, as strong as the component counts.
void draw_components(Ui& ui, const Plot& plot, const NumberCurve& curve) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (std::size_t k = 0; k < curve.components.size(); ++k) {
    const NumberCurve::Component& c = curve.components[k];
    const Color color = part_color(ui.theme, k);
    for_pieces(curve.x, c.mean, [&](std::size_t i) {
      if (!std::isfinite(c.spread[i] + c.spread[i + 1])) return;
      const auto weight = static_cast<float>(std::clamp(c.weight[i], 0.0, 1.0));
      const double x0 = curve.x[i], x1 = curve.x[i + 1];
      list->AddQuadFilled(
          plot.at(x0, c.mean[i] + c.spread[i]), plot.at(x1, c.mean[i + 1] + c.spread[i + 1]),
          plot.at(x1, c.mean[i + 1] - c.spread[i + 1]), plot.at(x0, c.mean[i] - c.spread[i]),
          to_u32(faded(color, 0.35f * weight)));
      list->AddLine(plot.at(x0, c.mean[i]), plot.at(x1, c.mean[i + 1]),
                    to_u32(faded(color, 0.1f + 0.9f * weight)), ui.px(1.0f + 1.4f * weight));
    });
  }
}

// The gate's weights, one over the other: which part of the axis is whose.
void draw_regions(Ui& ui, const Plot& plot, const Rect& strip, const NumberCurve& curve) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::size_t count = curve.x.size();
  const double half = count > 1 ? (curve.x[1] - curve.x[0]) / 2 : 0.5;
  for (std::size_t i = 0; i < count; ++i) {
    const float x0 = plot.at(curve.x[i] - half, 0).x, x1 = plot.at(curve.x[i] + half, 0).x;
    float y = strip.y1;
    for (std::size_t e = 0; e < curve.experts.size(); ++e) {
      const double weight = curve.experts[e].weight[i];
      if (!std::isfinite(weight)) continue;
      const float top = y - static_cast<float>(std::clamp(weight, 0.0, 1.0)) * strip.height();
      list->AddRectFilled({x0, std::max(top, strip.y0)}, {x1, y}, to_u32(part_color(ui.theme, e)));
      y = top;
    }
  }
  list->AddRect({plot.r.x0, strip.y0}, {plot.r.x1, strip.y1}, to_u32(ui.theme.line));
  ui.drawn.add("numbers/regions", {plot.r.x0, strip.y0}, {plot.r.x1, strip.y1});
}

// Which colour is whose, as far as there is room.
void draw_legend(Ui& ui, const Rect& r, const NumberCurve& curve) {
  float x = r.x0;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto entry = [&](const std::string& words, const Color& color) {
    const float width = ui.measure(ui.fonts.note, words).x + ui.px(18);
    if (x + width > r.x1) return;
    const float middle = r.y0 + font_size(ui.fonts.note) / 2;
    list->AddRectFilled({x, middle - ui.px(2)}, {x + ui.px(10), middle + ui.px(2)}, to_u32(color));
    ui.text(ui.fonts.note, {x + ui.px(14), r.y0}, ui.theme.muted, words);
    x += width + ui.px(8);
  };
  if (!curve.y.empty()) entry(std::string(ui.tr("numbers.model")), faded(ui.theme.text, 0.6f));
  for (std::size_t k = 0; k < curve.components.size(); ++k)
    entry(ui.tr("numbers.component", {{"n", std::to_string(k)}}), part_color(ui.theme, k));
  for (std::size_t e = 0; e < curve.experts.size(); ++e)
    entry(ui.tr("stage.expert", {{"n", std::to_string(e)}}), part_color(ui.theme, e));
}

// The numbers at the place under the mouse.
void tell(Ui& ui, const Plot& plot, const Rect& all, const NumberCurve& curve) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const Rect area{plot.r.x0, plot.r.y0, plot.r.x1, all.y1};
  if (!area.contains(mouse) || !ImGui::IsWindowHovered() || curve.x.empty()) return;
  const double share = static_cast<double>((mouse.x - plot.r.x0) / plot.r.width());
  const double x = kLow + share * (kHigh - kLow);
  const auto nearest =
      std::ranges::min_element(curve.x, {}, [&](double number) { return std::abs(number - x); });
  const auto i = static_cast<std::size_t>(nearest - curve.x.begin());
  const auto number = [](double value) { return number_text(value, 3); };
  std::string words = ui.tr("numbers.at", {{"x", number(curve.x[i])}});
  if (!curve.y.empty()) words += "\n" + ui.tr("numbers.at.model", {{"y", number(curve.y[i])}});
  for (std::size_t k = 0; k < curve.components.size(); ++k) {
    const NumberCurve::Component& c = curve.components[k];
    words += "\n" + ui.tr("numbers.at.component", {{"n", std::to_string(k)},
                                                   {"mean", number(c.mean[i])},
                                                   {"spread", number(c.spread[i])},
                                                   {"weight", number(c.weight[i])}});
  }
  for (std::size_t e = 0; e < curve.experts.size(); ++e) {
    const NumberCurve::Expert& expert = curve.experts[e];
    words += "\n" + ui.tr(expert.y.empty() ? "numbers.at.weight" : "numbers.at.expert",
                          {{"n", std::to_string(e)},
                           {"y", expert.y.empty() ? "" : number(expert.y[i])},
                           {"weight", number(expert.weight[i])}});
  }
  const float at = plot.at(curve.x[i], 0).x;
  ImGui::GetWindowDrawList()->AddLine({at, plot.r.y0}, {at, area.y1},
                                      to_u32(faded(ui.theme.text, 0.5f)));
  ui.tooltip(words);
}

}  // namespace

bool has_number_plot(const AppState& state) {
  return state.derived.trace && state.derived.curve && has_curve(state.derived.trace->config());
}

bool shows_number_plot(const AppState& state, const StepPage& page) {
  if (!has_number_plot(state) || page.lines.empty() || page.backward) return false;
  const Program& program = state.derived.trace->program();
  switch (program.tensors[place(page.lines[0].back().tensor)].role) {
    case Role::kGateWeights:
    case Role::kBestWeights:
    case Role::kMeans:
    case Role::kComponentWeights:
    case Role::kProbabilities:
      return true;
    case Role::kSublayerOutput:
      return program.config.has_experts();
    default:
      return false;
  }
}

DetailNeed number_plot_need(const Ui& ui) {
  return {ui.px(330), ui.px(220), ui.px(420), ui.px(200)};
}

void draw_number_plot(const AppState& state, Ui& ui, const Rect& r) {
  const NumberCurve& curve = *state.derived.curve;
  const float legend = ui.px(20), axis = ui.px(20), regions = ui.px(16);
  const bool gated = !curve.experts.empty();
  const float height = std::min(r.height(), ui.px(460));
  const Rect all{r.x0, r.y0, r.x1, r.y0 + height};
  const float bottom = all.y1 - axis - (gated ? regions + ui.px(4) : 0);
  const float width = std::min(all.width() - ui.px(26), 3.0f * (bottom - all.y0 - legend));
  const Plot plot{{all.x0 + ui.px(24), all.y0 + legend, all.x0 + ui.px(24) + width, bottom}};
  if (plot.r.height() < ui.px(40) || plot.r.width() < ui.px(60)) return;
  ui.drawn.add("numbers/plot", plot.r.min(), plot.r.max());
  draw_legend(ui, {plot.r.x0, all.y0, all.x1, all.y0 + legend}, curve);
  draw_axes(ui, plot);
  ImGui::GetWindowDrawList()->PushClipRect(plot.r.min(), plot.r.max(), true);
  draw_points(state, ui, plot, curve);
  draw_components(ui, plot, curve);
  draw_model(ui, plot, curve);
  draw_experts(ui, plot, curve);
  ImGui::GetWindowDrawList()->PopClipRect();
  if (gated) {
    const float top = plot.r.y1 + axis;
    draw_regions(ui, plot, {plot.r.x0, top, plot.r.x1, top + regions}, curve);
  }
  tell(ui, plot, all, curve);
}

}  // namespace headlight
