// The cpu backend beside the reference: every operation, whole programs, any number of threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>

#include "core/backends/cpu/choice/instruction_sets.h"
#include "tests/support/allocations.h"
#include "tests/support/forward_cases.h"

namespace headlight {
namespace {

// On two threads, with each instruction set that this processor has.
std::span<Backend* const> every_cpu() {
  static const auto kAll = [] {
    std::vector<std::unique_ptr<Backend>> made;
    for (const CpuBackends* each : cpu_backends()) made.push_back(each->make(2));
    return made;
  }();
  static const auto kPlain = [] {
    std::vector<Backend*> plain;
    for (const auto& each : kAll) plain.push_back(each.get());
    return plain;
  }();
  return kPlain;
}

void check_case(const OpCase& row, const Sizes& sizes, float spread) {
  const Program program = single_call(row.op, row.inputs(sizes), sizes.n);
  CAPTURE(op_info(row.op).id);
  CAPTURE(shape_text(program.tensors.back().axes));
  CAPTURE(spread);
  Memory expected(program);
  fill_inputs(program, expected, hash_text(op_info(row.op).id), spread);
  static const auto kReference = make_reference_backend();
  expected.run(*kReference);
  const TensorId out = program.calls[0].out;
  for (Backend* cpu : every_cpu()) {
    Memory got(program);
    copy_inputs(program, expected, got);
    CHECK(cpu->supports(program, program.calls[0]));
    got.run(*cpu);
    CHECK(normalised_error(got.cells(out), expected.cells(out)) <= row.limit);
    CHECK(got.guards_hold());
  }
}

TEST_CASE("cpu: every operation has a row in the table") {
  std::set<Op> tested;
  for (const OpCase& row : kForwardTable) tested.insert(row.op);
  std::string missing;
  for (const OpInfo& info : all_ops()) {
    if (!tested.contains(info.op)) missing += std::string(info.id) + " ";
  }
  CHECK(missing == "");
}

TEST_CASE("cpu: every operation agrees with the reference") {
  constexpr std::int64_t kSizes[] = {1, 2, 7, 13, 15, 16, 17, 31, 47, 48, 49, 63, 64, 65};
  constexpr std::size_t kCount = std::size(kSizes);
  for (const OpCase& row : kForwardTable) {
    for (const std::int64_t batch : {1, 3}) {
      for (std::size_t i = 0; i < kCount; ++i) {
        const std::int64_t a = kSizes[i], b = kSizes[(5 * i + 3) % kCount];
        const std::int64_t c = kSizes[(3 * i + 7) % kCount];
        check_case(row, {batch, 3, a, b, c, a}, 1.0f);
        check_case(row, {batch, 2, b, a, a, c}, 1.0f);
        check_case(row, {batch, 1, c, c, b, b}, 1.0f);
      }
    }
  }
}

TEST_CASE("cpu: large, small and equal numbers, long sums, many rows") {
  for (const OpCase& row : kForwardTable) {
    for (const float spread : {30.0f, 300.0f, 1e-3f, 0.0f}) {
      check_case(row, {2, 3, 17, 19, 23, 29}, spread);
    }
    check_case(row, {1, 1, 3, 5, 1031, 67}, 1.0f);
    check_case(row, {1, 2, 131, 257, 67, 211}, 1.0f);
    check_case(row, {1, 1, 1, 1543, 769, 1543}, 1.0f);
  }
}

// One call of an operation on given cells of its first input.
std::vector<float> run_cells(Backend& backend, Op op, const std::vector<float>& cells,
                             double temperature = 1) {
  const auto n = static_cast<std::int64_t>(cells.size());
  const Program program = single_call(op, {{1, 1, n}}, n, temperature);
  Memory memory(program);
  std::copy(cells.begin(), cells.end(), memory.cells(0).begin());
  memory.run(backend);
  const auto out = memory.cells(1);
  return {out.begin(), out.end()};
}

double largest_relative_error(const std::vector<float>& got, const std::vector<double>& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (expected[i] == 0) continue;
    worst = std::max(worst, std::abs(static_cast<double>(got[i]) / expected[i] - 1.0));
  }
  return worst;
}

TEST_CASE("cpu: each weight and each gate is right to a millionth of itself") {
  const auto cpu = make_cpu_backend(1);
  std::vector<float> cells;
  std::vector<double> expected;
  for (int i = 0; i <= 8000; ++i) cells.push_back(5.0f - 0.01f * static_cast<float>(i));
  for (const double temperature : {1.0, 10.0, 2.7, 0.93}) {
    CAPTURE(temperature);
    double sum = 0;
    expected.clear();
    for (const float x : cells) sum += std::exp(static_cast<double>(x) / temperature);
    for (const float x : cells) {
      const double weight = std::exp(static_cast<double>(x) / temperature) / sum;
      expected.push_back(weight > 1e-37 ? weight : 0);  // below, a float has fewer digits
    }
#ifdef __FMA__
    constexpr double kLimit = 1e-6;
#else
    constexpr double kLimit = 5e-6;  // what the product with 1 / temperature loses stays lost
#endif
    CHECK(largest_relative_error(run_cells(*cpu, Op::kSoftmax, cells, temperature), expected) <
          kLimit);
  }

  // Far below 0 the reference's 1 + erf(x) has no digits left, so erfc stands in.
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double x = cells[i] /= 7;
    expected[i] = 0.5 * x * std::erfc(-x * std::sqrt(0.5));
  }
  // 1e-7 with fused multiply-add; without it the square of x = -11 is rounded as well.
  CHECK(largest_relative_error(run_cells(*cpu, Op::kGelu, cells), expected) < 4e-6);

