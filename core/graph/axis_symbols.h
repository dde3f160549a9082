// What the length of an axis is called: T, d_model, d_head, H. One word and one colour each,
// everywhere.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/program.h"

namespace headlight {

enum class SizeKind { kTokens, kModel, kHeadWidth, kHeads, kOther };

/// "T 11", "d_model 64"
struct NamedSize {
  SizeKind kind{};
  std::string_view word;  // empty where the number says enough
  std::int64_t size = 0;
  bool operator==(const NamedSize&) const = default;
};

/// The length of an axis of this tensor: one factor, or two where heads stand side by side
/// ("H 4 · d_head 16"). Their product is `length`.
std::vector<NamedSize> axis_sizes(const Program&, TensorId, std::string_view axis,
                                  std::int64_t length);

}  // namespace headlight
