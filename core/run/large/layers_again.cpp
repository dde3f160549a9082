#include "core/run/large/layers_again.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/backends/backend.h"

namespace headlight {

LayerRunner::LayerRunner(std::string backend) : name_(std::move(backend)) {}
LayerRunner::~LayerRunner() = default;

void LayerRunner::run(const Program& program, std::span<const OpCall> calls,
                      std::span<float* const> memory) {
  const std::lock_guard lock(mutex_);
  if (!backend_) {
    const int threads = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
    backend_ = make_backend(name_, threads);
  }
  backend_->run(program, calls, memory);
}

LayersAgain::LayersAgain(std::shared_ptr<const Program> program, KeptTensors kept,
                         std::shared_ptr<LayerRunner> runner)
    : program_(std::move(program)),
      kept_(std::move(kept)),
      runner_(std::move(runner)),
      layers_(kept_.stretches().size()) {}

bool LayersAgain::is_there(TensorId id) const {
  const int stretch = kept_.stretch_of(id);
  if (stretch < 0) return true;
  const std::lock_guard lock(mutex_);
  return layers_[static_cast<std::size_t>(stretch)].buffer != nullptr;
}

LayersAgain::Layer& LayersAgain::computed(int stretch, std::span<float* const> memory) {
  Layer& layer = layers_[static_cast<std::size_t>(stretch)];
  if (layer.buffer) return layer;
  const KeptTensors::Stretch& s = kept_.stretches()[static_cast<std::size_t>(stretch)];
  auto buffer = std::make_shared<FloatBuffer>(s.cells);
  layer.memory.assign(memory.begin(), memory.end());
  kept_.lay_out(stretch, buffer->data(), layer.memory);
  const std::span<const OpCall> calls = program_->calls;
  const auto first = static_cast<std::size_t>(s.first);
  runner_->run(*program_, calls.subspan(first, static_cast<std::size_t>(s.last) - first),
               layer.memory);
  layer.buffer = std::move(buffer);
  return layer;
}

float* LayersAgain::cells(TensorId id, std::span<float* const> memory) {
  const std::lock_guard lock(mutex_);
  return computed(kept_.stretch_of(id), memory).memory[place(id)];
}

LayersAgain::Held LayersAgain::hold(TensorId id, std::span<float* const> memory) {
  const int stretch = kept_.stretch_of(id);
  if (stretch < 0) return nullptr;
  const std::lock_guard lock(mutex_);
  return computed(stretch, memory).buffer;
}

double LayersAgain::bytes() const {
  const std::lock_guard lock(mutex_);
  double bytes = 0;
  for (const Layer& layer : layers_) {
    if (layer.buffer) bytes += static_cast<double>(layer.buffer->size() * sizeof(float));
  }
  return bytes;
}

void LayersAgain::forget(TensorId shown, double most) {
  if (bytes() <= most) return;
  const int stays = shown < 0 ? -1 : kept_.stretch_of(shown);
  const std::lock_guard lock(mutex_);
  for (std::size_t s = 0; s < layers_.size(); ++s) {
    // Nobody comes to hold it meanwhile, for that takes the lock.
    const bool held = layers_[s].buffer.use_count() > 1;
    if (static_cast<int>(s) != stays && !held) layers_[s] = {};
  }
}

}  // namespace headlight
