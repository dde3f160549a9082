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
constexpr std::array<PositionKind, 7> kKinds = {PositionKind::kNone,     PositionKind::kSinusoidal,
                                                PositionKind::kLearned,  PositionKind::kRotary,
                                                PositionKind::kRelative, PositionKind::kT5,
                                                PositionKind::kAlibi};

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

// The largest difference of a word's row, and the root of the mean square of all cells.
struct Compared {
  double difference = 0, size = 0;
};

Compared compare(const Tensor& before, const Tensor& after, std::span<const std::size_t> order) {
  const auto n = static_cast<std::size_t>(before.axes[0].size);
  const auto width = static_cast<std::size_t>(before.axes[1].size);
  Compared c;
  for (std::size_t t = 0; t < n; ++t) {
    const std::size_t was = n == order.size() ? order[t] : t;
    for (std::size_t f = 0; f < width; ++f) {
      const double a = before.data[was * width + f], b = after.data[t * width + f];
      c.difference = std::max(c.difference, std::fabs(a - b));
      c.size += a * a;
    }
  }
  c.size = std::sqrt(c.size / static_cast<double>(std::max<std::size_t>(n * width, 1)));
  return c;
}

struct Case {
  std::string name;
  Compared found;
};

// So small that float32's rounding explains it.
bool is_nothing(const Compared& c) { return c.difference <= 1e-4 * c.size; }

void add_words(LabRun& run, const std::vector<Case>& cases) {
  const auto of = [&](std::string_view name) {
    return std::ranges::find(cases, name, &Case::name)->found;
  };
  const Compared none = of("none.open"), causal = of("none.causal");
  if (is_nothing(none)) run.notice("same", {{"difference", lab_number(none.difference)}});
  if (!is_nothing(causal)) run.notice("causal", {{"difference", lab_number(causal.difference)}});
  double low = INFINITY, high = 0;
  for (const Case& c : cases) {
    if (!c.name.ends_with(".open") || c.name.starts_with("none.") || c.name.starts_with("class"))
      continue;
    low = std::min(low, c.found.difference);
    high = std::max(high, c.found.difference);
  }
  if (low > 10 * none.difference && low > 0)
    run.notice("positions", {{"low", lab_number(low)}, {"high", lab_number(high)}});
  if (is_nothing(of("class.none")) && !is_nothing(of("class.sinusoidal")))
    run.notice("classes", {{"none", lab_number(of("class.none").difference)},
                           {"with", lab_number(of("class.sinusoidal").difference)}});
  const std::string kind = run.word("positions"), mask = run.word("mask");
  const Compared asked = of(kind + "." + mask);
  LabQuestion ask{"asked", {}, {"nothing", "something"}, is_nothing(asked) ? 0u : 1u, {}};
  ask.because = run.because(
      "asked", {{"difference", lab_number(asked.difference)}, {"size", lab_number(asked.size)}});
  run.result.questions.push_back(std::move(ask));
}

void run_shuffle(LabRun& run) {
  if (run.model()) throw Error(Message{"lab.error.random_model"});
  Document own = run.document();
  own.tokenizer = TokenizerKind::kWords;
  own.config = next_token_config(own.config);
  run.read(own);
  const std::vector<std::string> names = run.tokens(kShuffled);
  const std::vector<std::string>& all = run.trace().input().tokens;
  const std::vector<std::string> words(all.begin(), all.begin() + std::ssize(names));
  std::vector<std::size_t> as_it_was(words.size());
  std::iota(as_it_was.begin(), as_it_was.end(), std::size_t{0});
  const std::vector<std::size_t> order = new_order(run, words.size());
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, PositionKind kind, MaskKind mask, ModelForm form) {
    Document d = own;
    d.config.form = form;
    d.config.pool = PoolKind::kMean;
    d.config.positions = kind;
    d.config.mask = {};
    d.config.mask.kind = mask;
    d.sentence = joined(words, as_it_was);
    const Tensor before = rows_of(*run.run(d));
    d.sentence = joined(words, order);
    const Tensor after = rows_of(*run.run(d));
    if (before.axes != after.axes) throw Error(Message{"lab.error.words"});
    cases.push_back({name, compare(before, after, order)});
    if (name != run.word("positions") + "." + run.word("mask")) return;
    run.result.in_steps = d;
    run.result.tensors = {before, after};
    run.result.tensors[0].name = "before";
    run.result.tensors[1].name = "after";
  };
  for (const PositionKind kind : kKinds) {
    run.tell(static_cast<double>(cases.size()) / (2 * kKinds.size() + 2));
    const std::string name = word_of(kind);
    add(name + ".open", kind, MaskKind::kNone, ModelForm::kTokens);
    add(name + ".causal", kind, MaskKind::kCausal, ModelForm::kTokens);
  }
  for (const PositionKind kind : {PositionKind::kNone, PositionKind::kSinusoidal})
    add("class." + word_of(kind), kind, MaskKind::kNone, ModelForm::kClasses);
  for (const Case& c : cases) run.value("difference." + c.name, c.found.difference);
  std::vector<float> places;
  for (const std::size_t i : order) places.push_back(static_cast<float>(i));
  run.result.tensors.push_back(lab_tensor("order", {{"position", std::ssize(order)}}, places));
  add_words(run, cases);
}

}  // namespace

Lab shuffle_lab() {
  return {"shuffle",
          "order",
          "Vaswani et al. 2017, 3.5, https://arxiv.org/abs/1706.03762",
          {{"what", {"shuffle", "swap"}},
           {"positions", {"none", "sinusoidal", "learned", "rotary", "relative", "t5", "alibi"}},
           {"mask", {"open", "causal"}},
           {"draw", {}, 1, 1e6, 1, true}},
          run_shuffle};
}

}  // namespace headlight
