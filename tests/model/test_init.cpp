// Initial weights: the distributions that their names promise, each parameter from its own stream.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "core/base/random.h"
#include "core/model/init.h"

namespace headlight::test_init {
namespace {

Config wide_config() {
  Config c;
  c.layers = 2;
  c.heads = 4;
  c.d_model = 64;
  c.d_head = 24;
  c.d_hidden = 160;
  c.positions = PositionKind::kLearned;
  return c;
}

std::map<std::string, Tensor> weights(const Config& c, Init init, std::uint64_t seed) {
  std::map<std::string, Tensor> all;
  const Program program = build_program(c, {1, 48, 96});
  for (Tensor& tensor : initial_parameters(program, init, seed)) {
    const std::string name = tensor.name;
    all[name] = std::move(tensor);
  }
  return all;
}

struct Moments {
  double mean = 0, variance = 0, largest = 0;
};

Moments moments(const Tensor& tensor) {
  Moments m;
  const auto n = static_cast<double>(tensor.data.size());
  for (const float x : tensor.data) {
    m.mean += x / n;
    m.largest = std::max(m.largest, std::fabs(static_cast<double>(x)));
  }
  for (const float x : tensor.data) m.variance += (x - m.mean) * (x - m.mean) / n;
  return m;
}

}  // namespace

TEST_CASE("random: uniforms and normals have their moments, tails and bits") {
  constexpr int kCount = 200000;
  for (const std::uint64_t key : {1ull, 42ull}) {
    double flat = 0, flat_squares = 0, sum = 0, squares = 0, fourth = 0, neighbours = 0, last = 0;
    int beyond_two = 0, beyond_three = 0;
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const double u = uniform(key, i), x = normal(key, i);
      CHECK_MESSAGE((u >= 0 && u < 1), u);
      flat += u;
      flat_squares += u * u;
      sum += x;
      squares += x * x;
      fourth += x * x * x * x;
      neighbours += x * last;
      last = x;
      beyond_two += std::fabs(x) > 2;
      beyond_three += std::fabs(x) > 3;
    }
    CHECK(flat / kCount == doctest::Approx(0.5).epsilon(0.005));
    CHECK(flat_squares / kCount == doctest::Approx(1.0 / 3).epsilon(0.01));
    CHECK(std::fabs(sum / kCount) < 0.01);
    CHECK(squares / kCount == doctest::Approx(1).epsilon(0.01));
    CHECK(fourth / kCount == doctest::Approx(3).epsilon(0.03));
    CHECK(std::fabs(neighbours / kCount) < 0.01);
    CHECK(beyond_two / static_cast<double>(kCount) == doctest::Approx(0.0455).epsilon(0.05));
    CHECK(beyond_three / static_cast<double>(kCount) == doctest::Approx(0.0027).epsilon(0.2));
  }
  // Pinned, so that a seed means the same weights on every machine and for ever.
  CHECK(uniform(1, 0) == 0.5665615751722809);
  CHECK(normal(1, 0) == -0.67880994170157638);
  CHECK(normal(1, 1) == 3.3513702795158848);
}

TEST_CASE("init: biases are 0, norms 1 and 0, normal has mean 0 and deviation 0.02") {
  for (const Init init : {Init::kNormal, Init::kGlorot, Init::kKaiming}) {
    for (const auto& entry : weights(wide_config(), init, 3)) {
      const std::string& name = entry.first;
      CAPTURE(name);
      const Moments m = moments(entry.second);
      const std::string part = name.substr(name.rfind('.') + 1);
      const bool matrix = part.starts_with("W_");
      if (part == "w") CHECK((m.mean == 1 && m.variance == 0));
      if (part == "b" || part.starts_with("b_")) CHECK(m.largest == 0);
      if (!matrix || init != Init::kNormal) continue;
      // Several thousand cells each: five deviations of the mean, and of the variance.
      const double root = std::sqrt(static_cast<double>(entry.second.data.size()));
      CHECK(std::fabs(m.mean) < 5 * 0.02 / root);
      CHECK(m.variance == doctest::Approx(0.0004).epsilon(7.1 / root));
    }
  }
}

TEST_CASE("init: uniform bounds and variances by the fans of the right axes") {
  const std::map<std::string, Fans> expected = {
      {"embed.W_E", {64, 96}},          {"pos_embed.W_pos", {64, 48}},
      {"blocks.1.attn.W_Q", {64, 96}},  {"blocks.1.attn.W_K", {64, 96}},
      {"blocks.1.attn.W_V", {64, 96}},  {"blocks.1.attn.W_O", {96, 64}},
      {"blocks.1.mlp.W_in", {64, 160}}, {"blocks.1.mlp.W_out", {160, 64}},
      {"unembed.W_U", {64, 96}},        {"blocks.0.attn.score_v", {24, 1}}};
  Config c = wide_config();
  c.scores = ScoreKind::kAdditive;
  const Program program = build_program(c, {1, 48, 96});
  const std::map<std::string, Tensor> glorot = weights(c, Init::kGlorot, 5);
  const std::map<std::string, Tensor> kaiming = weights(c, Init::kKaiming, 5);
  for (const auto& entry : expected) {
    const std::string& name = entry.first;
    CAPTURE(name);
    const Fans fan = fans(program.tensors[static_cast<std::size_t>(program.require(name))]);
    CHECK(fan.in == entry.second.in);
    CHECK(fan.out == entry.second.out);
    const auto check = [](const Tensor& tensor, double bound) {
      const Moments m = moments(tensor);
      const double root = std::sqrt(static_cast<double>(tensor.data.size()));
      CHECK(m.largest <= bound * 1.0000001);
      CHECK(m.largest > bound * (1 - 10 / (root * root)));
      CHECK(std::fabs(m.mean) < 5 * bound / std::sqrt(3.0) / root);
      CHECK(m.variance == doctest::Approx(bound * bound / 3).epsilon(4.5 / root));
    };
    check(glorot.at(name), std::sqrt(6.0 / static_cast<double>(fan.in + fan.out)));
    check(kaiming.at(name), std::sqrt(6.0 / static_cast<double>(fan.in)));
  }
}

TEST_CASE("init: by the seed, and each parameter from a stream of its own") {
  Config deeper = wide_config();
  deeper.layers = 3;
  for (const Init init : {Init::kNormal, Init::kGlorot}) {
    const auto one = weights(wide_config(), init, 1), again = weights(wide_config(), init, 1);
    const auto other = weights(wide_config(), init, 2), more = weights(deeper, init, 1);
    CHECK(more.size() > one.size());
    for (const auto& entry : one) {
      CAPTURE(entry.first);
      CHECK(entry.second.data == again.at(entry.first).data);
      CHECK(entry.second.data == more.at(entry.first).data);
      if (entry.first.find(".W_") == std::string::npos) continue;
      CHECK(entry.second.data != other.at(entry.first).data);
    }
    CHECK(one.at("blocks.0.attn.W_Q").data != one.at("blocks.1.attn.W_Q").data);
    CHECK(one.at("blocks.0.attn.W_Q").data != one.at("blocks.0.attn.W_K").data);
  }
}

}  // namespace headlight::test_init
