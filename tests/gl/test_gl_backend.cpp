// The GPU backend's operations beside the reference: forward and backward, every shape.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "tests/gl/test_gl_backend_support.h"
#include "tests/support/gradient_checks.h"

namespace headlight::test_gl_backend {
namespace {

using test::check_no_messages;
using test::compute_ready;
using test::reference;
using test::shared_backend;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// The largest error of each operation, to be printed.
class Worst {
 public:
  void add(Op op, double error) { errors_[op] = std::max(errors_[op], error); }
  std::string text() const {
    std::ostringstream out;
    for (const auto& entry : errors_) {
      out << "\n  " << op_info(entry.first).id << " " << entry.second;
    }
    return out.str();
  }

 private:
  std::map<Op, double> errors_;
};

// ---- forward ----

void check_case(GlBackend& gl, const OpCase& row, const Sizes& sizes, float spread, Worst& worst) {
  const Program program = single_call(row.op, row.inputs(sizes), sizes.n);
  CAPTURE(op_info(row.op).id);
  CAPTURE(shape_text(program.tensors.front().axes));
  CAPTURE(shape_text(program.tensors.back().axes));
  CAPTURE(spread);
  Memory got(program), expected(program);
  fill_inputs(program, got, hash_text(op_info(row.op).id), spread);
  copy_inputs(program, got, expected);
  CHECK(gl.supports(program, program.calls[0]) != op_info(row.op).is_sequential);
  if (op_info(row.op).is_sequential) return;
  got.run(gl);
  expected.run(reference());
  const TensorId out = program.calls[0].out;
  const double error = normalised_error(got.cells(out), expected.cells(out));
  CHECK(error <= trial_limit(row.op));
  worst.add(row.op, error);
  CHECK(got.guards_hold());
}

}  // namespace

TEST_CASE("gl backend: every operation agrees with the reference") {
  if (!compute_ready()) return;
  GlBackend& gl = shared_backend();
  Worst worst;
  // Tiles are 64 wide and 16 deep; short rows have up to 64 cells, their groups 32 invocations.
  constexpr std::int64_t kSizes[] = {1, 2, 7, 15, 16, 17, 31, 63, 64, 65};
  constexpr std::size_t kCount = std::size(kSizes);
  for (const OpCase& row : kForwardTable) {
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::int64_t a = kSizes[i], b = kSizes[(3 * i + 3) % kCount];
      const std::int64_t c = kSizes[(7 * i + 7) % kCount];
      check_case(gl, row, {i % 2 ? 3 : 1, 3, a, b, c, a}, 1.0f, worst);
      check_case(gl, row, {1, 2, b, a, a, c}, 1.0f, worst);
    }
    check_case(gl, row, {1, 1, 1, 255, 256, 257}, 1.0f, worst);
    check_case(gl, row, {1, 1, 2, 257, 255, 256}, 1.0f, worst);
    for (const float spread : {30.0f, 300.0f, 1e-3f, 0.0f}) {
      check_case(gl, row, {2, 3, 17, 19, 23, 29}, spread, worst);
    }
    check_case(gl, row, {1, 1, 3, 5, 1031, 67}, 1.0f, worst);
    // Positions far out; not pairs of them, which would not fit into a buffer.
    if (row.op != Op::kRelativeScores) check_case(gl, row, {1, 1, 9001, 2, 4, 1}, 1.0f, worst);
    check_case(gl, row, {1, 2, 131, 257, 67, 211}, 1.0f, worst);
  }
  CHECK(gl.guards_hold());
  CHECK(gl.fallbacks().empty());
  check_no_messages();
  MESSAGE("largest normalised errors:" << worst.text());
}

