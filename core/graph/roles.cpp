#include "core/graph/roles.h"

#include <algorithm>
#include <array>

namespace headlight {
namespace {

// In the order of enum Role.
constexpr std::array kRoles = {
    RoleInfo{Role::kTokenIds, "token_ids", "ids"},
    RoleInfo{Role::kMask, "mask", "mask"},
    RoleInfo{Role::kPresent, "present", "m"},
    RoleInfo{Role::kPicked, "picked", "m"},
    RoleInfo{Role::kPoolMask, "pool_mask", "mask"},
    RoleInfo{Role::kDropout, "dropout", "m"},
    RoleInfo{Role::kTargets, "targets", "target"},
    RoleInfo{Role::kEmbedding, "embedding", "x"},
    RoleInfo{Role::kPosition, "position", "p"},
    RoleInfo{Role::kResidual, "residual", "x"},
    RoleInfo{Role::kNormInput, "norm_input", "r"},
    RoleInfo{Role::kNormalized, "normalized", "x̂"},
    RoleInfo{Role::kAllQueries, "all_queries", "Q", 'q'},
    RoleInfo{Role::kAllKeys, "all_keys", "K", 'k'},
    RoleInfo{Role::kAllValues, "all_values", "V", 'v'},
    RoleInfo{Role::kQueries, "queries", "Q", 'q'},
    RoleInfo{Role::kKeys, "keys", "K", 'k'},
    RoleInfo{Role::kValues, "values", "V", 'v'},
    RoleInfo{Role::kTurnedQueries, "turned_queries", "Q′", 'q'},
    RoleInfo{Role::kTurnedKeys, "turned_keys", "K′", 'k'},
    RoleInfo{Role::kScores, "scores", "S"},
    RoleInfo{Role::kScaledScores, "scaled_scores", "S′"},
    RoleInfo{Role::kMaskedScores, "masked_scores", "S″"},
    RoleInfo{Role::kPattern, "pattern", "A", 'p'},
    RoleInfo{Role::kDroppedPattern, "dropped_pattern", "A′"},
    RoleInfo{Role::kHeadOutput, "head_output", "z"},
    RoleInfo{Role::kConcat, "concat", "z"},
    RoleInfo{Role::kSublayerOutput, "sublayer_output", "y"},
    RoleInfo{Role::kGateInput, "gate_input", "g"},
    RoleInfo{Role::kGate, "gate", "gate"},
    RoleInfo{Role::kHidden, "hidden", "h"},
    RoleInfo{Role::kActivated, "activated", "h′"},
    RoleInfo{Role::kPoolHidden, "pool_hidden", "u"},
    RoleInfo{Role::kPoolActivated, "pool_activated", "u′"},
    RoleInfo{Role::kFocusScores, "focus_scores", "F"},
    RoleInfo{Role::kMaskedFocusScores, "masked_focus_scores", "F′"},
    RoleInfo{Role::kFocusWeights, "focus_weights", "A", 'p'},
    RoleInfo{Role::kFocusSums, "focus_sums", "M"},
    RoleInfo{Role::kFocusOverlap, "focus_overlap", "G"},
    RoleInfo{Role::kFociPenalty, "foci_penalty", "R"},
    RoleInfo{Role::kPooled, "pooled", "x̄"},
    RoleInfo{Role::kLogits, "logits", "l"},
    RoleInfo{Role::kProbabilities, "probabilities", "P"},
    RoleInfo{Role::kClassLoss, "class_loss", "L′"},
    RoleInfo{Role::kLoss, "loss", "L"},
    RoleInfo{Role::kTokenTable, "token_table", "W_E"},
    RoleInfo{Role::kPositionTable, "position_table", "W_pos"},
    RoleInfo{Role::kNormScale, "norm_scale", "w", ' ', ParameterKind::kNormScale},
    RoleInfo{Role::kNormShift, "norm_shift", "b", ' ', ParameterKind::kBias},
    RoleInfo{Role::kQueryWeight, "query_weight", "W_Q"},
    RoleInfo{Role::kKeyWeight, "key_weight", "W_K"},
    RoleInfo{Role::kValueWeight, "value_weight", "W_V"},
    RoleInfo{Role::kOutputWeight, "output_weight", "W_O"},
    RoleInfo{Role::kQueryBias, "query_bias", "b_Q", ' ', ParameterKind::kBias},
    RoleInfo{Role::kKeyBias, "key_bias", "b_K", ' ', ParameterKind::kBias},
    RoleInfo{Role::kValueBias, "value_bias", "b_V", ' ', ParameterKind::kBias},
    RoleInfo{Role::kOutputBias, "output_bias", "b_O", ' ', ParameterKind::kBias},
    RoleInfo{Role::kScoreVector, "score_vector", "v"},
    RoleInfo{Role::kGateWeight, "gate_weight", "W_gate"},
    RoleInfo{Role::kGateBias, "gate_bias", "b_gate", ' ', ParameterKind::kBias},
    RoleInfo{Role::kHiddenWeight, "hidden_weight", "W_in"},
    RoleInfo{Role::kHiddenBias, "hidden_bias", "b_in", ' ', ParameterKind::kBias},
    RoleInfo{Role::kFeedForwardWeight, "feed_forward_weight", "W_out"},
    RoleInfo{Role::kFeedForwardBias, "feed_forward_bias", "b_out", ' ', ParameterKind::kBias},
    RoleInfo{Role::kUnembedding, "unembedding", "W_U"},
    RoleInfo{Role::kUnembeddingBias, "unembedding_bias", "b_U", ' ', ParameterKind::kBias},
    RoleInfo{Role::kPoolWeight, "pool_weight", "W_1"},
    RoleInfo{Role::kFocusWeight, "focus_weight", "W_2"},
    RoleInfo{Role::kClassWeight, "class_weight", "W_C"},
    RoleInfo{Role::kClassBias, "class_bias", "b_C", ' ', ParameterKind::kBias},
};
static_assert(kRoles.size() == static_cast<std::size_t>(Role::kClassBias) + 1);
static_assert(std::ranges::all_of(kRoles, [](const RoleInfo& r) {
  return &r - kRoles.data() == static_cast<std::ptrdiff_t>(r.role);
}));

}  // namespace

const RoleInfo& role_info(Role role) { return kRoles[static_cast<std::size_t>(role)]; }

std::optional<Role> role_from_word(std::string_view word) {
  const auto found = std::ranges::find(kRoles, word, &RoleInfo::word);
  return found == kRoles.end() ? std::nullopt : std::optional(found->role);
}

}  // namespace headlight
