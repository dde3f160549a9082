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
/// One head or several, narrow or wide, and what their mean hides.
Lab heads_lab();
/// Words in another order.
Lab shuffle_lab();
/// Leaks without the causal mask, [PAD] that is not masked, rows without a key.
Lab masks_lab();
/// Positions as hands of clocks, by distance, and in longer rows.
Lab positions_lab();
/// From the rows of all words to one: mean, last, [CLS], w, foci.
Lab pooling_lab();
/// Stream and gradients by layer, with norms and residuals and without.
Lab depth_lab();
/// How far words hear of each other, by what stands in attention's place.
Lab reach_lab();
/// A text longer than the context, with memory and without.
Lab segments_lab();
/// Words as byte pairs and WordPiece cut them.
Lab pieces_lab();
/// What attention takes as sentences grow, and what a training step does.
Lab cost_lab();
/// Encoder, decoder and both: who sees whom, gaps, teacher forcing.
Lab forms_lab();
/// Temperature, top-k, top-p, and how a sentence may go on.
Lab sampling_lab();
/// A head that finds the token before and one that goes on with what was there, as they form.
Lab induction_lab();
/// A gradient beside differences.
Lab gradients_lab();
/// A gate that chooses among experts, on numbers and on words.
Lab experts_lab();

}  // namespace headlight
