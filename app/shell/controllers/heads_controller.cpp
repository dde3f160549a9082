#include "app/shell/controllers/heads_controller.h"

#include <algorithm>
#include <cmath>

#include "app/ui/frame/panels.h"
#include "app/ui/heads/heads_lines.h"
#include "app/ui/heads/heads_reach.h"
#include "core/view/pane_layout.h"

namespace headlight {

HeadsController::HeadsController(const Shared& shared, StepsController& steps,
                                 HeadsSession& session, HeadsDerived& derived,
                                 const ShellOptions& options)
    : Controller(shared),
      steps_(steps),
      session_(session),
      derived_(derived),
      worker_(options.background, options.limits) {}

void HeadsController::settle() {
  if (!state_.derived.trace) return;
  HeadsSession& s = session_;
  const int heads = state_.derived.trace->config().head_count(),
            next = (state_.session.head + 1) % heads;
  if (s.other_head >= heads) s.other_head = -1;
  if (s.compare && s.other_head < 0) s.other_head = heads > 1 ? next : -1;
  if (s.compare && s.other_head == state_.session.head) s.other_head = next;
  if (heads < 2) s.compare = false;
}

HeadsController::Compared HeadsController::compared() const {
  const auto& trace = state_.derived.trace;
  if (!session_.compare || session_.other_head < 0 || !trace) return {};
  const Step* step = heads_step(state_);
  if (!step || session_.other_head >= trace->config().head_count()) return {};
  return {trace->serial(), step->tensor, state_.session.head, session_.other_head};
}

namespace {

bool at_one_place(const Step& a, const Step& b) {
  return a.stack == b.stack && a.section == b.section && a.layer == b.layer;
}

// What shows of another attention what `shown` shows of its own; the weights themselves where it
// has no such step.
int step_like(const Program& program, const Step& shown, int pattern) {
  const Step& there = program.steps[static_cast<std::size_t>(pattern)];
  const Role role = program.tensors[static_cast<std::size_t>(shown.tensor)].role;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    const bool same = at_one_place(shown, there) ? &step == &shown : program.makes(step, role);
    if (same && step.backward == shown.backward && at_one_place(step, there))
      return static_cast<int>(i);
  }
  return pattern;
}

}  // namespace

void HeadsController::lay_out_grid() {
  const Trace* trace = state_.derived.trace.get();
  const Step* shown = trace ? heads_step(state_) : nullptr;
  const Compared now = shown ? Compared{trace->serial(), shown->tensor, 0, 0} : Compared{};
  if (now == grid_of_) return;
  grid_of_ = now;
  derived_.grid = {now.serial, {}, -1};
  if (!shown) return;
  const Program& program = trace->program();
  for (const int pattern : pattern_steps(program)) {
    HeadsRow row{pattern, step_like(program, *shown, pattern), {}};
    const Step& step = program.steps[static_cast<std::size_t>(row.step)];
    for (int head = 0; head < program.config.head_count(); ++head)
      row.pictures.push_back(step_page(*trace, step, head).lines[0].back());
    if (at_one_place(*shown, step))
      derived_.grid.current = static_cast<int>(derived_.grid.rows.size());
    derived_.grid.rows.push_back(std::move(row));
  }
}

// Once for each model and each of its settings. Weights that are being trained change all the time:
// what was begun is finished, for the next ones.
void HeadsController::measure() {
  const Derived& d = state_.derived;
  if (!session_.measured || !d.trace || !shown_config(state_).keeps_pattern()) {
    if (derived_.means && !derived_.means->heads) derived_.means.reset();
    worker_.stop();
    return;
  }
  Document now = d.asked;
  now.sentence.clear();
  now.targets.clear();
  now.labs = {};
  now.max_tokens = kDefaultMaxTokens;
  const std::optional<HeadsMeans>& means = derived_.means;
  const bool same = means && means->document == now;
  const bool wanted = same && (means->model == d.model || worker_.busy());
  if (wanted || d.computing) return;
  derived_.means = HeadsMeans{d.model, now, 0, 0, nullptr, {}};
  worker_.request({now, d.model});
  poll();
}

// In the background: of a long text a backward pass takes more than a frame.
void HeadsController::find_reach() {
  if (reaching_.valid()) return;
  if (!reach_is_shown(state_)) {
    reach_cell_ = {};
    return;
  }
  const auto trace = state_.derived.trace;
  const CellRef cell = reach_cell(state_);
  if (trace->serial() == reach_serial_ && cell == reach_cell_) return;
  reach_serial_ = trace->serial();
  reach_cell_ = cell;
  derived_.reaching = true;
  reaching_ = std::async(std::launch::async,
                         [trace, cell] { return reach_of(*trace, cell.tensor, cell.index); });
}

