// The kernels that measure do what they are said to do, and times come from the kernels named.
#include <doctest/doctest.h>

#include "app/gl/context/embedded.h"
#include "app/gl/tuning/measure.h"
#include "tests/gl/test_gl_backend_support.h"

namespace headlight::test_gl_measure {
namespace {

using test::check_no_messages;
using test::compute_ready;
using test::counting_options;
using test::shared_backend;

// A kernel of no operation on two buffers of 1003 cells: numbers, and their results.
std::vector<float> result_of(Kernel kernel, std::initializer_list<GlUniform> uniforms) {
  const GlCalls gl = real_gl();
  const GlDevice device = GlDevice::ask(gl);
  const KernelTable table = KernelTable::of(device.limits);
  GlPrograms programs(gl, device, table, embedded_file, {});
  GlQueue queue(gl, device);
  std::vector<float> cells(1003);
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = static_cast<float>(i) + 0.5f;
  GLuint buffers[2];
  gl.gen_buffers(2, buffers);
  for (const GLuint buffer : buffers) {
    gl.bind_buffer(GL_SHADER_STORAGE_BUFFER, buffer);
    const std::vector<float> zeros(cells.size());
    const auto& numbers = buffer == buffers[0] ? cells : zeros;
    gl.buffer_data(GL_SHADER_STORAGE_BUFFER, 4 * 1003, numbers.data(), GL_DYNAMIC_COPY);
  }
  const GlProgram& program = programs.get(kernel, 0);
  if (kernel == Kernel::kCopy) {
    queue.dispatch(program, {buffers[0], buffers[1]}, uniforms, GlGroups{7});
  } else {
    queue.dispatch(program, {buffers[1]}, uniforms, GlGroups{7});
  }
  gl.get_buffer_sub_data(GL_SHADER_STORAGE_BUFFER, 0, 4 * 1003, cells.data());
  gl.delete_buffers(2, buffers);
  gl.use_program(0);
  check_gl(gl, "a test");
  return cells;
}

}  // namespace

TEST_CASE("gl measure: the plain copy copies, and only what it is asked to") {
  if (!compute_ready()) return;
  const auto copied = result_of(Kernel::kCopy, {{"cells", std::int64_t{800}}});
  for (std::size_t i = 0; i < copied.size(); ++i)
    CHECK(copied[i] == (i < 800 ? static_cast<float>(i) + 0.5f : 0.0f));
  check_no_messages();
}

TEST_CASE("gl measure: the plain multiply-add kernel makes as many as are counted") {
  if (!compute_ready()) return;
  const auto sums = result_of(Kernel::kMultiplyAdd, {{"cells", std::int64_t{900}},
                                                     {"rounds", std::int64_t{3}},
                                                     {"factor", 1.0f},
                                                     {"step_size", 2.0f}});
  for (std::size_t i = 0; i < sums.size(); ++i) {
    // 16 numbers from i mod 8 on, each 3 × 8 times 2 more: nothing was left out.
    const double start = 16.0 * static_cast<double>(i % 8) + 120;
    CHECK(sums[i] == (i < 900 ? start + 16 * 24 * 2.0 : 0.0));
  }
  check_no_messages();
}

TEST_CASE("gl measure: a device has rates, and a call the time of its own kernel") {
  if (!compute_ready()) return;
  const GlRates rates = measure_rates(counting_options());
  CHECK(rates.multiply_adds > 0);
  CHECK(rates.copies > 0);
  GlBackend& gl = shared_backend();
  const auto time = [&](GlTimedCall call) {
    CHECK(time_call(gl, call, 0).runs == 1);
    const GlTime taken = time_call(gl, call, 1000);
    CHECK(taken.runs == 15);
    CHECK(taken.least > 0);
    CHECK(taken.nanoseconds >= taken.least);
    return taken.file;
  };
  CHECK(time({Op::kLinear, {{1, 9, 5}, {5, 7}}, -1}) == "shaders/linear.comp");
  CHECK(time({Op::kLinear, {{1, 9, 5}, {5, 7}}, 0}) == "shaders/linear_backward_x.comp");
  CHECK(time({Op::kLinear, {{1, 9, 5}, {5, 7}}, 1}) == "shaders/linear_backward_w.comp");
  CHECK(time({Op::kSoftmax, {{9, 5}}, 0}) == "shaders/softmax_backward.comp");
  // Afterwards nothing is timed, and results come back as ever.
  const Program program = trial_program(Op::kRelu, {{3}}, 3);
  std::vector<float> x = {-1, 0, 2}, y(3);
  float* const memory[] = {x.data(), y.data()};
  gl.run(program, program.calls, memory);
  CHECK(y == std::vector<float>{0, 0, 2});
  CHECK(gl.queue().take_timings().empty());
  check_no_messages();
}

}  // namespace headlight::test_gl_measure
