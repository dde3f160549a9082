// Attention as one kernel forward and a few backward: of queries × keys nothing is written. For
// training, which may be fused as core/graph/fusion.h says, and for the operation fused_attention.
#pragma once

#include <array>
#include <cstdint>

#include "app/gl/compute/launcher.h"
#include "core/graph/fusion.h"

namespace headlight {

/// Which rows stand head by head; those of the others have their heads side by side.
enum class GlByHead { kNone, kQueriesAndKeys, kAll };

/// An attention with its tensors' buffers, of which `mask` and `dropout` may be 0. v may be the
/// same buffer as q or k.
struct GlAttentionCall {
  GlAttentionCall() = default;
  GlAttentionCall(const Program&, const FusedAttention&);
  std::int64_t batch = 0, heads = 0, kv_heads = 0, queries = 0, keys = 0;
  std::int64_t width = 0, v_width = 0;  // of one head
  GlByHead by_head = GlByHead::kNone;
  bool has_mask = false, has_dropout = false;
  float factor = 1, temperature = 1;  // of the scores
  unsigned q = 0, k = 0, v = 0, mask = 0, dropout = 0, out = 0;
  unsigned statistics = 0;  // of each row: what the kernels backward need of it

  std::int64_t rows() const { return batch * heads * queries; }
  std::int64_t statistics_cells() const { return 3 * rows(); }
};

/// Buffers of gradients: of the result, and of q, k and v, 0 where it is not wanted.
struct GlAttentionGradients {
  unsigned d_out = 0;
  std::array<unsigned, 3> d_in{};
  std::array<bool, 3> adds{};  // to what is in d_in, else that is written over
};

class GlAttention {
 public:
  GlAttention(const GlLimits&, const KernelTable&, GlLauncher&);

  /// Can the device take such a group, forward and backward?
  bool fits(const GlAttentionCall&) const;
  /// Writes the result and the statistics.
  void forward(const GlAttentionCall&);
  /// Writes the statistics alone, where forward() has left none. Nothing is dropped.
  void find_statistics(const GlAttentionCall&);
  /// After forward() or find_statistics(), which left the statistics. The gradients of v, q and k
  /// are made in this order: they may be one buffer, of which the first writes.
  void backward(const GlAttentionCall&, const GlAttentionGradients&);

 private:
  void run(Kernel, const GlAttentionCall&, std::int64_t width, bool adds,
           std::initializer_list<unsigned> buffers);

  const GlLimits& limits_;
  const KernelTable& table_;
  GlLauncher& launcher_;
};

}  // namespace headlight
