// The GPU backend on a strict stand-in for OpenGL, without a context: every operation, whole models
// and what goes on around them make no mistake that a software renderer would hide.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <filesystem>

#include "app/gl/context/embedded.h"
#include "core/base/error.h"
#include "tests/gl/mock/test_gl_mock_support.h"
#include "tests/gl/strict/strict_rules.h"
#include "tests/support/gradient_cases.h"
#include "tests/support/training_model.h"

namespace headlight::test_gl_mock {
namespace {

using test::check_nothing_left;
using test::least_limits;
using test::strict_options;
using test::StrictGl;

using Problems = std::vector<std::string>;

void run_forward(GlBackend& backend, const OpCase& row, const Sizes& sizes) {
  const Program program = single_call(row.op, row.inputs(sizes), sizes.n);
  Memory memory(program);
  fill_inputs(program, memory, 1, 1.0f);
  CHECK(backend.supports(program, program.calls[0]) != op_info(row.op).is_sequential);
  if (op_info(row.op).is_sequential) return;
  memory.run(backend);
  CHECK(memory.guards_hold());
}

void run_backward(GlBackend& backend, const GradCase& c, const Sizes& sizes) {
  if (op_info(c.op).is_sequential) return;
  Single single(c, sizes);
  single.run(backend);
  single.run_backward(backend, GradientUse::kWritten);
  single.run_backward(backend, GradientUse::kAdded);
  for (std::size_t i = 0; i < single.call().in.size(); ++i) {
    single.run_backward(backend, GradientUse::kWritten, i);
  }
  CHECK(single.gradients.guards_hold());
  CHECK(single.memory.guards_hold());
}

void run_every_operation(GlBackend& backend) {
  constexpr Sizes kSizes[] = {
      {1, 1, 1, 1, 1, 1}, {2, 3, 5, 2, 7, 3}, {1, 2, 64, 65, 63, 17}, {2, 1, 3, 257, 131, 66}};
  for (const Sizes& sizes : kSizes) {
    for (const OpCase& row : kForwardTable) {
      CAPTURE(op_info(row.op).id);
      run_forward(backend, row, sizes);
    }
    for (const GradCase& c : kGradientTable) {
      CAPTURE(op_info(c.op).id);
      run_backward(backend, c, sizes);
    }
  }
}

}  // namespace

TEST_CASE("strict gl: every call of the table has a stand-in") {
  const StrictGl gl;
  const auto entries =
      std::bit_cast<std::array<std::uintptr_t, sizeof(GlCalls) / sizeof(std::uintptr_t)>>(
          gl.calls());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    CAPTURE(i);
    const bool is_there = entries[i] != 0;
    CHECK_MESSAGE(is_there, "add it to tests/gl/strict/strict_calls.cpp");
  }
}

TEST_CASE("strict gl: every kernel has a rule, which fits its text") {
  const KernelTable table = KernelTable::of(least_limits());
  for (int k = 0; k < kKernels; ++k) {
    const auto kernel = static_cast<Kernel>(k);
    const KernelInfo& info = kernel_info(kernel);
    CAPTURE(info.file);
    const test::StrictRule* rule = test::strict_rule(info.file);
    REQUIRE_MESSAGE(rule != nullptr, "add it to tests/gl/strict/strict_rules.cpp");
    for (const int variant : {0, 1}) {
      const GlSource source = gl_source(info.file, table.defines(kernel, variant), embedded_file);
      const test::StrictShader shader = test::read_shader(source.text);
      CHECK(shader.file == info.file);
      CHECK(shader.invocations() == table.group(kernel, variant));
      CHECK(shader.shared_bytes <= 16384);
      REQUIRE(shader.blocks.size() == rule->cells.size());
      for (std::size_t i = 0; i < shader.blocks.size(); ++i) CHECK(shader.blocks[i].binding == i);
      const test::Numbers twelves = [&](std::string_view name) -> std::optional<std::int64_t> {
        const bool known = name == "matrices" ||
                           std::any_of(shader.uniforms.begin(), shader.uniforms.end(),
                                       [&](const auto& uniform) { return uniform.name == name; });
        return known ? std::optional<std::int64_t>(12) : std::nullopt;
      };
      for (const std::string_view cells : rule->cells) CHECK(test::evaluate(cells, twelves) >= 1);
      CHECK(rule->work.empty() == (info.shape == KernelShape::kProduct));
      if (!rule->work.empty()) CHECK(test::evaluate(rule->work, twelves) >= 1);
    }
  }
}

