// The self-test of a graphics card: passes here, names what is wrong, and is kept by driver and
// shaders. And the folders of files that can be made again.
#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>

#include "app/gl/context/cache.h"
#include "app/gl/context/embedded.h"
#include "app/gl/tuning/self_test.h"
#include "core/base/random.h"
#include "core/check/op_trials.h"
#include "core/io/atomic_file.h"
#include "tests/gl/test_gl_backend_support.h"
#include "tests/support/changed_text.h"

namespace headlight::test_gl_self_test {
namespace {

namespace fs = std::filesystem;
using test::check_no_messages;
using test::compute_ready;
using test::counting_options;
using test::shared_backend;

/// A folder that goes when this does.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("headlight-kept-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : fs::directory_iterator(path))
      all.insert(entry.path().filename().string());
    return all;
  }
};

// Of a backend with one wrong shader.
GlBackendOptions wrong_options(std::string_view file, std::string_view from, std::string_view to) {
  GlBackendOptions options = counting_options();
  options.table = shared_backend().kernel_table();
  options.texts = test::texts_with(file, from, to);
  return options;
}

}  // namespace

TEST_CASE("trials: every operation is among them") {
  std::set<Op> tried;
  for (const OpTrial& trial : op_trials()) tried.insert(trial.op);
  CHECK(tried.size() == all_ops().size());
}

TEST_CASE("self-test: every operation passes here") {
  if (!compute_ready()) return;
  GlBackend& gl = shared_backend();
  const std::int64_t before = gl.queue().dispatches();
  const GlSelfTest test = self_test(gl);
  for (const GlSelfTestFailure& failure : test.failures) {
    FAIL_CHECK(op_info(failure.op).id, " ", failure.backward, " ", failure.shape, " error ",
               failure.error, " limit ", failure.limit, " ",
               say(Language::kEnglish, failure.message));
  }
  CHECK(test.passed);
  CHECK_FALSE(test.kept);
  // Every kernel of an operation has run, those of short and of long rows too.
  CHECK(gl.queue().dispatches() - before > 200);
  CHECK(gl.guards_hold());
  check_no_messages();
}

TEST_CASE("self-test: a wrong shader is named, and nothing else") {
  if (!compute_ready()) return;
  GlBackend wrong(wrong_options("shaders/gelu.comp", "normal_cdf(x[i], bell)",
                                "1.01 * normal_cdf(x[i], bell)"));
  GlSelfTest test = self_test(wrong);
  CHECK_FALSE(test.passed);
  REQUIRE(test.failures.size() == 1);
  CHECK(test.failures[0].op == Op::kGelu);
  CHECK_FALSE(test.failures[0].backward);
  CHECK(test.failures[0].error > test.failures[0].limit);
  CHECK(test.failures[0].message.empty());
  CHECK(test.failures[0].shape.find("1") != std::string::npos);
  check_no_messages();
}

TEST_CASE("self-test: what is wrong only at some shapes is found") {
  if (!compute_ready()) return;
  const auto only_failure = [](std::string_view from, std::string_view to) {
    CAPTURE(to);
    GlBackend wrong(wrong_options("shaders/softmax_backward.comp", from, to));
    const GlSelfTest test = self_test(wrong);
    REQUIRE(test.failures.size() == 1);
    CHECK(test.failures[0].op == Op::kSoftmax);
    CHECK(test.failures[0].backward);
    return test.failures[0].shape;
  };
  // A gradient that is not added to what is there; rows that are longer than a group is wide, whose
  // last cells nobody writes.
  CHECK(only_failure("before(", "0.0 * before(").find("65") != std::string::npos);
  const std::string loop = "j < columns; j += uint(GROUP)) {\n    float weight";
  const auto up_to = [&](const std::string& most) {
    return "j < min(columns, uint(" + most + loop.substr(loop.find(';')).insert(0, "))");
  };
  CHECK(only_failure(loop, up_to("max(GROUP, 64)")).find("257") != std::string::npos);
  CHECK(only_failure(loop, up_to("GROUP")).find("37") != std::string::npos);
  check_no_messages();
}

TEST_CASE("self-test: a shader that does not compile fails its operation, and the rest is tried") {
  if (!compute_ready()) return;
  GlBackend broken(wrong_options("shaders/scores.comp", "uniform uint queries",
                                 "uniform uint sunshine queries"));
  const GlSelfTest test = self_test(broken);
  REQUIRE(test.failures.size() == 1);
  CHECK(test.failures[0].op == Op::kScores);
  CHECK(
      say(Language::kEnglish, test.failures[0].message).starts_with("shaders/scores.comp, line "));
}

