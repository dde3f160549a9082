// The kernels of training beside the processor's: dropout, optimizers, the norm of the gradients,
// clipping, the loss and the hits of a batch.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/base/random.h"
#include "core/model/init.h"
#include "core/train/data/batch_inputs.h"
#include "tests/gl/test_gl_backend_support.h"
#include "tests/support/normalised_error.h"

namespace headlight::test_gl_updates {
namespace {

using test::check_no_messages;
using test::compute_ready;
using test::shared_backend;

constexpr std::int64_t kSizes[] = {1, 31, 256, 257, 5003};
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

FloatBuffer bells(std::int64_t cells, std::uint64_t seed, float size = 1) {
  FloatBuffer out(static_cast<std::size_t>(cells));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = size * bell(seed, i);
  return out;
}

// Buffers with guard words behind them, which are looked at in the end.
class Device {
 public:
  Device() : tensors_(shared_backend().calls(), 16) { tensors_.begin(16, 1); }
  ~Device() { CHECK(tensors_.guards_hold()); }
  GlCells put(std::size_t slot, std::span<const float> cells) {
    tensors_.forget(slot);
    const auto count = static_cast<std::int64_t>(cells.size());
    tensors_.to_read(slot, cells.data(), count);
    return {tensors_.to_write(slot, count), count};
  }
  void get(std::size_t slot, std::span<float> cells) { tensors_.fetch(slot, cells.data()); }
  GlCells figures() { return put(15, std::array<float, kFigureWords>{}); }
  GlFigures read() {
    std::array<float, kFigureWords> words{};
    tensors_.fetch(15, words.data());
    return std::bit_cast<GlFigures>(words);
  }

