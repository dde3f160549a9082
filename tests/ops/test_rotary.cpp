// Rotary positions: what holds for every way of pairing features, on both backends.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/backends/backend.h"
#include "core/base/random.h"

namespace headlight::test_rotary {
namespace {

struct Sizes {
  std::int64_t batch, heads, positions, d_head;
};

OpParams way(bool interleaved, std::int64_t turned, double base) {
  OpParams params;
  params.interleaved = interleaved;
  params.turned = turned;
  params.base = base;
  return params;
}

/// A program of one rotation, with its numbers and gradients.
struct Rotation {
  Rotation(const Sizes& z, const OpParams& params) {
    const std::vector<Axis> axes = {
        {"batch", z.batch}, {"head", z.heads}, {"position", z.positions}, {"d_head", z.d_head}};
    program.tensors.push_back({"x", axes, TensorKind::kParameter});
    const TensorView x = program.look(0);
    program.tensors.push_back(
        {"y", op_info(Op::kRotary).shape({&x, 1}, params), TensorKind::kActivation});
    program.calls.push_back({Op::kRotary, {0}, 1, params});
    for (FloatBuffer* cells : {&in, &out, &d_in, &d_out})
      cells->assign(static_cast<std::size_t>(cell_count(axes)), 7.0f);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = bell(3, i);
    for (std::size_t i = 0; i < in.size(); ++i) d_out[i] = bell(4, i);
  }
  void run(Backend& backend) {
    std::vector<float*> memory = {in.data(), out.data()};
    backend.run(program, program.calls, memory);
  }
  void run_backward(Backend& backend, GradientUse use) {
    std::vector<float*> memory = {in.data(), out.data()}, gradients = {d_in.data(), d_out.data()};
    const BackwardCall step{0, {use}};
    backend.run_backward(program, {&step, 1}, memory, gradients);
  }
  Program program;
  FloatBuffer in, out, d_in, d_out;
};

double dot(const FloatBuffer& a, const FloatBuffer& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

double largest_difference(const FloatBuffer& a, const FloatBuffer& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::fabs(static_cast<double>(a[i]) - b[i]));
  return most;
}

/// Calls f for both pairings, for whole heads and parts of them, about the widths of packets.
template <class F>
void for_rotations(F&& f) {
  for (const bool interleaved : {false, true}) {
    for (const std::int64_t width : {2, 6, 16, 30, 32, 34, 66}) {
      for (const std::int64_t turned : {std::int64_t{0}, std::int64_t{2}, width / 4 * 2}) {
        const OpParams params = way(interleaved, turned, width == 16 ? 500000 : 10000);
        CAPTURE(interleaved);
        CAPTURE(width);
        CAPTURE(turned);
        f(Sizes{2, 3, 19, width + width % 3}, params);
        OpParams slower = params;
        slower.stretch = {interleaved ? RotaryScaling::kLinear : RotaryScaling::kLlama3, 8, 1, 4,
                          40};
        f(Sizes{2, 3, 19, width + width % 3}, slower);
      }
    }
  }
}

}  // namespace

// Of Llama 3.1: heads of 128, base 500000, rope_scaling {factor 8, low 1, high 4, context 8192};
// computed apart from this code, by wavelength.
TEST_CASE("rotary: pairs are slowed down by how often they turn round") {
  const RotaryStretch llama{RotaryScaling::kLlama3, 8, 1, 4, 8192};
  const auto rate = [&](std::int64_t i) { return rotary_rate(500000, llama, i, 64); };
  const auto is = [](double x) { return doctest::Approx(x).epsilon(1e-12); };
  CHECK(rate(0) == 1);
  CHECK(rate(20) == is(0.016560440080994446));  // stays
  CHECK(rate(29) == is(0.002166570763503359));  // in part
  CHECK(rate(30) == is(0.0013718935677611381));
  CHECK(rate(33) == is(0.00031269375038406517));
  CHECK(rate(35) == is(9.556212353964683e-05));  // in full
  CHECK(rate(63) == is(3.068925988914511e-07));
  const RotaryStretch linear{RotaryScaling::kLinear, 8};
  for (const std::int64_t i : {0, 20, 63})
    CHECK(rotary_rate(500000, linear, i, 64) == is(rotary_rate(500000, {}, i, 64) / 8));
}

TEST_CASE("rotary: rotations of different scaling do not share their angles") {
  const auto cpu = make_cpu_backend(1), reference = make_reference_backend();
  for (const RotaryScaling kind :
       {RotaryScaling::kNone, RotaryScaling::kLinear, RotaryScaling::kLlama3}) {
    OpParams params = way(false, 0, 100);
    params.stretch = {kind, 4, 1, 4, 30};
    Rotation got({1, 2, 9, 8}, params), expected({1, 2, 9, 8}, params);
    got.run(*cpu);
    expected.run(*reference);
    CHECK(largest_difference(got.out, expected.out) < 2e-6);
  }
}

TEST_CASE("rotary: the cpu backend turns as the reference does, and gradients turn back") {
  const auto cpu = make_cpu_backend(2), reference = make_reference_backend();
  for_rotations([&](const Sizes& sizes, const OpParams& params) {
    if (params.turned == 0 && sizes.d_head % 2 != 0) return;
    Rotation got(sizes, params), expected(sizes, params);
    got.run(*cpu);
    expected.run(*reference);
    CHECK(largest_difference(got.out, expected.out) < 2e-6);
    // ⟨d, R x⟩ = ⟨Rᵀ d, x⟩, and no row becomes longer or shorter.
    expected.run_backward(*reference, GradientUse::kWritten);
    CHECK(dot(expected.d_in, expected.in) ==
          doctest::Approx(dot(expected.d_out, expected.out)).epsilon(1e-5));
    CHECK(dot(expected.out, expected.out) ==
          doctest::Approx(dot(expected.in, expected.in)).epsilon(1e-6));
    got.run_backward(*cpu, GradientUse::kWritten);
    CHECK(largest_difference(got.d_in, expected.d_in) < 2e-6);
    const FloatBuffer once = got.d_in;
    got.run_backward(*cpu, GradientUse::kAdded);
    for (std::size_t i = 0; i < once.size(); ++i)
      CHECK(got.d_in[i] == doctest::Approx(2 * once[i]).epsilon(1e-5));
  });
}

TEST_CASE("rotary: a score depends on how far apart query and key are") {
  for (const bool interleaved : {false, true}) {
    const Sizes sizes = {1, 1, 40, 8};
    Rotation q(sizes, way(interleaved, 0, 10000)), k(sizes, way(interleaved, 0, 10000));
    for (std::size_t i = 0; i < q.in.size(); ++i) {  // one query and one key, at every position
      q.in[i] = bell(8, i % 8);
      k.in[i] = bell(9, i % 8);
    }
    const auto cpu = make_cpu_backend(1);
    q.run(*cpu);
    k.run(*cpu);
    const auto score = [&](std::size_t i, std::size_t j) {
      double sum = 0;
      for (std::size_t e = 0; e < 8; ++e)
        sum += static_cast<double>(q.out[i * 8 + e]) * k.out[j * 8 + e];
      return sum;
    };
    for (std::size_t i = 5; i < 40; ++i) CHECK(score(i, i - 5) == doctest::Approx(score(5, 0)));
    CHECK(std::fabs(score(5, 0) - score(6, 0)) > 0.01);
  }
}

TEST_CASE("rotary: rows behind others turn as they do among them, forwards and back") {
  for (const auto& backend : {make_reference_backend(), make_cpu_backend(1)}) {
    OpParams params = way(false, 0, 100);
    Rotation whole({1, 2, 9, 6}, params);
    params.offset = 4;
    Rotation last({1, 2, 5, 6}, params);
    for (std::size_t head = 0; head < 2; ++head) {
      for (std::size_t i = 0; i < 30; ++i) {
        last.in[head * 30 + i] = whole.in[head * 54 + 24 + i];
        last.d_out[head * 30 + i] = whole.d_out[head * 54 + 24 + i];
      }
    }
    for (Rotation* r : {&whole, &last}) {
      r->run(*backend);
      r->run_backward(*backend, GradientUse::kWritten);
    }
    for (std::size_t head = 0; head < 2; ++head) {
      for (std::size_t i = 0; i < 30; ++i) {
        CHECK(last.out[head * 30 + i] == whole.out[head * 54 + 24 + i]);
        CHECK(last.d_in[head * 30 + i] == whole.d_in[head * 54 + 24 + i]);
      }
    }
  }
}

}  // namespace headlight::test_rotary
