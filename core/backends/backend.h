// Backend: runs operations over memory. The reference one is slow and plain; the others must agree
// with it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/fusion.h"
#include "core/graph/program.h"

namespace headlight {

/// What a backward pass does with the gradient of an input: nothing; writes it, because nothing
/// has reached it before; or adds to it.
enum class GradientUse : std::uint8_t { kNone, kWritten, kAdded };

/// One call of a backward pass.
struct BackwardCall {
  int call = -1;                         // its place in Program::calls
  std::array<GradientUse, 4> uses = {};  // one for each input
};

/// Runs calls of a run that has ended once more, as Backend::run() does; false: it could not.
using RunsAgain =
    std::function<bool(const Program&, std::span<const OpCall>, std::span<float* const> memory)>;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// Can this call be run, shapes and device limits included?
  virtual bool supports(const Program&, const OpCall&) const = 0;
  /// Runs the calls in order. `memory[id]` is where tensor `id` lives (aliases share); every input
  /// of a call is written before the call. Allocates nothing when run again with the same shapes.
  virtual void run(const Program&, std::span<const OpCall>, std::span<float* const> memory) = 0;
  /// May `memory` begin within tensors, and a program's calls come in several runs that another
  /// program's calls lie between?
  virtual bool runs_parts() const { return false; }
  /// Does it take set_passing()?
  virtual bool lets_pass() const { return runs_parts(); }
  /// Of the runs to come, by TensorId: tensors whose numbers nobody asks for when a run has ended.
  /// Those that are not needed at the same time lie in the same memory. Empty: there are none.
  virtual void set_passing(const std::vector<bool>&) {}
  /// Does a backward pass follow the runs to come? Without one, nothing need be kept for it that
  /// takes time. As long as nobody says anything: yes.
  virtual void set_backward_follows(bool) {}
  /// What runs calls again for whoever looks at tensors that have passed, as long as the backend
  /// is there, and on its own thread; null: another backend of the same name will do as well.
  virtual RunsAgain runs_again() { return nullptr; }
  /// May a program's calls come one after the other in several runs, the first by run() and the
  /// others by run_more(), so that who waits hears of it in between?
  virtual bool goes_on() const { return runs_parts(); }
  /// More calls of the program that ran last, whose masks are as they were then.
  virtual void run_more(const Program& program, std::span<const OpCall> calls,
                        std::span<float* const> memory) {
    run(program, calls, memory);
  }
  /// Passes gradients from the outputs of calls to their inputs, in the order of `calls`: the last
  /// of the program first (see backward.h, which plans it). `memory` is as a run left it.
  /// `gradients[id]` is where dL/d(tensor id) lives; that of a call's output is whole before the
  /// call. Allocates nothing when run again with the same shapes.
  virtual void run_backward(const Program&, std::span<const BackwardCall> calls,
                            std::span<float* const> memory, std::span<float* const> gradients) = 0;
  /// Tensors of the runs to come that nobody ever writes to, by TensorId; null: any other. A
  /// backend that copies takes the same one for the same numbers and does not read it again. What
  /// lies elsewhere in memory is read as ever.
  virtual void set_constants(std::span<const std::shared_ptr<const Tensor>>) {}
  /// Blocks of scores that attention in one piece has computed since run(), and those there are.
  virtual BlockCount blocks() const { return {}; }
};

/// Plain loops in axis order, sums in double: the numbers that the others are measured against.
std::unique_ptr<Backend> make_reference_backend();

/// Eigen, on `threads` threads (at least 1). The result does not depend on their number.
std::unique_ptr<Backend> make_cpu_backend(int threads);

/// The same on one thread, for training: runs groups of calls as one. What Fusion::is_between() is
/// neither written nor read, but for the patterns where their blocks of scores are computed; where
/// a backward pass follows, what makes a tensor of Fusion::keeps_slope() writes the slope over its
/// input. A backward pass goes by the run before it, and must have been planned with the same
/// fusion.
std::unique_ptr<Backend> make_fusing_backend(std::shared_ptr<const Fusion>);

/// "reference" or "cpu"; throws UsageError for any other name.
std::unique_ptr<Backend> make_backend(std::string_view name, int threads);

}  // namespace headlight
