// The sandbox model: takes any sentence. Every weight comes from the seed and the parameter's name;
// a token's embedding comes from the seed and the token's text, so the same sentence gives the same
// numbers on every machine, and a word keeps its row wherever it stands.
#pragma once

#include <string>
#include <unordered_map>

#include "core/model/parameter_source.h"
#include "core/text/tokenizer.h"

namespace headlight {

/// The vocabulary is the distinct tokens of the sentence, in order of appearance. A classifier
/// chooses between two classes that mean nothing.
RunInput sandbox_input(std::vector<std::string> tokens, ModelForm = ModelForm::kTokens);

class SandboxModel final : public ParameterSource {
 public:
  explicit SandboxModel(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t seed() const { return seed_; }
  std::shared_ptr<const Tensor> parameter(const TensorSpec& spec, const RunInput&) override;
  /// Forgets what a model of another shape needed.
  void clear() { kept_.clear(); }

 private:
  std::uint64_t seed_;
  std::unordered_map<std::string, std::shared_ptr<const Tensor>> kept_;
};

}  // namespace headlight
