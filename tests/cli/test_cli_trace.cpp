// headlight trace: the same numbers in each format, the same bytes each time.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/child.h"

namespace headlight::test_cli_trace {

using namespace headlight;
using namespace headlight::test;
using Json = nlohmann::json;

namespace {

const Args kSmall = {
    "--sentence", "the cat sat on the mat", "--d-model", "8", "--heads", "2", "--layers", "1"};

struct Array {
  std::vector<std::int64_t> shape;
  std::vector<double> data;
  bool operator==(const Array&) const = default;
};
using Arrays = std::map<std::string, Array>;

std::size_t number(const std::string& bytes, std::size_t at, int size) {
  std::size_t value = 0;
  for (int i = size - 1; i >= 0; --i) {
    value = (value << 8) | static_cast<unsigned char>(bytes.at(at + static_cast<std::size_t>(i)));
  }
  return value;
}

template <class T>
std::vector<double> as_doubles(const std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return {values.begin(), values.end()};
}

// One .npy file of numbers.
Array read_npy(const std::string& npy) {
  const std::size_t length = number(npy, 8, 2);
  const std::string header = npy.substr(10, length), data = npy.substr(10 + length);
  Array array;
  const std::size_t open = header.find("'shape': (") + 10;
  std::istringstream shape(header.substr(open, header.find(')', open) - open));
  std::string part;
  while (std::getline(shape, part, ',')) {
    if (part.find_first_not_of(' ') != std::string::npos) array.shape.push_back(std::stoll(part));
  }
  if (contains(header, "'<f4'")) array.data = as_doubles<float>(data);
  if (contains(header, "'<i8'")) array.data = as_doubles<std::int64_t>(data);
  return array;
}

// An uncompressed .npz, member by member.
Arrays read_npz(const std::string& zip) {
  Arrays arrays;
  std::size_t at = 0;
  while (zip.compare(at, 4, "PK\x03\x04") == 0) {
    const std::size_t size = number(zip, at + 18, 4), name_size = number(zip, at + 26, 2);
    const std::string name = zip.substr(at + 30, name_size);
    at += 30 + name_size + number(zip, at + 28, 2);
    REQUIRE(name.ends_with(".npy"));
    arrays[name.substr(0, name.size() - 4)] = read_npy(zip.substr(at, size));
    at += size;
  }
  return arrays;
}

Arrays read_all(const SafetensorsFile& file) {
  Arrays arrays;
  for (const auto& [name, entry] : file.entries) {
    const std::vector<float> floats = tensor_as_float(file, name);
    arrays[name] = {entry.shape, {floats.begin(), floats.end()}};
  }
  return arrays;
}

Arrays read_json(const Json& json) {
  Arrays arrays;
  for (const auto& [name, tensor] : json.at("tensors").items()) {
    Array array{tensor.at("shape").get<std::vector<std::int64_t>>(), {}};
    for (const Json& cell : tensor.at("data")) {
      if (cell.is_string()) REQUIRE(cell == "-inf");
      array.data.push_back(cell.is_string() ? -std::numeric_limits<double>::infinity()
                                            : static_cast<double>(cell.get<float>()));
    }
    arrays[name] = std::move(array);
  }
  return arrays;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double v : values) {
    if (std::isfinite(v)) most = std::max(most, std::fabs(v));
  }
  return most;
}

// The largest difference, relative to the largest magnitude; infinities must be the same.
double difference(const Array& a, const Array& b) {
  REQUIRE(a.shape == b.shape);
  double most = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    if (std::isfinite(a.data[i]) && std::isfinite(b.data[i])) {
      most = std::max(most, std::fabs(a.data[i] - b.data[i]));
    } else if (a.data[i] != b.data[i]) {
      return std::numeric_limits<double>::infinity();
    }
  }
  return most / std::max(1.0, largest(a.data));
}

}  // namespace

TEST_CASE("trace: npz, safetensors and JSON hold the same numbers") {
  const Folder folder;
  for (const char* name : {"t.npz", "t.safetensors", "t.json"}) {
    const Result result = run_well(joined({"trace", "--out", folder / name}, kSmall));
    CHECK(result.out == "");
    CHECK(result.err == "");
  }
  const SafetensorsFile file = read_safetensors(folder / "t.safetensors");
  const Arrays arrays = read_all(file);
  const Json json = Json::parse(read_bytes(folder / "t.json"));
  Arrays from_npz = read_npz(read_bytes(folder / "t.npz"));
  CHECK(from_npz.erase("tokens") == 1);
  CHECK(from_npz.erase("vocab") == 1);
  CHECK(arrays.size() > 25);
  CHECK(arrays == from_npz);
  CHECK(arrays == read_json(json));
  CHECK(tensor_as_int64(file, "token_ids") == std::vector<std::int64_t>{0, 1, 2, 3, 0, 4});
  const Json tokens = {"the", "cat", "sat", "on", "the", "mat"};
  const Json vocab = {"the", "cat", "sat", "on", "mat"};
  CHECK(json.at("tokens") == tokens);
  CHECK(json.at("vocab") == vocab);
  CHECK(Json::parse(file.metadata.at("tokens")) == tokens);
  CHECK(Json::parse(file.metadata.at("vocab")) == vocab);
  CHECK(file.entries.at("blocks.0.attn.pattern").shape == std::vector<std::int64_t>{2, 6, 6});
}

