// Reach: which words can influence which after some layers, as changed words show, the steps and
// paths that it takes, and what trained models recall over how many tokens.
#include <algorithm>
#include <array>

#include "core/graph/reach.h"
#include "core/lab/lab_training.h"
#include "core/lab/labs/labs.h"
#include "core/run/run_trace.h"
#include "core/train/predictor.h"

namespace headlight {
namespace {

constexpr std::size_t kReachTokens = 16;
constexpr int kDeepest = 8, kLocalWindow = 2, kStrideOf = 4, kWindowOfThree = 3;

struct ReachKind {
  const char* id;
  void (*set)(Config&);
};
constexpr std::array<ReachKind, 5> kReachKinds = {{
    {"recurrent", [](Config& c) { c.mixer = MixerKind::kRecurrent; }},
    {"convolution",
     [](Config& c) { c.mixer = MixerKind::kConvolution, c.kernel = kWindowOfThree; }},
    {"local", [](Config& c) { c.mask.kind = MaskKind::kLocal, c.mask.window = kLocalWindow; }},
    {"strided", [](Config& c) { c.mask.kind = MaskKind::kStrided, c.mask.stride = kStrideOf; }},
    {"full", [](Config&) {}},
}};
enum ReachPlace : std::size_t {
  kRecurrentKind,
  kConvolutionKind,
  kLocalKind,
  kStridedKind,
  kFullKind
};

Config reach_config(const ReachKind& kind, int layers) {
  Config c;
  c.layers = layers;
  c.d_model = 16;
  c.heads = 2;
  c.positions = PositionKind::kNone;  // what is recalled is a letter, wherever it stands
  kind.set(c);
  return c;
}

// By layer: may row i change when token j does? (row i, column j)
using Influence = std::vector<std::vector<float>>;

// The stream behind each layer.
std::vector<std::vector<float>> rows_behind_layers(const Trace& trace) {
  const Program& p = trace.program();
  std::vector<std::vector<float>> all(static_cast<std::size_t>(p.config.layers));
  for (std::size_t id = 0; id < p.tensors.size(); ++id) {
    const TensorSpec& spec = p.tensors[id];
    if (spec.role != Role::kResidual || spec.place.layer < 0) continue;
    const std::span<const float> cells = trace.tensor(static_cast<TensorId>(id)).cells();
    all[static_cast<std::size_t>(spec.place.layer)].assign(cells.begin(), cells.end());
  }
  return all;
}

// Each token in turn becomes another one: a row that is not the same to the bit has heard of it.
Influence influence_of(LabRun& run, const Config& config, const std::vector<std::string>& tokens) {
  const std::size_t n = tokens.size();
  SandboxModel weights(config.seed);
  const auto rows_of = [&](const std::vector<std::string>& read) {
    RunInput input = sandbox_input(read);
    RunShape shape;
    shape.positions = static_cast<std::int64_t>(n);
    shape.vocab = std::ssize(input.vocab);
    const auto program = std::make_shared<const Program>(build_program(config, shape));
    return rows_behind_layers(*run_trace(program, std::move(input), weights, run.backend()));
  };
  const auto before = rows_of(tokens);
  Influence all(before.size(), std::vector<float>(n * n, 0.0f));
  for (std::size_t j = 0; j < n; ++j) {
    run.tell(0.1);
    std::vector<std::string> changed = tokens;
    changed[j] = "another token";
    const auto after = rows_of(changed);
    const std::size_t width = before[0].size() / n;
    for (std::size_t layer = 0; layer < before.size(); ++layer) {
      for (std::size_t i = 0; i < n; ++i) {
        const auto row = [&](const std::vector<float>& x) {
          return std::span(x).subspan(i * width, width);
        };
        if (!std::ranges::equal(row(before[layer]), row(after[layer]))) all[layer][i * n + j] = 1;
      }
    }
  }
  return all;
}

// How many of all words reach the last one.
double reach_last(const std::vector<float>& influence, std::size_t n) {
  return static_cast<double>(
      std::count(influence.end() - static_cast<std::ptrdiff_t>(n), influence.end(), 1.0f));
}

// ---- what trained models recall ----

constexpr int kRecallContext = 17, kRecallKeys = 8, kRecallLayers = 2;
constexpr std::int64_t kRecallSteps = 800;
constexpr std::size_t kRecallExamples = 1024;

RunPlan recall_plan(const ReachKind& kind) {
  RunPlan plan = default_plan("recall");
  plan.settings.task_options = {{"context", kRecallContext}, {"symbols", kRecallKeys}};
  plan.settings.schedule = {ScheduleKind::kCosine, 5e-3, 0, 40, kRecallSteps};
  plan.stop.steps = kRecallSteps;
  plan.config = reach_config(kind, kRecallLayers);
  plan.config.d_model = 32;
  plan.init = Init::kGlorot;
  return plan;
}

// Fresh examples: over how many tokens, and whether the model is right.
void add_hits(const Model& model, const Task& task, const std::string& name,
              std::vector<Tensor>& kept) {
  Predictor predictor(std::make_shared<Model>(model), 1);
  Random random(99);
  std::vector<float> distances, hits;
  std::vector<int> ids;
  std::vector<int> right;
  for (std::size_t e = 0; e < kRecallExamples; ++e) {
    const TaskExample example = task.draw(random, Split::kValidation);
    distances.push_back(static_cast<float>(task.distance(example).value_or(0)));
    ids.insert(ids.end(), example.tokens.begin(), example.tokens.end());
    right.push_back(example.targets.back());
  }
  const std::span<const float> logits = predictor.logits(ids, kRecallContext);
  const std::size_t vocab = logits.size() / ids.size();
  for (std::size_t e = 0; e < kRecallExamples; ++e) {
    const auto last = logits.subspan(((e + 1) * kRecallContext - 1) * vocab, vocab);
    const auto best = std::ranges::max_element(last) - last.begin();
    hits.push_back(best == right[e] ? 1.0f : 0.0f);
  }
  if (name == kReachKinds[0].id)
    kept.push_back(lab_tensor("distance", {{"kept", std::ssize(distances)}}, distances));
  kept.push_back(lab_tensor("hits." + name, {{"kept", std::ssize(hits)}}, hits));
}

std::vector<Tensor> train_recall(LabRun& run) {
  std::vector<Tensor> kept;
  for (std::size_t k = 0; k < kReachKinds.size(); ++k) {
    LabTraining training{kReachKinds[k].id, recall_plan(kReachKinds[k]), nullptr, 40, {}, 0, 1};
    training.task = lab_task(training.plan);
    training.begin = static_cast<double>(k) / kReachKinds.size();
    training.end = static_cast<double>(k + 1) / kReachKinds.size();
    const auto model = train(run, training, kept);
    add_hits(*model, *training.task, kReachKinds[k].id, kept);
  }
  return kept;
}

// Accuracy at each distance, from 1.
std::vector<double> recall_by_distance(std::span<const Tensor> kept, const std::string& name) {
  const FloatBuffer &distance = kept_tensor(kept, "distance").data,
                    &hits = kept_tensor(kept, "hits." + name).data;
  std::vector<double> right(kRecallContext - 1, 0.0), all(kRecallContext - 1, 0.0);
  for (std::size_t e = 0; e < distance.size(); ++e) {
    const auto d = static_cast<std::size_t>(distance[e]) - 1;
    right[d] += static_cast<double>(hits[e]);
    ++all[d];
  }
  for (std::size_t d = 0; d < all.size(); ++d) right[d] /= std::max(all[d], 1.0);
  return right;
}

// ---- what is said ----

struct Reached {
  std::size_t tokens = 0;
  std::array<Influence, kReachKinds.size()> influence;
  std::array<std::vector<double>, kReachKinds.size()> path;  // from the last one back, from 1
  std::array<std::vector<double>, kReachKinds.size()> recall;

