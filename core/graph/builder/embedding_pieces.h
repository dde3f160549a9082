// From tokens to the rows that the first layer reads, as operations: each token's row of a table,
// what joins it, and a norm of their sum.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/builder/embedding_rows.h"
#include "core/graph/builder/number_pieces.h"

namespace headlight {

class EmbeddingPieces : protected NumberPieces {
 protected:
  EmbeddingPieces(const Config& config, const RunShape& shape, bool dropout)
      : NumberPieces(config, shape, dropout), embedding_rows_(config) {}

  // ids (batch, position) -> (batch, position, d_model)
  TensorId embedding(TensorId ids) {
    TensorId x = c.numbers ? embedded_numbers(ids) : token_rows(ids);
    if (c.embed_scale) x = scaled(x);
    if (c.segments) x = with_segments(x);
    begin_distances(ids);
    if (c.has_places()) x = with_places(x, ids);
    if (c.embed_norm) x = norm(x, "ln_embed");
    // The sum with positions is called so by the first block, if there is one.
    return c.has_places() && !c.embed_norm ? x : called(stream("resid_pre"), x);
  }

  TensorId norm(TensorId x, const std::string& name, bool last = false) {
    return norm(x, name, rows_.norm(last), "normalized");
  }

  // Two norms may share their numbers.
  TensorId norm(TensorId x, const std::string& name, StepRow row, const std::string& made) {
    const auto number = [&](const std::string& letter, Role role) {
      const TensorId known = p.find(prefix_ + name + letter);
      return known >= 0 ? known : parameter(prefix_ + name + letter, {d_model()}, role);
    };
    std::vector<TensorId> in = {x, number(".w", Role::kNormScale)};
    const bool layer = c.norm == NormKind::kLayer;
    if (c.bias && layer) in.push_back(number(".b", Role::kNormShift));
    OpParams params;
    params.epsilon = static_cast<float>(c.norm_epsilon);
    return call(std::move(row), layer ? Op::kLayerNorm : Op::kRmsNorm, std::move(in),
                {name + "." + made, Role::kNormalized}, params);
  }

  // The symbol of the residual stream at this place of the layer: x⁽⁰⁾ before the first layer,
  // x⁽⁰⁾′ after its attention, x⁽⁰⁾″ after its cross-attention, x⁽¹⁾ after the layer. In brackets,
  // for x² is a square.
  std::string stream(std::string_view name) const {
    constexpr std::string_view kRaised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    const int layer = std::max(layer_, 0) + (name == "resid_post" ? 1 : 0);
    std::string symbol = "x⁽";
    for (const char digit : std::to_string(layer))
      symbol += kRaised[static_cast<std::size_t>(digit - '0')];
    symbol += "⁾";
    if (name == "resid_mid") symbol += "′";
    if (name == "resid_mid_cross") symbol += "″";
    return symbol;
  }

  TensorId table_ = -1;  // W_E of the tokens that are predicted

 private:
  TensorId token_rows(TensorId ids) {
    // Source and target share one table where they share one vocabulary.
    const bool own = stack_ == Stack::kEncoder && p.shape.source_vocab > 0;
    TensorId& table = own ? source_table_ : table_;
    if (table < 0)
      table = parameter(
          own ? root_ + "embed.W_E" : "embed.W_E",
          {own ? Axis{"source_vocab", p.shape.source_vocab} : Axis{"vocab", p.shape.vocab},
           d_model()},
          Role::kTokenTable);
    return call(embedding_rows_.embedding(), Op::kEmbed, {ids, table}, {"embed", Role::kEmbedding});
  }

  // As large as positions are, where the table's rows are of size 1 (Vaswani et al. 2017, 3.4).
  TensorId scaled(TensorId x) {
    OpParams params;
    params.factor = static_cast<float>(std::sqrt(static_cast<double>(c.d_model)));
    return call(embedding_rows_.scale(), Op::kScale, {x}, {"embed_scaled", Role::kScaledEmbedding},
                params);
  }

  // Which sentence of the row each token stands in joins what it is.
  TensorId with_segments(TensorId x) {
    p.segment_ids = input("segment_ids", {batch(), position()}, Role::kSegmentIds);
    const TensorId table = parameter("segment_embed.W_seg",
                                     {{"segment", c.segment_rows}, d_model()}, Role::kSegmentTable);
    const TensorId rows = call(embedding_rows_.segment(), Op::kEmbed, {p.segment_ids, table},
                               {"segment_embed", Role::kSegment});
    return call(embedding_rows_.segment_sum(), Op::kAdd, {x, rows},
                {"segment_sum", Role::kSegmentSum});
  }

  // Where the token stands joins what it is.
  TensorId with_places(TensorId x, TensorId ids) {
    const TensorId where =
        c.positions == PositionKind::kSinusoidal ? sinusoids(ids) : learned_places(ids);
    const Named sum = c.embed_norm   ? Named{"ln_embed.input", Role::kNormInput}
                      : c.layers > 0 ? Named{"blocks.0.resid_pre", Role::kResidual}
                                     : Named{"resid_pre", Role::kResidual};
    return call(embedding_rows_.position_sum(), Op::kAdd, {x, where}, sum);
  }

  TensorId sinusoids(TensorId ids) {
    OpParams params;
    params.features = c.d_model;
    params.offset = c.position_offset;
    params.halves = c.sinusoid != Sinusoid::kInterleaved;
    params.to_end = c.sinusoid == Sinusoid::kHalvesToEnd;
    return call(embedding_rows_.sinusoid(), Op::kSinusoid, {ids}, {"pos_embed", Role::kPosition},
                params);
  }

  TensorId learned_places(TensorId ids) {
    const Axis places = axes_of(ids)[1];
    const bool source = places.name == "source";
    const std::int64_t known = source ? p.shape.context_source : p.shape.context;
    const TensorId table = parameter(root_ + "pos_embed.W_pos",
                                     {{source ? "context_source" : "context",
                                       c.position_offset + (known > 0 ? known : places.size)},
                                      d_model()},
                                     Role::kPositionTable);
    OpParams params;
    params.offset = c.position_offset;
    return call(embedding_rows_.learned_position(), Op::kLearnedPosition, {ids, table},
                {"pos_embed", Role::kPosition}, params);
  }

  const EmbeddingRows embedding_rows_;
  TensorId source_table_ = -1;
};

}  // namespace headlight
