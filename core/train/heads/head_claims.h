// HeadClaim: what a head of a bundled model is said to do, as the numbers by which it is measured.
// The model's recipe.json holds its claims, and what a person reads is made from them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/texts.h"
#include "core/graph/config_json.h"
#include "core/run/trace.h"

namespace headlight {

/// In the run of a sentence the weights of one head from one query (or from each) to some keys add
/// up to `least` or more. Heads and places are counted from 0.
struct HeadClaim {
  std::string sentence;
  // Of the attention weights (batch, head, query, key), of one row; of pooling (batch, 1, focus,
  // key).
  std::string step;
  int head = 0;
  std::optional<int> query;  // unset: each query; of pooling the focus
  std::vector<int> keys;
  std::string from, to;  // the query and the keys as the window names them: "the₄"
  double least = 0;
  std::string why;    // text id: what the head does there
  std::string badge;  // text id: the same in two words; empty where there are none
  // The rule that it stands for (core/train/heads/head_rules.h): patterns of sentences, and the
  // weight that these have on average, at least. Of a task's model the task draws the sentences.
  std::vector<std::string> patterns;
  double mean = 0;
  bool operator==(const HeadClaim&) const = default;
};

/// The claims of a recipe; one that names no sentence is about `example`. Throws Error that names
/// the key, what was expected and what came.
std::vector<HeadClaim> read_claims(const OrderedJson& list, const std::string& example,
                                   const JsonFileWords&);
/// The inverse.
OrderedJson claims_json(const std::vector<HeadClaim>&, const std::string& example);

/// The weight that is claimed, in a trace of its sentence; where each query is meant, the smallest.
/// Throws Error for a step, a head or a place that the trace does not have.
double measured_weight(const HeadClaim&, const Trace&);

/// Are the claim's words at its places of this trace?
bool speaks_of(const HeadClaim&, const Trace&);

/// "Layer 0, head 2: . → john, 65 % or more: …"
std::string claim_text(Language, const HeadClaim&);

}  // namespace headlight
