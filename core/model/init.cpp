#include "core/model/init.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/random.h"

namespace headlight {
namespace {

constexpr std::array kInits = {Choice<Init>{Init::kNormal, "normal"},
                               Choice<Init>{Init::kGlorot, "glorot"},
                               Choice<Init>{Init::kKaiming, "kaiming"}};

constexpr double kDeviation = 0.02;

// The largest value of a uniform distribution.
double bound(Init init, Fans fan) {
  const double cells = static_cast<double>(init == Init::kGlorot ? fan.in + fan.out : fan.in);
  return std::sqrt(6.0 / std::max(1.0, cells));
}

}  // namespace

std::span<const Choice<Init>> choices(Init) { return kInits; }

Fans fans(const TensorSpec& spec) {
  const auto size = [&](std::size_t axis) { return spec.axes[axis].size; };
  if (spec.role == Role::kTokenTable || spec.role == Role::kPositionTable ||
      spec.role == Role::kSegmentTable)
    return {size(1), size(0)};
  // A row by distance stands where a key or a value does; a number by bucket is looked up.
  if (spec.role == Role::kDistanceKeyTable || spec.role == Role::kDistanceValueTable)
    return {size(1), size(1)};
  if (spec.role == Role::kDistanceTable) return {1, size(1)};
  if (spec.role == Role::kScoreVector) return {size(1), 1};
  if (spec.role == Role::kWindowWeight) return {size(0) * size(1), size(0) * size(2)};
  if (spec.role == Role::kOutputWeight && spec.axes.size() == 3)
    return {size(0) * size(1), size(2)};
  // Each expert is a network of its own.
  if (spec.axes.size() == 3 && spec.axes[0].name == "expert") return {size(1), size(2)};
  if (spec.axes.size() == 3) return {size(1), size(0) * size(2)};
  if (spec.axes.size() == 2) return {size(0), size(1)};
  return {1, 1};
}

void initialise(const TensorSpec& spec, Init init, std::uint64_t seed, std::span<float> out) {
  const ParameterKind kind = role_info(spec.role).parameter;
  if (kind != ParameterKind::kMatrix) {
    std::fill(out.begin(), out.end(), kind == ParameterKind::kNormScale ? 1.0f : 0.0f);
    return;
  }
  // The last scatter keeps these streams apart from the sandbox's of the same seed.
  const std::uint64_t key = scatter(scatter(seed ^ scatter(hash_text(spec.name))) + 1);
  const double most = bound(init, fans(spec));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(init == Init::kNormal ? kDeviation * normal(key, i)
                                                      : most * (2 * uniform(key, i) - 1));
  }
}

std::vector<Tensor> initial_parameters(const Program& program, Init init, std::uint64_t seed) {
  std::vector<Tensor> parameters;
  for (const TensorSpec& spec : program.tensors) {
    if (spec.kind != TensorKind::kParameter) continue;
    Tensor& made = parameters.emplace_back();
    made.name = spec.name;
    made.axes = spec.axes;
    made.data.resize(static_cast<std::size_t>(cell_count(spec.axes)));
    initialise(spec, init, seed, made.data);
  }
  return parameters;
}

}  // namespace headlight
