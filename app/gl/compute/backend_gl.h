// The backend that computes on the graphics card, with compute shaders (shaders/*.comp).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gl/compute/attention.h"
#include "app/gl/compute/ops/gl_ops.h"
#include "app/gl/compute/spot_checks.h"
#include "app/gl/compute/tensors.h"
#include "app/gl/training/gl_updates.h"
#include "app/gl/tuning/tuned.h"
#include "core/backends/backend.h"

namespace headlight {

struct GlBackendOptions {
  /// Where compiled programs are kept; empty: nowhere.
  std::filesystem::path program_folder = default_program_folder();
  /// Where `headlight tune` keeps the best kernel table of each device; empty: nowhere.
  std::filesystem::path tuned_folder = default_tuned_folder();
  /// In the place of the one that is kept, or follows from the device's limits: it must fit them.
  std::optional<KernelTable> table = std::nullopt;
  /// Threads of the cpu backend, which runs what the device cannot take.
  int threads = 1;
  /// Does training run attention as one kernel where it can? Without, step by step as a trace does.
  bool fuses = true;
  /// The share of the time in which results are computed again by the processor (spot_checks.h); 0:
  /// none is.
  double spot_checks = 0;

  // ---- for tests ----
  const GlCalls* calls = nullptr;  // null: the driver's
  GlTexts texts = {};              // of shaders; empty: those that the build embedded
  std::optional<GlLimits> limits = std::nullopt;  // instead of the device's
  std::int64_t guard_cells = 0;                   // see GlTensors
};

/// A kind of call that the device could not take, so that the processor ran it.
struct GlFallback {
  Op op{};
  std::string shape;  // of the result
};

/// How a tensor lies on the device beside its axes: (batch, head, row, cell), there with the heads
/// of a row side by side, or as the axes say.
struct GlLayout {
  std::vector<Axis> axes;
  bool side_by_side = false;
  std::int64_t place_of(std::int64_t cell) const;
};

/// Where the tensors and the gradients of a program lie on the device.
struct GlStorage {
  explicit GlStorage(const GlCalls& gl, std::int64_t guard_cells = 0)
      : tensors(gl, guard_cells), gradients(gl, guard_cells), statistics(gl, guard_cells) {}
  // Slots are TensorIds, of the tensors that own memory; of those that pass (Backend::set_passing)
  // the lowest that lies at the same place.
  GlTensors tensors;
  std::vector<std::size_t> passing_slots;  // by TensorId; empty: none pass
  GlTensors gradients;  // slots are the lowest TensorIds whose gradients lie at the same place
  std::vector<std::size_t> gradient_slots;   // by TensorId
  std::vector<std::int64_t> gradient_rooms;  // by slot: the largest of those gradients
  std::vector<std::size_t> gradient_order;   // for finding them
  // Set: runs with this storage take these groups of calls as one, and what is_between() is not
  // made. Backward passes must have been planned with the same (Backward).
  std::shared_ptr<const Fusion> fusion;
  GlTensors statistics;  // slots are the TensorIds of the groups' results
};

/// Keeps a buffer for each tensor of the program that ran last. Inputs and parameters are copied
/// again only when they have changed, and a second run of the same program makes no buffer. Errors
/// of the device (a shader that does not compile, no memory, a lost context) are Errors whose
/// message says what and where; after one the backend should be dropped and another one used.
/// Every call needs the context that was current when it was made.
class GlBackend final : public Backend {
 public:
  /// Throws Error where the current context is older than OpenGL 4.3 (GlDevice::problem()).
  explicit GlBackend(GlBackendOptions options = {});

  std::string_view name() const override { return "gl"; }
  bool supports(const Program&, const OpCall&) const override;
  void run(const Program&, std::span<const OpCall>, std::span<float* const> memory) override;
  bool goes_on() const override { return true; }
  void run_more(const Program&, std::span<const OpCall>, std::span<float* const> memory) override;
  void run_backward(const Program&, std::span<const BackwardCall>, std::span<float* const> memory,
                    std::span<float* const> gradients) override;
  void set_constants(std::span<const std::shared_ptr<const Tensor>>) override;
  bool lets_pass() const override { return true; }
  void set_passing(const std::vector<bool>& tensors) override { passing_ = tensors; }
  RunsAgain runs_again() override;

  /// From now on runs use this storage, for who runs several programs in turns and wants to keep
  /// what is on the device of each; null: the backend's own.
  void use(GlStorage* storage) { at_ = storage ? storage : &own_; }

  /// For GlStorage::fusion: the groups of calls that the device can run as one. Null where there
  /// are none, one of them does not fit, or the options say no.
  std::shared_ptr<const Fusion> fusion_for(const Program&) const;
  /// As GlBackendOptions::fuses, for programs that are made from now on.
  void set_fusing(bool on) { fuses_ = on; }

