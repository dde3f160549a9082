#include "core/graph/fusion.h"

#include <algorithm>

namespace headlight {

Fusion::Fusion(const Program& program, FusedDropout dropout)
    : between_(program.tensors.size(), false), keeps_slope_(program.tensors.size(), false) {
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
    if (a.dropout >= 0 && dropout == FusedDropout::kNo) continue;
    // The graphics card neither turns nor shares heads yet.
    const bool shares = program.tensors[place(a.k)].axes.back().size !=
                        program.tensors[place(a.q)].axes.back().size;
    if (dropout == FusedDropout::kYes && (a.turn >= 0 || shares)) continue;
    const auto inside =
        std::span(program.calls).subspan(place(a.first_call), place(a.last_call - a.first_call));
    const bool apart = std::all_of(inside.begin(), inside.end(), [&](const OpCall& call) {
      return last[place(call.out)] <= a.last_call;
    });
    if (!apart) continue;
    for (const OpCall& call : inside) between_[place(call.out)] = true;
    attentions_.push_back(a);
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
