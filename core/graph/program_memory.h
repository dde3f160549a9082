// Where the tensors of a program lie in memory: inputs and activations in one arena, parameters
// wherever their owner keeps them, aliases at their sources.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/graph/program.h"

namespace headlight {

/// Floats that a tensor of so many cells takes: the next one begins on a 64-byte boundary again.
std::size_t padded_cells(std::int64_t cells);

/// Floats that the inputs and activations of the program take, each on a 64-byte boundary.
std::size_t arena_cells(const Program&);

/// Gives every input and activation its place in `arena` (64-byte aligned, arena_cells() floats).
/// `memory` has one entry for each tensor; the others are left as they are.
void lay_out(const Program&, float* arena, std::span<float*> memory);

/// Gives every alias the place of its source; after lay_out() and after the parameters are set.
void share_aliases(const Program&, std::span<float*> memory);

/// (tokens, memory + tokens + behind) cells: 0 where the mask lets a query look at a key, −∞ where
/// it forbids. The first `memory` keys stand before the first token; what the mask says of single
/// places says nothing of them. The last `behind` keys belong to no token and are never forbidden.
void fill_mask(const MaskSpec&, int tokens, float* out, int memory = 0, int behind = 0);

/// What the config says of masks, for every row of the batch, of those inputs that the program has:
/// the mask of a row's attention to itself, what is added to its scores, which heads are off.
void fill_masks(const Program&, std::span<float* const> memory);

/// Throws UsageError where numbers are added to scores of more tokens than they are for.
void check_added_mask(const Config&, std::int64_t tokens);

/// Does [CLS] stand before the sentence, whose row then stands for all of it?
bool begins_with_class(const Config&);

/// Which sentence of its row each token stands in: 0 up to the first [SEP], that one among them, 1
/// behind it.
std::vector<int> segments_of(std::span<const int> ids, int separator);

/// Fills Program::segment_ids, where the program has it, from the token ids that are there already.
void fill_segments(const Program&, std::span<float* const> memory);

/// The inputs by which pooling knows what is a token of row `row` of the batch, not padding: what
/// is present, which token is picked, the mask of the foci; those that the program has.
void fill_pooling(const Program&, std::int64_t row, std::int64_t tokens,
                  const std::function<bool(std::int64_t)>& counts, std::span<float* const> memory);

/// Fills Program::chosen from the token targets that are there already: `share` for each token that
/// is asked for, of the rows whose class is.
void fill_chosen(const Program&, double share, std::span<float* const> memory);

/// Which source tokens of row `row` are no padding, where the program asks for it.
void fill_source_present(const Program&, std::int64_t row, std::int64_t tokens,
                         const std::function<bool(std::int64_t)>& counts,
                         std::span<float* const> memory);

/// Fills every input of a program of one row, its padding as the config says: the ids, what of them
/// is present, the masks, targets (the next id; −1 at the end; class 0), and dropout that leaves
/// nothing out.
void fill_inputs(const Program&, std::span<const int> ids, std::span<const int> source_ids,
                 std::span<float* const> memory);

}  // namespace headlight