TEST_CASE("trace: --list names every tensor of the file with its axes") {
  const Exported files = export_run(kSmall);
  std::istringstream list(run_well(joined({"trace", "--list"}, kSmall)).out);
  std::string line;
  std::size_t lines = 0;
  while (std::getline(list, line)) {
    ++lines;
    const std::string name = line.substr(0, line.find(' '));
    REQUIRE_MESSAGE(files.trace.entries.contains(name), name);
    std::string shape;
    for (const std::int64_t size : files.trace.entries.at(name).shape) {
      shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    }
    CHECK_MESSAGE(line.ends_with("(" + shape + ")"), line);
  }
  CHECK(lines == files.trace.entries.size());
}

TEST_CASE("trace: --weights-out holds the parameters by the field's names") {
  const Exported files = export_run(kSmall);
  const std::map<std::string, std::vector<std::int64_t>> expected = {
      {"embed.W_E", {5, 8}},
      {"blocks.0.ln1.w", {8}},
      {"blocks.0.ln1.b", {8}},
      {"blocks.0.attn.W_Q", {2, 8, 4}},
      {"blocks.0.attn.W_K", {2, 8, 4}},
      {"blocks.0.attn.W_V", {2, 8, 4}},
      {"blocks.0.attn.b_Q", {2, 4}},
      {"blocks.0.attn.b_K", {2, 4}},
      {"blocks.0.attn.b_V", {2, 4}},
      {"blocks.0.attn.W_O", {2, 4, 8}},
      {"blocks.0.attn.b_O", {8}},
      {"blocks.0.ln2.w", {8}},
      {"blocks.0.ln2.b", {8}},
      {"blocks.0.mlp.W_in", {8, 32}},
      {"blocks.0.mlp.b_in", {32}},
      {"blocks.0.mlp.W_out", {32, 8}},
      {"blocks.0.mlp.b_out", {8}},
      {"ln_final.w", {8}},
      {"ln_final.b", {8}},
      {"unembed.W_U", {8, 5}},
      {"unembed.b_U", {5}}};
  std::map<std::string, std::vector<std::int64_t>> got;
  for (const auto& [name, entry] : files.weights.entries) got[name] = entry.shape;
  CHECK(got == expected);
}

TEST_CASE("trace: the same sentence twice gives the same bytes, on any number of threads") {
  const Folder folder;
  for (const char* name : {"t.npz", "t.safetensors", "t.json"}) {
    const auto once = [&](const char* threads) {
      run_well(joined({"trace", "--out", folder / name, "--weights-out", folder / "w.safetensors",
                       "--threads", threads},
                      kSmall));
      return read_bytes(folder / name) + read_bytes(folder / "w.safetensors");
    };
    const std::string first = once("1");
    CHECK(first == once("1"));
    CHECK(first == once("2"));
    CHECK(first == once("7"));
  }
  const Result one = run_well(joined({"trace", "--out", folder / "a.npz", "--seed", "1"}, kSmall));
  const Result two = run_well(joined({"trace", "--out", folder / "b.npz", "--seed", "2"}, kSmall));
  CHECK(read_bytes(folder / "a.npz") != read_bytes(folder / "b.npz"));
}

TEST_CASE("trace: an existing file is replaced, and only when all went well") {
  const Folder folder;
  const std::string path = folder.write("t.npz", "precious");
  CHECK(run({"trace", "--out", path, "--heads", "3"}).status == 2);
  CHECK(read_bytes(path) == "precious");
  run_well(joined({"trace", "--out", path}, kSmall));
  CHECK(read_bytes(path).size() > 1000);
}

