// Several heads: what they cost, narrow and wide; what the mean of two heads hides; and
// (core/lab/parts/asked_heads.cpp) what two heads can do that one does not.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/graph/program_cost.h"
#include "core/lab/lab_training.h"
#include "core/lab/labs/labs.h"
#include "core/lab/parts/parts.h"

namespace headlight {
namespace {

constexpr int kHeadTokens = 32;
constexpr std::array<int, 4> kHeadCounts = {1, 2, 4, 8};
constexpr std::array<const char*, 2> kBreadths = {"narrow", "wide"};

// Weights of some heads for the first tokens, (heads, rows, keys).
struct SeenHeads {
  std::string name;
  std::int64_t heads = 0, rows = 0, keys = 0;
  std::vector<float> weights;

  std::span<const float> row(std::int64_t head, std::int64_t i) const {
    return {weights.data() + (head * rows + i) * keys, static_cast<std::size_t>(keys)};
  }
  Tensor tensor() const {
    return lab_tensor(name, {{"head", heads}, {"query", rows}, {"key", keys}}, weights);
  }
};

SeenHeads seen_heads(const Trace& trace, TensorId pattern, std::string name) {
  const TensorView t = trace.tensor(pattern);
  SeenHeads s{std::move(name),
              t.axes[1].size,
              std::min<std::int64_t>(t.axes[2].size, kHeadTokens),
              t.axes[3].size,
              {}};
  for (std::int64_t h = 0; h < s.heads; ++h) {
    const float* first = t.data + h * t.axes[2].size * s.keys;
    s.weights.insert(s.weights.end(), first, first + s.rows * s.keys);
  }
  return s;
}

double row_bits(std::span<const double> row) {
  double bits = 0;
  for (const double w : row) bits -= w > 0 ? w * std::log2(w) : 0;
  return bits;
}

// The entropy in bits of the mean of these heads, the mean of the rows.
double entropy_of_heads(const SeenHeads& s, std::span<const std::int64_t> heads) {
  double sum = 0;
  for (std::int64_t i = 0; i < s.rows; ++i) {
    std::vector<double> mean(static_cast<std::size_t>(s.keys), 0.0);
    for (const std::int64_t h : heads) {
      const auto row = s.row(h, i);
      for (std::size_t j = 0; j < row.size(); ++j)
        mean[j] += static_cast<double>(row[j]) / static_cast<double>(heads.size());
    }
    sum += row_bits(mean) / static_cast<double>(s.rows);
  }
  return sum;
}

double entropy_of_each(const SeenHeads& s) {
  double sum = 0;
  for (std::int64_t h = 0; h < s.heads; ++h)
    sum += entropy_of_heads(s, std::array{h}) / static_cast<double>(s.heads);
  return sum;
}

double entropy_of_mean(const SeenHeads& s) {
  std::vector<std::int64_t> all;
  for (std::int64_t h = 0; h < s.heads; ++h) all.push_back(h);
  return entropy_of_heads(s, all);
}

// Half the sum of the differences of two heads' weights, the mean of the rows: 0 alike, 1 apart.
double distance_of_heads(const SeenHeads& s, std::int64_t a, std::int64_t b) {
  double sum = 0;
  for (std::int64_t i = 0; i < s.rows; ++i) {
    const auto x = s.row(a, i), y = s.row(b, i);
    for (std::size_t j = 0; j < x.size(); ++j)
      sum += std::fabs(static_cast<double>(x[j]) - static_cast<double>(y[j])) / 2;
  }
  return sum / static_cast<double>(s.rows);
}

// ---- random heads, narrow and wide ----

Config one_attention(const Document& of, int heads, std::size_t breadth) {
  Config c;
  c.layers = 1;
  c.seed = of.config.seed;
  c.attention = breadth == 0 ? AttentionKind::kNarrow : AttentionKind::kWide;
  c.heads = heads;
  return c;
}

double attention_parameters(const Program& program) {
  double sum = 0;
  for (const ParameterCost& p : program_cost(program.config, program.shape).parameters) {
    if (p.section == Section::kAttention && !p.norm) sum += p.count;
  }
  return sum;
}

std::vector<std::string> head_names_along(const Trace& trace, const Axis& axis) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(axis.size, kHeadTokens); ++i)
    names.push_back(trace.name(axis.name, i));
  return names;
}

void show_random(LabRun& run) {
  const int chosen = static_cast<int>(run.whole("heads"));
  std::array<LabSeries, 2> parameters, entropy;
  LabSeries mean{"entropy.mean", {}, {}};
  for (std::size_t breadth = 0; breadth < 2; ++breadth) {
    parameters[breadth].name = std::string("parameters.") + kBreadths[breadth];
    entropy[breadth].name = std::string("entropy.") + kBreadths[breadth];
    for (const int heads : kHeadCounts) {
      Document d;
      d.sentence = run.document().sentence;
      if (run.document().model.empty()) d.tokenizer = run.document().tokenizer;
      d.max_tokens = kHeadTokens;
      d.config = one_attention(run.document(), heads, breadth);
      const auto trace = run.run(d);
      const Program& p = trace->program();
      const TensorId pattern = p.find(Role::kPattern, p.logits);
      const SeenHeads s = seen_heads(*trace, pattern,
                                     std::string(kBreadths[breadth]) + "." + std::to_string(heads));
      parameters[breadth].x.push_back(heads);
      parameters[breadth].y.push_back(attention_parameters(p));
      entropy[breadth].x.push_back(heads);
      entropy[breadth].y.push_back(entropy_of_each(s));
      if (breadth == 0) mean.x.push_back(heads), mean.y.push_back(entropy_of_mean(s));
      run.result.tensors.push_back(s.tensor());
      if (heads != chosen) continue;
      run.value(std::string("parameters.") + kBreadths[breadth], parameters[breadth].y.back());
      const auto names = head_names_along(*trace, trace->tensor(pattern).axes[2]);
      for (std::int64_t h = 0; h < std::min<std::int64_t>(heads, 4); ++h) {
        const float* cells = s.weights.data() + h * s.rows * s.keys;
        run.result.pictures.push_back({kBreadths[breadth],
                                       names,
                                       names,
                                       {cells, cells + s.rows * s.keys},
                                       LabColours::kWeights,
                                       0,
                                       {},
                                       std::to_string(h)});
      }
    }
  }
  const auto weights = [](double count) { return std::to_string(std::lround(count)); };
  run.notice(chosen == 1 ? "one" : "cost",
             {{"heads", std::to_string(chosen)},
              {"narrow", weights(run.result.value("parameters.narrow"))},
              {"wide", weights(run.result.value("parameters.wide"))}});
  for (auto& s : parameters) run.result.series.push_back(std::move(s));
  for (auto& s : entropy) run.result.series.push_back(std::move(s));
  run.result.series.push_back(std::move(mean));
}

