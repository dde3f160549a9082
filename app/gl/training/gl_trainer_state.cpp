// What others ask of a trainer on the graphics card: weights, moments and gradients as they are on
// the device, and what it takes.
#include "app/gl/training/gl_trainer.h"
#include "core/base/error.h"

namespace headlight {

void GlTrainer::bring(GlTensors& tensors, std::size_t slot, float* memory) const {
  if (!tensors.is_newer(slot)) return;
  tensors.fetch(slot, memory);
  try {
    check_device(backend_->calls(), "glGetBufferSubData");
  } catch (const Error&) {
    lost_ = true;  // memory may have anything in it
    throw;
  }
}

void GlTrainer::bring_parameters() const {
  if (lost_) throw Error(Message{"gpu.half"});
  for (std::size_t p = 0; p < parameters_.size(); ++p)
    bring(weights_on_, p, parameters_[p].data.data());
}

void GlTrainer::bring_moments() const {
  if (lost_) throw Error(Message{"gpu.half"});
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    for (std::size_t m = 0; m < optimizer_->moment_count(); ++m)
      bring(moments_on_[m], p, optimizer_->moment(p, m).data());
  }
}

std::span<const float> GlTrainer::gradient(std::size_t parameter) const {
  if (lost_) throw Error(Message{"gpu.half"});
  float* memory = gradient_.data() + place_[parameter];
  bring(gradients_on_, parameter, memory);
  return {memory, parameters_[parameter].data.size()};
}

std::string GlTrainer::device() const { return backend_->device().renderer; }

std::vector<std::string> GlTrainer::fallbacks() const {
  std::vector<std::string> list;
  for (const GlFallback& fallback : backend_->fallbacks())
    list.push_back(std::string(op_info(fallback.op).id) + " " + fallback.shape);
  return list;
}

std::size_t GlTrainer::memory_bytes() const {
  std::size_t bytes = (2 + optimizer_->moment_count()) * gradient_.size() * sizeof(float);
  for (const GlTensors* tensors : std::initializer_list<const GlTensors*>{
           &weights_on_, &gradients_on_, &moments_on_[0], &moments_on_[1], &figures_on_})
    bytes += tensors->bytes();
  for (const auto& entry : programs_) {
    const GlTrainingProgram& s = *entry.second;
    bytes += s.device_bytes() + static_cast<std::size_t>(s.backward.memory_bytes());
  }
  return bytes;
}

bool GlTrainer::guards_hold() {
  bool hold = figures_on_.guards_hold();
  for (GlTensors* tensors : {&weights_on_, &gradients_on_, &moments_on_[0], &moments_on_[1]})
    hold = hold && tensors->guards_hold();
  for (const auto& entry : programs_) {
    GlStorage& storage = entry.second->storage;
    hold = hold && storage.tensors.guards_hold() && storage.gradients.guards_hold() &&
           storage.statistics.guards_hold() && entry.second->drawn.guards_hold();
  }
  return hold;
}

}  // namespace headlight
