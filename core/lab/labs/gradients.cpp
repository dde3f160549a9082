// Gradients by hand: one weight is moved by h, the loss is run again, and the difference is laid
// beside the gradient, as h goes to 0 and rounding wins.
#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/check/nudge.h"
#include "core/lab/lab_run.h"
#include "core/lab/labs/labs.h"
#include "core/run/targets.h"
#include "core/run/trace.h"

namespace headlight {
namespace {

constexpr int kHalvings = 22;  // h from 1 to 2^−22
constexpr std::int64_t kShownCells = 24;
constexpr std::size_t kLongest = 64;

struct Weight {
  TensorId tensor = -1;
  std::vector<std::int64_t> index;
  double gradient = 0;
};

// Of the weights whose gradient is not 0 everywhere, in the order of the program, the chosen one's
// largest gradient.
Weight chosen_weight(const LabRun& run, const Trace& trace) {
  const Program& program = trace.program();
  std::vector<TensorId> with;
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const auto tensor = static_cast<TensorId>(id);
    if (program.tensors[id].kind != TensorKind::kParameter || program.gradient(tensor) < 0)
      continue;
    const std::span<const float> d = trace.tensor(program.gradient(tensor)).cells();
    if (std::ranges::any_of(d, [](float g) { return g != 0; })) with.push_back(tensor);
  }
  if (with.empty()) throw Error(Message{"lab.error.no_weight"});
  Weight w{with[static_cast<std::size_t>(run.place("weight", std::ssize(with)))], {}, 0};
  const TensorView d = trace.tensor(program.gradient(w.tensor));
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < d.size(); ++i) {
    if (std::fabs(d.data[i]) > std::fabs(d.data[at])) at = i;
  }
  w.gradient = d.data[at];
  w.index = unravel(d.axes, at);
  return w;
}

struct Difference {
  double h = 0, forward = 0, central = 0, loss_up = 0, loss_down = 0, rounding = 0;
};

std::vector<Difference> differences(LabRun& run, const Trace& trace, const Weight& w) {
  std::vector<Difference> all;
  for (int i = 0; i <= kHalvings; ++i) {
    run.tell(static_cast<double>(i) / kHalvings);
    try {
      const Nudge n = nudge(trace, w.tensor, w.index, std::ldexp(1.0, -i), run.backend());
      all.push_back({n.step, (n.loss_up - n.loss) / n.step, n.slope(), n.loss_up, n.loss_down,
                     n.rounding_error()});
    } catch (const UsageError&) {
      break;  // a step so small that float32 does not move the weight
    }
  }
  if (all.empty()) throw Error(Message{"lab.error.no_weight"});
  return all;
}

// The h whose difference is nearest to the gradient.
std::size_t nearest(const std::vector<double>& errors) {
  return static_cast<std::size_t>(std::ranges::min_element(errors) - errors.begin());
}

// As float32 holds it h is next to a power of two.
std::string power_text(double h) {
  const long power = std::lround(std::log2(h));
  return power < 0 ? "2^−" + std::to_string(-power) : std::to_string(1L << power);
}

void add_words(LabRun& run, double gradient, const std::vector<Difference>& all,
               const std::vector<double>& forward, const std::vector<double>& central) {
  const std::size_t f = nearest(forward), c = nearest(central), last = all.size() - 1;
  run.notice("nearest", {{"h", power_text(all[c].h)},
                         {"central", lab_number(all[c].central)},
                         {"gradient", lab_number(gradient)}});
  // A quarter of h: a quarter of the error forward, a sixteenth of it central.
  for (std::size_t i = 0; i + 2 <= std::min(f, c); ++i) {
    const double by_forward = forward[i] / forward[i + 2], by_central = central[i] / central[i + 2];
    if (by_forward < 3 || by_forward > 5 || by_central < 12 || by_central > 20) continue;
    run.notice("order", {{"from", power_text(all[i].h)},
                         {"to", power_text(all[i + 2].h)},
                         {"forward", lab_number(by_forward)},
                         {"central", lab_number(by_central)}});
    break;
  }
  if (central[c] < forward[f] / 2)
    run.notice("better",
               {{"central", lab_number(central[c])}, {"forward", lab_number(forward[f])}});
  if (central[last] > 4 * central[c] && central[last] <= 10 * all[last].rounding)
    run.notice("rounding", {{"h", power_text(all[last].h)}, {"error", lab_number(central[last])}});
  // From where on rounding alone may be more than the best central difference is off.
  const auto wins = std::ranges::find_if(
      all, [&](const Difference& d) { return d.rounding > std::max(central[c], 1e-12); });
  if (wins != all.begin() && wins != all.end() && central[last] > 4 * central[c])
    run.notice("wins", {{"h", power_text(std::prev(wins)->h)}});
  LabQuestion ask{"smaller",
                  {{"h", power_text(all[c].h)}, {"last", power_text(all[last].h)}},
                  {"nearer", "farther"},
                  0,
                  {}};
  ask.right = central[last] > central[c] ? 1 : 0;
  ask.because = run.because(
      "smaller", {{"best", lab_number(central[c])}, {"last", lab_number(central[last])}});
  run.result.questions.push_back(std::move(ask));
}

