// headlight op: one operation on the tensors of a file, against PyTorch's numbers.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/check/single_op.h"
#include "test_paths.h"
#include "tests/cli/child.h"

namespace headlight::test_cli_op {

using namespace headlight;
using namespace headlight::test;

namespace {

const std::string kOps = std::string(HEADLIGHT_TEST_DIR) + "reference/ops/";

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(kOps)) {
    const std::string name = file.path().filename().string();
    const std::size_t at = name.find(".out.safetensors");
    if (at != std::string::npos) names.push_back(name.substr(0, at));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result run_case(const std::string& name, const std::string& backend, const std::string& out) {
  const SafetensorsFile file = read_safetensors(kOps + name + ".out.safetensors");
  Args args = {"op",        file.metadata.at("op"),
               "--in",      kOps + name + ".in.safetensors",
               "--backend", backend,
               "--out",     out};
  for (const auto& word : file.metadata) {
    if (word.first.starts_with("attr."))
      args = joined(args, {"--attr", word.first.substr(5) + "=" + word.second});
  }
  return run(args);
}

// Σ (got − expected)² / Σ expected²
double error_of(const std::vector<float>& got, const std::vector<float>& expected) {
  double error = 0, power = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isinf(expected[i]) && got[i] == expected[i]) continue;
    error += std::pow(static_cast<double>(got[i]) - expected[i], 2);
    power += std::pow(static_cast<double>(expected[i]), 2);
  }
  return error / power;
}

}  // namespace

TEST_CASE("op: every operation has PyTorch's numbers, on every backend") {
  const Folder folder;
  const std::string out = folder / "out.safetensors";
  const bool gl = run_case("softmax", "gl", out).status == 0;
  if (!gl) std::cout << "SKIPPED: --backend gl" << std::endl;
  CHECK(cases().size() >= 21);
  for (const std::string& name : cases()) {
    const SafetensorsFile expected = read_safetensors(kOps + name + ".out.safetensors");
    for (const char* backend : {"reference", "cpu", "gl"}) {
      if (std::string(backend) == "gl" && !gl) continue;
      CAPTURE(name);
      CAPTURE(backend);
      const Result said = run_case(name, backend, out);
      CAPTURE(said.err);
      REQUIRE(said.status == 0);
      const SafetensorsFile got = read_safetensors(out);
      CHECK(got.entries.at("out").shape == expected.entries.at("out").shape);
      CHECK(error_of(tensor_as_float(got, "out"), tensor_as_float(expected, "out")) <= 1e-10);
      CHECK(got.metadata.at("op") == expected.metadata.at("op"));
    }
  }
}

TEST_CASE("op: a row that may look nowhere gives zeros") {
  const Folder folder;
  const std::string out = folder / "out.safetensors";
  REQUIRE(run_case("attention-boolean", "cpu", out).status == 0);
  const SafetensorsFile got = read_safetensors(out);
  const std::vector<float> cells = tensor_as_float(got, "out");
  const std::vector<float> weights = tensor_as_float(got, "weights");
  REQUIRE(cells.size() == 2 * 4 * 3 * 7);
  REQUIRE(weights.size() == 2 * 4 * 3 * 6);
  for (std::size_t head = 0; head < 4; ++head) {  // item 1, query 2
    const std::size_t row = (4 + head) * 3 + 2;
    for (std::size_t i = 0; i < 7; ++i) CHECK(cells[row * 7 + i] == 0);
    for (std::size_t i = 0; i < 6; ++i) CHECK(weights[row * 6 + i] == 0);
  }
}

namespace {

// A file with one tensor "x" of a single row.
std::string file_of(const Folder& folder, const std::vector<float>& row) {
  const std::string n = std::to_string(row.size());
  const std::string header = "{\"x\":{\"dtype\":\"F32\",\"shape\":[1," + n +
                             "],\"data_offsets\":[0," + std::to_string(4 * row.size()) + "]}}";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  bytes += header + std::string(4 * row.size(), '\0');
  std::memcpy(bytes.data() + 8 + header.size(), row.data(), 4 * row.size());
  return folder.write("x.safetensors", bytes);
}

struct Extreme {
  const char *op, *attribute;
  std::vector<float> row, expected;  // by hand
};

}  // namespace

