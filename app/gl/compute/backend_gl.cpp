#include "app/gl/compute/backend_gl.h"

#include <algorithm>
#include <map>
#include <thread>

#include "app/gl/context/embedded.h"
#include "core/base/error.h"
#include "core/base/random.h"

namespace headlight {
namespace {

std::int64_t cells_of(const Program& program, TensorId id) {
  return cell_count(program.tensors[place(id)].axes);
}

GlDevice capable_device(const GlCalls& gl, const std::optional<GlLimits>& limits) {
  GlDevice device = GlDevice::ask(gl);
  if (limits) device.limits = *limits;
  const Message problem = device.problem();
  if (!problem.empty()) throw Error(problem);
  return device;
}

// Whose tensors lie in the buffers: the program and its shapes.
std::uint64_t signature_of(const Program& program) {
  auto hash = reinterpret_cast<std::uintptr_t>(&program) + program.calls.size();
  for (const TensorSpec& spec : program.tensors) {
    hash = scatter(hash ^ static_cast<std::uint64_t>(cell_count(spec.axes)));
  }
  return hash;
}

}  // namespace

GlBackend::GlBackend(GlBackendOptions options)
    : gl_(options.calls ? *options.calls : real_gl()),
      guard_cells_(options.guard_cells),
      fuses_(options.fuses),
      device_(capable_device(gl_, options.limits)),
      tuned_(options.table ? TunedTable{options.table, {}}
                           : read_tuned(options.tuned_folder, device_)),
      table_(tuned_.table ? *tuned_.table : KernelTable::of(device_)),
      programs_(gl_, device_, table_, options.texts ? options.texts : GlTexts(embedded_file),
                options.program_folder),
      queue_(gl_, device_),
      launcher_(gl_, programs_, queue_),
      ops_(device_.limits, table_, launcher_),
      attention_(device_.limits, table_, launcher_),
      updates_(gl_, device_.limits, table_, programs_, queue_),
      own_(gl_, options.guard_cells),
      elsewhere_(make_cpu_backend(options.threads)),
      spot_checks_(gl_, options.spot_checks),
      here_(std::make_shared<GlBackend*>(this)) {}

std::unique_ptr<GlBackend> make_gl_backend(GlBackendOptions options) {
  return std::make_unique<GlBackend>(std::move(options));
}

bool GlBackend::supports(const Program& program, const OpCall& call) const {
  return ops_.fits(GlOpCall(program, call));
}

void GlBackend::begin(const Program& program) {
  at_->tensors.begin(program.tensors.size(), signature_of(program));
  if (at_->fusion) at_->statistics.begin(program.tensors.size(), signature_of(program));
}

// What passes and lies at the same place in memory shares a buffer, too.
void GlBackend::share_slots(const Program& program, std::span<float* const> memory) {
  std::vector<std::size_t>& slots = at_->passing_slots;
  slots.clear();
  if (passing_.empty()) return;
  std::map<const float*, std::size_t> lowest;
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    slots.push_back(passes(id) ? lowest.try_emplace(memory[id], id).first->second : id);
    if (slots[id] != id) at_->tensors.release(id);
  }
}

std::size_t GlBackend::slot_of(const Program& program, TensorId id) const {
  const std::size_t source = place(program.resolve(id));
  return source < at_->passing_slots.size() ? at_->passing_slots[source] : source;
}

unsigned GlBackend::read(const Program& program, TensorId id, std::span<float* const> memory) {
  const std::size_t slot = slot_of(program, id);
  const auto constant = slot < constants_.size() ? constants_[slot].lock() : nullptr;
  const bool lies_there = constant && constant->data.data() == memory[slot];
  return at_->tensors.to_read(slot, memory[slot], cells_of(program, id), 0,
                              lies_there ? constant : nullptr);
}

void GlBackend::set_constants(std::span<const std::shared_ptr<const Tensor>> tensors) {
  constants_.assign(tensors.begin(), tensors.end());
}

// ---- forward ----

void GlBackend::run(const Program& program, std::span<const OpCall> calls,
                    std::span<float* const> memory) {
  begin(program);
  share_slots(program, memory);
  run_more(program, calls, memory);
}

