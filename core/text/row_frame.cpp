#include "core/text/row_frame.h"

#include "core/text/pieces/piece_tokenizer.h"

namespace headlight {

RowFrame frame_of(const Vocabulary& vocabulary) {
  RowFrame frame;
  const PieceTokenizer* pieces = vocabulary.pieces();
  if (!pieces) return frame;
  bool behind = false;
  // What is put around a text stands nowhere in it.
  for (const PlacedToken& token : pieces->encode("a")) {
    if (token.end > 0)
      behind = true;
    else
      (behind ? frame.behind : frame.before).push_back(token.id);
  }
  return frame;
}

void put_around(const RowFrame& frame, std::vector<int>& ids) {
  ids.insert(ids.begin(), frame.before.begin(), frame.before.end());
  ids.insert(ids.end(), frame.behind.begin(), frame.behind.end());
}

}  // namespace headlight