TEST_CASE("strict gl: every operation, forward and backward") {
  StrictGl gl;
  {
    GlBackend backend(strict_options(gl));
    run_every_operation(backend);
    CHECK(backend.guards_hold());
    CHECK(backend.fallbacks().empty());
    for (int k = 0; k < kOperationKernels; ++k) {
      const auto kernel = static_cast<Kernel>(k);
      const bool measures = kernel == Kernel::kCopy || kernel == Kernel::kMultiplyAdd;
      const std::string file(kernel_info(kernel).file);
      CAPTURE(file);
      CHECK(gl.kernels().contains(file) == !measures);
    }
    CHECK(gl.dispatches() == backend.queue().dispatches());
  }
  check_nothing_left(gl);
}

TEST_CASE("strict gl: every operation on a device of small groups, and few of them") {
  GlLimits limits = least_limits();
  limits.group_invocations = 128;
  limits.shared_bytes = 8192;
  limits.group_count = {7, 900, 6};
  StrictGl gl(limits);
  {
    GlBackend backend(strict_options(gl));
    for (const OpCase& row : kForwardTable) {
      run_forward(backend, row, {2, 3, 17, 19, 33, 29});
      run_forward(backend, row, {1, 2, 33, 67, 31, 32});
    }
    for (const GradCase& c : kGradientTable) run_backward(backend, c, {2, 3, 17, 19, 33, 29});
    CHECK(backend.fallbacks().empty());
  }
  check_nothing_left(gl);
}

TEST_CASE("strict gl: what a small device says that it can take, it can take") {
  GlLimits limits = least_limits();
  limits.group_count = {4, 3, 5};
  limits.block_bytes = 4 * 9000;
  constexpr std::int64_t kSizes[] = {1, 2, 3, 5, 11, 13, 31, 64, 65, 97, 128, 129, 192, 200, 257};
  constexpr std::uint64_t kCount = std::size(kSizes);
  StrictGl gl(limits);
  {
    GlBackend backend(strict_options(gl));
    int taken = 0, refused = 0;
    for (const GradCase& c : kGradientTable) {
      for (std::uint64_t i = 0; i < 60; ++i) {
        const auto draw = [&](std::uint64_t k) { return kSizes[scatter(8 * i + k) % kCount]; };
        const auto few = [&](std::uint64_t k) { return 1 + static_cast<int>(draw(k) % 3); };
        // Two of four sizes are large.
        const bool turn = i % 2 == 0;
        const Sizes sizes{few(1),
                          few(2),
                          turn ? draw(3) : few(3),
                          i % 4 < 2 ? draw(4) : few(4),
                          turn ? few(5) : draw(5),
                          i % 4 < 2 ? few(6) : draw(6)};
        Single single(c, sizes);
        if (!backend.supports(single.program(), single.call())) {
          ++refused;
          continue;
        }
        ++taken;
        run_backward(backend, c, sizes);
        const Problems problems = gl.take_problems();
        CHECK_MESSAGE(problems.empty(), problems[0]
                                            << shape_text(single.program().tensors[0].axes)
                                            << shape_text(single.program().tensors[1].axes));
      }
    }
    // Many tokens, of which only who follows whom is large.
    const Program many = single_call(Op::kEmbed, {{1, 5000}, {5, 1}}, 1);
    CHECK_FALSE(backend.supports(many, many.calls[0]));
    CHECK(taken > 300);
    CHECK(refused > 300);
    CHECK(backend.fallbacks().empty());
  }
  check_nothing_left(gl);
}

