#include "app/shell/controllers/inspector_controller.h"

#include "app/gl/compute/kernel_view.h"
#include "app/shell/controllers/steps_controller.h"
#include "app/ui/frame/panels.h"
#include "core/explain/arithmetic.h"
#include "core/explain/origin.h"

namespace headlight {
namespace {

// Two runs of a model with less than this end within a frame.
constexpr double kNudgeAtOnceCells = 64 * 64 * 4;

}  // namespace

InspectorController::InspectorController(const Shared& shared, const ShellOptions& options,
                                         TraceWorker& worker, InspectorSession& session,
                                         InspectorDerived& derived)
    : Controller(shared),
      options_(options),
      worker_(worker),
      session_(session),
      derived_(derived) {}

bool InspectorController::poll() {
  const std::optional<FinishedNudge> nudged = worker_.poll_nudge();
  if (nudged) take_nudge(*nudged);
  return nudged.has_value();
}

void InspectorController::open(InspectorTab tab) {
  session_.inspector_tab = tab;
  perform(OpenInspector{});
}

void InspectorController::on(Is<kKernel>) {
  open(InspectorTab::kCode);
  session_.kernel = true;
}

void InspectorController::on(const CopyText& a) {
  if (a.text.empty()) return;
  copied_ = a.text;
  session_.copied_by = a.button;
  if (state_.session.inspector_open.value_or(state_.session.inspector_shown)) return;
  notify(NoticeKind::kInfo,
         Message::of(std::string(tr(state_.session.language, "inspector.copied"))));
}

template <class Make>
void InspectorController::copy(Make make, std::string_view button) {
  const Derived& d = state_.derived;
  // Within one frame the trace may have changed since the cell was explained.
  const bool current = d.trace && d.inspected && d.inspected->serial == d.trace->serial();
  if (current) on(CopyText{make(*d.trace, d.inspected->explanation), std::string(button)});
}

void InspectorController::on(Is<kCopyText>) { copy(explanation_as_text, "copy/text"); }
void InspectorController::on(Is<kCopyLatex>) { copy(explanation_as_latex, "copy/latex"); }
void InspectorController::on(Is<kCopyTable>) { copy(explanation_as_table, "copy/table"); }

void InspectorController::update() {
  const Derived& d = state_.derived;
  const Session& s = state_.session;
  if (!d.trace || !s.picked || !has_cell(*d.trace, *s.picked)) {
    derived_.inspected.reset();
    return;
  }
  const bool code = s.inspector_tab == InspectorTab::kCode;
  const Inspected* old = derived_.inspected.get();
  const bool same_trace = old && old->serial == d.trace->serial();
  const bool same_cell = same_trace && old->cell == *s.picked;
  const bool same_code = !code || (same_trace && old->step == s.step && old->library == s.library);
  const bool wants_kernel = code && s.kernel;
  const bool same_kernel = !wants_kernel || (same_cell && old->kernel);
  if (same_cell && same_code && same_kernel) return;
  session_.copied_by.clear();
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
  derived_.inspected = std::move(now);
}

// Of the device that is at hand, else of one as most are: the shader can be read without it.
KernelView InspectorController::kernel_of(const CellPick& cell) const {
  const Trace& trace = *state_.derived.trace;
  const GpuState& gpu = state_.derived.gpu;
  const auto cells = [&](TensorId id) { return trace.tensor(id).cells(); };
  return locate_cell(trace.program(), trace.program().find(cell.tensor), cell.index,
                     gpu.kernels ? *gpu.kernels : KernelDevice::usual(), cells);
}

void InspectorController::on(const NudgeCell& a) {
  const Derived& d = state_.derived;
  const auto& picked = state_.session.picked;
  if (!d.trace || !picked || d.nudging || !has_cell(*d.trace, *picked)) return;
  const Program& program = d.trace->program();
  const TensorId gradient = program.find(picked->tensor);
  if (!program.is_gradient(gradient)) return;
  const NudgeRequest wanted{d.trace, gradient, picked->index, a.step};
  const auto cells = static_cast<double>(d.trace->length()) * program.config.d_model;
  if (!options_.background || cells * program.config.layers <= kNudgeAtOnceCells) {
    if (const auto done = worker_.nudge_now(wanted)) return take_nudge(*done);
  }
  worker_.request_nudge(wanted);
  derived_.nudging = true;
}

void InspectorController::take_nudge(const FinishedNudge& done) {
  derived_.nudging = false;
  if (!done.problem.empty()) return notify(NoticeKind::kError, done.problem);
  const NudgeRequest& of = done.request;
  const TensorView gradient = of.trace->tensor(of.gradient);
  derived_.nudged = Nudged{of.trace->serial(),
                           {std::string(gradient.name), of.index},
                           done.nudge,
                           static_cast<double>(gradient.at(of.index))};
}

}  // namespace headlight
