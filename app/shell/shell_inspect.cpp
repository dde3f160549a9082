// The shell's part for the inspector.
#include <algorithm>

#include "app/shell/shell.h"
#include "app/ui/frame/panels.h"
#include "core/base/utf8.h"
#include "core/explain/arithmetic.h"
#include "core/explain/origin.h"

namespace headlight {
namespace {

// Two runs of a model with less than this end within a frame.
constexpr double kNudgeAtOnceCells = 64 * 64 * 4;

bool fits(const Trace& trace, const CellPick& cell) {
  const TensorView t = trace.find(cell.tensor);
  bool fits = t.data && cell.index.size() == t.axes.size();
  for (std::size_t a = 0; fits && a < t.axes.size(); ++a) {
    fits = cell.index[a] >= 0 && cell.index[a] < t.axes[a].size;
  }
  return fits;
}

}  // namespace

void Shell::on(const PickCell& a) {
  Session& s = state_.session;
  // A term of the cell, or what comes of it, lengthens the trail; a cell picked elsewhere starts
  // a new one.
  if (a.follow && s.picked && !(*s.picked == a.cell)) {
    s.trail.push_back(*s.picked);
  } else if (!a.follow) {
    s.trail.clear();
  }
  if (a.follow) go_to(a.cell.tensor);
  s.picked = trail_end_ = a.cell;
  s.all_terms = false;
  const TensorId id =
      state_.derived.trace ? state_.derived.trace->program().find(a.cell.tensor) : -1;
  if (id < 0) return;
  const int head_axis = state_.derived.trace->tensor(id).find_dim("head");
  if (head_axis < 0) return;
  s.head = static_cast<int>(a.cell.index[static_cast<std::size_t>(head_axis)]);
  update_difference();
}

void Shell::on(const ChooseTab& a) { state_.session.inspector_tab = a.tab; }

void Shell::go_back_to(std::size_t crumb) {
  Session& s = state_.session;
  if (crumb >= s.trail.size()) return;
  const CellPick cell = s.trail[crumb];
  std::vector<CellPick> before(s.trail.begin(),
                               s.trail.begin() + static_cast<std::ptrdiff_t>(crumb));
  if (!state_.derived.trace || !fits(*state_.derived.trace, cell)) {
    s.trail = std::move(before);  // the model has changed since: that cell is no more
    return;
  }
  on(PickCell{cell, true});
  s.trail = std::move(before);
}

void Shell::on(const GoBackTo& a) { go_back_to(a.crumb); }

void Shell::on(const CopyText& a) {
  if (a.text.empty()) return;
  state_.session.copied = a.text;
  state_.session.copied_by = a.button;
  if (state_.session.inspector_open.value_or(state_.session.inspector_shown)) return;
  notify(NoticeKind::kInfo, std::string(tr(state_.session.language, "inspector.copied")));
}

void Shell::on(const ShowAllTerms& a) { state_.session.all_terms = a.all; }
void Shell::on(const ChooseLibrary& a) { state_.session.library = a.library; }

bool Shell::perform_inspect(Command command) {
  Session& s = state_.session;
  const auto open = [&](InspectorTab tab) {
    s.inspector_tab = tab;
    s.inspector_open = true;
    return true;
  };
  const auto copy = [&](auto make, std::string_view button) {
    const Derived& d = state_.derived;
    // Within one frame the trace may have changed since the cell was explained.
    const bool current = d.trace && d.inspected && d.inspected->serial == d.trace->serial();
    if (current) {
      on(CopyText{make(*d.trace, d.inspected->explanation), std::string(button)});
    }
    return true;
  };
  switch (command) {
    case Command::kTabNumbers:
      return open(InspectorTab::kNumbers);
    case Command::kTabCode:
      return open(InspectorTab::kCode);
    case Command::kTabWords:
      return open(InspectorTab::kWords);
    case Command::kBack:
      if (!s.trail.empty()) go_back_to(s.trail.size() - 1);
      return true;
    case Command::kCopyText:
      return copy(explanation_as_text, "copy/text");
    case Command::kCopyLatex:
      return copy(explanation_as_latex, "copy/latex");
    case Command::kCopyTable:
      return copy(explanation_as_table, "copy/table");
    default:
      return false;
  }
}

void Shell::update_inspected() {
  Derived& d = state_.derived;
  Session& s = state_.session;
  // Another step or head leaves the way that was gone.
  if (s.picked != trail_end_) s.trail.clear();
  if (!d.trace || !s.picked || !fits(*d.trace, *s.picked)) {
    d.inspected.reset();
    return;
  }
  const bool code = s.inspector_tab == InspectorTab::kCode;
  const Inspected* old = d.inspected.get();
  const bool same_trace = old && old->serial == d.trace->serial();
  const bool same_cell = same_trace && old->cell == *s.picked;
  const bool same_code = !code || (same_trace && old->step == s.step && old->library == s.library);
  const bool wants_kernel = code && s.kernel;
  const bool same_kernel = !wants_kernel || (same_cell && old->kernel);
  if (same_cell && same_code && same_kernel) return;
  if (!same_trace) std::erase_if(s.trail, [&](const CellPick& c) { return !fits(*d.trace, c); });
  s.copied_by.clear();
  auto now = std::make_shared<Inspected>(old ? *old : Inspected{});
  if (!same_cell) {
    now->serial = d.trace->serial();
    now->cell = *s.picked;
    const CellRef cell{d.trace->program().find(s.picked->tensor), s.picked->index};
    now->explanation = explain(*d.trace, cell.tensor, cell.index);
    now->special_from = special_origin(*d.trace, cell);
    now->kernel.reset();
  }
  if (wants_kernel && !now->kernel) now->kernel = kernel_of(*s.picked);
  if (code) {
    now->step = s.step;
    now->library = s.library;
    const Step* step = current_step(state_);
    now->code = step ? step_code(*d.trace, *step, s.library) : StepCode{};
  } else if (!same_trace) {
    now->step.clear();  // made anew when it is looked at
  }
  d.inspected = std::move(now);
}

void Shell::on(const NudgeCell& a) {
  Derived& d = state_.derived;
  const auto& picked = state_.session.picked;
  if (!d.trace || !picked || d.nudging || !fits(*d.trace, *picked)) return;
  const Program& program = d.trace->program();
  const TensorId gradient = program.find(picked->tensor);
  if (!program.is_gradient(gradient)) return;
  const NudgeRequest wanted{d.trace, gradient, picked->index, a.step};
  const auto cells = static_cast<double>(d.trace->length()) * program.config.d_model;
  if (!options_.background || cells * program.config.layers <= kNudgeAtOnceCells) {
    if (const auto done = worker_.nudge_now(wanted)) return take_nudge(*done);
  }
  worker_.request_nudge(wanted);
  d.nudging = true;
}

void Shell::take_nudge(const FinishedNudge& done) {
  Derived& d = state_.derived;
  d.nudging = false;
  if (!done.problem.empty()) return notify(NoticeKind::kError, done.problem);
  const NudgeRequest& of = done.request;
  const TensorView gradient = of.trace->tensor(of.gradient);
  d.nudged = Nudged{of.trace->serial(),
                    {std::string(gradient.name), of.index},
                    done.nudge,
                    static_cast<double>(gradient.at(of.index))};
}

void Shell::on(const LightTensor& a) { state_.session.lit_tensor = a.tensor; }

}  // namespace headlight
