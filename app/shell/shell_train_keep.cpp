// The shell's part for what goes into a run and what stays of it: files that are dropped on the
// panel, samples, models that are kept, by hand or at the end of the window.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "app/shell/dropped_file.h"
#include "app/shell/shell.h"

namespace headlight {

void Shell::on(const AskKeep& a) {
  const RunView& run = state_.train.run;
  const bool earlier = a.run != 0 && a.run != run.status.run;
  std::string name = "model-" + (run.task ? run.task->id() : "");
  for (const auto& other : state_.train.earlier) {
    if (!earlier || other->status.run != a.run || other->snapshots.empty()) continue;
    name = "model-" + other->snapshots.back()->model->file.task + "-" + std::to_string(a.run);
  }
  state_.session.path_typed = name;
  state_.session.train.keep = earlier ? a.run : 0;
  state_.session.train.ask_folder = true;
}

void Shell::on(const KeepRun& a) {
  if (trainer_) trainer_->save(a.folder, a.run);
}

void Shell::tell_save(const SaveReport& save) {
  if (!save.problem.empty())
    return notify(NoticeKind::kError, Message{"train.not_saved"}.with(save.problem));
  if (run_autosave_) run_autosave_->discard(save.run, save.step);  // it is safe where it was kept
  notify(NoticeKind::kInfo,
         Message{"train.saved", {{"path", save.folder}, {"step", std::to_string(save.step)}}});
}

// What is dropped on the panel is to be learned from: a table as one, anything else as the panel
// says, at first as running text.
void Shell::drop_text(const std::string& path) {
  const auto say = [&](NoticeKind kind, std::string_view id) {
    notify(kind,
           Message{std::string(id), {{"file", std::filesystem::path(path).filename().string()}}});
  };
  const DroppedFile dropped = look_at_dropped(path);
  if (dropped.kind == DroppedFile::Kind::kSession) return on(OpenFile{path});
  if (dropped.kind == DroppedFile::Kind::kNothing) return say(NoticeKind::kError, dropped.problem);
  const RunPlan& plan = state_.session.train.plan;
  const bool table = path.ends_with(".csv") || path.ends_with(".tsv");
  const OwnData data = plan.recipe.task.empty() ? plan.data : OwnData::kText;
  on(UseText{path, table && data == OwnData::kText ? OwnData::kLabels : data});
  const OwnData taken = state_.session.train.plan.data;
  say(NoticeKind::kInfo, taken == OwnData::kLabels  ? "drop.is_labels"
                         : taken == OwnData::kPairs ? "drop.is_pairs"
                                                    : "drop.is_text");
}

// At the end of the window: what has been learned and not kept by hand.
void Shell::keep_run() {
  if (!trainer_ || !run_autosave_) return;
  trainer_->cancel();
  trainer_->pause();
  trainer_->wait();
  poll_train();
  for (const std::string& folder : run_autosave_->leave()) {
    kept_runs_.push_back(folder);
    std::fprintf(stderr, "headlight: the training run was saved in %s\n", folder.c_str());
  }
  const Message problem = run_autosave_->take_problem();
  if (problem.empty()) return;
  std::fprintf(stderr, "headlight: the training run could not be saved: %s\n",
               say(Language::kEnglish, problem).c_str());
}

// What the last windows have left, one notice for all of it.
void Shell::tell_left_runs(std::vector<std::string> folders) {
  if (!options_.folders.runs.empty()) {
    for (std::string& folder : find_left_runs(options_.folders.runs)) {
      if (std::find(folders.begin(), folders.end(), folder) == folders.end())
        folders.push_back(std::move(folder));
    }
    remove_old_runs(options_.folders.runs, folders);
  }
  if (folders.empty()) return;
  const bool single = folders.size() == 1;
  notify(NoticeKind::kInfo, Message{single ? "train.kept_at_end" : "train.kept_several",
                                    {{"n", std::to_string(folders.size())},
                                     {"path", single ? folders[0] : options_.folders.runs},
                                     {"most", std::to_string(kMaxLeftRuns)},
                                     {"size", bytes_text(double(kMaxLeftBytes))}}});
}

// Running text is gone on with by the weights of the shown step, as of the nearest snapshot.
void Shell::update_sample() {
  const RunView& run = state_.train.run;
  const TrainSession& train = state_.session.train;
  const bool text = train.open && run.task && run.plan->recipe.task.empty() &&
                    run.task->kind() == TaskKind::kNextToken && !run.examples.empty();
  const auto snapshot = text ? nearest_snapshot(run.snapshots, shown_step(train, run)) : nullptr;
  if (!snapshot) {
    if (!run.task) state_.train.sample = {};
    return;
  }
  SampleRequest request{snapshot->model, snapshot->step,     "", "",
                        train.sampling,  train.sampling_seed};
  if (state_.document().model == kRunRef) request.sentence = state_.document().sentence;
  const std::vector<int>& ids = run.examples[0].tokens;
  request.start =
      run.task->vocabulary().decode(std::span(ids).first(std::max<std::size_t>(ids.size() / 4, 1)));
  if (request == sample_request_) return;
  sample_request_ = request;
  if (!sampler_) sampler_ = std::make_unique<SampleWorker>(options_.background);
  sampler_->request(std::move(request), run.status.phase != TrainPhase::kRunning);
  if (auto done = options_.background ? std::nullopt : sampler_->poll())
    state_.train.sample = std::move(*done);
}

}  // namespace headlight
