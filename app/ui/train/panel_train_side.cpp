// What the model says next, how the next token is drawn, and what it answers to examples.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/ui/kit/line_text.h"
#include "app/ui/kit/number_row.h"
#include "app/ui/matrix/place_words.h"
#include "app/ui/state/commands.h"
#include "app/ui/train/panel_train.h"
#include "core/base/number_text.h"
#include "core/run/model_input.h"
#include "core/view/outcome.h"

namespace headlight {
namespace {

constexpr std::size_t kBars = 5;
constexpr std::size_t kSampleRows = 6;

// "after “… cat”", "[MASK]₁₉"; of a class nothing.
std::string after_words(const Ui& ui, const Trace& trace, const Outcome& outcome) {
  if (outcome.classes) return "";
  if (outcome.hidden) return place_name(ui, trace, "position", outcome.position);
  const auto& tokens = trace.input().tokens;
  const auto at = static_cast<std::size_t>(outcome.position);
  return ui.tr(trace.config().numbers ? "train.for" : "train.after",
               {{"token", token_label(at < tokens.size() ? tokens[at] : "")}});
}

// Bars of the shown step; a mark where the newest weights have it.
float next_token(const AppState& state, Ui& ui, const Rect& r) {
  const Trace* shown = state.derived.trace.get();
  const Trace* newest = state.train.newest.get();
  const Outcome outcome = shown_outcome(state);
  const std::span<const float> now = outcome.probabilities;
  const std::span<const float> last = outcome_of(newest).probabilities;
  float y = r.y0 + ui.px(12);
  const bool asks = shown && shown->program().asks_for_masked();
  const std::string_view title = ui.tr(outcome.classes                    ? "train.class"
                                       : asks                             ? "train.hidden_word"
                                       : shown && shown->config().numbers ? "train.number"
                                                                          : "train.next_token");
  ui.text(ui.fonts.strong, {r.x0 + ui.px(18), y}, ui.theme.text, title);
  if (now.empty() || state.document().model != kRunRef) {
    y += ui.px(28);
    return y + ui.wrapped(ui.fonts.note, {r.x0 + ui.px(18), y}, r.width() - ui.px(36),
                          ui.theme.muted, ui.tr("train.no_next"));
  }
  // At other tokens nothing was asked for, so that what stands there is no prediction.
  if (asks && !outcome.hidden) {
    y += ui.px(28);
    return y + ui.wrapped(ui.fonts.note, {r.x0 + ui.px(18), y}, r.width() - ui.px(36),
                          ui.theme.muted,
                          ui.tr("stage.note.no_mask",
                                {{"mask", std::string(mask_name(state.derived.model.get()))}}));
  }
  const std::string after = after_words(ui, *shown, outcome);
  const float room = r.width() - ui.px(54) - ui.measure(ui.fonts.strong, title).x;
  const float wide = std::min(ui.measure(ui.fonts.note, after).x, room);
  ui.user_text(ui.fonts.note, {r.x1 - ui.px(18) - wide, y + ui.px(2)}, ui.theme.muted, after, room);
  y += ui.px(30);
  const float names = ui.px(64), numbers = ui.px(48);
  const float x0 = r.x0 + ui.px(18) + names, x1 = r.x1 - ui.px(18) - numbers;
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (const int id : most_probable(now, kBars)) {
    const float p = now[static_cast<std::size_t>(id)];
    ui.user_text(ui.fonts.strong, {r.x0 + ui.px(18), y}, ui.theme.text,
                 place_label(ui, *shown, entries_of(outcome), id), names - ui.px(8));
    ui.bar({x0, y + ui.px(2), x1, y + ui.px(15)}, p, ui.theme.pattern);
    if (last.size() == now.size()) {
      const float mark = std::round(x0 + last[static_cast<std::size_t>(id)] * (x1 - x0));
      list->AddLine({mark, y}, {mark, y + ui.px(17)}, to_u32(ui.theme.text), ui.px(2));
    }
    ui.text_right(ui.fonts.mono, r.x1 - ui.px(18), y, ui.theme.text, share_text(p));
    y += ui.px(22);
  }
  if (last.size() == now.size()) {
    ui.text(ui.fonts.note, {r.x0 + ui.px(18), y + ui.px(2)}, ui.theme.muted,
            ui.tr("train.mark_is", {{"n", count_text(state.train.run.live_step)}}),
            r.width() - ui.px(36));
    y += ui.px(20);
  }
  return y;
}

// Does the model of the run write on, token after token? Others have nothing to draw at random.
bool says_next(const AppState& state) {
  const auto& task = state.train.run.task;
  return !task || task->kind() == TaskKind::kNextToken;
}

float sampling_rows(const AppState& state, Ui& ui, const Rect& r) {
  const TrainSession& session = state.session.train;
  SamplingOptions next = session.sampling;
  std::uint64_t seed = session.sampling_seed;
  bool changed = false;
  float y = r.y0 + ui.px(8);
  const std::string_view off = ui.tr("train.off");
  const auto number = [&](const NumberRow& row, std::string_view label_id, auto& value) {
    const Rect line{r.x0 + ui.px(18), y, r.x1 - ui.px(18), y + ui.px(24)};
    y += ui.px(26);
    changed |= number_row(ui, row, label_id, value, line);
  };
  number({.id = "train/side/temperature", .high = 2}, "train.temperature", next.temperature);
  number({.id = "train/side/top_k", .high = 50, .integer = true, .zero = off}, "train.top_k",
         next.top_k);
  number({.id = "train/side/top_p", .low = 0.05, .shown = std::string(next.top_p < 1 ? "" : off)},
         "train.top_p", next.top_p);
  number({.id = "train/side/sampling_seed", .high = 1000, .integer = true}, "train.sampling_seed",
         seed);
  if (changed) ui.push(SetSampling{next, seed});
  y += ui.px(4);
  const std::span<const float> row = shown_outcome(state).probabilities;
  const auto& model = state.derived.model;
  const bool fits = model && state.derived.trace->length() < model->file.context;
  const bool can = state.document().model == kRunRef && !row.empty() && fits;
  if (ui.button("train/side/generate", ui.tr("train.generate"),
                {r.x0 + ui.px(18), y, r.x1 - ui.px(18), y + ui.px(28)}, false, can,
                ui.tr(row.empty() || fits ? "train.generate.help" : "train.generate.full")))
    ui.push(GenerateToken{});
  return y + ui.px(38);
}

bool is_scored(const TaskExample& example, std::size_t t) {
  return example.targets[t] >= 0 && (example.scored.empty() || example.scored[t] != 0);
}

// A class, and below it the whole sentence that it was said of: the word that decides may be its
// last. Returns the height.
float class_row(const AppState& state, Ui& ui, const TaskExample& example, int predicted,
                const Rect& r) {
  const Task& task = *state.train.run.task;
  const bool right = predicted == example.label;
  ui.user_text(ui.fonts.mono, r.min(), right ? ui.theme.v : ui.theme.error,
               class_label(ui, task.classes(), predicted), r.width());
  const float top = ui.px(20);
  return top +
         ui.wrapped(ui.fonts.note, {r.x0, r.y0 + top}, r.width(), ui.theme.text,
                    to_field_text(task.vocabulary().decode(example.tokens))) +
         ui.px(6);
}

// A token of a sample's line, and the room behind it.
struct Piece {
  std::string text;
  Color color;
  float gap = 0;
};

// Of every number what the model says to it. Close is good here, so that none is right or wrong.
std::vector<Piece> number_pieces(const Ui& ui, const Vocabulary& vocabulary,
                                 const TaskExample& example, const std::vector<int>& predicted) {
  std::vector<Piece> pieces;
  for (std::size_t t = 0; t < example.tokens.size(); ++t) {
    pieces.push_back({vocabulary.token(example.tokens[t]) + " → " + vocabulary.token(predicted[t]),
                      ui.theme.text, ui.px(16)});
  }
  return pieces;
}

Color answer_color(const Ui& ui, const TaskExample& example, const std::vector<int>& predicted,
                   std::size_t t) {
  if (!is_scored(example, t)) return ui.theme.muted;
  return predicted[t] == example.targets[t] ? ui.theme.v : ui.theme.error;
}

// Every given word where it stands, and behind each [MASK] what it is taken for.
std::vector<Piece> masked_pieces(const Ui& ui, const Vocabulary& vocabulary,
                                 const TaskExample& example, const std::vector<int>& predicted,
                                 std::size_t begin) {
  std::vector<Piece> pieces;
  for (std::size_t t = begin; t < example.tokens.size(); ++t) {
    const bool hidden = example.targets[t] >= 0;
    pieces.push_back(
        {token_label(vocabulary.token(example.tokens[t])), ui.theme.muted, ui.px(hidden ? 3 : 6)});
    if (hidden)
      pieces.push_back({token_label(vocabulary.token(predicted[t])),
                        answer_color(ui, example, predicted, t), ui.px(10)});
  }
  return pieces;
}

// What was given, then the answers: of a long example from a little before the first answer.
std::vector<Piece> pieces_of(const Ui& ui, const Task& task, const TaskExample& example,
                             const std::vector<int>& predicted) {
  const Vocabulary& vocabulary = task.vocabulary();
  if (task.kind() == TaskKind::kNumbers) return number_pieces(ui, vocabulary, example, predicted);
  const bool pair = !example.source.empty();
  std::size_t first = 0;
  while (first < example.targets.size() && !is_scored(example, first)) ++first;
  const std::size_t begin = pair ? first + 1 : first > 5 ? first - 5 : 0;
  if (task.kind() == TaskKind::kMasked)
    return masked_pieces(ui, vocabulary, example, predicted, begin);
  std::vector<Piece> pieces;
  const auto add = [&](int id, Color color) {
    const std::string text = token_label(vocabulary.token(id));
    pieces.push_back({text, color, ui.px(text.size() == 1 && pair ? 1 : 6)});
  };
  for (const int id : example.source) add(id, ui.theme.muted);  // what is translated
  if (pair) pieces.back().gap += ui.px(12);
  for (std::size_t t = begin; t <= first && t < example.tokens.size(); ++t)
    add(example.tokens[t], ui.theme.text);
  for (std::size_t t = first; t < example.targets.size(); ++t) {
    if (example.targets[t] >= 0) add(predicted[t], answer_color(ui, example, predicted, t));
  }
  return pieces;
}

// What was given and what is answered, for a line that has no room for all of it.
std::string whole_example(const Ui& ui, const Task& task, const TaskExample& example,
                          const std::vector<int>& predicted) {
  std::string whole;
  const Vocabulary& vocabulary = task.vocabulary();
  if (task.kind() == TaskKind::kNumbers || task.kind() == TaskKind::kMasked) {
    const std::vector<Piece> all = task.kind() == TaskKind::kNumbers
                                       ? number_pieces(ui, vocabulary, example, predicted)
                                       : masked_pieces(ui, vocabulary, example, predicted, 0);
    for (const Piece& piece : all) whole += (whole.empty() ? "" : "  ") + piece.text;
    return to_field_text(whole);
  }
  std::vector<int> answers;
  for (std::size_t t = 0; t < example.targets.size(); ++t) {
    if (is_scored(example, t)) answers.push_back(predicted[t]);
  }
  const std::vector<int>& given = example.source.empty() ? example.tokens : example.source;
  return to_field_text(vocabulary.decode(given) + " → " + vocabulary.decode(answers));
}

// A line of them, or as many as have room.
void draw_pieces(Ui& ui, const std::vector<Piece>& pieces, const std::string& whole,
                 const Rect& r) {
  const float more = ui.measure(ui.fonts.mono, "…").x;
  float x = r.x0;
  for (const Piece& piece : pieces) {
    const float wide = ui.measure(ui.fonts.mono, piece.text).x;
    if (x + wide > r.x1 - more) {
      ui.text(ui.fonts.mono, {x, r.y0}, ui.theme.muted, "…");
      ui.drawn.add_shortened({whole, "…", r.min(), r.max()});
      if (ImGui::IsMouseHoveringRect(r.min(), r.max()) && ImGui::IsWindowHovered())
        ui.tooltip(whole);
      return;
    }
    ui.text(ui.fonts.mono, {x, r.y0}, piece.color, piece.text);
    x += wide + piece.gap;
  }
}

// What the model writes by itself; behind the bar it reads another row than the right one.
std::vector<Piece> written_pieces(const Ui& ui, const Task& task, const TaskExample& example,
                                  const std::vector<int>& written) {
  std::vector<Piece> pieces = {{std::string(ui.tr("train.by_itself")), ui.theme.muted, ui.px(8)}};
  bool parted = false;
  for (std::size_t t = 0; t < example.targets.size(); ++t) {
    if (example.targets[t] < 0) continue;
    const std::string text = token_label(task.vocabulary().token(written[t]));
    pieces.push_back(
        {text, answer_color(ui, example, written, t), ui.px(text.size() == 1 ? 1 : 6)});
    const bool parts = !parted && written[t] != example.targets[t];
    if (parts) pieces.push_back({"|", ui.theme.text, ui.px(4)});
    parted |= parts;
  }
  return pieces;
}

// One example as the weights of a step answer it: what was given, then the answers; below it what
// the model writes by itself, where it writes rows. Returns the height.
float sample_row(const AppState& state, Ui& ui, const Snapshot& snapshot, std::size_t which,
                 const Rect& r) {
  const RunView& run = state.train.run;
  const TaskExample& example = run.examples[which];
  const std::vector<int>& predicted = snapshot.probe.predicted[which];
  ui.text(ui.fonts.mono_small, {r.x0, r.y0 + ui.px(2)}, ui.theme.muted, count_text(snapshot.step));
  float x = r.x0 + ui.px(52);
  if (example.label >= 0) return class_row(state, ui, example, predicted[0], {x, r.y0, r.x1, r.y1});
  draw_pieces(ui, pieces_of(ui, *run.task, example, predicted),
              whole_example(ui, *run.task, example, predicted), {x, r.y0, r.x1, r.y1});
  const auto& all_written = snapshot.probe.written;
  if (all_written.empty()) return r.height() + ui.px(2);
  const std::vector<int>& written = all_written[which];
  const float down = r.height();
  draw_pieces(ui, written_pieces(ui, *run.task, example, written),
              whole_example(ui, *run.task, example, written), {x, r.y0 + down, r.x1, r.y1 + down});
  return 2 * down + ui.px(6);
}

// Each earlier run of the chart can be kept as well.
float earlier_runs(const AppState& state, Ui& ui, const Rect& r) {
  float y = r.y0;
  const std::string_view label = ui.tr("train.keep_run");
  const float wide = ui.measure(ui.fonts.control, label).x + ui.px(24);
  for (const auto& run : state.train.earlier) {
    const std::string id = std::to_string(run->status.run);
    const Rect button{r.x1 - wide, y, r.x1, y + ui.px(26)};
    ui.user_text(ui.fonts.control, {r.x0, y + ui.px(5)}, ui.theme.text,
                 ui.tr("train.run_n", {{"n", id}}) + ", " +
                     ui.tr("train.step_n", {{"n", count_text(run->status.step)}}),
                 r.width() - wide - ui.px(8));
    if (ui.button("train/side/keep/" + id, label, button, false, true,
                  ui.tr("train.keep_run.help")))
      ui.push(AskKeep{run->status.run});
    y += ui.px(30);
  }
  return y;
}

// What the colours of the answers say, up to the right edge.
void answer_legend(Ui& ui, float right, float y) {
  for (const auto& [id, color] :
       {std::pair{"train.wrong", ui.theme.error}, std::pair{"train.right", ui.theme.v}}) {
    const std::string_view text = ui.tr(id);
    right -= ui.measure(ui.fonts.note, text).x;
    ui.text(ui.fonts.note, {right, y}, color, text);
    right -= ui.px(10);
  }
}

// What the two lines of a sample are, and how much of both is right at the shown step.
std::string written_words(const AppState& state, const Ui& ui) {
  const RunView& run = state.train.run;
  const auto snapshot = nearest_snapshot(run.snapshots, shown_step(state.session.train, run));
  if (!snapshot || snapshot->probe.written.empty()) return std::string(ui.tr("train.forced"));
  const ProbeResult& probe = snapshot->probe;
  return two_sentences(
      two_sentences(ui.tr("train.forced_line"), ui.tr("train.unforced")),
      ui.tr("train.both_right",
            {{"given", share_text(static_cast<float>(probe.score.token_accuracy()))},
             {"alone", share_text(static_cast<float>(probe.alone.token_accuracy()))},
             {"n", std::to_string(run.examples.size())}}));
}

float samples(const AppState& state, Ui& ui, const Rect& r) {
  const RunView& run = state.train.run;
  float y = train_free_samples(state, ui, r);
  y = train_shifted(state, ui, {r.x0, y, r.x1, r.y1});
  y = train_confusion(state, ui, {r.x0, y, r.x1, r.y1}) + ui.px(12);
  ui.text(ui.fonts.strong, {r.x0 + ui.px(18), y}, ui.theme.text, ui.tr("train.samples"));
  if (!run.task || run.task->kind() != TaskKind::kNumbers)
    answer_legend(ui, r.x1 - ui.px(18), y + ui.px(2));
  y += ui.px(30);
  if (run.task && writes_rows(*run.task)) {
    const float left = r.x0 + ui.px(18), top = y - ui.px(6);
    y = top + ui.px(8) +
        ui.wrapped(ui.fonts.note, {left, top}, r.width() - ui.px(36), ui.theme.muted,
                   written_words(state, ui));
    ui.drawn.add("label/train/forced", {left, top}, {r.x1 - ui.px(18), y});
  }
  // The shown step, then ever earlier ones.
  const std::int64_t last = shown_step(state.session.train, run);
  std::shared_ptr<const Snapshot> before;
  for (std::size_t i = 0; i < kSampleRows; ++i) {
    const double share = static_cast<double>(kSampleRows - 1 - i) / (kSampleRows - 1);
    const auto snapshot = nearest_snapshot(
        run.snapshots, static_cast<std::int64_t>(static_cast<double>(last) * share * share));
    if (!snapshot || snapshot == before || run.examples.empty()) continue;
    before = snapshot;
    y += sample_row(state, ui, *snapshot, i % run.examples.size(),
                    {r.x0 + ui.px(18), y, r.x1 - ui.px(14), y + ui.px(20)});
  }
  return y;
}

// The last badge that a head has earned up to the shown step, and when.
std::string news(const AppState& state, const Ui& ui) {
  const RunView& run = state.train.run;
  const std::int64_t last = shown_step(state.session.train, run);
  const int heads = run.plan ? run.plan->config.head_count() : 1;
  std::string words;
  std::vector<std::optional<Badge>> held;
  for (const auto& snapshot : run.snapshots) {
    if (snapshot->step > last) break;
    held.resize(snapshot->probe.heads.size());
    for (std::size_t h = 0; h < held.size(); ++h) {
      const std::optional<Badge> badge = best_badge(snapshot->probe.heads[h]);
      if (badge && badge != held[h] && badge != Badge::kUniform) {
        words = ui.tr("train.news",
                      {{"head", std::to_string(h / static_cast<std::size_t>(heads)) + "." +
                                    std::to_string(h % static_cast<std::size_t>(heads))},
                       {"kind", std::string(ui.tr(badge_info(*badge).label))},
                       {"n", count_text(snapshot->step)}});
      }
      held[h] = badge;
    }
  }
  return words;
}

}  // namespace

void panel_train_side(const AppState& state, Ui& ui, const Rect& r) {
  ui.begin_panel("inspector", r, true);
  const Rect inside{r.x0, r.y0 - ImGui::GetScrollY(), r.x1, r.y1};
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto rule = [&](float y) { list->AddLine({r.x0, y}, {r.x1, y}, to_u32(ui.theme.line)); };
  float y = next_token(state, ui, inside) + ui.px(6);
  rule(y);
  if (says_next(state)) {
    y = sampling_rows(state, ui, {r.x0, y, r.x1, r.y1});
    rule(y);
  }
  y = samples(state, ui, {r.x0, y, r.x1, r.y1}) + ui.px(6);
  const std::string words = news(state, ui);
  if (!words.empty()) {
    rule(y);
    y += ui.px(10) + ui.wrapped(ui.fonts.control, {r.x0 + ui.px(18), y + ui.px(10)},
                                r.width() - ui.px(36), ui.theme.text, words);
  }
  y += ui.px(8);
  const bool can = is_enabled(Command::kTrainKeep, state);
  if (ui.button("train/side/keep", command_label(ui.language, Command::kTrainKeep),
                {r.x0 + ui.px(18), y, r.x1 - ui.px(18), y + ui.px(30)}, false, can,
                command_help(ui.language, Command::kTrainKeep)))
    ui.push(DoCommand{Command::kTrainKeep});
  y = earlier_runs(state, ui, {r.x0 + ui.px(18), y + ui.px(38), r.x1 - ui.px(18), r.y1});
  ImGui::SetCursorScreenPos({r.x0, y});
  ImGui::Dummy({1, ui.px(8)});
  ui.end_panel();
}

}  // namespace headlight
