// What the window knows of a training run: what was published of it, and how it is looked at.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/message.h"
#include "core/run/trace.h"
#include "core/train/metrics/curve_summary.h"
#include "core/train/sampling.h"
#include "core/train/training_run.h"

namespace headlight {

enum class TrainPhase {
  kNone,       // there is no run
  kPreparing,  // its text is read, its weights are drawn
  kPaused,
  kRunning,
  kDone,    // the plan's end is reached; it can be stepped on
  kBroken,  // the loss became no number
  kFailed,  // the plan cannot be run
};

/// What came of the last save that was asked for.
struct SaveReport {
  std::uint64_t count = 0;  // of saves that have ended, one way or the other
  std::uint64_t run = 0;    // which one it was
  std::int64_t step = -1;
  std::string folder;
  Message problem;  // empty: it is there
};

struct TrainStatus {
  std::uint64_t run = 0;  // which one, counted from 1; 0: none yet, or it is being prepared
  TrainPhase phase = TrainPhase::kNone;
  std::int64_t step = 0;  // updates made
  double tokens_per_second = 0, seconds = 0;
  std::int64_t tokens_per_step = 0, parameters = 0;
  std::size_t history_bytes = 0, memory_bytes = 0;
  Message problem;                    // kBroken, kFailed; kNone: why it was given up
  Message start_problem;              // why no run could be made in the place of this one
  std::vector<Message> notes;         // what had to be done to the text
  Message stopped_early;              // kDone: that the validation loss got no better; else empty
  double kept = 0, kept_in_half = 0;  // bytes of activations: in float32, and in 16 bits
  double padding = 0;                 // the share of the batches so far that is padding
  std::string doing;                  // kPreparing: a text id
  double share = 0;                   // of it
  SaveReport save;                    // of any run
  std::string device;                 // the graphics card that computes; empty: the processor
  Message gpu_problem;                // why it does not any more, or could not
  Message autosave_problem;           // why what is trained could not be kept safe
};

/// A run as the window sees it.
struct RunView {
  TrainStatus status;
  std::shared_ptr<const RunPlan> plan;  // with what was changed on the way
  std::shared_ptr<const Task> task;     // null for an earlier run
  std::vector<TaskExample> examples;    // of the probe
  // Task::bytes_per_token of the two splits; 0 where tokens are not text.
  double bytes_per_token[2] = {0, 0};
  std::vector<TrainStep> curve;
  CurveSummary summary;  // of `curve`
  std::vector<ValidationPoint> validation;
  std::vector<ValidationPoint> old_text;  // of the model that it began with (RunHistory)
  std::vector<std::shared_ptr<const Snapshot>> snapshots;
  std::shared_ptr<const Model> live;  // the weights of a moment ago
  std::int64_t live_step = 0;
  std::uint64_t version = 0;  // of what was last taken
};

/// kPairs and kHidden: the two parts of the loss of a run that learns both.
enum class Curve { kLoss, kBits, kPairs, kHidden, kAccuracy, kNorm, kRate };

/// A point of a run: which one, after how many updates.
struct RunPoint {
  std::uint64_t run = 0;
  std::int64_t step = 0;
  bool operator==(const RunPoint&) const = default;
};

/// How runs are looked at; part of the session.
struct TrainSession {
  RunPlan plan;                    // what the controls show: the next start's
  bool changed = false;            // it differs from the run's in what only a start can change
  std::optional<std::int64_t> at;  // the marked step; unset: the newest
  bool film = false;               // the mark moves by itself
  double film_clock = 0;           // seconds since its beginning
  std::optional<RunPoint> pinned;  // what the marked point is compared with
  Curve curve = Curve::kLoss;
  bool logarithmic = true;
  SamplingOptions sampling{0.8, 0, 0.95};
  std::uint64_t sampling_seed = 1;
  std::uint64_t keep = 0;  // which run is kept in the folder that is asked for; 0: the current one
};

/// Shown minus pinned, of each pattern by its name; where both have it in one shape.
using PatternDifferences = std::map<std::string, std::vector<float>>;

/// A text that the model goes on with by itself.
struct FreeSample {
  std::shared_ptr<const Model> model;
  std::int64_t step = -1;    // of the model's weights; -1: there is none yet
  std::string prompt, text;  // what stood there, what the model wrote behind it
  bool own = false;          // the prompt is the person's sentence, not a start of the text
  Message problem;
};

/// What is known of the runs.
struct TrainData {
  RunView run;
  std::vector<std::shared_ptr<const RunView>> earlier;  // oldest first
  Message not_safe;  // why runs cannot be saved now, as it was told; empty: they can
  // The sentence's traces besides the shown one, where they differ from it: with the newest
  // weights, and with those of the pinned point.
  std::shared_ptr<const Trace> newest, pinned;
  std::shared_ptr<const PatternDifferences> differences;  // null without a pinned trace
  FreeSample sample;                                      // of running text alone
  // The same start of the text, gone on with at steps of this run; ascending.
  std::vector<FreeSample> growth;
  std::uint64_t growth_run = 0;
};

/// By which a run's texts at its steps are written: the likely tokens, but not always the same.
inline constexpr SamplingOptions kGrowthSampling{0.5, 0, 1};

/// How long a film of a run takes, in seconds.
inline constexpr double kFilmSeconds = 12;

/// The step that is looked at: the marked one, or the newest.
inline std::int64_t shown_step(const TrainSession& session, const RunView& run) {
  return session.at.value_or(run.live_step);
}

}  // namespace headlight
