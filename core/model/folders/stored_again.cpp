#include "core/model/folders/stored_again.h"

#include <cmath>
#include <string>

#include "core/graph/config.h"
#include "core/ops/op.h"

namespace headlight {
namespace {

// Half of the last digit that 16 bits have of a number near 1 (bfloat16).
constexpr float kRounded = 4e-3f;

// (position, feature), as the program computes them.
std::vector<float> computed_positions(const Config& c, std::int64_t rows) {
  OpParams params;
  params.features = c.d_model;
  params.halves = c.sinusoid != Sinusoid::kInterleaved;
  params.to_end = c.sinusoid == Sinusoid::kHalvesToEnd;
  params.offset = c.position_offset;
  const std::vector<float> ids(static_cast<std::size_t>(rows), 0.0f);
  std::vector<float> out(static_cast<std::size_t>(rows * c.d_model));
  const std::vector<Axis> places = {{"batch", 1}, {"position", rows}},
                          cells = {{"batch", 1}, {"position", rows}, {"feature", c.d_model}};
  const TensorView in[] = {{"ids", places, ids.data()}};
  sinusoid_op().forward({in, {"positions", cells, out.data()}, params, out.data()});
  return out;
}

}  // namespace

bool has_two_tables(const FolderWeights& weights) {
  const auto encoder = weights.bytes_of("encoder.embed_tokens.weight"),
             decoder = weights.bytes_of("decoder.embed_tokens.weight");
  return encoder && decoder && *encoder != *decoder;
}

void check_stored_positions(const FolderWeights& weights, const ModelFile& file) {
  const Config& c = file.config;
  if (c.positions != PositionKind::kSinusoidal) return;
  for (const char* name : {"encoder.embed_positions.weight", "decoder.embed_positions.weight"}) {
    const std::vector<std::int64_t> shape = {file.context, c.d_model};
    const std::optional<std::vector<float>> stored = weights.numbers_of(name, shape);
    if (!stored) continue;
    const std::vector<float> computed = computed_positions(c, file.context);
    for (std::size_t i = 0; i < stored->size(); ++i) {
      if (std::fabs((*stored)[i] - computed[i]) <= kRounded) continue;
      throw Error(Message{"folder.positions", {{"name", name}}});
    }
  }
}

}  // namespace headlight
