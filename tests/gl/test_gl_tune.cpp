// Kernel tables: what fits, what is kept, what is found to be faster; and that every shader is
// right with tables other than the usual one.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "app/gl/context/embedded.h"
#include "app/gl/tuning/self_test.h"
#include "app/gl/tuning/tune.h"
#include "core/io/atomic_file.h"
#include "tests/gl/test_gl_backend_support.h"
#include "tests/support/gradient_cases.h"

namespace headlight::test_gl_tune {
namespace {

namespace fs = std::filesystem;
using test::check_no_messages;
using test::compute_ready;
using test::counting_options;

/// A folder that goes when this does.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("headlight-tuned-" + std::to_string(::getpid()));
  ~Folder() { fs::remove_all(path); }
};

// Products at the edges of a table's tiles, forward and backward, beside the reference.
void check_products(const ProductTiles& tiles) {
  static const auto kReference = make_reference_backend();
  GlBackendOptions options = counting_options();
  options.guard_cells = 16;
  options.table = KernelTable();
  options.table->product = options.table->few = tiles;
  GlBackend gl(options);
  CAPTURE(tiles.rows);
  CAPTURE(tiles.columns);
  for (const OpTrial& trial : op_trials()) {
    if (!op_info(trial.op).is_product()) continue;
    CAPTURE(op_info(trial.op).id);
    for (const std::int64_t off : {-1, 0, 1}) {
      const std::int64_t r = tiles.rows + off, c = tiles.columns + off;
      const std::int64_t i = (tiles.is_direct() ? 8 : tiles.inner) + off;
      for (const Sizes& z : {Sizes{1, 2, r, c, i, c}, Sizes{2, 1, 3, i, c, r}}) {
        const GradCase row{trial.op, trial.inputs};
        Single got(row, z), expected(row, z);
        got.run(gl);
        expected.run(*kReference);
        CHECK(normalised_error(got.memory[got.out()], expected.memory[got.out()]) <= 1e-10);
        got.run_backward(gl, GradientUse::kWritten);
        expected.run_backward(*kReference, GradientUse::kWritten);
        for (const TensorId in : got.call().in) {
          const double error = gradient_error(got.gradients[in], expected.gradients[in]);
          CHECK(error * error <= 1e-10);
        }
      }
    }
  }
  CHECK(gl.guards_hold());
  CHECK(gl.fallbacks().empty());
}

}  // namespace

TEST_CASE("gl tables: products are right at the edges of other tiles") {
  if (!compute_ready()) return;
  check_products({32, 16, 8, 2, 1});
  check_products({16, 64, 24, 4, 8});
  check_products({16, 128, 0, 16, 8});  // unshared
  check_products({16, 32, 0, 4, 2});
  check_no_messages();
}

TEST_CASE("gl tables: operations pass their self-test with other groups") {
  if (!compute_ready()) return;
  KernelTable small, large;
  small.cells_group = 32;
  small.short_row = 8;
  small.short_row_group = 4;
  small.row_group = 32;
  small.column_group = 5;
  small.row_lanes = 2;
  small.few_rows = 20;
  small.few = {8, 16, 8, 2, 4};
  small.product = {32, 32, 32, 4, 4};
  small.attention.side = 8;
  small.attention.short_width = 64;
  large.cells_group = 512;
  large.short_row = 200;
  large.short_row_group = 64;
  large.row_group = 512;
  large.column_group = 64;
  large.row_lanes = 8;
  large.product = {64, 64, 8, 8, 8};
  for (const KernelTable& table : {small, large}) {
    GlBackendOptions options = counting_options();
    options.guard_cells = 16;
    options.table = table;
    GlBackend gl(options);
    REQUIRE(table.fits(gl.device().limits));
    CHECK(gl.kernel_table() == table);
    const Op rows[] = {Op::kSoftmax, Op::kLayerNorm, Op::kCrossEntropy, Op::kGelu};
    const std::span<const Op> only = table == small ? std::span<const Op>() : rows;
    for (const GlSelfTestFailure& failure : self_test(gl, only).failures)
      FAIL_CHECK(op_info(failure.op).id, " ", failure.backward, " ", failure.shape);
    if (table == small) CHECK(test_training(gl).empty());
    CHECK(gl.guards_hold());
  }
  check_no_messages();
}

