#include "core/graph/fusion.h"

#include <algorithm>

namespace headlight {
namespace {

// The group without the calls that turn queries and keys, and split them before: it reads what
// those made.
FusedAttention once_turned(FusedAttention a) {
  a.q = a.turned_q;
  a.k = a.turned_k;
  a.q_call = a.k_call = a.turn + 2;  // the scores
  a.k_input = 1;
  return a;
}

}  // namespace

Fusion::Fusion(const Program& program, FusedBy by, ForbiddenBlocks forbidden)
    : forbidden_(forbidden),
      between_(program.tensors.size(), false),
      keeps_slope_(program.tensors.size(), false) {
  // Who makes each tensor, and the calls that read it first and last.
  std::vector<int> maker(program.tensors.size(), -1), first = maker, last = maker;
  for (std::size_t c = 0; c < program.calls.size(); ++c) {
    const OpCall& call = program.calls[c];
    maker[place(call.out)] = static_cast<int>(c);
    for (const TensorId in : call.in) {
      const std::size_t source = place(program.resolve(in));
      last[source] = static_cast<int>(c);
      if (first[source] < 0) first[source] = last[source];
    }
  }
  for (const FusedAttention& a : program.attentions) {
    if (a.dropout >= 0 && by == FusedBy::kProcessor) continue;
    const bool turned = a.turn >= 0 && by == FusedBy::kCard;
    std::vector<TensorId> inside;
    for (int c = a.first_call; c < a.last_call; ++c) {
      if (!turned || c > a.turn + 1 || c == a.v_call) inside.push_back(program.calls[place(c)].out);
    }
    const bool apart = std::all_of(inside.begin(), inside.end(),
                                   [&](TensorId id) { return last[place(id)] <= a.last_call; });
    if (!apart) continue;
    for (const TensorId id : inside) between_[place(id)] = true;
    attentions_.push_back(turned ? once_turned(a) : a);
  }
  for (const OpCall& call : program.calls) {
    if (!op_info(call.op).keeps_slope) continue;
    const std::size_t in = place(program.resolve(call.in[0]));
    const bool product = maker[in] >= 0 && op_info(program.calls[place(maker[in])].op).is_product();
    keeps_slope_[place(call.out)] = product && first[in] == last[in];
  }
}

const FusedAttention* Fusion::attention(TensorId out) const {
  const auto found = std::find_if(attentions_.begin(), attentions_.end(),
                                  [&](const FusedAttention& a) { return a.out == out; });
  return found == attentions_.end() ? nullptr : &*found;
}

bool Fusion::is_left_out(TensorId id) const {
  return is_between(id) &&
         std::none_of(attentions_.begin(), attentions_.end(), [&](const FusedAttention& a) {
           return a.pattern == id || a.turned_q == id || a.turned_k == id;
         });
}

}  // namespace headlight