// The gradient of the weight's matrix, at most so many rows and columns of it around the weight.
LabPicture around(const Trace& trace, const Weight& w) {
  const TensorView d = trace.tensor(trace.program().gradient(w.tensor));
  const std::size_t last = d.axes.size() - 1;
  const auto part = [&](std::size_t axis) {
    const std::int64_t size = std::min(kShownCells, d.axes[axis].size);
    return std::pair(
        std::clamp<std::int64_t>(w.index[axis] - size / 2, 0, d.axes[axis].size - size), size);
  };
  const auto [left, columns] = part(last);
  const auto [top, rows] = last > 0 ? part(last - 1) : std::pair<std::int64_t, std::int64_t>(0, 1);
  LabPicture p{"gradient", {}, {}, {}, LabColours::kSigned};
  for (std::int64_t j = 0; j < columns; ++j) p.columns.push_back(std::to_string(left + j));
  std::vector<std::int64_t> at = w.index;
  for (std::int64_t i = 0; i < rows; ++i) {
    p.rows.push_back(std::to_string(top + i));
    if (last > 0) at[last - 1] = top + i;
    for (std::int64_t j = 0; j < columns; ++j) {
      at[last] = left + j;
      p.cells.push_back(d.at(at));
    }
  }
  p.under = lab_number(w.gradient);
  return p;
}

void run_gradients(LabRun& run) {
  // Every h runs the sentence again, twice.
  Document document = run.document();
  run.tokens(kLongest);
  document.max_tokens = std::min(document.max_tokens, static_cast<int>(kLongest));
  const auto trace = run.run(document, true);
  const Weight w = chosen_weight(run, *trace);
  const std::vector<Difference> all = differences(run, *trace, w);
  const TensorSpec& spec = trace->program().tensors[place(w.tensor)];
  std::string cell;
  for (const std::int64_t i : w.index) cell += (cell.empty() ? "" : ", ") + std::to_string(i);
  run.result.notes.emplace_back("lab.note.weight",
                                std::vector<MessageSlot>{{"name", spec.name}, {"cell", cell}});
  LabSeries forward{"slope.forward", {}, {}}, central{"slope.central", {}, {}},
      line{"slope.gradient", {}, {}}, far{"error.forward", {}, {}}, near{"error.central", {}, {}},
      rounding{"error.rounding", {}, {}};
  std::vector<float> steps, rises, falls;
  const double loss = mean_loss(*trace);
  for (const Difference& d : all) {
    for (LabSeries* s : {&forward, &central, &line, &far, &near, &rounding}) s->x.push_back(d.h);
    forward.y.push_back(d.forward);
    central.y.push_back(d.central);
    line.y.push_back(w.gradient);
    far.y.push_back(std::fabs(d.forward - w.gradient));
    near.y.push_back(std::fabs(d.central - w.gradient));
    rounding.y.push_back(d.rounding);
    steps.push_back(static_cast<float>(d.h));
    rises.push_back(static_cast<float>(d.loss_up - loss));
    falls.push_back(static_cast<float>(loss - d.loss_down));
  }
  run.value("gradient", w.gradient);
  run.value("loss", loss);
  run.value("weight", trace->tensor(w.tensor).at(w.index));
  run.value("best_h.forward", all[nearest(far.y)].h);
  run.value("best_h.central", all[nearest(near.y)].h);
  run.value("error.forward", far.y[nearest(far.y)]);
  run.value("error.central", near.y[nearest(near.y)]);
  add_words(run, w.gradient, all, far.y, near.y);
  run.result.series = {forward, central, line, far, near, rounding};
  run.result.pictures.push_back(around(*trace, w));
  // Differences of losses: the losses themselves would lose them to rounding.
  const std::vector<Axis> axes = {{"query", std::ssize(all)}};
  const auto number = [](const char* name, double x) {
    return lab_tensor(name, {{"feature", 1}}, {static_cast<float>(x)});
  };
  run.result.tensors = {
      lab_tensor("h", axes, steps),    lab_tensor("rise", axes, rises),
      lab_tensor("fall", axes, falls), number("loss", loss),
      number("gradient", w.gradient),  number("weight", trace->tensor(w.tensor).at(w.index))};
}

}  // namespace

Lab gradients_lab() {
  return {"gradients",
          "training",
          "Griewank & Walther 2008, Evaluating Derivatives, chapter 1",
          {{"weight", {}, 0, 10000, 0, true}},
          run_gradients,
          {{"error", {"forward", "central", "rounding"}, true, true},
           {"slope", {"forward", "central", "gradient"}, true}},
          "random",
          {Role::kLoss},
          "∂L/∂w ≈ (L(w + h) − L(w − h)) ÷ 2h"};
}

}  // namespace headlight