  // Its exponent is rounded, so the tanh form's gate is only good to its size: 45 at x = -7.
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double x = cells[i] /= 2,
                 u = std::sqrt(8 / 3.141592653589793) * (x + 0.044715 * x * x * x);
    expected[i] = x / (1 + std::exp(-u));
  }
  CHECK(largest_relative_error(run_cells(*cpu, Op::kGeluTanh, cells), expected) < 5e-6);
}

TEST_CASE("cpu: smooth activation functions are right to some millionths of themselves") {
  // Near 0 a table is asked, far from it a formula; both sides of every seam.
#if defined(__AVX512F__)
  constexpr double kNear = 2.5e-7;
#elif defined(__FMA__)
  constexpr double kNear = 1e-6;
#else
  constexpr double kNear = 5e-6;  // squares are rounded
#endif
  std::vector<float> cells;
  for (int i = -20000; i <= 20000; ++i) cells.push_back(5e-4f * static_cast<float>(i));
  for (int i = 0; i < 200; ++i) cells.push_back(3.87f + 1e-4f * static_cast<float>(i));
  const double steep = std::sqrt(8 / 3.141592653589793);
  struct Form {
    Op op;
    double (*gate)(double x, double steep);
    double limit;
  };
  const Form forms[] = {
      {Op::kGelu, [](double x, double) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); }, 4e-6},
      {Op::kGeluTanh,
       [](double x, double s) { return 1 / (1 + std::exp(-s * (x + 0.044715 * x * x * x))); },
       2e-5},  // far from 0 its exponent is rounded: 70 at x = -10
      {Op::kSilu, [](double x, double) { return 1 / (1 + std::exp(-x)); }, 1e-6}};
  for (Backend* cpu : every_cpu()) {
    for (const Form& form : forms) {
      CAPTURE(op_info(form.op).id);
      std::vector<double> expected;
      for (const float x : cells) {
        const double y = x * form.gate(x, steep);
        expected.push_back(std::abs(y) > 1e-36 ? y : 0);
      }
      const std::vector<float> got = run_cells(*cpu, form.op, cells);
      CHECK(largest_relative_error(got, expected) < form.limit);
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (std::abs(cells[i]) > 3.8f) expected[i] = 0;  // not asked
      }
      CHECK(largest_relative_error(got, expected) < kNear);
    }
  }
}

TEST_CASE("cpu: what an activation function gives depends on its own number alone") {
  const std::vector<float> cells = {0.3f, -5.0f, 1.7f,  -0.1f, 3.9f, 17.0f, -3.8f, 0.0f,  -16.1f,
                                    2.2f, -0.9f, 30.0f, -4.1f, 3.7f, -2.5f, 8.0f,  -7.9f, 1e-3f};
  for (Backend* cpu : every_cpu()) {
    for (const Op op : {Op::kGelu, Op::kGeluTanh, Op::kSilu}) {
      CAPTURE(op_info(op).id);
      const std::vector<float> together = run_cells(*cpu, op, cells);
      for (std::size_t i = 0; i < cells.size(); ++i) {
        CAPTURE(cells[i]);
        CHECK(run_cells(*cpu, op, {cells[i]})[0] == together[i]);
      }
    }
  }
}

