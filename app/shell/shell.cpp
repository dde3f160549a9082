#include "app/shell/shell.h"

#include <array>

namespace headlight {
namespace {

template <class Controller, class Asked>
concept Handles = requires(Controller& controller, const Asked& asked) {
  controller.on(asked);
};

BackendMaker backend_maker(const ShellOptions& o) {
  if (o.make_backend) return o.make_backend;
  return [&o] { return make_backend(o.backend, o.threads); };
}

}  // namespace

Shell::Shell(Document document, ShellOptions options)
    : options_(std::move(options)),
      worker_(options_.limits, backend_maker(options_)),
      notices_(state_.session, state_.notices, queue_),
      shared_{state_, state_.requests, notices_, queue_, [this](const Action& a) { perform(a); }},
      document_(shared_, state_.history, state_.preview, state_.session),
      look_(shared_, state_.session),
      computing_(shared_, options_, worker_, document_, state_.session, state_.derived),
      steps_(shared_, state_.session),
      heads_(shared_, steps_, state_.session, state_.derived, options_),
      inspector_(shared_, options_, worker_, state_.session, state_.derived),
      continuation_(shared_, document_, computing_, state_.derived, options_),
      keyboard_(shared_, state_.session),
      files_(shared_, document_, state_.session, state_.session_path, options_.folders, writer_),
      keeping_(shared_, options_, document_, files_, writer_),
      training_(shared_, options_, worker_, document_, computing_, state_.session.train,
                state_.train),
      runs_(shared_, options_, document_, files_, state_.session.runs, state_.runs),
      dialogs_(shared_, options_, state_.session),
      exports_(shared_, state_.session, options_),
      cost_(shared_, options_, worker_, state_.session, state_.derived),
      labs_(shared_, options_, state_.session.labs, state_.labs),
      memory_(writer_),
      writer_(options_.background) {
  state_.history = History(std::move(document));
  steps_.await_layers([this](TensorId tensor) { return computing_.await_layer(tensor); });
  const std::string& path = options_.folders.settings;
  const SettingsRead read = path.empty() ? SettingsRead{} : read_settings(path);
  if (!path.empty()) {
    look_.restore(read.settings, read.exists ? read.settings.language : options_.first_language);
    steps_.restore(read.settings);
    files_.restore(read.settings);
    runs_.restore(read.settings);
    keeping_.restore(read.settings);
  }
  computing_.restore(read.settings);
  if (!read.problem.empty())
    notify(NoticeKind::kWarning,
           read.not_copied.empty()
               ? Message{"settings.unreadable", {{"path", path}}}.with(read.problem)
               : Message{"settings.unreadable.left"}.with(read.problem));
  computing_.update();
  take_news();
}

// ---- actions and commands ----

// To every controller that has an on() for it. That none has does not compile.
template <class Asked>
void Shell::hand_over(const Asked& asked) {
  const auto ask = [&]<class Owner>(Owner& owner) {
    if constexpr (Handles<Owner, Asked>) owner.on(asked);
  };
  const auto ask_all = [&]<class... Owners>(Owners&... all) {
    static_assert((Handles<Owners, Asked> || ...), "no controller has an on() for this");
    (ask(all), ...);
  };
  std::apply(ask_all, controllers());
}

void Shell::hand_over(const DoCommand& a) {
  using HandOver = void (*)(Shell&);
  static constexpr auto kTable = []<int... kCommands>(std::integer_sequence<int, kCommands...>) {
    return std::array<HandOver, sizeof...(kCommands)>{
        [](Shell& shell) { shell.hand_over(Is<static_cast<Command>(kCommands)>{}); }...};
  }
  (std::make_integer_sequence<int, static_cast<int>(Command::kCount)>{});
  kTable[static_cast<std::size_t>(a.command)](*this);
}

void Shell::perform(const Action& action) {
  std::visit([this](const auto& a) { hand_over(a); }, action);
}

// ---- frames ----

void Shell::apply() {
  drawn_ = {state_.derived.trace, state_.train.newest, state_.train.pinned,
            state_.train.differences, state_.labs.result};
  std::vector<Action> actions;
  actions.swap(queue_);
  for (const Action& action : actions) {
    perform(action);
    look_.follow_hint(action);
  }
  training_.show_marked();
  continuation_.update();
  computing_.update();
  take_news();
  steps_.update();
  heads_.update();
  inspector_.update();
  training_.update_sample();
  training_.update_growth();
  labs_.update();
  notices_.end_moment(state_.document());
}

void Shell::end_frame() {
  state_.requests = {};
  apply();
}

// A run has ended: what follows from its trace.
void Shell::take_news() {
  if (!computing_.take_news()) return;
  continuation_.take_trace();
  steps_.take_trace();
  heads_.settle();
  heads_.update();
  training_.update_compared();
  files_.check_weights();
}

bool Shell::poll() {
  const std::shared_ptr<const Trace> before = state_.derived.trace;
  bool changed = computing_.poll();
  take_news();
  changed |= continuation_.poll();
  changed |= heads_.poll();
  changed |= inspector_.poll();
  changed |= training_.poll();
  changed |= files_.poll();
  changed |= runs_.poll();
  changed |= dialogs_.poll();
  changed |= exports_.poll();
  changed |= cost_.poll();
  changed |= labs_.poll();
  if (state_.derived.trace != before) inspector_.update();
  return changed;
}

void Shell::wait() {
  worker_.wait();
  training_.wait();
  if (files_.is_saving()) writer_.wait();
  files_.wait_for_mask();
  runs_.wait();
  heads_.wait();
  labs_.wait();
  poll();
  apply();
  training_.wait_rest();
  poll();
  if (computing_.is_current()) return;
  apply();  // a model came
  worker_.wait();
  poll();
}

bool Shell::is_working() const {
  const Derived& d = state_.derived;
  return d.computing || d.writing || continuation_.is_working() || heads_.is_working() ||
         d.gpu.testing || d.sizes.measuring || d.rating || is_training() || files_.is_saving() ||
         files_.is_reading() || runs_.is_reading() || training_.is_leaving() ||
         dialogs_.is_working() || exports_.is_working() || labs_.is_working() ||
         worker_.awaits(TraceTask::kNewest) || worker_.awaits(TraceTask::kPinned);
}

void Shell::stop_gpu() {
  computing_.stop_gpu();
  training_.stop_gpu();
}

void Shell::show_claim(const HeadClaim& claim) {
  perform(GoToStep{claim.step});
  perform(ChooseHead{claim.head});
  perform(PickCell{{claim.step, {0, claim.head, claim.query.value_or(0), claim.keys[0]}}});
}

void Shell::set_screen_scale(float scale) {
  look_.set_look(state_.session.dark, keeping_.rescale(scale));
}

void Shell::keep(double seconds) {
  notices_.pass(seconds);
  computing_.wait(seconds);
  memory_.pass(seconds);
  training_.keep_safe(seconds);
  keeping_.keep(seconds, [this] { return training_.safe_folder(); });
}

void Shell::start_keeping(std::int64_t wall_seconds) {
  std::vector<std::string> told = keeping_.start(wall_seconds);
  runs_.start();
  training_.tell_left_runs(std::move(told), keeping_.recoverable_models());
}

void Shell::keep_at_once() {
  if (!keeping_.started()) return;
  training_.keep_now();
  keeping_.keep_now([this] { return training_.safe_folder(); });
}

void Shell::finish_keeping() {
  if (keeping_.started()) keeping_.finish(training_.keep_at_end());
}

}  // namespace headlight
