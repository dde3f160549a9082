#include "core/run/free_running.h"

#include <algorithm>

namespace headlight {
namespace {

std::vector<SaidToken> said_behind(const Trace& trace, std::size_t places) {
  const TensorView all = trace.tensor(trace.program().probabilities);
  const auto width = static_cast<std::size_t>(all.axes.back().size);
  std::vector<SaidToken> said;
  for (std::size_t i = 0; i < places; ++i) {
    const std::span<const float> row = all.cells().subspan(i * width, width);
    const auto best = std::max_element(row.begin(), row.end());
    said.push_back({static_cast<int>(best - row.begin()), *best});
  }
  return said;
}

}  // namespace

bool is_set(const Model& model, std::span<const int> row, std::size_t i) {
  const std::vector<int>& set = model.file.forced;
  return i > 0 && i < row.size() && i <= set.size() && row[i] == set[i - 1];
}

std::optional<ForcedAndFree> forced_and_free(const Trace& trace, const Model& model,
                                             std::span<const int> own, bool own_ends, bool forced) {
  const std::vector<int>& read = trace.input().ids;
  if (model.file.config.form != ModelForm::kTranslate || read.empty() || (own.empty() && !forced))
    return std::nullopt;
  ForcedAndFree both;
  both.read = read;
  both.said = said_behind(trace, read.size());
  both.own.assign(own.begin(), own.end());
  both.own_ends = own_ends;
  both.forced = forced;
  for (std::size_t i = 1; i < read.size(); ++i) {
    const bool asked = !is_set(model, read, i);
    both.asked += asked;
    both.right += asked && both.said[i - 1].id == read[i];
    if (!own.empty() && !both.parts && (i >= own.size() || own[i] != read[i])) both.parts = i;
  }
  return both;
}

}  // namespace headlight
