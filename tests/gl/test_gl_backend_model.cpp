// The GPU backend with whole models: traces and gradients beside the reference's, what is copied
// and what is kept, and calls that run on the processor.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "app/gl/context/embedded.h"
#include "tests/gl/test_gl_backend_support.h"
#include "tests/support/forward_cases.h"
#include "tests/support/training_model.h"

namespace headlight::test_gl_backend_model {
namespace {

using test::call_counts;
using test::check_no_messages;
using test::compute_ready;
using test::counting_options;
using test::reference;
using test::shared_backend;

constexpr double kRelative = 1e-5;

std::string name_of(const TrainingModel& model, TensorId id) {
  return model.program->tensors[static_cast<std::size_t>(id)].name;
}

double relative_error(TrainingModel& got, TrainingModel& expected, TensorId id) {
  return std::sqrt(normalised_error(got.cells(id), expected.cells(id)));
}

double worst_error(TrainingModel& got, TrainingModel& expected) {
  double worst = 0;
  for (std::size_t id = 0; id < got.program->tensors.size(); ++id) {
    worst = std::max(worst, relative_error(got, expected, static_cast<TensorId>(id)));
  }
  return worst;
}

// Every tensor of the two runs.
double check_traces(TrainingModel& got, TrainingModel& expected, double limit = kRelative) {
  double worst = 0;
  for (std::size_t id = 0; id < got.program->tensors.size(); ++id) {
    const auto tensor = static_cast<TensorId>(id);
    CAPTURE(name_of(got, tensor));
    const double error = relative_error(got, expected, tensor);
    CHECK(error <= limit);
    worst = std::max(worst, error);
  }
  return worst;
}

double check_gradients(const TrainingModel& got, const TrainingModel& expected) {
  double worst = 0;
  for (std::size_t id = 0; id < got.program->tensors.size(); ++id) {
    if (got.program->tensors[id].kind == TensorKind::kInput) continue;
    const auto tensor = static_cast<TensorId>(id);
    CAPTURE(name_of(got, tensor));
    const double error = normalised_error(got.backward.gradient(tensor).cells(),
                                          expected.backward.gradient(tensor).cells(),
                                          expected.least_gradient(tensor));
    CHECK(error <= kRelative);
    worst = std::max(worst, error);
  }
  return worst;
}

}  // namespace

TEST_CASE("gl backend: whole models of every configuration, forward and backward") {
  if (!compute_ready()) return;
  const auto cpu = make_cpu_backend(1);
  double worst = 0, worst_gradient = 0;
  int loose = 0;
  const auto check = [&](Config c) {
    c.d_model = 22;
    c.d_hidden = 35;
    c.residual |= c.block == BlockKind::kAttention;
    const RunShape shape = sized(c, 3, 13, 19);
    TrainingModel got(c, shape, drops(c)), expected(c, shape, drops(c)), fast(c, shape, drops(c));
    got.run(shared_backend());
    expected.run(reference());
    fast.run(*cpu);
    // Where softmax is nearly all or nothing, rounding alone moves the numbers farther: then
    // not more than twice as far as it moves Eigen's.
    const double limit = std::max(kRelative, 2 * worst_error(fast, expected));
    loose += limit > kRelative;
    worst = std::max(worst, check_traces(got, expected, limit));
    // From one run: a difference of forward runs grows where softmax is nearly all or nothing.
    got.run(reference());
    got.run_backward(shared_backend());
    expected.run_backward(reference());
    worst_gradient = std::max(worst_gradient, check_gradients(got, expected));
  };
  for_all_configs(check);
  for_fused_configs(check);
  CHECK(loose <= 2);
  CHECK(shared_backend().guards_hold());
  CHECK(test::only_waiting(shared_backend()));
  check_no_messages();
  MESSAGE("largest error of a trace " << worst << ", of a gradient " << worst_gradient);
}

TEST_CASE(
    "gl backend: a run and a backward pass on the device alone, and a second one makes no buffer") {
  if (!compute_ready()) return;
  GlBackend& gl = shared_backend();
  TrainingModel got(uneven_config(), {2, 13, 19}), expected(uneven_config(), {2, 13, 19});
  got.run(gl);
  got.run_backward(gl);
  expected.run(reference());
  expected.run_backward(reference());
  check_traces(got, expected);
  check_gradients(got, expected);

  const test::CallCounts before = call_counts();
  got.run(gl);
  CHECK(call_counts().uploads == before.uploads);  // nothing has changed
  got.run_backward(gl);
  CHECK(call_counts().uploads == before.uploads);
  const TensorId weight = got.of_kind(TensorKind::kParameter)[3];
  got.cells(weight)[1] += 0.25f;
  got.run(gl);
  CHECK(call_counts().uploads == before.uploads + 1);
  CHECK(call_counts().buffers == before.buffers);
  CHECK(call_counts().allocations == before.allocations);
  CHECK(call_counts().compiled == before.compiled);
  expected.cells(weight)[1] += 0.25f;
  expected.run(reference());
  check_traces(got, expected);
  check_no_messages();
}

TEST_CASE("gl backend: gradients that take turns in memory, and those that add up") {
  if (!compute_ready()) return;
  GlBackend& gl = shared_backend();
  Config c = uneven_config();
  c.d_hidden = 90;
  TrainingModel model(c, {2, 13, 60});
  model.run(reference());
  model.run_backward(reference());
  Backward lean(model.program, KeptGradients::kParameters);
  const auto backward = [&](ParameterGradients how) {
    lean.seed_loss(model.memory, counted_targets(*model.program, model.memory));
    lean.run(gl, model.memory, how);
  };
  backward(ParameterGradients::kFresh);
  const auto expected = std::as_const(model.backward).parameters();
  CHECK(normalised_error(lean.parameters(), expected, 0) <= kRelative);
  const test::CallCounts before = call_counts();
  backward(ParameterGradients::kAdded);
  CHECK(call_counts().buffers == before.buffers);
  CHECK(call_counts().allocations == before.allocations);
  std::vector<float> twice(expected.begin(), expected.end());
  for (float& cell : twice) cell *= 2;
  CHECK(normalised_error(lean.parameters(), twice, 0) <= kRelative);
  check_no_messages();
}

TEST_CASE("gl backend: what is left on the device comes when it is fetched") {
  if (!compute_ready()) return;
  GlBackend& gl = shared_backend();
  TrainingModel got(uneven_config(), {1, 7, 19}), expected(uneven_config(), {1, 7, 19});
  expected.run(reference());
  expected.run_backward(reference());
  gl.set_fetching(false);
  got.run(gl);
  got.run_backward(gl);
  const Program& program = *got.program;
  const TensorId weight = got.of_kind(TensorKind::kParameter).back();
  CHECK(std::isnan(got.cells(program.loss)[0]));
  CHECK(got.backward.gradient(weight).data[0] == 0.0f);
  gl.fetch(program, program.loss, got.memory);
  gl.fetch_gradient(weight, got.backward.gradients());
  gl.set_fetching(true);
  CHECK(gl.buffer(program, program.loss) != 0);
  CHECK(normalised_error(got.cells(program.loss), expected.cells(program.loss), 0) <= kRelative);
  CHECK(normalised_error(got.backward.gradient(weight).cells(),
                         expected.backward.gradient(weight).cells(), 0) <= kRelative);
  check_no_messages();
}

TEST_CASE("gl backend: a run that goes on in pieces is the whole one, bit for bit") {
  if (!compute_ready()) return;
  GlBackend& gl = shared_backend();
  REQUIRE(gl.goes_on());
  TrainingModel whole(uneven_config(), {1, 7, 19}), pieces(uneven_config(), {1, 7, 19});
  whole.run(gl);
  const Program& program = *pieces.program;
  const std::span<const OpCall> calls = program.calls;
  const test::CallCounts before = call_counts();
  for (std::size_t begin = 0; begin < calls.size(); begin += 5) {
    const std::span<const OpCall> some =
        calls.subspan(begin, std::min<std::size_t>(5, calls.size() - begin));
    begin == 0 ? gl.run(program, some, pieces.memory) : gl.run_more(program, some, pieces.memory);
  }
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const auto tensor = static_cast<TensorId>(id);
    CAPTURE(name_of(pieces, tensor));
    CHECK(std::ranges::equal(pieces.cells(tensor), whole.cells(tensor)));
  }
  // What a piece has left on the device is not copied there again.
  CHECK(call_counts().uploads - before.uploads == 0);
  check_no_messages();
}

