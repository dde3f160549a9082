#include "core/run/large/kept_tensors.h"

#include <algorithm>

#include "core/graph/program_cost.h"
#include "core/graph/program_memory.h"
#include "core/run/trace.h"

namespace headlight {

std::size_t row_axis(const TensorSpec& spec) {
  if (spec.kind == TensorKind::kParameter || spec.axes.size() < 2 || spec.axes[0].size != 1)
    return 0;
  const Axis* rows = find_row_axis(spec.axes);
  const auto axis = rows ? static_cast<std::size_t>(rows - spec.axes.data()) : 0;
  const bool of_heads = axis == 2 && counts_heads(spec.axes[1].name);
  return axis == 1 || of_heads ? axis : 0;
}

bool goes_row_by_row(const Program& program, const OpCall& call) {
  const OpInfo& info = op_info(call.op);
  const auto has_rows = [&](TensorId id) {
    const TensorSpec& spec = program.tensors[place(id)];
    const std::size_t axis = row_axis(spec);
    return axis > 0 && spec.axes[axis].size == program.shape.positions;
  };
  if (!info.row_by_row || !has_rows(call.out)) return false;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const bool is_parameter = program.tensors[place(call.in[i])].kind == TensorKind::kParameter;
    if (!is_parameter && !info.reads_all_rows[i] && !has_rows(call.in[i])) return false;
  }
  return true;
}

bool has_columns_of_tokens(const TensorSpec& spec) {
  const std::size_t axis = row_axis(spec);
  return axis > 0 &&
         std::any_of(spec.axes.begin() + static_cast<std::ptrdiff_t>(axis) + 1, spec.axes.end(),
                     [](const Axis& a) { return counts_tokens(a.name); });
}

std::vector<bool> calls_by_rows(const Program& p, const std::function<bool(TensorId)>& stays) {
  std::vector<bool> by_rows(p.calls.size(), false);
  std::vector<bool> read_whole(p.tensors.size(), false);  // by source, by the calls behind
  for (std::size_t c = p.calls.size(); c-- > 0;) {
    const OpCall& call = p.calls[c];
    const TensorSpec& out = p.tensors[place(call.out)];
    const std::size_t source = place(p.resolve(call.out));
    const bool widens = has_columns_of_tokens(out);
    const bool seen = stays(call.out) || read_whole[source];
    // Columns that belong to no token would have others before them.
    const bool is_pattern = out.role == Role::kPattern && out.axes.back().size == p.shape.positions;
    by_rows[c] = goes_row_by_row(p, call) && (!widens || !seen || is_pattern);
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      if (!by_rows[c] || op_info(call.op).reads_all_rows[i])
        read_whole[place(p.resolve(call.in[i]))] = true;
    }
  }
  return by_rows;
}

std::vector<bool> rows_read_whole(const Program& p, const std::vector<bool>& by_rows) {
  std::vector<bool> has_old_rows(p.tensors.size(), true);  // by source, as is what is read
  std::vector<bool> read(p.tensors.size(), false);
  for (std::size_t c = 0; c < p.calls.size(); ++c) {
    const OpCall& call = p.calls[c];
    has_old_rows[place(p.resolve(call.out))] = !by_rows[c];
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      const std::size_t source = place(p.resolve(call.in[i]));
      const bool reads_all = !by_rows[c] || op_info(call.op).reads_all_rows[i];
      if (reads_all && !has_old_rows[source]) read[source] = true;
    }
  }
  return read;
}

namespace {

constexpr int kStays = -1;

// Calls that follow each other in one layer of one stack.
std::vector<KeptTensors::Stretch> find_stretches(const Program& p) {
  std::vector<KeptTensors::Stretch> found;
  const auto at = [&](std::size_t call) { return p.tensors[place(p.calls[call].out)].place; };
  for (std::size_t begin = 0, end = 0; begin < p.calls.size(); begin = end) {
    const Place here = at(begin);
    for (end = begin + 1;
         end < p.calls.size() && at(end).layer == here.layer && at(end).stack == here.stack;)
      ++end;
    if (here.layer >= 0) found.push_back({static_cast<int>(begin), static_cast<int>(end)});
  }
  return found;
}

}  // namespace

