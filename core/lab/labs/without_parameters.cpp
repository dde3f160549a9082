// Attention without parameters: y = softmax(X Xᵀ) X, on the rows of the sentence's embeddings or on
// random vectors: why a word mostly sees itself, and what width, scale and temperature change.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/lab/lab_run.h"
#include "core/lab/labs/labs.h"
#include "core/lab/labs/reach_along.h"
#include "core/run/trace.h"

namespace headlight {
namespace {

constexpr std::size_t kSeenTokens = 32;
constexpr std::array<std::int64_t, 9> kVectorWidths = {4, 8, 16, 32, 64, 128, 256, 512, 1024};
constexpr std::array<double, 9> kTemperatures = {0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32};

// The sentence's embeddings, without positions.
Tensor embeddings(LabRun& run, std::int64_t tokens) {
  const Trace& trace = run.trace();
  const TensorId id = trace.program().find(Role::kEmbedding, trace.program().logits);
  if (id < 0) throw Error(Message{"lab.error.no_embedding"});
  const TensorView x = trace.tensor(id);
  const std::int64_t width = x.axes.back().size;
  return lab_tensor("x", {{"position", tokens}, {"feature", width}},
                    {x.data, x.data + tokens * width});
}

// A vector for each distinct token, so that equal words are equal.
Tensor random_rows(LabRun& run, std::int64_t tokens, std::int64_t width) {
  const RunInput& input = run.trace().input();
  std::vector<float> cells;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::uint64_t key = scatter(hash_text(input.tokens[static_cast<std::size_t>(t)]) +
                                      scatter(static_cast<std::uint64_t>(run.whole("draw"))));
    for (std::int64_t f = 0; f < width; ++f)
      cells.push_back(static_cast<float>(normal(key, static_cast<std::uint64_t>(f))));
  }
  return lab_tensor("x", {{"position", tokens}, {"feature", width}}, cells);
}

struct Attended {
  Tensor products;  // x · x, (query, key)
  Tensor weights;
  Tensor y;  // (query, feature)
};

Attended attend(const Tensor& x, bool scaled, double temperature) {
  const std::int64_t n = x.axes[0].size, width = x.axes[1].size;
  Tensor rows = x;
  rows.axes = {{"batch", 1}, {"head", 1}, {"position", n}, {"d_head", width}};
  const Tensor* both[] = {&rows, &rows};
  Attended a;
  a.products = lab_op(Op::kScores, both);
  OpParams params;
  params.factor = scaled ? static_cast<float>(1 / std::sqrt(static_cast<double>(width))) : 1.0f;
  params.temperature = temperature;
  const Tensor* one[] = {&a.products};
  const Tensor scores = lab_op(Op::kScale, one, params);
  const Tensor* in[] = {&scores};
  a.weights = lab_op(Op::kSoftmax, in, params);
  const Tensor* sum[] = {&a.weights, &rows};
  a.y = lab_op(Op::kWeightedSum, sum);
  return a;
}

// How a word sees itself, and the word that it sees most of all others.
struct Seen {
  double own = 0, own_product = 0, other = 0, other_product = 0;
  std::size_t which = 0;
};

std::vector<Seen> seen_by(const Attended& a) {
  const auto n = static_cast<std::size_t>(a.products.axes[2].size);
  std::vector<Seen> all(n);
  for (std::size_t i = 0; i < n; ++i) {
    Seen& s = all[i];
    s.own = a.weights.data[i * n + i];
    s.own_product = a.products.data[i * n + i];
    s.other = s.other_product = -INFINITY;
    s.which = i;
    for (std::size_t j = 0; j < n; ++j) {
      if (j == i || a.products.data[i * n + j] <= s.other_product) continue;
      s.other_product = a.products.data[i * n + j];
      s.other = a.weights.data[i * n + j];
      s.which = j;
    }
  }
  return all;
}

double mean_own(const Attended& a) {
  const std::vector<Seen> all = seen_by(a);
  double sum = 0;
  for (const Seen& s : all) sum += s.own;
  return sum / static_cast<double>(all.size());
}

double mean_of(std::span<const double> all) {
  double sum = 0;
  for (const double v : all) sum += v;
  return sum / static_cast<double>(all.size());
}

// Of different words: how far from a right angle they are, whatever the side.
double mean_cosine_apart(const ReachAlong& r) {
  const std::size_t n = r.lengths.size();
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double cosine = std::fabs(static_cast<double>(r.cosines[i * n + j]));
      if (i == j || cosine > 1 - 1e-5) continue;  // equal words
      sum += cosine, ++count;
    }
  }
  return count > 0 ? sum / count : 0;
}

