// Spot checks: some cells of a call that has just run, computed again from what the device has.
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gl/compute/backend_gl.h"
#include "core/base/number_text.h"
#include "core/check/compare.h"
#include "core/check/op_trials.h"

namespace headlight {
namespace {

constexpr int kCheckedCells = 4;  // of a result, and of each gradient

// Root mean square of the row that a cell stands in, of what is finite there.
double row_size(const TensorView& view, std::int64_t cell) {
  const std::int64_t length = view.axes.empty() ? 1 : view.axes.back().size;
  const float* row = view.data + cell / length * length;
  double sum = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    if (std::isfinite(row[i])) sum += static_cast<double>(row[i]) * row[i];
  }
  return std::sqrt(sum / static_cast<double>(std::max<std::int64_t>(length, 1)));
}

Message message_of(const GlWrong& wrong) {
  using enum GlWrong::Kind;
  const Message numbers{
      "compute.wrong_by",
      {{"error", number_text(wrong.error, 2)}, {"limit", number_text(wrong.limit, 2)}}};
  const char* id = wrong.kind == kForward    ? "gpu.wrong"
                   : wrong.kind == kBackward ? "gpu.wrong.backward"
                                             : "gpu.wrong.update";
  return Message{id, {{"name", wrong.name}, {"shape", wrong.shape}}}.with(numbers);
}

}  // namespace

std::int64_t GlLayout::place_of(std::int64_t cell) const {
  if (!side_by_side) return cell;
  const std::int64_t heads = axes[1].size, rows = axes[2].size, width = axes[3].size;
  const std::int64_t at = cell % width, row = cell / width % rows;
  const std::int64_t head = cell / (width * rows) % heads, item = cell / (width * rows * heads);
  return ((item * rows + row) * heads + head) * width + at;
}

/// A call, or attention in one piece, as one operation, with what it reads and makes.
struct GlBackend::Checked {
  std::vector<TensorId> in;
  TensorId out = -1;
  std::vector<GradientUse> uses;    // of the inputs, in a backward pass
  std::vector<GlLayout> in_layout;  // of each
  GlLayout out_layout;
  FarCall far;
};

/// Cells of each gradient that is made, and what was there before the call adds to them.
struct GlBackend::BackwardCheck {
  struct Sample {
    std::size_t input = 0;
    std::vector<std::int64_t> cells;
    FarTensor before;  // without axes: nothing is added to
  };
  Checked what;
  std::vector<Sample> samples;
};

void GlBackend::tell_wrong(const GlWrong& wrong) {
  wrong_ = wrong;
  throw WrongResult(message_of(wrong), wrong);
}

double GlBackend::limit_of(Op op) const {
  return is_software_renderer(device_.renderer) ? trial_limit(op)
                                                : ErrorLimits::of_hardware().of(op);
}

// What memory has, too, need not come from the device.
FarTensor GlBackend::far_tensor(GlTensors& tensors, std::size_t slot, const float* memory,
                                const GlLayout& layout) {
  const unsigned buffer = tensors.is_newer(slot) ? tensors.buffer(slot) : 0;
  if (buffer == 0 && !layout.side_by_side) return FarTensor(TensorView{"", layout.axes, memory});
  return {layout.axes,
          [this, buffer, memory, layout](std::span<const std::int64_t> cells, float* to) {
            std::vector<std::pair<std::int64_t, std::int64_t>> pairs;  // there, here
            for (const std::int64_t cell : cells) pairs.emplace_back(layout.place_of(cell), cell);
            std::ranges::sort(pairs);
            std::vector<std::int64_t> there;
            for (const auto& pair : pairs) there.push_back(pair.first);
            if (buffer == 0) {
              for (const auto& [place, cell] : pairs) to[cell] = memory[place];
              return;
            }
            const std::span<const float> values = spot_checks_.bring(buffer, there);
            for (std::size_t i = 0; i < pairs.size(); ++i) to[pairs[i].second] = values[i];
          }};
}

