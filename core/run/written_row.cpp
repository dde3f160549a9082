#include "core/run/written_row.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "core/graph/program_memory.h"
#include "core/run/model_input.h"
#include "core/run/run_trace.h"

namespace headlight {
namespace {

// Runs an encoder-decoder for rows that grow: what depends on the source alone is computed once.
class GrowingRow {
 public:
  GrowingRow(const Model& model, const Config& config, const RunInput& input,
             ParameterSource& weights, Backend& backend)
      : config_(config), input_(input), weights_(weights), backend_(backend) {
    shape_ = shape_of(model.file);
    shape_.source = static_cast<std::int64_t>(input.source_ids.size());
    shape_.padded = pads_source(config);
  }

  // The logits behind this row, valid until the next call.
  std::span<const float> logits(const std::vector<int>& ids) {
    shape_.positions = static_cast<std::int64_t>(ids.size());
    auto program = std::make_shared<const Program>(build_program(config_, shape_));
    const auto vocab = static_cast<std::size_t>(shape_.vocab);
    if (!first_ || !backend_.runs_parts() || !is_like_first(*program)) {
      first_ = run_trace(std::move(program), input_of(ids), weights_, backend_);
      return first_->tensor(first_->program().logits).cells().last(vocab);
    }
    prepare(*program, ids);
    backend_.run(*program, calls_, memory_);
    const float* all = memory_[static_cast<std::size_t>(program->logits)];
    return {all + (ids.size() - 1) * vocab, vocab};
  }

 private:
  RunInput input_of(const std::vector<int>& ids) const {
    RunInput input;
    input.ids = ids;
    input.tokens.resize(ids.size());  // nobody reads their names
    input.source_ids = input_.source_ids;
    input.source_tokens.resize(input_.source_ids.size());
    return input;
  }

  bool is_like_first(const Program& program) const {
    const Program& first = first_->program();
    return program.tensors.size() == first.tensors.size() &&
           program.calls.size() == first.calls.size();
  }

  // Lays out the run's memory, of what the source alone makes that of the first run, and lists the
  // calls that are left.
  void prepare(const Program& program, const std::vector<int>& ids) {
    const std::size_t cells = arena_cells(program);
    if (arena_.size() < cells) {
      arena_ = FloatBuffer();
      arena_.resize(cells + cells / 4);
    }
    memory_.assign(program.tensors.size(), nullptr);
    parameters_.assign(program.tensors.size(), nullptr);
    lay_out(program, arena_.data(), memory_);
    known_.assign(program.tensors.size(), false);
    for (const TensorId id : {program.source_ids, program.source_mask})
      if (id >= 0) known_[static_cast<std::size_t>(id)] = true;
    const RunInput input = input_of(ids);
    for (std::size_t id = 0; id < program.tensors.size(); ++id) {
      if (program.tensors[id].kind != TensorKind::kParameter) continue;
      known_[id] = true;
      parameters_[id] = weights_.parameter(program.tensors[id], input);
      // Backends only write the outputs of calls, and no call writes a parameter.
      memory_[id] = const_cast<float*>(parameters_[id]->data.data());
    }
    calls_.clear();
    for (const OpCall& call : program.calls) {
      if (take_from_first(program, call)) continue;
      calls_.push_back(call);
    }
    share_aliases(program, memory_);
    fill_inputs(program, ids, input.source_ids, memory_);
    backend_.set_constants(parameters_);
  }

  // Where a call reads nothing but weights, the source and what was made of them, and what it makes
  // has a size that the row has no part in, it makes what it made in the first run.
  bool take_from_first(const Program& program, const OpCall& call) {
    const auto source = [&](TensorId id) { return static_cast<std::size_t>(program.resolve(id)); };
    const std::size_t out = source(call.out);
    const bool same = std::ranges::all_of(call.in, [&](TensorId id) { return known_[source(id)]; });
    if (!same || program.tensors[out].axes != first_->program().tensors[out].axes) return false;
    known_[out] = true;
    const TensorView kept = first_->tensor(static_cast<TensorId>(out));
    memory_[out] = const_cast<float*>(kept.data);  // no call that is left writes it
    return true;
  }

  const Config& config_;
  const RunInput& input_;
  ParameterSource& weights_;
  Backend& backend_;
  RunShape shape_;
  std::shared_ptr<const Trace> first_;
  FloatBuffer arena_;
  std::vector<float*> memory_;
  std::vector<std::shared_ptr<const Tensor>> parameters_;
  std::vector<bool> known_;  // by source: of the weights and what the encoder reads alone
  std::vector<OpCall> calls_;
};

}  // namespace

std::vector<int> written_row(const Model& model, const Config& config, const RunInput& input,
                             std::int64_t most,
                             const std::function<int(std::span<const float>)>& choose,
                             ParameterSource& weights, Backend& backend,
                             const ProgressFunction& progress) {
  const std::optional<int> end = end_of(model);
  GrowingRow row(model, config, input, weights, backend);
  std::vector<int> ids = {begin_of(model)};
  std::vector<float> allowed;  // logits, without what the model never writes
  while (std::ssize(ids) < most) {
    if (ids.size() <= model.file.forced.size()) {
      ids.push_back(model.file.forced[ids.size() - 1]);
      continue;
    }
    tell(progress, "progress.run", static_cast<double>(ids.size()) / static_cast<double>(most));
    const std::span<const float> last = row.logits(ids);
    allowed.assign(last.begin(), last.end());
    for (const int never : model.file.never)
      allowed[static_cast<std::size_t>(never)] = -std::numeric_limits<float>::infinity();
    const int id = choose(allowed);
    if (id == end) break;
    ids.push_back(id);
  }
  return ids;
}

std::vector<int> greedy_row(const Model& model, const Config& config, const RunInput& input,
                            std::int64_t most, ParameterSource& weights, Backend& backend,
                            const ProgressFunction& progress) {
  const auto best = [](std::span<const float> logits) {
    return static_cast<int>(std::ranges::max_element(logits) - logits.begin());
  };
  return written_row(model, config, input, most, best, weights, backend, progress);
}

}  // namespace headlight
