#include "app/shell/shell.h"

#include <algorithm>

#include "app/ui/frame/hints.h"
#include "app/ui/frame/panels.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"

namespace headlight {
namespace {

// Runs that keep less than this are over within a frame.
constexpr double kRunAtOnceBytes = 24e6;
constexpr double kPatience = 0.008;  // seconds of a frame that a run may have

double estimated_bytes(const Document& doc) {
  const double bytes = static_cast<double>(doc.sentence.size());
  const double per_token = doc.tokenizer == TokenizerKind::kWords ? 2.5 : 1.0;
  const double tokens = std::min(static_cast<double>(doc.max_tokens), bytes / per_token);
  const auto count = static_cast<std::int64_t>(tokens);
  return memory_needed(doc.config, {1, count, count}) + bytes * 40;
}

BackendMaker backend_maker(const ShellOptions& o) {
  if (o.make_backend) return o.make_backend;
  return [&o] { return make_backend(o.backend, o.threads); };
}

}  // namespace

Shell::Shell(Document document, ShellOptions options)
    : options_(std::move(options)),
      worker_(options_.limits, backend_maker(options_)),
      make_gpu_(options_.make_gpu),
      writer_(options_.background) {
  state_.history = History(std::move(document));
  read_stored_settings();
  state_.session.compute = options_.compute;
  if (options_.compute == ComputeMode::kGpu) state_.session.compute_request = ComputeRequest::kGpu;
  if (options_.compute == ComputeMode::kBoth)
    state_.session.compute_request = ComputeRequest::kBoth;
  mask_before_causal_.kind = MaskKind::kNone;
  recompute();
}

void Shell::notify(NoticeKind kind, const Message& message) {
  for (const Notice& notice : state_.notices) {
    if (notice.message == message) return;
  }
  state_.notices.push_back({kind, say(state_.session.language, message), message});
  if (state_.notices.size() > 3) state_.notices.erase(state_.notices.begin());
}

void Shell::speak(Language language) {
  state_.session.language = language;
  state_.derived.problem = say(language, state_.derived.message);
  for (Notice& notice : state_.notices) notice.text = say(language, notice.message);
}

void Shell::set_look(bool dark, float scale) {
  state_.session.dark = dark;
  state_.session.scale = std::clamp(scale, 0.75f, 4.0f);
}

bool Shell::key(const Shortcut& shortcut, bool in_field) {
  if (state_.session.question.asking != Asking::kNothing) return question_key(shortcut);
  if (state_.session.palette_open) return palette_key(shortcut);
  if (!in_field && focus_takes(shortcut)) return true;
  const std::optional<Command> command = command_for(shortcut, in_field);
  // The page of the tokens has no matrix to look around in: there these keys move the chip in
  // focus.
  const bool looks_around = command == Command::kViewLeft || command == Command::kViewRight;
  const Step* step = current_step(state_);
  if (looks_around && step && step->tensor == state_.derived.trace->program().token_ids)
    return false;
  if (command && train_takes(*command)) return true;
  if (command && is_enabled(*command, state_)) push(DoCommand{*command});
  return command.has_value();
}

void Shell::apply() {
  drawn_ = {state_.derived.trace, state_.train.newest, state_.train.pinned,
            state_.train.differences};
  std::vector<Action> actions;
  actions.swap(queue_);
  for (const Action& action : actions) {
    perform(action);
    Session& s = state_.session;
    if (does_hint(s.hint, action)) on(ShowHint{s.hint + 1});
  }
  // Until a new run has weights the old one's stay on the screen.
  const std::shared_ptr<const Model> trained = trainer_ ? marked_model() : nullptr;
  if (trained) set_run_model(trained);
  const bool new_weights = state_.document().model == kRunRef && run_model_ != computed_model_;
  const bool other_walk = wants_gradients() != computed_backward_;
  const bool other_mode = state_.session.compute != computed_mode_;
  if (!(state_.document() == computed_) || !has_run_ || new_weights || other_walk || other_mode)
    recompute();
  forget_sizes();
  update_inspected();
  update_sample();
}

void Shell::on(const DoEdit& a) {
  if (const auto* typed = std::get_if<SetSentence>(&a.edit)) {
    const int replaced = clean_utf8(typed->text).replaced;
    if (replaced > 0) {
      notify(NoticeKind::kWarning,
             Message{replaced == 1 ? "notice.not_utf8.one" : "notice.not_utf8",
                     {{"n", std::to_string(replaced)}}});
    }
  }
  // The row of an encoder-decoder is its own answer: there is nothing of the person's to move.
  const bool answers = shown_config(state_).form == ModelForm::kTranslate;
  if (answers && std::holds_alternative<MoveToken>(a.edit)) return;
  const std::optional<Edit> moved = move_in_model(a.edit);
  state_.history.edit(moved ? *moved : a.edit, a.group);
}

void Shell::on(const EndEdit&) { state_.history.end_group(); }

void Shell::on(const CompareHead& a) {
  state_.session.other_head = a.head;
  state_.session.compare = a.head >= 0;
  if (a.head >= 0) state_.session.heads_view = HeadsView::kPictures;
  settle();
}

void Shell::on(const DismissNotice& a) {
  if (a.index >= state_.notices.size()) return;
  state_.notices.erase(state_.notices.begin() + static_cast<std::ptrdiff_t>(a.index));
}

void Shell::on(const ClosePopups&) {
  Session& s = state_.session;
  s.model_open = s.keys_open = s.about_open = false;
  s.ask_path_to_open = s.ask_path_to_save = s.ask_path_to_model = false;
  s.train.ask_folder = s.train.ask_text = false;
  s.palette_open = false;
  s.compute_open = false;
}

void Shell::on(const Folded& a) {
  state_.session.rail_shown = a.rail_shown;
  state_.session.heads_shown = a.heads_shown;
  state_.session.inspector_shown = a.inspector_shown;
}

void Shell::on(const FocusDone&) {
  state_.session.focus_sentence = state_.session.leave_field = false;
}

void Shell::perform(Command command) {
  Session& s = state_.session;
  const Document& doc = state_.document();
  switch (command) {
    case Command::kFocusSentence:
      s.focus_sentence = true;
      s.maximized = PanelId::kNone;  // the sentence has no place beside a whole panel
      return;
    case Command::kNextStep:
      return step_by(1);
    case Command::kPreviousStep:
      return step_by(-1);
    case Command::kToggleCausal: {
      // Off goes back to the mask that was there before.
      MaskSpec mask = doc.config.mask;
      if (mask.kind == MaskKind::kCausal) {
        mask.kind = mask_before_causal_.kind;
        mask.causal = mask_before_causal_.causal;
      } else {
        mask_before_causal_ = mask;
        mask.kind = MaskKind::kCausal;
        mask.causal.reset();
      }
      state_.history.edit(SetMask{mask});
      return;
    }
    case Command::kToggleScale: {
      Config config = doc.config;
      config.scale = !config.scale;
      state_.history.edit(SetConfig{config});
      return;
    }
    case Command::kNextHead:
      return change_head(s.head + 1);
    case Command::kPreviousHead:
      return change_head(s.head - 1);
    case Command::kNextLayer:
      return change_layer(s.layer + 1);
    case Command::kPreviousLayer:
      return change_layer(s.layer - 1);
    case Command::kUndo:
      state_.history.undo();
      ++s.text_revision;
      return;
    case Command::kRedo:
      state_.history.redo();
      ++s.text_revision;
      return;
    case Command::kToggleTheme:
      s.dark = !s.dark;
      return;
    case Command::kToggleCompare:
      s.compare = !s.compare;
      if (s.compare) s.heads_view = HeadsView::kPictures;
      return settle();
    case Command::kToggleModel:
      s.model_open = true;
      return;
    case Command::kLarger:
      return set_look(s.dark, s.scale * 1.1f);
    case Command::kSmaller:
      return set_look(s.dark, s.scale / 1.1f);
    case Command::kResetSize:
      return set_look(s.dark, 1.0f);
    case Command::kKeys:
      s.keys_open = true;
      return;
    case Command::kAbout:
      s.about_open = true;
      return;
    case Command::kLeaveField:
      s.leave_field = true;
      return;
    case Command::kWalkBackward: {
      const Step* step = current_step(state_);
      return on(WalkBackward{!step || !step->backward});
    }
    case Command::kToggleLines:
      return on(ChooseHeadsView{s.heads_view == HeadsView::kLines ? HeadsView::kPictures
                                                                  : HeadsView::kLines});
    default:
      break;
  }
  perform_train(command) || perform_compute(command) || perform_motion(command) ||
      perform_inspect(command) || perform_look(command) || perform_habits(command) ||
      perform_focus(command);
}

// ---- computing ----

// Too large to be over within a frame? A walk back is twice the work.
bool Shell::is_large(const Document& doc, bool gradients) {
  return (gradients ? 3 : 1) * estimated_bytes(doc) > kRunAtOnceBytes;
}

void Shell::recompute() {
  computed_ = state_.document();
  computed_model_ = computed_.model == kRunRef ? run_model_ : nullptr;
  computed_backward_ = wants_gradients();
  has_run_ = true;
  const bool on_gpu = state_.session.compute != ComputeMode::kCpu && start_gpu();
  computed_mode_ = state_.session.compute;
  const RunRequest request{computed_, computed_model_, computed_backward_, computed_mode_};
  const bool large = is_large(computed_, computed_backward_);
  if (!options_.background || !(on_gpu || large)) {
    if (std::optional<FinishedRun> run = worker_.run_now(request)) return take(std::move(*run));
  } else if (!large && !state_.derived.trace) {
    // At the start a graphics card compiles first: meanwhile the processor's numbers are shown.
    RunRequest at_once = request;
    at_once.mode = ComputeMode::kCpu;
    if (std::optional<FinishedRun> run = worker_.run_now(at_once)) take(std::move(*run));
  }
  worker_.request(request);
  state_.derived.computing = true;
  // While somebody types, a small run should not show in between.
  const bool soon = on_gpu && !large && state_.derived.gpu.phase == GpuPhase::kReady;
  if (soon && worker_.wait_for(kPatience)) take(*worker_.poll());
}

bool Shell::poll() {
  std::optional<LoadedModel> loaded = worker_.poll_model();
  if (loaded) take_model(std::move(*loaded));
  std::optional<FinishedRun> run = worker_.poll();
  if (run) take(std::move(*run));
  const std::optional<GpuState> tested = worker_.poll_gpu();
  if (tested) take_gpu_test(*tested);
  std::optional<SizeChart> sizes = worker_.poll_sizes();
  if (sizes) state_.derived.sizes = std::move(*sizes);
  bool compared = false;
  for (const TraceTask beside : {TraceTask::kNewest, TraceTask::kPinned}) {
    if (std::optional<FinishedRun> done = worker_.poll(beside)) {
      take_compared(beside, std::move(*done));
      compared = true;
    }
  }
  const std::optional<FinishedNudge> nudged = worker_.poll_nudge();
  if (nudged) take_nudge(*nudged);
  std::optional<FreeSample> sample = sampler_ ? sampler_->poll() : std::nullopt;
  if (sample) state_.train.sample = std::move(*sample);
  const bool trained = poll_train();
  if (run) update_inspected();
  return loaded || run || compared || nudged || sample || trained || tested || sizes;
}

void Shell::wait() {
  worker_.wait();
  if (trainer_) trainer_->wait();
  poll();
  apply();
  if (sampler_) sampler_->wait();
  if (run_autosave_) run_autosave_->wait();
  if (state_.document() == computed_) return;
  apply();  // a model came
  worker_.wait();
  poll();
}

void Shell::take(FinishedRun run) {
  take_gpu(run);
  RunResult& result = run.result;
  Derived& d = state_.derived;
  d.computing = worker_.awaits(TraceTask::kModel);
  d.message = result.message;
  d.problem = say(state_.session.language, d.message);
  d.empty = result.empty;
  d.tokens_in_sentence = result.trace || result.cut ? result.tokens_in_sentence : 0;
  d.cut = result.cut && result.trace;
  // Pictures are the same each time; a measured time would not be.
  d.run_ms = options_.background ? run.milliseconds : 0;
  std::erase_if(state_.notices, [&](const Notice& n) { return n.message == run_notice_; });
  run_notice_ = {};
  if (result.trace) {
    d.trace = std::move(result.trace);
    d.model = std::move(result.model);
    if (d.cut) {
      run_notice_ = Message{result.limit_of_model ? "notice.cut_by_model" : "notice.cut",
                            {{"tokens", count_text(static_cast<long long>(d.tokens_in_sentence))},
                             {"limit", count_text(result.limit)}}};
    }
  } else if (!result.empty) {
    run_notice_.id = d.trace ? "notice.still_shown" : "notice.problem";
    run_notice_ = run_notice_.with(result.message);
    if (d.trace) {
      d.tokens_in_sentence = static_cast<std::size_t>(d.trace->length());
    }
  }
  if (!run_notice_.empty()) notify(d.cut ? NoticeKind::kWarning : NoticeKind::kError, run_notice_);
  settle();
  if (!awaited_step_.empty()) go_to_awaited(std::exchange(awaited_step_, ""));
  update_compared();
}

}  // namespace headlight
