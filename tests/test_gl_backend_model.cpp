// The GPU backend with whole models, and what it does when something is amiss: a shader that does
// not compile, a device that is too small or gone, a damaged program on disk.
#include <doctest/doctest.h>

#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <stdexcept>
#include <utility>

#include "app/gl/embedded.h"
#include "core/io/atomic_file.h"
#include "tests/forward_cases.h"
#include "tests/test_gl_backend_support.h"
#include "tests/training_model.h"

namespace headlight {
namespace {

using test::call_counts;
using test::check_no_messages;
using test::compute_ready;
using test::counting_options;
using test::shared_backend;

constexpr double kRelative = 1e-5;

Backend& reference() {
  static const auto kReference = make_reference_backend();
  return *kReference;
}

std::string name_of(const Model& model, TensorId id) {
  return model.program->tensors[static_cast<std::size_t>(id)].name;
}

double relative_error(Model& got, Model& expected, TensorId id) {
  return std::sqrt(normalised_error(got.cells(id), expected.cells(id)));
}

double worst_error(Model& got, Model& expected) {
  double worst = 0;
  for (std::size_t id = 0; id < got.program->tensors.size(); ++id) {
    worst = std::max(worst, relative_error(got, expected, static_cast<TensorId>(id)));
  }
  return worst;
}

// Every tensor of the two runs.
double check_traces(Model& got, Model& expected, double limit = kRelative) {
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

// The size below which a gradient is what rounding left (see test_gradients_model.cpp).
double least_of(const Model& model, TensorId id) {
  const std::string name = name_of(model, id);
  if (name.ends_with("attn.b_K") && model.program->config.scores == ScoreKind::kDot) {
    return rms(model.backward.gradient(name.substr(0, name.size() - 3) + "W_K").cells());
  }
  return 1e-3 * rms(model.backward.parameters());
}

double check_gradients(const Model& got, const Model& expected) {
  double worst = 0;
  for (std::size_t id = 0; id < got.program->tensors.size(); ++id) {
    if (got.program->tensors[id].kind == TensorKind::kInput) continue;
    const auto tensor = static_cast<TensorId>(id);
    CAPTURE(name_of(got, tensor));
    const double error =
        normalised_error(got.backward.gradient(tensor).cells(),
                         expected.backward.gradient(tensor).cells(), least_of(expected, tensor));
    CHECK(error <= kRelative);
    worst = std::max(worst, error);
  }
  return worst;
}

Config small_config() {
  Config c;
  c.layers = 2;
  c.heads = 2;
  c.d_model = 22;
  c.d_hidden = 35;
  return c;
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// One call of softmax on a row of its own.
std::vector<float> run_softmax(Backend& backend) {
  const Program program = single_call(Op::kSoftmax, {{1, 3}}, 3);
  Memory memory(program);
  memory.cells(0)[1] = 1;
  memory.run(backend);
  const auto out = memory.cells(1);
  return {out.begin(), out.end()};
}

/// A folder that goes when this does.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("headlight-programs-" + std::to_string(::getpid()));
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("gl backend: whole models of every recipe, forward and backward") {
  if (!compute_ready()) return;
  const auto eigen = make_eigen_backend(1);
  double worst = 0, worst_gradient = 0;
  int loose = 0;
  for_all_recipes([&](Config c) {
    c.d_model = 22;
    c.d_hidden = 35;
    c.residual |= c.block == BlockKind::kAttention;
    const RunShape shape = sized(c, 3, 13, 19);
    Model got(c, shape, drops(c)), expected(c, shape, drops(c)), fast(c, shape, drops(c));
    got.run(shared_backend());
    expected.run(reference());
    fast.run(*eigen);
    // Where softmax is nearly all or nothing, rounding alone moves the numbers farther: then not
    // more than twice as far as it moves Eigen's.
    const double limit = std::max(kRelative, 2 * worst_error(fast, expected));
    loose += limit > kRelative;
    worst = std::max(worst, check_traces(got, expected, limit));
    // From one run: a difference of forward runs grows where softmax is nearly all or nothing.
    got.run(reference());
    got.walk(shared_backend());
    expected.walk(reference());
    worst_gradient = std::max(worst_gradient, check_gradients(got, expected));
  });
  CHECK(loose <= 2);
  CHECK(shared_backend().guards_hold());
  CHECK(shared_backend().fallbacks().empty());
  check_no_messages();
  MESSAGE("largest error of a trace " << worst << ", of a gradient " << worst_gradient);
}

TEST_CASE("gl backend: a run and a walk on the device alone, and a second one makes no buffer") {
  if (!compute_ready()) return;
  GlBackend& gl = shared_backend();
  Model got(small_config(), {2, 13, 19}), expected(small_config(), {2, 13, 19});
  got.run(gl);
  got.walk(gl);
  expected.run(reference());
  expected.walk(reference());
  check_traces(got, expected);
  check_gradients(got, expected);

  const test::CallCounts before = call_counts();
  got.run(gl);
  CHECK(call_counts().uploads == before.uploads);  // nothing has changed
  got.walk(gl);
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
  Model model(small_config(), {2, 13, 19});
  model.run(reference());
  model.walk(reference());
  Backward lean(model.program, KeptGradients::kParameters);
  const auto walk = [&](ParameterGradients how) {
    lean.seed_loss(model.memory, counted_targets(*model.program, model.memory));
    lean.run(gl, model.memory, how);
  };
  walk(ParameterGradients::kFresh);
  const auto expected = std::as_const(model.backward).parameters();
  CHECK(normalised_error(lean.parameters(), expected, 0) <= kRelative);
  const test::CallCounts before = call_counts();
  walk(ParameterGradients::kAdded);
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
  Model got(small_config(), {1, 7, 19}), expected(small_config(), {1, 7, 19});
  expected.run(reference());
  expected.walk(reference());
  gl.set_fetching(false);
  got.run(gl);
  got.walk(gl);
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

TEST_CASE("gl backend: calls that the device cannot take run on the processor") {
  if (!compute_ready()) return;
  GlBackendOptions options = counting_options();
  options.limits = GlDevice::ask(real_gl()).limits;
  options.limits->block_bytes = 4 * 2 * 13 * 22;  // the residual stream fits, the hidden layer not
  GlBackend gl(options);
  Model got(small_config(), {2, 13, 19}), expected(small_config(), {2, 13, 19});
  const auto call_of = [&](std::string_view name) {
    return got.program
        ->calls[static_cast<std::size_t>(got.program->producer(got.program->require(name)))];
  };
  CHECK(gl.supports(*got.program, call_of("blocks.0.resid_mid")));
  CHECK_FALSE(gl.supports(*got.program, call_of("blocks.0.mlp.post")));
  for (int repeat = 0; repeat < 2; ++repeat) {
    got.run(gl);
    got.walk(gl);
    expected.run(reference());
    expected.walk(reference());
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

TEST_CASE("gl backend: a shader that does not compile is named with its file and line") {
  if (!compute_ready()) return;
  std::string broken;  // outlives the backends
  const auto error_with = [&](std::string_view file, std::string_view from) {
    broken = embedded_file(file);
    const std::size_t at = broken.find(from);
    REQUIRE(at != std::string::npos);
    const auto line = 1 + std::count(broken.begin(), broken.begin() + static_cast<long>(at), '\n');
    broken.insert(at, "sunshine ");
    GlBackendOptions options = counting_options();
    options.texts = [&broken, file](std::string_view name) {
      return name == file ? std::string_view(broken) : embedded_file(name);
    };
    GlBackend gl(options);
    const std::string error = error_of([&] { run_softmax(gl); });
    INFO(error);
    CHECK(error.starts_with(std::string(file) + ", line " + std::to_string(line) + ":"));
  };
  error_with("shaders/softmax.comp", "float most");
  error_with("shaders/softmax.comp", "uniform uint rows");
  error_with("shaders/rows.glsl", "return partial[0]");
  error_with("shaders/common.glsl", "const uint kSignBit");
  GlBackendOptions options = counting_options();
  options.texts = [](std::string_view) { return std::string_view(); };
  GlBackend gl(options);
  CHECK(contains(error_of([&] { run_softmax(gl); }), "shaders/softmax.comp"));
}

TEST_CASE("gl backend: compiled programs are kept on disk, and damaged ones made anew") {
  if (!compute_ready()) return;
  if (GlDevice::ask(real_gl()).limits.binary_formats == 0) {
    MESSAGE("skipped: this driver gives no program binaries");
    return;
  }
  const Folder folder;
  const auto start = [&](const GlCalls* calls = nullptr) {
    GlBackendOptions options;
    options.program_folder = folder.path / "programs";
    options.calls = calls;
    GlBackend gl(options);
    const std::vector<float> weights = run_softmax(gl);
    CHECK(weights[1] == doctest::Approx(0.57611688));
    CHECK(gl.programs().compiled() + gl.programs().loaded() == 1);
    return gl.programs().loaded();
  };
  const auto damage = [&](auto&& change) {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path / "programs")) {
      std::string bytes = read_file(entry.path(), 1 << 26);
      change(bytes);
      std::ofstream(entry.path(), std::ios::binary) << bytes;
    }
  };
  CHECK(start() == 0);
  CHECK(start() == 1);
  damage([](std::string& bytes) { bytes.back() ^= 1; });
  CHECK(start() == 0);
  CHECK(start() == 1);
  damage([](std::string& bytes) { bytes.resize(bytes.size() / 2); });
  CHECK(start() == 0);
  damage([](std::string& bytes) { bytes = "x"; });
  CHECK(start() == 0);
  damage([](std::string& bytes) { bytes.clear(); });
  CHECK(start() == 0);
  CHECK(start() == 1);
  // Another version of the driver has programs of its own.
  GlCalls other = real_gl();
  other.get_string = [](GLenum name) {
    return name == GL_VERSION ? reinterpret_cast<const GLubyte*>("4.5 of tomorrow")
                              : glGetString(name);
  };
  CHECK(start(&other) == 0);
  CHECK(start(&other) == 1);
  check_no_messages();
}

TEST_CASE("gl backend: too old, out of memory, gone: an error says so") {
  if (!compute_ready()) return;
  GlBackendOptions options = counting_options();
  options.limits = GlLimits{};
  options.limits->version = 41;
  const std::string old = error_of([&] { GlBackend gl(options); });
  CHECK(contains(old, "needs OpenGL 4.3"));

  static GLenum error = GL_NO_ERROR, reset = GL_NO_ERROR;
  GlCalls failing = real_gl();
  failing.get_error = [] { return std::exchange(error, static_cast<GLenum>(GL_NO_ERROR)); };
  failing.get_graphics_reset_status = [] { return reset; };
  options.limits.reset();
  options.calls = &failing;
  const auto error_after = [&](GLenum next_error, GLenum next_reset) {
    error = GL_NO_ERROR;
    reset = GL_NO_ERROR;
    GlBackend gl(options);
    run_softmax(gl);
    error = next_error;
    reset = next_reset;
    return error_of([&] { run_softmax(gl); });
  };
  CHECK(contains(error_after(GL_OUT_OF_MEMORY, GL_NO_ERROR), "no memory left"));
  CHECK(contains(error_after(GL_NO_ERROR, GL_GUILTY_CONTEXT_RESET), "stopped working"));
  CHECK(contains(error_after(GL_INVALID_OPERATION, GL_NO_ERROR), "GL_INVALID_OPERATION"));
  CHECK(contains(error_after(GL_INVALID_VALUE, GL_NO_ERROR), "shaders/softmax.comp"));
}

TEST_CASE("gl backend: kernels are timed by the device when asked") {
  if (!compute_ready()) return;
  GlBackend& gl = shared_backend();
  Model model(small_config(), {1, 5, 19});
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
    CHECK(timing.file == "shaders/" + std::string(op_info(op).id) + ".comp");
  }
  CHECK(files.size() > 8);
  CHECK(gl.queue().take_timings().empty());
  check_no_messages();
}

TEST_CASE("gl backend: a uniform that is forgotten is refused") {
  if (!compute_ready()) return;
  const GlCalls calls = real_gl();
  const GlDevice device = GlDevice::ask(calls);
  const KernelTable table = KernelTable::of(device.limits);
  GlPrograms programs(calls, device, table, embedded_file, {});
  GlQueue queue(calls, device);
  const GlProgram& zero = programs.get(Kernel::kZero, 0);
  CHECK_THROWS_WITH_AS(queue.dispatch(zero, {0}, {{"cell", std::int64_t{4}}}, {}),
                       doctest::Contains("cells is not set"), std::logic_error);
  CHECK(queue.dispatches() == 0);
}

TEST_CASE("gl debug: the driver's complaints are collected") {
  if (!compute_ready()) return;
  check_no_messages();
  glEnable(0x12345);
  CHECK(test::debug_log().messages().size() == 1);
  CHECK(glGetError() == GL_INVALID_ENUM);
  test::debug_log().clear();
}

TEST_CASE("gl kernels: every one has a file, and smaller devices smaller groups") {
  for (int k = 0; k < kKernels; ++k) {
    const KernelInfo& info = kernel_info(static_cast<Kernel>(k));
    CAPTURE(info.file);
    CHECK_FALSE(embedded_file(info.file).empty());
  }
  GlLimits limits;
  limits.group_invocations = 128;
  limits.shared_bytes = 8192;
  const KernelTable table = KernelTable::of(limits);
  for (int k = 0; k < kKernels; ++k) {
    for (const int variant : {0, 1}) {
      CHECK(table.group(static_cast<Kernel>(k), variant) <= 128);
    }
  }
  CHECK(table.product.shared_bytes() <= 8192);
  CHECK(KernelTable().product.shared_bytes() <= 16384);
}

}  // namespace headlight
