#include "core/autodiff/half_storage.h"

#include <algorithm>
#include <utility>

#include "core/autodiff/live_blocks.h"
#include "core/graph/program_memory.h"

namespace headlight {

// Time is counted in steps: those of the run, the end of it, those of the backward pass.
class HalfStorage::Planner {
 public:
  Planner(HalfStorage& plan, const Program& p, const Fusion& fusion)
      : plan_(plan), p_(p), fusion_(fusion), uses_(p.tensors.size()) {
    plan_.places_.resize(p.tensors.size());
  }

  void add_run(std::span<const OpCall> calls, std::vector<StorageStep>& steps) {
    for (const OpCall& call : calls) {
      if (fusion_.is_between(call.out)) continue;
      steps.push_back({{}, {}, {call}, 0, 0, {}});
      if (const FusedAttention* a = fusion_.attention(call.out)) {
        use({a->q, a->k, a->v}, false);
        use({a->turned_q, a->turned_k, a->pattern, a->out}, true);
      } else {
        use(call.in, false);
        use({call.out}, true);
      }
      ++now_;
    }
  }

  void end_run(std::span<const TensorId> read) {
    use(read, false);
    end_ = now_++;
  }

  void add_back(std::span<const BackwardCall> all, std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count;) {
      StorageStep step;
      step.first_back = i;
      i += read_back(all.subspan(i, first + count - i));
      step.back = i - step.first_back;
      plan_.backward_.push_back(std::move(step));
      ++now_;
    }
  }

  // Segments from the last to the first; what the last of those that take turns made is there.
  void add_segments(std::span<const BackwardCall> all, const Checkpointing& shares) {
    bool there = true;
    for (std::size_t s = shares.segments().size(); s-- > 0;) {
      const Segment& segment = shares.segments()[s];
      if (segment.takes_turns && !std::exchange(there, false))
        add_run(segment.again, plan_.backward_);
      add_back(all, segment.first_back, segment.back);
    }
  }

  // The largest first: smaller ones fit between them.
  void finish() {
    for (std::size_t id = 0; id < uses_.size(); ++id) find_blocks(static_cast<TensorId>(id));
    std::ranges::stable_sort(
        blocks_, [](const Block& a, const Block& b) { return a.live.cells > b.live.cells; });
    std::vector<LiveBlock> live;
    for (const Block& block : blocks_) live.push_back(block.live);
    plan_.cells_ = place_blocks(live, 0);
    for (std::size_t i = 0; i < live.size(); ++i) {
      Places& places = plan_.places_[place(live[i].owner)];
      const auto offset = static_cast<std::int64_t>(live[i].offset);
      if (blocks_[i].forward) places.forward = offset;
      if (blocks_[i].backward) places.backward = offset;
      if (blocks_[i].halves) places.halves = offset;
    }
  }

 private:
  struct Use {
    std::size_t step;
    bool writes;
  };
  struct Block {
    LiveBlock live;
    bool forward = false, backward = false, halves = false;
  };

  template <class Ids>
  void use(const Ids& ids, bool writes) {
    for (const TensorId id : ids) {
      if (id >= 0) uses_[place(p_.resolve(id))].push_back({now_, writes});
    }
  }
  void use(std::initializer_list<TensorId> ids, bool writes) {
    use(std::span(ids.begin(), ids.size()), writes);
  }