TEST_CASE("strict gl: whole models of every configuration, forward and backward, twice") {
  StrictGl gl;
  {
    GlBackend backend(strict_options(gl));
    const auto check = [&](Config c) {
      c.d_model = 22;
      c.d_hidden = 35;
      TrainingModel model(c, sized(c, 2, 7, 19), drops(c));
      model.run(backend);
      model.run_backward(backend);
      // What the device has and memory has not changed since is not copied again.
      const std::size_t buffers = gl.buffers();
      const std::int64_t uploads = gl.uploads(), dispatches = gl.dispatches();
      model.run(backend);
      CHECK(gl.uploads() == uploads);
      CHECK(gl.dispatches() > dispatches);
      model.run_backward(backend, ParameterGradients::kAdded);
      CHECK(gl.buffers() == buffers);
    };
    for_all_configs(check);
    for_fused_configs(check);
    CHECK(backend.guards_hold());
    CHECK(backend.fallbacks().empty());
  }
  check_nothing_left(gl);
}

TEST_CASE("strict gl: a constant is copied once, and not looked at again until it is another one") {
  StrictGl gl;
  {
    GlBackend backend(strict_options(gl));
    const Program program = single_call(Op::kAdd, {{4}, {4}}, 4);
    auto tensor = std::make_shared<Tensor>(Tensor{"w", {{"feature", 4}}, FloatBuffer(4, 1.0f)});
    Memory memory(program);
    fill_inputs(program, memory, 1, 1.0f);
    std::vector<float*> places = {memory.pointers()[0], tensor->data.data(), memory.pointers()[2]};
    const auto uploads = [&](std::shared_ptr<const Tensor> constant) {
      const std::int64_t before = gl.uploads();
      const std::vector<std::shared_ptr<const Tensor>> constants = {nullptr, constant, nullptr};
      backend.set_constants(constants);
      backend.run(program, program.calls, places);
      return gl.uploads() - before;
    };
    // Two owners of the same tensor at the same place, as when memory is given back and taken anew.
    const auto owner = [&] {
      return std::shared_ptr<const Tensor>(std::make_shared<int>(), tensor.get());
    };
    auto first = owner();
    CHECK(uploads(first) >= 2);
    tensor->data[0] = 2;  // against the promise: what is not looked at cannot be seen to change
    CHECK(uploads(first) == 0);
    CHECK(uploads(std::shared_ptr<const Tensor>(first)) == 0);
    first = owner();
    CHECK(uploads(first) == 1);
    CHECK(uploads(first) == 0);
    tensor->data[1] = 3;  // written in place, as training does: it is no constant
    CHECK(uploads(nullptr) == 1);
    CHECK(uploads(first) == 0);  // looked at again, and found to be the same
    Program writes = program;    // whose result lies in the constant's buffer
    writes.calls = {{Op::kScale, {0}, 1, {}}};
    Memory elsewhere(writes);
    std::ranges::copy(memory.cells(0), elsewhere.cells(0).begin());
    elsewhere.run(backend);
    CHECK(uploads(first) == 1);
    CHECK(uploads(first) == 0);
    FloatBuffer other(4, 5.0f);
    places[1] = other.data();  // not where the constant lies
    CHECK(uploads(first) == 1);
    other[0] = 6;
    CHECK(uploads(first) == 1);
    first.reset();
  }
  check_nothing_left(gl);
}

