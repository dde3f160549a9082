// Shuffle the words: two words change places, or all do; each word's result is put back where it
// was, and what has changed is what the model knows of order.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/lab/lab_run.h"
#include "core/lab/labs/labs.h"
#include "core/run/trace.h"

namespace headlight {
namespace {

constexpr std::size_t kShuffled = 32;
constexpr std::array<PositionKind, 8> kKinds = {
    PositionKind::kNone,   PositionKind::kSinusoidal,   PositionKind::kLearned,
    PositionKind::kRotary, PositionKind::kRelative,     PositionKind::kT5,
    PositionKind::kAlibi,  PositionKind::kTransformerXl};
constexpr std::int64_t kShownFeatures = 24;

// What tells the order beside positions, and what is said of the words: the columns of the matrix.
struct Told {
  const char* id;
  MaskKind mask;
  ModelForm form;
};
constexpr std::array<Told, 3> kTold = {{{"none", MaskKind::kNone, ModelForm::kTokens},
                                        {"causal", MaskKind::kCausal, ModelForm::kTokens},
                                        {"class", MaskKind::kNone, ModelForm::kClasses}}};

std::string word_of(PositionKind kind) {
  const auto words = choices(kind);
  return std::string(std::ranges::find(words, kind, &Choice<PositionKind>::value)->word);
}

std::string joined(std::span<const std::string> words, std::span<const std::size_t> order) {
  std::string text;
  for (const std::size_t i : order) text += (text.empty() ? "" : " ") + words[i];
  return text;
}

// Which word stands at each place.
std::vector<std::size_t> new_order(LabRun& run, std::size_t n) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(static_cast<std::uint64_t>(run.whole("draw")));
  if (n < 2) return order;
  if (run.word("what") == "swap") {
    const auto a = static_cast<std::size_t>(random.below(n));
    const auto b = static_cast<std::size_t>(random.below(n - 1));
    std::swap(order[a], order[b < a ? b : b + 1]);
    return order;
  }
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

// The rows from which the prediction is made: (token, d_model); of a classifier its logits, one
// row.
Tensor rows_of(const Trace& trace) {
  const Program& program = trace.program();
  const bool classes = program.config.form == ModelForm::kClasses;
  TensorId id = program.logits;
  for (const OpCall& call : program.calls) {
    if (!classes && call.out == program.logits) id = call.in[0];
  }
  const TensorView rows = trace.tensor(id);
  const std::int64_t width = rows.axes.back().size, count = rows.size() / width;
  return lab_tensor("rows", {{"position", count}, {"feature", width}},
                    {rows.data, rows.data + rows.size()});
}

// What came out before and after, each word's row put back where the word was: of the class there
// is one row, and nothing to put back.
struct Case {
  std::string kind;
  std::size_t told = 0;
  Tensor before, after, back;
  double difference = 0, size = 0;  // the largest; the root of the mean square of all cells