void GlBackend::run_more(const Program& program, std::span<const OpCall> calls,
                         std::span<float* const> memory) {
  const int checked = spot_checks_.choose(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    queue_.set_tag(static_cast<int>(i));
    const GlOpCall c(program, calls[i]);
    if (run_fused(program, calls[i], memory)) {
    } else if (ops_.fits(c)) {
      run_call(program, c, memory);
    } else {
      run_elsewhere(program, calls[i], memory);
      continue;
    }
    if (static_cast<int>(i) == checked) check_forward(program, calls[i], memory);
  }
  if (fetching_) fetch_all(memory);
  gl_.use_program(0);
  check_device(gl_, "glGetBufferSubData");
}

void GlBackend::run_call(const Program& program, const GlOpCall& shapes,
                         std::span<float* const> memory) {
  GlOpCall c = shapes;
  for (std::size_t i = 0; i < c.inputs; ++i) c.in[i] = read(program, c.call.in[i], memory);
  c.out = at_->tensors.to_write(slot_of(program, c.call.out), c.cells());
  ops_.forward(c);
}

// Its inputs go to memory first; what it makes is copied to the device when a kernel reads it.
void GlBackend::run_elsewhere(const Program& program, const OpCall& call,
                              std::span<float* const> memory) {
  remember(program, call);
  for (const TensorId id : call.in) fetch(program, id, memory);
  elsewhere_->run(program, {&call, 1}, memory);
  at_->tensors.forget(slot_of(program, call.out));
}

void GlBackend::remember(const Program& program, const OpCall& call) {
  std::string shape = shape_text(program.tensors[place(call.out)].axes);
  for (const GlFallback& known : fallbacks_) {
    if (known.op == call.op && known.shape == shape) return;
  }
  fallbacks_.push_back({call.op, std::move(shape)});
}

void GlBackend::fetch(const Program& program, TensorId id, std::span<float* const> memory) {
  const std::size_t slot = slot_of(program, id);
  if (at_->tensors.is_newer(slot)) at_->tensors.fetch(slot, memory[slot]);
}

void GlBackend::fetch_all(std::span<float* const> memory) {
  for (const std::size_t slot : at_->tensors.newer_slots()) {
    if (!passes(slot)) at_->tensors.fetch(slot, memory[slot]);
  }
}

unsigned GlBackend::buffer(const Program& program, TensorId id) const {
  return at_->tensors.buffer(slot_of(program, id));
}

RunsAgain GlBackend::runs_again() {
  return
      [there = std::weak_ptr(here_), thread = std::this_thread::get_id()](
          const Program& program, std::span<const OpCall> calls, std::span<float* const> memory) {
        if (std::this_thread::get_id() != thread) return false;
        const auto here = there.lock();  // which only this thread ends
        return here && (*here)->run_again(program, calls, memory);
      };
}

