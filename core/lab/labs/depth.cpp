// Residuals, norms, depth: the size of the stream and of its gradients from layer to layer, with
// the norm before, behind, without it, and without the residual.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"
#include "core/lab/lab_run.h"
#include "core/lab/labs/labs.h"
#include "core/run/trace.h"

namespace headlight {
namespace {

struct Build {
  const char* id;
  void (*set)(Config&);
};
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

void run_depth(LabRun& run) {
  if (run.model()) throw Error(Message{"lab.error.random_recipe"});
  run.tokens(static_cast<std::size_t>(run.document().max_tokens));
  std::array<Streams, kBuilds.size()> all;
  for (std::size_t b = 0; b < kBuilds.size(); ++b) {
    run.tell(static_cast<double>(b) / static_cast<double>(kBuilds.size()));
    Document document = run.document();
    Config& c = document.config = next_token_config(document.config);
    c.block = BlockKind::kPreNorm;
    c.norm = NormKind::kLayer;
    c.residual = true;
    c.layers = static_cast<int>(run.whole("layers"));
    c.masked_heads.clear();
    kBuilds[b].set(c);
    all[b] = streams_of(*run.run(document, true));
    const Streams& s = all[b];
    LabSeries size{std::string("size.") + kBuilds[b].id, {}, {}},
        gradient{std::string("gradient.") + kBuilds[b].id, {}, {}};
    for (std::size_t l = 0; l < s.size.size(); ++l) {
      size.x.push_back(static_cast<double>(l));
      gradient.x.push_back(static_cast<double>(l));
    }
    size.y = s.size;
    gradient.y = s.gradient;
    run.value(size.name, s.size.back());
    run.value(gradient.name, s.gradient.front());
    run.result.series.push_back(std::move(size));
    run.result.series.push_back(std::move(gradient));
    if (run.word("build") != kBuilds[b].id) continue;
    const auto layers = std::ssize(s.size);
    const std::vector<Axis> axes = {{"position", layers},
                                    {"feature", std::ssize(s.cells) / layers}};
    run.result.tensors = {lab_tensor("stream", axes, s.cells),
                          lab_tensor("gradient", axes, s.gradients)};
    run.result.in_steps = document;
  }
  add_words(run, all);
}

}  // namespace

Lab depth_lab() {
  return {"depth",
          "around",
          "Xiong et al. 2020, https://arxiv.org/abs/2002.04745",
          {{"build", {"pre-norm", "post-norm", "no-norm", "no-residual"}},
           {"layers", {}, 1, 32, 12, true}},
          run_depth};
}

}  // namespace headlight