TEST_CASE("self-test: a device that is gone is an error, not a failure of an operation") {
  if (!compute_ready()) return;
  static GLenum reset = GL_NO_ERROR;
  GlCalls failing = real_gl();
  failing.get_graphics_reset_status = [] { return reset; };
  GlBackendOptions options = counting_options();
  options.calls = &failing;
  GlBackend gl(options);
  reset = GL_GUILTY_CONTEXT_RESET;
  CHECK_THROWS_WITH_AS(self_test(gl), doctest::Contains("stopped working"), Error);
  reset = GL_NO_ERROR;
}

TEST_CASE("self-test: a result is kept by driver and shaders, and a damaged file tested anew") {
  if (!compute_ready()) return;
  const Folder folder;
  const auto kept = folder.path / "self_test";
  GlBackend& gl = shared_backend();
  CHECK_FALSE(known_self_test(gl, {}).kept);
  CHECK_FALSE(fs::exists(kept));
  CHECK_FALSE(known_self_test(gl, kept).kept);
  std::int64_t before = gl.queue().dispatches();
  const GlSelfTest second = known_self_test(gl, kept);
  CHECK(second.kept);
  CHECK(second.passed);
  CHECK(gl.queue().dispatches() == before);  // nothing ran
  CHECK_FALSE(known_self_test(gl, kept, true).kept);
  CHECK(gl.queue().dispatches() > before);

  const fs::path file = fs::directory_iterator(kept)->path();
  const std::string text = read_file(file, 1 << 20);
  const auto with = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    before = gl.queue().dispatches();
    const GlSelfTest test = known_self_test(gl, kept);
    CHECK(test.passed);
    CHECK(test.kept == (gl.queue().dispatches() == before));
    CHECK(read_file(file, 1 << 20) == text);
    return test.kept;
  };
  CHECK(with(text));
  CHECK_FALSE(with(""));
  CHECK_FALSE(with("{"));
  CHECK_FALSE(with("[1, 2]"));
  CHECK_FALSE(with(text.substr(0, text.size() / 2)));
  std::string other = text;
  other.replace(other.find("\"passed\": true"), 14, "\"passed\": false");
  CHECK_FALSE(with(other));  // failed, without a failure
  other = text;
  other[other.find("\"identity\": \"") + 13] ^= 1;
  CHECK_FALSE(with(other));
  check_no_messages();
}

TEST_CASE("self-test: of a card that is wrong once nothing more is tried") {
  if (!compute_ready()) return;
  const auto steps = [](GlBackend& gl) {
    GlSelfTestRun run(gl, {});
    int made = 0;
    for (; !run.is_done(); ++made) run.step();
    return made;
  };
  GlBackend wrong(wrong_options("shaders/relu.comp", "> 0.0 ? x[i]", "> 0.0 ? 2.0 * x[i]"));
  const int all = steps(shared_backend()), until_wrong = steps(wrong);
  CHECK(until_wrong > 1);
  CHECK(until_wrong < all - training_trials());
  check_no_messages();
}

TEST_CASE("self-test: another driver, other shaders: another file; a failure is kept as it is") {
  if (!compute_ready()) return;
  const Folder folder;
  known_self_test(shared_backend(), folder.path);
  const auto first = folder.names();
  REQUIRE(first.size() == 1);
  GlBackend wrong(wrong_options("shaders/relu.comp", "> 0.0 ? x[i]", "> 0.0 ? 2.0 * x[i]"));
  const GlSelfTest fresh = known_self_test(wrong, folder.path);
  CHECK_FALSE(fresh.kept);
  CHECK(folder.names().size() == 2);
  const GlSelfTest again = known_self_test(wrong, folder.path);
  CHECK(again.kept);
  CHECK_FALSE(again.passed);
  REQUIRE(again.failures.size() == 1);
  REQUIRE(fresh.failures.size() == 1);
  CHECK(again.failures[0].op == Op::kRelu);
  CHECK(again.failures[0].backward == fresh.failures[0].backward);
  CHECK(again.failures[0].shape == fresh.failures[0].shape);
  CHECK(again.failures[0].error == fresh.failures[0].error);
  CHECK(again.failures[0].limit == fresh.failures[0].limit);

  GlCalls tomorrow = real_gl();
  tomorrow.get_string = [](GLenum name) {
    return name == GL_VERSION ? reinterpret_cast<const GLubyte*>("4.5 of tomorrow")
                              : glGetString(name);
  };
  GlBackendOptions options = counting_options();
  options.calls = &tomorrow;
  GlBackend gl(options);
  CHECK_FALSE(known_self_test(gl, folder.path).kept);
  CHECK(folder.names().size() == 3);
  CHECK(known_self_test(gl, folder.path).kept);
  CHECK(known_self_test(shared_backend(), folder.path).kept);
  check_no_messages();
}