  double last(ReachPlace kind, std::int64_t layers) const {
    return reach_last(influence[kind][static_cast<std::size_t>(layers - 1)], tokens);
  }
};

// Steps on the way to the last token: through a recurrent layer one for each token, else the first
// layer behind which it has heard.
std::vector<double> reach_paths(const Reached& r, std::size_t kind) {
  std::vector<double> all;
  const std::size_t last = r.tokens - 1;
  for (std::size_t back = 1; back <= last; ++back) {
    if (kind == kRecurrentKind) {
      const Config c = reach_config(kReachKinds[kind], kDeepest);
      all.push_back(static_cast<double>(path_length(c, static_cast<std::int64_t>(r.tokens),
                                                    static_cast<std::int64_t>(last),
                                                    static_cast<std::int64_t>(last - back))
                                            .value_or(0)));
      continue;
    }
    int layers = 1;
    for (const std::vector<float>& influence : r.influence[kind]) {
      if (influence[last * r.tokens + last - back] == 1.0f) break;
      ++layers;
    }
    if (layers > kDeepest) break;
    all.push_back(layers);
  }
  return all;
}

LabSeries reach_series(std::string name, std::vector<double> y) {
  LabSeries s{std::move(name), {}, std::move(y)};
  for (std::size_t i = 1; i <= s.y.size(); ++i) s.x.push_back(static_cast<double>(i));
  return s;
}

void add_reach(LabRun& run, Reached& r, const std::vector<std::string>& names) {
  const std::int64_t layers = run.whole("layers");
  for (std::size_t k = 0; k < kReachKinds.size(); ++k) {
    const std::string id = kReachKinds[k].id;
    r.influence[k] = influence_of(run, reach_config(kReachKinds[k], kDeepest), names);
    const auto n = static_cast<std::int64_t>(r.tokens);
    run.result.tensors.push_back(
        lab_tensor("one_layer." + id, {{"query", n}, {"key", n}}, r.influence[k][0]));
    std::vector<double> reached;
    for (const std::vector<float>& influence : r.influence[k])
      reached.push_back(reach_last(influence, r.tokens));
    const std::vector<float>& cells = r.influence[k][static_cast<std::size_t>(layers - 1)];
    const double dark = static_cast<double>(std::ranges::count(cells, 1.0f)),
                 allowed = static_cast<double>(n * (n + 1) / 2);
    run.result.pictures.push_back({"reach", names, names, cells, LabColours::kWeights, 0,
                                   lab_percent(dark / allowed) + " %", "lab.reach.line." + id});
    r.path[k] = reach_paths(r, k);
    run.value("reached." + id, reached[static_cast<std::size_t>(layers - 1)]);
    run.result.series.push_back(reach_series("reached." + id, std::move(reached)));
    if (!r.path[k].empty()) run.value("path." + id, r.path[k].back());
    run.value("steps." + id,
              static_cast<double>(sequential_steps(reach_config(kReachKinds[k], 1), n)));
    run.result.series.push_back(reach_series("path." + id, r.path[k]));
    LabSeries steps{"steps." + id, {}, {}};
    for (std::int64_t tokens = 1; tokens <= 1024; tokens *= 4) {
      steps.x.push_back(static_cast<double>(tokens));
      steps.y.push_back(
          static_cast<double>(sequential_steps(reach_config(kReachKinds[k], 1), tokens)));
    }
    run.result.series.push_back(std::move(steps));
  }
}

void add_recall(LabRun& run, Reached& r, std::span<const Tensor> kept) {
  run.result.tensors.push_back(kept_tensor(kept, "distance"));
  for (std::size_t k = 0; k < kReachKinds.size(); ++k) {
    const std::string id = kReachKinds[k].id;
    r.recall[k] = recall_by_distance(kept, id);
    const Tensor& hits = kept_tensor(kept, "hits." + id);
    run.result.tensors.push_back(hits);
    double right = 0;
    for (const float hit : hits.data) right += static_cast<double>(hit);
    run.value("recall." + id, right / static_cast<double>(hits.data.size()));
    run.result.series.push_back(reach_series("recall." + id, r.recall[k]));
  }
}

void add_reach_words(LabRun& run, const Reached& r) {
  const std::int64_t layers = run.whole("layers");
  const auto n = static_cast<double>(r.tokens);
  const auto full_number = [](double x) { return std::to_string(static_cast<std::int64_t>(x)); };
  if (r.tokens > 1 && r.last(kFullKind, 1) == n)
    run.notice("full",
               {{"n", full_number(n)}, {"steps", full_number(r.path[kRecurrentKind].back())}});
  if (r.last(kLocalKind, layers) < n &&
      r.last(kLocalKind, layers) == r.last(kConvolutionKind, layers))
    run.notice("window", {{"layers", std::to_string(layers)},
                          {"reached", full_number(r.last(kLocalKind, layers))},
                          {"n", full_number(n)}});
  if (r.last(kStridedKind, 1) < n && r.last(kStridedKind, 2) == n)
    run.notice("strided", {{"one", full_number(r.last(kStridedKind, 1))}, {"n", full_number(n)}});
  const std::size_t end = r.recall[kFullKind].size() - 1;
  const double recurrent = r.recall[kRecurrentKind][end], full = r.recall[kFullKind][end];
  if (recurrent < full - 0.1)
    run.notice("forgets", {{"far", std::to_string(end + 1)},
                           {"recurrent", lab_number(100 * recurrent)},
                           {"full", lab_number(100 * full)}});
  // As far as the trained models' two layers lead, and beyond.
  constexpr std::size_t kAsFar = kRecallLayers * kLocalWindow;
  const std::vector<double>& local = r.recall[kLocalKind];
  double near = 0, far = 0;
  for (std::size_t d = 0; d < local.size(); ++d) (d < kAsFar ? near : far) += local[d];
  near /= kAsFar, far /= static_cast<double>(local.size() - kAsFar);
  if (near > far + 0.3)
    run.notice("cliff", {{"far", std::to_string(kAsFar)},
                         {"near", lab_number(100 * near)},
                         {"beyond", lab_number(100 * far)},
                         {"chance", lab_number(100.0 / kRecallKeys)}});

  if (r.tokens < 2) return;
  LabQuestion reach{
      "first", {{"layers", std::to_string(layers)}, {"n", full_number(n)}}, {"yes", "no"}, 0, {}};
  reach.right = r.last(kConvolutionKind, layers) == n ? 0 : 1;
  reach.because = run.because(
      "first", {{"reached", full_number(r.last(kConvolutionKind, layers))}, {"n", full_number(n)}});
  run.result.questions.push_back(std::move(reach));
  const std::size_t back = std::min(r.tokens - 1, end + 1);
  const double there = local[back - 1];
  LabQuestion recall{"local", {{"back", std::to_string(back)}}, {"most", "chance"}, 0, {}};
  recall.right = there > 0.5 ? 0 : 1;
  recall.because =
      run.because("local", {{"back", std::to_string(back)},
                            {"local", lab_number(100 * there)},
                            {"full", lab_number(100 * r.recall[kFullKind][back - 1])}});
  run.result.questions.push_back(std::move(recall));
}

void run_reach(LabRun& run) {
  const std::vector<std::string> names = run.tokens(kReachTokens);
  Reached r;
  r.tokens = names.size();
  add_reach(run, r, names);
  run.show();
  add_recall(run, r, run.trained([&] { return train_recall(run); }));
  add_reach_words(run, r);
  run.show_in_steps([&](Config& c) {
    c = next_token_config(c);
    c.layers = static_cast<int>(run.whole("layers"));
    c.mixer = MixerKind::kAttention;
    kReachKinds[kLocalKind].set(c);
  });
}

}  // namespace

Lab reach_lab() {
  const std::vector<std::string_view> kLines = {"recurrent", "convolution", "local", "strided",
                                                "full"};
  return {"reach",
          "around",
          "Vaswani et al. 2017, table 1, https://arxiv.org/abs/1706.03762",
          {{.id = "layers", .words = {"1", "2", "4", "8"}, .first_word = 1}, training_control()},
          run_reach,
          {{"reached", kLines, false, false, "layers"},
           {"path", kLines, false, false},
           {"steps", kLines, true, true},
           {"recall", kLines, false, false}},
          "",
          {Role::kMask, Role::kPattern, Role::kStates, Role::kWindowSums},
          "",
          {"recall"}};
}

}  // namespace headlight
