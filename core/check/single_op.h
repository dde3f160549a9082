// One operation on given tensors, without a model: so that it can be laid beside another
// implementation's numbers. Each is a small Program, which any backend runs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/backends/backend.h"

namespace headlight {

/// Numbers as a file has them.
struct PlainTensor {
  std::vector<std::int64_t> shape;
  std::vector<float> cells;   // row-major
  std::string dtype = "F32";  // of safetensors; "BOOL" has 0 and 1
};
using PlainTensors = std::map<std::string, PlainTensor>;

/// What a person may ask for.
struct SingleOp {
  std::string_view name;        // "layer-norm"
  std::string_view inputs;      // as --list has them, with shapes; "[…]" may be left out
  std::string_view attributes;  // "" where there is none
  std::string_view outputs;
};
std::span<const SingleOp> single_ops();

/// Runs the operation `name`. Throws UsageError for an unknown name, tensor or attribute, and for
/// tensors of a wrong kind or shape.
PlainTensors run_single_op(std::string_view name, const PlainTensors& inputs,
                           const std::map<std::string, std::string>& attributes, Backend&);

}  // namespace headlight