TEST_CASE("self-test: training is right here, and what is wrong in it alone is found and kept") {
  if (!compute_ready()) return;
  CHECK(test_training(shared_backend()).empty());
  CHECK(shared_backend().guards_hold());
  const Folder folder;
  const auto options = [&](std::string_view file, std::string_view from, std::string_view to) {
    GlBackendOptions wrong = wrong_options(file, from, to);
    wrong.program_folder = folder.path / "programs";  // the others are compiled once
    return wrong;
  };
  const auto failing = [&](std::string_view file, std::string_view from, std::string_view to) {
    GlBackend gl(options(file, from, to));
    std::vector<OptimizerKind> kinds;
    for (const GlTrainingFailure& failure : test_training(gl)) {
      CHECK(failure.error > failure.limit);
      CHECK(failure.message.empty());
      kinds.push_back(failure.optimizer);
    }
    return kinds;
  };
  const std::vector<OptimizerKind> all = {OptimizerKind::kSgd, OptimizerKind::kAdam,
                                          OptimizerKind::kAdamW};
  // Attention beyond its first tile; the norm that is clipped; one optimizer.
  CHECK(failing("shaders/attention.glsl", "i < queries && at < inner ?",
                "i < min(queries, uint(TILE)) && at < inner ?") == all);
  CHECK(failing("shaders/clip.comp", "factor * g", "1.01 * factor * g") == all);
  CHECK(failing("shaders/sgd_momentum.comp", "momentum *", "0.9 * momentum *") ==
        std::vector<OptimizerKind>{OptimizerKind::kSgd});

  GlBackend broken(options("shaders/adam.comp", "void main", "void mane"));
  const GlSelfTest fresh = known_self_test(broken, folder.path);
  const GlSelfTest again = known_self_test(broken, folder.path);
  CHECK(again.kept);
  for (const GlSelfTest& test : {fresh, again}) {
    CHECK_FALSE(test.passed);
    CHECK(test.failures.empty());
    REQUIRE(test.training.size() == 2);
    CHECK(test.training[0].optimizer == OptimizerKind::kAdam);
    CHECK(test.training[1].optimizer == OptimizerKind::kAdamW);
    CHECK(say(Language::kEnglish, test.training[0].message).starts_with("shaders/adam.comp"));
  }
}

TEST_CASE("cache: the files that were used last stay, and what is not ours stays") {
  const Folder folder;
  const auto now = fs::file_time_type::clock::now();
  const auto write = [&](const std::string& name, std::size_t bytes, int days) {
    std::ofstream(folder.path / name) << std::string(bytes, 'x');
    fs::last_write_time(folder.path / name, now - std::chrono::hours(24 * days));
  };
  for (int i = 0; i < 8; ++i) write(cache_name(static_cast<std::uint64_t>(i), ".bin"), 100, i);
  const std::set<std::string> foreign = {"notes.txt", "0123456789abcdef.txt", "0123.bin",
                                         "0123456789abcdeg.bin", "X0123456789abcdef.bin"};
  for (const std::string& name : foreign) write(name, 5000, 900);
  const std::string folder_like_ours = cache_name(99, ".bin"), link = cache_name(98, ".bin");
  fs::create_directory(folder.path / folder_like_ours);
  fs::create_symlink(folder.path / "notes.txt", folder.path / link);
  const auto left = [&] {
    std::set<int> ours;
    const auto names = folder.names();
    for (int i = 0; i < 8; ++i) {
      if (names.contains(cache_name(static_cast<std::uint64_t>(i), ".bin"))) ours.insert(i);
    }
    for (const std::string& name : foreign) CHECK(names.contains(name));
    CHECK(names.contains(folder_like_ours));
    CHECK(names.contains(link));
    return ours;
  };
  prune_cache(folder.path, ".bin", {100, 100000});
  CHECK(left() == std::set<int>{0, 1, 2, 3, 4, 5, 6, 7});
  mark_used(folder.path / cache_name(7, ".bin"));
  prune_cache(folder.path, ".bin", {6, 100000});
  CHECK(left() == std::set<int>{0, 1, 2, 3, 4, 7});
  prune_cache(folder.path, ".bin", {6, 399});
  CHECK(left() == std::set<int>{0, 1, 7});
  prune_cache(folder.path / "nowhere", ".bin", {0, 0});
  prune_cache(folder.path, ".bin", {0, 0});
  CHECK(left().empty());
}