TEST_CASE("gl backend: what one program left on the device is not another's") {
  if (!compute_ready()) return;
  GlBackend& gl = shared_backend();
  const Program sum = single_call(Op::kAdd, {{4}, {4}}, 4);
  const Program line = single_call(Op::kLinear, {{1, 4}, {4, 4}, {4}}, 4);
  Memory first(sum), second(line);
  fill(first.cells(0), 1, 1.0f);
  second.cells(2)[3] = 0.5f;  // where the sum was left
  gl.set_fetching(false);
  first.run(gl);
  gl.set_fetching(true);
  second.run(gl);
  CHECK(second.cells(3)[0] == 0.0f);
  CHECK(second.cells(3)[3] == 0.5f);
  check_no_messages();
}

TEST_CASE("gl backend: calls that the device cannot take run on the processor") {
  if (!compute_ready()) return;
  GlBackendOptions options = counting_options();
  options.limits = GlDevice::ask(real_gl()).limits;
  options.limits->block_bytes = 4 * 2 * 13 * 22;  // the residual stream fits, the hidden layer not
  GlBackend gl(options);
  TrainingModel got(uneven_config(), {2, 13, 19}), expected(uneven_config(), {2, 13, 19});
  const auto call_of = [&](std::string_view name) {
    return got.program
        ->calls[static_cast<std::size_t>(got.program->producer(got.program->require(name)))];
  };
  CHECK(gl.supports(*got.program, call_of("blocks.0.resid_mid")));
  CHECK_FALSE(gl.supports(*got.program, call_of("blocks.0.mlp.post")));
  for (int repeat = 0; repeat < 2; ++repeat) {
    got.run(gl);
    got.run_backward(gl);
    expected.run(reference());
    expected.run_backward(reference());
    check_traces(got, expected);
    check_gradients(got, expected);
  }
  std::set<Op> ops;
  for (const GlFallback& fallback : gl.fallbacks()) ops.insert(fallback.op);
  CHECK(ops.contains(Op::kLinear));
  CHECK_FALSE(ops.contains(Op::kLayerNorm));
  CHECK(gl.queue().dispatches() > 40);
  check_no_messages();
}

