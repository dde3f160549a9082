// Every tensor of many small models against PyTorch's numbers (tests/reference/make_reference.py),
// on each backend.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/graph/program_memory.h"
#include "core/run/segment_memory.h"
#include "tests/support/reference_checks.h"

namespace headlight {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

const std::vector<Reference>& references() {
  static const std::vector<Reference> all = read_references("reference");
  return all;
}

std::vector<std::int64_t> shape_in_file(const TensorSpec& spec) {
  std::vector<std::int64_t> shape;
  for (const Axis& axis : spec.axes) {
    if (axis.name != "batch" || axis.size != 1) shape.push_back(axis.size);
  }
  return shape;
}

}  // namespace

TEST_CASE("reference: the files cover every choice") {
  REQUIRE(references().size() >= 30);
  std::map<std::string, std::set<std::string>> seen;
  for (const Reference& r : references()) {
    for (const auto& [key, value] : r.file.metadata) seen[key].insert(value);
    seen["norm"].insert(std::string(word(config_of(r).norm)));
    seen["rotary"].insert(std::string(word(config_of(r).rotary)));
    seen["form"].insert(std::string(word(config_of(r).form)));
    seen["mixer"].insert(std::string(word(config_of(r).mixer)));
    seen["mask, causal"].insert(r.word("mask") + ", " + r.word("causal"));
    seen["attention, scores, scale"].insert(r.word("attention") + ", " + r.word("scores") + ", " +
                                            r.word("scale"));
  }
  const auto covers = [&seen](const std::string& key, auto first) {
    for (const auto& choice : choices(first)) {
      CHECK_MESSAGE(seen[key].contains(std::string(choice.word)),
                    "no file has " << key << " " << choice.word);
    }
  };
  covers("attention", AttentionKind{});
  covers("scores", ScoreKind{});
  covers("block", BlockKind{});
  covers("activation", Activation{});
  covers("norm", NormKind{});
  covers("positions", PositionKind{});
  covers("rotary", RotaryPairs{});
  covers("mixer", MixerKind{});
  covers("mask", MaskKind{});
  covers("form", ModelForm{});
  for (const char* key : {"scale", "bias", "residual"}) CHECK(seen[key].size() == 2);
  CHECK(seen["layers"] == std::set<std::string>{"0", "1", "2", "3"});
  CHECK(seen["mask, causal"].contains("local, off"));
  CHECK(seen["mask, causal"].contains("strided, off"));
  CHECK(seen["attention, scores, scale"].size() >= 12);
}

TEST_CASE("reference: a program has the tensors of its file, no more and no fewer") {
  for (const Reference& r : references()) {
    CAPTURE(r.name);
    const Program program = build_program(config_of(r), shape_of(r));
    for (const TensorSpec& spec : program.tensors) {
      const std::string name = name_in_file(spec);
      CAPTURE(name);
      REQUIRE_MESSAGE(r.has(name), "only the program has it");
      CHECK(r.file.entries.at(name).shape == shape_in_file(spec));
    }
    std::set<std::string> ours;
    for (const TensorSpec& spec : program.tensors) ours.insert(name_in_file(spec));
    for (const auto& entry : r.file.entries) {
      const std::string& name = entry.first;
      CHECK_MESSAGE(ours.contains(name), name << " is only in the file");
    }
  }
}

TEST_CASE("reference: the mask's rule makes the mask of the file") {
  int compared = 0;
  for (const Reference& r : references()) {
    if (!r.has("mask") || r.number("batch") != 1) continue;
    CAPTURE(r.name);
    const MaskSpec rule = config_of(r).mask;
    const std::vector<float> mask = tensor_as_float(r.file, "mask");
    const int n = r.number("tokens"), m = static_cast<int>(shape_of(r).memory);
    const int keys = m + n + config_of(r).extra_keys();
    for (int i = 0; i < n; ++i) {
      for (int j = -m; j < n; ++j) {
        const float cell = mask[static_cast<std::size_t>(i * keys + m + j)];
        CHECK_MESSAGE(cell == (rule.allows(i, j) ? 0.0f : -kInfinity), i << ", " << j);
      }
    }
    ++compared;
  }
  CHECK(compared >= 25);
}

