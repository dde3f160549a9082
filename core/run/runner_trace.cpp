// What a run is made in: its program, the memory of its trace, and who computes which rows of it.
#include <algorithm>
#include <mutex>

#include "core/autodiff/gradient_program.h"
#include "core/graph/program_memory.h"
#include "core/run/large/grown_run.h"
#include "core/run/large/layers_again.h"
#include "core/run/runner.h"
#include "core/run/targets.h"

namespace headlight {

std::shared_ptr<const Program> Runner::program_for(const Config& config, const RunShape& shape,
                                                   bool gradients) {
  // The mask's details and the seed live outside the list of operations, but a trace shows its
  // config, so only an equal config may share a program.
  const bool same = program_ && program_->shape == shape && program_->config == config;
  if (same && gradients == (forward_ != nullptr)) return program_;
  forward_.reset();
  if (!gradients) {
    program_ = std::make_shared<const Program>(build_program(config, shape));
    return program_;
  }
  forward_ = std::make_shared<const Program>(build_training_program(config, shape));
  program_ = std::make_shared<const Program>(with_gradients(Backward(forward_)));
  return program_;
}

// What the last run asked is known: most keystrokes change neither config nor shape.
double Runner::memory_for(const Config& config, const RunShape& shape) {
  if (!(memory_shape_ == shape) || !(memory_config_ == config)) {
    memory_ = memory_needed(config, shape);
    memory_config_ = config;
    memory_shape_ = shape;
  }
  return memory_;
}

void Runner::check_memory(const Config& config, const RunShape& shape, const Backend& backend,
                          bool gradients, bool is_sandbox) {
  const RunKeeps keeps = gradients             ? RunKeeps::kGradients
                         : backend.lets_pass() ? RunKeeps::kLeast
                                               : RunKeeps::kAll;
  if (memory_for(config, shape) * (gradients ? 2 : 1) <= limits_.memory_bytes) return;
  const Message refused = memory_refusal(config, shape, limits_.memory_bytes, keeps, is_sandbox);
  if (!refused.empty()) throw Error(refused);
}

// Is it a run that does not keep all of its layers?
bool Runner::drops_layers(const Program& program, const Backend& backend, bool gradients) {
  if (gradients || !backend.lets_pass()) return false;
  const double bytes = sizeof(float) * static_cast<double>(arena_cells(program));
  return bytes > limits_.keep_all_to ||
         memory_for(program.config, program.shape) > limits_.memory_bytes;
}

// Traces that nobody looks at any more give their memory to the next runs. Whoever lets go of one
// last, on whatever thread, hands it back: a count of owners that is read here would say nothing of
// what another thread still does.
struct Runner::TracePool {
  std::mutex mutex;
  std::vector<std::unique_ptr<Trace>> free;
  std::vector<std::unique_ptr<GrowingRows>> free_rows;

  // Lets go of rows that have room for much more than so many cells.
  void let_rows_go(std::size_t cells) {
    const std::lock_guard lock(mutex);
    std::erase_if(free_rows, [&](const auto& rows) { return rows->cells.size() > 4 * cells; });
  }
  // Some that have room for so many cells; none: there are none.
  std::unique_ptr<GrowingRows> take_rows(std::size_t cells) {
    const std::lock_guard lock(mutex);
    for (std::unique_ptr<GrowingRows>& rows : free_rows) {
      if (rows->cells.size() < cells) continue;
      rows.swap(free_rows.back());
      std::unique_ptr<GrowingRows> found = std::move(free_rows.back());
      free_rows.pop_back();
      return found;
    }
    return nullptr;
  }
  void give_back(std::unique_ptr<GrowingRows> rows) {
    constexpr std::size_t kMostFree = 2;
    const std::lock_guard lock(mutex);
    if (free_rows.size() == kMostFree) free_rows.front().swap(rows);
    if (free_rows.size() < kMostFree) free_rows.push_back(std::move(rows));
  }

