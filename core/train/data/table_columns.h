// The two columns of a table that are learned from: text and label, or source and target.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/train/data/text_source.h"

namespace headlight {

/// What the columns are called in a header, the more usual words.
struct ColumnNames {
  std::span<const std::string_view> first, second;
  const char* both;  // text id: what the two columns are
};
extern const ColumnNames kLabelledColumns, kPairColumns;

struct TwoColumns {
  MessageSlot file;            // what messages call it
  std::vector<TableRow> rows;  // two cells each; the second may be empty
  std::vector<Message> notes;
};

/// Throws Error for a table without rows or with other numbers of columns; what TextInput::read
/// does; Cancelled.
TwoColumns read_columns(const TextInput&, const TextOptions&, const ColumnNames&,
                        const ProgressFunction&);
/// Rows without a text are no examples: they are left out, which a note says. Throws Error where
/// none is left.
void drop_empty(TwoColumns&, const ColumnNames&);
/// Throws Error with this text where a second column is empty.
void check_second_column(const TwoColumns&, const char* problem);

}  // namespace headlight
