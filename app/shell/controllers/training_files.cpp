// What goes into a run and what stays of it: files that are dropped on the panel, models that are
// kept, by hand or at the end of the window.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "app/shell/controllers/training_controller.h"
#include "app/shell/dropped_file.h"
#include "app/shell/runs/saved_runs.h"
#include "core/base/error.h"
#include "core/io/plain_file.h"
#include "core/model/checkpoint.h"
#include "core/model/folders/folder.h"
#include "core/text/pieces/piece_tokenizer.h"
#include "core/train/fine_tuning.h"
#include "core/train/model_recipe.h"

namespace headlight {
namespace {

// Who learns hidden tokens begins with a model that fills holes.
void check_base(const RunPlan& plan, const std::string& ref, bool fills) {
  const bool masked = plan.text_options.masked > 0 && !plan.text_options.next_sentence;
  if (plan.data != OwnData::kText || !masked || fills) return;
  const bool bundled = ref.starts_with(kBundledRef);
  throw UsageError(Message{"train.base.not_masked",
                           {{"name", bundled ? ref.substr(kBundledRef.size())
                                             : std::filesystem::path(ref).filename().string()}}});
}

// Of another program's folder: what is learned is a text, so something has to cut it, and nothing
// can be added to that.
std::shared_ptr<const Vocabulary> checked_tokens(const RunPlan& plan, const std::string& folder) {
  Model model;
  model.name = std::filesystem::path(folder).filename().string();
  if (!PieceTokenizer::is_in(folder))
    throw UsageError(Message{"train.base.ids_alone", {{"name", model.name}}});
  model.vocabulary = std::make_shared<const Vocabulary>(
      Vocabulary::of_pieces(std::make_shared<const PieceTokenizer>(PieceTokenizer::open(folder))));
  return vocabulary_on(model, plan.data, plan.text_options);
}

// Of a folder that was kept here; null where it has learned rows of ids.
std::shared_ptr<const Vocabulary> own_tokens(const std::filesystem::path& folder) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28;
  const std::string text = PlainFile(folder / "tokenizer.json", kMostBytes).all();
  if (text == kNoTokenizer) return nullptr;
  return std::make_shared<const Vocabulary>(Vocabulary::from_json(text));
}

}  // namespace

void TrainingController::on(const AskKeep& a) {
  const RunView& run = data_.run;
  const bool earlier = a.run != 0 && a.run != run.status.run;
  std::string name = "model-" + (run.task ? run.task->id() : "");
  for (const auto& other : data_.earlier) {
    if (!earlier || other->status.run != a.run || other->snapshots.empty()) continue;
    name = "model-" + other->snapshots.back()->model->file.task + "-" + std::to_string(a.run);
  }
  session_.keep = earlier ? a.run : 0;
  leave_after_keep_ = false;
  perform(AskPath{Sheet::kTrainFolder, name});
}

void TrainingController::on(const KeepRun& a) {
  if (trainer_) trainer_->save(a.folder, a.run);
}

void TrainingController::tell_save(const SaveReport& save) {
  const bool leave = std::exchange(leave_after_keep_, false);
  if (!save.problem.empty())
    return notify(NoticeKind::kError, Message{"train.not_saved"}.with(save.problem), {},
                  NoticeLife::kOutlives);
  if (autosave_) autosave_->discard(save.run, save.step);  // it is safe where it was kept
  notify(NoticeKind::kInfo,
         Message{"train.saved", {{"path", save.folder}, {"step", std::to_string(save.step)}}}, {},
         NoticeLife::kOutlives);
  perform(RememberModel{save.folder});
  if (leave) on(LeaveWindow{});
}

// Own data are not kept with a run: where they are is asked for, and then it goes on.
void TrainingController::on(const ResumeRun& a) {
  try {
    const RunPlan plan = resume_plan(a.folder);
    make_trainer();  // the usual first run is not made
    perform(ShowMode{Mode::kTrain});
    session_.plan = plan;
    session_.changed = true;
    if (plan.settings.task.empty()) return on(AskText{});
    start({}, true);
  } catch (const Error& error) {
    notify(NoticeKind::kError, error.message());
  }
}

void TrainingController::on(const AskText&) {
  perform(AskPath{Sheet::kTrainText, session_.plan.text.path.string()});
}

void TrainingController::on(const UseText& a) {
  RunPlan plan = session_.plan;
  if (!plan.settings.task.empty()) plan = default_plan("");
  if (a.data && *a.data != plan.data) plan = with_data(std::move(plan), *a.data);
  plan.text = {a.path, {}};
  on(PlanRun{plan});
  if (plan.from.empty()) return;
  session_.plan.from = plan.from;
  start({}, true);
}

// Of a bundled model its recipe says the form; of a folder its config.json, a page of text.
void TrainingController::on(const StartFrom& a) {
  const RunPlan& plan = session_.plan;
  if (a.ref.empty()) return on(PlanRun{untuned_plan(plan)});
  try {
    if (a.ref.starts_with(kBundledRef)) {
      const ModelRecipe& recipe = bundled_recipe(a.ref.substr(kBundledRef.size()));
      check_base(plan, a.ref, false);
      return on(PlanRun{tuning_plan(plan, a.ref, recipe.config, learned_context(recipe))});
    }
    const ModelFile file = model_file_of(a.ref);
    check_base(plan, a.ref, file.kind == "masked");
    (void)tuning_plan(plan, a.ref, file.config, file.context);  // says first what does not fit
    const auto tokens = is_foreign_folder(a.ref) ? checked_tokens(plan, a.ref) : own_tokens(a.ref);
    on(PlanRun{tuning_plan(plan, a.ref, file.config, file.context, tokens.get())});
  } catch (const Error& error) {
    notify(NoticeKind::kError, error.message());
  }
}

