// A training program for one number of rows, with its memory here and on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "app/gl/compute/backend_gl.h"
#include "core/autodiff/backward.h"

namespace headlight {

struct GlTrainingProgram {
  /// `parameters` in the order of the program; they must outlive this.
  /// With a fusion runs take its groups as one (GlStorage::fusion).
  GlTrainingProgram(Program, std::shared_ptr<const Fusion>, const GlCalls&,
                    std::int64_t guard_cells, std::span<Tensor> parameters);

  /// A tensor of the last run, on the device.
  GlCells look(TensorId);
  /// Of the device's memory.
  std::size_t device_bytes() const {
    return storage.tensors.bytes() + storage.gradients.bytes() + storage.statistics.bytes() +
           drawn.bytes();
  }

  std::shared_ptr<const Program> program;
  std::vector<OpCall> calls;                 // up to the loss
  std::vector<std::size_t> parameter_slots;  // of the storage, and places in memory
  std::vector<float*> memory;                // by TensorId
  Backward backward;
  GlStorage storage;
  GlTensors drawn;         // by TensorId: inputs that the device makes itself, lent to the storage
  std::uint64_t used = 0;  // when, counted by the owner

 private:
  void lay_out();
  // Room for what the device makes. Nothing touches most of it, so it must not be cleared: then it
  // takes up no memory.
  std::unique_ptr<float[]> arena_;
};

}  // namespace headlight