TEST_CASE("trace: the reference and the cpu backend agree on every kind of model") {
  const std::vector<Args> models = {
      {},
      {"--attention", "basic"},
      {"--attention", "basic", "--scores", "scaled", "--block", "attention"},
      {"--attention", "single", "--heads", "1"},
      {"--attention", "wide", "--heads", "3"},
      {"--scores", "dot", "--positions", "none"},
      {"--scores", "additive", "--positions", "learned"},
      {"--scores", "additive", "--attention-scale", "on"},
      {"--block", "post-norm", "--activation", "relu"},
      {"--block", "attention", "--residual", "off", "--bias", "off"},
      {"--output-projection", "off"},
      {"--bias-kv", "on", "--zero-attention", "on", "--average-weights", "on"},
      {"--head-mask", "0.1,1.3", "--forbid-head", "1:2,0;3,1", "--forbid-head", "0:5,5"},
      {"--d-value", "3", "--kv-heads", "2"},
      {"--fused-attention", "on"},
      {"--fused-attention", "on", "--attention", "basic", "--mask", "none"},
      {"--fused-attention", "on", "--kv-heads", "2", "--positions", "rotary", "--bias-kv", "on"},
      {"--d-head", "5", "--d-hidden", "7", "--heads", "3", "--activation", "gelu-tanh"},
      {"--mask", "none"},
      {"--mask", "padding", "--pad", "0,5"},
      {"--mask", "padding", "--pad", "1", "--mask-causal", "on"},
      {"--mask", "local", "--window", "1"},
      {"--mask", "local", "--window", "1", "--mask-causal", "off"},
      {"--mask", "strided", "--stride", "3"},
      {"--mask", "free", "--forbid", "0,0;3,1"},
      {"--mask", "free", "--allow", "0,0;1,1;5,2"},
  };
  for (const Args& model : models) {
    CAPTURE(shown(model));
    const Args same = joined({"--sentence", "the cat sat on the mat", "--d-model", "16"}, model);
    const Arrays slow = read_all(export_run(joined(same, {"--backend", "reference"})).trace);
    const Arrays fast = read_all(export_run(joined(same, {"--backend", "cpu"})).trace);
    REQUIRE(slow.size() == fast.size());
    for (const auto& tensor : slow) {  // Clang 14 cannot capture a structured binding
      CAPTURE(tensor.first);
      REQUIRE(fast.contains(tensor.first));
      CHECK(difference(tensor.second, fast.at(tensor.first)) <= 1e-5);
    }
  }
}

TEST_CASE("the cpu backend goes by its earlier name as well") {
  const Args list = {"trace", "--list", "--sentence", "the cat sat", "--backend"};
  const Result now = run(joined(list, {"cpu"})), before = run(joined(list, {"eigen"}));
  CHECK(before.status == 0);
  CHECK(before.out == now.out);
  CHECK(run(joined(list, {"Eigen"})).status == 2);
}

TEST_CASE("trace: masks forbid what their options say") {
  const auto allowed = [](const Args& mask) {
    const Args model = joined(
        {"--sentence", "a b c d e", "--layers", "1", "--d-model", "8", "--heads", "1"}, mask);
    const std::vector<float> cells = tensor_as_float(export_run(model).trace, "mask");
    std::string rows;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0 && i % 5 == 0) rows += ' ';
      rows += cells[i] == 0 ? '1' : '0';
    }
    return rows;
  };
  CHECK(allowed({}) == "10000 11000 11100 11110 11111");
  CHECK(allowed({"--mask", "padding", "--pad", "3,4"}) == "11100 11100 11100 11100 11100");
  CHECK(allowed({"--mask", "padding", "--pad", "0", "--mask-causal", "on"}) ==
        "00000 01000 01100 01110 01111");
  CHECK(allowed({"--mask", "local", "--window", "1"}) == "10000 11000 01100 00110 00011");
  CHECK(allowed({"--mask", "local", "--window", "1", "--mask-causal", "off"}) ==
        "11000 11100 01110 00111 00011");
  CHECK(allowed({"--mask", "strided", "--stride", "2", "--mask-causal", "off"}) ==
        "11101 11110 11111 01111 10111");
  CHECK(allowed({"--mask", "free", "--forbid", "0,1;4,4"}) == "10111 11111 11111 11111 11110");
  CHECK(allowed({"--mask", "free", "--allow", "0,0;2,1"}) == "10000 00000 01000 00000 00000");
  CHECK(run_well({"trace", "--list", "--mask", "none"}).out.find("mask") == std::string::npos);
}

TEST_CASE("trace: a switched-off step is absent, not a copy") {
  const auto list = [](const Args& model) {
    return run_well(joined({"trace", "--list", "--layers", "1"}, model)).out;
  };
  CHECK_FALSE(contains(list({"--scores", "dot"}), "scores_scaled"));
  CHECK_FALSE(contains(list({"--mask", "none"}), "scores_masked"));
  CHECK_FALSE(contains(list({"--positions", "none"}), "pos_embed"));
  CHECK_FALSE(contains(list({"--block", "attention"}), "mlp"));
  CHECK_FALSE(contains(list({"--block", "attention"}), "ln"));
  CHECK_FALSE(contains(list({"--block", "post-norm"}), "ln_final"));
  CHECK_FALSE(contains(list({"--attention", "basic"}), "scores_scaled"));
  CHECK(contains(list({"--attention", "basic", "--attention-scale", "on"}), "scores_scaled"));
  CHECK_FALSE(contains(list({"--scores", "additive"}), "scores_scaled"));
}

TEST_CASE("trace: the sentence comes from a file as well, and a session lends its settings") {
  const Folder folder;
  const std::string text = folder.write("text.txt", "one two\nthree");
  CHECK(contains(run_well({"trace", "--list", "--sentence-file", text}).out, "(4, 3, 3)"));
  const std::string session = folder.write(
      "s.headlight.json",
      R"({"format": "headlight session", "version": 1, "sentence": "a b c d e", "model": {"heads": 2}})");
  CHECK(contains(run_well({"trace", "--list", "--session", session}).out, "(2, 5, 5)"));
  CHECK(contains(run_well({"trace", "--list", "--session", session, "--heads", "8"}).out,
                 "(8, 5, 5)"));
}

}  // namespace headlight::test_cli_trace