GlBackend::Checked GlBackend::checked(const Program& program, const OpCall& call,
                                      std::span<float* const> memory) {
  Checked c{call.in, call.out, {}, {}, {}, {call.op, call.params, {}, {}, {}}};
  const auto far = [&](TensorId id, const GlLayout& layout) {
    const std::size_t slot = slot_of(program, id);
    return far_tensor(at_->tensors, slot, memory[slot], layout);
  };
  for (const TensorId id : c.in) c.in_layout.push_back({program.tensors[place(id)].axes, false});
  c.out_layout = {program.tensors[place(c.out)].axes, false};
  for (std::size_t i = 0; i < c.in.size(); ++i) c.far.in.push_back(far(c.in[i], c.in_layout[i]));
  c.far.out = far(c.out, c.out_layout);
  return c;
}

// As the operation that attention in one piece is, whose tensors have the heads one after the
// other.
GlBackend::Checked GlBackend::checked(const Program& program, const FusedAttention& a,
                                      std::span<float* const> memory) {
  const GlAttentionCall c(program, a);
  const bool side = c.by_head == GlByHead::kNone, v_side = c.by_head != GlByHead::kAll;
  const auto four = [&](std::int64_t heads, std::int64_t rows, std::int64_t width) {
    return std::vector<Axis>{{"batch", c.batch}, {"head", heads}, {"row", rows}, {"cell", width}};
  };
  OpCall call{Op::kFusedAttention, {a.q, a.k, a.v}, a.out, {}};
  call.params.factor = a.factor;
  call.params.temperature = a.temperature;
  Checked all = checked(program, call, memory);
  all.in_layout = {{four(c.heads, c.queries, c.width), side},
                   {four(c.kv_heads, c.keys, c.width), side},
                   {four(c.kv_heads, c.keys, c.v_width), v_side}};
  all.out_layout = {four(c.heads, c.queries, c.v_width), v_side};
  if (a.mask >= 0) {
    all.in.push_back(a.mask);
    all.in_layout.push_back({program.tensors[place(a.mask)].axes, false});
  }
  all.far.in.clear();
  const auto far = [&](TensorId id, const GlLayout& layout) {
    const std::size_t slot = slot_of(program, id);
    return far_tensor(at_->tensors, slot, memory[slot], layout);
  };
  for (std::size_t i = 0; i < all.in.size(); ++i)
    all.far.in.push_back(far(all.in[i], all.in_layout[i]));
  all.far.out = far(all.out, all.out_layout);
  return all;
}

void GlBackend::check_cell(FarCall& call, int input, std::int64_t cell, double got, double size) {
  const auto axes = (input < 0 ? call.out : call.in[place(input)]).view().axes;
  const CellAgain again = cell_again(call, input, unravel(axes, cell));
  if (!again.known) return;
  const double limit = limit_of(call.op);
  const double error = SpotJudge::error(got, again.value, std::max(size, again.size));
  if (error <= limit) return spot_checks_.count_cell(error / limit);
  using enum GlWrong::Kind;
  tell_wrong({std::string(op_info(call.op).id), input < 0 ? kForward : kBackward,
              shape_text(call.out.view().axes), error, limit});
}

// What drops a part of its pattern is not one of the operations.
void GlBackend::check_forward(const Program& program, const OpCall& call,
                              std::span<float* const> memory) {
  const Fusion* fusion = at_->fusion.get();
  if (fusion && fusion->is_between(call.out)) return;
  const FusedAttention* group = fusion ? fusion->attention(call.out) : nullptr;
  if (group && group->dropout >= 0) return;
  spot_checks_.spend([&] {
    Checked what = group ? checked(program, *group, memory) : checked(program, call, memory);
    for (int i = 0; i < kCheckedCells; ++i) {
      const std::int64_t cell = spot_checks_.draw(what.far.out.view().size());
      what.far.out.bring_row(cell);
      const TensorView& out = what.far.out.view();
      check_cell(what.far, -1, cell, static_cast<double>(out.data[cell]), row_size(out, cell));
    }
  });
}

