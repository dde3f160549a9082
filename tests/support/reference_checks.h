// Runs and walks of a backend against PyTorch's numbers, as checks: for the tests of each of them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/largest_error.h"
#include "tests/support/reference_file.h"
#include "tests/support/training_model.h"

namespace headlight {

/// The largest error of what was compared, and where that is.
struct ReferenceErrors {
  double worst = 0;
  std::string where = "nowhere";
  int tensors = 0, activations = 0;  // the others are parameters

  /// Errors are relative to the tensor's size.
  void add(double error, const std::string& place, bool parameter) {
    CHECK_MESSAGE(error <= 1e-5, place << " is off by " << error);
    ++tensors;
    activations += !parameter;
    if (error > worst) worst = error, where = place;
  }
  std::string text() const {
    std::ostringstream out;
    out << tensors << " tensors, worst relative error " << worst << " (" << where << ")";
    return out.str();
  }
};

/// Memory for each tensor of a program; aliases share. NaN until something is written.
class ReferenceMemory {
 public:
  explicit ReferenceMemory(const Program& program) : owned_(program.tensors.size()) {
    for (std::size_t id = 0; id < owned_.size(); ++id) {
      const TensorSpec& spec = program.tensors[id];
      if (spec.kind != TensorKind::kAlias) {
        owned_[id].assign(static_cast<std::size_t>(cell_count(spec.axes)),
                          std::numeric_limits<float>::quiet_NaN());
      }
    }
    for (std::size_t id = 0; id < owned_.size(); ++id)
      cells_.push_back(owned_[place(program.resolve(static_cast<TensorId>(id)))].data());
  }
  /// What the file says of parameters and inputs.
  void load(const Reference& r, const Program& program) {
    for (std::size_t id = 0; id < program.tensors.size(); ++id) {
      const TensorSpec& spec = program.tensors[id];
      if (spec.kind != TensorKind::kParameter && spec.kind != TensorKind::kInput) continue;
      const std::vector<float> numbers = tensor_as_float(r.file, name_in_file(spec));
      REQUIRE(numbers.size() == static_cast<std::size_t>(cell_count(spec.axes)));
      std::copy(numbers.begin(), numbers.end(), cells_[id]);
    }
  }
  std::span<float* const> cells() { return cells_; }
  const std::vector<FloatBuffer>& owned() const { return owned_; }

 private:
  std::vector<FloatBuffer> owned_;
  std::vector<float*> cells_;
};

/// The backend runs every call itself; the graphics card not yet those whose heads share keys, and
/// none whose rows need the ones before them.
inline void check_takes_all(const Program& program, const Backend& backend) {
  const bool shares = backend.name() == "gl" && program.config.kv_heads > 0;
  for (const OpCall& call : program.calls) {
    const bool waits = backend.name() == "gl" && op_info(call.op).is_sequential;
    CHECK((shares || backend.supports(program, call) != waits));
  }
}

/// Every tensor of a run.
inline void check_trace(const Reference& r, Backend& backend, ReferenceErrors& errors) {
  CAPTURE(backend.name());
  const Program program = build_program(config_of(r), shape_of(r));
  ReferenceMemory memory(program);
  memory.load(r, program);
  check_takes_all(program, backend);
  backend.run(program, program.calls, memory.cells());
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const TensorSpec& spec = program.tensors[id];
    if (spec.kind != TensorKind::kActivation && spec.kind != TensorKind::kAlias) continue;
    const std::vector<float> theirs = tensor_as_float(r.file, spec.name);
    REQUIRE(theirs.size() == static_cast<std::size_t>(cell_count(spec.axes)));
    errors.add(largest_error({memory.cells()[id], theirs.size()}, theirs),
               r.name + ": " + spec.name, false);
  }
}

/// Every gradient that the file has, and that of every parameter.
inline void check_gradients(const Reference& r, Backend& backend, ReferenceErrors& errors) {
  CAPTURE(backend.name());
  TrainingModel model(config_of(r), shape_of(r), r.file.metadata.contains("dropout"));
  const Program& program = *model.program;
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const TensorSpec& spec = program.tensors[id];
    if (spec.kind != TensorKind::kParameter && spec.kind != TensorKind::kInput) continue;
    const auto numbers = tensor_as_float(r.file, name_in_file(spec));
    const auto cells = model.cells(static_cast<TensorId>(id));
    REQUIRE(numbers.size() == cells.size());
    std::copy(numbers.begin(), numbers.end(), cells.begin());
  }
  check_takes_all(program, backend);
  model.run(backend);
  model.run_backward(backend);
  CHECK(normalised_error(model.cells(program.loss), tensor_as_float(r.file, "loss"), 0) <= 1e-5);
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const TensorSpec& spec = program.tensors[id];
    const bool parameter = spec.kind == TensorKind::kParameter;
    const std::string name = "d." + name_in_file(spec);
    // Aliases share their source's gradient; torch's names stand for places in its graph.
    if (!parameter && (spec.kind != TensorKind::kActivation || !r.has(name))) continue;
    REQUIRE(r.has(name));
    const std::vector<float> theirs = tensor_as_float(r.file, name);
    const TensorView ours = model.backward.gradient(static_cast<TensorId>(id));
    REQUIRE(theirs.size() == static_cast<std::size_t>(ours.size()));
    errors.add(
        normalised_error(ours.cells(), theirs, model.least_gradient(static_cast<TensorId>(id))),
        r.name + ": " + name, parameter);
  }
}

}  // namespace headlight
