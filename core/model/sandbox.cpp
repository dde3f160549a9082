#include "core/model/sandbox.h"

#include <cmath>

#include "core/base/random.h"
#include "core/model/init.h"

namespace headlight {
namespace {

// How a parameter is drawn: mean + deviation · bell.
struct Spread {
  float mean = 0, deviation = 1;
};

// Deviations keep each tensor near unit size from layer to layer; queries and keys are drawn a
// little wider (1.5) so that attention patterns differ visibly between heads.
Spread spread_of(const TensorSpec& spec) {
  const auto over_root = [&](double gain) {
    return Spread{0, static_cast<float>(gain / std::sqrt(static_cast<double>(fans(spec).in)))};
  };
  switch (spec.role) {
    case Role::kTokenTable:
    case Role::kNumberWeight:
      return {0, 1};
    case Role::kMeanWeight:  // within the grid
    case Role::kSpreadWeight:
      return over_root(0.5);
    case Role::kPositionTable:
    case Role::kSegmentTable:
      return {0, 0.5f};
    case Role::kDistanceKeyTable:  // as large as a key is, and half as large as a value
    case Role::kDistanceTable:
      return {0, 1};
    case Role::kDistanceValueTable:
    case Role::kContentBias:
    case Role::kPositionBias:
      return {0, 0.5f};
    case Role::kScoreVector:
    case Role::kExpertGate:
      return over_root(2);
    case Role::kUnembedding:
    case Role::kComponentWeight:
    case Role::kFocusWeight:
    case Role::kQueryWeight:
    case Role::kKeyWeight:
    case Role::kDistanceWeight:
      return over_root(1.5);
    case Role::kPoolWeight:
    case Role::kClassWeight:
    case Role::kHeadWeight:
    case Role::kPoolerWeight:
    case Role::kValueWeight:
    case Role::kOutputWeight:
    case Role::kMixerWeight:
    case Role::kStateWeight:
    case Role::kWindowWeight:
    case Role::kGateWeight:
    case Role::kHiddenWeight:
    case Role::kFeedForwardWeight:
    case Role::kExpertInWeight:
    case Role::kExpertOutWeight:
      return over_root(1);
    case Role::kNormScale:
      return {1, 0.1f};
    default:
      return {0, 0.1f};  // biases and shifts
  }
}

void fill(float* out, std::int64_t n, std::uint64_t key, Spread spread) {
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = spread.mean + spread.deviation * bell(key, static_cast<std::uint64_t>(i));
  }
}

bool has_vocab(const TensorSpec& spec) {
  for (const Axis& axis : spec.axes) {
    if (axis.name == "vocab") return true;
  }
  return false;
}

// Rows of W_E, columns of W_U and cells of b_U belong to a token: drawn from its text.
void fill_by_token(Tensor& t, std::uint64_t key, Spread spread, const RunInput& input) {
  const auto vocab = static_cast<std::int64_t>(input.vocab.size());
  const bool token_first = t.axes[0].name == "vocab";
  const std::int64_t width = vocab == 0 ? 0 : cell_count(t.axes) / vocab;
  for (std::int64_t v = 0; v < vocab; ++v) {
    const std::uint64_t token_key =
        scatter(key ^ hash_text(input.vocab[static_cast<std::size_t>(v)]));
    for (std::int64_t f = 0; f < width; ++f) {
      const float value =
          spread.mean + spread.deviation * bell(token_key, static_cast<std::uint64_t>(f));
      t.data[static_cast<std::size_t>(token_first ? v * width + f : f * vocab + v)] = value;
    }
  }
}

}  // namespace

RunInput sandbox_input(std::vector<std::string> tokens, ModelForm form) {
  RunInput input;
  if (form == ModelForm::kClasses) input.classes = {"A", "B"};
  input.tokens = std::move(tokens);
  std::unordered_map<std::string_view, int> rows;
  for (const std::string& token : input.tokens) {
    const auto [at, fresh] = rows.emplace(token, static_cast<int>(input.vocab.size()));
    if (fresh) input.vocab.push_back(token);
    input.ids.push_back(at->second);
  }
  return input;
}

std::shared_ptr<const Tensor> SandboxModel::parameter(const TensorSpec& spec,
                                                      const RunInput& input) {
  const bool by_token = has_vocab(spec);
  std::shared_ptr<const Tensor>& kept = kept_[spec.name];
  if (!by_token && kept && kept->axes == spec.axes) return kept;
  auto made = std::make_shared<Tensor>();
  made->name = spec.name;
  made->axes = spec.axes;
  made->data.resize(static_cast<std::size_t>(cell_count(spec.axes)));
  const std::uint64_t key = scatter(seed_ ^ scatter(hash_text(spec.name)));
  if (by_token) {
    fill_by_token(*made, key, spread_of(spec), input);
    return made;
  }
  fill(made->data.data(), cell_count(spec.axes), key, spread_of(spec));
  kept = made;
  return made;
}

}  // namespace headlight
