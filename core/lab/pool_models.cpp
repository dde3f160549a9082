#include "core/lab/pool_models.h"

#include <algorithm>

#include "core/train/tasks/class_token.h"

namespace headlight {
namespace {

constexpr const char* kPoolTask = "sentiment";

constexpr std::array<PoolSetting, 4> kPoolSettings = {
    {{false, 0}, {false, 1}, {true, 0}, {true, 1}}};

class PlainOpinions final : public Task {
 public:
  explicit PlainOpinions(std::shared_ptr<const Task> all)
      : Task({.id = all->id(),
              .kind = all->kind(),
              .vocabulary = all->shared_vocabulary(),
              .context = all->context(),
              .source_length = 0,
              .classes = all->classes(),
              .options = all->options()}),
        all_(std::move(all)),
        turns_(*vocabulary().find("not")) {}

 private:
  TaskExample make(Random& random, Split split) const override {
    TaskExample example = all_->draw(random, split);
    while (std::ranges::find(example.tokens, turns_) != example.tokens.end())
      example = all_->draw(random, split);
    return example;
  }
  std::shared_ptr<const Task> all_;
  int turns_;
};

RunPlan pool_plan(const PoolWay& way, int layers) {
  RunPlan plan = default_plan(kPoolTask);
  Config& c = plan.config;
  c.layers = layers;
  c.heads = 2;
  c.d_model = 16;
  c.d_hidden = 32;
  c.positions = PositionKind::kRotary;
  c.pool = way.kind;
  c.foci = 3;
  c.pool_hidden = 8;
  c.foci_penalty = 0.1;
  c.mask = {};
  c.mask.kind = MaskKind::kNone;
  plan.init = Init::kGlorot;
  plan.stop.steps = 600;
  plan.settings.schedule = {ScheduleKind::kCosine, 1e-2, 0, 20, plan.stop.steps};
  return plan;
}

}  // namespace

std::shared_ptr<const Task> opinions(bool negated) {
  std::shared_ptr<const Task> all = make_task(kPoolTask);
  return negated ? all : std::make_shared<const PlainOpinions>(all);
}

std::string pool_name(const PoolWay& way, const PoolSetting& setting) {
  return std::string(setting.negated ? "negated." : "plain.") + std::to_string(setting.layers) +
         "." + way.id;
}

std::vector<Tensor> train_pools(LabRun& run) {
  std::vector<Tensor> kept;
  constexpr double kAll = static_cast<double>(kPoolSettings.size() * kPoolWays.size());
  double done = 0;
  for (const PoolSetting& setting : kPoolSettings) {
    for (const PoolWay& way : kPoolWays) {
      const RunPlan plan = pool_plan(way, setting.layers);
      LabTraining training{pool_name(way, setting), plan,
                           as_read_by(plan.config, opinions(setting.negated))};
      training.every = 50;
      training.begin = done++ / kAll;
      training.end = done / kAll;
      keep_weights(*train(run, training, kept), training.name, kept);
    }
  }
  return kept;
}

std::shared_ptr<const Model> pool_model(const PoolWay& way, const PoolSetting& setting,
                                        std::span<const Tensor> kept) {
  const RunPlan plan = pool_plan(way, setting.layers);
  return kept_model(plan, as_read_by(plan.config, opinions(setting.negated)),
                    pool_name(way, setting), kept);
}

}  // namespace headlight
