// Optimizers and schedules against PyTorch's numbers (tests/reference/make_optimizers.py), and what
// a run that goes on after a break relies on.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/thread_pool.h"
#include "core/io/atomic_file.h"
#include "core/io/safetensors.h"
#include "core/train/optim/optimizer.h"
#include "core/train/optim/schedule.h"
#include "test_paths.h"

namespace headlight::test_optimizer {
namespace {

SafetensorsFile reference() {
  return parse_safetensors(read_file(
      std::string(HEADLIGHT_TEST_DIR) + "reference/train/optimizers.safetensors", 1 << 20));
}

// Parameters "w" (3, 7) and "b" (5) with their gradients.
struct Model {
  std::vector<float> w, b, gw, gb;
  explicit Model(const SafetensorsFile& file)
      : w(tensor_as_float(file, "w")), b(tensor_as_float(file, "b")), gw(w.size()), gb(b.size()) {}
  std::vector<TrainedTensor> tensors() {
    return {{"w1", {3, 7}, w, gw}, {"b1", {5}, b, gb, ParameterKind::kBias}};
  }
  void take_gradients(const SafetensorsFile& file, int step) {
    const std::string at = "g" + std::to_string(step) + ".";
    // In place: the optimizer holds views.
    const std::vector<float> new_w = tensor_as_float(file, at + "w");
    const std::vector<float> new_b = tensor_as_float(file, at + "b");
    std::copy(new_w.begin(), new_w.end(), gw.begin());
    std::copy(new_b.begin(), new_b.end(), gb.begin());
  }
};

struct Case {
  OptimizerOptions options;
  double rate = 0, clip = 0;
};

Case read_case(const std::string& words) {
  std::map<std::string, std::string> said;
  std::istringstream in(words);
  for (std::string key, value; in >> key >> value;) said[key] = value;
  Case c;
  c.options = default_options(*from_word<OptimizerKind>(said.at("kind")));
  const auto number = [&](const char* key, double& out) {
    if (said.contains(key)) out = std::stod(said.at(key));
  };
  number("rate", c.rate);
  number("clip", c.clip);
  number("momentum", c.options.momentum);
  number("beta1", c.options.beta1);
  number("beta2", c.options.beta2);
  number("eps", c.options.epsilon);
  number("weight_decay", c.options.weight_decay);
  c.options.decay_matrices_only = said.at("matrices_only") == "1";
  return c;
}

// Relative to the largest of them.
double difference(std::span<const float> got, std::span<const float> expected) {
  REQUIRE(got.size() == expected.size());
  double most = 0, largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    most = std::max(most, std::fabs(static_cast<double>(got[i]) - expected[i]));
    largest = std::max(largest, std::fabs(static_cast<double>(expected[i])));
  }
  return most / largest;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("optimizers: every case ends where PyTorch's does, to 1e-6") {
  const SafetensorsFile file = reference();
  const int steps = std::stoi(file.metadata.at("steps"));
  int cases = 0;
  for (const auto& entry : file.metadata) {
    if (!entry.first.starts_with("case:")) continue;
    const std::string name = entry.first.substr(5);
    CAPTURE(name);
    const Case c = read_case(entry.second);
    Model model(file);
    Optimizer optimizer(c.options, model.tensors());
    std::vector<float> norms;
    for (int t = 0; t < steps; ++t) {
      model.take_gradients(file, t);
      norms.push_back(static_cast<float>(clip_gradients(optimizer.tensors(), c.clip)));
      optimizer.step(c.rate);
    }
    CHECK(difference(model.w, tensor_as_float(file, name + ".w")) < 1e-6);
    CHECK(difference(model.b, tensor_as_float(file, name + ".b")) < 1e-6);
    CHECK(difference(norms, tensor_as_float(file, name + ".norms")) < 1e-6);
    CHECK(optimizer.steps() == steps);
    ++cases;
  }
  CHECK(cases == 10);
}

TEST_CASE("optimizers: a run that goes on from its state has the same bits, on any threads") {
  const SafetensorsFile file = reference();
  ThreadPool pool(3);
  for (const OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
    OptimizerOptions options = default_options(kind);
    options.momentum = 0.9;
    Model whole(file), broken(file);
    Optimizer one(options, whole.tensors()), before(options, broken.tensors());
    Optimizer after(options, broken.tensors());
    for (int t = 0; t < 6; ++t) {
      whole.take_gradients(file, t);
      broken.take_gradients(file, t);
      one.step(0.02);
      if (t == 3) after.restore(before.steps(), before.state());
      (t < 3 ? before : after).step(0.02, &pool);
    }
    CHECK(whole.w == broken.w);
    CHECK(whole.b == broken.b);
    CHECK(after.steps() == 6);
    // The moments matter: from none the run goes another way.
    after.reset();
    CHECK(after.steps() == 0);
    one.step(0.02);
    after.step(0.02);
    CHECK(whole.w != broken.w);
  }
}

TEST_CASE("optimizers: pieces of large tensors cover each cell once") {
  constexpr std::size_t kCells = 40001;
  std::vector<float> value(kCells, 1), gradient(kCells, 1), small(3, 1);
  const std::vector<TrainedTensor> tensors = {{"large", {kCells}, value, gradient},
                                              {"small", {3}, small, std::span(gradient).first(3)}};
  OptimizerOptions options = default_options(OptimizerKind::kAdam);
  Optimizer optimizer(options, tensors);
  ThreadPool pool(2);
  optimizer.step(0.5, &pool);
  for (const float x : value) CHECK_MESSAGE(x == doctest::Approx(0.5), "a cell was left out");
  for (const float x : small) CHECK(x == doctest::Approx(0.5));
  CHECK(optimizer.state().size() == 4);
  CHECK(optimizer.state()[2].name == "small.exp_avg");
}

TEST_CASE("optimizers: a state that is not this run's is refused, and nothing is changed") {
  const SafetensorsFile file = reference();
  Model model(file), other_model(file);
  Optimizer optimizer(default_options(OptimizerKind::kAdamW), model.tensors());
  Optimizer other(default_options(OptimizerKind::kAdamW), other_model.tensors());
  model.take_gradients(file, 0);
  optimizer.step(0.1);
  const std::vector<NamedArray> state = optimizer.state();
  const auto refused = [&](std::vector<NamedArray> changed, std::int64_t step) {
    return error_of([&] { other.restore(step, changed); });
  };
  std::vector<NamedArray> changed = state;
  changed.pop_back();
  CHECK(contains(refused(changed, 1), "no 'b1.exp_avg_sq'"));
  changed = state;
  changed[0].shape = {7, 3};
  CHECK(contains(refused(changed, 1), "'w1.exp_avg'"));
  changed = state;
  changed[0].name = "w2.exp_avg";
  CHECK(contains(refused(changed, 1), "no 'w1.exp_avg'"));
  changed = state;
  changed.push_back({"w2.momentum", {5}, std::span<const float>(model.b)});
  CHECK(contains(refused(changed, 1), "'w2.momentum', which"));
  CHECK(contains(refused(state, -1), "step -1"));
  CHECK(other.steps() == 0);
  for (const NamedArray& array : other.state()) {
    for (const float x : std::get<std::span<const float>>(array.data)) CHECK(x == 0);
  }
  CHECK(refused(state, 1).empty());
}

TEST_CASE("clipping: measures, and leaves alone what it cannot help") {
  std::vector<float> value(2), gradient = {3, 4};
  const std::vector<TrainedTensor> tensors = {{"w", {2}, value, gradient}};
  CHECK(gradient_norm(tensors) == 5);
  CHECK(clip_gradients(tensors, 0) == 5);
  CHECK(clip_gradients(tensors, 6) == 5);
  CHECK(gradient == std::vector<float>{3, 4});
  CHECK(clip_gradients(tensors, 2.5) == 5);
  CHECK(gradient[0] == doctest::Approx(1.5));
  // Squares over the range of float do not hurt a sum in double.
  gradient = {3e30f, 4e30f};
  CHECK(gradient_norm(tensors) == doctest::Approx(5e30));
  gradient = {1, std::numeric_limits<float>::infinity()};
  CHECK(std::isinf(clip_gradients(tensors, 1)));
  CHECK(gradient[0] == 1);
}

TEST_CASE("optimizers and schedules: numbers out of range are refused with a usual one") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto options = [](auto change) {
    OptimizerOptions o = default_options(OptimizerKind::kAdam);
    change(o);
    return error_of([&] { validate(o); });
  };
  CHECK(options([](auto&) {}).empty());
  CHECK(contains(options([](auto& o) { o.beta1 = 1; }), "beta 1 must be between 0 and 0.999999"));
  CHECK(contains(options([&](auto& o) { o.beta2 = nan; }), "got NaN. A usual value is 0.999"));
  CHECK(contains(options([](auto& o) { o.epsilon = 0; }), "epsilon"));
  CHECK(contains(options([](auto& o) { o.weight_decay = -1; }), "weight decay"));
  CHECK(options([](auto& o) { o.momentum = 7; }).empty());  // not sgd
  const auto rate = [](double peak) { return error_of([&] { validate(Schedule{.peak = peak}); }); };
  CHECK(rate(0.1).empty());
  for (const double bad : {0.0, -1.0, 1e9, nan}) CHECK(contains(rate(bad), "the learning rate"));
  const Schedule late = {.kind = ScheduleKind::kCosine, .warmup = 10, .steps = 10};
  CHECK(contains(error_of([&] { validate(late); }), "choose a shorter warm-up"));
}

TEST_CASE("schedules: warm-up, constant, and PyTorch's cosine") {
  Schedule s = {.kind = ScheduleKind::kCosine, .peak = 0.3, .floor = 0.03, .steps = 12};
  const std::vector<float> expected = tensor_as_float(reference(), "cosine.rates");
  REQUIRE(expected.size() == 13);
  for (std::size_t t = 0; t < expected.size(); ++t) {
    CHECK(learning_rate(s, static_cast<std::int64_t>(t)) == doctest::Approx(expected[t]));
  }
  CHECK(learning_rate(s, 1000) == 0.03);
  s.warmup = 4;
  s.steps = 16;
  for (int t = 0; t < 4; ++t) CHECK(learning_rate(s, t) == doctest::Approx(0.3 * (t + 1) / 4));
  // The same curve, later by the warm-up.
  for (std::size_t t = 0; t < expected.size(); ++t) {
    CHECK(learning_rate(s, static_cast<std::int64_t>(t) + 4) == doctest::Approx(expected[t]));
  }
  s.kind = ScheduleKind::kConstant;
  CHECK(learning_rate(s, 3) == 0.3);
  CHECK(learning_rate(s, 1 << 30) == 0.3);
}

}  // namespace headlight::test_optimizer
