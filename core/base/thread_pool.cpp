#include "core/base/thread_pool.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/error.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace headlight {
namespace {

// About half a millisecond on current x86: longer than the gaps between the operations of a run and
// the pieces that others still work on, so that a step of training does not begin with waking
// threads up, which takes 50 µs and more; shorter than anyone's patience with a busy processor.
constexpr int kSpins = 10000;

void pause_briefly() {
#if defined(__SSE2__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

#if defined(__SSE2__)
FlushDenormals::FlushDenormals() : before_(_mm_getcsr()) {
  constexpr unsigned kFlushToZero = 1u << 15, kDenormalsAreZero = 1u << 6;
  _mm_setcsr(static_cast<unsigned>(before_) | kFlushToZero | kDenormalsAreZero);
}
FlushDenormals::~FlushDenormals() { _mm_setcsr(static_cast<unsigned>(before_)); }
#elif defined(__aarch64__)
FlushDenormals::FlushDenormals() {
  constexpr std::uint64_t kFlushToZero = 1u << 24;
  asm volatile("mrs %0, fpcr" : "=r"(before_));
  asm volatile("msr fpcr, %0" : : "r"(before_ | kFlushToZero));
}
FlushDenormals::~FlushDenormals() { asm volatile("msr fpcr, %0" : : "r"(before_)); }
#else
FlushDenormals::FlushDenormals() = default;
FlushDenormals::~FlushDenormals() = default;
#endif

namespace {
std::atomic<int> most_refused{0};
}

int ThreadPool::refused() { return most_refused; }

// A constructor that throws would leave threads that nobody can join, which ends the program. Where
// not all can be had, half of them is tried: the others' stacks would leave no room for the work.
ThreadPool::ThreadPool(int threads) {
  for (int wanted = threads; wanted > 1; wanted /= 2) {
    try {
      workers_.reserve(static_cast<std::size_t>(wanted) - 1);
      for (int worker = 1; worker < wanted; ++worker)
        workers_.emplace_back([this, worker] { work(worker); });
      break;
    } catch (const std::exception&) {  // system_error, bad_alloc
      end();
      closing_ = false;
    }
  }
  const int refused = std::max(threads, 1) - this->threads();
  int before = most_refused;
  while (before < refused && !most_refused.compare_exchange_weak(before, refused)) {
  }
}

ThreadPool::~ThreadPool() { end(); }

void ThreadPool::end() {
  closing_ = true;
  ++bell_;
  bell_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void ThreadPool::parallel_for(std::int64_t pieces, PieceFunction f) {
  if (pieces <= 0) return;
  if (pieces > std::numeric_limits<std::int32_t>::max()) {
    throw Error("work cut into too many pieces: " + std::to_string(pieces) +
                "; cut it into fewer than 2147483648");
  }
  const FlushDenormals flush;
  if (workers_.empty() || pieces == 1) {
    for (std::int64_t piece = 0; piece < pieces; ++piece) f(piece, 0);
    return;
  }
  job_ = &f;
  pieces_ = static_cast<std::int32_t>(pieces);
  done_.store(0, std::memory_order_relaxed);
  // Sequentially consistent, as is the worker's side in wait_for_work: either the worker sees the
  // pieces before it sleeps, or this thread sees the sleeper.
  unclaimed_.store(pieces_);
  if (sleepers_.load() > 0) {
    ++bell_;
    bell_.notify_all();
  }
  while (take_piece(0)) {
  }
  wait_until_done();
  if (failed_.load(std::memory_order_relaxed)) {
    failed_.store(false, std::memory_order_relaxed);
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

// Claims a piece and does it; false when none is left. A worker that comes late, with an old count
// in hand, either fails here or rightly claims a piece of whatever job is now under way.
bool ThreadPool::take_piece(int worker) {
  std::int32_t left = unclaimed_.load(std::memory_order_relaxed);
  do {
    if (left <= 0) return false;
  } while (!unclaimed_.compare_exchange_weak(left, left - 1, std::memory_order_acquire,
                                             std::memory_order_relaxed));
  const std::int32_t pieces = pieces_;
  call_piece(pieces - left, worker);
  // After the last piece is counted the job may be gone: only the atomic itself is touched.
  if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == pieces && worker != 0) {
    done_.notify_one();
  }
  return true;
}

void ThreadPool::call_piece(std::int64_t piece, int worker) {
  if (failed_.load(std::memory_order_relaxed)) return;
  try {
    (*job_)(piece, worker);
  } catch (...) {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = std::current_exception();
    failed_.store(true, std::memory_order_relaxed);
  }
}

void ThreadPool::wait_until_done() {
  const std::int32_t pieces = pieces_;
  for (int spin = 0; spin < kSpins; ++spin) {
    if (done_.load(std::memory_order_acquire) == pieces) return;
    pause_briefly();
  }
  for (;;) {
    const std::int32_t done = done_.load(std::memory_order_acquire);
    if (done == pieces) return;
    done_.wait(done, std::memory_order_acquire);
  }
}

void ThreadPool::wait_for_work() {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (unclaimed_.load(std::memory_order_relaxed) > 0 || closing_) return;
    pause_briefly();
  }
  const std::int32_t heard = bell_.load();
  ++sleepers_;
  if (unclaimed_.load() <= 0 && !closing_) bell_.wait(heard);
  --sleepers_;
}

void ThreadPool::work(int worker) {
  const FlushDenormals flush;
  while (!closing_) {
    if (!take_piece(worker)) wait_for_work();
  }
}

}  // namespace headlight
