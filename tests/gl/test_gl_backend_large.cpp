// The largest tensors that a device takes, really allocated and run; and one cell more, which runs
// on the processor. Runs of which layers pass.
#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

#include "tests/gl/test_gl_backend_support.h"
#include "tests/run/keeps_little.h"
#include "tests/run/kinds_of_models.h"
#include "tests/support/gradient_cases.h"

namespace headlight::test_gl_backend_large {
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

Document deep_run() {
  return random_model([](Config& c) { c.layers = 8; });
}

}  // namespace

TEST_CASE("gl backend: of every kind of model, layers computed again are those of a whole run") {
  if (!compute_ready()) return;
  GlBackend& gl = test::shared_backend();
  for (const auto& kind : kinds_of_models()) {
    CAPTURE(std::string(kind.first));
    Runner whole, little(keeps_little());
    const auto all = whole.run(kind.second, gl).trace, some = little.run(kind.second, gl).trace;
    REQUIRE(all);
    REQUIRE(some);
    CHECK(all->keeps_all());
    REQUIRE_FALSE(some->keeps_all());
    CHECK(some->layers_on_device());
    const Program& p = all->program();
    std::size_t again = 0;
    for (std::size_t id = p.tensors.size(); id-- > 0;) {
      const auto tensor = static_cast<TensorId>(id);
      again += !some->is_there(tensor);
      CAPTURE(p.tensors[id].name);
      REQUIRE(same_bits(some->tensor(tensor), all->tensor(tensor)));
    }
    CHECK(again > 0);
  }
  check_no_messages();
}

TEST_CASE("gl backend: layers that pass share the card's memory, whichever is shown") {
  if (!compute_ready()) return;
  GlBackend gl(counting_options());
  GlStorage all(gl.calls()), some(gl.calls());
  Runner whole, little(keeps_little());
  gl.use(&all);
  const auto kept = whole.run(deep_run(), gl).trace;
  REQUIRE(kept);
  const auto parameters = static_cast<std::size_t>(kept->memory().parameters);
  gl.use(&some);
  std::size_t most = 0;
  for (const char* shown : {"blocks.0.attn.q", "blocks.7.mlp.pre", "blocks.3.attn.scores_raw"}) {
    little.set_shown(shown);
    const auto trace = little.run(deep_run(), gl).trace;
    REQUIRE(trace);
    CHECK(trace->stays(trace->program().require(shown)));
    if (most == 0) most = some.tensors.bytes();
    CHECK(some.tensors.bytes() == most);
  }
  gl.use(nullptr);
  CHECK(most - parameters < (all.tensors.bytes() - parameters) * 6 / 10);
  check_no_messages();
}

TEST_CASE(
    "gl backend: a layer is computed again by the card on its thread, else by the processor") {
  if (!compute_ready()) return;
  auto gl = std::make_unique<GlBackend>(counting_options());
  Runner whole, little(keeps_little());
  const auto all = whole.run(deep_run(), *gl).trace, some = little.run(deep_run(), *gl).trace;
  REQUIRE(all);
  REQUIRE(some);
  const auto named = [&](int layer) {
    return some->program().require("blocks." + std::to_string(layer) + ".mlp.post");
  };
  const auto check_layer = [&](int layer) {
    CHECK(normalised_error(some->tensor(named(layer)).cells(), all->tensor(named(layer)).cells()) <=
          1e-12);
  };
  const std::int64_t before = gl->queue().dispatches();
  check_layer(2);
  const std::int64_t own = gl->queue().dispatches() - before;
  CHECK(own > 0);
  std::thread([&] { check_layer(4); }).join();
  CHECK(gl->queue().dispatches() - before == own);
  gl.reset();
  check_layer(6);
  check_no_messages();
}

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

}  // namespace headlight::test_gl_backend_large
