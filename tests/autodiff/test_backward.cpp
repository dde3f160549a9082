// Backward: what it keeps, what it adds up, and where a backward pass may start.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tests/support/training_model.h"

namespace headlight::test_backward {

TEST_CASE("backward: what does not lead to the loss has zeros, inputs have nothing") {
  Config c;
  c.d_model = 8;
  TrainingModel model(c, {2, 5, 4});
  for (const auto* make : {"reference", "cpu"}) {
    const auto backend = make_backend(make, 2);
    model.run(*backend);
    model.run_backward(*backend);
    for (const float g : model.backward.gradient("probs").cells()) CHECK(g == 0.0f);
    CHECK(rms(model.backward.gradient("d.logits").cells()) > 0);
    CHECK(model.backward.gradient("logits").name == "d.logits");
    for (const char* name : {"token_ids", "mask", "targets"}) {
      CHECK(model.backward.gradient(name).data == nullptr);
    }
    const auto seeds = model.backward.gradient("loss").cells();
    for (std::size_t i = 0; i < 10; ++i) CHECK(seeds[i] == (i % 4 == 2 ? 0.0f : 1.0f / 8));
    // Another name for the same numbers has the same gradient.
    const TensorView alias = model.backward.gradient("blocks.1.resid_pre");
    CHECK(alias.name == "d.blocks.1.resid_pre");
    CHECK(alias.data == model.backward.gradient("blocks.0.resid_post").data);
    for (const float g : model.backward.gradient("embed").cells()) CHECK(std::isfinite(g));
    // Each row of the logits' gradient adds up to 0, or is 0 where nothing is counted.
    const auto logits = model.backward.gradient("logits").cells();
    for (std::size_t row = 0; row < 10; ++row) {
      double sum = 0;
      for (std::size_t j = 0; j < 4; ++j) sum += logits[row * 4 + j];
      CHECK(std::fabs(sum) < 1e-7);
      CHECK((logits[row * 4] == 0) == (row % 4 == 2));
    }
  }
  CHECK_THROWS_AS(model.backward.gradient("logit"), UsageError);
}

TEST_CASE(
    "backward: the parameters' gradients lie in one piece, and several backward passes add up") {
  Config c;
  c.d_model = 8;
  const auto backend = make_cpu_backend(1);
  TrainingModel model(c, {2, 5, 4});
  model.run(*backend);
  model.run_backward(*backend);
  const auto all = model.backward.parameters();
  std::vector<bool> owned(all.size(), false);
  for (const TensorId id : model.of_kind(TensorKind::kParameter)) {
    const TensorView g = model.backward.gradient(id);
    const std::size_t at = model.backward.parameter_at(id);
    CHECK(all.data() + at == g.data);
    CHECK(at % 16 == 0);
    for (std::size_t i = 0; i < g.cells().size(); ++i) {
      REQUIRE_FALSE(owned[at + i]);
      owned[at + i] = true;
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) CHECK((owned[i] || all[i] == 0.0f));

  const std::vector<float> once(all.begin(), all.end());
  model.run_backward(*backend, ParameterGradients::kAdded);
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == doctest::Approx(2.0 * once[i]));
  model.run_backward(*backend);
  CHECK(std::memcmp(all.data(), once.data(), once.size() * sizeof(float)) == 0);
}

TEST_CASE("backward: where only parameters are kept, they are the same in less memory") {
  for (const auto* make : {"reference", "cpu"}) {
    const auto backend = make_backend(make, 1);
    int number = 0;
    for_all_configs([&](Config c) {
      if (++number % 3 != 0 && c.residual) return;
      c.d_model = 6;
      c.layers = 3;
      TrainingModel model(c, sized(c, 2, 5, 4), drops(c));
      model.run(*backend);
      model.run_backward(*backend);
      Backward less(model.program, KeptGradients::kParameters);
      for (int repeat = 0; repeat < 2; ++repeat) {
        less.seed_loss(model.memory, counted_targets(*model.program, model.memory));
        less.run(*backend, model.memory);
      }
      const auto all = model.backward.parameters(), same = less.parameters();
      REQUIRE(all.size() == same.size());
      CHECK(std::memcmp(all.data(), same.data(), all.size_bytes()) == 0);
      const double parameters = static_cast<double>(all.size_bytes());
      CHECK(less.memory_bytes() - parameters < 0.5 * (model.backward.memory_bytes() - parameters));
      CHECK(less.gradient("logits").data == nullptr);
      const std::string root = c.form == ModelForm::kTranslate ? "decoder." : "";
      CHECK(less.gradient(root + "blocks.1.resid_pre").data == nullptr);
      CHECK(less.gradient("embed.W_E").data != nullptr);
      CHECK(rms(less.gradient("loss").cells()) > 0);
    });
  }
}

TEST_CASE("backward: shards that count with the whole batch add up to it") {
  Config c;
  c.d_model = 8;
  const auto backend = make_cpu_backend(1);
  TrainingModel whole(c, {4, 5, 6});
  whole.run(*backend);
  whole.run_backward(*backend);
  const std::int64_t counted = counted_targets(*whole.program, whole.memory);
  CHECK(counted == 15);
  std::vector<double> sum(whole.backward.parameters().size(), 0.0);
  double loss = 0;
  for (std::size_t shard = 0; shard < 2; ++shard) {
    TrainingModel part(c, {2, 5, 6});
    for (const TensorId id : {part.program->token_ids, part.program->targets}) {
      const auto from = whole.cells(id).subspan(shard * 10, 10);
      std::copy(from.begin(), from.end(), part.cells(id).begin());
    }
    part.run(*backend);
    loss += mean_loss(*part.program, part.memory) *
            static_cast<double>(counted_targets(*part.program, part.memory));
    part.backward.seed_loss(part.memory, counted);
    part.backward.run(*backend, part.memory);
    const auto gradients = part.backward.parameters();
    REQUIRE(gradients.size() == sum.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradients[i];
  }
  CHECK(loss / static_cast<double>(counted) ==
        doctest::Approx(mean_loss(*whole.program, whole.memory)));
  const double limit = 1e-5 * rms(whole.backward.parameters());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    CHECK(std::fabs(sum[i] - whole.backward.parameters()[i]) <= limit);
  }
}

TEST_CASE("backward: with no target counted, everything is zero") {
  Config c;
  c.d_model = 8;
  TrainingModel model(c, {1, 5, 4});
  const auto targets = model.cells(model.program->targets);
  std::fill(targets.begin(), targets.end(), -1.0f);
  for (const auto* make : {"reference", "cpu"}) {
    const auto backend = make_backend(make, 1);
    model.run(*backend);
    model.run_backward(*backend);
    CHECK(mean_loss(*model.program, model.memory) == 0);
    CHECK(rms(model.backward.parameters()) == 0);
  }
}

TEST_CASE("backward: a backward pass from any tensors, each used as often as it likes") {
  // L = Σ c · logits + Σ e · attn.q of the last layer: the second seed lies on the way of the
  // first.
  Config c;
  c.d_model = 6;
  c.heads = 2;
  c.layers = 2;
  c.attention = AttentionKind::kBasic;  // q = k = v = x: one tensor read four times
  const auto program = std::make_shared<const Program>(build_program(c, {1, 4, 5}));
  const std::vector<TensorId> seeds = {program->require("logits"),
                                       program->require("blocks.1.ln1.normalized")};
  for (const auto* make : {"reference", "cpu"}) {
    const auto backend = make_backend(make, 1);
    CAPTURE(make);
    Backward pass(program, seeds);
    TrainingModel model(c, {1, 4, 5});  // lends its memory: the same tensors come first
    model.run(*backend);
    const std::vector<float*> memory(
        model.memory.begin(),
        model.memory.begin() + static_cast<std::ptrdiff_t>(program->tensors.size()));
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (const TensorId seed : seeds) {
        const auto cells = pass.seed(seed);
        for (std::size_t i = 0; i < cells.size(); ++i) {
          cells[i] = bell(static_cast<std::uint64_t>(seed), i);
        }
      }
      pass.run(*backend, memory);
    }
    const auto level = [&] {
      model.run(*backend);
      double sum = 0;
      for (const TensorId seed : seeds) {
        const auto cells = model.cells(seed);
        for (std::size_t i = 0; i < cells.size(); ++i) {
          sum += static_cast<double>(cells[i]) * bell(static_cast<std::uint64_t>(seed), i);
        }
      }
      return sum;
    };
    for (const char* name : {"embed.W_E", "blocks.0.ln1.w", "blocks.1.ln1.b", "unembed.W_U"}) {
      CAPTURE(name);
      const TensorView gradient = pass.gradient(name);
      for (std::size_t i = 0; i < gradient.cells().size(); i += 3) {
        float& cell = model.cells(program->require(name))[i];
        const float before = cell;
        const auto at = [&](float by) {
          cell = before + by;
          return level();
        };
        const double near = at(0.03125f) - at(-0.03125f), far = at(0.0625f) - at(-0.0625f);
        cell = before;
        const double expected = (8 * near - far) / (12 * 0.03125);
        CHECK(std::fabs(gradient.cells()[i] - expected) <= 2e-3 + 1e-3 * std::fabs(expected));
      }
    }
  }
  CHECK_THROWS_AS(Backward(program, {program->require("token_ids")}), UsageError);
  CHECK_THROWS_AS(Backward(program, {program->require("embed.W_E")}), UsageError);
  CHECK_THROWS_AS(Backward{program}, UsageError);  // no loss
}