TEST_CASE("gl backend: infinite and undefined numbers come out as in the reference") {
  if (!compute_ready()) return;
  const std::vector<std::vector<float>> rows = {
      {-kInfinity, -kInfinity, -kInfinity}, {-kInfinity, 3.0f, -kInfinity, 200.0f},
      {kInfinity, 1.0f, -kInfinity},        {1.0f, kNan, 2.0f},
      {-kInfinity, -1e38f, -1e38f},         {3e38f, -3e38f, 0.0f},
      {0.0f, -0.0f, 1e-30f, -1e-30f},       {kNan, -kInfinity},
  };
  for (std::vector<float> row : rows) {
    for (const std::size_t length : {row.size(), std::size_t{37}, std::size_t{300}}) {
      row.resize(length, row[0]);
      CAPTURE(row);
      const auto n = static_cast<std::int64_t>(length);
      for (const Op op :
           {Op::kSoftmax, Op::kRelu, Op::kGelu, Op::kGeluTanh, Op::kSilu, Op::kScale}) {
        for (const double temperature : {0.05, 1.0, 10.0}) {
          CAPTURE(op_info(op).id);
          const Program program = single_call(op, {{1, 1, n}}, n, temperature);
          Memory got(program), expected(program);
          std::copy(row.begin(), row.end(), got.cells(0).begin());
          copy_inputs(program, got, expected);
          got.run(shared_backend());
          expected.run(reference());
          CHECK(normalised_error(got.cells(1), expected.cells(1)) <= 1e-12);
        }
      }
    }
  }
  check_no_messages();
}

TEST_CASE("gl backend: what is undefined stays where it belongs") {
  if (!compute_ready()) return;
  for (const float odd : {kNan, kInfinity}) {
    for (const std::size_t column : {0, 18}) {  // beside the zeros that fill up a tile
      const Program program = single_call(Op::kLinear, {{1, 67, 19}, {19, 66}, {66}}, 19);
      Memory got(program), expected(program);
      fill_inputs(program, got, 3, 1.0f);
      got.cells(0)[5 * 19 + column] = odd;
      copy_inputs(program, got, expected);
      got.run(shared_backend());
      expected.run(reference());
      CHECK(normalised_error(got.cells(3), expected.cells(3)) <= 1e-10);
      CHECK(std::isfinite(got.cells(3)[6 * 66]));
      CHECK(std::isfinite(got.cells(3)[4 * 66]));
      CHECK_FALSE(std::isfinite(got.cells(3)[5 * 66]));
    }
    const Program pool = single_call(Op::kMeanPool, {{1, 3, 2}, {1, 3}}, 2);
    Memory memory(pool);
    memory.cells(0)[1] = 3;
    memory.cells(0)[2] = odd;  // of padding
    memory.cells(1)[0] = memory.cells(1)[2] = 1;
    memory.run(shared_backend());
    CHECK(memory.cells(2)[0] == 0.0f);
    CHECK(memory.cells(2)[1] == 1.5f);
  }
  check_no_messages();
}

TEST_CASE(
    "gl backend: the loss of a target that is nearly certain, and its gradient, on all sides") {
  if (!compute_ready()) return;
  const auto cpu = make_cpu_backend(1);
  for (const float ahead : {3.0f, 12.0f, 16.0f, 30.0f, 60.0f}) {
    CAPTURE(ahead);
    const double others = std::exp(-static_cast<double>(ahead)) * (1 + std::exp(-1.0));
    const double loss = std::log1p(others), gradient = -others / (1 + others);
    for (Backend* backend : {&reference(), cpu.get(), static_cast<Backend*>(&shared_backend())}) {
      CAPTURE(backend->name());
      for (const GradientUse use : {GradientUse::kWritten, GradientUse::kAdded}) {
        Single single(GradCase{Op::kCrossEntropy,
                               [](const Sizes&) -> Shapes {
                                 return {{1, 1, 3}, {1, 1}};
                               }},
                      {1, 1, 1, 1, 1, 1});
        const auto x = single.memory[0];
        x[0] = 1.5f;
        x[1] = 1.5f + ahead;
        x[2] = 0.5f;
        single.memory[1][0] = 1;
        single.run(*backend);
        CHECK(single.memory[2][0] == doctest::Approx(loss).epsilon(1e-6).scale(0));
        single.gradients[2][0] = 2;
        std::fill(single.gradients[0].begin(), single.gradients[0].end(), 0.0f);
        single.run_backward(*backend, use);
        CHECK(single.gradients[0][1] == doctest::Approx(2 * gradient).epsilon(1e-6).scale(0));
      }
    }
  }
  check_no_messages();
}

