// GlTrainer: the learner on the graphics card. A whole step (forward, loss, backward, clipping,
// update) runs there; what comes back of it is GlFigures.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gl/compute/backend_gl.h"
#include "app/gl/training/gl_training_program.h"
#include "core/train/data/batch_inputs.h"
#include "core/train/learner.h"

namespace headlight {

/// A batch runs as one program, or in pieces one after another where that would not fit in the
/// device's buffers; what does not fit in pieces either, the processor runs (fallbacks()). Weights,
/// gradients and moments stay on the device and come when they are asked for. Errors of the device
/// are Errors. After one in a step the weights of the step before can still be asked for, unless
/// the device is lost or the update had begun: then parameters() and optimizer() throw, too.
class GlTrainer final : public Learner {
 public:
  /// Computes with this backend, which others may use in between, and needs its context to be
  /// current from first to last. Throws as Trainer does, and Error for a parameter that is larger
  /// than a buffer of the device may be.
  GlTrainer(const Config&, const RunShape&, std::vector<Tensor> parameters, const TrainerOptions&,
            std::shared_ptr<GlBackend>);
  ~GlTrainer() override;

  using Learner::step;
  TrainStep step(std::span<const TokenBatch>) override;
  Evaluation evaluate(const TokenBatch&) override;
  std::span<const float> gradient(std::size_t parameter) const override;
  std::string device() const override;
  std::vector<std::string> fallbacks() const override;
  /// Here and on the device.
  std::size_t memory_bytes() const override;

  /// Have all guard words been left alone?
  bool guards_hold();

 private:
  struct Piece {
    const TokenBatch& batch;
    std::int64_t first = 0;    // row
    std::int64_t counted = 0;  // targets of the whole step
    std::int64_t row = 0;      // of the first row, counted over all batches of the step
    bool backward = false, adds = false;
  };
  void check_sizes() const;
  void make_buffers();
  // Rows, tokens and source tokens of each.
  using Size = std::array<std::int64_t, 3>;
  GlTrainingProgram& program_for(const Size&);
  std::int64_t pieces_for(const Size&);
  int unfit_calls(const Size&) const;
  Program program_of(const Size&) const;
  void run_batch(const TokenBatch&, Piece);
  void run_piece(GlTrainingProgram&, const Piece&);
  void draw_dropout(GlTrainingProgram&, const Piece&);
  void lend_parameters(GlTrainingProgram&);
  void lend_gradients(GlTrainingProgram&);
  void take_gradients(GlTrainingProgram&);
  void add_figures(GlTrainingProgram&, const Piece&);
  GlFigures read_figures();
  void measure_gradients();
  void update(const TrainStep&);
  void update_parameter(std::size_t parameter, double rate, std::int64_t number);
  // gl_trainer_check.cpp
  // Some cells of a parameter before its update, with what they are updated from.
  struct UpdateSample {
    std::size_t parameter = 0;
    std::vector<std::int64_t> cells;
    std::vector<float> value, gradient;
    std::array<std::vector<float>, 2> moments;
  };
  std::optional<UpdateSample> sample_update();
  void check_update(const UpdateSample&, double factor, double rate, std::int64_t number);
  void compare_update(const UpdateSample&, double factor, double rate, std::int64_t number);
  template <class F>
  auto guarded(F&&);
  void bring(GlTensors&, std::size_t slot, float* memory) const;
  void bring_parameters() const override;
  void bring_moments() const override;
  std::int64_t cells_of(std::size_t parameter) const;

  std::shared_ptr<GlBackend> backend_;  // outlives all else
  std::int64_t guard_cells_;
  // Slots are parameters.
  mutable GlTensors weights_on_, gradients_on_, moments_on_[2];
  GlTensors figures_on_;            // slot 0
  mutable FloatBuffer gradient_;    // of all parameters, when somebody asks
  std::vector<std::size_t> place_;  // by parameter: where its gradient begins there
  std::vector<GlCells> measured_;
  std::map<Size, std::unique_ptr<GlTrainingProgram>> programs_;
  std::map<Size, std::int64_t> pieces_;  // of a batch
  std::uint64_t uses_ = 0;
  // Of spot checks: the cells that were right when the step below began.
  std::int64_t checked_cells_ = 0, checked_step_ = 0;
  std::optional<WrongResult> wrong_update_;  // for the next step to throw: this one was made
  BatchSum elsewhere_;                       // what the device could not add up
  mutable bool lost_ = false;                // the numbers on the device are not to be used
};

/// A backend in an OpenGL context of its own, without a window, which becomes current on the thread
/// that calls this. There it must be used, and there the last that holds it must let go. Throws
/// Error where there is no context, or none of OpenGL 4.3.
std::shared_ptr<GlBackend> make_lone_gl_backend(GlBackendOptions = {});

/// Makes GlTrainers that compute with this backend.
LearnerFactory gl_learners(std::shared_ptr<GlBackend>);

}  // namespace headlight