  const GlCalls& calls() const { return gl_; }
  std::int64_t guard_cells() const { return guard_cells_; }
  const GlDevice& device() const { return device_; }
  const KernelTable& kernel_table() const { return table_; }
  /// Why the table that is kept for this device could not be used; empty: nothing is amiss.
  const Message& tuned_problem() const { return tuned_.problem; }
  const GlPrograms& programs() const { return programs_; }
  /// For timing. The tag of a kernel's time is its call's place among those of the run.
  GlQueue& queue() { return queue_; }
  /// What training needs beside the operations.
  GlUpdates& updates() { return updates_; }
  /// Runs throw WrongResult where one of them finds something.
  GlSpotChecks& spot_checks() { return spot_checks_; }
  /// What was found; none: nothing.
  const std::optional<GlWrong>& wrong() const { return wrong_; }
  /// Takes note of it and throws.
  [[noreturn]] void tell_wrong(const GlWrong&);
  /// How far results may be off here.
  double limit_of(Op) const;
  /// What ran on the processor since this was made, each kind once.
  const std::vector<GlFallback>& fallbacks() const { return fallbacks_; }

  /// With false, runs leave what they compute on the device: memory has it only after fetch(). To
  /// begin with they copy everything to memory.
  void set_fetching(bool on) { fetching_ = on; }
  /// With true, results hold NaN wherever a kernel does not write them (GlTensors::set_spoiling),
  /// of runs with the backend's own storage.
  void set_spoiling(bool on) {
    own_.tensors.set_spoiling(on);
    own_.gradients.set_spoiling(on);
  }
  /// Copies a tensor, or the gradient of one, from the device to memory where the device has a
  /// newer one. The program must be the one that ran last.
  void fetch(const Program&, TensorId, std::span<float* const> memory);
  void fetch_gradient(TensorId, std::span<float* const> gradients);
  /// The buffer of a tensor of the program that ran last, floats in row-major order; 0: none.
  unsigned buffer(const Program&, TensorId) const;
  /// Have all guard words been left alone?
  bool guards_hold() {
    return at_->tensors.guards_hold() && at_->gradients.guards_hold() &&
           at_->statistics.guards_hold();
  }

 private:
  void begin(const Program&);
  void share_slots(const Program&, std::span<float* const> memory);
  std::size_t slot_of(const Program&, TensorId) const;
  bool passes(std::size_t slot) const { return slot < passing_.size() && passing_[slot]; }
  bool run_again(const Program&, std::span<const OpCall>, std::span<float* const> memory);
  void begin_gradients(const Program&, std::span<float* const> gradients);
  void fetch_all(std::span<float* const> memory);
  void fetch_all_gradients(std::span<float* const> gradients);
  unsigned read(const Program&, TensorId, std::span<float* const> memory);
  void run_call(const Program&, const GlOpCall&, std::span<float* const> memory);
  void run_call_backward(const Program&, const BackwardCall&, GlOpCall&,
                         std::span<float* const> memory, std::span<float* const> gradients);
  GlAttentionCall attention_call(const Program&, const FusedAttention&,
                                 std::span<float* const> memory);
  bool run_fused(const Program&, const OpCall&, std::span<float* const> memory);
  bool run_fused_backward(const Program&, std::span<const BackwardCall> steps,
                          std::span<float* const> memory, std::span<float* const> gradients);
  void run_elsewhere(const Program&, const OpCall&, std::span<float* const> memory);
  void run_elsewhere_backward(const Program&, const BackwardCall&, std::span<float* const> memory,
                              std::span<float* const> gradients);
  void remember(const Program&, const OpCall&);
  // backend_gl_checks.cpp
  struct Checked;
  struct BackwardCheck;
  FarTensor far_tensor(GlTensors&, std::size_t slot, const float* memory, const GlLayout&);
  Checked checked(const Program&, const OpCall&, std::span<float* const> memory);
  Checked checked(const Program&, const FusedAttention&, std::span<float* const> memory);
  void check_cell(FarCall&, int input, std::int64_t cell, double got, double size);
  void check_forward(const Program&, const OpCall&, std::span<float* const> memory);
  std::shared_ptr<BackwardCheck> begin_check(const Program&, std::span<const BackwardCall> steps,
                                             std::span<float* const> memory,
                                             std::span<float* const> gradients);
  void end_check(BackwardCheck&, std::span<float* const> gradients);
  bool has_own_gradient(const Checked&, std::size_t input) const;

  const GlCalls gl_;
  const std::int64_t guard_cells_;
  bool fuses_;
  GlDevice device_;
  TunedTable tuned_;
  KernelTable table_;
  GlPrograms programs_;
  GlQueue queue_;
  GlDeviceLauncher launcher_;
  GlOps ops_;
  GlAttention attention_;
  GlUpdates updates_;
  GlStorage own_;
  GlStorage* at_ = &own_;
  std::unique_ptr<Backend> elsewhere_;
  std::vector<GlFallback> fallbacks_;
  GlSpotChecks spot_checks_;
  std::optional<GlWrong> wrong_;
  bool fetching_ = true;
  std::vector<std::weak_ptr<const Tensor>> constants_;  // by TensorId
  std::vector<bool> passing_;                           // by TensorId; empty: none
  std::shared_ptr<GlBackend*> here_;                    // for whoever may outlive this
};

std::unique_ptr<GlBackend> make_gl_backend(GlBackendOptions options = {});

}  // namespace headlight