// ---- the two heads of the sentence's own model that are farthest_heads apart, and their mean ----

struct HeadPair {
  SeenHeads heads;
  TensorId pattern = -1;
  std::int64_t a = 0, b = 0;
  double distance = -1;
};

HeadPair farthest_heads(const Trace& trace) {
  HeadPair best;
  const Program& p = trace.program();
  for (std::size_t id = 0; id < p.tensors.size(); ++id) {
    if (p.tensors[id].role != Role::kPattern) continue;
    const SeenHeads s = seen_heads(trace, static_cast<TensorId>(id), "own");
    for (std::int64_t a = 0; a < s.heads; ++a) {
      for (std::int64_t b = a + 1; b < s.heads; ++b) {
        const double distance = distance_of_heads(s, a, b);
        if (distance > best.distance) best = {s, static_cast<TensorId>(id), a, b, distance};
      }
    }
  }
  return best;
}

void add_pair_pictures(LabRun& run, const HeadPair& pair) {
  const Trace& trace = run.trace();
  const TensorView t = trace.tensor(pair.pattern);
  const auto rows = head_names_along(trace, t.axes[2]),
             columns = head_names_along(trace, t.axes[3]);
  std::array<LabPicture, 3> all;
  for (LabPicture& p : all) p.rows = rows, p.columns = columns, p.name = "pair";
  all[0].over = std::to_string(pair.a), all[1].over = std::to_string(pair.b);
  all[2].name = "mean";
  for (std::int64_t i = 0; i < std::ssize(rows); ++i) {
    const auto a = pair.heads.row(pair.a, i), b = pair.heads.row(pair.b, i);
    for (std::size_t j = 0; j < columns.size(); ++j) {
      all[0].cells.push_back(a[j]);
      all[1].cells.push_back(b[j]);
      all[2].cells.push_back((a[j] + b[j]) / 2);
    }
  }
  for (LabPicture& p : all) run.result.pictures.push_back(std::move(p));
}

void show_mean(LabRun& run) {
  const HeadPair pair = farthest_heads(run.trace());
  if (pair.pattern < 0) {
    run.result.notes.emplace_back("lab.heads.note");
    return;
  }
  const double a = entropy_of_heads(pair.heads, std::array{pair.a}),
               b = entropy_of_heads(pair.heads, std::array{pair.b}),
               mean = entropy_of_heads(pair.heads, std::array{pair.a, pair.b});
  run.value("own.distance", pair.distance);
  run.value("own.entropy_a", a);
  run.value("own.entropy_b", b);
  run.value("own.entropy_mean", mean);
  run.result.tensors.push_back(pair.heads.tensor());
  add_pair_pictures(run, pair);
  const std::vector<MessageSlot> slots = {
      {"layer",
       std::to_string(
           run.trace().program().tensors[static_cast<std::size_t>(pair.pattern)].place.layer)},
      {"a", std::to_string(pair.a)},
      {"b", std::to_string(pair.b)},
      {"distance", lab_percent(pair.distance)},
      {"entropy_a", lab_number(a)},
      {"entropy_b", lab_number(b)},
      {"mean", lab_number(mean)}};
  if (mean > std::max(a, b) && pair.distance > 0.1) run.notice("mean", slots);
  LabQuestion ask{"mean", slots, {"less", "between", "more"}, 0, {}};
  ask.right = mean < std::min(a, b) ? 0 : mean <= std::max(a, b) ? 1 : 2;
  ask.because = run.because("mean", slots);
  if (pair.distance > 0) run.result.questions.push_back(std::move(ask));
}

void run_heads(LabRun& run) {
  run.tokens(kHeadTokens);
  show_mean(run);
  show_random(run);
  run.show();
  show_asked_heads(run);
}

}  // namespace

Lab heads_lab() {
  return {"heads",
          "what",
          "Vaswani et al. 2017, 3.2.2, https://arxiv.org/abs/1706.03762",
          {training_control(),
           {.id = "heads", .words = {"1", "2", "4", "8"}, .first_word = 2},
           {.id = "asked", .words = {"who", "whom", "what", "both"}, .first_word = 3}},
          run_heads,
          {{.id = "looks", .lines = {"one", "first", "second"}, .form = LabChartForm::kBars},
           {"learning", {"one", "two"}, false, true},
           {"entropy", {"narrow", "wide", "mean"}, true, false, "heads"},
           {"parameters", {"narrow", "wide"}, true, false, "heads"}},
          "",
          {Role::kConcat, Role::kPattern},
          "MultiHead(X) = [head₁ … head_h] W_O"};
}

}  // namespace headlight