TEST_CASE("backward: an operation that reads one tensor twice") {
  for (const Op op : {Op::kAdd, Op::kScores, Op::kAdditiveScores}) {
    CAPTURE(op_info(op).id);
    auto made = std::make_shared<Program>();
    made->tensors.push_back(
        {"x", {{"batch", 2}, {"head", 2}, {"position", 5}, {"d_head", 3}}, TensorKind::kParameter});
    OpCall call{op, {0, 0}, 1, {}};
    std::vector<TensorView> views = {made->look(0), made->look(0)};
    if (op == Op::kAdditiveScores) {
      made->tensors.push_back({"v", {{"head", 2}, {"d_head", 3}}, TensorKind::kParameter});
      call.in.push_back(1);
      call.out = 2;
      views = {made->look(0), made->look(0), made->look(1)};
    }
    made->tensors.push_back({"out", op_info(op).shape(views, {}), TensorKind::kActivation});
    made->calls.push_back(call);
    std::vector<FloatBuffer> owned(3);
    std::vector<float*> memory;
    for (std::size_t id = 0; id < made->tensors.size(); ++id) {
      owned[id].resize(static_cast<std::size_t>(cell_count(made->tensors[id].axes)));
      for (std::size_t i = 0; i < owned[id].size(); ++i) owned[id][i] = bell(id, i);
      memory.push_back(owned[id].data());
    }
    const auto reference = make_reference_backend(), cpu = make_cpu_backend(1);
    Backward pass(made, {call.out}), fast(made, {call.out});
    for (Backward* b : {&pass, &fast}) {
      const auto seed = b->seed(call.out);
      for (std::size_t i = 0; i < seed.size(); ++i) seed[i] = bell(7, i);
    }
    pass.run(*reference, memory);
    fast.run(*cpu, memory);
    const auto level = [&] {
      reference->run(*made, made->calls, memory);
      double sum = 0;
      const FloatBuffer& out = owned[static_cast<std::size_t>(call.out)];
      for (std::size_t i = 0; i < out.size(); ++i) sum += static_cast<double>(out[i]) * bell(7, i);
      return sum;
    };
    const auto gradient = pass.gradient(TensorId{0}).cells();
    CHECK(normalised_error(fast.gradient(TensorId{0}).cells(), gradient, 0) <= 1e-5);
    for (std::size_t i = 0; i < gradient.size(); i += 7) {
      const float before = owned[0][i];
      owned[0][i] = before + 0.015625f;
      const double up = level();
      owned[0][i] = before - 0.015625f;
      const double down = level();
      owned[0][i] = before;
      CHECK(gradient[i] == doctest::Approx((up - down) / 0.03125).epsilon(5e-3));
    }
  }
}

}  // namespace headlight::test_backward
