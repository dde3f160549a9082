// The attentions of a program: where one head's queries, keys, scores and values lie.
#pragma once

#include <initializer_list>
#include <vector>

#include "core/graph/program.h"

namespace headlight {

/// One attention: (batch, head, query, key) or (batch, head, position, feature); −1 where there is
/// none.
struct LabAttention {
  TensorId pattern = -1;
  TensorId scores = -1;        // what its softmax takes
  TensorId queries = -1;       // as they meet the keys: turned, or with what is added to them
  TensorId keys = -1;          // as they meet the queries
  TensorId values = -1;        // as many as keys
  TensorId score_vector = -1;  // (head, feature), of additive scores
};

/// Those whose weights are kept, in the order of the program.
inline std::vector<LabAttention> lab_attentions(const Program& program) {
  std::vector<LabAttention> all;
  for (const OpCall& call : program.calls) {
    const TensorSpec& made = program.tensors[place(call.out)];
    if (made.role != Role::kPattern) continue;
    // The first of these roles that this very attention has.
    const auto own = [&](std::initializer_list<Role> roles) {
      for (const Role role : roles) {
        const TensorId id = program.find(role, call.out);
        if (id >= 0 && program.tensors[place(id)].place == made.place) return id;
      }
      return TensorId{-1};
    };
    LabAttention a;
    a.pattern = call.out;
    a.scores = call.in[0];
    a.queries = own({Role::kContentQueries, Role::kTurnedQueries, Role::kQueries});
    a.keys = own({Role::kExtendedKeys, Role::kTurnedKeys, Role::kKeys});
    a.values = own({Role::kExtendedValues, Role::kValues});
    a.score_vector = own({Role::kScoreVector});
    all.push_back(a);
  }
  return all;
}

}  // namespace headlight
