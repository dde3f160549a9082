// Layers of a run that did not stay in memory, looked at by several threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "core/run/runner.h"
#include "tests/run/kinds_of_models.h"

namespace headlight::test_layers_again {

TEST_CASE("kept tensors: layers are looked at by several threads at once") {
  RunLimits limits;
  limits.keep_all_to = 0;
  Runner whole, little(limits);
  const auto backend = make_cpu_backend(2);
  const Document doc = random_model([](Config& c) { c.layers = 6; });
  const auto all = whole.run(doc, *backend).trace, some = little.run(doc, *backend).trace;
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        const int layer = (round * (t + 1)) % 6;
        const TensorId id = all->program().require("blocks." + std::to_string(layer) + ".mlp.pre");
        const auto held = some->hold(id);
        wrong += !std::ranges::equal(some->tensor(id).cells(), all->tensor(id).cells());
        if (t == 0) some->forget(-1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace headlight::test_layers_again
