// The tokens of a row that nobody wrote, beside the text's: what a person is told of a text that is
// too long.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/graph/program_memory.h"
#include "core/run/model_input.h"
#include "core/run/trace.h"

namespace headlight {

/// The row of a run whose text was cut.
struct CutRow {
  bool source = false;              // of an encoder-decoder: what it reads
  long long own = 0;                // tokens that the text has
  long long positions = 0;          // those of the row, which is full
  std::vector<std::string> around;  // those of them that were put around the text, by name
  long long all() const { return own + static_cast<long long>(around.size()); }
  long long read() const { return positions - static_cast<long long>(around.size()); }
};

/// Is the last token the [SEP] that closes a pair, and that nobody wrote?
inline bool is_closed_pair(const Trace& trace, const RowFrame& frame) {
  const std::vector<std::string>& tokens = trace.input().tokens;
  const bool closes = frame.behind.empty() && begins_with_class(trace.config()) &&
                      trace.config().tells_sentences() && !tokens.empty();
  return closes && tokens.back() == to_string(Special::kSeparator) &&
         std::ranges::count(tokens, tokens.back()) == kSegments;
}

/// Of a run of `doc` whose text has more tokens than were read, RunResult::tokens_in_sentence. What
/// stands behind "→" has its [BOS] among them.
inline CutRow cut_row(const Trace& trace, const Model* model, const Document& doc,
                      std::size_t tokens_in_sentence) {
  const RunInput& input = trace.input();
  const auto own = static_cast<long long>(tokens_in_sentence);
  const RowFrame frame = row_frame(model, doc);
  CutRow row{false, own, trace.length(), {}};
  if (!input.source_tokens.empty()) {
    const auto read = static_cast<long long>(input.source_tokens.size());
    const bool sized = model && model->file.config.ends_at_context();
    const std::int64_t most =
        sized ? std::min<std::int64_t>(model->file.source, doc.max_tokens) : doc.max_tokens;
    row.source = read >= most && own + frame.size() > read;
    if (!row.source) return row;
    row.positions = read;
  }
  for (const std::vector<int>* ids : {&frame.before, &frame.behind}) {
    for (const int id : *ids)
      row.around.push_back(model && id >= 0 ? model->vocabulary->token(id)
                                            : std::string(to_string(Special::kClass)));
  }
  if (!row.source && is_closed_pair(trace, frame)) row.around.push_back(input.tokens.back());
  return row;
}

}  // namespace headlight
