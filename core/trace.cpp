#include "core/trace.h"

#include "core/heatmap.h"

namespace headlight {

TensorView Trace::tensor(TensorId id) const {
  TensorView t = program_->look(id);
  t.data = memory_[static_cast<std::size_t>(id)];
  return t;
}

TensorView Trace::find(std::string_view name) const {
  const TensorId id = program_->find(name);
  return id < 0 ? TensorView{} : tensor(id);
}

float Trace::limit(TensorId id) const {
  limits_.resize(program_->tensors.size(), 0.0f);
  float& kept = limits_[static_cast<std::size_t>(id)];
  if (kept == 0) kept = robust_limit(tensor(id).cells());
  return kept;
}

std::string Trace::tick(std::string_view axis, std::int64_t i) const {
  const auto place = static_cast<std::size_t>(i);
  if ((axis == "position" || axis == "query" || axis == "key") && place < input_.tokens.size()) {
    return input_.tokens[place];
  }
  if (axis == "vocab" && place < input_.vocab.size()) return input_.vocab[place];
  return std::to_string(i);
}

}  // namespace headlight
