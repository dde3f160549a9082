// The sheets of training: where the data to learn from are, where a model is to be kept.
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

}  // namespace

std::string train_path_title(const AppState& state, const Ui& ui) {
  const bool keeps = state.session.path_sheet == Sheet::kTrainFolder;
  return keeps ? folder_title(state, ui) : std::string(data_title(state, ui));
}

std::string train_path_hint(const AppState& state, const Ui& ui) {
  if (state.session.path_sheet != Sheet::kTrainText) return {};
  return std::string(ui.tr("train.data.about." + std::string(word(state.session.train.plan.data))));
}

}  // namespace headlight
