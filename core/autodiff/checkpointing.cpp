#include "core/autodiff/checkpointing.h"

#include <algorithm>

namespace headlight {
namespace {

constexpr int kNobody = -2, kKept = -1;

bool same_layer(const Place& a, const Place& b) { return a.stack == b.stack && a.layer == b.layer; }

const Place& place_of(const Program& p, const OpCall& call) {
  return p.tensors[place(call.out)].place;
}

}  // namespace

Checkpointing::Checkpointing(const Program& p, const Fusion& fusion, std::span<const OpCall> calls,
                             std::span<const BackwardCall> backward)
    : owner_(p.tensors.size(), kNobody) {
  for (const OpCall& call : calls) {
    const bool goes_on =
        !segments_.empty() && same_layer(place_of(p, segments_.back().calls[0]), place_of(p, call));
    if (!goes_on) segments_.emplace_back();
    segments_.back().calls.push_back(call);
  }
  find_owners(p);
  std::size_t next = 0;
  for (auto segment = segments_.rbegin(); segment != segments_.rend(); ++segment) {
    const auto is_of = [&](const BackwardCall& step) {
      const TensorId out = p.calls[place(step.call)].out;
      return std::ranges::any_of(segment->calls, [&](const OpCall& c) { return c.out == out; });
    };
    segment->first_back = next;
    while (next < backward.size() && is_of(backward[next])) ++next;
    segment->back = next - segment->first_back;
    find_again(p, fusion, *segment);
  }
}

// A tensor belongs to the layer that makes it and reads it, what dropout leaves out to the one that
// reads it. What stands outside the layers is kept, and so are the other inputs.
void Checkpointing::find_owners(const Program& p) {
  const auto meet = [&](TensorId id, int segment) {
    int& owner = owner_[place(p.resolve(id))];
    owner = owner == kNobody || owner == segment ? segment : kKept;
  };
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    const bool layer = place_of(p, segments_[s].calls[0]).layer >= 0;
    for (const OpCall& call : segments_[s].calls) {
      meet(call.out, layer ? static_cast<int>(s) : kKept);
      for (const TensorId in : call.in) meet(in, layer ? static_cast<int>(s) : kKept);
    }
  }
  for (std::size_t id = 0; id < owner_.size(); ++id) {
    const TensorKind kind = p.tensors[id].kind;
    const bool drawn = std::ranges::count(p.dropout, static_cast<TensorId>(id)) > 0;
    if (owner_[id] < 0 || (kind != TensorKind::kActivation && !drawn)) {
      owner_[id] = kKept;
      continue;
    }
    Segment& segment = segments_[static_cast<std::size_t>(owner_[id])];
    segment.takes_turns = true;
    if (drawn) segment.drawn.push_back(static_cast<TensorId>(id));
  }
}

// Not those whose results are kept. Nor a product that only passes on to such sums: neither has
// gradients that need it.
void Checkpointing::find_again(const Program& p, const Fusion& fusion, Segment& segment) const {
  std::vector<bool> needed(p.tensors.size(), false);
  for (auto call = segment.calls.rbegin(); call != segment.calls.rend(); ++call) {
    const TensorId out = p.resolve(call->out);
    const OpInfo& info = op_info(call->op);
    // What makes more than its result: the slope in the place of what an activation function reads,
    // the pattern of attention in one piece.
    const FusedAttention* attention = fusion.attention(call->out);
    const bool makes_more =
        (fusion.keeps_slope(call->out) && segment_of(p.resolve(call->in[0])) >= 0) ||
        (attention && segment_of(attention->pattern) >= 0);
    const bool again =
        makes_more || (segment_of(out) >= 0 && (needed[place(out)] || !info.is_product()));
    if (again) segment.again.push_back(*call);
    if (!again && info.shares_gradient) continue;
    for (const TensorId in : call->in) needed[place(p.resolve(in))] = true;
  }
  std::ranges::reverse(segment.again);
}

}  // namespace headlight
