// Building it up: from attention without parameters to a transformer, one thing at a time: the
// weights of the first head at each rung, what the rung changed and what it costs.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/graph/program_cost.h"
#include "core/lab/lab_run.h"
#include "core/lab/labs/labs.h"
#include "core/run/trace.h"

namespace headlight {
namespace {

constexpr std::size_t kBuiltTokens = 32;

struct Rung {
  const char* id;
  void (*add)(Config&);  // to the rung before
};

constexpr std::array<Rung, 10> kRungs = {{
    {"basic", [](Config&) {}},
    {"queries", [](Config& c) { c.attention = AttentionKind::kSingle; }},
    {"scale", [](Config& c) { c.scale = true; }},
    {"mask", [](Config& c) { c.mask.kind = MaskKind::kCausal; }},
    {"heads", [](Config& c) { c.attention = AttentionKind::kNarrow, c.heads = 4; }},
    {"output", [](Config& c) { c.output_projection = true; }},
    {"residual", [](Config& c) { c.residual = true; }},
    {"norm", [](Config& c) { c.block = BlockKind::kNormedAttention, c.norm = NormKind::kLayer; }},
    {"feed-forward", [](Config& c) { c.block = BlockKind::kPreNorm; }},
    {"layers", [](Config& c) { c.layers = 2; }},
}};

Config bare(const Config& own) {
  Config c;
  c.d_model = std::max(4, own.d_model / 4 * 4);
  c.seed = own.seed;
  c.attention = AttentionKind::kBasic;
  c.heads = c.layers = 1;
  c.scale = c.residual = c.output_projection = false;
  c.block = BlockKind::kAttention;
  c.norm = NormKind::kNone;
  c.positions = PositionKind::kNone;
  c.mask.kind = MaskKind::kNone;
  return c;
}

// What is seen at a rung. Weights: (heads, query, key) of the first layer.
struct Built {
  std::vector<float> weights;
  Tensor x;                     // what comes in
  std::vector<Tensor> learned;  // all parameters
  std::int64_t heads = 1, tokens = 0;
  double parameters = 0, multiply_adds = 0;
  double largest = 0;    // weight of a row, the mean
  double later = 0;      // weight on later words, the mean of the rows
  double asymmetry = 0;  // the largest |S_ij − S_ji| of the scores
  double alike = 0;  // the cosine between what comes in and what comes out, the mean of the rows

