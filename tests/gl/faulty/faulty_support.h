// Drivers that compute wrongly, for tests: a shader with a mistake, or the real driver with a
// mistake that begins after a while.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/gl/compute/backend_gl.h"
#include "app/gl/context/compute_context.h"
#include "app/gl/training/gl_trainer.h"
#include "app/workers/gpu.h"
#include "core/check/op_trials.h"
#include "core/model/init.h"
#include "tests/gl/test_gl_support.h"
#include "tests/support/changed_text.h"

namespace headlight::test {

/// Every run is checked.
inline constexpr double kAlways = 1e9;

inline GlBackendOptions checked_options(double share = kAlways) {
  GlBackendOptions options;
  options.program_folder.clear();
  options.tuned_folder.clear();
  options.spot_checks = share;
  return options;
}

inline std::atomic<long> g_right_uniforms = 0;

/// The driver of the current context, which passes on so many fractions as they are given, and each
/// later one a thousandth too large: as one that puts values of uniforms into its programs, and the
/// wrong ones.
inline const GlCalls& turning_calls() {
  static const GlCalls kReal = real_gl();
  static const GlCalls kTurning = [] {
    GlCalls calls = kReal;
    calls.uniform1f = [](GLint location, GLfloat value) {
      kReal.uniform1f(location, g_right_uniforms-- > 0 ? value : 1.001f * value);
    };
    return calls;
  }();
  return kTurning;
}

/// And it says that it is a graphics card.
inline const GlCalls& card_calls() {
  static const GlCalls kReal = real_gl();
  static const GlCalls kCard = [] {
    GlCalls calls = turning_calls();
    calls.get_string = [](GLenum name) {
      return name == GL_RENDERER ? reinterpret_cast<const GLubyte*>("A card")
                                 : kReal.get_string(name);
    };
    return calls;
  }();
  return kCard;
}
inline constexpr long kNeverWrong = 1L << 60;

inline std::function<std::unique_ptr<Gpu>()> maker(const GlBackendOptions& options) {
  return [options] { return std::make_unique<Gpu>(make_egl_compute_context(), options); };
}

inline bool can_compute() {
  if (!gl_ready()) return false;
  const Message problem = GlDevice::ask(real_gl()).problem();
  if (!problem.empty()) std::cout << "SKIPPED: " << say(Language::kEnglish, problem) << std::endl;
  return problem.empty();
}

/// A small model that is trained, and its batch.
struct SmallTraining {
  Config config;
  RunShape shape{.batch = 1, .positions = 7, .vocab = 11};
  TrainerOptions options;
  TokenBatch batch;

  SmallTraining() {
    config.layers = 1;
    config.heads = 2;
    config.d_model = 16;
    config.positions = PositionKind::kLearned;
    config.mask.kind = MaskKind::kCausal;
    options.schedule.peak = 0.01;
    options.clip = 0.5;
    set_positions(7);
  }
  void set_positions(int positions) {
    shape.positions = batch.positions = positions;
    batch.rows = 3;
    batch.tokens.clear();
    batch.targets.clear();
    for (int i = 0; i < 3 * positions; ++i) {
      batch.tokens.push_back(i * 5 % 11);
      batch.targets.push_back((i + 1) * 5 % 11);
    }
  }
  GlTrainer trainer(GlBackend& gl) const {
    return GlTrainer(config, shape,
                     initial_parameters(build_program(config, shape), Init::kGlorot, 5), options,
                     {std::shared_ptr<void>(), &gl});
  }
};

/// Steps until a check finds something; what it was, and how many steps were made. At most `most`.
inline std::optional<WrongResult> train_until_wrong(GlTrainer& trainer, const TokenBatch& batch,
                                                    int most, int& steps) {
  for (steps = 0; steps < most; ++steps) {
    try {
      trainer.step(batch);
    } catch (const WrongResult& wrong) {
      return wrong;
    }
  }
  return std::nullopt;
}

}  // namespace headlight::test