// Attention of 3 queries over 3 keys; the first may look nowhere, the second not at the last key,
// whose value has a NaN in its first cell.
TEST_CASE("op: NaN in a value comes through to every query, on every backend alike") {
  const Folder folder;
  const std::string header = R"({"q":{"dtype":"F32","shape":[1,1,3,2],"data_offsets":[0,24]},)"
                             R"("k":{"dtype":"F32","shape":[1,1,3,2],"data_offsets":[24,48]},)"
                             R"("v":{"dtype":"F32","shape":[1,1,3,2],"data_offsets":[48,72]},)"
                             R"("mask":{"dtype":"BOOL","shape":[1,1,3,3],"data_offsets":[72,81]}})";
  std::vector<float> cells = {1, 0, 0, 1, 1, 1, 1, 2, 2, 1, 0, 1, 1, 2, 3, 4, 0, 6};
  cells[16] = std::numeric_limits<float>::quiet_NaN();
  const char mask[] = {0, 0, 0, 1, 1, 0, 1, 1, 1};
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size() & 0xff);
  bytes[1] = static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(cells.data()), 72);
  bytes.append(mask, 9);
  const std::string in = folder.write("a.safetensors", bytes), out = folder / "o.safetensors";
  for (const char* backend : {"reference", "cpu", "gl"}) {
    if (std::string(backend) == "gl" && run_case("softmax", "gl", out).status != 0) continue;
    CAPTURE(backend);
    run_well({"op", "attention", "--in", in, "--out", out, "--backend", backend});
    const std::vector<float> got = tensor_as_float(read_safetensors(out), "out");
    REQUIRE(got.size() == 6);
    for (std::size_t query = 0; query < 3; ++query) CHECK(std::isnan(got[2 * query]));
    CHECK(got[1] == 0);
    const double near = 1 / (1 + std::exp(1 / std::sqrt(2.0)));  // q₁ = (0, 1), on k₁ = (2, 1)
    CHECK(got[3] == doctest::Approx(2 * (1 - near) + 4 * near));
  }
}

TEST_CASE("op: numbers far from 1, infinite ones and NaN give the same on every backend") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float third = std::sqrt(1.5f);
  const std::vector<Extreme> cases = {
      {"layer-norm", "epsilon=1e-5", {1e20f, -1e20f, 1e20f, -1e20f}, {1, -1, 1, -1}},
      {"layer-norm", "epsilon=0", {1e20f, -1e20f, 0}, {third, -third, 0}},
      {"layer-norm", "epsilon=0", {1e-22f, -1e-22f, 1e-22f, -1e-22f}, {1, -1, 1, -1}},
      {"layer-norm", "epsilon=0", {1e-22f, -1e-22f, 0}, {third, -third, 0}},
      {"layer-norm", "epsilon=1e-5", {1e-22f, -1e-22f}, {3.1622776e-20f, -3.1622776e-20f}},
      {"layer-norm", "epsilon=1e-5", {5, 5, 5}, {0, 0, 0}},
      {"layer-norm", "epsilon=1e-5", {1, kInf, 0}, {nan, nan, nan}},
      {"layer-norm", "epsilon=1e-5", {1, nan, 0}, {nan, nan, nan}},
      {"rms-norm", "epsilon=0", {3e25f, -3e25f, 3e25f, -3e25f}, {1, -1, 1, -1}},
      {"rms-norm", "epsilon=0", {1e-25f, -1e-25f}, {1, -1}},
      {"log-softmax", "", {0, kInf, 1}, {nan, nan, nan}},
      {"log-softmax", "", {0, nan, 1}, {nan, nan, nan}},
      {"log-softmax", "", {-kInf, -kInf}, {nan, nan}},
      {"log-softmax", "", {-kInf, 3}, {-kInf, 0}},
      {"log-softmax", "", {3e38f, -3e38f}, {0, -kInf}},
      {"softmax", "", {0, kInf}, {nan, nan}},
      {"softmax", "", {-kInf, -kInf}, {0, 0}},
      {"softmax", "", {3e38f, -3e38f}, {1, 0}},
  };
  const Folder folder;
  const std::string out = folder / "out.safetensors";
  const bool gl = run_case("softmax", "gl", out).status == 0;
  if (!gl) std::cout << "SKIPPED: --backend gl" << std::endl;
  for (const Extreme& extreme : cases) {
    const std::string in = file_of(folder, extreme.row);
    for (const char* backend : {"reference", "cpu", "gl"}) {
      if (std::string(backend) == "gl" && !gl) continue;
      CAPTURE(extreme.op);
      CAPTURE(extreme.attribute);
      CAPTURE(extreme.row[0]);
      CAPTURE(backend);
      Args args = {"op", extreme.op, "--in", in, "--out", out, "--backend", backend};
      if (*extreme.attribute) args = joined(args, {"--attr", extreme.attribute});
      run_well(args);
      const std::vector<float> got = tensor_as_float(read_safetensors(out), "out");
      REQUIRE(got.size() == extreme.expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        CAPTURE(got[i]);
        const float expected = extreme.expected[i];
        if (std::isfinite(expected)) {
          CHECK(std::abs(got[i] - expected) <= 1e-6f * std::abs(expected));
        } else {
          CHECK((std::isnan(expected) ? std::isnan(got[i]) : got[i] == expected));
        }
      }
    }
  }
}

