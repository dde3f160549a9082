// How other programs lay out a weight in their files, and the same numbers laid out as here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/half.h"
#include "core/base/tensor.h"
#include "core/graph/roles.h"

namespace headlight {

/// Where the cells of a parameter lie in the file's tensor. Ours: a product is x W with W (in,
/// out), those of attention head by head; a bias has the axes that come out.
enum class WeightLayout {
  kSame,    // the same axes, a table's rows too
  kLinear,  // (out, in), as PyTorch's Linear keeps it
  kConv1d,  // (in, out), as GPT-2's Conv1D keeps it
  kJoined,  // Linear, with the outputs of several weights one after the other: (parts · out, in)
  kJoinedConv,  // the same of Conv1D: (in, parts · out)
  kByHead,      // Linear, and head by head those of several weights: (heads · parts · d_head, in)
};

/// One parameter and where it stands in the file.
struct WeightSource {
  std::string name;
  WeightLayout layout = WeightLayout::kSame;
  int part = 0, parts = 1;  // of the joined ones
};

/// The shape that the file's tensor should have, and where the cell of ours with all indices 0 lies
/// and how far apart, in numbers, the cells along each of our axes.
struct StridedSource {
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
};

/// The role tells of W_O that its heads are what goes in; those of Q, K and V are what comes out.
StridedSource strided_source(const WeightSource&, std::span<const Axis> axes, Role);

/// Copies all cells, row-major in our axes, from numbers of the file. `dtype` is "F32", "F16" or
/// "BF16". Returns how many of them are not finite.
std::int64_t copy_weights(std::string_view bytes, std::string_view dtype, const StridedSource&,
                          std::span<const Axis> axes, float* to);

/// The other way: each cell of ours to its place among the numbers of the file's tensor. Returns
/// the first finite one that is beyond what the format holds, if there is one.
std::optional<float> place_weights(const float* from, std::span<const Axis> axes,
                                   const StridedSource& place, NumberFormat, char* to);

}  // namespace headlight
