// Sizes to try out, and what they come to: predicted, and of the shown run what it really took.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/ui/cost/cost_view.h"
#include "app/ui/kit/number_row.h"
#include "core/base/number_text.h"

namespace headlight {

bool is_cost_of_shown(const AppState& state) {
  const Derived& d = state.derived;
  if (!d.cost || !d.trace || d.cost_of != d.trace->serial()) return false;
  return d.cost->config == d.trace->config() && d.cost->shape == d.trace->program().shape;
}

std::optional<double> predicted_ms(const AppState& state, const ProgramCost& cost, bool backward) {
  if (state.derived.rates.empty()) return std::nullopt;
  return 1000 * predicted_seconds(cost, state.derived.rates, backward);
}

RunKeeps kept_by_run(const AppState& state) {
  if (state.session.backward) return RunKeeps::kGradients;
  return state.session.compute == ComputeMode::kCpu ? RunKeeps::kLeast : RunKeeps::kAll;
}

std::string amount_text(Language language, double number) {
  if (number < 1e6) return count_text(static_cast<long long>(number));
  const std::string_view id = number < 1e9 ? "cost.million" : "cost.billion";
  if (language == Language::kChinese) {  // by 10⁴
    const bool large = number >= 1e8;
    return tr(language, large ? "cost.billion" : "cost.million",
              {{"n", number_text(number / (large ? 1e8 : 1e4), 3)}});
  }
  return tr(language, id, {{"n", number_text(number / (number < 1e9 ? 1e6 : 1e9), 3)}});
}

std::string duration_text(Language language, double milliseconds) {
  if (milliseconds < 1) return number_text(1000 * milliseconds, 3) + " µs";
  if (milliseconds < 1000) return number_text(milliseconds, 3) + " ms";
  if (milliseconds < 120e3) return number_text(milliseconds / 1000, 3) + " s";
  return tr(language, "cost.minutes", {{"n", number_text(milliseconds / 60e3, 3)}});
}

float cost_line(Ui& ui, const Rect& r, std::span<const std::string> texts,
                std::span<const float> ends, Color color, bool strong) {
  ImFont* font = strong ? ui.fonts.strong : ui.fonts.control;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const float end = r.x0 + ends[i] * r.width();
    if (i == 0) {
      ui.user_text(font, r.min(), color, texts[0], end - r.x0);
    } else {
      ui.text_right(ui.fonts.control, end, r.y0, color, texts[i]);
    }
  }
  return ui.px(22);
}

