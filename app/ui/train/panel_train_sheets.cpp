// The sheets of training: where the data to learn from are, where a model is to be kept.
#include <algorithm>

#include "app/ui/frame/panels.h"
#include "app/ui/train/panel_train.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

// "Keep the model in which folder?", or which of the earlier runs.
std::string folder_title(const AppState& state, const Ui& ui) {
  const std::uint64_t run = state.session.train.keep;
  for (const auto& earlier : state.train.earlier) {
    if (earlier->status.run != run) continue;
    return ui.tr("train.keep_earlier",
                 {{"n", std::to_string(run)}, {"step", count_text(earlier->status.step)}});
  }
  return std::string(ui.tr("train.keep_where"));
}

std::string_view data_title(const AppState& state, const Ui& ui) {
  const OwnData data = state.session.train.plan.data;
  return ui.tr(data == OwnData::kLabels  ? "train.labels_which"
               : data == OwnData::kPairs ? "train.pairs_which"
                                         : "train.text_which");
}

// Under the path: what the file should look like.
void data_hint(const AppState& state, Ui& ui, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::string id = "train.data.about." + std::string(word(state.session.train.plan.data));
  ui.wrapped(ui.fonts.note, {at.x, at.y + ui.px(8)}, width, ui.theme.muted, ui.tr(id));
}

float data_hint_height(const AppState& state, const Ui& ui, float width) {
  const std::string id = "train.data.about." + std::string(word(state.session.train.plan.data));
  return ui.wrapped_height(ui.fonts.note, width, ui.tr(id));
}

}  // namespace

void sheets_train(const AppState& state, Ui& ui, float width, float height) {
  const TrainSession& session = state.session.train;
  const float inside = std::min(ui.px(480), width * 0.9f - ui.px(30));
  const auto sheet = [&](const char* id, Sheet which, std::string_view title,
                         std::string_view button, float tall, auto done, auto below) {
    const bool wanted = state.requests.open == which;
    if (!wanted && !ImGui::IsPopupOpen(id)) return;
    if (!begin_sheet(ui, id, wanted, width, height, {inside + ui.px(30), ui.px(tall)})) return;
    if (const auto path = path_sheet(state, ui, {title, {}, ui.tr(button), inside})) {
      done(*path);
      ImGui::CloseCurrentPopup();
    }
    below();
    const ImVec2 at = ImGui::GetWindowPos(), drawn = ImGui::GetWindowSize();
    ui.drawn.add(std::string("panel/") + id, at, {at.x + drawn.x, at.y + drawn.y});
    ImGui::EndPopup();
  };
  sheet(
      "train_folder", Sheet::kTrainFolder, folder_title(state, ui), "files.save", 140,
      [&](const std::string& path) {
        ui.push(KeepRun{path, session.keep});
      },
      [] {});
  sheet(
      "train_text", Sheet::kTrainText, data_title(state, ui), "files.open",
      146 + data_hint_height(state, ui, inside) / ui.scale,
      [&](const std::string& path) {
        ui.push(UseText{path, {}});
      },
      [&] { data_hint(state, ui, inside); });
}

}  // namespace headlight
