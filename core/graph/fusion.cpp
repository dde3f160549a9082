#include "core/graph/fusion.h"

#include <algorithm>

namespace headlight {
namespace {

std::size_t place(TensorId id) { return static_cast<std::size_t>(id); }

// Who makes and who reads each tensor, aliases taken for their sources.
class Uses {
 public:
  explicit Uses(const Program& program)
      : p_(program),
        made_by_(program.tensors.size(), -1),
        readers_(program.tensors.size(), 0),
        last_reader_(program.tensors.size(), -1) {
    for (std::size_t c = 0; c < p_.calls.size(); ++c) {
      made_by_[place(p_.calls[c].out)] = static_cast<int>(c);
      for (const TensorId in : p_.calls[c].in) {
        ++readers_[place(p_.resolve(in))];
        last_reader_[place(p_.resolve(in))] = static_cast<int>(c);
      }
    }
  }

  const OpCall& call(int c) const { return p_.calls[static_cast<std::size_t>(c)]; }
  /// The call that makes a tensor, where it is such an operation; −1 otherwise.
  int maker(TensorId id, Op op) const {
    const int c = made_by_[place(p_.resolve(id))];
    return c >= 0 && call(c).op == op ? c : -1;
  }
  /// The only call that reads a tensor; −1 where there are none or several.
  int only_reader(TensorId id) const {
    const std::size_t source = place(p_.resolve(id));
    return readers_[source] == 1 ? last_reader_[source] : -1;
  }
  std::int64_t heads(TensorId id) const { return p_.tensors[place(id)].axes[1].size; }
  TensorId resolve(TensorId id) const { return p_.resolve(id); }

 private:
  const Program& p_;
  std::vector<int> made_by_, readers_, last_reader_;
};

// Goes back from a weighted sum over what leads to it; false where that is nothing known.
class Finder {
 public:
  Finder(const Uses& uses, int weighted_sum, FusedDropout dropout)
      : uses_(uses), sum_(weighted_sum), dropout_(dropout) {}

  bool find() {
    const OpCall& sum = uses_.call(sum_);
    a.calls = {sum_};
    TensorId s = sum.in[0];
    const int dropped = uses_.maker(s, Op::kDropout);
    if (dropped >= 0 && dropout_ == FusedDropout::kYes) {
      a.dropout = uses_.call(dropped).in[1];
      if (!step_back(s, Op::kDropout)) return false;
    }
    a.pattern = s;
    if (!step_back(s, Op::kSoftmax)) return false;
    a.temperature = uses_.call(a.calls.back()).params.temperature;
    if (uses_.maker(s, Op::kMask) >= 0) {
      a.mask = uses_.call(uses_.maker(s, Op::kMask)).in[1];
      if (!step_back(s, Op::kMask)) return false;
    }
    if (uses_.maker(s, Op::kScale) >= 0) {
      a.factor = uses_.call(uses_.maker(s, Op::kScale)).params.factor;
      if (!step_back(s, Op::kScale)) return false;
    }
    const int scores = uses_.maker(s, Op::kScores);
    if (!step_back(s, Op::kScores)) return false;
    a.q_call = a.k_call = scores;
    a.v_call = sum_;
    a.k_input = a.v_input = 1;
    a.q = uses_.call(scores).in[0];
    a.k = uses_.call(scores).in[1];
    a.v = sum.in[1];
    if (!turned(a.q, a.q_call, a.turned_q) || !turned(a.k, a.k_call, a.turned_k)) return false;
    if (a.turned_q >= 0) a.turn = a.q_call;
    if (a.turned_k >= 0) a.k_input = 0;
    if (!all_heads(a.v, a.v_call, a.v_input) || !all_heads(a.k, a.k_call, a.k_input)) return false;
    int q_input = 0;
    return all_heads(a.q, a.q_call, q_input) && join() && follow_each_other() && is_known();
  }

  FusedAttention a;

 private:
  // From a tensor that such a call makes, and one call reads, to the call's first input.
  bool step_back(TensorId& id, Op op) {
    const int maker = uses_.maker(id, op);
    if (maker < 0 || uses_.only_reader(id) < 0) return false;
    a.calls.push_back(maker);
    id = uses_.call(maker).in[0];
    return true;
  }

  // From turned queries or keys to those that turn, if they do.
  bool turned(TensorId& id, int& call, TensorId& result) {
    const int turn = uses_.maker(id, Op::kRotary);
    if (turn < 0) return true;
    call = turn;
    result = id;
    return step_back(id, Op::kRotary);
  }

  // One head alone lies as all heads together do.
  bool all_heads(TensorId& id, int& call, int& input) {
    const int split = uses_.maker(id, Op::kSplitHeads);
    if (split < 0) {
      const bool one = uses_.heads(id) == 1;
      id = uses_.resolve(id);
      return one;
    }
    call = split;
    input = 0;
    return step_back(id, Op::kSplitHeads);
  }

  bool join() {
    const TensorId z = uses_.call(sum_).out;
    a.out = z;
    const int joint = uses_.only_reader(z);
    if (joint < 0 || uses_.call(joint).op != Op::kConcatHeads) return uses_.heads(z) == 1;
    a.calls.push_back(joint);
    a.out = uses_.call(joint).out;
    return true;
  }

  // The graphics card neither turns nor shares heads yet.
  bool is_known() const {
    const OpCall& sum = uses_.call(sum_);
    return dropout_ == FusedDropout::kNo ||
           (a.turn < 0 && uses_.heads(sum.in[0]) == uses_.heads(sum.in[1]));
  }

  // Between them no other call reads or passes on what they share with others.
  bool follow_each_other() {
    std::sort(a.calls.begin(), a.calls.end());
    return a.calls.back() - a.calls.front() + 1 == static_cast<int>(a.calls.size());
  }

  const Uses& uses_;
  int sum_;
  FusedDropout dropout_;
};

}  // namespace

Fusion::Fusion(const Program& program, FusedDropout dropout)
    : between_(program.tensors.size(), false), keeps_slope_(program.tensors.size(), false) {
  const Uses uses(program);
  for (std::size_t c = 0; c < program.calls.size(); ++c) {
    const OpCall& call = program.calls[c];
    if (call.op == Op::kWeightedSum) {
      Finder finder(uses, static_cast<int>(c), dropout);
      if (!finder.find()) continue;
      for (const int inside : finder.a.calls) between_[place(uses.call(inside).out)] = true;
      between_[place(finder.a.out)] = false;
      attentions_.push_back(std::move(finder.a));
    }
    const bool has_slope = call.op == Op::kGelu || call.op == Op::kGeluTanh || call.op == Op::kSilu;
    if (has_slope && uses.maker(call.in[0], Op::kLinear) >= 0 &&
        uses.only_reader(call.in[0]) >= 0) {
      keeps_slope_[place(call.out)] = true;
    }
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
