// headlight train --config FILE: what a recipe.json says, for every option that was not given.
#pragma once

#include <string>

#include "app/cli/options.h"
#include "app/cli/train/train_source.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/io/atomic_file.h"
#include "core/io/file_steps.h"
#include "core/train/model_recipe.h"

namespace headlight {

/// The recipe in a file; errors name it.
inline ModelRecipe read_recipe(const std::string& path) {
  try {
    return parse_recipe(read_file(path, 1u << 20));
  } catch (const Error& error) {
    if (std::string(error.what()).find(path) != std::string::npos) throw;
    throw Error(Message{"checkpoint.in_file", {{"path", shown(path)}}}.with(error.message()));
  }
}

/// `Options` are those of `headlight train`, `sub` knows which of them were given.
template <class Options>
void use_recipe(const ModelRecipe& recipe, const CLI::App& sub, Options& o) {
  const auto set = [&](const char* option, auto& out, const auto& value) {
    if (sub.count(option) == 0) out = value;
  };
  const RunSettings& r = recipe.training;
  o.model.base = recipe.config;
  if (o.text.empty() && o.labels.empty() && o.pairs.empty() && o.data_ids.empty() &&
      o.task.empty()) {
    o.task = r.task;
    o.task_options = r.task_options;
  }
  if (r.text && o.task.empty() && o.labels.empty() && o.pairs.empty() && o.data_ids.empty())
    use_text(*r.text, o);
  set("--init", o.init, std::string(word(recipe.init)));
  set("--batch", o.batch, r.batch);
  set("--accumulate", o.accumulate, r.accumulation);
  set("--steps", o.steps, r.schedule.steps);
  set("--schedule", o.schedule, std::string(word(r.schedule.kind)));
  set("--lr", o.rate, r.schedule.peak);
  set("--lr-floor", o.floor, r.schedule.floor);
  set("--warmup", o.warmup, r.schedule.warmup);
  set("--clip", o.clip, r.clip);
  set("--dropout", o.dropout, r.dropout);
  set("--storage", o.storage, std::string(word(r.storage)));
  if (sub.count("--checkpointing") == 0) o.checkpointing = r.checkpointing ? "on" : "off";
  if (r.patience > 0) set("--patience", o.patience, r.patience);
  set("--optimizer", o.optimizer, std::string(word(r.optimizer.kind)));
  set("--momentum", o.momentum, r.optimizer.momentum);
  set("--eps", o.epsilon, r.optimizer.epsilon);
  set("--weight-decay", o.decay, r.optimizer.weight_decay);
  set("--betas", o.betas,
      number_text(r.optimizer.beta1, 9) + "," + number_text(r.optimizer.beta2, 9));
}

}  // namespace headlight