TEST_CASE("gl backend: kernels are timed by the device when asked") {
  if (!compute_ready()) return;
  GlBackend& gl = shared_backend();
  TrainingModel model(uneven_config(), {1, 5, 19});
  gl.queue().set_timing(true);
  const std::int64_t before = gl.queue().dispatches();
  model.run(gl);
  gl.queue().set_timing(false);
  const std::vector<GlTiming> timings = gl.queue().take_timings();
  CHECK(static_cast<std::int64_t>(timings.size()) == gl.queue().dispatches() - before);
  std::set<std::string_view> files;
  for (const GlTiming& timing : timings) {
    files.insert(timing.file);
    const Op op = model.program->calls[static_cast<std::size_t>(timing.tag)].op;
    const std::string name(op == Op::kLayerNorm ? "norm" : op_info(op).id);  // of both norms
    CHECK(timing.file == "shaders/" + name + ".comp");
  }
  CHECK(files.size() > 8);
  CHECK(gl.queue().take_timings().empty());
  check_no_messages();
}

TEST_CASE("gl backend: kernels are timed by the device's clock, or, in software, by ours") {
  if (!compute_ready()) return;
  static int queries = 0;
  GlCalls calls = real_gl();
  calls.begin_query = [](GLenum target, GLuint id) {
    ++queries;
    glBeginQuery(target, id);
  };
  GlDevice device = GlDevice::ask(calls);
  const KernelTable table = KernelTable::of(device.limits);
  GlPrograms programs(calls, device, table, embedded_file, {});
  GlTensors tensors(calls);
  tensors.begin(1, 1);
  float cells[] = {1, 2, 3, 4};
  for (const bool software : {true, false}) {
    CAPTURE(software);
    device.renderer = software ? "llvmpipe" : "a graphics card";
    GlQueue queue(calls, device);
    queue.set_timing(true);
    queue.set_tag(7);
    for (int round = 0; round < 2; ++round) {
      queries = 0;
      for (int repeat = 0; repeat < 3; ++repeat) {
        queue.dispatch(programs.get(Kernel::kZero, 0), {tensors.to_write(0, 4)},
                       {{"cells", std::int64_t{4}}}, {});
      }
      const std::vector<GlTiming> timings = queue.take_timings();
      REQUIRE(timings.size() == 3);
      CHECK(timings[2].tag == 7);
      CHECK(timings[2].file == "shaders/zero.comp");
      CHECK(timings[2].nanoseconds >= 0);
      CHECK(queries == (software ? 0 : 3));
    }
  }
  tensors.fetch(0, cells);
  CHECK(cells[3] == 0.0f);
  check_no_messages();
}

}  // namespace headlight::test_gl_backend_model
