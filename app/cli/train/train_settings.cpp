#include "app/cli/train/train_settings.h"

#include <cstdio>

#include "app/cli/train/train_base.h"
#include "app/cli/train/train_learner.h"
#include "core/base/error.h"
#include "core/train/optim/check_number.h"

namespace headlight {
namespace {

// Rows of a table are put together by length, unless that is not wanted.
bool rows_by_length(const TrainOptions& o) {
  const bool table = !o.labels.empty() || !o.pairs.empty();
  if (!o.by_length) return table;
  if (*o.by_length != "on" && *o.by_length != "off")
    throw UsageError("--by-length must be on or off; got '" + *o.by_length + "'");
  if (*o.by_length == "on" && !table)
    throw UsageError("--by-length goes with --labels or --pairs, whose rows differ in length");
  return *o.by_length == "on";
}

}  // namespace

RunSettings settings_of(const TrainOptions& o, const Config& config) {
  RunSettings settings;
  settings.task = o.task;
  settings.task_options = o.task_options;
  settings.batch = o.batch;
  settings.accumulation = o.accumulate;
  settings.seed = config.seed;
  const auto kind = from_word<OptimizerKind>(o.optimizer);
  if (!kind)
    throw UsageError("--optimizer must be " + choice_list(OptimizerKind{}) + "; got '" +
                     o.optimizer + "'");
  settings.optimizer = default_options(*kind);
  settings.optimizer.epsilon = o.epsilon;
  settings.optimizer.momentum = o.momentum;
  if (o.decay) settings.optimizer.weight_decay = *o.decay;
  if (!o.betas.empty()) {
    const int read = std::sscanf(o.betas.c_str(), "%lf,%lf", &settings.optimizer.beta1,
                                 &settings.optimizer.beta2);
    if (read != 2) throw UsageError("--betas are two numbers, as 0.9,0.99; got '" + o.betas + "'");
  }
  const auto schedule = from_word<ScheduleKind>(o.schedule);
  if (!schedule)
    throw UsageError("--schedule must be " + choice_list(ScheduleKind{}) + "; got '" + o.schedule +
                     "'");
  settings.schedule = {*schedule, o.rate, o.floor, o.warmup, o.steps.value_or(kUsualSteps)};
  settings.clip = o.clip;
  settings.dropout = o.dropout;
  set_checkpointing(o, settings);
  const auto storage = from_word<NumberFormat>(o.storage);
  if (!storage)
    throw UsageError("--storage must be " + choice_list(NumberFormat{}) + "; got '" + o.storage +
                     "'");
  settings.storage = *storage;
  settings.patience = o.patience.value_or(0);
  settings.by_length = rows_by_length(o);
  settings.frozen = frozen_layers(o);
  validate(settings);
  return settings;
}

}  // namespace headlight