TEST_CASE("cpu: infinite and undefined numbers come out as in the reference") {
  const auto cpu = make_cpu_backend(1), reference = make_reference_backend();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<float>> rows = {
      {-kInfinity, -kInfinity, -kInfinity}, {-kInfinity, 3.0f, -kInfinity, 200.0f},
      {kInfinity, 1.0f, -kInfinity},        {1.0f, kNan, 2.0f},
      {-kInfinity, -1e38f, -1e38f},         {3e38f, -3e38f, 0.0f},
      {0.0f, -0.0f, 1e-30f, -1e-30f},
  };
  for (std::vector<float> row : rows) {
    for (const std::size_t length : {row.size(), std::size_t{16}, std::size_t{37}}) {
      row.resize(length, row[0]);
      for (const double temperature : {0.05, 0.37, 10.0}) {
        CAPTURE(row);
        CAPTURE(temperature);
        CHECK(normalised_error(run_cells(*cpu, Op::kSoftmax, row, temperature),
                               run_cells(*reference, Op::kSoftmax, row, temperature)) <= 1e-12);
      }
      for (const Op op : {Op::kSoftmax, Op::kRelu, Op::kGelu, Op::kGeluTanh, Op::kScale}) {
        CAPTURE(op_info(op).id);
        CAPTURE(row);
        CHECK(normalised_error(run_cells(*cpu, op, row), run_cells(*reference, op, row)) <= 1e-12);
      }
    }
  }
}

TEST_CASE("cpu: a row of a norm that is huge, tiny or no number leaves those beside it alone") {
  const auto reference = make_reference_backend();
  constexpr std::size_t kRows = 16, kWidth = 24;  // a block of rows, or two or four
  for (const Op op : {Op::kLayerNorm, Op::kRmsNorm}) {
    const Program program = single_call(op, {{1, kRows, kWidth}, {kWidth}}, kWidth);
    Memory got(program), expected(program);
    const auto out = static_cast<TensorId>(program.tensors.size() - 1);
    const auto check = [&](std::size_t nan, std::size_t far, float factor) {
      fill_inputs(program, got, 7, 1.0f);
      const auto x = got.cells(0);
      x[nan * kWidth + 5] = std::numeric_limits<float>::quiet_NaN();
      for (float& cell : x.subspan(far * kWidth, kWidth)) cell *= factor;
      copy_inputs(program, got, expected);
      expected.run(*reference);
      for (Backend* cpu : every_cpu()) {
        got.run(*cpu);
        for (std::size_t row = 0; row < kRows; ++row) {
          CAPTURE(row);
          CHECK(normalised_error(got.cells(out).subspan(row * kWidth, kWidth),
                                 expected.cells(out).subspan(row * kWidth, kWidth)) <= 1e-11);
        }
      }
    };
    for (std::size_t nan = 0; nan < kRows; ++nan) {
      for (std::size_t far = 0; far < kRows; ++far) {
        check(nan, far, 1e25f);
        check(nan, far, 1e-25f);
      }
    }
  }
}

// ---- whole programs ----

void fill_program(const Program& program, Memory& memory) {
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorSpec& spec = program.tensors[i];
    if (spec.kind != TensorKind::kParameter) continue;
    const bool table = spec.axes.size() > 1;
    const auto inner = table ? spec.axes[spec.axes.size() - 2].size : 1;
    fill(memory.cells(static_cast<TensorId>(i)), hash_text(spec.name),
         1.5f / std::sqrt(static_cast<float>(inner)));
  }
  const auto ids = memory.cells(program.token_ids);
  for (std::size_t t = 0; t < ids.size(); ++t) {
    ids[t] = static_cast<float>(scatter(t) % static_cast<std::uint64_t>(program.shape.vocab));
  }
  if (program.mask < 0) return;
  const auto mask = memory.cells(program.mask);
  const auto n = static_cast<std::size_t>(program.shape.positions);
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const int query = static_cast<int>(i / n % n), key = static_cast<int>(i % n);
    mask[i] = program.config.mask.allows(query, key) ? 0.0f : -kInfinity;
  }
}

void check_program(const Config& config, const RunShape& shape, Backend& cpu) {
  const Program program = build_program(config, shape);
  Memory got(program), expected(program);
  fill_program(program, got);
  copy_inputs(program, got, expected);
  got.run(cpu);
  expected.run(*make_reference_backend());
  // A score and what a distance adds to it can nearly cancel: what is left has the error of both.
  // Scores that are not scaled, at a low temperature: where two keys are near each other, what was
  // rounded before decides.
  const bool sharp = !config.scale && config.temperature < 1;
  const double limit = config.is_relative() || sharp ? 1e-8 : 1e-9;
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    CAPTURE(program.tensors[id].name);
    const auto tensor = static_cast<TensorId>(id);
    CHECK(normalised_error(got.cells(tensor), expected.cells(tensor)) <= limit);
  }
  CHECK(got.guards_hold());
}

