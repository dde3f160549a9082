// What attentions and their heads are called where those of all layers stand together.
#pragma once

#include <string>

#include "app/ui/kit/ui.h"
#include "core/graph/program.h"

namespace headlight {

/// "0"; of an encoder-decoder "e0", "d0" and, of cross-attention, "c0".
std::string attention_number(const Step&);
/// "2.4", "c0.1"
std::string head_number(const Step&, int head);
/// "layer 0"; of an encoder-decoder "encoder 0", "decoder 0", "cross-attention 0".
std::string attention_name(const Ui&, const Step&);
/// The names of the layer and, of an encoder-decoder, of what it belongs to, which stands over it.
std::string layer_name(const Ui&, const Step&);
std::string_view section_name(const Ui&, const Step&);

}  // namespace headlight