// A gradient that lies where that of the result does, or that of another input, is not what this
// call alone has made.
bool GlBackend::has_own_gradient(const Checked& what, std::size_t input) const {
  if (input >= what.uses.size() || what.uses[input] == GradientUse::kNone) return false;
  const std::size_t slot = at_->gradient_slots[place(what.in[input])];
  if (slot == at_->gradient_slots[place(what.out)]) return false;
  for (std::size_t other = 0; other < what.in.size(); ++other) {
    if (other != input && at_->gradient_slots[place(what.in[other])] == slot) return false;
  }
  return true;
}

namespace {

// What the steps do with the gradients of q, k and v.
std::vector<GradientUse> uses_of(const FusedAttention& a, std::span<const BackwardCall> steps) {
  const auto use = [&](int call, int input) {
    const auto step = std::ranges::find(steps, call, &BackwardCall::call);
    return step == steps.end() ? GradientUse::kNone : step->uses[place(input)];
  };
  return {use(a.q_call, 0), use(a.k_call, a.k_input), use(a.v_call, a.v_input)};
}

}  // namespace

std::shared_ptr<GlBackend::BackwardCheck> GlBackend::begin_check(
    const Program& program, std::span<const BackwardCall> steps, std::span<float* const> memory,
    std::span<float* const> gradients) {
  const OpCall& call = program.calls[place(steps[0].call)];
  const Fusion* fusion = at_->fusion.get();
  const FusedAttention* group = fusion ? fusion->attention(call.out) : nullptr;
  const bool between = fusion && fusion->is_between(call.out);
  if (between || (group && group->dropout >= 0)) return nullptr;
  if (!group && !ops_.fits(GlOpCall(program, call))) return nullptr;
  auto check = std::make_shared<BackwardCheck>();
  spot_checks_.spend([&] {
    Checked& what = check->what;
    what = group ? checked(program, *group, memory) : checked(program, call, memory);
    what.uses = group ? uses_of(*group, steps)
                      : std::vector<GradientUse>(steps[0].uses.begin(), steps[0].uses.end());
    const auto far = [&](TensorId id, const GlLayout& layout) {
      return far_tensor(at_->gradients, at_->gradient_slots[place(id)], gradients[place(id)],
                        layout);
    };
    what.far.d_out = far(what.out, what.out_layout);
    for (std::size_t i = 0; i < what.in.size(); ++i) {
      if (!has_own_gradient(what, i)) continue;
      BackwardCheck::Sample& sample = check->samples.emplace_back();
      sample.input = i;
      const std::int64_t size = cell_count(what.in_layout[i].axes);
      for (int n = 0; n < kCheckedCells; ++n) sample.cells.push_back(spot_checks_.draw(size));
      if (what.uses[i] != GradientUse::kAdded) continue;
      sample.before = far(what.in[i], what.in_layout[i]);
      for (const std::int64_t cell : sample.cells) sample.before.bring_row(cell);
    }
  });
  return check;
}

void GlBackend::end_check(BackwardCheck& check, std::span<float* const> gradients) {
  spot_checks_.spend([&] {
    Checked& what = check.what;
    for (const BackwardCheck::Sample& sample : check.samples) {
      const TensorId id = what.in[sample.input];
      FarTensor after = far_tensor(at_->gradients, at_->gradient_slots[place(id)],
                                   gradients[place(id)], what.in_layout[sample.input]);
      const bool adds = what.uses[sample.input] == GradientUse::kAdded;
      for (const std::int64_t cell : sample.cells) {
        after.bring_row(cell);
        double got = static_cast<double>(after.view().data[cell]);
        double size = row_size(after.view(), cell);
        if (adds) {
          got -= static_cast<double>(sample.before.view().data[cell]);
          size = std::max(size, row_size(sample.before.view(), cell));
        }
        check_cell(what.far, static_cast<int>(sample.input), cell, got, size);
      }
    }
  });
}

}  // namespace headlight
