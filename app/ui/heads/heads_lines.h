// The lines view of attention. It stands on the stage of the softmax step while it is chosen.
#pragma once

#include <string>
#include <vector>

#include "app/ui/kit/ui.h"
#include "app/ui/state/state.h"

namespace headlight {

/// One weight as a line from a query to a key.
struct AttentionLine {
  int head = 0;
  std::int64_t query = 0, key = 0;
  float weight = 0;
};

/// Weights under this are not drawn.
inline constexpr float kMinLine = 0.01f;

/// Tokens first..end − 1.
struct RowRange {
  std::int64_t first = 0, end = 0;
};

/// The heads whose lines are drawn: the chosen ones that exist, or the head that is looked at.
std::vector<int> shown_line_heads(const Session&, int heads);

/// The lines of these heads that have an end in sight and weigh kMinLine or more; of more than
/// `most` the strongest. Weakest first. `pattern` is (head, query, key).
std::vector<AttentionLine> attention_lines(const float* pattern, std::int64_t queries,
                                           std::int64_t keys, const std::vector<int>& heads,
                                           RowRange shown, std::size_t most);

/// The pattern whose lines are drawn (the step's, or its layer's), and whether the stage shows them
/// now. Empty without a trace.
std::string lines_tensor(const AppState&);
bool lines_are_shown(const AppState&);

void draw_lines(const AppState&, Ui&, const Rect&);

}  // namespace headlight
