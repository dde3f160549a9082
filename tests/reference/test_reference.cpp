// Every tensor of many small models against PyTorch's numbers (tests/reference/make_reference.py),
// on each backend.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/backends/backend.h"
#include "core/graph/program.h"
#include "tests/support/reference_file.h"

namespace headlight {
namespace {

constexpr double kLimit = 1e-5;  // relative to the tensor's largest magnitude
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

// ---- one run ----

// Memory for each tensor of a program; aliases share. NaN until something is written.
class Memory {
 public:
  explicit Memory(const Program& program) : owned_(program.tensors.size()) {
    for (std::size_t id = 0; id < owned_.size(); ++id) {
      const TensorSpec& spec = program.tensors[id];
      if (spec.kind != TensorKind::kAlias) {
        owned_[id].assign(static_cast<std::size_t>(cell_count(spec.axes)),
                          std::numeric_limits<float>::quiet_NaN());
      }
    }
    for (std::size_t id = 0; id < owned_.size(); ++id) {
      const TensorId source = program.resolve(static_cast<TensorId>(id));
      cells_.push_back(owned_[static_cast<std::size_t>(source)].data());
    }
  }
  std::span<float* const> cells() { return cells_; }
  const std::vector<FloatBuffer>& owned() const { return owned_; }

 private:
  std::vector<FloatBuffer> owned_;
  std::vector<float*> cells_;
};

void load(const Reference& r, const Program& program, Memory& memory) {
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const TensorSpec& spec = program.tensors[id];
    if (spec.kind != TensorKind::kParameter && spec.kind != TensorKind::kInput) continue;
    const std::vector<float> numbers = tensor_as_float(r.file, name_in_file(spec));
    REQUIRE(numbers.size() == static_cast<std::size_t>(cell_count(spec.axes)));
    std::copy(numbers.begin(), numbers.end(), memory.cells()[id]);
  }
}

// Largest difference over the largest finite magnitude; infinite where one side is not finite and
// the other is not the same.
double relative_error(std::span<const float> ours, std::span<const float> theirs) {
  double error = 0, magnitude = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    if (std::isfinite(theirs[i])) magnitude = std::max(magnitude, std::fabs(double{theirs[i]}));
  }
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    if (ours[i] == theirs[i]) continue;  // the same infinity included
    if (!std::isfinite(ours[i]) || !std::isfinite(theirs[i])) return kInfinity;
    error = std::max(error, std::fabs(double{ours[i]} - theirs[i]));
  }
  return magnitude > 0 ? error / magnitude : error;
}

struct Worst {
  double error = 0;
  std::string where = "nowhere";
  int tensors = 0;
};

void compare(const Reference& r, Backend& backend, Worst& worst) {
  const Program program = build_program(config_of(r), shape_of(r));
  Memory memory(program);
  load(r, program, memory);
  for (const OpCall& call : program.calls) REQUIRE(backend.supports(program, call));
  backend.run(program, program.calls, memory.cells());
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const TensorSpec& spec = program.tensors[id];
    if (spec.kind != TensorKind::kActivation && spec.kind != TensorKind::kAlias) continue;
    const std::vector<float> theirs = tensor_as_float(r.file, spec.name);
    REQUIRE(theirs.size() == static_cast<std::size_t>(cell_count(spec.axes)));
    const double error = relative_error({memory.cells()[id], theirs.size()}, theirs);
    CHECK_MESSAGE(error <= kLimit, backend.name() << ": " << spec.name << " is off by " << error);
    ++worst.tensors;
    if (error > worst.error) worst = {error, r.name + ": " + spec.name, worst.tensors};
  }
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
  covers("mask", MaskKind{});
  covers("form", ModelForm{});
  for (const char* key : {"scale", "bias", "residual"}) CHECK(seen[key].size() == 2);
  CHECK(seen["layers"] == std::set<std::string>{"1", "2", "3"});
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
    const int n = r.number("tokens");
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        const float cell = mask[static_cast<std::size_t>(i * n + j)];
        CHECK_MESSAGE(cell == (rule.allows(i, j) ? 0.0f : -kInfinity), i << ", " << j);
      }
    }
    ++compared;
  }
  CHECK(compared >= 25);
}

TEST_CASE("reference: every tensor agrees, on every backend") {
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(make_reference_backend());
  backends.push_back(make_cpu_backend(1));
  backends.push_back(make_cpu_backend(2));
  for (const auto& backend : backends) {
    Worst worst;
    for (const Reference& r : references()) {
      CAPTURE(r.name);
      compare(r, *backend, worst);
    }
    CHECK(worst.tensors > 900);
    MESSAGE(backend->name() << ": " << worst.tensors << " tensors, worst relative error "
                            << worst.error << " (" << worst.where << ")");
  }
}

TEST_CASE("reference: the same bits from any number of threads, and from a second run") {
  const auto one = make_cpu_backend(1), three = make_cpu_backend(3);
  for (const Reference& r : references()) {
    CAPTURE(r.name);
    const Program program = build_program(config_of(r), shape_of(r));
    Memory first(program), second(program);
    load(r, program, first);
    load(r, program, second);
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
