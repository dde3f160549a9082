// MaskedHead: a head that is switched off.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

/// Whose heads: of the model's own attention (of an encoder-decoder the decoder's), of its encoder,
/// of the attention that looks at the encoder.
enum class HeadsOf { kOwn, kEncoder, kCross };

struct MaskedHead {
  HeadsOf of = HeadsOf::kOwn;
  int layer = 0, head = 0;
  auto operator<=>(const MaskedHead&) const = default;
};

/// "0.2": head 2 of layer 0; "encoder.0.2", "cross.0.2".
std::string head_text(const MaskedHead&);
/// Throws UsageError.
MaskedHead read_head(std::string_view text);
/// "0.2,1.0" and back: sorted, each once; an empty text is none.
std::string heads_text(const std::vector<MaskedHead>&);
std::vector<MaskedHead> read_heads(std::string_view text);

}  // namespace headlight