  std::string name() const { return kind + "." + kTold[told].id; }
  // So small that float32's rounding explains it.
  bool is_nothing() const { return difference <= 1e-4 * size; }
  double relative() const { return size > 0 ? difference / size : 0; }
};

void compare(Case& c, std::span<const std::size_t> order) {
  const auto n = static_cast<std::size_t>(c.before.axes[0].size);
  const auto width = static_cast<std::size_t>(c.before.axes[1].size);
  c.back = c.after;
  for (std::size_t t = 0; t < n; ++t) {
    const std::size_t was = kTold[c.told].form == ModelForm::kTokens ? order[t] : t;
    for (std::size_t f = 0; f < width; ++f) {
      const double a = c.before.data[was * width + f], b = c.after.data[t * width + f];
      c.back.data[was * width + f] = c.after.data[t * width + f];
      c.difference = std::max(c.difference, std::fabs(a - b));
      c.size += a * a;
    }
  }
  c.size = std::sqrt(c.size / static_cast<double>(std::max<std::size_t>(n * width, 1)));
}

const Case& find_case(const std::vector<Case>& cases, const std::string& name) {
  return *std::ranges::find(cases, name, &Case::name);
}

void add_words(LabRun& run, const std::vector<Case>& cases) {
  const Case &none = find_case(cases, "none.none"), &causal = find_case(cases, "none.causal");
  if (none.is_nothing()) run.notice("same", {{"difference", lab_number(none.difference)}});
  if (!causal.is_nothing()) run.notice("causal", {{"difference", lab_number(causal.difference)}});
  double low = INFINITY, high = 0;
  bool all = true;
  for (const Case& c : cases) {
    if (c.told != 0 || c.kind == "none") continue;
    low = std::min(low, c.difference);
    high = std::max(high, c.difference);
    all = all && !c.is_nothing();
  }
  if (all) run.notice("positions", {{"low", lab_number(low)}, {"high", lab_number(high)}});
  const Case &lost = find_case(cases, "none.class"), &back = find_case(cases, "sinusoidal.class");
  if (lost.is_nothing() && !back.is_nothing())
    run.notice("classes",
               {{"none", lab_number(lost.difference)}, {"with", lab_number(back.difference)}});
  const Case& own = find_case(cases, run.word("positions") + "." + run.word("mask"));
  LabQuestion ask{"asked", {}, {"nothing", "something"}, own.is_nothing() ? 0u : 1u, {}};
  ask.because = run.because(
      "asked", {{"difference", lab_number(own.difference)}, {"size", lab_number(own.size)}});
  run.result.questions.push_back(std::move(ask));
}

// Every kind of positions with everything that tells: differences beside the size of the numbers.
void add_table(LabRun& run, const std::vector<Case>& cases) {
  LabPicture table{"differences", {}, {}, {}};
  for (const Told& told : kTold) {
    table.columns.push_back("lab.shuffle.line." + std::string(told.id));
    run.result.series.push_back({"difference." + std::string(told.id), {}, {}});
  }
  for (const PositionKind kind : kKinds) {
    const std::string name = "lab.word." + word_of(kind);
    const auto at = static_cast<double>(table.rows.size());
    table.rows.push_back(name);
    for (std::size_t told = 0; told < kTold.size(); ++told) {
      const Case& c = find_case(cases, word_of(kind) + "." + kTold[told].id);
      table.cells.push_back(static_cast<float>(c.relative()));
      LabSeries& s = run.result.series[told];
      s.x.push_back(at);
      s.y.push_back(c.relative());
      s.names.push_back(name);
    }
  }
  run.result.pictures.push_back(std::move(table));
}

// The rows of the chosen model: as they were, put back in order, and what is left between them.
void add_outputs(LabRun& run, const Case& c, const std::vector<std::string>& names) {
  const std::int64_t n = c.before.axes[0].size, width = c.before.axes[1].size;
  const std::int64_t shown = std::min(width, kShownFeatures);
  for (const char* over : {"before", "back", "left"}) {
    LabPicture p{"outputs", names, {}, {}, LabColours::kSigned};
    p.over = "lab.shuffle.over." + std::string(over);
    double largest = 0;
    for (std::int64_t f = 0; f < shown; ++f) p.columns.push_back(std::to_string(f));
    for (std::int64_t t = 0; t < n; ++t) {
      for (std::int64_t f = 0; f < shown; ++f) {
        const auto at = static_cast<std::size_t>(t * width + f);
        const float before = c.before.data[at], back = c.back.data[at];
        const float cell = *over == 'l' ? back - before : p.over.ends_with("back") ? back : before;
        largest = std::max(largest, std::fabs(static_cast<double>(cell)));
        p.cells.push_back(cell);
      }
    }
    p.under = lab_number(largest);
    run.result.pictures.push_back(std::move(p));
  }
}

// What the lab sets in a recipe. Only attention can have every kind of positions.
ConfigChange change_of(PositionKind kind, const Told& told) {
  return [kind, told](Config& c) {
    c = next_token_config(c);
    c.form = told.form;
    c.pool = PoolKind::kMean;
    c.mixer = MixerKind::kAttention;
    c.positions = kind;
    c.mask = {};
    c.mask.kind = told.mask;
  };
}

// The same recipe for all, so that nothing else tells them apart.
Document common_document(LabRun& run) {
  std::vector<ConfigChange> changes;
  for (const PositionKind kind : kKinds) {
    for (const Told& told : kTold) changes.push_back(change_of(kind, told));
  }
  Document own = run.document();
  own.tokenizer = TokenizerKind::kWords;
  own.config = run.recipe_for(changes);
  return own;
}

void run_shuffle(LabRun& run) {
  if (run.model()) throw Error(Message{"lab.error.random_model"});
  const Document own = common_document(run);
  Document read = own;
  read.config = changed(own.config, change_of(PositionKind::kNone, kTold[0]));
  run.read(read);
  const std::vector<std::string> names = run.tokens(kShuffled);
  const std::vector<std::string>& all = run.trace().input().tokens;
  const std::vector<std::string> words(all.begin(), all.begin() + std::ssize(names));
  std::vector<std::size_t> as_it_was(words.size());
  std::iota(as_it_was.begin(), as_it_was.end(), std::size_t{0});
  const std::vector<std::size_t> order = new_order(run, words.size());
  std::vector<Case> cases;
  for (const PositionKind kind : kKinds) {
    for (std::size_t told = 0; told < kTold.size(); ++told) {
      run.tell(static_cast<double>(cases.size()) /
               static_cast<double>(kKinds.size() * kTold.size()));
      Document d = own;
      d.config = changed(own.config, change_of(kind, kTold[told]));
      Case c{word_of(kind), told, {}, {}, {}};
      d.sentence = joined(words, as_it_was);
      c.before = rows_of(*run.run(d));
      d.sentence = joined(words, order);
      c.after = rows_of(*run.run(d));
      if (c.before.axes != c.after.axes) throw Error(Message{"lab.error.words"});
      compare(c, order);
      c.before.name = "before." + c.name();
      c.after.name = "after." + c.name();
      if (c.name() == run.word("positions") + "." + run.word("mask")) run.result.in_steps = d;
      cases.push_back(std::move(c));
    }
  }
  for (const Case& c : cases) {
    run.value("difference." + c.name(), c.difference);
    run.result.tensors.push_back(c.before);
    run.result.tensors.push_back(c.after);
  }
  std::vector<float> places;
  for (const std::size_t i : order) places.push_back(static_cast<float>(i));
  run.result.tensors.push_back(lab_tensor("order", {{"position", std::ssize(order)}}, places));
  add_table(run, cases);
  add_outputs(run, find_case(cases, run.word("positions") + "." + run.word("mask")), names);
  add_words(run, cases);
}

}  // namespace

Lab shuffle_lab() {
  return {
      "shuffle",
      "order",
      "Vaswani et al. 2017, 3.5, https://arxiv.org/abs/1706.03762",
      {{"what", {"shuffle", "swap"}},
       {"positions",
        {"none", "sinusoidal", "learned", "rotary", "relative", "t5", "alibi", "transformer-xl"}},
       {"mask", {"none", "causal"}},
       {"draw", {}, 1, 1e6, 1, true}},
      run_shuffle,
      {{"difference", {"none", "causal", "class"}, false, true, {}, LabChartForm::kBars}},
      "random",
      {Role::kPosition},
      "f(P x) = P f(x)"};
}

}  // namespace headlight