// As width and temperature change. Widths are those of random vectors: a model has one.
void add_series(LabRun& run, const Tensor& x, const std::vector<std::string>& names) {
  const ReachAlong own = reach_along(x);
  LabSeries length{"reach.own", {}, own.lengths}, other{"reach.other", {}, own.others};
  for (LabSeries* s : {&length, &other}) {
    for (std::size_t i = 0; i < names.size(); ++i) s->x.push_back(static_cast<double>(i));
    s->names = names;
  }
  run.result.series = {length, other};
  LabSeries plain{"width.undivided", {}, {}}, divided{"width.divided", {}, {}},
      lengths{"geometry.length", {}, {}}, cosines{"geometry.cosine", {}, {}};
  for (const std::int64_t width : kVectorWidths) {
    run.tell(static_cast<double>(width) / 2048);
    const Tensor rows = random_rows(run, x.axes[0].size, width);
    const ReachAlong r = reach_along(rows);
    for (LabSeries* s : {&plain, &divided, &lengths, &cosines})
      s->x.push_back(static_cast<double>(width));
    for (LabSeries* s : {&plain, &divided})
      s->y.push_back(mean_own(attend(rows, s == &divided, run.number("temperature"))));
    lengths.y.push_back(mean_of(r.lengths));
    cosines.y.push_back(mean_cosine_apart(r));
  }
  for (LabSeries* s : {&plain, &divided, &lengths, &cosines})
    run.result.series.push_back(std::move(*s));
  for (const bool scaled : {false, true}) {
    LabSeries heat{scaled ? "heat.divided" : "heat.undivided", {}, {}};
    for (const double t : kTemperatures) {
      run.tell(0.5);
      heat.x.push_back(t);
      heat.y.push_back(mean_own(attend(x, scaled, t)));
    }
    run.result.series.push_back(std::move(heat));
  }
}

const LabSeries& series_of(const LabRun& run, std::string_view name) {
  return *std::ranges::find(run.result.series, name, &LabSeries::name);
}

void add_words(LabRun& run, const std::vector<std::string>& names, const std::vector<Seen>& seen) {
  const auto mostly = static_cast<std::size_t>(
      std::ranges::count_if(seen, [](const Seen& s) { return s.own > s.other; }));
  const std::string count = std::to_string(mostly), all = std::to_string(seen.size());
  if (seen.size() > 1)
    run.notice(2 * mostly > seen.size() ? "themselves" : "others", {{"n", count}, {"all", all}});
  const Seen& last = seen.back();
  if (seen.size() > 1 && last.own_product > last.other_product)
    run.notice("length", {{"word", names.back()},
                          {"own", lab_number(last.own_product)},
                          {"other", names[last.which]},
                          {"product", lab_number(last.other_product)}});
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen.size() < 2 || seen[i].own_product != seen[i].other_product) continue;
    run.notice("equal", {{"word", names[i]}, {"other", names[seen[i].which]}});
    break;
  }
  const LabSeries &reach = series_of(run, "reach.other"), &length = series_of(run, "reach.own");
  std::size_t beaten = 0, by = seen.size();
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!(seen[i].own_product < seen[i].other_product) || reach.y[i] <= length.y[i]) continue;
    ++beaten;
    if (by == seen.size()) by = i;
  }
  if (beaten > 0)
    run.notice("beaten", {{"word", names[by]},
                          {"other", names[seen[by].which]},
                          {"reach", lab_number(reach.y[by])},
                          {"length", lab_number(length.y[by])}});
  const LabSeries &lengths = series_of(run, "geometry.length"),
                  &cosines = series_of(run, "geometry.cosine");
  if (cosines.y.back() < cosines.y.front() / 4 && lengths.y.back() > 8 * lengths.y.front())
    run.notice("geometry", {{"short", lab_number(lengths.y.front())},
                            {"long", lab_number(lengths.y.back())},
                            {"before", lab_number(cosines.y.front())},
                            {"after", lab_number(cosines.y.back())}});
  const LabSeries &plain = series_of(run, "width.undivided"),
                  &divided = series_of(run, "width.divided");
  if (plain.y.back() > plain.y.front() + 0.1)
    run.notice("width", {{"first", lab_number(plain.y.front())},
                         {"last", lab_number(plain.y.back())},
                         {"divided", lab_number(divided.y.back())}});
  if (seen.size() < 2) return;
  LabQuestion ask{"last", {{"word", names.back()}}, {"itself", "another", "equally"}, 0, {}};
  ask.right = last.own > last.other ? 0 : last.own < last.other ? 1 : 2;
  ask.because = run.because("last", {{"word", names.back()},
                                     {"own", lab_number(last.own)},
                                     {"other", names[last.which]},
                                     {"weight", lab_number(last.other)}});
  run.result.questions.push_back(std::move(ask));
}

