#include "app/shell/exports/export_controller.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "app/shell/exports/lab_file.h"
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

ExportController::ExportController(const Shared& shared, DialogSession& session,
                                   const ShellOptions& options)
    : Controller(shared), session_(session), options_(options) {}

void ExportController::ask_lab(bool picture) {
  perform(AskPath{Sheet::kSaveLab, state_.labs.lab + (picture ? ".png" : ".csv")});
}

// Of what is shown now, whatever is shown when the file is written.
void ExportController::write_lab(const std::string& path) {
  const LabsData& labs = state_.labs;
  if (!labs.result || writing_.valid()) return;
  const Language language = state_.session.language;
  const Lab& lab = find_lab(labs.lab);
  if (!path.ends_with(".png"))
    return begin(path, [path, &lab, result = labs.result, language] {
      write_lab_file(path, lab, *result, language);
    });
  Document document = state_.document();
  document.labs.lab = labs.lab;
  begin(path, [path, document = std::move(document), language, program = options_.program,
               dark = state_.session.dark] { print_lab(program, path, document, language, dark); });
}

void ExportController::begin(const std::string& path, std::function<void()> write) {
  const auto work = [write = std::move(write)] {
    try {
      write();
      return Message{};
    } catch (const Error& error) {
      return error.message();
    }
  };
  path_ = path;
  if (!options_.background) return tell(work());
  writing_ = std::async(std::launch::async, work);
}

// The name says what it is: "blocks.0.attn.pattern-head-1.csv".
void ExportController::on(const AskExport& a) {
  if (state_.session.mode == Mode::kLabs) return ask_lab(a.picture);
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
  if (state_.session.mode == Mode::kLabs) return write_lab(a.path);
  const std::optional<PagePane> pane = pane_of(state_, session_.export_tensor);
  if (!pane || writing_.valid()) return;
  const Theme theme = Theme::make(state_.session.dark);
  begin(a.path, [path = a.path, trace = state_.derived.trace, pane = *pane,
                 scale = colors_of(theme, state_.session.range, *state_.derived.trace, *pane).scale,
                 line = theme.line] {
    write_file_atomic(path, matrix_file(path, *trace, pane, scale, line));
  });
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