  // What the first of these calls reads; how many run with it: all of an attention in one piece.
  std::size_t read_back(std::span<const BackwardCall> steps) {
    const OpCall& call = p_.calls[place(steps[0].call)];
    if (const FusedAttention* a = fusion_.attention(call.out)) {
      use({a->turned_q < 0 ? a->q : a->turned_q, a->turned_k < 0 ? a->k : a->turned_k, a->v,
           a->pattern},
          false);
      std::size_t count = 1;
      while (count < steps.size() && steps[count].call >= a->first_call) ++count;
      return count;
    }
    const GradientReads& reads = op_info(call.op).gradient_reads;
    const bool slope = fusion_.keeps_slope(call.out);
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      if (slope ? i == 0 : reads.inputs[i]) use({call.in[i]}, false);
    }
    if (!slope && reads.result) use({call.out}, false);
    return 1;
  }

  std::size_t step_count() const { return now_; }
  StorageStep& step_at(std::size_t step) {
    return step < end_ ? plan_.forward_[step] : plan_.backward_[step - end_ - 1];
  }

  void add_block(TensorId id, std::size_t first, std::size_t last, bool forward, bool backward) {
    const std::size_t cells = padded_cells(cell_count(p_.tensors[place(id)].axes));
    blocks_.push_back({{id, cells, 0, first, last}, forward, backward, false});
  }

  void find_blocks(TensorId id) {
    const TensorSpec& spec = p_.tensors[place(id)];
    const std::vector<Use>& uses = uses_[place(id)];
    if (std::ranges::count(p_.dropout, id) > 0) return find_drawn(id, uses);
    if (spec.kind == TensorKind::kInput) return add_block(id, 0, step_count(), true, true);
    if (spec.kind != TensorKind::kActivation) return;
    // Each time that it is made anew its numbers live from there to their last reader. A slope that
    // takes the place of what its call reads has the same readers.
    for (std::size_t i = 0; i < uses.size();) {
      std::size_t end = i + 1;
      while (end < uses.size() && !uses[end].writes) ++end;
      find_stay(id, std::span(uses).subspan(i, end - i));
      i = end;
    }
  }

  void find_stay(TensorId id, std::span<const Use> uses) {
    const std::size_t first = uses.front().step, last = uses.back().step;
    const auto back = std::ranges::find_if(uses, [&](const Use& u) { return u.step > end_; });
    if (back == uses.begin()) return add_block(id, first, last, false, true);
    if (back == uses.end()) return add_block(id, first, last, true, false);
    const std::size_t leaves = std::prev(back)->step, returns = back->step;
    if (returns <= leaves + 1) return add_block(id, first, last, true, true);
    add_block(id, first, leaves, true, false);
    add_block(id, returns, last, false, true);
    const std::size_t packed = std::min(leaves, end_ - 1);
    const std::int64_t cells = cell_count(p_.tensors[place(id)].axes);
    blocks_.push_back(
        {{id, padded_cells((cells + 1) / 2), 0, packed, returns}, false, false, true});
    step_at(packed).packed.push_back(id);
    step_at(returns).unpacked.push_back(id);
  }

  // Drawn again for the way back: the same numbers.
  void find_drawn(TensorId id, std::span<const Use> uses) {
    const auto back = std::ranges::find_if(uses, [&](const Use& u) { return u.step > end_; });
    if (back != uses.begin()) {
      add_block(id, uses.front().step, std::prev(back)->step, true, false);
      step_at(uses.front().step).drawn.push_back(id);
    }
    if (back == uses.end()) return;
    add_block(id, back->step, uses.back().step, false, true);
    step_at(back->step).drawn.push_back(id);
  }

  HalfStorage& plan_;
  const Program& p_;
  const Fusion& fusion_;
  std::size_t now_ = 0, end_ = 0;
  std::vector<std::vector<Use>> uses_;  // by TensorId, in the order of the steps
  std::vector<Block> blocks_;
};

HalfStorage::HalfStorage(const Program& p, const Fusion& fusion, std::span<const OpCall> calls,
                         std::span<const BackwardCall> backward, const Checkpointing* shares,
                         std::span<const TensorId> read_at_end) {
  Planner planner(*this, p, fusion);
  planner.add_run(calls, forward_);
  planner.end_run(read_at_end);
  if (shares) {
    planner.add_segments(backward, *shares);
  } else {
    planner.add_back(backward, 0, backward.size());
  }
  planner.finish();
}

}  // namespace headlight
