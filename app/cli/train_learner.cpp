#include "app/cli/train_learner.h"

#include <cstdio>

#include "app/cli/named_backend.h"
#include "app/gl/training/gl_trainer.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/train/trainer.h"

namespace headlight {
namespace {

constexpr std::chrono::seconds kKeepEvery{10};

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

SafeRun::SafeRun(const Learner& learner, Checkpoint now)
    : is_needed_(!learner.device().empty()), now_(std::move(now)), kept_at_(Clock::now()) {
  if (is_needed_) last_ = now_();
}

void SafeRun::keep() {
  if (!is_needed_ || Clock::now() - kept_at_ < kKeepEvery) return;
  last_ = now_();
  kept_at_ = Clock::now();
}

void SafeRun::give_up(const std::string& reason, std::int64_t step, const TrainOptions& o) {
  try {
    last_ = now_();
  } catch (const Error&) {
    // Then as it was when it was copied last.
  }
  std::string text =
      "the run on the graphics card stopped at step " + count_text(step) + ": " + reason + ". ";
  if (o.out.empty()) {
    throw Error(text +
                "Nothing was saved, because there was no --out; --backend cpu trains on "
                "the processor");
  }
  last_->save(o.out);
  throw Error(text + "It was saved in " + o.out + " as of step " + count_text(last_->step) +
              "; on the processor it goes on with --resume " + o.out + " --backend cpu" +
              (o.steps ? " --steps " + std::to_string(*o.steps) : ""));
}

}  // namespace headlight
