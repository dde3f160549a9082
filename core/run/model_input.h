// What Runner needs besides for models that are no plain decoder: how a sentence is read, and what
// an encoder-decoder writes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/backends/backend.h"
#include "core/document/document.h"
#include "core/model/model.h"
#include "core/run/trace.h"
#include "core/text/row_frame.h"

namespace headlight {

/// A sentence for an encoder-decoder: what it reads and, behind the first "→" or "->", what it is
/// given as its own row (teacher forcing). Spaces around both are left out.
struct SourceAndTarget {
  std::string_view source;
  std::optional<std::string_view> target;  // absent: the model writes it; it may be empty
};
SourceAndTarget split_pair(std::string_view sentence);

/// Is the model asked for the token behind each [MASK], and not for the next one?
bool fills_masks(const Model&);
/// Is there a [MASK] that can be typed? The vocabulary of a folder without a tokenizer has none.
bool knows_mask(const Model&);
/// What it is called: the model's own name, or [MASK].
std::string_view mask_name(const Model*);

/// Why it does not go on with a text, as an error; `model` does something else.
Message not_next_token(const Model& model);

/// Is a token asked for at each place, as behind a [MASK] or of numbers, and not the next one?
bool answers_in_place(const Model&);

/// The numbers that the sandbox reads where its tokens are numbers.
const Vocabulary& sandbox_numbers();

/// Does it say what comes next, so that of a long text the last tokens are the ones to read?
bool goes_on(const Model&);

/// check_ids() of what an encoder-decoder reads and of its own row, each by its own table.
void check_pair_ids(const Model&, std::span<const int> source, std::span<const int> own);

/// Does the config mark source tokens of an encoder-decoder as padding?
bool pads_source(const Config&);

/// The [BOS] that a model's own row begins with. Throws Error where its vocabulary has none.
int begin_of(const Model&);

/// The [EOS] that ends an encoder-decoder's own row; unset: it has none.
std::optional<int> end_of(const Model&);
/// Does this id end what the model writes? There may be several.
bool ends_row(const Model&, int id);
/// What an encoder-decoder's own row opens with where it is typed: begin_of(), and what is forced
/// to come next, or else what the tokenizer puts before every text.
std::vector<int> opening_of(const Model&);

/// The [CLS] that stands before what a model reads that judges by its row. Throws Error where its
/// vocabulary has none.
int class_of(const Model&);

/// Tokens of the row that nobody wrote: [CLS], where a classifier judges by it, or what the model's
/// tokenizer puts around a text; −1: a token that the model lacks. None where ids are given.
RowFrame row_frame(const Model*, const Document&);

/// RunShape::separator; of the sandbox (null) that of the sentence's own tokens.
int separator_of(const Model*, const Config&, const RunInput&);

/// Is the [SEP] missing behind the second sentence that a classifier of [CLS] has learned rows
/// with: [CLS] first [SEP] second [SEP]? It is put there, as [CLS] is. `separators` are in the row.
bool closes_pair(const Config&, std::size_t separators, bool ends_with_one);

/// Of a model with segments: finds which sentence each token of the row stands in, and closes a
/// pair. The row has at most `most` tokens; true where one had to go for the [SEP]. Throws
/// UsageError for a third sentence.
bool divide_row(const Config&, int separator, std::size_t most, RunInput&);

}  // namespace headlight