TEST_CASE("gl backend: rotary positions of one width and several bases take turns") {
  if (!compute_ready()) return;
  for (const double base : {10000.0, 500.0, 10000.0}) {
    Program program = single_call(Op::kRotary, {{1, 1, 5, 8}}, 8);
    program.calls[0].params.base = base;
    Memory got(program), expected(program);
    fill_inputs(program, got, 3, 1.0f);
    copy_inputs(program, got, expected);
    got.run(shared_backend());
    expected.run(reference());
    CHECK(normalised_error(got.cells(1), expected.cells(1)) <= 1e-12);
  }
  check_no_messages();
}

TEST_CASE("gl backend: layer norm of rows whose numbers are large and alike") {
  if (!compute_ready()) return;
  for (const std::int64_t n : {7, 64, 300}) {
    const Program program = single_call(Op::kLayerNorm, {{1, 5, n}, {n}, {n}}, n);
    Memory got(program), expected(program);
    fill_inputs(program, got, 3, 1.0f);
    for (float& cell : got.cells(0)) cell = 10000.0f + std::round(64 * cell) / 4096;
    copy_inputs(program, got, expected);
    got.run(shared_backend());
    expected.run(reference());
    CHECK(normalised_error(got.cells(3), expected.cells(3)) <= 1e-9);
  }
  check_no_messages();
}

// ---- backward ----

namespace {

void check_case(GlBackend& gl, const GradCase& c, const Sizes& sizes, Worst& worst) {
  if (op_info(c.op).is_sequential) return;
  const double error = check_gradient(gl, reference(), c, sizes, std::sqrt(trial_limit(c.op)));
  worst.add(c.op, error * error);
}

}  // namespace

TEST_CASE("gl backend: every gradient agrees with the reference") {
  if (!compute_ready()) return;
  GlBackend& gl = shared_backend();
  Worst worst;
  for_gradient_shapes(
      [&](const GradCase& c, const Sizes& sizes) { check_case(gl, c, sizes, worst); });
  CHECK(gl.guards_hold());
  CHECK(gl.fallbacks().empty());
  check_no_messages();
  MESSAGE("largest normalised errors:" << worst.text());
}

TEST_CASE("gl backend: a device of small groups, and few of them") {
  if (!compute_ready()) return;
  GlBackendOptions options = test::counting_options();
  options.guard_cells = 16;
  options.limits = GlDevice::ask(real_gl()).limits;
  options.limits->group_invocations = 128;
  options.limits->shared_bytes = 8192;
  options.limits->group_count = {7, 900, 6};  // groups have to lie in two dimensions
  GlBackend gl(options);
  Worst worst;
  for (const OpCase& row : kForwardTable) {
    check_case(gl, row, {2, 3, 17, 19, 33, 29}, 1.0f, worst);
    check_case(gl, row, {1, 2, 33, 67, 31, 32}, 1.0f, worst);
  }
  for (const GradCase& c : kGradientTable) check_case(gl, c, {2, 3, 17, 19, 33, 29}, worst);
  CHECK(gl.guards_hold());
  CHECK(gl.fallbacks().empty());
  // More matrices than groups in the third dimension.
  const Program many = single_call(Op::kScores, {{3, 3, 2, 2}, {3, 3, 2, 2}}, 2);
  CHECK_FALSE(gl.supports(many, many.calls[0]));
  check_no_messages();
}

TEST_CASE("gl backend: gradients are written, added, or left alone, within their tensors") {
  if (!compute_ready()) return;
  GlBackend& gl = shared_backend();
  for (const GradCase& c : kGradientTable) {
    if (op_info(c.op).is_sequential) continue;
    check_gradient_uses(gl, reference(), c, {2, 3, 5, 2, 7, 3});
    check_gradient_uses(gl, reference(), c, {2, 2, 17, 19, 66, 18});
  }
  CHECK(gl.guards_hold());
  check_no_messages();
}

TEST_CASE("gl backend: a forbidden key passes no gradient, whatever comes back") {
  if (!compute_ready()) return;
  for (const std::int64_t n : {3, 37, 70}) check_forbidden_keys(shared_backend(), n);
  check_no_messages();
}

TEST_CASE("gl backend: far out, gradients of activations and losses stay finite") {
  if (!compute_ready()) return;
  check_far_out(shared_backend());
  check_no_messages();
}

}  // namespace headlight::test_gl_backend
