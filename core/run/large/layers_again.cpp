#include "core/run/large/layers_again.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/backends/backend.h"
#include "core/graph/program_memory.h"

namespace headlight {

LayerRunner::LayerRunner(std::string backend, RunsAgain again)
    : name_(std::move(backend)), again_(std::move(again)) {}
LayerRunner::~LayerRunner() = default;

void LayerRunner::run(const Program& program, std::span<const OpCall> calls,
                      std::span<float* const> memory) {
  const std::lock_guard lock(mutex_);
  if (again_ && again_(program, calls, memory)) return;
  if (!backend_) {
    const int threads = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
    backend_ = again_ ? make_cpu_backend(threads) : make_backend(name_, threads);
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
  const auto some = calls.subspan(first, static_cast<std::size_t>(s.last) - first);
  FloatBuffer twins;
  runner_->run(*program_, some, without_writing_over(some, layer.memory, twins));
  layer.buffer = std::move(buffer);
  return layer;
}

// What stays is made once more on the way, elsewhere: others may be reading it.
std::vector<float*> LayersAgain::without_writing_over(std::span<const OpCall> calls,
                                                      std::span<float* const> memory,
                                                      FloatBuffer& twins) const {
  std::vector<float*> at(memory.begin(), memory.end());
  std::vector<std::size_t> places(at.size(), 0);  // by source: behind its own
  std::size_t cells = 0;
  for (const OpCall& call : calls) {
    const auto source = place(program_->resolve(call.out));
    if (kept_.stretch_of(call.out) >= 0 || places[source] > 0) continue;
    cells += padded_cells(cell_count(program_->tensors[source].axes));
    places[source] = cells;
  }
  twins.resize(cells);
  for (std::size_t id = 0; id < at.size(); ++id) {
    const auto source = place(program_->resolve(static_cast<TensorId>(id)));
    if (places[source] == 0) continue;
    at[id] =
        twins.data() + places[source] - padded_cells(cell_count(program_->tensors[source].axes));
  }
  return at;
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
