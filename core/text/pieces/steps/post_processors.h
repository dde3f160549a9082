// Post-processors: the special tokens that are put around a text or a pair of texts. Types and
// meanings are those of tokenizer.json files.
#pragma once

#include <string>
#include <vector>

#include "core/text/pieces/piece_json.h"

namespace headlight {

/// What stands in a row: a special token, or the text A or B.
struct TemplatePart {
  enum Kind { kSpecial, kFirst, kSecond } kind = kFirst;
  std::vector<int> ids;  // kSpecial
  int segment = 0;
};

/// How one text and how a pair becomes a row.
struct RowTemplate {
  std::vector<TemplatePart> single, pair;
  std::string separator, start;  // the names of BERT's and RoBERTa's two, where they are said

  /// Nothing but the texts, in segments 0 and 1.
  static RowTemplate plain();
};

/// Throws Error for what is not known, by name; for ids of `size` and more; for a template that
/// lacks its texts.
RowTemplate read_post_processor(const PieceJson&, int size);

}  // namespace headlight