TEST_CASE("strict gl: gradients that take turns in memory, and what stays on the device") {
  StrictGl gl;
  {
    GlBackend backend(strict_options(gl));
    TrainingModel model(uneven_config(), {2, 13, 19});
    backend.set_fetching(false);
    model.run(backend);
    Backward lean(model.program, KeptGradients::kParameters);
    for (const auto how : {ParameterGradients::kFresh, ParameterGradients::kAdded}) {
      lean.seed_loss(model.memory, counted_targets(*model.program, model.memory));
      lean.run(backend, model.memory, how);
    }
    model.run_backward(backend);
    const Program& program = *model.program;
    backend.fetch(program, program.loss, model.memory);
    CHECK(model.cells(program.loss)[0] == 0.0f);  // all that kernels write here
    backend.fetch_gradient(model.of_kind(TensorKind::kParameter).back(),
                           model.backward.gradients());
  }
  check_nothing_left(gl);
}

TEST_CASE("strict gl: programs of several sizes take turns on one backend") {
  StrictGl gl;
  {
    GlBackend backend(strict_options(gl));
    TrainingModel large(uneven_config(), {2, 13, 19}), small(uneven_config(), {1, 3, 19});
    const Program sum = single_call(Op::kAdd, {{4}, {4}}, 4);
    Memory memory(sum);
    for (int round = 0; round < 2; ++round) {
      large.run(backend);
      large.run_backward(backend);
      const std::size_t most = gl.buffers();
      small.run(backend);
      backend.set_fetching(false);
      memory.run(backend);
      backend.set_fetching(true);
      CHECK(gl.buffers() < most);  // the sum has no use for so many
      small.run_backward(backend);
    }
  }
  check_nothing_left(gl);
}

TEST_CASE("strict gl: calls that the device cannot take run on the processor in between") {
  for (const std::int64_t cells : {2 * 13 * 22, 2 * 13 * 19, 1}) {
    GlLimits limits = least_limits();
    limits.block_bytes = 4 * cells;
    StrictGl gl(limits);
    {
      GlBackend backend(strict_options(gl));
      TrainingModel model(uneven_config(), {2, 13, 19});
      for (int round = 0; round < 2; ++round) {
        model.run(backend);
        model.run_backward(backend);
      }
      CHECK_FALSE(backend.fallbacks().empty());
      CHECK((gl.dispatches() > 0) == (cells > 1));
    }
    check_nothing_left(gl);
  }
}

TEST_CASE("strict gl: kernels are timed by queries, which are given back") {
  StrictGl gl;
  {
    GlBackend backend(strict_options(gl));
    TrainingModel model(uneven_config(), {1, 5, 19});
    backend.queue().set_timing(true);
    for (int round = 0; round < 2; ++round) {
      const std::int64_t before = gl.dispatches();
      model.run(backend);
      const std::vector<GlTiming> timings = backend.queue().take_timings();
      CHECK(static_cast<std::int64_t>(timings.size()) == gl.dispatches() - before);
      CHECK(timings.back().nanoseconds == 1000);
    }
  }
  check_nothing_left(gl);
}

TEST_CASE("strict gl: programs that were kept on disk are checked like new ones") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("headlight-strict-" + std::to_string(::getpid()));
  for (const bool again : {false, true}) {
    StrictGl gl;
    GlBackendOptions options = strict_options(gl);
    options.program_folder = folder;
    {
      GlBackend backend(options);
      run_forward(backend, kForwardTable[3], {2, 3, 5, 2, 7, 3});
      run_backward(backend, kGradientTable[4], {2, 3, 5, 2, 7, 3});
      CHECK((backend.programs().loaded() > 3) == again);
      CHECK((backend.programs().compiled() == 0) == again);
    }
    check_nothing_left(gl);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("strict gl: a device without memory is an error, and leaves nothing behind") {
  StrictGl gl;
  {
    GlBackend backend(strict_options(gl));
    TrainingModel model(uneven_config(), {2, 13, 19});
    gl.set_memory(4 * (2 * 13 * 22 + 16));  // the hidden layer does not fit
    CHECK_THROWS_WITH_AS(model.run(backend), doctest::Contains("no memory left"), Error);
  }
  check_nothing_left(gl);
}

}  // namespace headlight::test_gl_mock
