// The labs, one file each.
#pragma once

#include "core/lab/lab.h"

namespace headlight {

/// What a dot product says, of films and of words.
Lab dot_product_lab();
/// y = softmax(X Xᵀ) X
Lab without_parameters_lab();
/// From attention without parameters to a transformer, one thing at a time.
Lab building_up_lab();
/// A query that looks up one key, or a little of all.
Lab dictionary_lab();
/// Why scores are divided by √d_k.
Lab scale_lab();
/// Words in another order.
Lab shuffle_lab();
/// Positions as hands of clocks, by distance, and in longer rows.
Lab positions_lab();
/// Stream and gradients by layer, with norms and residuals and without.
Lab depth_lab();
/// How far words hear of each other, by what stands in attention's place.
Lab reach_lab();
/// A text longer than the context, with memory and without.
Lab segments_lab();
/// Words as byte pairs and WordPiece cut them.
Lab pieces_lab();
/// Temperature, top-k, top-p, and how a sentence may go on.
Lab sampling_lab();
/// A gradient beside differences.
Lab gradients_lab();

}  // namespace headlight
