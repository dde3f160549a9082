// Traces that one thread makes while another looks at them and lets go of them.
#include <cmath>
#include <set>

#include "tests/workers/worker_support.h"

namespace headlight::test::test_runner_threads {

TEST_CASE("runner: memory is used again only once nobody on any thread looks at it") {
  Mailbox<std::uint64_t, std::shared_ptr<const Trace>, void> reader([](const auto& job) {
    const TensorView probs = job.request->tensor("probs");
    double sum = 0;
    for (const float p : probs.cells()) sum += static_cast<double>(p);
    const auto rows = static_cast<double>(job.request->length());
    if (std::abs(sum - rows) > 1e-3 * rows) throw std::logic_error("written over");
  });
  Runner runner;
  const auto backend = make_backend("cpu", 1);
  Document document = long_document(6);
  std::set<const float*> memory;
  for (std::uint64_t i = 1; i <= 400; ++i) {
    document.config.seed = i;
    auto trace = runner.run(document, *backend).trace;
    REQUIRE(trace);
    memory.insert(trace->tensor("probs").data);
    reader.post(i, std::move(trace));
    if (i % 8 == 0) reader.wait();
  }
  reader.wait();
  CHECK_FALSE(reader.take_any());
  CHECK(memory.size() < 100);  // it was used again
}

}  // namespace headlight::test::test_runner_threads
