// The largest tensors that a device takes, really allocated and run; and one cell more, which runs
// on the processor.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/gl/test_gl_backend_support.h"
#include "tests/support/gradient_cases.h"

namespace headlight {
namespace {

using test::check_no_messages;
using test::compute_ready;
using test::counting_options;

// No device has to take more, and tests should not take gigabytes of memory.
constexpr std::int64_t kMaxCells = std::int64_t{1} << 25;

/// A program of one call on tensors that are filled quickly, each input with the same few numbers.
class Large {
 public:
  Large(Op op, const Shapes& inputs) : program_(single_call(op, inputs, 1)) {
    for (const TensorSpec& spec : program_.tensors) {
      cells_.emplace_back(static_cast<std::size_t>(cell_count(spec.axes)));
      pointers_.push_back(cells_.back().data());
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      fill(std::span(cells_[i]).first(std::min<std::size_t>(cells_[i].size(), 8191)), i, 1.0f);
      for (std::size_t done = 8191; done < cells_[i].size(); done += 8191) {
        std::copy_n(cells_[i].begin(), std::min<std::size_t>(8191, cells_[i].size() - done),
                    cells_[i].begin() + static_cast<std::ptrdiff_t>(done));
      }
    }
  }

  const Program& program() const { return program_; }
  const OpCall& call() const { return program_.calls[0]; }
  /// The result on this backend, which is the caller's to keep.
  FloatBuffer run(Backend& backend) {
    FloatBuffer& out = cells_.back();
    std::fill(out.begin(), out.end(), -777.0f);
    backend.run(program_, program_.calls, pointers_);
    FloatBuffer result = std::move(out);
    out = FloatBuffer(result.size());
    pointers_.back() = out.data();
    return result;
  }

 private:
  Program program_;
  std::vector<FloatBuffer> cells_;
  std::vector<float*> pointers_;
};

// A device of the real one's limits, but of at most kMaxCells a tensor, and of small groups: most
// of a tile is wasted on products that are thin.
GlBackendOptions large_options() {
  GlBackendOptions options = counting_options();
  options.threads = 2;
  options.limits = GlDevice::ask(real_gl()).limits;
  options.limits->group_invocations = 128;
  options.limits->block_bytes = std::min(options.limits->block_bytes, 4 * kMaxCells);
  return options;
}

void check_large(Op op, const Shapes& inputs, double limit) {
  CAPTURE(op_info(op).id);
  const auto cpu = make_cpu_backend(2);
  Large large(op, inputs);
  FloatBuffer got;
  {  // a backend of its own, so that its buffers go
    GlBackend gl(large_options());
    CHECK(gl.supports(large.program(), large.call()));
    got = large.run(gl);
    CHECK(gl.fallbacks().empty());
    CHECK(gl.queue().dispatches() == 1);
  }
  const FloatBuffer expected = large.run(*cpu);
  CHECK(normalised_error(got, expected) <= limit);
}

void check_refused(Op op, const Shapes& inputs, double limit) {
  CAPTURE(op_info(op).id);
  const auto cpu = make_cpu_backend(2);
  Large large(op, inputs);
  GlBackend gl(large_options());
  CHECK_FALSE(gl.supports(large.program(), large.call()));
  const FloatBuffer got = large.run(gl), expected = large.run(*cpu);
  CHECK(gl.fallbacks().size() == 1);
  CHECK(gl.queue().dispatches() == 0);
  CHECK(normalised_error(got, expected) <= limit);
}

}  // namespace

TEST_CASE("gl backend: the largest tensors, and one cell more") {
  if (!compute_ready()) return;
  const std::int64_t most = large_options().limits->block_bytes / 4;
  const std::int64_t rows = most / 1024;
  check_large(Op::kAdd, {{1, 1, most}, {1, 1, most}}, 1e-12);
  check_large(Op::kSoftmax, {{1, 1, rows, 1024}}, 1e-9);
  check_large(Op::kLinear, {{1, rows / 8, 8192}, {8192, 1}, {1}}, 1e-10);
  check_refused(Op::kAdd, {{1, 1, most + 1}, {1, 1, most + 1}}, 0);
  check_refused(Op::kLinear, {{1, 1, 1}, {1, most + 1}}, 1e-10);
  check_no_messages();
}

TEST_CASE("gl backend: the largest numbers of groups, and one more") {
  if (!compute_ready()) return;
  const GlLimits limits = *large_options().limits;
  // A column of a bias' gradient is a 32nd of a group; a matrix is a group along the third axis.
  const std::int64_t wide = std::min<std::int64_t>(32 * limits.group_count[0], kMaxCells - 1);
  check_large(Op::kLinear, {{1, 1, 1}, {1, wide}, {wide}}, 1e-10);
  if (wide < kMaxCells - 1) {
    check_refused(Op::kLinear, {{1, 1, 1}, {1, wide + 1}, {wide + 1}}, 1e-10);
  }
  Single bias(Op::kLinear, {{1, 1, 1}, {1, wide}, {wide}}, 1, 1);
  BackwardCall step{0, {}};
  step.uses[2] = GradientUse::kWritten;
  GlBackend gl(large_options());
  gl.run_backward(bias.program(), {&step, 1}, bias.memory.pointers(), bias.gradients.pointers());
  const auto got = bias.gradients[2], expected = bias.gradients[bias.out()];  // of one row
  CHECK(std::equal(got.begin(), got.end(), expected.begin()));
  CHECK(gl.queue().dispatches() == 1);
  const std::int64_t matrices = std::min<std::int64_t>(limits.group_count[2], kMaxCells / 16);
  check_large(Op::kScores, {{matrices, 1, 2, 3}, {matrices, 1, 3, 3}}, 1e-10);
  if (matrices == limits.group_count[2]) {
    check_refused(Op::kScores, {{matrices + 1, 1, 2, 3}, {matrices + 1, 1, 3, 3}}, 1e-10);
  }
  check_no_messages();
}

}  // namespace headlight