KeptTensors::KeptTensors(const Program& p, TensorId shown)
    : stretches_(find_stretches(p)),
      stretch_of_(p.tensors.size(), kStays),
      place_(p.tensors.size(), 0),
      grows_(p.tensors.size(), false),
      in_memory_(p.tensors.size(), false) {
  for (std::size_t id = 0; id < p.tensors.size(); ++id)
    source_.push_back(p.resolve(static_cast<TensorId>(id)));
  const auto stay = [&](TensorId id) {
    if (id >= 0) stretch_of_[place(source_[place(id)])] = kStays;
  };
  for (std::size_t s = 0; s < stretches_.size(); ++s) {
    for (int c = stretches_[s].first; c < stretches_[s].last; ++c)
      stretch_of_[place(source_[place(p.calls[place(c)].out)])] = static_cast<int>(s);
  }
  std::vector<bool> in_layer(p.tensors.size());
  for (std::size_t id = 0; id < p.tensors.size(); ++id) in_layer[id] = stretch_of_[id] != kStays;
  const int whole = shown < 0 ? kStays : stretch_of_[place(source_[place(shown)])];
  for (std::size_t id = 0; id < p.tensors.size(); ++id) {
    const bool is_whole = whole != kStays && stretch_of_[id] == whole;
    const Role role = p.tensors[id].role;
    const bool shown_everywhere =
        role == Role::kPattern || role == Role::kResidual || role == Role::kSublayerOutput;
    if (shown_everywhere || is_whole) stay(static_cast<TensorId>(id));
  }
  for (const TensorId id : p.remembered) stay(id);
  for (const TensorId id : {p.logits, p.probabilities, p.token_logits, p.loss}) stay(id);
  // What other layers read.
  std::size_t stretch = 0;
  for (std::size_t c = 0; c < p.calls.size(); ++c) {
    while (stretch < stretches_.size() && static_cast<int>(c) >= stretches_[stretch].last)
      ++stretch;
    const bool inside =
        stretch < stretches_.size() && static_cast<int>(c) >= stretches_[stretch].first;
    for (const TensorId in : p.calls[c].in) {
      const bool same =
          inside && stretch_of_[place(source_[place(in)])] == static_cast<int>(stretch);
      if (!same) stay(in);
    }
  }
  // What is made row by row, and read as a whole.
  by_rows_ = calls_by_rows(
      p, [&](TensorId id) { return stretch_of_[place(source_[place(id)])] == kStays; });
  const std::vector<bool> read_whole = rows_read_whole(p, by_rows_);
  for (std::size_t id = 0; id < p.tensors.size(); ++id)
    if (read_whole[id]) stay(static_cast<TensorId>(id));
  for (std::size_t id = 0; id < p.tensors.size(); ++id)
    stretch_of_[id] = stretch_of_[place(source_[id])];

  for (std::size_t c = 0; c < p.calls.size(); ++c) {
    const TensorSpec& out = p.tensors[place(p.calls[c].out)];
    const bool in_order = row_axis(out) == 1 && !has_columns_of_tokens(out);
    grows_[place(p.calls[c].out)] = by_rows_[c] && in_order && !in_layer[place(p.calls[c].out)];
  }
  for (std::size_t id = 0; id < p.tensors.size(); ++id) {
    const TensorSpec& spec = p.tensors[id];
    in_memory_[id] = spec.kind == TensorKind::kInput || spec.kind == TensorKind::kActivation;
    if (!in_memory_[id]) continue;
    const int own = stretch_of_[id];
    const std::int64_t cells = cell_count(spec.axes);
    std::size_t& end = grows_[id] ? growing_ : own == kStays ? kept_ : stretches_[place(own)].cells;
    place_[id] = end;
    end += padded_cells(grows_[id] ? cells / p.shape.positions : cells);
  }
  for (const Stretch& s : stretches_) most_ = std::max(most_, s.cells);
}

void KeptTensors::lay_out(float* kept, GrowingRows& rows, float* shared,
                          std::span<float*> memory) const {
  for (std::size_t id = 0; id < place_.size(); ++id) {
    if (!in_memory_[id]) continue;
    if (grows_[id]) {
      memory[id] = rows.cells.data() + place_[id] * static_cast<std::size_t>(rows.capacity);
    } else {
      memory[id] = (stretch_of_[id] == kStays ? kept : shared) + place_[id];
    }
  }
}

void KeptTensors::lay_out(int stretch, float* own, std::span<float*> memory) const {
  for (std::size_t id = 0; id < place_.size(); ++id) {
    if (stretch_of_[id] == stretch) memory[id] = own + place_[place(source_[id])];
  }
}

std::vector<bool> KeptTensors::passing() const {
  std::vector<bool> passing(stretch_of_.size());
  for (std::size_t id = 0; id < passing.size(); ++id) passing[id] = stretch_of_[id] >= 0;
  return passing;
}

void KeptTensors::drop(std::span<float*> memory) const {
  for (std::size_t id = 0; id < place_.size(); ++id) {
    if (stretch_of_[id] != kStays) memory[id] = nullptr;
  }
}

namespace {

struct Floats {
  double kept = 0, layer = 0;
};

Floats floats_of(Config config, const RunShape& shape, int layers) {
  config.layers = layers;
  const KeptTensors kept(sketch_program(config, shape, false));
  const double rows = static_cast<double>(shape.positions);
  return {static_cast<double>(kept.kept_cells()) + rows * static_cast<double>(kept.growing_cells()),
          static_cast<double>(kept.most_cells())};
}

}  // namespace

double least_memory_needed(const Config& config, const RunShape& shape) {
  const ProgramCost cost = program_cost(config, shape);
  constexpr double kCountable = 1e15;  // more is no memory, and no number of cells
  if (cost.run_bytes() > kCountable) return cost.run_bytes();
  // Every layer is like the second, as in program_cost().
  const bool alike = config.layers > 2 && config.local_layers.empty();
  Floats all = floats_of(config, shape, alike ? 2 : config.layers);
  if (alike) all.kept += (config.layers - 2) * (all.kept - floats_of(config, shape, 1).kept);
  const double arena = sizeof(float) * (all.kept + 2 * all.layer);
  return cost.parameter_bytes() + std::min(arena, cost.arena_bytes());
}

}  // namespace headlight
