// Roles: what a tensor is for. Whoever wants to know "is this the pattern?" asks for the role that
// the builder gave the tensor, and never looks at its name.
#pragma once

#include <optional>
#include <string_view>

namespace headlight {

enum class Role {
  // inputs
  kTokenIds,
  kMask,
  kPresent,
  kPicked,    // the one token that stands for all
  kPoolMask,  // of the foci, where tokens may be padding
  kDropout,
  kTargets,
  kMemory,
  kAddedMask,
  kHeadMask,
  kSegmentIds,    // of each token: which sentence it stands in
  kTokenTargets,  // what hidden tokens are, beside the class
  kChosen,        // the share of each token in the mean of their losses
  // activations
  kEmbedding,
  kScaledEmbedding,
  kPosition,
  kSegment,     // the row of a token's sentence
  kSegmentSum,  // embedding and segment
  kResidual,
  kNormInput,
  kNormalized,
  kAllQueries,  // of all heads side by side
  kAllKeys,
  kAllValues,
  kQueries,  // head by head
  kKeys,
  kValues,
  kTurnedQueries,  // by rotary positions
  kTurnedKeys,
  kScores,
  kScaledScores,
  kCappedScores,
  kMaskedScores,
  kPattern,
  kDroppedPattern,
  // options of attention
  kExtendedKeys,
  kExtendedValues,
  kAddedScores,
  kMaskedPattern,
  kMeanPattern,
  kHeadOutput,
  kConcat,
  kSublayerOutput,  // what attention or the feed-forward network adds to the residual stream
  kGateInput,
  kGate,
  kHidden,
  kActivated,
  kPoolHidden,  // the tokens' rows along the directions of W₁
  kPoolActivated,
  kFocusScores,
  kMaskedFocusScores,
  kFocusWeights,
  kFocusSums,     // what each focus gathers
  kFocusOverlap,  // how far two foci choose the same tokens
  kFociPenalty,
  // positions by distance
  kDistanceRows,
  kDistanceKeys,
  kContentQueries,
  kPositionQueries,
  kDistanceScores,
  kPlacedScores,
  kContentSums,
  kDistanceSums,
  // experts
  kGateScores,
  kGateWeights,
  kBestWeights,
  kExpertHidden,
  kExpertActivated,
  kExpertOutputs,
  kLoadBalance,
  kOwnLoss,
  // in attention's place, and memory
  kMixerInput,
  kStates,
  kStatesBack,
  kBothStates,
  kWindowSums,
  kExtended,
  // numbers as tokens
  kNumber,
  kMeans,  // of the density's components; the one number of a model without
  kComponentScores,
  kComponentWeights,
  kLogSpreads,
  kTokenLogits,  // of Config::token_head
  kTokenProbabilities,
  kPooled,
  kHeadInput,  // of Config::head_transform
  kHeadActivated,
  kPoolerInput,  // of Config::pooler
  kPoolerActivated,
  kLogits,
  kProbabilities,
  kClassLoss,  // without what is added to it
  kTokenLoss,
  kHiddenLoss,  // the mean of the token losses that count
  kLoss,
  // parameters
  kTokenTable,
  kPositionTable,
  kSegmentTable,
  kNormScale,
  kNormShift,
  kQueryWeight,
  kKeyWeight,
  kValueWeight,
  kOutputWeight,
  kQueryBias,
  kKeyBias,
  kValueBias,
  kOutputBias,
  kExtraKey,
  kExtraValue,
  kScoreVector,
  kGateWeight,
  kGateBias,
  kHiddenWeight,
  kHiddenBias,
  kFeedForwardWeight,
  kFeedForwardBias,
  kUnembedding,
  kUnembeddingBias,
  kPoolWeight,
  kFocusWeight,
  kDistanceKeyTable,
  kDistanceValueTable,
  kDistanceTable,
  kDistanceWeight,
  kContentBias,
  kPositionBias,
  kExpertGate,
  kExpertGateBias,
  kExpertInWeight,
  kExpertInBias,
  kExpertOutWeight,
  kExpertOutBias,
  kMixerWeight,
  kMixerBias,
  kStateWeight,
  kStateBias,
  kWindowWeight,
  kWindowBias,
  kNumberWeight,
  kNumberBias,
  kMeanWeight,
  kMeanBias,
  kComponentWeight,
  kComponentBias,
  kSpreadWeight,
  kSpreadBias,
  kClassWeight,
  kClassBias,
  kHeadWeight,
  kHeadBias,
  kPoolerWeight,
  kPoolerBias,
};

/// How a parameter acts on what it meets: as a matrix (also a vector for each head), as the scale
/// of a norm, or added.
enum class ParameterKind { kMatrix, kNormScale, kBias };

struct RoleInfo {
  Role role{};
  std::string_view word;    // "queries": what links in texts call it
  std::string_view symbol;  // in figures: "Q"
  char color = ' ';         // 'q', 'k', 'v', 'p' as in formulas (StepWords); ' ' is that of text
  ParameterKind parameter = ParameterKind::kMatrix;  // only of parameters
};

const RoleInfo& role_info(Role);
std::optional<Role> role_from_word(std::string_view word);

}  // namespace headlight
