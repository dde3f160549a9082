// Residuals, norms, depth: the size of the stream and of its gradients from layer to layer, with
// the norm before, behind, without it, and without the residual; and with how many layers a short
// training still starts.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/lab/lab_training.h"
#include "core/lab/labs/labs.h"
#include "core/run/trace.h"

namespace headlight {
namespace {

struct Build {
  const char* id;
  void (*set)(Config&);
};
constexpr std::size_t kStreamTokens = 32;
constexpr std::array<Build, 4> kBuilds = {{
    {"pre-norm", [](Config&) {}},
    {"post-norm", [](Config& c) { c.block = BlockKind::kPostNorm; }},
    {"no-norm", [](Config& c) { c.norm = NormKind::kNone; }},
    {"no-residual", [](Config& c) { c.residual = false; }},
}};

double root_mean_square(std::span<const float> cells) {
  double sum = 0;
  for (const double x : cells) sum += x * x;
  return std::sqrt(sum / static_cast<double>(std::max<std::size_t>(cells.size(), 1)));
}

// By layer, the stream behind it.
struct Streams {
  std::vector<double> size, gradient;
  std::vector<float> cells, gradients;  // (layer, position · feature)
};

Streams streams_of(const Trace& trace) {
  const Program& p = trace.program();
  Streams s;
  for (int layer = 0; layer < p.config.layers; ++layer) {
    TensorId last = -1;
    for (std::size_t id = 0; id < p.tensors.size(); ++id) {
      const TensorSpec& spec = p.tensors[id];
      if (spec.role == Role::kResidual && spec.place.layer == layer &&
          !p.is_gradient(static_cast<TensorId>(id)))
        last = static_cast<TensorId>(id);
    }
    const std::span<const float> x = trace.tensor(last).cells(),
                                 d = trace.tensor(p.gradient(last)).cells();
    s.size.push_back(root_mean_square(x));
    s.gradient.push_back(root_mean_square(d));
    s.cells.insert(s.cells.end(), x.begin(), x.end());
    s.gradients.insert(s.gradients.end(), d.begin(), d.end());
  }
  return s;
}

// ---- when training still starts ----

constexpr std::array<int, 6> kTrainedLayers = {1, 2, 4, 8, 16, 32};
constexpr std::int64_t kStartSteps = 80;
// Training has started where the loss is so much below that of saying how frequent words are, which
// needs no layer.
constexpr double kStarted = 0.1;

RunPlan start_plan(const Build& build, int layers) {
  RunPlan plan = default_plan("grammar");
  plan.settings.task_options = {{"context", 12}};
  Config& c = plan.config;
  c.layers = layers;
  c.heads = 2;
  c.d_model = 16;
  c.d_hidden = 32;
  c.block = BlockKind::kPreNorm;
  c.norm = NormKind::kLayer;
  build.set(c);
  plan.init = Init::kGlorot;
  plan.stop.steps = kStartSteps;
  plan.settings.batch = 8;
  plan.settings.clip = 0;
  plan.settings.schedule = {ScheduleKind::kConstant, 3e-3, 0, 0, kStartSteps};
  return plan;
}

std::string start_name(const Build& build, int layers) {
  return std::string(build.id) + "." + std::to_string(layers);
}

// The deepest take nearly all of the time.
std::vector<Tensor> train_depths(LabRun& run) {
  std::vector<Tensor> kept;
  double all = 0, done = 0;
  for (const int layers : kTrainedLayers) all += static_cast<double>(kBuilds.size()) * layers;
  for (const int layers : kTrainedLayers) {
    for (const Build& build : kBuilds) {
      const RunPlan plan = start_plan(build, layers);
      LabTraining training{start_name(build, layers), plan, lab_task(plan)};
      training.every = kStartSteps;
      training.begin = done / all;
      training.end = (done += layers) / all;
      train(run, training, kept);
    }
  }
  return kept;
}

// ---- what is shown ----

// How often each word is asked for, of 2,000 rows.
std::vector<float> word_counts() {
  const auto task = lab_task(start_plan(kBuilds[0], 1));
  std::vector<float> counts(static_cast<std::size_t>(task->vocabulary().size()), 0.0f);
  Random random(1);
  for (int row = 0; row < 2000; ++row) {
    for (const int id : task->draw(random).targets) {
      if (id >= 0) counts[static_cast<std::size_t>(id)] += 1;
    }
  }
  return counts;
}

// The loss of giving each word its share.
double entropy_of(const std::vector<float>& counts) {
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  double nats = 0;
  for (const double n : counts) {
    if (n > 0) nats -= n / all * std::log(n / all);
  }
  return nats;
}

// What has grown beyond all numbers counts as a large one.
double finite_loss(double loss) { return loss < 1e9 ? loss : 1e9; }

void add_start(LabRun& run, std::span<const Tensor> kept) {
  const std::vector<float> counts = word_counts();
  const double frequencies = entropy_of(counts);
  LabSeries known{"start.frequencies", {}, {}};
  for (const int layers : kTrainedLayers) {
    known.x.push_back(layers);
    known.y.push_back(frequencies);
  }
  for (const Build& build : kBuilds) {
    LabSeries after{std::string("start.") + build.id, known.x, {}};
    std::vector<float> losses;
    double deepest = 0;
    for (const int layers : kTrainedLayers) {
      const std::vector<double> loss = kept_curve(kept, start_name(build, layers), LabCurve::kLoss);
      after.y.push_back(finite_loss(loss.back()));
      if (after.y.back() < frequencies - kStarted) deepest = layers;
      losses.push_back(static_cast<float>(finite_loss(loss.front())));
      losses.push_back(static_cast<float>(after.y.back()));
    }
    run.value(std::string("before.") + build.id,
              finite_loss(kept_curve(kept, start_name(build, 32), LabCurve::kLoss).front()));
    run.value(after.name, after.y.back());
    run.value(std::string("deepest.") + build.id, deepest);
    run.result.series.push_back(std::move(after));
    run.result.tensors.push_back(
        lab_tensor(std::string("losses.") + build.id,
                   {{"position", std::ssize(kTrainedLayers)}, {"feature", 2}}, std::move(losses)));
  }
  run.value("frequencies", frequencies);
  run.result.series.push_back(std::move(known));
  run.result.tensors.push_back(lab_tensor("word_counts", {{"vocab", std::ssize(counts)}}, counts));
}

void add_start_words(LabRun& run) {
  const LabResult& r = run.result;
  const auto of = [&](const char* what, const std::string& build) {
    return r.value(what + ("." + build));
  };
  const double pre = of("deepest", "pre-norm"), post = of("deepest", "post-norm"),
               cut = of("deepest", "no-residual");
  if (post < pre || cut < pre)
    run.notice("starts", {{"steps", std::to_string(kStartSteps)},
                          {"pre", count_text(static_cast<long long>(pre))},
                          {"post", count_text(static_cast<long long>(post))},
                          {"cut", count_text(static_cast<long long>(cut))}});
  if (of("before", "no-norm") > 10 * of("before", "pre-norm"))
    run.notice("explodes", {{"bare", lab_number(of("before", "no-norm"))},
                            {"pre", lab_number(of("before", "pre-norm"))}});
  const std::string& build = run.word("build");
  const bool starts = of("deepest", build) >= kTrainedLayers.back();
  LabQuestion ask{"start",
                  {{"build", "lab.word." + build, true}, {"steps", std::to_string(kStartSteps)}},
                  {"no", "yes"},
                  starts ? 1u : 0u,
                  run.because("start", {{"loss", lab_number(of("start", build))},
                                        {"before", lab_number(of("before", build))},
                                        {"frequencies", lab_number(r.value("frequencies"))},
                                        {"deepest", number_text(of("deepest", build), 2)}})};
  run.result.questions.push_back(std::move(ask));
}

void add_words(LabRun& run, const std::array<Streams, kBuilds.size()>& all) {
  const auto ratio = [](const Streams& s) { return s.gradient.front() / s.gradient.back(); };
  const Streams &pre = all[0], &post = all[1], &bare = all[2], &cut = all[3];
  const std::string layers = std::to_string(pre.size.size());
  if (pre.size.size() < 2) return;
  if (pre.size.back() > 1.2 * pre.size.front())
    run.notice("grows", {{"first", lab_number(pre.size.front())},
                         {"last", lab_number(pre.size.back())},
                         {"layers", layers}});
  const auto [low, high] = std::ranges::minmax(post.size);
  if (high < 1.2 * low) run.notice("level", {{"low", lab_number(low)}, {"high", lab_number(high)}});
  if (ratio(cut) < 0.1 && ratio(pre) > 0.3)
    run.notice("lost",
               {{"cut", lab_number(100 * ratio(cut))}, {"kept", lab_number(100 * ratio(pre))}});
  if (bare.size.back() > 2 * pre.size.back())
    run.notice("bare",
               {{"bare", lab_number(bare.size.back())}, {"pre", lab_number(pre.size.back())}});
  LabQuestion ask{"residual", {{"layers", layers}}, {"less", "same", "more"}, 0, {}};
  const double r = ratio(cut);
  if (!std::isfinite(r)) return;
  ask.right = r < 0.5 ? 0 : r <= 2 ? 1 : 2;
  ask.because = run.because(
      "residual", {{"share", lab_number(100 * r)}, {"kept", lab_number(100 * ratio(pre))}});
  run.result.questions.push_back(std::move(ask));
}

// By layer and token the size of a row, beside the largest of all.
void add_row_picture(LabRun& run, const char* name, const std::vector<float>& cells,
                     std::size_t layers, const std::vector<std::string>& tokens) {
  LabPicture picture{name, {}, tokens, {}};
  const std::size_t width = cells.size() / layers / tokens.size();
  for (std::size_t i = 0; i < layers * tokens.size(); ++i)
    picture.cells.push_back(
        static_cast<float>(root_mean_square(std::span(cells).subspan(i * width, width))));
  const float largest = std::ranges::max(picture.cells);
  for (float& cell : picture.cells) cell = largest > 0 ? cell / largest : 0;
  for (std::size_t l = 0; l < layers; ++l) picture.rows.push_back(std::to_string(l));
  run.result.pictures.push_back(std::move(picture));
}

void add_streams(LabRun& run, const Build& build, const Streams& s, std::int64_t tokens) {
  LabSeries size{std::string("size.") + build.id, {}, s.size},
      gradient{std::string("gradient.") + build.id, {}, s.gradient};
  for (std::size_t l = 0; l < s.size.size(); ++l) size.x.push_back(static_cast<double>(l));
  gradient.x = size.x;
  run.value(size.name, s.size.back());
  run.value(gradient.name, s.gradient.front());
  run.result.series.push_back(std::move(size));
  run.result.series.push_back(std::move(gradient));
  const auto layers = std::ssize(s.size);
  const std::vector<Axis> axes = {
      {"kept", layers}, {"position", tokens}, {"feature", std::ssize(s.cells) / layers / tokens}};
  run.result.tensors.push_back(lab_tensor(std::string("stream.") + build.id, axes, s.cells));
  run.result.tensors.push_back(lab_tensor(std::string("gradient.") + build.id, axes, s.gradients));
}

// What the lab sets in a recipe.
ConfigChange change_of_build(const Build& build, int layers) {
  return [&build, layers](Config& c) {
    c = next_token_config(c);
    c.block = BlockKind::kPreNorm;
    c.norm = NormKind::kLayer;
    c.residual = true;
    c.layers = layers;
    c.masked_heads.clear();
    build.set(c);
  };
}

void run_depth(LabRun& run) {
  if (run.model()) throw Error(Message{"lab.error.random_recipe"});
  std::vector<ConfigChange> changes;
  for (const Build& build : kBuilds)
    changes.push_back(change_of_build(build, static_cast<int>(run.whole("layers"))));
  const Config own = run.recipe_for(changes);
  const std::vector<std::string> tokens = run.tokens(kStreamTokens);
  std::array<Streams, kBuilds.size()> all;
  for (std::size_t b = 0; b < kBuilds.size(); ++b) {
    run.tell(static_cast<double>(b) / static_cast<double>(kBuilds.size()));
    Document document = run.document();
    document.max_tokens = std::min(document.max_tokens, static_cast<int>(kStreamTokens));
    document.config = changed(own, changes[b]);
    all[b] = streams_of(*run.run(document, true));
    add_streams(run, kBuilds[b], all[b], std::ssize(tokens));
    if (run.word("build") != kBuilds[b].id) continue;
    add_row_picture(run, "stream", all[b].cells, all[b].size.size(), tokens);
    add_row_picture(run, "gradient", all[b].gradients, all[b].size.size(), tokens);
    run.result.in_steps = document;
  }
  add_words(run, all);
  run.show();
  add_start(run, run.trained([&] { return train_depths(run); }));
  add_start_words(run);
}

}  // namespace

Lab depth_lab() {
  const std::vector<std::string_view> lines = {"pre-norm", "post-norm", "no-norm", "no-residual"};
  return {"depth",
          "around",
          "Xiong et al. 2020, https://arxiv.org/abs/2002.04745; residuals: He et al. 2016, "
          "https://arxiv.org/abs/1512.03385",
          {{"build", {"pre-norm", "post-norm", "no-norm", "no-residual"}},
           {"layers", {}, 1, 32, 12, true},
           training_control()},
          run_depth,
          {{"size", lines, false, true},
           {"gradient", lines, false, true},
           {"start",
            {"pre-norm", "post-norm", "no-norm", "no-residual", "frequencies"},
            true,
            true,
            "layers"}},
          "random",
          {Role::kResidual, Role::kNormalized},
          "x + f(norm(x)) · norm(x + f(x)) · x + f(x) · f(norm(x))"};
}

}  // namespace headlight