TEST_CASE("cache: the folder of compiled programs is pruned when programs are kept") {
  if (!compute_ready()) return;
  if (GlDevice::ask(real_gl()).limits.binary_formats == 0) {
    MESSAGE("skipped: this driver gives no program binaries");
    return;
  }
  const Folder folder;
  for (std::uint64_t i = 0; i < 600; ++i) {
    const fs::path path = folder.path / cache_name(scatter(i), ".bin");
    std::ofstream(path) << "old";
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(100));
  }
  std::ofstream(folder.path / "mine.txt") << "mine";
  GlBackendOptions options;
  options.program_folder = folder.path;
  const Program program = trial_program(Op::kRelu, {{3}}, 3);
  std::vector<float> x = {-1, 0, 2}, y(3);
  float* const memory[] = {x.data(), y.data()};
  for (int time = 0; time < 2; ++time) {
    GlBackend gl(options);
    gl.run(program, program.calls, memory);
    CHECK(y == std::vector<float>{0, 0, 2});
    CHECK(gl.programs().loaded() == time);
  }
  CHECK(folder.names().size() == 501);
  CHECK(folder.names().contains("mine.txt"));
  check_no_messages();
}

// ---- in other orders ----

// What a kernel computes must not depend on the order in which a device takes its invocations and
// its groups. A software renderer takes them one after the other, always in the same order, so that
// a barrier that is missing does no harm there: here they come in others.
namespace {

struct Change {
  std::string_view from, to;
};
using Changes = std::vector<Change>;

// Each invocation is the one that stands as far from the other end.
const Changes kInvocations = {
    {"gl_LocalInvocationIndex",
     "(gl_WorkGroupSize.x * gl_WorkGroupSize.y - 1u - gl_LocalInvocationIndex)"},
    {"gl_LocalInvocationID.x", "(gl_WorkGroupSize.x - 1u - gl_LocalInvocationID.x)"},
    {"gl_LocalInvocationID.y", "(gl_WorkGroupSize.y - 1u - gl_LocalInvocationID.y)"}};
const Changes kGroups = {{"gl_WorkGroupID.x", "(gl_NumWorkGroups.x - 1u - gl_WorkGroupID.x)"},
                         {"gl_WorkGroupID.y", "(gl_NumWorkGroups.y - 1u - gl_WorkGroupID.y)"},
                         {"gl_WorkGroupID.z", "(gl_NumWorkGroups.z - 1u - gl_WorkGroupID.z)"}};

std::string changed(std::string text, const Changes& changes) {
  for (const Change& change : changes) {
    std::size_t at = 0;
    while ((at = text.find(change.from, at)) != text.npos) {
      text.replace(at, change.from.size(), change.to);
      at += change.to.size();
    }
  }
  return text;
}

GlTexts texts_in_order(const Changes& changes) {
  auto texts = std::make_shared<std::map<std::string, std::string, std::less<>>>();
  return [texts, changes](std::string_view file) -> std::string_view {
    const auto [known, is_new] = texts->try_emplace(std::string(file));
    if (is_new) known->second = changed(std::string(embedded_file(file)), changes);
    return known->second;
  };
}

// The operations and optimizers that are wrong in this order, and where.
std::string wrong_in_order(const Changes& changes, std::span<const Op> only = {}) {
  GlBackendOptions options = test::counting_options();
  options.table = KernelTable::of(GlDevice::ask(real_gl()).limits);
  options.texts = texts_in_order(changes);
  GlBackend gl(options);
  std::string wrong;
  for (const GlSelfTestFailure& failure : self_test(gl, only).failures) {
    wrong += std::string(op_info(failure.op).id) + (failure.backward ? " backward " : " ") +
             failure.shape + ' ' + say(Language::kEnglish, failure.message) + '\n';
  }
  if (!only.empty()) return wrong;
  for (const GlTrainingFailure& failure : test_training(gl)) {
    wrong += std::string(word(failure.optimizer)) + ' ' + std::to_string(failure.error) + ' ' +
             say(Language::kEnglish, failure.message) + '\n';
  }
  return wrong;
}

}  // namespace

TEST_CASE("self-test: kernels are right with invocations and groups from the last to the first") {
  if (!compute_ready()) return;
  Changes both = kInvocations;
  both.insert(both.end(), kGroups.begin(), kGroups.end());
  CHECK(wrong_in_order(both) == "");
  check_no_messages();
}

// A card takes the invocations of a small group all at once, where no barrier is missed.
TEST_CASE("self-test: a barrier that is missing is found in one order or the other") {
  if (!compute_ready()) return;
  if (!is_software_renderer(shared_backend().device().renderer)) return;
  const Change without[] = {
      {"partial[me] = x;  // cell\n  sync_group();\n", "partial[me] = x;  // cell\n"},
      {"sync_group();\n  partial[me] = x;", "partial[me] = x;"}};
  constexpr Op kOnly[] = {Op::kSoftmax, Op::kLayerNorm};
  for (const Change& one : without) {
    CAPTURE(one.from);
    Changes changes = {one};
    std::string wrong = wrong_in_order(changes, kOnly);
    changes.insert(changes.end(), kInvocations.begin(), kInvocations.end());
    wrong += wrong_in_order(changes, kOnly);
    CHECK(wrong != "");
  }
}

}  // namespace headlight::test_gl_self_test
