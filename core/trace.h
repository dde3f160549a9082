// Trace: one run of a program, every tensor of it kept and found by name. Immutable once made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/program.h"

namespace headlight {

/// What a run starts from besides its parameters.
struct RunInput {
  std::vector<std::string> tokens;  // as the sentence has them, in order
  std::vector<std::string> vocab;   // row -> token
  std::vector<int> ids;             // position -> row of the vocabulary
};

class Trace {
 public:
  const Program& program() const { return *program_; }
  const Config& config() const { return program_->config; }
  const RunInput& input() const { return input_; }
  std::int64_t length() const { return static_cast<std::int64_t>(input_.tokens.size()); }
  /// Differs between any two runs of one Runner; pictures are cached by it.
  std::uint64_t serial() const { return serial_; }
  std::string_view backend() const { return backend_; }

  TensorView tensor(TensorId id) const;
  /// Throws UsageError with the nearest names.
  TensorView tensor(std::string_view name) const { return tensor(program_->require(name)); }
  /// nullptr-like (data == nullptr) when this model has no such tensor.
  TensorView find(std::string_view name) const;

  /// What to call cell `i` of this axis: the token for positions, the vocabulary entry for vocab,
  /// the number otherwise.
  std::string tick(std::string_view axis, std::int64_t i) const;

  /// robust_limit() of the whole tensor, every head included, so that heads share one range.
  /// Computed when first asked for and kept; ask from one thread at a time.
  float limit(TensorId id) const;

 private:
  friend class Runner;
  std::shared_ptr<const Program> program_;
  std::vector<std::shared_ptr<const Tensor>> parameters_;  // by TensorId
  RunInput input_;
  FloatBuffer arena_;
  std::vector<float*> memory_;
  std::uint64_t serial_ = 0;
  std::string backend_;
  mutable std::vector<float> limits_;  // by TensorId; 0: not computed yet
};

}  // namespace headlight