 private:
  GlTensors tensors_;
};

double norm_on_device(const std::vector<FloatBuffer>& gradients) {
  Device device;
  std::vector<GlCells> cells;
  for (std::size_t i = 0; i < gradients.size(); ++i) cells.push_back(device.put(i, gradients[i]));
  shared_backend().updates().measure(cells, device.figures().buffer);
  return device.read().norm();
}

double norm_here(std::vector<FloatBuffer>& gradients) {
  std::vector<TrainedTensor> tensors;
  for (FloatBuffer& g : gradients) {
    tensors.push_back({"w", {static_cast<std::int64_t>(g.size())}, {}, {g.data(), g.size()}});
  }
  return gradient_norm(tensors);
}

// Five updates of one tensor, each with another gradient.
void check_optimizer(OptimizerOptions options, std::int64_t cells) {
  CAPTURE(cells);
  FloatBuffer value = bells(cells, 1), gradient(value.size()), got(value.size());
  Optimizer optimizer(options, {{"w", {cells, 1}, value, gradient}});
  Device device;
  const GlCells parameter = device.put(0, value);
  GlCells moments[2];
  for (std::size_t m = 0; m < optimizer.moment_count(); ++m)
    moments[m] = device.put(1 + m, optimizer.moment(0, m));
  GlUpdates& updates = shared_backend().updates();
  for (std::uint64_t step = 1; step <= 5; ++step) {
    const double rate = 0.03 / static_cast<double>(step);
    const FloatBuffer next = bells(cells, 10 + step, step == 3 ? 1e-6f : 0.5f);
    std::copy(next.begin(), next.end(), gradient.begin());  // the optimizer knows this place
    const GlCells slope = device.put(3, gradient);
    optimizer.step(rate);
    const double decay = optimizer.decay(0);
    if (options.kind == OptimizerKind::kSgd) {
      updates.sgd(parameter, slope.buffer, moments[0].buffer, static_cast<float>(rate),
                  static_cast<float>(decay), static_cast<float>(options.momentum));
    } else {
      updates.adam(parameter, slope.buffer, {moments[0].buffer, moments[1].buffer},
                   adam_step(options, rate, optimizer.steps(), decay));
    }
  }
  device.get(0, got);
  CHECK(normalised_error(got, value, 0) <= 3e-7);
  for (std::size_t m = 0; m < optimizer.moment_count(); ++m) {
    device.get(1 + m, got);
    CHECK(normalised_error(got, optimizer.moment(0, m), 0) <= 3e-7);
  }
}

}  // namespace

TEST_CASE("gl updates: dropout leaves out the very cells that it does on the processor") {
  if (!compute_ready()) return;
  Config config;
  config.layers = 1;
  config.heads = 2;
  config.d_model = 6;
  const RunShape shape{.batch = 3, .positions = 17, .vocab = 5};
  const Program program = build_training_program(config, shape, true);
  REQUIRE(program.dropout.size() > 1);
  std::vector<FloatBuffer> cells;
  std::vector<float*> memory;
  for (const TensorSpec& spec : program.tensors) {
    cells.emplace_back(static_cast<std::size_t>(cell_count(spec.axes)));
    memory.push_back(cells.back().data());
  }
  Device device;
  // Rows so far on that places need more than 32 bits.
  for (const std::int64_t row : {0, 1, 7600000, 1 << 30}) {
    for (const double rate : {0.0, 0.001, 0.1, 0.5, 0.95}) {
      CAPTURE(row);
      CAPTURE(rate);
      const DropoutDraw draw{rate, 123456789 + static_cast<std::uint64_t>(row), row % 1000, row};
      fill_dropout(program, draw, memory);
      for (const TensorId id : program.dropout) {
        const FloatBuffer& expected = cells[static_cast<std::size_t>(id)];
        FloatBuffer got(expected.size(), -777.0f);
        shared_backend().updates().draw_dropout(device.put(0, got),
                                                dropout_cells(program, id, draw));
        device.get(0, got);
        CHECK(got == expected);
      }
    }
  }
  check_no_messages();
}

TEST_CASE("gl updates: every optimizer makes the processor's updates") {
  if (!compute_ready()) return;
  for (const auto& choice : choices(OptimizerKind{})) {
    for (const double decay : {0.0, 0.3}) {
      for (const double momentum : {0.0, 0.9}) {
        OptimizerOptions options = default_options(choice.value);
        options.weight_decay = decay;
        options.momentum = momentum;
        CAPTURE(choice.word);
        CAPTURE(decay);
        CAPTURE(momentum);
        if (choice.value != OptimizerKind::kSgd && momentum > 0) continue;
        for (const std::int64_t cells : kSizes) check_optimizer(options, cells);
      }
    }
  }
  check_no_messages();
}

TEST_CASE("gl updates: the norm of all gradients, of any size") {
  if (!compute_ready()) return;
  std::vector<FloatBuffer> gradients;
  for (const std::int64_t cells : kSizes)
    gradients.push_back(bells(cells, static_cast<std::uint64_t>(cells)));
  // More cells than all groups take at once.
  gradients.push_back(bells(300000, 4));
  // Also with most cells next to where another scale begins, whose squares are the largest there.
  for (const float size : {1.0f, 3e-5f, 3e-9f, 4e-10f, 1e-12f, 1e-25f, 2e8f, 7e8f, 1e12f, 1e30f}) {
    CAPTURE(size);
    std::vector<FloatBuffer> scaled = gradients;
    for (FloatBuffer& g : scaled) {
      for (float& cell : g) cell *= size;
    }
    const double expected = norm_here(scaled);
    CHECK(norm_on_device(scaled) == doctest::Approx(expected).epsilon(1e-6));
  }
  gradients[2][17] = 1e30f;  // beside which the others are nothing
  CHECK(norm_on_device(gradients) == doctest::Approx(1e30).epsilon(1e-6));
  gradients[4][5002] = -kInfinity;
  CHECK(std::isinf(norm_on_device(gradients)));
  gradients[1][30] = kNan;
  CHECK(std::isnan(norm_on_device(gradients)));
  CHECK(norm_on_device({bells(5, 1, 0)}) == 0);
  check_no_messages();
}

TEST_CASE("gl updates: a million equal numbers lose nothing in their sums") {
  if (!compute_ready()) return;
  const FloatBuffer same(1 << 20, 0.1f);
  CHECK(norm_on_device({same}) == doctest::Approx(static_cast<double>(0.1f) * 1024).epsilon(1e-7));
  Device device;
  shared_backend().updates().sum_loss(device.put(0, same), device.figures().buffer);
  CHECK(device.read().loss == doctest::Approx(static_cast<double>(0.1f) * (1 << 20)).epsilon(1e-7));
  check_no_messages();
}

TEST_CASE("gl updates: clipping multiplies, the loss adds up") {
  if (!compute_ready()) return;
  for (const std::int64_t cells : kSizes) {
    CAPTURE(cells);
    const FloatBuffer before = bells(cells, 3);
    FloatBuffer after(before.size());
    Device device;
    shared_backend().updates().clip(device.put(0, before), 0.37f);
    device.get(0, after);
    for (std::size_t i = 0; i < after.size(); ++i) REQUIRE(after[i] == 0.37f * before[i]);
    double sum = 0;
    for (const float cell : before) sum += cell;
    const unsigned figures = device.figures().buffer;
    for (int twice = 0; twice < 2; ++twice)
      shared_backend().updates().sum_loss(device.put(1, before), figures);
    CHECK(device.read().loss == doctest::Approx(2 * sum).epsilon(1e-6));
  }
  for (const float odd : {kNan, kInfinity}) {
    FloatBuffer losses = bells(700, 5);
    losses[300] = odd;
    Device device;
    shared_backend().updates().sum_loss(device.put(1, losses), device.figures().buffer);
    CHECK_FALSE(std::isfinite(device.read().loss));
  }
  check_no_messages();
}

TEST_CASE("gl updates: hits and wholly right examples are the processor's") {
  if (!compute_ready()) return;
  for (const std::int64_t vocab : {2, 3, 64, 65, 300}) {
    for (const auto& sizes : {std::pair{1, 1}, {7, 3}, {300, 2}}) {
      const int rows = sizes.first, positions = sizes.second;
      Config config;
      config.d_model = 4;
      const auto program = build_training_program(config, {rows, positions, vocab});
      std::vector<FloatBuffer> owned;
      std::vector<float*> memory(program.tensors.size(), nullptr);
      const auto make = [&](TensorId id) -> FloatBuffer& {
        const auto cells = cell_count(program.look(id).axes);
        owned.push_back(bells(cells, static_cast<std::uint64_t>(cells + id)));
        memory[static_cast<std::size_t>(id)] = owned.back().data();
        return owned.back();
      };
      owned.reserve(3);
      make(program.loss);
      FloatBuffer& logits = make(program.require("logits"));
      FloatBuffer& targets = make(program.targets);
      const auto width = static_cast<std::size_t>(vocab);
      for (std::size_t i = 0; i < targets.size(); ++i) {
        targets[i] = i % 5 == 4 ? -1.0f : static_cast<float>(scatter(i) % width);
        // Every second one is a hit, or nearly: another is as large, before it or behind it.
        float* row = logits.data() + i * width;
        if (targets[i] < 0 || i % 2 == 1) continue;
        row[static_cast<std::size_t>(targets[i])] = 9;
        if (i % 6 == 2) row[0] = 9;
        if (i % 6 == 4) row[width - 1] = 9;
      }
      const BatchSum expected = sum_batch(program, memory, true);
      Device device;
      shared_backend().updates().count_hits(device.put(0, logits), device.put(1, targets),
                                            positions, device.figures().buffer);
      const GlFigures got = device.read();
      CAPTURE(vocab);
      CAPTURE(rows);
      CHECK(got.correct == expected.correct);
      CHECK(got.rows_correct == expected.rows_correct);
      if (rows == 300) CHECK(expected.rows_correct > 0);
    }
  }
  check_no_messages();
}

}  // namespace headlight::test_gl_updates
