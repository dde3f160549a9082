#include "core/run/written_row.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "core/graph/program_memory.h"
#include "core/run/large/grown_run.h"
#include "core/run/model_input.h"
#include "core/run/run_trace.h"

namespace headlight {
namespace {

// Runs an encoder-decoder for a row that grows. After its first run only what is new is computed:
// what depends on the source alone, and the keys and values of the row so far, are kept.
class GrowingRow {
 public:
  GrowingRow(const Model& model, const Config& config, const RunInput& input,
             ParameterSource& weights, Backend& backend)
      : config_(config), input_(input), weights_(weights), backend_(backend) {
    shape_ = shape_of(model.file);
    shape_.source = std::ssize(input.source_ids);
    shape_.padded = pads_source(config);
  }

  // The logits behind this row, which goes on with that of the call before; valid until the next.
  std::span<const float> logits(const std::vector<int>& ids) {
    const std::int64_t kept = shape_.positions;
    shape_.positions = std::ssize(ids);
    auto program = std::make_shared<const Program>(build_program(config_, shape_));
    const RunInput input = input_of(ids);
    if (!first_ || !backend_.runs_parts() || !is_like_first(*program)) {
      run_first(std::move(program), input);
      return first_->tensor(before_->logits).cells().last(place(shape_.vocab));
    }
    choose_calls(*program);
    std::vector<float*> memory = lay_out(*program, kept);
    use_weights(*program, input, memory);
    share_aliases(*program, memory);
    fill_inputs(*program, ids, input.source_ids, memory);
    backend_.set_constants(parameters_);
    const auto from = [&](TensorId id) { return memory_[place(id)]; };
    take_first_rows(*before_, from, kept, *program, memory, behind_);
    run_grown(*program, memory, kept, backend_, behind_);
    before_ = std::move(program);
    memory_ = std::move(memory);
    const auto made = place(before_->producer(before_->logits));
    const std::int64_t last = rows_made(*before_, made, kept) - 1;
    return {memory_[place(before_->logits)] + last * shape_.vocab, place(shape_.vocab)};
  }

 private:
  using Makes = RowsBehind::Makes;

  RunInput input_of(const std::vector<int>& ids) const {
    RunInput input;
    input.ids = ids;
    input.tokens.resize(ids.size());  // nobody reads their names
    input.source_ids = input_.source_ids;
    input.source_tokens.resize(input_.source_ids.size());
    return input;
  }

  void run_first(std::shared_ptr<const Program> program, const RunInput& input) {
    before_ = program;
    first_ = run_trace(std::move(program), input, weights_, backend_);
    memory_.assign(before_->tensors.size(), nullptr);
    for (const OpCall& call : before_->calls)
      memory_[place(call.out)] = const_cast<float*>(first_->tensor(call.out).data);  // only read
  }

  bool is_like_first(const Program& program) const {
    const Program& first = first_->program();
    return program.tensors.size() == first.tensors.size() &&
           program.calls.size() == first.calls.size();
  }

  // Where a call reads nothing but weights, the source and what was made of them, and what it makes
  // has a size that the row has no part in, it makes what it made in the first run. Behind the
  // logits nothing is asked for.
  void choose_calls(const Program& p) {
    behind_ = RowsBehind::of_rows_read_whole(p);
    known_.assign(p.tensors.size(), false);
    for (std::size_t id = 0; id < p.tensors.size(); ++id)
      known_[id] = p.tensors[id].kind == TensorKind::kParameter;
    for (const TensorId id : {p.source_ids, p.source_mask})
      if (id >= 0) known_[place(id)] = true;
    const auto is_known = [&](TensorId id) { return known_[place(p.resolve(id))]; };
    const std::size_t last = place(p.producer(p.logits));
    for (std::size_t c = 0; c < p.calls.size(); ++c) {
      const std::size_t out = place(p.calls[c].out);
      known_[out] = std::ranges::all_of(p.calls[c].in, is_known) &&
                    p.tensors[out].axes == first_->program().tensors[out].axes;
      if (known_[out] || c > last) behind_.calls[c] = Makes::kNothing;
    }
  }

  bool keeps(const Program& p, std::size_t call) const {
    return behind_.calls[call] == Makes::kLast && behind_.keeps[place(p.calls[call].out)];
  }
  std::int64_t rows_made(const Program& p, std::size_t call, std::int64_t kept) const {
    const bool all = behind_.calls[call] == Makes::kAll || keeps(p, call);
    return all ? p.shape.positions : p.shape.positions - kept;
  }

  // What is known lies in the first run, rows that are kept beside those of the run before, and the
  // rest where that of the run before lay.
  std::vector<float*> lay_out(const Program& p, std::int64_t kept) {
    std::vector<float*> memory(p.tensors.size(), nullptr);
    std::swap(rows_, rows_before_);
    struct Wanted {
      std::size_t id, cells;
    };
    std::vector<Wanted> passing, rows;
    for (std::size_t id = 0; id < p.tensors.size(); ++id) {
      if (p.tensors[id].kind == TensorKind::kInput)
        passing.push_back({id, padded_cells(cell_count(p.tensors[id].axes))});
    }
    for (std::size_t c = 0; c < p.calls.size(); ++c) {
      const std::size_t out = place(p.calls[c].out);
      if (known_[out])
        memory[out] = const_cast<float*>(first_->tensor(p.calls[c].out).data);  // only read
      if (behind_.calls[c] == Makes::kNothing) continue;
      std::int64_t cells = cell_count(p.tensors[out].axes);
      if (rows_made(p, c, kept) < p.shape.positions)
        cells = cells / p.shape.positions * rows_made(p, c, kept);
      (keeps(p, c) ? rows : passing).push_back({out, padded_cells(cells)});
    }
    const auto put = [&](const std::vector<Wanted>& tensors, FloatBuffer& buffer) {
      std::size_t cells = 0;
      for (const Wanted& each : tensors) cells += each.cells;
      if (buffer.size() < cells) {
        buffer = FloatBuffer();  // give the old memory back before asking for the new
        buffer.resize(cells + cells / 4);
      }
      float* next = buffer.data();
      for (const Wanted& each : tensors) {
        memory[each.id] = next;
        next += each.cells;
      }
    };
    put(passing, passing_);
    put(rows, rows_);
    return memory;
  }

  void use_weights(const Program& p, const RunInput& input, std::span<float*> memory) {
    parameters_.assign(p.tensors.size(), nullptr);
    for (std::size_t id = 0; id < p.tensors.size(); ++id) {
      if (p.tensors[id].kind != TensorKind::kParameter) continue;
      parameters_[id] = weights_.parameter(p.tensors[id], input);
      // Backends only write the outputs of calls, and no call writes a parameter.
      memory[id] = const_cast<float*>(parameters_[id]->data.data());
    }
  }

  const Config& config_;
  const RunInput& input_;
  ParameterSource& weights_;
  Backend& backend_;
  RunShape shape_;
  std::shared_ptr<const Trace> first_;
  std::shared_ptr<const Program> before_;  // the last one that was run
  std::vector<float*> memory_;             // where its tensors lie
  std::vector<std::shared_ptr<const Tensor>> parameters_;
  RowsBehind behind_;
  std::vector<bool> known_;  // by source: of the weights and what the encoder reads alone
  FloatBuffer passing_, rows_, rows_before_;
};

}  // namespace

std::vector<int> written_row(const Model& model, const Config& config, const RunInput& input,
                             std::int64_t most,
                             const std::function<int(std::span<const float>)>& choose,
                             ParameterSource& weights, Backend& backend,
                             const ProgressFunction& progress) {
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
    if (ends_row(model, id)) break;
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
