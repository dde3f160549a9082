#include "app/shell/exports/export_controller.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "app/shell/exports/matrix_file.h"
#include "app/ui/experts/stage_experts.h"
#include "app/ui/frame/panels.h"
#include "app/ui/kit/theme.h"
#include "app/ui/matrix/pane_view.h"
#include "core/base/error.h"
#include "core/io/atomic_file.h"

namespace headlight {
namespace {

// The matrix of this tensor on the shown page, else the page's result; none on the tokens' page.
std::optional<PagePane> pane_of(const AppState& state, const std::string& tensor) {
  const Step* step = current_step(state);
  if (!step) return std::nullopt;
  const Trace& trace = *state.derived.trace;
  const StepPage page = step_page(trace, *step, shown_part(state));
  if (page.lines.empty()) return std::nullopt;
  const TensorId id = tensor.empty() ? -1 : trace.program().find(tensor);
  for (const auto& line : page.lines) {
    for (const PagePane& pane : line) {
      if (id >= 0 && pane.tensor == id) return pane;
    }
  }
  return page.lines[0].back();
}

}  // namespace

ExportController::ExportController(const Shared& shared, DialogSession& session, bool background)
    : Controller(shared), session_(session), background_(background) {}

// The name says what it is: "blocks.0.attn.pattern-head-1.csv".
void ExportController::on(const AskExport& a) {
  const std::optional<PagePane> pane = pane_of(state_, a.tensor);
  if (!pane) return notify(NoticeKind::kInfo, Message{"export.no_matrix"});
  const Trace& trace = *state_.derived.trace;
  session_.export_tensor = trace.program().tensors[static_cast<std::size_t>(pane->tensor)].name;
  std::string name = session_.export_tensor;
  const TensorView tensor = trace.tensor(pane->tensor);
  const bool part = pane->pane.rows * pane->pane.columns < tensor.size();
  if (part && tensor.find_dim("expert") >= 0)
    name += "-expert-" + std::to_string(shown_part(state_));
  if (part && tensor.find_dim("head") >= 0) name += "-head-" + std::to_string(state_.session.head);
  perform(AskPath{a.picture ? Sheet::kSavePicture : Sheet::kSaveNumbers,
                  name + (a.picture ? ".png" : ".csv")});
}

void ExportController::on(const WriteExport& a) {
  const std::optional<PagePane> pane = pane_of(state_, session_.export_tensor);
  if (!pane || writing_.valid()) return;
  const Theme theme = Theme::make(state_.session.dark);
  const auto write =
      [path = a.path, trace = state_.derived.trace, pane = *pane,
       scale = colors_of(theme, state_.session.range, *state_.derived.trace, *pane).scale,
       line = theme.line] {
        try {
          write_file_atomic(path, matrix_file(path, *trace, pane, scale, line));
          return Message{};
        } catch (const Error& error) {
          return error.message();
        }
      };
  path_ = a.path;
  if (!background_) return tell(write());
  writing_ = std::async(std::launch::async, write);
}

bool ExportController::poll() {
  if (!writing_.valid() || writing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    return false;
  tell(writing_.get());
  return true;
}

void ExportController::tell(const Message& problem) {
  if (!problem.empty())
    return notify(NoticeKind::kError, Message{"export.not_saved"}.with(problem));
  notify(NoticeKind::kInfo, Message{"files.saved", {{"path", path_}}});
}

}  // namespace headlight