template <class T, class F>
void for_choices(T& place, F&& f) {
  for (const auto& choice : choices(T{})) {
    place = choice.value;
    CAPTURE(choice.word);
    f();
  }
}

TEST_CASE("cpu: whole programs of every kind agree with the reference") {
  const auto cpu = make_cpu_backend(2);
  Config c;
  c.layers = 2;
  c.heads = 3;
  c.d_model = 21;
  c.d_hidden = 35;
  c.mask.padding = {0, 3};
  for (int i = 0; i < 11; ++i) c.mask.forbidden.insert(4, i);  // a row with no key at all
  int number = 0;
  const auto check = [&] {
    // The switches that do not change the program's branches take turns.
    ++number;
    c.scale = number % 2 == 0;
    c.bias = number % 3 != 0;
    c.residual = number % 5 != 0;
    c.temperature = number % 3 == 0 ? 0.37 : 1;
    c.d_head = number % 4 == 0 ? 5 : 0;
    c.activation = choices(Activation{})[static_cast<std::size_t>(number % 6)].value;
    c.norm = choices(NormKind{})[static_cast<std::size_t>(number / 4 % 2)].value;
    c.rotary = choices(RotaryPairs{})[static_cast<std::size_t>(number / 2 % 2)].value;
    c.rotary_width = 4;
    c.kv_heads = number % 2 == 0 ? 1 : 0;
    const std::int64_t positions = number % 7 == 0 ? 1 : 11;
    check_program(c, {number % 2 + 1, positions, 6}, *cpu);
  };
  for_choices(c.attention, [&] {
    for_choices(c.block, [&] {
      for_choices(c.scores,
                  [&] { for_choices(c.positions, [&] { for_choices(c.mask.kind, check); }); });
    });
  });
  CHECK(number == 4 * 5 * 2 * 8 * 6);
}

// Enough work in every operation that threads share it.
Config shared_config() {
  Config c;
  c.layers = 1;
  c.heads = 5;
  c.d_head = 33;
  c.d_model = 150;
  return c;
}

// Both kinds of scores, and the mechanisms of LLaMA.
std::vector<Config> shared_configs() {
  std::vector<Config> all(3, shared_config());
  all[1].scores = ScoreKind::kAdditive;
  all[2].heads = 6;
  all[2].kv_heads = 2;
  all[2].norm = NormKind::kRms;
  all[2].positions = PositionKind::kRotary;
  all[2].rotary_width = 32;
  all[2].activation = Activation::kSwiglu;
  return all;
}

TEST_CASE("cpu: any number of threads gives the same bits") {
  for (const Config& c : shared_configs()) {
    const Program program = build_program(c, {2, 131, 50});
    Memory first(program);
    fill_program(program, first);
    first.run(*make_cpu_backend(1));
    for (const int threads : {1, 2, 3, 8}) {
      CAPTURE(threads);
      const auto backend = make_cpu_backend(threads);
      Memory other(program);
      copy_inputs(program, first, other);
      for (int repeat = 0; repeat < 3; ++repeat) {
        other.run(*backend);
        for (std::size_t id = 0; id < program.tensors.size(); ++id) {
          const auto a = first.cells(static_cast<TensorId>(id));
          const auto b = other.cells(static_cast<TensorId>(id));
          CAPTURE(program.tensors[id].name);
          CHECK(std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
        }
      }
    }
  }
}

TEST_CASE("cpu: threads share work rightly") {
  const auto cpu = make_cpu_backend(3);
  Config c = shared_config();
  check_program(c, {2, 67, 50}, *cpu);
  c.attention = AttentionKind::kWide;
  c.block = BlockKind::kPostNorm;
  c.activation = Activation::kGeluTanh;
  check_program(c, {1, 97, 300}, *cpu);
}

TEST_CASE("cpu: a second run allocates nothing") {
  if (!counts_allocations()) {
    MESSAGE("skipped: a sanitizer has its own malloc");
    return;
  }
  for (const int threads : {1, 2}) {
    for (const std::int64_t positions : {32, 131}) {
      const Program program =
          build_program(shared_configs()[positions == 32 ? 0 : 2], {1, positions, 50});
      Memory memory(program);
      fill_program(program, memory);
      const auto backend = make_cpu_backend(threads);
      memory.run(*backend);
      const long before = allocation_count();
      memory.run(*backend);
      const long after = allocation_count();
      CHECK(after - before == 0);
    }
  }
}

}  // namespace
}  // namespace headlight
