// ThreadPool: threads that stay, for work cut into pieces; and the flushing of denormals.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace headlight {

template <class Signature>
class FunctionRef;

/// Something that can be called, looked at and not owned: std::function without the allocation. It
/// must not outlive what it was made from.
template <class Result, class... Args>
class FunctionRef<Result(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
           std::is_invocable_r_v<Result, F&, Args...>)
      FunctionRef(F&& f)  // NOLINT: meant to convert silently, a lambda in a call's argument list
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<F>*>(object))(args...);
        }) {}
  Result operator()(Args... args) const { return call_(object_, args...); }

 private:
  void* object_;
  Result (*call_)(void*, Args...);
};

/// While it lives, this thread's denormal results and operands count as zero: arithmetic on them
/// can be a hundred times slower. The setting found is put back. Does nothing on machines whose
/// control word is unknown here.
///
/// It changes bits, so a computation that must come out the same every time decides once: hold one
/// on every thread that takes part, for all of it. A training run needs it most: the moments of
/// parameters that get no gradient shrink into the denormals within a few hundred steps. The pool's
/// threads, the cpu backend and the optimizers hold one already; the reference backend does not.
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  std::uint64_t before_ = 0;
};

/// Threads that wait for work: for a moment awake, so that the operations of a run follow each
/// other without system calls, then asleep, so that a program with nothing to do costs nothing.
class ThreadPool {
 public:
  /// `threads` counts the caller, who works too; below 1 means 1. Where the system does not give so
  /// many (its limits, no memory for their stacks), fewer do the work: see refused().
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// The most threads that any pool of this program asked for and did not get; 0: none.
  static int refused();

  /// Calls f(piece, worker) once for each piece in [0, pieces), in any order, and returns when all
  /// are done. `worker` is in [0, threads()), 0 is the caller: no two calls at one time share it.
  /// Which worker gets which piece changes from run to run, so a result must not depend on it.
  /// Allocates nothing. Denormals are flushed in f. When calls throw, one of the exceptions is
  /// thrown here, and pieces not yet begun are left out. One caller at a time, not from within f.
  /// Throws Error for more than 2^31 - 1 pieces.
  void parallel_for(std::int64_t pieces, FunctionRef<void(std::int64_t, int)> f);

 private:
  using PieceFunction = FunctionRef<void(std::int64_t, int)>;

  void end();
  void work(int worker);
  bool take_piece(int worker);
  void wait_for_work();
  void wait_until_done();
  void call_piece(std::int64_t piece, int worker);

  // Written before unclaimed_ is, read only by who has claimed a piece: while a claimed piece is
  // not done the job cannot end, so these cannot change under the reader.
  const PieceFunction* job_ = nullptr;
  std::int32_t pieces_ = 0;

  alignas(64) std::atomic<std::int32_t> unclaimed_{0};
  alignas(64) std::atomic<std::int32_t> done_{0};
  alignas(64) std::atomic<std::int32_t> sleepers_{0};
  std::atomic<std::int32_t> bell_{0};  // rung for sleepers; its value means nothing
  std::atomic<bool> failed_{false}, closing_{false};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::vector<std::thread> workers_;
};

}  // namespace headlight
