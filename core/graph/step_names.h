// How the names of tensors say where they belong, and which step of another program or layer is the
// same one: "blocks.0.attn.q" of a decoder, "encoder.blocks.0.attn.q" of an encoder–decoder.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/program.h"

namespace headlight {

struct StepName {
  std::string_view stack;  // "encoder.", "decoder." or nothing, of gradients behind "d."
  int layer = -1;          // -1 outside the layers
  std::string_view rest;   // "attn.q"; what is after the stack outside the layers
};

/// Views into `name`.
StepName split_name(std::string_view name);

/// "decoder.", 1, "attn.q" -> "decoder.blocks.1.attn.q"
std::string name_in_layer(std::string_view stack, int layer, std::string_view rest);

/// The name of the layer's step that has this rest, in the stack named or, where the program has no
/// such stack, in one that it has (of both, the decoder); a gradient stays one. Another name of a
/// tensor that belongs to another layer is not a step of this one. Empty when there is none.
std::string find_in_layer(const Program&, std::string_view stack, int layer, std::string_view rest);

/// Without "d.": what a gradient is the gradient of; itself otherwise.
std::string_view without_gradient(std::string_view name);

/// The layer's attention weights nearest to the step `name`: of its stack, of cross-attention where
/// the step belongs to that.
std::string pattern_of_layer(const Program&, std::string_view name, int layer);

/// The same or, in a layer that keeps none, what stands in its place: what fused attention gathers,
/// the states of a recurrent layer, the sums of a convolution; where no position reads another,
/// what leaves the layer. Empty when there is no such layer.
std::string mixing_of_layer(const Program&, std::string_view name, int layer);

/// The step to look at in this program after `name` of another one: the same, the same in another
/// stack, what it was the gradient of, the layer's attention weights, or outside the layers the
/// embedding.
std::string nearest_step(const Program&, std::string_view name, int layer);

/// "d." before the name of what it is the gradient of.
std::string gradient_name(std::string_view name);

/// The attention weights that the step `name` shows or is the gradient of, or else
/// pattern_of_layer().
std::string shown_pattern(const Program&, std::string_view name, int layer);

/// The step of a layer's scores, of a model with one stack of layers.
std::string scores_step(int layer);
/// The step that a model of this config shows its own row's mask in, where it has one.
std::string mask_step(const Config&, int layer);

}  // namespace headlight
