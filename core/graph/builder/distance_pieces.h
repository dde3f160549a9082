// Positions by distance as operations: what attention's scores and sums get to know of how far a
// key is from its query. Keys may be more than queries: those of a memory stand before them all.
#pragma once

#include <string>

#include "core/graph/builder/distance_rows.h"
#include "core/graph/builder/program_pieces.h"

namespace headlight {

class DistancePieces : protected ProgramPieces {
 protected:
  DistancePieces(const Config& config, const RunShape& shape)
      : ProgramPieces(config, shape), distance_rows_(config) {}

  // What all layers of a stack share, before the first of them. Of Transformer-XL the vectors u and
  // v, as in the paper's formulas, where only the weights have the number of a layer.
  void begin_distances(TensorId ids) {
    table_ = u_ = v_ = rows_of_distances_ = -1;
    if (c.layers == 0) return;
    const Axis heads{"head", c.head_count()}, width{"d_head", c.head_width()};
    if (c.positions == PositionKind::kT5)
      table_ =
          parameter(root_ + "rel_pos.b_D", {heads, {"bucket", c.t5_buckets}}, Role::kDistanceTable);
    if (c.positions != PositionKind::kTransformerXl) return;
    u_ = parameter(root_ + "rel_pos.u", {heads, width}, Role::kContentBias);
    v_ = parameter(root_ + "rel_pos.v", {heads, width}, Role::kPositionBias);
    OpParams params = of_distances();
    params.features = c.d_model;
    rows_of_distances_ = call(distance_rows_.distance_rows(), Op::kDistanceSinusoid, {ids},
                              {"dist_embed", Role::kDistanceRows}, params);
  }

  // ---- within the attention `attn` of a row to itself ----

  // What the queries ask the keys with.
  TensorId content_queries(const std::string& attn, TensorId q) {
    if (u_ < 0) return q;
    return call(distance_rows_.content_queries(), Op::kShiftHeads, {q, u_},
                {attn + ".q_content", Role::kContentQueries});
  }

  // The scores `s` before they are scaled, with what rows by distance add to those of the queries
  // q.
  TensorId scores_by_distance(const std::string& attn, TensorId q, TensorId s) {
    TensorId rows = -1;
    OpParams params = of_distances();
    if (c.positions == PositionKind::kRelative) {
      params.reach = c.relative_reach;
      rows = shaw_table(attn + ".a_K", Role::kDistanceKeyTable);
    } else if (c.positions == PositionKind::kTransformerXl) {
      params.reach = axes_of(q)[2].size + params.offset - 1;
      rows = distance_keys(attn);
      q = call(distance_rows_.position_queries(), Op::kShiftHeads, {q, v_},
               {attn + ".q_position", Role::kPositionQueries});
    } else {
      return s;
    }
    const TensorId d = call(distance_rows_.relative_scores(), Op::kRelativeScores, {q, rows},
                            {attn + ".scores_distance", Role::kDistanceScores}, params);
    return call(distance_rows_.placed_scores(), Op::kAdd, {s, d}, placed(attn));
  }

  // The scaled scores `s`, with the number that each distance adds.
  TensorId bias_by_distance(const std::string& attn, TensorId s) {
    OpParams params = of_distances();
    if (c.positions == PositionKind::kAlibi)
      return call(distance_rows_.alibi(params.causal), Op::kAlibi, {s}, placed(attn), params);
    if (c.positions != PositionKind::kT5) return s;
    params.buckets = c.t5_buckets;
    params.reach = c.t5_reach;
    return call(distance_rows_.distance_bias(), Op::kDistanceBias, {s, table_}, placed(attn),
                params);
  }

  // Does a distance also add to what the pattern gathers?
  bool gathers_distances() const { return c.positions == PositionKind::kRelative; }
  // What the pattern gathers of the values, and of the distances.
  TensorId sums_with_distances(const std::string& attn, TensorId pattern, TensorId v) {
    const TensorId content = call(distance_rows_.content_sums(), Op::kWeightedSum, {pattern, v},
                                  {attn + ".z_content", Role::kContentSums});
    OpParams params = of_distances();
    params.reach = c.relative_reach;
    const TensorId table = shaw_table(attn + ".a_V", Role::kDistanceValueTable);
    const TensorId distance =
        call(distance_rows_.distance_sums(), Op::kRelativeSum, {pattern, table},
             {attn + ".z_distance", Role::kDistanceSums}, params);
    return call(distance_rows_.placed_sums(), Op::kAdd, {content, distance},
                {attn + ".z", Role::kHeadOutput});
  }

 private:
  // Decoders look back only; an encoder looks both ways, whatever the decoder's mask is.
  OpParams of_distances() const {
    OpParams params;
    params.offset = stack_ == Stack::kEncoder ? 0 : p.shape.memory;
    params.causal = stack_ != Stack::kEncoder && c.mask.is_causal();
    return params;
  }

  static Named placed(const std::string& attn) {
    return {attn + ".scores_placed", Role::kPlacedScores};
  }

  // A row for each distance up to the reach, in both directions; all heads of a layer share it.
  TensorId shaw_table(const std::string& name, Role role) {
    return parameter(
        prefix_ + name,
        {{"distance_both", 2 * std::int64_t{c.relative_reach} + 1}, {"d_head", c.head_width()}},
        role);
  }

  // The sinusoids of the distances as keys of each head (batch, head, distance, d_head). Basic
  // attention has no weights: there they are the keys.
  TensorId distance_keys(const std::string& attn) {
    const std::int64_t heads = c.head_count(), width = c.head_width();
    const Axis& distance = axes_of(rows_of_distances_)[1];
    const Named own{attn + ".r", Role::kDistanceKeys};
    const std::vector<Axis> by_head = {batch(), {"head", heads}, distance, {"d_head", width}};
    if (c.attention == AttentionKind::kBasic) return alias(own, rows_of_distances_, by_head);
    const TensorId w =
        parameter(prefix_ + attn + ".W_R", {{"head", heads}, d_model(), {"d_head", width}},
                  Role::kDistanceWeight);
    const std::size_t first = p.calls.size();
    const TensorId all =
        compute(Op::kProject, {rows_of_distances_, w}, {attn + ".r_proj", Role::kDistanceKeys});
    const bool splits = c.attention != AttentionKind::kSingle;
    const TensorId keys =
        splits ? compute(Op::kSplitHeads, {all, w}, own) : alias(own, all, by_head);
    show(distance_rows_.distance_keys(), first, all);
    return keys;
  }

  const DistanceStepRows distance_rows_;
  TensorId table_ = -1, u_ = -1, v_ = -1, rows_of_distances_ = -1;
};

}  // namespace headlight
