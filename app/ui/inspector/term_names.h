// What tells the terms of a sum apart, so that no two lines of its table are called the same: the
// tensors that they come from, and the axes along which they run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/texts.h"
#include "core/explain/explain.h"

namespace headlight {

class TermNames {
 public:
  TermNames(const Trace&, const Explanation&, Language);

  /// "the₁₄" or "28", after its tensor where the terms come from several: "dQ 28", "dV"; where
  /// these have one symbol, with what they run along: "may₀ source". Empty for a constant.
  std::string name(const Term&) const;
  /// The one tensor that all terms come from, each at another place; -1 where there are several.
  TensorId tensor() const { return several_ ? -1 : tensor_; }
  /// The axis along which they run: "position", "d_head".
  const std::string& axis() const;

 private:
  const Trace& trace_;
  TensorId tensor_ = -1;
  Language language_;
  bool several_ = false, one_symbol_ = false;
  std::size_t axis_ = 0;
  std::string place_of(const Term&, std::size_t axis) const;
  std::string own_name(const Term&) const;

  std::map<TensorId, std::size_t> runs_along_;  // tensors with several terms, and the axis
  // Tensors of which one axis does not tell all terms apart, and all axes on which these differ.
  std::map<TensorId, std::vector<std::size_t>> crosses_;
};

}  // namespace headlight
