#include "app/cli/train_learner.h"

#include <cstdio>
#include <utility>

#include "app/cli/named_backend.h"
#include "app/gl/training/gl_trainer.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/train/trainer.h"

namespace headlight {
namespace {

constexpr std::chrono::seconds kKeepEvery{10}, kSaveEvery{60};

}  // namespace

LearnerFactory learners_for(const TrainOptions& o) {
  const std::string& name = o.model.backend;
  if (name == "gl") {
    const auto named =
        std::make_shared<NamedBackend>(name, o.model.threads, with_broken_shader(o.broken));
    return gl_learners({named, named->gl()});
  }
  if (name != "cpu") throw UsageError("no backend named '" + name + "' trains; choose cpu or gl");
  return [](const Config& config, const RunShape& shape, std::vector<Tensor> parameters,
            const TrainerOptions& options) {
    return std::make_unique<Trainer>(config, shape, std::move(parameters), options);
  };
}

void tell_device(const Learner& learner, const TrainOptions& o) {
  const std::string processor = "the processor (" + count_text(o.model.threads) +
                                (o.model.threads == 1 ? " thread)" : " threads)");
  const std::string device = learner.device();
  std::fprintf(stderr, "training on %s\n", (device.empty() ? processor : device).c_str());
}

SafeRun::SafeRun(const Learner& learner, Checkpoint now, std::int64_t step, const TrainOptions& o)
    : options_(o),
      on_card_(!learner.device().empty()),
      now_(std::move(now)),
      kept_at_(Clock::now()),
      saved_at_(kept_at_),
      saved_step_(step) {
  if (on_card_) last_ = now_();
}

bool SafeRun::is_due(std::int64_t step) const {
  const std::int64_t every = options_.save_every;
  if (options_.out.empty()) return false;
  return every > 0 ? step - saved_step_ >= every : Clock::now() - saved_at_ >= kSaveEvery;
}

void SafeRun::save(std::int64_t step) {
  try {
    now_().save(options_.out);
  } catch (const Error& error) {
    if (!std::exchange(said_, true))
      std::fprintf(stderr, "\nheadlight: the run goes on, but is not saved meanwhile: %s\n",
                   error.what());
  }
  saved_at_ = Clock::now();  // writing may take longer than the minute
  saved_step_ = step;
}

void SafeRun::keep(std::int64_t step) {
  if (on_card_ && Clock::now() - kept_at_ >= kKeepEvery) {
    last_ = now_();
    kept_at_ = Clock::now();
  }
  if (is_due(step)) save(step);
}

void SafeRun::give_up(const std::string& reason, std::int64_t step) {
  try {
    last_ = now_();
  } catch (const Error&) {
    // Then as it was when it was copied last.
  }
  std::string text =
      "the run on the graphics card stopped at step " + count_text(step) + ": " + reason + ". ";
  if (options_.out.empty()) {
    throw Error(text +
                "Nothing was saved, because there was no --out; --backend cpu trains on "
                "the processor");
  }
  last_->save(options_.out);
  throw Error(text + "It was saved in " + options_.out + " as of step " + count_text(last_->step) +
              "; on the processor it goes on with --resume " + options_.out + " --backend cpu" +
              (options_.steps ? " --steps " + std::to_string(*options_.steps) : ""));
}

}  // namespace headlight