  std::unique_ptr<Trace> take() {
    const std::lock_guard lock(mutex);
    if (free.empty()) return std::make_unique<Trace>();
    std::unique_ptr<Trace> trace = std::move(free.back());
    free.pop_back();
    return trace;
  }
  void give_back(std::unique_ptr<Trace> trace) {
    constexpr std::size_t kMostFree = 2;
    const std::lock_guard lock(mutex);
    if (free.size() == kMostFree) free.front().swap(trace);  // that one's memory goes
    if (free.size() < kMostFree) free.push_back(std::move(trace));
  }
};

Runner::Runner(RunLimits limits) : limits_(limits), pool_(std::make_shared<TracePool>()) {}

// Where the rows behind `taken` may be written: behind those of the run before, as long as nobody
// has others there. Who goes on once will go on again: there is room for a quarter more.
std::shared_ptr<GrowingRows> Runner::rows_for(const KeptTensors& kept, std::int64_t positions,
                                              std::int64_t taken) {
  const std::shared_ptr<GrowingRows> last = last_ ? last_->rows_ : nullptr;
  if (taken > 0 && last && last->written <= taken && last->capacity >= positions) return last;
  const std::int64_t room = taken > 0 ? std::max<std::int64_t>(64, positions / 4) : 0;
  const std::int64_t capacity = positions + room;
  const std::size_t cells = kept.growing_cells() * static_cast<std::size_t>(capacity);
  pool_->let_rows_go(cells);
  std::unique_ptr<GrowingRows> rows = pool_->take_rows(cells);
  if (!rows) {
    rows = std::make_unique<GrowingRows>();
    rows->cells.resize(cells);
  }
  rows->capacity = capacity;
  rows->written = 0;
  return {rows.release(), [pool = std::weak_ptr(pool_)](GrowingRows* used) {
            std::unique_ptr<GrowingRows> own(used);
            if (const auto still_there = pool.lock()) still_there->give_back(std::move(own));
          }};
}

// A row that grows will soon need more: its memory has room for a quarter more, so that not every
// token takes new memory from the system, which costs more than the token.
std::shared_ptr<Trace> Runner::blank_trace(const std::shared_ptr<const Program>& program,
                                           std::int64_t taken, Backend* drops) {
  std::optional<KeptTensors> kept;
  if (drops) kept.emplace(*program, shown_.empty() ? -1 : program->find(shown_));
  const std::size_t cells = kept ? kept->kept_cells() : arena_cells(*program);
  const auto hand_back = [pool = std::weak_ptr(pool_)](Trace* used) {
    std::unique_ptr<Trace> trace(used);
    trace->again_.reset();  // nobody looks any more
    trace->rows_.reset();
    if (const auto still_there = pool.lock()) still_there->give_back(std::move(trace));
  };
  const std::shared_ptr<Trace> trace(pool_->take().release(), hand_back);
  const auto make_room = [&](FloatBuffer& buffer, std::size_t needed) {
    if (buffer.size() >= needed && buffer.size() <= 4 * needed) return;
    buffer = FloatBuffer();  // give the old memory back before asking for the new
    buffer.resize(needed + (taken > 0 ? needed / 4 : 0));
  };
  make_room(trace->arena_, cells);
  make_room(trace->shared_, kept ? kept->most_cells() : 0);
  trace->program_ = program;
  trace->memory_.assign(program->tensors.size(), nullptr);
  trace->ranges_ = {};
  trace->anomalies_.clear();
  trace->parameters_.assign(program->tensors.size(), nullptr);
  if (kept) {
    trace->rows_ = rows_for(*kept, program->shape.positions, taken);
    kept->lay_out(trace->arena_.data(), *trace->rows_, trace->shared_.data(), trace->memory_);
    if (!layer_runner_ || layer_runner_->backend() != drops->name() || layer_runner_->on_device())
      layer_runner_ =
          std::make_shared<LayerRunner>(std::string(drops->name()), drops->runs_again());
    trace->again_ = std::make_shared<LayersAgain>(program, std::move(*kept), layer_runner_);
  } else {
    pool_->let_rows_go(0);
    lay_out(*program, trace->arena_.data(), trace->memory_);
  }
  if (!forward_) {
    trace->backward_.reset();
  } else if (!trace->backward_ || &trace->backward_->program() != forward_.get()) {
    trace->backward_ = std::make_shared<Backward>(forward_);
  }
  return trace;
}

// Somebody who waits hears how far a long run is, and can stop it.
void Runner::run_calls(const Program& program, std::span<float* const> memory,
                       Backend& backend) const {
  if (!progress_ || !backend.goes_on()) return backend.run(program, program.calls, memory);
  constexpr double kLeast = 3e8;  // operations from one word to the next: about a millisecond
  const std::span<const OpCall> calls = program.calls;
  double all = 0, done = 0, slice = 0;
  for (const OpCall& call : calls) all += call_flops(program, call);
  for (std::size_t begin = 0, end = 0; begin < calls.size(); begin = end) {
    const double share = done / std::max(all, 1.0);
    tell(progress_, "progress.run", done_share_ + (1 - done_share_) * share);
    for (slice = 0; end < calls.size() && slice < std::max(kLeast, all / 50); ++end)
      slice += call_flops(program, calls[end]);
    const std::span<const OpCall> part = calls.subspan(begin, end - begin);
    begin == 0 ? backend.run(program, part, memory) : backend.run_more(program, part, memory);
    done += slice;
  }
}

// Is it a run whose rows the next one may take?
bool Runner::grows(const Program& program) const {
  return program.config.form == ModelForm::kTokens && row_work(program) >= limits_.grow_from &&
         looks_back_only(program);
}

// How many first tokens are those of the last run, whose rows are then the same. One at least is
// computed.
std::int64_t Runner::rows_to_take(const Program& program, const RunInput& input, const Model* model,
                                  const Backend& backend) const {
  if (!last_ || !model || last_model_.get() != model || !backend.runs_parts()) return 0;
  const Program& before = last_->program();
  RunShape shape = program.shape;
  shape.positions = before.shape.positions;
  const bool same = last_->backend() == backend.name() && before.config == program.config &&
                    before.shape == shape && before.calls.size() == program.calls.size();
  if (!same || !grows(program)) return 0;
  const std::vector<int>& ids = last_->input().ids;
  const auto shared = std::ranges::mismatch(input.ids, ids).in1 - input.ids.begin();
  return std::min<std::int64_t>(shared, std::ssize(input.ids) - 1);
}

// From the loss of what the run should have said to every tensor that had a part in it.
void Runner::backpropagate(Trace& trace, const Model* model, const RunInput& input,
                           const Document& doc, Backend& backend) {
  const Program& program = *trace.program_;
  aim(program, model, input, doc.targets, trace.memory_);
  // What asks for the targets, and what follows from it.
  const auto first = std::ranges::find_if(program.calls, [&](const OpCall& call) {
    return std::ranges::find(call.in, program.targets) != call.in.end();
  });
  backend.run(program, std::span(first, program.calls.end()), trace.memory_);
  Backward& pass = *trace.backward_;
  pass.seed_loss(trace.memory_, counted_targets(program, trace.memory_));
  pass.run(backend, trace.memory_);
  for (std::size_t id = 0; id < program.gradients.size(); ++id) {
    const TensorId own = program.gradients[id];
    if (own >= 0) trace.memory_[static_cast<std::size_t>(own)] = pass.gradients()[id];
  }
}

}  // namespace headlight
