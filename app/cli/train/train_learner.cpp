#include "app/cli/train/train_learner.h"

#include <cstdio>
#include <utility>

#include "app/cli/named_backend.h"
#include "app/gl/training/gl_trainer.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/io/plain_file.h"
#include "core/io/safetensors.h"
#include "core/model/checkpoint.h"
#include "core/model/init.h"
#include "core/train/fine_tuning.h"
#include "core/train/run_checkpoint.h"
#include "core/train/trainer.h"

namespace headlight {
namespace {

constexpr std::chrono::seconds kKeepEvery{10};

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace

LearnerFactory learners_for(const TrainOptions& o) {
  const std::string& name = o.model.backend;
  if (name == "gl") {
    GlBackendOptions options = with_broken_shader(o.broken);
    options.spot_checks = kSpotCheckShare;
    const auto named = std::make_shared<NamedBackend>(name, o.model.threads, std::move(options));
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

void set_checkpointing(const TrainOptions& o, RunSettings& settings) {
  if (!o.checkpointing) return;
  if (*o.checkpointing != "on" && *o.checkpointing != "off")
    throw UsageError("--checkpointing must be on or off; got '" + *o.checkpointing + "'");
  settings.checkpointing = *o.checkpointing == "on";
}

void tell_blocks(const Learner& learner) {
  const BlockCount blocks = learner.blocks();
  if (blocks.computed == blocks.all) return;
  const double percent =
      100.0 * static_cast<double>(blocks.computed) / static_cast<double>(blocks.all);
  std::fprintf(stderr,
               "attention: a step computed %s of %s blocks of 16 x 16 scores (%s %%); the mask "
               "forbids the others\n",
               count_text(blocks.computed).c_str(), count_text(blocks.all).c_str(),
               number_text(percent, 3).c_str());
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
  return every > 0 ? step - saved_step_ >= every
                   : seconds_since(saved_at_) >= seconds_to_next_save(took_);
}

void SafeRun::save(std::int64_t step) {
  const Clock::time_point began = Clock::now();
  try {
    now_().save(options_.out);
  } catch (const Error& error) {
    if (!std::exchange(said_, true))
      std::fprintf(stderr, "\nheadlight: the run goes on, but is not saved meanwhile: %s\n",
                   error.what());
  }
  took_ = seconds_since(began);
  saved_at_ = Clock::now();
  saved_step_ = step;
}

void SafeRun::keep(std::int64_t step) {
  if (on_card_ && Clock::now() - kept_at_ >= kKeepEvery) {
    last_ = now_();
    kept_at_ = Clock::now();
  }
  if (is_due(step)) save(step);
}

void SafeRun::give_up(const std::string& reason, std::int64_t step, bool trusted) {
  try {
    if (trusted) last_ = now_();
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

// The data's ids are in the vocabulary of weights that there are.
void check_vocabulary(LearnedFrom& data, std::int64_t known, const std::string& path) {
  if (known < data.shape.vocab) {
    throw Error("the weights in " + path + " know " + std::to_string(known) +
                " tokens, but the data has ids up to " + std::to_string(data.shape.vocab - 1));
  }
  data.shape.vocab = known;
}

namespace {

std::vector<Tensor> read_init(const std::string& path, const Config& config, LearnedFrom& data) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{16} << 30;
  SafetensorsFile file = read_safetensors_header(path, kMaxBytes);
  const auto table = file.entries.find("embed.W_E");
  if (table == file.entries.end() || table->second.shape.empty())
    throw Error("the weights in " + path +
                " have no embed.W_E; write them with --weights-out of "
                "`headlight trace`, or by the names of docs/names.md");
  check_vocabulary(data, table->second.shape[0], path);
  const auto expected_tensors = program_parameters(model_file(config, data.shape, data.task.get()));
  for (const TensorSpec& spec : expected_tensors) {
    const std::string& name = spec.file_name;
    const auto found = file.entries.find(name);
    std::vector<std::int64_t> expected;
    for (const Axis& axis : spec.axes) expected.push_back(axis.size);
    if (found == file.entries.end() || found->second.shape != expected) {
      throw Error("the weights in " + path + " should have " + name + " " + shape_text(spec.axes) +
                  (found == file.entries.end() ? ", which is not there" : "; its shape differs") +
                  ". Are --layers, --heads, --d-model and the like those of the file?");
    }
  }
  file = read_safetensors(path, kMaxBytes);
  std::vector<Tensor> parameters;
  for (const TensorSpec& spec : expected_tensors) {
    const std::vector<float> cells = tensor_as_float(file, spec.file_name);
    parameters.push_back({spec.name, spec.axes, FloatBuffer(cells.begin(), cells.end())});
  }
  return parameters;
}

}  // namespace

std::vector<Tensor> start_parameters(const TrainOptions& o,
                                     const std::shared_ptr<const Model>& base, const Config& config,
                                     LearnedFrom& data) {
  const std::optional<Init> init = from_word<Init>(o.init);
  if (base && config.form == ModelForm::kClasses)
    return classifier_weights(*base, config, data.shape, *init);
  if (base) return weights_from(base, config, data.shape);
  if (!init) return naming_file(o.init, [&] { return read_init(o.init, config, data); });
  return initial_parameters(build_program(config, data.shape), *init, config.seed);
}

}  // namespace headlight
