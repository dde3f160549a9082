// What one query of the sentence looks up: its keys, their scores and their values, and a key that
// is edited by hand.
#pragma once

#include <cmath>

#include "core/base/error.h"
#include "core/lab/lab_attention.h"
#include "core/lab/lab_run.h"
#include "core/run/trace.h"

namespace headlight {

/// One head's look-up: a score, a key and a value for each key that the query may look at.
struct LookUp {
  std::vector<std::string> names;
  std::string asks;
  Tensor scores;       // (query 1, key), as the model has them
  Tensor query, keys;  // (d_head), (key, d_head); no cells where the keys are not those scored
  Tensor values;       // (key, d_value)
  std::vector<float> score_vector;  // of additive scores
  double factor = 1;                // by which products are scaled
};

/// That of the chosen head's last query. Throws Error where there is none.
inline LookUp look_up(LabRun& run) {
  const Trace& trace = run.trace();
  const std::vector<LabAttention> all = lab_attentions(trace.program());
  if (all.empty())
    throw Error(Message{trace.config().keeps_pattern() || !trace.config().attends()
                            ? "lab.error.no_attention"
                            : "lab.error.fused"});
  const LabAttention& one = all[static_cast<std::size_t>(run.place("layer", std::ssize(all)))];
  const TensorView scores = trace.tensor(one.scores), keys = trace.tensor(one.keys),
                   values = trace.tensor(one.values), queries = trace.tensor(one.queries);
  const std::int64_t heads = scores.axes[1].size, rows = scores.axes[2].size,
                     count = scores.axes[3].size, width = values.axes[3].size,
                     d = queries.axes[3].size;
  const std::int64_t head = run.place("head", heads);
  const std::int64_t shared = head / (heads / values.axes[1].size);  // of keys and values
  const float* row = scores.data + (head * rows + rows - 1) * count;
  const bool known = keys.axes[2].size == count && queries.axes[2].size == rows;
  LookUp found;
  std::vector<float> s, k, v;
  const auto copy = [](const TensorView& of, std::int64_t at, std::int64_t size,
                       std::vector<float>& to) {
    to.insert(to.end(), of.data + at * size, of.data + (at + 1) * size);
  };
  for (std::int64_t j = 0; j < count && s.size() < 64; ++j) {
    if (std::isinf(row[j])) continue;  // the mask forbids it
    found.names.push_back(trace.name(scores.axes[3].name, j));
    s.push_back(row[j]);
    copy(values, shared * count + j, width, v);
    if (known) copy(keys, shared * count + j, d, k);
  }
  if (s.empty()) throw Error(Message{"lab.error.no_key"});
  const auto n = static_cast<std::int64_t>(s.size());
  found.asks = trace.name(scores.axes[2].name, rows - 1);
  found.scores = lab_tensor("scores", {{"query", 1}, {"key", n}}, s);
  found.values = lab_tensor("values", {{"key", n}, {"d_head", width}}, v);
  if (!known) return found;
  std::vector<float> q;
  copy(queries, head * rows + rows - 1, d, q);
  found.query = lab_tensor("query", {{"d_head", d}}, q);
  found.keys = lab_tensor("keys", {{"key", n}, {"d_head", d}}, k);
  if (one.score_vector >= 0) copy(trace.tensor(one.score_vector), head, d, found.score_vector);
  if (trace.config().scale) found.factor = 1 / std::sqrt(static_cast<double>(d));
  return found;
}

/// One number of one key, set by hand, and what its score becomes.
struct EditedKey {
  std::size_t key = 0, feature = 0;
  double was = 0, is = 0, score_was = 0, score_is = 0;
};

inline std::optional<EditedKey> edit_key(LabRun& run, LookUp& l) {
  const std::int64_t number = run.whole("key");
  if (number == 0) return std::nullopt;
  if (l.keys.data.empty()) throw Error(Message{"lab.dictionary.error.keys"});
  run.place("key", std::ssize(l.names) + 1);
  const std::int64_t d = l.keys.axes[1].size, feature = run.place("feature", d);
  EditedKey e{static_cast<std::size_t>(number - 1), static_cast<std::size_t>(feature)};
  float& cell = l.keys.data[e.key * static_cast<std::size_t>(d) + e.feature];
  float& score = l.scores.data[e.key];
  e.was = cell, e.score_was = score;
  cell = static_cast<float>(run.number("number"));
  e.is = cell;
  const double q = l.query.data[e.feature];
  // Of dot products one term changes, of additive scores one term of v · tanh(q + k).
  const double more = l.score_vector.empty() ? q * (e.is - e.was)
                                             : static_cast<double>(l.score_vector[e.feature]) *
                                                   (std::tanh(q + e.is) - std::tanh(q + e.was));
  score = static_cast<float>(e.score_was + l.factor * more);
  e.score_is = score;
  return e;
}

}  // namespace headlight