namespace {

constexpr float kRow = 30;
constexpr std::array<float, 3> kFactEnds = {0.5f, 0.76f, 1.0f};

CostSizes shown_sizes(const AppState& state) {
  if (state.session.cost_sizes) return *state.session.cost_sizes;
  return sizes_of(state.derived.trace->config(), state.derived.trace->program().shape);
}

void size_buttons(const AppState& state, Ui& ui, const Rect& r) {
  const bool tried = state.session.cost_sizes.has_value();
  const bool sandbox = state.document().model.empty();
  const auto button = [&](std::string_view id, std::string_view text, float x, bool enabled,
                          std::string_view help, Action action) {
    const float wide = ui.measure(ui.fonts.control, ui.tr(text)).x + ui.px(20);
    if (ui.button(id, ui.tr(text), {x, r.y0, x + wide, r.y0 + ui.px(28)}, false, enabled,
                  ui.tr(help)))
      ui.push(std::move(action));
    return x + wide + ui.px(8);
  };
  const bool fits = state.derived.cost_problem.empty();
  const float x = button("cost/use", "cost.use", r.x0, tried && sandbox && fits,
                         sandbox ? "cost.use.help" : "cost.use.trained", UseCostSizes{});
  button("cost/shown", "cost.shown", x, tried, "cost.shown.help", TryCostSizes{});
}

// A fact, predicted and, of the shown run, as it really was.
struct Facts {
  Ui& ui;
  Rect r;
  void line(std::string_view name, const std::string& predicted, const std::string& real = "") {
    const std::string texts[] = {std::string(ui.tr(name)), predicted, real};
    r.y0 += cost_line(ui, r, texts, kFactEnds, ui.theme.text);
  }
  void head(std::string_view name, std::string_view second = {}, std::string_view third = {}) {
    r.y0 += ui.px(6);
    const std::string texts[] = {std::string(ui.tr(name)),
                                 second.empty() ? "" : std::string(ui.tr(second)),
                                 third.empty() ? "" : std::string(ui.tr(third))};
    r.y0 += cost_line(ui, r, texts, kFactEnds, ui.theme.muted);
    ImGui::GetWindowDrawList()->AddLine({r.x0, r.y0 - ui.px(3)}, {r.x1, r.y0 - ui.px(3)},
                                        to_u32(ui.theme.line));
  }
  void note(const std::string& words) {
    r.y0 += ui.wrapped(ui.fonts.note, r.min(), r.width(), ui.theme.muted, words) + ui.px(4);
  }
};

void run_facts(const AppState& state, Facts& f) {
  const Derived& d = state.derived;
  const ModelCost& m = *d.cost;
  const bool shown = is_cost_of_shown(state);
  const TraceMemory real = shown ? d.trace->memory() : TraceMemory{};
  const auto measured = [&](double bytes) { return shown ? bytes_text(bytes) : std::string(); };
  f.head("cost.run", "cost.predicted", shown ? "cost.real" : "");
  f.line("cost.parameters", bytes_text(m.run.parameter_bytes()), measured(real.parameters));
  f.line("cost.activations", bytes_text(m.run.arena_bytes()), measured(real.arena));
  f.line("cost.memory", bytes_text(m.run.run_bytes()), measured(real.run()));
  const std::optional<double> ms = predicted_ms(state, m.run);
  const bool timed = shown && d.run_ms > 0 && real.gradients == 0;
  f.line("cost.time",
         ms ? duration_text(f.ui.language, *ms) : std::string(f.ui.tr("cost.measuring")),
         timed ? duration_text(f.ui.language, d.run_ms) : "");
  f.line("cost.products", amount_text(f.ui.language, m.run.multiply_adds));
  const bool drops = shown && !d.trace->keeps_all();
  if (shown && !drops)
    f.note(f.ui.tr("cost.apart", {{"share", apart_text(real.run(), m.run.run_bytes())}}));
  if (drops)
    f.note(f.ui.tr("cost.not_all", {{"kept", bytes_text(real.arena)},
                                    {"shared", bytes_text(real.shared)},
                                    {"again", bytes_text(real.again)}}));
  if (shown && real.gradients > 0)
    f.note(f.ui.tr("cost.with_gradients", {{"bytes", bytes_text(real.gradients)}}));
  if (shown && real.spare > 0.05 * real.run())
    f.note(f.ui.tr("cost.spare", {{"bytes", bytes_text(real.spare)}}));
  const Message refused = memory_refusal(m.config, m.shape, d.free_bytes, kept_by_run(state));
  if (!refused.empty()) {
    f.r.y0 += f.ui.wrapped(f.ui.fonts.note, f.r.min(), f.r.width(), f.ui.theme.error,
                           say(f.ui.language, Message{"notice.problem"}.with(refused))) +
              f.ui.px(4);
  } else {
    f.note(f.ui.tr("cost.free", {{"bytes", bytes_text(d.free_bytes)}}));
  }
  if (m.run.pairs > 0)
    f.note(f.ui.tr(m.shape.source > 0 ? "cost.pairs.source" : "cost.pairs",
                   {{"scores", amount_text(f.ui.language, m.run.scores)},
                    {"kept", amount_text(f.ui.language, m.run.pairs)},
                    {"share", number_text(100 * m.run.pairs / m.run.activations, 3)}}));
  if (m.fused_saving > 0)
    f.note(f.ui.tr(m.config.fused_attention ? "cost.fused.saves" : "cost.fused.would",
                   {{"bytes", bytes_text(m.fused_saving)}}));
}

void training_facts(const AppState& state, Facts& f) {
  const ModelCost& m = *state.derived.cost;
  const TrainingMemory& t = m.memory;
  f.head("cost.training", "cost.at_most");
  f.line("cost.weights", bytes_text(t.weights));
  f.line("cost.gradients", bytes_text(t.gradients));
  f.line("cost.moments", bytes_text(t.moments));
  f.line("cost.kept", bytes_text(t.activations));
  f.note(f.ui.tr("cost.halves",
                 {{"float32", bytes_text(m.kept)}, {"half", bytes_text(m.kept_in_half)}}));
  f.line("cost.saving", bytes_text(t.saving));
  f.line("cost.memory", bytes_text(t.total()));
  const std::optional<double> ms = predicted_ms(state, m.training, true);
  f.line("cost.forward", amount_text(f.ui.language, m.training.multiply_adds));
  f.line("cost.backward", amount_text(f.ui.language, m.training.backward_multiply_adds));
  if (ms) f.line("cost.step_time", duration_text(f.ui.language, *ms));
}

void heads_facts(const AppState& state, Facts& f) {
  const ModelCost& m = *state.derived.cost;
  if (!m.narrow || !m.wide) return;
  f.head("cost.heads", "choice.attention.narrow", "choice.attention.wide");
  const auto line = [&](std::string_view name, auto text) {
    f.line(name, text(*m.narrow), text(*m.wide));
  };
  const auto amount = [&](double number) { return amount_text(f.ui.language, number); };
  line("cost.count", [&](const ProgramCost& c) { return amount(c.parameter_count); });
  line("cost.memory", [&](const ProgramCost& c) { return bytes_text(c.run_bytes()); });
  line("cost.products", [&](const ProgramCost& c) { return amount(c.multiply_adds); });
  f.note(std::string(f.ui.tr("cost.heads.about")));
}

}  // namespace

