// How the cpu backend cuts work into pieces and gives them to threads. The pieces depend on
// shapes alone, whatever the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/backends/cpu/call.h"
#include "core/base/thread_pool.h"

namespace headlight::cpu {

inline constexpr double kRunWorkToShare = 2e7;   // below it a run ends before the others are awake
inline constexpr double kCallWorkToShare = 5e5;  // below it a call ends before they have noticed
inline constexpr std::int64_t kPieceCells = 8192;
inline constexpr std::int64_t kPiecesWanted = 16;

inline std::int64_t parts_of(std::int64_t n, std::int64_t most) { return (n + most - 1) / most; }

class Pieces {
 public:
  explicit Pieces(int threads)
      : pool_(threads),
        scratch_(static_cast<std::size_t>(pool_.threads() * kernels::kScratchFloats)) {}

  int threads() const { return pool_.threads(); }

  /// work() gives the work in floating-point operations (see work_of) of all that comes until the
  /// next time; it is not asked where nobody could share it.
  template <class F>
  void begin_run(F&& work) {
    share_run_ = threads() > 1 && work() >= kRunWorkToShare;
  }
  template <class F>
  void begin_call(F&& work) {
    share_call_ = share_run_ && work() >= kCallWorkToShare;
  }

  /// Calls f(piece, scratch) for each piece. `scratch` has kScratchFloats cells.
  template <class F>
  void for_pieces(std::int64_t pieces, F&& f) {
    if (share_call_) {
      pool_.parallel_for(pieces, [&](std::int64_t piece, int worker) {
        f(piece, scratch_.data() + worker * kernels::kScratchFloats);
      });
    } else {
      for (std::int64_t piece = 0; piece < pieces; ++piece) f(piece, scratch_.data());
    }
  }

  /// Calls f(begin, end) for stretches of n things of `cells` cells each.
  template <class F>
  void for_stretches(std::int64_t n, std::int64_t cells, F&& f) {
    const std::int64_t length = std::max<std::int64_t>(1, kPieceCells / cells);
    for_pieces(parts_of(n, length), [&](std::int64_t piece, float*) {
      f(piece * length, std::min(n, (piece + 1) * length));
    });
  }

  void products(const ProductSeries&);

 private:
  ThreadPool pool_;
  FloatBuffer scratch_;
  bool share_run_ = false, share_call_ = false;
};

}  // namespace headlight::cpu