// In buffers of its own, for those of the run are being shown.
bool GlBackend::run_again(const Program& program, std::span<const OpCall> calls,
                          std::span<float* const> memory) {
  GlStorage storage(gl_, guard_cells_);
  // Whatever is thrown, the next run has the storage of before.
  struct Restored {
    GlBackend& gl;
    GlStorage* at = gl.at_;
    bool fetching = gl.fetching_;
    double share = gl.spot_checks_.share();
    ~Restored() {
      gl.at_ = at;
      gl.fetching_ = fetching;
      gl.spot_checks_.set_share(share);
    }
  } restored{*this};
  at_ = &storage;
  fetching_ = true;
  spot_checks_.set_share(0);
  try {
    run(program, calls, memory);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// ---- backward ----

// Gradients that share a place in memory (both summands of a sum have the sum's; others take turns)
// share a buffer, which has room for the largest of them.
void GlBackend::begin_gradients(const Program& program, std::span<float* const> gradients) {
  const std::size_t count = program.tensors.size();
  at_->gradient_slots.resize(count);
  at_->gradient_rooms.assign(count, 0);
  at_->gradient_order.resize(count);
  for (std::size_t id = 0; id < count; ++id) at_->gradient_order[id] = id;
  std::sort(
      at_->gradient_order.begin(), at_->gradient_order.end(), [&](std::size_t a, std::size_t b) {
        return gradients[a] != gradients[b] ? std::less<>()(gradients[a], gradients[b]) : a < b;
      });
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t id = at_->gradient_order[i], before = i > 0 ? at_->gradient_order[i - 1] : id;
    const bool shared = i > 0 && gradients[id] == gradients[before];
    const std::size_t slot = shared ? at_->gradient_slots[before] : id;
    at_->gradient_slots[id] = slot;
    at_->gradient_rooms[slot] =
        std::max(at_->gradient_rooms[slot], cells_of(program, static_cast<TensorId>(id)));
  }
  at_->gradients.begin(count, scatter(signature_of(program)));
}

void GlBackend::run_backward(const Program& program, std::span<const BackwardCall> calls,
                             std::span<float* const> memory, std::span<float* const> gradients) {
  begin(program);
  begin_gradients(program, gradients);
  const int checked = spot_checks_.choose(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    queue_.set_tag(static_cast<int>(i));
    const auto check = static_cast<int>(i) == checked
                           ? begin_check(program, calls.subspan(i), memory, gradients)
                           : nullptr;
    GlOpCall c(program, program.calls[static_cast<std::size_t>(calls[i].call)]);
    if (run_fused_backward(program, calls.subspan(i), memory, gradients)) {
    } else if (ops_.fits(c)) {
      run_call_backward(program, calls[i], c, memory, gradients);
    } else {
      run_elsewhere_backward(program, calls[i], memory, gradients);
    }
    if (check) end_check(*check, gradients);
  }
  if (fetching_) fetch_all_gradients(gradients);
  gl_.use_program(0);
  check_device(gl_, "glGetBufferSubData");
}

void GlBackend::run_call_backward(const Program& program, const BackwardCall& step, GlOpCall& c,
                                  std::span<float* const> memory,
                                  std::span<float* const> gradients) {
  const GlReads reads = backward_reads(c.call.op);
  for (std::size_t i = 0; i < c.inputs; ++i) {
    if (reads.in[i]) c.in[i] = read(program, c.call.in[i], memory);
  }
  if (reads.out) c.out = read(program, c.call.out, memory);
  const auto slot = [&](TensorId id) { return at_->gradient_slots[place(id)]; };
  const auto room = [&](TensorId id) { return at_->gradient_rooms[slot(id)]; };
  GlOpGradients d;
  d.d_out = at_->gradients.to_read(slot(c.call.out), gradients[place(c.call.out)], c.cells(),
                                   room(c.call.out));
  for (std::size_t i = 0; i < c.inputs; ++i) {
    const TensorId id = c.call.in[i];
    const std::int64_t cells = cell_count(c.axes[i]);
    d.adds[i] = step.uses[i] == GradientUse::kAdded;
    if (step.uses[i] == GradientUse::kWritten) {
      d.d_in[i] = at_->gradients.to_write(slot(id), cells, room(id));
    } else if (d.adds[i]) {
      d.d_in[i] = at_->gradients.to_add(slot(id), gradients[place(id)], cells, room(id));
    }
  }
  ops_.backward(c, d);
}

void GlBackend::run_elsewhere_backward(const Program& program, const BackwardCall& step,
                                       std::span<float* const> memory,
                                       std::span<float* const> gradients) {
  const OpCall& call = program.calls[static_cast<std::size_t>(step.call)];
  remember(program, call);
  for (const TensorId id : call.in) fetch(program, id, memory);
  fetch(program, call.out, memory);
  fetch_gradient(call.out, gradients);
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    if (step.uses[i] == GradientUse::kAdded) fetch_gradient(call.in[i], gradients);
  }
  elsewhere_->run_backward(program, {&step, 1}, memory, gradients);
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    if (step.uses[i] != GradientUse::kNone)
      at_->gradients.forget(at_->gradient_slots[place(call.in[i])]);
  }
}

void GlBackend::fetch_gradient(TensorId id, std::span<float* const> gradients) {
  if (place(id) >= at_->gradient_slots.size()) return;
  const std::size_t slot = at_->gradient_slots[place(id)];
  if (at_->gradients.is_newer(slot)) at_->gradients.fetch(slot, gradients[place(id)]);
}

void GlBackend::fetch_all_gradients(std::span<float* const> gradients) {
  for (const std::size_t slot : at_->gradients.newer_slots()) {
    at_->gradients.fetch(slot, gradients[slot]);
  }
}

}  // namespace headlight