float cost_sizes(const AppState& state, Ui& ui, const Rect& r) {
  if (!state.derived.trace)
    return r.y0 +
           ui.wrapped(ui.fonts.body, r.min(), r.width(), ui.theme.text, ui.tr("cost.no_run"));
  CostSizes s = shown_sizes(state);
  const bool attends = state.derived.trace->config().attends();
  bool changed = false;
  float y = r.y0;
  const auto row = [&](std::string_view id, std::string_view label, auto& number, double low,
                       double high, bool enabled = true) {
    NumberRow slider{id, low, high};
    slider.integer = slider.logarithmic = true;
    slider.enabled = enabled;
    changed |= number_row(ui, slider, label, number, {r.x0, y, r.x1, y + ui.px(kRow - 4)});
    y += ui.px(kRow);
  };
  const bool source = state.derived.trace->program().shape.source > 0;
  row("cost/tokens", source ? "cost.set.source" : "cost.set.tokens", s.tokens, 1,
      kLargestMaxTokens);
  row("cost/layers", "cost.set.layers", s.layers, 1, kMaxLayers);
  row("cost/heads", "cost.set.heads", s.heads, 1, 128, attends);
  row("cost/d_model", "cost.set.d_model", s.d_model, 1, 16384);
  row("cost/batch", "cost.set.batch", s.batch, 1, static_cast<double>(kMostCostBatch));
  if (changed) ui.push(TryCostSizes{s});
  size_buttons(state, ui, {r.x0, y + ui.px(4), r.x1, r.y1});
  return y + ui.px(34);
}

float cost_facts(const AppState& state, Ui& ui, const Rect& r) {
  const Derived& d = state.derived;
  if (!d.cost_problem.empty())
    return r.y0 + ui.wrapped(ui.fonts.body, r.min(), r.width(), ui.theme.error,
                             say(ui.language, Message{"notice.problem"}.with(d.cost_problem)));
  if (!d.cost) return r.y0;
  Facts f{ui, r};
  const ModelCost& m = *d.cost;
  f.note(ui.tr("cost.sizes_now", {{"d_model", count_text(m.config.d_model)},
                                  {"d_head", count_text(m.config.head_width())},
                                  {"hidden", count_text(m.config.hidden_width())},
                                  {"vocab", count_text(m.shape.vocab)}}));
  run_facts(state, f);
  heads_facts(state, f);
  training_facts(state, f);
  f.note(std::string(ui.tr("cost.how_time")));
  return f.r.y0;
}

}  // namespace headlight
