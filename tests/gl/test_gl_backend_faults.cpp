// What the GPU backend does when something is amiss: a shader that does not compile, a device that
// is too old, too small or gone, a damaged program on disk.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <utility>

#include "app/gl/context/embedded.h"
#include "core/io/atomic_file.h"
#include "tests/gl/test_gl_backend_support.h"
#include "tests/support/changed_text.h"
#include "tests/support/error_text.h"
#include "tests/support/gradient_cases.h"

namespace headlight::test_gl_backend_faults {
namespace {

using test::check_no_messages;
using test::compute_ready;
using test::counting_options;
using test::shared_backend;

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

TEST_CASE("gl backend: a shader that does not compile is named with its file and line") {
  if (!compute_ready()) return;
  const auto error_with = [](std::string_view file, std::string_view from) {
    const std::string_view text = embedded_file(file);
    const std::string_view before = text.substr(0, text.find(from));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    GlBackendOptions options = counting_options();
    options.texts = test::texts_with(file, from, "sunshine " + std::string(from));
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
  CHECK(has(error_of([&] { run_softmax(gl); }), "shaders/softmax.comp"));
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
  static int given = 0;  // programs that the driver was given
  GlCalls counting = real_gl();
  counting.program_binary = [](GLuint program, GLenum format, const void* bytes, GLsizei length) {
    ++given;
    glProgramBinary(program, format, bytes, length);
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
  CHECK(start(&counting) == 0);
  CHECK(given == 0);
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
  CHECK(has(old, "needs OpenGL 4.3"));

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
  CHECK(has(error_after(GL_OUT_OF_MEMORY, GL_NO_ERROR), "no memory left"));
  CHECK(has(error_after(GL_NO_ERROR, GL_GUILTY_CONTEXT_RESET), "stopped working"));
  CHECK(has(error_after(GL_INVALID_OPERATION, GL_NO_ERROR), "GL_INVALID_OPERATION"));
  CHECK(has(error_after(GL_INVALID_VALUE, GL_NO_ERROR), "shaders/softmax.comp"));
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

TEST_CASE("gl tensors: buffers that a smaller program has no use for are given back") {
  if (!compute_ready()) return;
  const GlCalls calls = real_gl();
  GlTensors tensors(calls);
  tensors.begin(2, 1);
  tensors.to_write(0, 4);
  tensors.to_write(1, 4);
  CHECK(tensors.newer_slots().size() == 2);
  tensors.begin(1, 1);
  CHECK(tensors.buffer(1) != 0);  // a part of the same program
  tensors.begin(1, 2);
  CHECK(tensors.newer_slots().empty());
  CHECK(tensors.buffer(0) != 0);
  CHECK(tensors.buffer(1) == 0);
  check_no_messages();
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
  CHECK(table.attention.shared_bytes() <= 8192);
  CHECK(KernelTable().attention.shared_bytes() <= 16384);
}

}  // namespace headlight::test_gl_backend_faults
