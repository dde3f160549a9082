#include "app/workers/timed_backend.h"

#include <algorithm>

#include "app/gl/compute/queue.h"
#include "app/workers/stopwatch.h"

namespace headlight {

TimedBackend::TimedBackend(Backend& backend, GlQueue* queue) : backend_(backend), queue_(queue) {
  if (queue_) queue_->set_timing(true);
}

TimedBackend::~TimedBackend() {
  if (queue_) queue_->set_timing(false);
}

bool TimedBackend::supports(const Program& program, const OpCall& call) const {
  return backend_.supports(program, call);
}

// `run` passes on some of the program's calls.
template <class Run>
void TimedBackend::measure(const Program& program, std::span<const OpCall> calls, const Run& run) {
  const auto place = [&](std::size_t i) {
    const auto found = std::find_if(program.calls.begin(), program.calls.end(),
                                    [&](const OpCall& c) { return c.out == calls[i].out; });
    return static_cast<int>(found - program.calls.begin());
  };
  if (!queue_) {
    for (std::size_t i = 0; i < calls.size(); ++i)
      times_.forward[place(i)] = milliseconds([&] { run(calls.subspan(i, 1)); });
    return;
  }
  run(calls);
  for (const GlTiming& t : queue_->take_timings())
    times_.forward[place(static_cast<std::size_t>(t.tag))] += t.nanoseconds * 1e-6;
}

void TimedBackend::run(const Program& program, std::span<const OpCall> calls,
                       std::span<float* const> memory) {
  const bool begins =
      !calls.empty() && !program.calls.empty() && calls[0].out == program.calls[0].out;
  if (begins) times_ = {};
  measure(program, calls,
          [&](std::span<const OpCall> some) { backend_.run(program, some, memory); });
}

void TimedBackend::run_more(const Program& program, std::span<const OpCall> calls,
                            std::span<float* const> memory) {
  measure(program, calls,
          [&](std::span<const OpCall> some) { backend_.run_more(program, some, memory); });
}

void TimedBackend::run_backward(const Program& program, std::span<const BackwardCall> calls,
                                std::span<float* const> memory, std::span<float* const> gradients) {
  if (!queue_) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      times_.backward[calls[i].call] = milliseconds(
          [&] { backend_.run_backward(program, calls.subspan(i, 1), memory, gradients); });
    }
    return;
  }
  backend_.run_backward(program, calls, memory, gradients);
  for (const GlTiming& t : queue_->take_timings())
    times_.backward[calls[static_cast<std::size_t>(t.tag)].call] += t.nanoseconds * 1e-6;
}

}  // namespace headlight