  double at(std::int64_t head, std::int64_t i, std::int64_t j) const {
    return weights[static_cast<std::size_t>((head * tokens + i) * tokens + j)];
  }
};

double mean_cosine(const TensorView& a, const TensorView& b) {
  const std::int64_t width = a.axes.back().size, rows = a.size() / width;
  double sum = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    double aa = 0, bb = 0, ab = 0;
    for (std::int64_t f = r * width; f < (r + 1) * width; ++f) {
      const double x = a.data[f], y = b.data[f];
      aa += x * x, bb += y * y, ab += x * y;
    }
    sum += aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
  }
  return sum / static_cast<double>(rows);
}

Built build(LabRun& run, const Document& document) {
  const auto trace = run.run(document);
  const Program& p = trace->program();
  const TensorId pattern = p.find(Role::kPattern, p.logits);
  const TensorView weights = trace->tensor(pattern);
  Built b;
  b.heads = weights.axes[1].size;
  b.tokens = weights.axes[2].size;
  b.weights.assign(weights.data, weights.data + weights.size());
  const ProgramCost cost = program_cost(p.config, p.shape);
  b.parameters = cost.parameter_count;
  b.multiply_adds = cost.multiply_adds;
  const TensorView scores = trace->tensor(p.find(Role::kScores, pattern));
  for (std::int64_t i = 0; i < b.tokens; ++i) {
    double largest = 0;
    for (std::int64_t j = 0; j < b.tokens; ++j) {
      const double w = b.at(0, i, j);
      largest = std::max(largest, w);
      if (j > i) b.later += w / static_cast<double>(b.tokens);
      const double s = scores.data[i * b.tokens + j], back = scores.data[j * b.tokens + i];
      b.asymmetry = std::max(b.asymmetry, std::fabs(s - back));
    }
    b.largest += largest / static_cast<double>(b.tokens);
  }
  // From the first stream to the last, without what the head makes of it.
  TensorId first = -1, last = -1;
  for (std::size_t id = 0; id < p.tensors.size(); ++id) {
    if (p.tensors[id].role != Role::kResidual) continue;
    if (first < 0) first = static_cast<TensorId>(id);
    last = static_cast<TensorId>(id);
  }
  const TensorView x = trace->tensor(first);
  b.x = lab_tensor("x", {{"position", b.tokens}, {"feature", x.axes.back().size}},
                   {x.data, x.data + x.size()});
  b.alike = mean_cosine(trace->tensor(first), trace->tensor(last));
  for (std::size_t id = 0; id < p.tensors.size(); ++id) {
    if (p.tensors[id].kind != TensorKind::kParameter) continue;
    const TensorView w = trace->tensor(static_cast<TensorId>(id));
    b.learned.push_back(lab_tensor(p.tensors[id].name, {w.axes.begin(), w.axes.end()},
                                   {w.data, w.data + w.size()}));
  }
  return b;
}

// How far the first two heads are apart: the mean over the rows of half the sum of differences.
double apart(const Built& b) {
  if (b.heads < 2) return 0;
  double sum = 0;
  for (std::int64_t i = 0; i < b.tokens; ++i) {
    for (std::int64_t j = 0; j < b.tokens; ++j) sum += std::fabs(b.at(0, i, j) - b.at(1, i, j)) / 2;
  }
  return sum / static_cast<double>(b.tokens);
}

void add_words(LabRun& run, const std::array<Built, kRungs.size()>& all) {
  const auto of = [&](std::string_view id) -> const Built& {
    return all[static_cast<std::size_t>(std::ranges::find(kRungs, id, &Rung::id) - kRungs.begin())];
  };
  const Built &basic = of("basic"), &queries = of("queries"), &scaled = of("scale"),
              &masked = of("mask"), &heads = of("heads"), &output = of("output"),
              &residual = of("residual"), &norm = of("norm"), &network = of("feed-forward");
  if (basic.asymmetry == 0 && queries.asymmetry > 0)
    run.notice("queries", {{"difference", lab_number(queries.asymmetry)}});
  if (scaled.largest < queries.largest)
    run.notice("scale",
               {{"before", lab_number(queries.largest)}, {"after", lab_number(scaled.largest)}});
  if (scaled.later > 0 && masked.later == 0)
    run.notice("mask", {{"before", lab_number(100 * scaled.later)}});
  if (apart(heads) > 0.05) run.notice("heads", {{"apart", lab_number(100 * apart(heads))}});
  if (residual.alike > output.alike)
    run.notice("residual",
               {{"before", lab_number(output.alike)}, {"after", lab_number(residual.alike)}});

  if (std::fabs(norm.largest - residual.largest) > 0.01)
    run.notice("norm",
               {{"before", lab_number(residual.largest)}, {"after", lab_number(norm.largest)}});
  if (network.weights == norm.weights && network.alike != norm.alike)
    run.notice("alone", {{"before", lab_number(norm.alike)}, {"after", lab_number(network.alike)}});

  LabQuestion ask{"parameters", {}, {}, 0, {}};
  double most = -1;
  for (std::size_t i = 1; i < kRungs.size(); ++i) {
    const double more = all[i].parameters - all[i - 1].parameters;
    if (more <= 0) continue;
    if (more > most) {
      most = more;
      ask.right = ask.answers.size();
    }
    ask.answers.emplace_back(kRungs[i].id);
  }
  ask.because =
      run.because("parameters", {{"more", count_text(std::llround(most))},
                                 {"all", count_text(std::llround(all.back().parameters))}});
  run.result.questions.push_back(std::move(ask));
}

// The parameters that this rung brought, or made anew: "<rung>.<name>".
void add_tensors(LabRun& run, const char* rung, const Built& b, const Built* before) {
  for (const Tensor& t : b.learned) {
    // Several heads may have the very numbers that one head had.
    const auto known = [&](const Tensor& old) {
      return old.name == t.name && old.axes == t.axes && old.data == t.data;
    };
    if (before && std::ranges::any_of(before->learned, known)) continue;
    run.result.tensors.push_back(t);
    run.result.tensors.back().name = std::string(rung) + "." + t.name;
  }
}

void run_building_up(LabRun& run) {
  if (run.model()) throw Error(Message{"lab.error.random_recipe"});
  Document document = run.document();
  document.config = bare(document.config);
  run.read(document);
  const std::vector<std::string> names = run.tokens(kBuiltTokens);
  document.max_tokens = std::min(document.max_tokens, static_cast<int>(kBuiltTokens));
  std::array<Built, kRungs.size()> all;
  std::array<LabSeries, 4> series = {
      {{"parameters", {}, {}}, {"multiply_adds", {}, {}}, {"largest", {}, {}}, {"alike", {}, {}}}};
  for (std::size_t i = 0; i < kRungs.size(); ++i) {
    run.tell(static_cast<double>(i) / static_cast<double>(kRungs.size()));
    const std::string id = kRungs[i].id, name = "lab.word." + id;
    kRungs[i].add(document.config);
    Built& b = all[i] = build(run, document);
    const std::array<double, 4> found = {b.parameters, b.multiply_adds, b.largest, b.alike};
    for (std::size_t s = 0; s < series.size(); ++s) {
      series[s].x.push_back(static_cast<double>(i));
      series[s].y.push_back(found[s]);
      series[s].names.push_back(name);
    }
    run.value("later." + id, b.later);
    run.value("asymmetry." + id, b.asymmetry);
    run.value("alike." + id, b.alike);
    const std::int64_t cells = b.tokens * b.tokens;
    LabPicture p{"weights", names, names, {b.weights.begin(), b.weights.begin() + cells}};
    p.at = static_cast<double>(i), p.under = lab_number(b.largest), p.over = name;
    run.result.pictures.push_back(std::move(p));
    add_tensors(run, kRungs[i].id, b, i > 0 ? &all[i - 1] : nullptr);
    if (run.word("rung") == id) run.result.in_steps = document;
  }
  run.result.tensors.push_back(std::move(all[0].x));
  run.value("heads_apart", apart(all[4]));
  run.result.series.assign(series.begin(), series.end());
  add_words(run, all);
}

}  // namespace

Lab building_up_lab() {
  Lab lab{"building-up",
          "what",
          "Vaswani et al. 2017, https://arxiv.org/abs/1706.03762",
          {{"rung", {}}},
          run_building_up,
          {{"parameters", {}, false, false, {}, LabChartForm::kBars},
           {"multiply_adds", {}, false, false, {}, LabChartForm::kBars},
           {"largest", {}, false, false, {}, LabChartForm::kBars},
           {"alike", {}, false, false, {}, LabChartForm::kBars}},
          "random",
          {Role::kResidual},
          "softmax(X Xᵀ) X → softmax(Q Kᵀ ÷ √d_k + M) V → …"};
  for (const Rung& rung : kRungs) lab.controls[0].words.emplace_back(rung.id);
  lab.controls[0].first_word = kRungs.size() - 1;
  return lab;
}

}  // namespace headlight
