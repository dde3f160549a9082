// The layers of a run that did not stay in memory, computed again for whoever looks at them.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/backends/backend.h"
#include "core/base/tensor.h"
#include "core/run/large/kept_tensors.h"

namespace headlight {

/// Runs the calls of layers, whatever thread asks; of all runs of one Runner.
class LayerRunner {
 public:
  /// `again`: as Backend::runs_again(). Where it cannot, the processor does.
  explicit LayerRunner(std::string backend, RunsAgain again = nullptr);
  ~LayerRunner();
  const std::string& backend() const { return name_; }
  bool on_device() const { return again_ != nullptr; }
  void run(const Program&, std::span<const OpCall>, std::span<float* const> memory);

 private:
  std::string name_;
  RunsAgain again_;
  std::mutex mutex_;
  std::unique_ptr<Backend> backend_;  // made when it is first needed
};

/// May be asked from any thread. What a layer's tensors lie in stays until forget(), and as long as
/// somebody holds it.
class LayersAgain {
 public:
  using Held = std::shared_ptr<const FloatBuffer>;
  LayersAgain(std::shared_ptr<const Program>, KeptTensors, std::shared_ptr<LayerRunner>);

  const KeptTensors& kept() const { return kept_; }
  /// Are layers computed by a device, on its own thread?
  bool on_device() const { return runner_->on_device(); }
  /// Does the tensor stay, or has its layer been computed again?
  bool is_there(TensorId) const;
  /// Computes the layer of a tensor that does not stay, unless it is there. `memory`: where what
  /// stays lies.
  float* cells(TensorId, std::span<float* const> memory);
  Held hold(TensorId, std::span<float* const> memory);
  /// Lets go of every layer that nobody holds but that of `shown` (-1: none) where together they
  /// take more than so many bytes.
  void forget(TensorId shown, double bytes);
  double bytes() const;

 private:
  struct Layer {
    std::shared_ptr<FloatBuffer> buffer;  // null: not computed
    std::vector<float*> memory;           // of all tensors, those of the layer in the buffer
  };
  Layer& computed(int stretch, std::span<float* const> memory);
  std::vector<float*> without_writing_over(std::span<const OpCall>, std::span<float* const> memory,
                                           FloatBuffer& twins) const;

  std::shared_ptr<const Program> program_;
  KeptTensors kept_;
  std::shared_ptr<LayerRunner> runner_;
  mutable std::mutex mutex_;
  std::vector<Layer> layers_;  // by stretch
};

}  // namespace headlight