TEST_CASE("reference: what is added to the scores, and which heads are off, as in the file") {
  int compared = 0;
  for (const Reference& r : references()) {
    const Program program = build_program(config_of(r), shape_of(r));
    std::vector<TensorId> inputs = program.head_masks;
    if (program.added_mask >= 0) inputs.push_back(program.added_mask);
    if (inputs.empty()) continue;
    CAPTURE(r.name);
    ReferenceMemory cells(program);
    fill_masks(program, cells.cells());
    for (const TensorId id : inputs) {
      const std::vector<float> theirs = tensor_as_float(r.file, program.tensors[place(id)].name);
      const float* ours = cells.cells()[place(id)];
      for (std::size_t i = 0; i < theirs.size(); ++i) CHECK(ours[i] == theirs[i]);
      ++compared;
    }
  }
  CHECK(compared >= 9);
}

TEST_CASE("reference: every tensor agrees, on every backend") {
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(make_reference_backend());
  backends.push_back(make_cpu_backend(1));
  backends.push_back(make_cpu_backend(2));
  for (const auto& backend : backends) {
    ReferenceErrors errors;
    for (const Reference& r : references()) check_trace(r, *backend, errors);
    CHECK(errors.tensors > 900);
    MESSAGE(backend->name() << ": " << errors.text());
  }
}

TEST_CASE("reference: what the segment before leaves is what is remembered") {
  const auto backend = make_cpu_backend(1);
  int compared = 0;
  for (const Reference& r : references()) {
    if (shape_of(r).memory == 0) continue;
    CAPTURE(r.name);
    RunShape shape = shape_of(r);
    const Program second = build_program(config_of(r), shape);
    shape.memory = 0;
    const Program first = build_program(config_of(r), shape);
    ReferenceMemory cells(first);
    for (std::size_t id = 0; id < first.tensors.size(); ++id) {
      const TensorSpec& spec = first.tensors[id];
      if (spec.kind != TensorKind::kParameter) continue;
      const std::vector<float> numbers = tensor_as_float(r.file, name_in_file(spec));
      std::copy(numbers.begin(), numbers.end(), cells.cells()[id]);
    }
    float* ids = cells.cells()[place(first.token_ids)];
    std::istringstream words(r.word("first"));
    for (std::string word; std::getline(words, word, ',');) *ids++ = std::stof(word);
    fill_masks(first, cells.cells());
    backend->run(first, first.calls, cells.cells());
    SegmentMemory memory;
    make_room(first.config, {}, shape.batch, shape.positions, memory);
    keep_memory(first, cells.cells(), 0, memory);
    REQUIRE(second.memories.size() == memory.layers.size());
    for (std::size_t l = 0; l < memory.layers.size(); ++l) {
      const TensorSpec& spec = second.tensors[place(second.memories[l])];
      const std::vector<float> theirs = tensor_as_float(r.file, spec.name);
      REQUIRE(theirs.size() == memory.layers[l].size());
      CHECK_MESSAGE(largest_error(memory.layers[l], theirs) <= 1e-5, spec.name);
      ++compared;
    }
  }
  CHECK(compared >= 5);
}

TEST_CASE("reference: the same bits from any number of threads, and from a second run") {
  const auto one = make_cpu_backend(1), three = make_cpu_backend(3);
  for (const Reference& r : references()) {
    CAPTURE(r.name);
    const Program program = build_program(config_of(r), shape_of(r));
    ReferenceMemory first(program), second(program);
    first.load(r, program);
    second.load(r, program);
    one->run(program, program.calls, first.cells());
    three->run(program, program.calls, second.cells());
    three->run(program, program.calls, second.cells());
    for (std::size_t id = 0; id < program.tensors.size(); ++id) {
      const FloatBuffer &a = first.owned()[id], &b = second.owned()[id];
      const bool same = a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
      CHECK_MESSAGE(same, program.tensors[id].name);
    }
  }
}

}  // namespace headlight