// What is dropped on the panel is to be learned from: a table as one, anything else as the panel
// says, at first as running text.
void TrainingController::on(const DropText& a) {
  const std::string& path = a.path;
  const auto say = [&](NoticeKind kind, std::string_view id) {
    notify(kind,
           Message{std::string(id), {{"file", std::filesystem::path(path).filename().string()}}},
           {}, NoticeLife::kOutlives);
  };
  const DroppedFile dropped = look_at_dropped(path);
  if (dropped.kind == DroppedFile::Kind::kSession) return perform(OpenFile{path});
  if (dropped.kind == DroppedFile::Kind::kNothing) return say(NoticeKind::kError, dropped.problem);
  const RunPlan& plan = session_.plan;
  const bool table = path.ends_with(".csv") || path.ends_with(".tsv");
  const OwnData data = plan.settings.task.empty() ? plan.data : OwnData::kText;
  on(UseText{path, table && data == OwnData::kText ? OwnData::kLabels : data});
  const OwnData taken = session_.plan.data;
  say(NoticeKind::kInfo, taken == OwnData::kLabels  ? "drop.is_labels"
                         : taken == OwnData::kPairs ? "drop.is_pairs"
                                                    : "drop.is_text");
}

RunFolder TrainingController::safe_folder() {
  if (!trainer_ || !autosave_) return {};
  const std::uint64_t run = data_.run.status.run;
  std::string folder = autosave_->folder_of(run);
  if (!folder.empty()) return {std::move(folder), false};
  // Kept by hand, it lies there alone.
  const SaveReport& save = data_.run.status.save;
  if (save.count > 0 && save.run == run && save.problem.empty()) {
    std::error_code error;
    const auto kept = std::filesystem::absolute(save.folder, error);
    if (!error) return {kept.lexically_normal().string(), false};
  }
  if (std::exchange(asked_safe_, run) != run) trainer_->keep_now();
  return {"", !autosave_->failed(run)};
}

// ---- the end of the window ----

// What has been learned is on the disk first; nothing waits for that but the end.
void TrainingController::on(const LeaveWindow&) {
  if (!trainer_) return perform(EndWindow{});
  leaving_ = true;
  trainer_->cancel();
  trainer_->pause();
  trainer_->keep_all();
}

void TrainingController::finish_leaving() {
  if (!leaving_ || trainer_->busy() || (autosave_ && autosave_->busy())) return;
  leaving_ = false;
  const TrainStatus& now = data_.run.status;
  const bool kept = now.save.run == now.run && now.save.step == now.step;
  Question q;
  q.asking = Asking::kNotKept;
  if (autosave_) {
    q.problem = autosave_->unsafe().problem;
    autosave_->take_problem();
  } else if (now.step > 0 && !kept) {
    q.problem = Message{"train.no_home"};
  }
  if (q.problem.empty()) return perform(EndWindow{});
  perform(Ask{q});
}

// Another folder, quit, stay.
void TrainingController::on(const AnswerNotKept& a) {
  if (a.answer == Answer::kSecond) return perform(EndWindow{});
  if (a.answer == Answer::kCancel) return;
  on(AskKeep{autosave_ ? autosave_->unsafe().run : 0});
  leave_after_keep_ = true;
}

void TrainingController::keep_now() {
  if (!trainer_ || !autosave_) return;
  trainer_->cancel();
  trainer_->pause();
  trainer_->wait();
  update_run();
  autosave_->wait();
}

// At the end of the window: what has been learned and not kept by hand.
std::vector<std::string> TrainingController::keep_at_end() {
  if (!trainer_ || !autosave_) return {};
  keep_now();
  std::vector<std::string> folders = autosave_->leave();
  for (const std::string& folder : folders)
    std::fprintf(stderr, "headlight: the training run was saved in %s\n", folder.c_str());
  const Message problem = autosave_->take_problem();
  if (!problem.empty())
    std::fprintf(stderr, "headlight: the training run could not be saved: %s\n",
                 say(Language::kEnglish, problem).c_str());
  return folders;
}

// What the last windows have left, one notice for all of it.
void TrainingController::tell_left_runs(std::vector<std::string> folders,
                                        std::vector<std::string> needed) {
  std::erase_if(folders, [](const std::string& folder) {
    return folder.empty() || !is_there(std::filesystem::path(folder) / "config.json");
  });
  if (!options_.folders.runs.empty()) {
    for (std::string& folder : find_left_runs(options_.folders.runs)) {
      if (std::find(folders.begin(), folders.end(), folder) == folders.end())
        folders.push_back(std::move(folder));
    }
    needed.insert(needed.end(), folders.begin(), folders.end());
    remove_old_runs(options_.folders.runs, needed);
  }
  if (folders.empty()) return;
  const bool single = folders.size() == 1;
  std::vector<WayOn> ways = {{"runs", Message{"way.runs"}, DoCommand{kRuns}}};
  if (single)
    ways = {{"open", Message{"way.open_run"}, ChooseModel{folders[0]}},
            {"resume", Message{"way.resume_run"}, ResumeRun{folders[0]}}};
  notify(NoticeKind::kInfo,
         Message{single ? "train.kept_at_end" : "train.kept_several",
                 {{"n", std::to_string(folders.size())},
                  {"path", single ? folders[0] : options_.folders.runs},
                  {"most", std::to_string(kMaxLeftRuns)},
                  {"size", bytes_text(double(kMaxLeftBytes))}}},
         std::move(ways), NoticeLife::kOutlives);
}

}  // namespace headlight