TEST_CASE("op: --list names each operation; mistakes are said with what to do") {
  const std::string list = run_well({"op", "--list"}).out;
  for (const char* name : {"softmax", "log-softmax", "layer-norm", "gelu-tanh", "product", "gather",
                           "attention", "rms-norm", "silu", "multiply", "rotary"})
    CHECK(contains(list, std::string(name) + "\n  in: "));
  const Folder folder;
  const auto refused = [&](const std::string& op, const std::string& file, const Args& more,
                           const std::vector<std::string>& phrases) {
    CAPTURE(op);
    CAPTURE(file);
    const Args args = {
        "op", op, "--in", kOps + file + ".in.safetensors", "--out", folder / "o.safetensors"};
    check_refused(run(joined(args, more)), 2, phrases);
    CHECK_FALSE(std::filesystem::exists(folder / "o.safetensors"));
  };
  refused("sotfmax", "softmax", {}, {"'sotfmax'", "softmax, log-softmax", "--list"});
  refused("product", "softmax", {}, {"product", "'a'", "the file has x"});
  refused("softmax", "layer-norm", {}, {"no input named 'bias'", "x (…, n)"});
  refused("softmax", "softmax", {"--attr", "axis=1"}, {"no attribute 'axis'", "temperature"});
  refused("softmax", "softmax", {"--attr", "temperature=hot"}, {"'temperature'", "'hot'"});
  refused("softmax", "softmax", {"--attr", "temperature"}, {"KEY=VALUE"});
  refused("attention", "attention", {"--attr", "causal=2"},
          {"'causal'", "whole number from 0 to 1", "'2'"});
  refused("attention", "attention", {"--backend", "cuda"}, {"'cuda'"});
  refused("softmax", "softmax", {"--attr", "temperature=1", "--attr", "temperature=2"},
          {"'temperature'", "twice"});
  refused("gelu", "gelu", {"--attr", "fast=1"}, {"no attribute 'fast'", "takes none"});
  refused("attention", "attention", {"--attr", "past=2"}, {"past", "causal=1"});
  check_refused(
      run({"op", "softmax", "--in", kOps + "softmax.in.safetensors", "--out", folder / "o.npz"}), 2,
      {".safetensors", "o.npz"});
  // What the cases do not have: one tensor in the place of another.
  const auto with = [&](const std::string& name, const std::string& from, const std::string& to) {
    std::string bytes = read_bytes(kOps + name + ".in.safetensors");
    const std::size_t at = bytes.find(from);
    REQUIRE(at != std::string::npos);
    REQUIRE(from.size() == to.size());
    return folder.write("in.safetensors", bytes.replace(at, from.size(), to));
  };
  const auto refused_file = [&](const std::string& op, const std::string& in,
                                const std::vector<std::string>& phrases) {
    check_refused(run({"op", op, "--in", in, "--out", folder / "o.safetensors"}), 2, phrases);
  };
  refused_file("product", with("product", "[5,4]", "[4,5]"),
               {"'b'", "(k = 5, n) or (…, k, n)", "(4, 5)"});
  refused_file("attention", with("attention", "[2,2,6,5]", "[2,3,4,5]"), {"'k'", "(2, 3, 4, 5)"});
  const std::string five = '\5' + std::string(7, '\0'), six = '\6' + std::string(7, '\0');
  refused_file("gather", with("gather", five, six), {"'ids'", "id < 6", "got 6"});
  refused_file("gather", with("gather", five, std::string(8, '\xff')), {"'ids'", "got −1"});
}

