// headlight train --from: what a run takes from the model that it begins with.
#pragma once

#include "app/cli/train/train_source.h"
#include "core/model/model.h"

namespace CLI {
class App;
}

namespace headlight {

/// A run that begins with a model has its form and its tokens. Throws UsageError for options that
/// would say otherwise.
void check_from(const CLI::App& sub, const TrainOptions&);

/// What is not given is as in the window (tuning_plan()). Throws UsageError for a model of another
/// form, for a row longer than the model reads, and for more frozen layers than it has.
void use_base(const Model& base, const CLI::App& sub, TrainOptions&);

/// The config of the run: the model's, with --labels that of a classifier on it.
Config config_on(const Model& base, const TrainOptions&);

/// Says which weights of the model the run leaves out: those of a head.
void tell_left_out(const Model&, const Config&, const RunShape&);

/// What the model that the run began with writes by itself: how well it is still known.
class OldText {
 public:
  OldText(const std::shared_ptr<const Model>& base, Learner&, std::int64_t positions);
  void tell(Learner&) const;

 private:
  std::string name_;
  TokenBatch rows_;
  double before_ = 0;
};

/// TrainerOptions::frozen. Throws UsageError for what is neither a number nor "all", without
/// --from, and on a graphics card.
int frozen_layers(const TrainOptions&);

}  // namespace headlight