TEST_CASE("gl tables: what does not fit a device, or no shader can be compiled with, is told") {
  const GlLimits limits = test::least_limits();
  CHECK(KernelTable().fits(limits));
  const auto fits_with = [&](auto&& change) {
    KernelTable table;
    change(table);
    return table.fits(limits);
  };
  CHECK_FALSE(fits_with([](KernelTable& t) { t.cells_group = 0; }));
  CHECK_FALSE(fits_with([](KernelTable& t) { t.cells_group = 1025; }));
  CHECK_FALSE(fits_with([](KernelTable& t) { t.row_group = 100; }));  // no power of two
  CHECK_FALSE(fits_with([](KernelTable& t) { t.row_group = 2048; }));
  CHECK_FALSE(fits_with([](KernelTable& t) { t.short_row_group = 0; }));
  CHECK_FALSE(fits_with([](KernelTable& t) { t.short_row = -1; }));
  CHECK_FALSE(fits_with([](KernelTable& t) { t.row_lanes = 3; }));
  CHECK_FALSE(fits_with([](KernelTable& t) { t.column_group = 512; }));
  CHECK_FALSE(fits_with([](KernelTable& t) { t.product.rows = 66; }));  // not whole blocks
  CHECK_FALSE(fits_with([](KernelTable& t) { t.product.columns = 62; }));
  CHECK_FALSE(fits_with([](KernelTable& t) { t.product.inner = -1; }));
  CHECK_FALSE(fits_with([](KernelTable& t) { t.product.block_rows = 0; }));
  CHECK_FALSE(fits_with([](KernelTable& t) { t.product.inner = 64; }));  // 33280 bytes
  CHECK_FALSE(fits_with([](KernelTable& t) {
    t.product.block_rows = 1;
    t.product.rows = 65;
  }));
  CHECK_FALSE(fits_with([](KernelTable& t) { t.product = {64, 64, 8, 1, 1}; }));
  CHECK_FALSE(fits_with([](KernelTable& t) { t.few = {64, 64, 0, 1, 1}; }));
  CHECK_FALSE(fits_with([](KernelTable& t) { t.few_rows = -1; }));
  CHECK_FALSE(fits_with([](KernelTable& t) { t.attention.side = 12; }));
  CHECK_FALSE(fits_with([](KernelTable& t) { t.attention.side = 32; }));  // 50 KiB shared
  CHECK_FALSE(fits_with([](KernelTable& t) { t.attention.short_width = 24; }));
  CHECK_FALSE(fits_with([](KernelTable& t) { t.attention.short_width = 256; }));
  GlLimits small = limits;
  small.group_invocations = 128;
  small.shared_bytes = 8192;
  CHECK_FALSE(KernelTable().fits(small));
  for (const GlLimits& one : {limits, small}) {
    const KernelTable start = KernelTable::of(one);
    CHECK(start.fits(one));
    for (const TunePart part : kTuneParts) {
      const auto tables = tune_candidates(part, start, one);
      CHECK(tables.front() == start);
      CHECK(tables.size() > 1);
      for (std::size_t i = 0; i < tables.size(); ++i) {
        CHECK(tables[i].fits(one));
        for (std::size_t j = 0; j < i; ++j) {
          CHECK(tables[i] != tables[j]);
          CHECK(tune_words(part, tables[i]) != tune_words(part, tables[j]));
        }
        for (const TunePart other : kTuneParts) {
          if (other != part) CHECK(tune_words(other, tables[i]) == tune_words(other, start));
        }
      }
    }
  }
}

