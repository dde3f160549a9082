#include "app/shell.h"

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/page.h"
#include "core/session_file.h"
#include "core/text/number_text.h"
#include "core/text/utf8.h"

namespace headlight {
namespace {

// Runs that keep less than this are over within a frame.
constexpr double kRunAtOnceBytes = 24e6;

double estimated_bytes(const Document& doc) {
  const double bytes = static_cast<double>(doc.sentence.size());
  const double per_token = doc.tokenizer == TokenizerKind::kWords ? 2.5 : 1.0;
  const double tokens = std::min(static_cast<double>(doc.max_tokens), bytes / per_token);
  const auto count = static_cast<std::int64_t>(tokens);
  return memory_needed(doc.config, {1, count, count}) + bytes * 40;
}

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace

Shell::Shell(Document document, ShellOptions options)
    : options_(std::move(options)), worker_(options_.limits, options_.backend, options_.threads) {
  state_.history = History(std::move(document));
  mask_before_causal_.kind = MaskKind::kNone;
  recompute();
}

void Shell::notify(NoticeKind kind, std::string text) {
  for (const Notice& notice : state_.notices) {
    if (notice.text == text) return;
  }
  state_.notices.push_back({kind, std::move(text)});
  if (state_.notices.size() > 3) state_.notices.erase(state_.notices.begin());
}

void Shell::set_look(bool dark, float scale) {
  state_.session.dark = dark;
  state_.session.scale = std::clamp(scale, 0.75f, 4.0f);
}

bool Shell::key(const Shortcut& shortcut, bool in_field) {
  const std::optional<Command> command = command_for(shortcut, in_field);
  if (command && is_enabled(*command, state_)) push(DoCommand{*command});
  return command.has_value();
}

void Shell::apply() {
  std::vector<Action> actions;
  actions.swap(queue_);
  for (const Action& action : actions) perform(action);
  if (!(state_.document() == computed_) || !has_run_) recompute();
}

void Shell::perform(const Action& action) {
  Session& s = state_.session;
  std::visit(
      Overloaded{
          [&](const DoEdit& a) {
            if (const auto* typed = std::get_if<SetSentence>(&a.edit)) {
              const int replaced = clean_utf8(typed->text).replaced;
              if (replaced > 0) {
                notify(NoticeKind::kWarning,
                       std::to_string(replaced) + (replaced == 1 ? " piece" : " pieces") +
                           " of the text was not valid UTF-8 and became U+FFFD (\uFFFD)");
              }
            }
            state_.history.edit(a.edit, a.group);
          },
          [&](const EndEdit&) { state_.history.end_group(); },
          [&](const DoCommand& a) { perform(a.command); },
          [&](const GoToStep& a) { go_to(a.tensor); },
          [&](const ChooseLayer& a) { change_layer(a.layer); },
          [&](const ChooseHead& a) { change_head(a.head); },
          [&](const CompareHead& a) {
            s.other_head = a.head;
            s.compare = a.head >= 0;
            settle();
          },
          [&](const PickCell& a) {
            if (a.follow) go_to(a.cell.tensor);
            s.picked = a.cell;
            const TensorId id =
                state_.derived.trace ? state_.derived.trace->program().find(a.cell.tensor) : -1;
            if (id < 0) return;
            const int head_axis = state_.derived.trace->tensor(id).find_dim("head");
            if (head_axis >= 0) {
              s.head = static_cast<int>(a.cell.index[static_cast<std::size_t>(head_axis)]);
              update_difference();
            }
          },
          [&](const HoverCell& a) { s.hovered = a.cell; },
          [&](const DismissNotice& a) {
            if (a.index < state_.notices.size()) {
              state_.notices.erase(state_.notices.begin() + static_cast<std::ptrdiff_t>(a.index));
            }
          },
          [&](const OpenFile& a) { open(a.path); },
          [&](const SaveFile& a) { save(a.path); },
          [&](const TypePath& a) { s.path_typed = a.text; },
          [&](const ClosePopups&) {
            s.model_open = s.keys_open = s.about_open = false;
            s.ask_path_to_open = s.ask_path_to_save = false;
          },
          [&](const Folded& a) {
            s.heads_shown = a.heads_shown;
            s.inspector_shown = a.inspector_shown;
          },
          [&](const FocusDone&) { s.focus_sentence = s.leave_field = false; },
      },
      action);
}

void Shell::perform(Command command) {
  Session& s = state_.session;
  const Document& doc = state_.document();
  switch (command) {
    case Command::kFocusSentence:
      s.focus_sentence = true;
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
    case Command::kOpen:
      s.path_typed = state_.session_path;
      s.ask_path_to_open = true;
      return;
    case Command::kSave:
      if (!state_.session_path.empty()) return save(state_.session_path);
      [[fallthrough]];
    case Command::kSaveAs:
      s.path_typed = state_.session_path.empty() ? "untitled.headlight.json" : state_.session_path;
      s.ask_path_to_save = true;
      return;
    case Command::kToggleTheme:
      s.dark = !s.dark;
      return;
    case Command::kToggleCompare:
      s.compare = !s.compare;
      return settle();
    case Command::kToggleHeads:
      s.heads_open = !s.heads_open.value_or(s.heads_shown);
      return;
    case Command::kToggleInspector:
      s.inspector_open = !s.inspector_open.value_or(s.inspector_shown);
      return;
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
    case Command::kQuit:
      s.quit = true;
      return;
  }
}

// ---- computing ----

void Shell::recompute() {
  computed_ = state_.document();
  has_run_ = true;
  if (options_.background && estimated_bytes(computed_) > kRunAtOnceBytes) {
    worker_.request(computed_);
    state_.derived.computing = true;
    return;
  }
  FinishedRun run = worker_.run_now(computed_);
  take(std::move(run.result), run.milliseconds);
}

bool Shell::poll() {
  std::optional<FinishedRun> run = worker_.poll();
  if (!run) return false;
  take(std::move(run->result), run->milliseconds);
  return true;
}

void Shell::wait() {
  worker_.wait();
  poll();
}

void Shell::take(RunResult result, double milliseconds) {
  Derived& d = state_.derived;
  d.computing = false;
  d.problem = result.problem;
  d.tokens_in_sentence = result.trace || result.cut ? result.tokens_in_sentence : 0;
  d.cut = result.cut && result.trace;
  d.run_ms = milliseconds;
  std::erase_if(state_.notices, [&](const Notice& n) { return n.text == cut_notice_; });
  cut_notice_.clear();
  if (result.trace) {
    d.trace = std::move(result.trace);
    if (d.cut) {
      const Document& doc = state_.document();
      cut_notice_ = "The text has " + count_text(static_cast<long long>(d.tokens_in_sentence)) +
                    " tokens; the first " + count_text(doc.max_tokens) +
                    " are shown, because attention keeps a number for every pair of tokens. Raise "
                    "the token limit in "
                    "the model settings (Ctrl+E)";
    }
  } else if (result.tokens_in_sentence > 0 || !result.is_usage) {
    cut_notice_ = result.problem;
    cut_notice_[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(cut_notice_[0])));
    if (d.trace) {
      cut_notice_ += ". The last run that worked is still shown";
      d.tokens_in_sentence = static_cast<std::size_t>(d.trace->length());
    }
  }
  if (!cut_notice_.empty()) notify(d.cut ? NoticeKind::kWarning : NoticeKind::kError, cut_notice_);
  settle();
}

// ---- looking ----

void Shell::go_to(const std::string& tensor) {
  if (!state_.derived.trace) return;
  const Program& program = state_.derived.trace->program();
  const TensorId id = program.find(tensor);
  if (id < 0) return;
  const Step& step = program.steps[static_cast<std::size_t>(program.step_of(id))];
  state_.session.step = program.tensors[static_cast<std::size_t>(step.tensor)].name;
  if (step.layer >= 0) state_.session.layer = step.layer;
  state_.session.hovered.reset();
  pick_default();
  update_difference();
}

void Shell::step_by(int direction) {
  if (!state_.derived.trace) return;
  const Program& program = state_.derived.trace->program();
  const TensorId id = program.find(state_.session.step);
  const int now = id < 0 ? 0 : program.step_of(id);
  const int next = std::clamp(now + direction, 0, static_cast<int>(program.steps.size()) - 1);
  const Step& step = program.steps[static_cast<std::size_t>(next)];
  go_to(program.tensors[static_cast<std::size_t>(step.tensor)].name);
}

void Shell::change_layer(int layer) {
  Session& s = state_.session;
  const int last = state_.document().config.layers - 1;
  layer = std::clamp(layer, 0, last);
  const std::string here = "blocks." + std::to_string(s.layer) + ".";
  s.layer = layer;
  if (s.step.starts_with(here)) {
    const std::string there = "blocks." + std::to_string(layer) + "." + s.step.substr(here.size());
    // The first layer has a step of its own (the sum with the positions) that the others lack.
    const bool exists = state_.derived.trace && state_.derived.trace->program().find(there) >= 0;
    go_to(exists ? there : "blocks." + std::to_string(layer) + ".attn.pattern");
  }
  update_difference();
}

void Shell::change_head(int head) {
  Session& s = state_.session;
  const int count = state_.document().config.head_count();
  s.head = (head % count + count) % count;
  // The picked cell moves to the same place of the other head.
  if (s.picked && state_.derived.trace) {
    const TensorView t = state_.derived.trace->find(s.picked->tensor);
    const int axis = t.data ? t.find_dim("head") : -1;
    if (axis >= 0 && s.picked->index.size() == t.axes.size()) {
      s.picked->index[static_cast<std::size_t>(axis)] = s.head;
    } else {
      pick_default();
    }
  }
  if (s.other_head == s.head) s.other_head = count > 1 ? (s.head + 1) % count : -1;
  update_difference();
}

void Shell::settle() {
  Session& s = state_.session;
  if (!state_.derived.trace) return;
  const Trace& trace = *state_.derived.trace;
  const int heads = trace.config().head_count();
  s.head = std::clamp(s.head, 0, heads - 1);
  s.layer = std::clamp(s.layer, 0, trace.config().layers - 1);
  if (s.other_head >= heads) s.other_head = -1;
  if (s.compare && s.other_head < 0) s.other_head = heads > 1 ? (s.head + 1) % heads : -1;
  if (s.compare && s.other_head == s.head) s.other_head = (s.head + 1) % heads;
  if (heads < 2) s.compare = false;
  if (s.step.empty()) s.step = "blocks." + std::to_string(s.layer) + ".attn.pattern";
  const TensorId id = trace.program().find(s.step);
  if (id < 0) {
    // The step was switched off (no mask, no scale): stay in the neighbourhood.
    const bool in_layer = s.step.starts_with("blocks.");
    const std::string pattern = "blocks." + std::to_string(s.layer) + ".attn.pattern";
    s.step = in_layer ? pattern : "embed";
  }
  s.hovered.reset();
  bool fits = false;
  if (s.picked) {
    const TensorView t = trace.find(s.picked->tensor);
    fits = t.data && s.picked->index.size() == t.axes.size();
    for (std::size_t a = 0; fits && a < t.axes.size(); ++a)
      fits = s.picked->index[a] < t.axes[a].size;
  }
  if (!fits) pick_default();
  update_difference();
}

void Shell::pick_default() {
  Session& s = state_.session;
  const Trace& trace = *state_.derived.trace;
  const TensorId id = trace.program().find(s.step);
  if (id < 0) return;
  const Step& step = trace.program().steps[static_cast<std::size_t>(trace.program().step_of(id))];
  // The same token's row as before, where there was one.
  std::optional<std::int64_t> row;
  if (s.picked) {
    const TensorView t = trace.find(s.picked->tensor);
    for (const char* axis : {"query", "position"}) {
      const int at = t.data ? t.find_dim(axis) : -1;
      if (at >= 0 && s.picked->index.size() == t.axes.size() && !row) {
        row = s.picked->index[static_cast<std::size_t>(at)];
      }
    }
  }
  const StepPage page = step_page(trace, step, s.head);
  const TensorId shown = page.lines.empty() ? step.tensor : page.lines[0].back().tensor;
  std::vector<std::int64_t> cell = default_cell(trace, step, s.head, row);
  // From scores to scale to mask to softmax the same key stays chosen.
  if (s.picked) {
    const TensorView before = trace.find(s.picked->tensor), now = trace.tensor(shown);
    const std::string here = "blocks." + std::to_string(s.layer) + ".";
    const bool same_axes = before.data && before.find_dim("key") == 3 && now.find_dim("key") == 3 &&
                           s.picked->tensor.starts_with(here);
    if (same_axes && s.picked->index.size() == 4) cell[3] = s.picked->index[3];
  }
  s.picked =
      CellPick{trace.program().tensors[static_cast<std::size_t>(shown)].name, std::move(cell)};
}

void Shell::update_difference() {
  const Session& s = state_.session;
  Derived& d = state_.derived;
  d.difference.clear();
  if (!s.compare || s.other_head < 0 || !d.trace) return;
  const TensorId id = d.trace->program().find(s.step);
  if (id < 0) return;
  const Step& step =
      d.trace->program().steps[static_cast<std::size_t>(d.trace->program().step_of(id))];
  const TensorView t = d.trace->tensor(step.tensor);
  if (t.find_dim("head") < 0) return;
  const Pane a = step_page(*d.trace, step, s.head).lines[0].back().pane;
  const Pane b = step_page(*d.trace, step, s.other_head).lines[0].back().pane;
  d.difference.reserve(static_cast<std::size_t>(a.rows * a.columns));
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < a.columns; ++c) {
      const float x = t.data[pane_flat(a, r, c)], y = t.data[pane_flat(b, r, c)];
      d.difference.push_back(x == y ? 0.0f : x - y);  // −∞ − (−∞) is no difference
    }
  }
  ++d.difference_key;
}

// ---- files ----

void Shell::open(const std::string& path) {
  try {
    const SessionFile file = read_session(path);
    state_.history.reset(file.document);
    state_.session_path = path;
    ++state_.session.text_revision;
    for (const std::string& note : file.notes) notify(NoticeKind::kWarning, note);
  } catch (const Error& error) {
    notify(NoticeKind::kError, error.what());
  }
}

void Shell::save(const std::string& path) {
  try {
    write_session(path, state_.document());
    state_.session_path = path;
    state_.history.mark_saved();
    notify(NoticeKind::kInfo, "Saved in " + path);
  } catch (const Error& error) {
    notify(NoticeKind::kError, std::string(error.what()) + ". Your work is still here");
  }
}

}  // namespace headlight
