// A mixture of experts as operations, in the feed-forward network's place: a gate weighs several
// networks for each token, and their outputs are averaged by these weights (Jacobs et al. 1991,
// "Adaptive mixtures of local experts"; Shazeer et al. 2017, "Outrageously large neural networks").
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/builder/expert_rows.h"
#include "core/graph/builder/token_head_pieces.h"

namespace headlight {

class ExpertPieces : protected TokenHeadPieces {
 protected:
  ExpertPieces(const Config& config, const RunShape& shape, bool dropout)
      : TokenHeadPieces(config, shape, dropout), expert_rows_(config) {}

  static Op activation(Activation kind) {
    switch (kind) {
      case Activation::kRelu:
        return Op::kRelu;
      case Activation::kGeluTanh:
        return Op::kGeluTanh;
      case Activation::kSilu:
      case Activation::kSwiglu:
        return Op::kSilu;
      case Activation::kGelu:
      case Activation::kGeglu:
        break;
    }
    return Op::kGelu;
  }

  // x (batch, position, d_model) -> the same: what joins the residual stream. Every expert is
  // computed for every token, also where only the best are heard.
  TensorId experts(TensorId x) {
    const TensorId weights = gate(x);
    const Axis hidden{"hidden", c.hidden_width()};
    TensorId h = product(expert_rows_.expert_in(), x, "in", {d_model(), hidden},
                         {Role::kExpertInWeight, Role::kExpertInBias},
                         {"mlp.expert_pre", Role::kExpertHidden});
    h = call(rows_.activation(), activation(c.activation), {h},
             {"mlp.expert_post", Role::kExpertActivated});
    const TensorId y = product(expert_rows_.expert_out(), h, "out", {hidden, d_model()},
                               {Role::kExpertOutWeight, Role::kExpertOutBias},
                               {"mlp.expert_out", Role::kExpertOutputs});
    return call(expert_rows_.mix(), Op::kMix, {weights, y}, {"mlp_out", Role::kSublayerOutput});
  }

  // The loss of the task; with Config::balance, and what it costs that few experts do most of the
  // work, layer by layer.
  TensorId training_loss() {
    const Named all{"loss", Role::kLoss};
    if (!c.has_experts() || c.balance == 0 || gates_.empty()) return task_loss(all);
    TensorId loss = task_loss({"own_loss", Role::kOwnLoss});
    if (p.steps.back().row.backward.sentence == "back.loss")
      p.steps.back().row.backward.sentence =
          "back.own_loss";  // the sum is where the way back begins
    if (p.steps.back().row.backward.sentence == "back.class_loss")
      p.steps.back().row.backward.sentence = "back.class_loss.part";
    for (std::size_t i = 0; i < gates_.size(); ++i) {
      const TensorId balance = load_balance(gates_[i]);
      const bool last = i + 1 == gates_.size();
      loss = call(expert_rows_.loss_sum(), Op::kAdd, {loss, balance},
                  last ? all : Named{"own_loss." + std::to_string(i + 1), Role::kOwnLoss});
    }
    return loss;
  }

 private:
  struct Gate {
    TensorId weights = -1;  // (batch, position, expert), of all experts
    std::string at;         // "decoder.blocks.0."
    Stack stack{};
  };

  Axis expert() const { return {"expert", c.experts}; }

  TensorId gate(TensorId x) {
    const std::string at = prefix_ + "mlp.";
    const TensorId w = parameter(at + "W_G", {d_model(), expert()}, Role::kExpertGate);
    const TensorId scores =
        linear(expert_rows_.gate_scores(), x, w, {at + "b_G", Role::kExpertGateBias},
               {"mlp.gate_scores", Role::kGateScores}, c.has_mlp_bias());
    const TensorId weights =
        call(expert_rows_.gate_weights(), Op::kSoftmax, {scores}, {"mlp.gate", Role::kGateWeights});
    gates_.push_back({weights, prefix_, stack_});
    if (c.top_experts == 0) return weights;
    OpParams params;
    params.best = c.top_experts;
    return call(expert_rows_.best_weights(), Op::kTopExperts, {weights},
                {"mlp.gate_best", Role::kBestWeights}, params);
  }

  struct Roles {
    Role weight, bias;
  };
  // The same product for every expert, with a matrix of its own (expert, rows, columns).
  TensorId product(StepRow row, TensorId x, const std::string& letters,
                   const std::array<Axis, 2>& sizes, Roles roles, const Named& named) {
    const std::string at = prefix_ + "mlp.";
    std::vector<TensorId> in = {
        x, parameter(at + "W_" + letters, {expert(), sizes[0], sizes[1]}, roles.weight)};
    if (c.has_mlp_bias())
      in.push_back(parameter(at + "b_" + letters, {expert(), sizes[1]}, roles.bias));
    return call(std::move(row), Op::kExpertLinear, std::move(in), named);
  }

  // Which tokens of a stack are no padding.
  TensorId present_in(Stack stack) {
    const bool encoder = stack == Stack::kEncoder;
    TensorId& made = encoder ? source_present_ : p.present;
    if (made >= 0) return made;
    const Stack before = std::exchange(stack_, stack);
    made = encoder ? input("source_present", {batch(), source()}, Role::kPresent)
                   : input("present", {batch(), position()}, Role::kPresent);
    stack_ = before;
    return made;
  }

  TensorId load_balance(const Gate& gate) {
    OpParams params;
    params.factor = static_cast<float>(c.balance);
    params.best = c.top_experts;
    const TensorId present = present_in(gate.stack);
    return call(expert_rows_.load_balance(), Op::kLoadBalance, {gate.weights, present, p.targets},
                {gate.at + "mlp.balance", Role::kLoadBalance}, params);
  }

  const ExpertRows expert_rows_;
  std::vector<Gate> gates_;
  TensorId source_present_ = -1;
};

}  // namespace headlight
