// Threads that stay, and what they do to denormals.
#include "core/base/thread_pool.h"
#include "tests/support/sanitized.h"

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

namespace headlight::test_thread_pool {

TEST_CASE("thread pool: every piece is done once, whatever the number of threads") {
  for (const int threads : {0, 1, 2, 5}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == std::max(1, threads));
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(repeat % 17));
      std::vector<std::atomic<int>> busy(static_cast<std::size_t>(pool.threads()));
      std::atomic<int> clashes{0};
      pool.parallel_for(static_cast<std::int64_t>(done.size()),
                        [&](std::int64_t piece, int worker) {
                          if (busy[static_cast<std::size_t>(worker)]++ != 0) ++clashes;
                          ++done[static_cast<std::size_t>(piece)];
                          --busy[static_cast<std::size_t>(worker)];
                        });
      CHECK(std::all_of(done.begin(), done.end(), [](const auto& count) { return count == 1; }));
      CHECK(clashes == 0);
      // Now and then long enough for the workers to fall asleep.
      if (repeat % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

TEST_CASE("thread pool: an exception reaches the caller, and the pool lives on") {
  ThreadPool pool(3);
  for (int repeat = 0; repeat < 20; ++repeat) {
    CHECK_THROWS_WITH_AS(pool.parallel_for(50,
                                           [](std::int64_t piece, int) {
                                             if (piece == 33) throw std::runtime_error("piece 33");
                                           }),
                         "piece 33", std::runtime_error);
    std::atomic<int> done{0};
    pool.parallel_for(50, [&](std::int64_t, int) { ++done; });
    CHECK(done == 50);
  }
}

#if defined(__SSE2__) || defined(__aarch64__)
#if !HEADLIGHT_SANITIZED
// In a process of its own, where there is no address space for the stacks of so many.
TEST_CASE("thread pool: with fewer threads than were asked for the work is done") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit limit{std::uint64_t{1} << 30, std::uint64_t{1} << 30};
    ::setrlimit(RLIMIT_AS, &limit);
    int sum = 0;
    {
      ThreadPool pool(1000);
      std::vector<int> found(100);
      pool.parallel_for(
          100, [&](std::int64_t piece, int) { found[static_cast<std::size_t>(piece)] = 1; });
      for (const int one : found) sum += one;
      if (ThreadPool::refused() != 1000 - pool.threads() || pool.threads() >= 1000) sum = 0;
    }
    ::_exit(sum == 100 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
#endif

TEST_CASE("thread pool: denormals are flushed in pieces, and as before elsewhere") {
  volatile float smallest = std::numeric_limits<float>::min();
  const auto halved = [&] { return smallest * 0.5f; };
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::atomic<int> kept{0};
    pool.parallel_for(64, [&](std::int64_t, int) { kept += halved() != 0.0f; });
    CHECK(kept == 0);
    CHECK(halved() > 0.0f);
  }
}
#endif

}  // namespace headlight::test_thread_pool
