// Actions of training, and of going on with a text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/ui/state/state.h"

namespace headlight {

/// The controls' new values.
struct PlanRun {
  RunPlan plan;
};
/// From the first step: with the same initial weights, or with new ones.
struct StartRun {
  bool new_weights = false;
};
struct PlayRun {
  bool play = false;
  std::int64_t until = 0;  // pauses after so many updates; 0: goes on
};
struct StepRun {};
/// Gives up the run that is being prepared.
struct CancelRun {};
/// Looks at the weights of another step; unset: follows the newest.
struct MarkStep {
  std::optional<std::int64_t> step;
};
/// To the next kept step, or the last one.
struct MoveMark {
  int direction = 1;
};
struct PlayFilm {
  bool play = false;
};
struct PinStep {
  std::optional<RunPoint> point;
};
struct ChooseCurve {
  Curve curve{};
  bool logarithmic = true;
};
/// Asks for the folder of a run; 0: the current one.
struct AskKeep {
  std::uint64_t run = 0;
};
struct KeepRun {
  std::string folder;
  std::uint64_t run = 0;  // likewise
};
struct ForgetRun {
  std::uint64_t run = 0;
};
struct SetSampling {
  SamplingOptions sampling;
  std::uint64_t seed = 1;
};
/// The run begins with a copy of this model's weights (its ref); empty: with new ones.
struct StartFrom {
  std::string ref;
};
/// Asks where the text to learn from is.
struct AskText {};
struct UseText {
  std::string path;
  std::optional<OwnData> data;  // unset: as the plan says
};
/// What was dropped on the Train panel: a table as one, anything else as the panel says, at first
/// as running text.
struct DropText {
  std::string path;
};
/// Draws the next token and puts it behind the sentence, or in the place of its [MASK].
struct GenerateToken {};
/// Puts this entry of the vocabulary there.
struct AddToken {
  int id = 0;
};
/// Draws one token after the other until it is told to stop, or nothing more fits.
struct Write {
  bool on = true;
};

}  // namespace headlight