void run_without_parameters(LabRun& run) {
  const std::vector<std::string> names = run.tokens(kSeenTokens);
  const auto tokens = static_cast<std::int64_t>(names.size());
  const bool random = run.word("vectors") == "random";
  const Tensor x = random ? random_rows(run, tokens, run.whole("d")) : embeddings(run, tokens);
  const Attended a = attend(x, run.word("scale") == "on", run.number("temperature"));
  const std::vector<Seen> seen = seen_by(a);
  double length = 0, turn = 0;  // of y from x, as a cosine
  const std::int64_t width = x.axes[1].size;
  for (std::int64_t i = 0; i < tokens; ++i) {
    double xx = 0, yy = 0, xy = 0;
    for (std::int64_t f = 0; f < width; ++f) {
      const auto at = static_cast<std::size_t>(i * width + f);
      const double p = x.data[at], q = a.y.data[at];
      xx += p * p, yy += q * q, xy += p * q;
    }
    length += std::sqrt(xx);
    turn += xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
  }
  run.value("width", static_cast<double>(width));
  run.value("itself", mean_own(a));
  run.value("length", length / static_cast<double>(tokens));
  run.value("cosine_of_y_and_x", turn / static_cast<double>(tokens));
  const auto cells = [](const Tensor& t) {
    return std::vector<float>(t.data.begin(), t.data.end());
  };
  run.result.pictures = {{"cosines", names, names, reach_along(x).cosines, LabColours::kSigned},
                         {"products", names, names, cells(a.products), LabColours::kSigned},
                         {"weights", names, names, cells(a.weights)}};
  run.result.pictures[2].under = lab_number(mean_own(a));
  run.show();
  add_series(run, x, names);
  add_words(run, names, seen);
  run.result.tensors.push_back(x);
  // The widest: a vector of d numbers has the first d of them.
  run.result.tensors.push_back(random_rows(run, tokens, kVectorWidths.back()));
  run.result.tensors.back().name = "random";
  Document& steps = run.result.in_steps;
  if (!steps.model.empty()) steps.tokenizer = TokenizerKind::kWords;
  steps.model.clear();  // basic attention has no weights to be learned
  run.show_in_steps([&](Config& c) {
    c.attention = AttentionKind::kBasic;
    c.block = BlockKind::kAttention;
    c.positions = PositionKind::kNone;
    c.form = ModelForm::kTokens;
    c.heads = c.layers = 1;
    c.mask = {};
    c.mask.kind = MaskKind::kNone;
    c.scale = run.word("scale") == "on";
    c.temperature = run.number("temperature");
    if (random) c.d_model = static_cast<int>(run.whole("d"));
  });
}

}  // namespace

Lab without_parameters_lab() {
  return {"without-parameters",
          "what",
          "Vaswani et al. 2017, 3.2.1, https://arxiv.org/abs/1706.03762",
          {{"vectors", {"model", "random"}},
           {"scale", {"off", "on"}},
           {"temperature", {}, 0.05, 10, 1, false, true},
           {"d", {}, 2, 1024, 64, true, true},
           {"draw", {}, 1, 1e6, 1, true}},
          run_without_parameters,
          {{"reach", {"own", "other"}, false, false, {}, LabChartForm::kBars},
           {"width", {"undivided", "divided"}, true, false, "d"},
           {"geometry", {"length", "cosine"}, true, true, "d"},
           {"heat", {"undivided", "divided"}, true, false, "temperature"}},
          "random",
          {Role::kEmbedding},
          "Y = softmax(X Xᵀ) X"};
}

}  // namespace headlight