TEST_CASE("op: of a file with many tensors ten are named; kinds and numbers that do not fit") {
  const auto backend = make_backend("reference", 1);
  PlainTensors many;
  for (int i = 100; i < 235; ++i) many["t" + std::to_string(i)] = {{1}, {0}, "F32"};
  try {
    run_single_op("softmax", many, {}, *backend);
    FAIL("it has no x");
  } catch (const UsageError& error) {
    const std::string text = error.what();
    CHECK(contains(text, "t100, t101"));
    CHECK(contains(text, "t109 and 125 more"));
    CHECK_FALSE(contains(text, "t110"));
  }
  const auto kind = [&](const char* name, const PlainTensors& given, const char* expected) {
    CHECK_THROWS_WITH_AS(run_single_op(name, given, {}, *backend), doctest::Contains(expected),
                         UsageError);
  };
  const PlainTensor x{{1, 1, 1, 1}, {1}, "F32"}, whole{{1, 1, 1, 1}, {1}, "I64"};
  kind("softmax", {{"x", whole}}, "of type F32, F64, F16 or BF16; got I64");
  kind("attention", {{"q", x}, {"k", x}, {"v", x}, {"mask", whole}}, "of type BOOL, F32");
  kind("gather", {{"table", {{1, 1}, {1}, "F32"}}, {"ids", x}}, "of type I64, I32");
}

// Ids are kept as floats: 16,777,217 would lead to the row before it.
TEST_CASE("op: gather takes no table with more rows than ids can tell apart") {
  constexpr std::int64_t kRows = (1 << 24) + 1;
  const PlainTensors given = {
      {"table", {{kRows, 1}, std::vector<float>(kRows), "F32"}},
      {"ids", {{1}, {0}, "I64"}},
  };
  const auto backend = make_backend("reference", 1);
  CHECK_THROWS_WITH_AS(run_single_op("gather", given, {}, *backend), doctest::Contains("16777216"),
                       UsageError);
}

// A row for each place would take a third of a gigabyte at once.
TEST_CASE("op: log-softmax of long rows is made in pieces") {
  constexpr std::int64_t kRows = 3, kLength = 5003;
  PlainTensor x{{kRows, kLength}, {}, "F32"};
  for (std::uint64_t i = 0; i < kRows * kLength; ++i) x.cells.push_back(6 * bell(3, i));
  const auto backend = make_backend("cpu", 2);
  const PlainTensor got = run_single_op("log-softmax", {{"x", x}}, {}, *backend).at("out");
  CHECK(got.shape == x.shape);
  REQUIRE(got.cells.size() == x.cells.size());
  std::vector<float> expected;
  for (std::int64_t r = 0; r < kRows; ++r) {
    const auto row = x.cells.begin() + r * kLength;
    double sum = 0;
    for (std::int64_t j = 0; j < kLength; ++j) sum += std::exp(static_cast<double>(row[j]));
    for (std::int64_t j = 0; j < kLength; ++j)
      expected.push_back(static_cast<float>(static_cast<double>(row[j]) - std::log(sum)));
  }
  CHECK(error_of(got.cells, expected) <= 1e-12);
}

}  // namespace headlight::test_cli_op
