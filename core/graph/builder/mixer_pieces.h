// What stands in attention's place as operations: a recurrent layer, one with gates, or a
// convolution, and the output projection behind it.
#pragma once

#include <string>

#include "core/graph/builder/attention_pieces.h"
#include "core/graph/builder/mixer_rows.h"
#include "core/graph/reach.h"

namespace headlight {

class MixerPieces : protected AttentionPieces {
 protected:
  MixerPieces(const Config& config, const RunShape& shape, bool dropout)
      : AttentionPieces(config, shape, dropout), mixer_rows_(config) {}

  // Which rows hold tokens (batch, position): 1, or 0 for padding.
  TensorId present() {
    if (p.present < 0) p.present = input("present", {batch(), position()}, Role::kPresent);
    return p.present;
  }

  // x (batch, position, d_model) -> what the layer adds to the residual stream. Where the mask lets
  // a row look ahead, it is read both ways.
  TensorId mixer(TensorId x) {
    const bool causal = c.mask.is_causal();
    TensorId made = -1;
    if (c.mixer == MixerKind::kConvolution) {
      made = window(x, causal);
    } else {
      made = states(x, false);
      if (!causal)
        made = call(mixer_rows_.both(), Op::kAdd, {made, states(x, true)},
                    {"mixer.both", Role::kBothStates});
    }
    const TensorId w_o =
        parameter(prefix_ + "mixer.W_O", {inner(), d_model()}, Role::kOutputWeight);
    return linear(mixer_rows_.output(), made, w_o, {prefix_ + "mixer.b_O", Role::kOutputBias},
                  {"mixer_out", Role::kSublayerOutput}, c.has_output_bias());
  }

 private:
  Axis inner() const {
    return {c.mixer == MixerKind::kConvolution ? "feature" : "state", c.d_model};
  }

  TensorId window(TensorId x, bool causal) {
    OpParams params;
    params.causal = causal;
    params.dilation = layer_dilation(c, layer_);
    const TensorId w = parameter(prefix_ + "mixer.W", {{"tap", c.kernel}, d_model(), inner()},
                                 Role::kWindowWeight);
    std::vector<TensorId> in = {x, w, present()};
    if (c.bias) in.push_back(parameter(prefix_ + "mixer.b", {inner()}, Role::kWindowBias));
    const bool wide = (c.kernel - 1) * params.dilation >= p.shape.positions;
    return call(mixer_rows_.window(causal, wide), Op::kConvolution, std::move(in),
                {"mixer.window", Role::kWindowSums}, params);
  }

  // Of one direction; each has weights of its own.
  TensorId states(TensorId x, bool back) {
    const bool gated = c.mixer == MixerKind::kGru;
    const std::string end = back ? "_back" : "", at = prefix_ + "mixer.";
    const Axis wide = gated ? Axis{"gate", 3 * c.d_model} : Axis{"next_state", c.d_model};
    const TensorId w = parameter(at + "W" + end, {d_model(), wide}, Role::kMixerWeight);
    const TensorId a = linear(mixer_rows_.input(back), x, w, {at + "b" + end, Role::kMixerBias},
                              {"mixer.pre" + end, Role::kMixerInput});
    if (back) called("a←", a);
    const TensorId u = parameter(at + "U" + end, {inner(), wide}, Role::kStateWeight);
    std::vector<TensorId> in = {a, u, present()};
    if (gated && c.bias) in.push_back(parameter(at + "c" + end, {wide}, Role::kStateBias));
    OpParams params;
    params.reversed = back;
    return call(mixer_rows_.states(back), gated ? Op::kGru : Op::kRecurrence, std::move(in),
                {"mixer.state" + end, back ? Role::kStatesBack : Role::kStates}, params);
  }

  const MixerRows mixer_rows_;
};

}  // namespace headlight