bool HeadsController::take_reach() {
  const bool done =
      reaching_.valid() && reaching_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  if (!done) return false;
  derived_.reach = reaching_.get();
  derived_.reaching = false;
  derived_.reach_cells.clear();
  if (derived_.reach) {
    const auto& rows = derived_.reach->rows;
    for (auto row = rows.rbegin(); row != rows.rend(); ++row)
      derived_.reach_cells.insert(derived_.reach_cells.end(), row->norms.begin(), row->norms.end());
  }
  ++derived_.reach_key;
  return true;
}

bool HeadsController::poll() {
  if (take_reach()) return true;
  std::optional<HeadsNews> news = worker_.poll();
  if (!news || !derived_.means) return false;
  HeadsMeans& means = *derived_.means;
  means.done = news->done;
  means.count = news->count;
  means.heads = std::move(news->heads);
  means.problem = std::move(news->problem);
  return true;
}

void HeadsController::update() {
  lay_out_grid();
  measure();
  find_reach();
  const Compared now = compared();
  if (now == compared_) return;
  compared_ = now;
  HeadsDerived& d = derived_;
  d.difference.clear();
  d.largest_change = -1;
  if (now.tensor < 0) return;
  const Trace& trace = *state_.derived.trace;
  const Step& step = *heads_step(state_);
  const TensorView t = trace.tensor(now.tensor);
  const Pane a = step_page(trace, step, now.head).lines[0].back().pane;
  const Pane b = step_page(trace, step, now.other).lines[0].back().pane;
  float largest = 0;
  d.difference.reserve(static_cast<std::size_t>(a.rows * a.columns));
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < a.columns; ++c) {
      const float x = t.data[pane_flat(a, r, c)], y = t.data[pane_flat(b, r, c)];
      d.difference.push_back(x == y ? 0.0f : x - y);  // −∞ − (−∞) is no difference
      const float change = std::fabs(d.difference.back());
      if (!(change > largest)) continue;
      largest = change;
      d.largest_change = static_cast<std::int64_t>(d.difference.size()) - 1;
    }
  }
  d.difference_range = measure_range(d.difference);
  ++d.difference_key;
}

void HeadsController::on(const ChooseHead& a) {
  steps_.go_to_head(a.head);
  const int head = state_.session.head, count = shown_config(state_).head_count();
  if (session_.other_head == head) session_.other_head = count > 1 ? (head + 1) % count : -1;
}

void HeadsController::on(const CompareHead& a) {
  session_.other_head = a.head;
  session_.compare = a.head >= 0;
  if (a.head >= 0) session_.heads_view = HeadsView::kPictures;
  steps_.settle();
  settle();
}

void HeadsController::on(Is<kToggleCompare>) {
  session_.compare = !session_.compare;
  if (session_.compare) session_.heads_view = HeadsView::kPictures;
  steps_.settle();
  settle();
}

void HeadsController::on(Is<kSwitchHead>) {
  if (const std::optional<MaskedHead> head = chosen_head(state_)) perform(SwitchHead{*head});
}

void HeadsController::on(Is<kToggleLines>) {
  on(ChooseHeadsView{session_.heads_view == HeadsView::kLines ? HeadsView::kPictures
                                                              : HeadsView::kLines});
}

// The same word again lets it go.
void HeadsController::on(const ChooseReachWord& a) {
  session_.reach_word = a.word == session_.reach_word ? -1 : a.word;
}

// Lines stand on the stage of the softmax step, in the place of a comparison.
void HeadsController::on(const ChooseHeadsView& a) {
  session_.heads_view = a.view;
  if (a.view != HeadsView::kLines) return;
  session_.compare = false;
  const std::string pattern = lines_tensor(state_);
  if (!pattern.empty()) steps_.go_to(pattern);
}

// None chosen means the head that is looked at; so the last one stays.
void HeadsController::on(const ToggleLineHead& a) {
  HeadsSession& s = session_;
  if (s.line_heads.empty()) s.line_heads.push_back(state_.session.head);
  const auto at = std::find(s.line_heads.begin(), s.line_heads.end(), a.head);
  if (at == s.line_heads.end()) {
    s.line_heads.push_back(a.head);
    std::sort(s.line_heads.begin(), s.line_heads.end());
  } else if (s.line_heads.size() > 1) {
    s.line_heads.erase(at);
  }
}

}  // namespace headlight