TEST_CASE("gl tables: what is kept for a device is used, and what is no use is told") {
  if (!compute_ready()) return;
  const Folder folder;
  GlBackendOptions options = counting_options();
  options.tuned_folder = folder.path;
  const KernelTable usual = GlBackend(options).kernel_table();
  const GlDevice device = GlDevice::ask(real_gl());
  CHECK(usual == KernelTable::of(device));
  KernelTable tuned = usual;
  tuned.product = {32, 32, 16, 2, 2};
  tuned.row_group = 64;
  keep_tuned(folder.path, device, tuned);
  {
    const GlBackend gl(options);
    CHECK(gl.kernel_table() == tuned);
    CHECK(gl.tuned_problem().empty());
  }
  GlDevice another = device;
  another.renderer += " II";
  CHECK_FALSE(read_tuned(folder.path, another).table);
  CHECK(read_tuned(folder.path, another).problem.empty());
  CHECK_FALSE(read_tuned({}, device).table);

  const fs::path file = tuned_file(folder.path, device);
  const std::string text = read_file(file, 1 << 16);
  const auto refused = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    const GlBackend gl(options);
    CHECK(gl.kernel_table() == usual);
    const std::string said = say(Language::kEnglish, gl.tuned_problem());
    CHECK(said.find(file.string()) != std::string::npos);
    CHECK(said.find("--forget") != std::string::npos);
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    const std::size_t at = other.find(from);
    REQUIRE(at != std::string::npos);
    return other.replace(at, from.size(), to);
  };
  refused("");
  refused("{}");
  refused("[3]");
  refused(text.substr(0, text.size() / 2));
  refused(with("\"row_group\": 64", "\"row_group\": 64.5"));
  refused(with("\"row_group\": 64", "\"row_group\": \"64\""));
  refused(with("\"row_group\": 64", "\"row_group\": 4294967360"));
  refused(with("\"row_group\": 64", "\"row_group\": 65536"));
  refused(with("\"row_group\": 64", "\"row_grope\": 64"));
  refused(with("\"few\": {", "\"fee\": {"));
  refused(with("\"side\": 16", "\"side\": 12"));
  refused(with("\"inner\": 16", "\"inner\": 16000"));
  refused(with("\"block_rows\": 2", "\"block_rows\": 0"));
  refused(with("kernel table 2", "kernel table 3"));
  // A device that has become smaller, by its driver say.
  std::ofstream(file, std::ios::binary) << text;
  options.limits = device.limits;
  options.limits->group_invocations = 128;
  CHECK_FALSE(GlBackend(options).tuned_problem().empty());
  options.limits.reset();
  CHECK(GlBackend(options).kernel_table() == tuned);
  CHECK(forget_tuned(folder.path, device));
  CHECK_FALSE(forget_tuned(folder.path, device));
  CHECK(GlBackend(options).kernel_table() == usual);
  check_no_messages();
}

TEST_CASE("gl tune: candidates are measured, and one that computes wrongly is never taken") {
  if (!compute_ready()) return;
  // A driver that gets groups of 64 wrong.
  std::string text(embedded_file("shaders/gelu.comp"));
  const std::string right = "normal_cdf(x[i], bell)";
  const std::size_t at = text.find(right);
  REQUIRE(at != std::string::npos);
  text.insert(at, "(GROUP == 64 ? 1.01 : 1.0) * ");
  GlBackendOptions options = counting_options();
  options.texts = [&text](std::string_view name) {
    return name == "shaders/gelu.comp" ? std::string_view(text) : embedded_file(name);
  };
  const GlDevice device = GlDevice::ask(real_gl());
  const GlLimits& limits = device.limits;
  const KernelTable start = KernelTable::of(device);
  std::vector<TuneTrial> trials;
  const TunePart parts[] = {TunePart::kCells};
  const KernelTable best = tune(options, start, parts, {0, 600},
                                [&](const TuneTrial& trial) { trials.push_back(trial); });
  const auto candidates = tune_candidates(TunePart::kCells, start, limits);
  REQUIRE(trials.size() >= candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const TuneTrial& trial = trials[i];
    CHECK(trial.table == candidates[i]);
    CHECK(trial.is_start == (i == 0));
    CHECK_FALSE(trial.is_taken);
    const bool wrong = trial.table.cells_group == 64;
    CHECK(trial.problem.empty() != wrong);
    if (wrong) CHECK(trial.problem.find("gelu") != std::string::npos);
    CHECK((trial.milliseconds > 0) != wrong);
  }
  CHECK(best.cells_group != 64);
  const bool taken = trials.size() > candidates.size();
  CHECK(taken == (best != start));
  if (taken) CHECK(trials.back().table == best);
  if (taken) CHECK(trials.back().is_taken);

  // Without time nothing but the start is tried, and it stays.
  trials.clear();
  CHECK(tune(options, start, parts, {0, -1},
             [&](const TuneTrial& trial) { trials.push_back(trial); }) == start);
  REQUIRE(trials.size() == candidates.size());
  for (std::size_t i = 1; i < trials.size(); ++i) CHECK(trials[i].problem == "the time is up");
  check_no_messages();
}

}  // namespace headlight::test_gl_tune
