// Numbers as tokens, as operations: how a number becomes a row, and how a row becomes a density
// over the grid of numbers (Bishop 1994, "Mixture density networks").
#pragma once

#include <string>
#include <utility>

#include "core/graph/builder/expert_pieces.h"
#include "core/graph/builder/number_rows.h"

namespace headlight {

/// The spread of the bell curve around the one number of a model without components.
inline constexpr float kNumberSpread = 0.1f;

class NumberPieces : protected ExpertPieces {
 protected:
  NumberPieces(const Config& config, const RunShape& shape, bool dropout)
      : ExpertPieces(config, shape, dropout), number_rows_(config) {}

  // ids (batch, position) -> (batch, position, d_model)
  TensorId embedded_numbers(TensorId ids) {
    const TensorId n =
        call(number_rows_.number(), Op::kNumber, {ids}, {"number", Role::kNumber}, on_grid());
    const TensorId w = parameter("embed.W_x", {{"number", 1}, d_model()}, Role::kNumberWeight);
    return linear(number_rows_.embedding(), n, w, {"embed.b_x", Role::kNumberBias},
                  {"embed", Role::kEmbedding});
  }

  // x (batch, position, d_model) -> (batch, position, vocab)
  TensorId number_logits(TensorId x) {
    const Named logits{"logits", Role::kLogits};
    if (c.components == 0) {
      const TensorId w = parameter("unembed.w_y", {d_model(), {"number", 1}}, Role::kMeanWeight);
      const TensorId y = linear(number_rows_.answer(), x, w, {"unembed.b_y", Role::kMeanBias},
                                {"y", Role::kMeans}, c.has_head_bias());
      called("w_y", w);
      called("ŷ", y);
      if (c.has_head_bias()) called("b_y", p.find("unembed.b_y"));
      return call(number_rows_.logits(), Op::kMixtureLogits, {y}, logits, on_grid());
    }
    const TensorId means = part(number_rows_.means(), x, "mu", {Role::kMeanWeight, Role::kMeanBias},
                                {"mixture.means", Role::kMeans});
    const TensorId scores = part(number_rows_.component_scores(), x, "pi",
                                 {Role::kComponentWeight, Role::kComponentBias},
                                 {"mixture.scores", Role::kComponentScores});
    const TensorId weights = call(number_rows_.component_weights(), Op::kSoftmax, {scores},
                                  {"mixture.weights", Role::kComponentWeights});
    const TensorId spreads =
        part(number_rows_.log_spreads(), x, "rho", {Role::kSpreadWeight, Role::kSpreadBias},
             {"mixture.log_spreads", Role::kLogSpreads});
    return call(number_rows_.logits(), Op::kMixtureLogits, {means, weights, spreads}, logits,
                on_grid());
  }

 private:
  OpParams on_grid() const {
    OpParams params;
    params.features = p.shape.vocab;
    params.factor = kNumberSpread;
    return params;
  }

  // One number for each component.
  TensorId part(StepRow row, TensorId x, const std::string& letters, std::pair<Role, Role> roles,
                const Named& named) {
    const TensorId w =
        parameter("unembed.W_" + letters, {d_model(), {"component", c.components}}, roles.first);
    return linear(std::move(row), x, w, {"unembed.b_" + letters, roles.second}, named,
                  c.has_head_bias());
  }

  const NumberRows number_rows_;
};

}  // namespace headlight
