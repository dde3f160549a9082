#include "app/gl/compute/attention.h"

#include <algorithm>

namespace headlight {
namespace {

const std::vector<Axis>& axes_of(const Program& program, TensorId id) {
  return program.tensors[static_cast<std::size_t>(id)].axes;
}

}  // namespace

GlAttentionCall::GlAttentionCall(const Program& program, const FusedAttention& a)
    : has_mask(a.mask >= 0),
      has_dropout(a.dropout >= 0),
      factor(a.factor),
      temperature(static_cast<float>(a.temperature)) {
  const auto& pattern = axes_of(program, a.pattern);
  batch = pattern[0].size;
  heads = pattern[1].size;
  queries = pattern[2].size;
  keys = pattern[3].size;
  const auto &asks = axes_of(program, a.q), &answers = axes_of(program, a.k);
  const bool apart = asks.size() == 4;
  by_head = apart ? GlByHead::kQueriesAndKeys : GlByHead::kNone;
  width = apart ? asks[3].size : asks[2].size / heads;
  kv_heads = apart ? answers[1].size : answers[2].size / width;
  v_width = axes_of(program, a.v).back().size / kv_heads;
}

GlAttention::GlAttention(const GlLimits& limits, const KernelTable& table, GlLauncher& launcher)
    : limits_(limits), table_(table), launcher_(launcher) {}

bool GlAttention::fits(const GlAttentionCall& c) const {
  // Kernels count cells with 32 bits.
  const std::int64_t most = std::min<std::int64_t>(limits_.block_bytes / 4, std::int64_t{1} << 31);
  const std::int64_t matrices = c.batch * c.heads, wide = std::max(c.width, c.v_width);
  const std::int64_t longest = std::max(c.queries, c.keys);
  std::int64_t cells = std::max(matrices * longest * wide, c.statistics_cells());
  if (c.has_mask) cells = std::max(cells, c.batch * c.queries * c.keys);
  if (c.has_dropout) cells = std::max(cells, matrices * c.queries * c.keys);
  const AttentionTiles& tiles = table_.attention;
  return cells > 0 && cells <= most && wide <= tiles.most_width && limits_.blocks >= 8 &&
         tiles.invocations() <= limits_.group_invocations &&
         tiles.shared_bytes() <= limits_.shared_bytes && matrices <= limits_.group_count[2] &&
         parts_of(longest, tiles.tile()) <= limits_.group_count[0];
}

void GlAttention::run(Kernel kernel, const GlAttentionCall& c, std::int64_t width, bool adds,
                      std::initializer_list<unsigned> buffers) {
  const bool by_key =
      kernel == Kernel::kAttentionBackwardK || kernel == Kernel::kAttentionBackwardV;
  const std::int64_t rows = by_key ? c.keys : c.queries;
  const std::int64_t groups = parts_of(rows, table_.attention.tile());
  launcher_.launch({kernel,
                    table_.variant(kernel, width),
                    rows,
                    width,
                    {groups, 1, c.batch * (by_key ? c.kv_heads : c.heads)},
                    buffers,
                    {{"heads", c.heads},
                     {"kv_heads", c.kv_heads},
                     {"queries", c.queries},
                     {"keys", c.keys},
                     {"width", c.width},
                     {"v_width", c.v_width},
                     {"by_head", static_cast<std::int64_t>(c.by_head)},
                     {"has_mask", c.mask != 0},
                     {"has_dropout", c.dropout != 0},
                     {"factor", c.factor},
                     {"temperature", c.temperature},
                     {"adds", adds}}});
}

void GlAttention::forward(const GlAttentionCall& c) {
  // What is not there is not looked at, but something must be bound.
  const unsigned mask = c.mask != 0 ? c.mask : c.q, dropout = c.dropout != 0 ? c.dropout : c.q;
  run(Kernel::kAttention, c, c.v_width, false, {c.q, c.k, c.v, mask, dropout, c.statistics, c.out});
}

void GlAttention::find_statistics(const GlAttentionCall& c) {
  const unsigned mask = c.mask != 0 ? c.mask : c.q;
  run(Kernel::kAttentionStatistics, c, c.v_width, false, {c.q, c.k, mask, c.statistics});
}

void GlAttention::backward(const GlAttentionCall& c, const GlAttentionGradients& d) {
  const unsigned mask = c.mask != 0 ? c.mask : c.q, dropout = c.dropout != 0 ? c.dropout : c.q;
  if (d.d_in[2] != 0) {
    run(Kernel::kAttentionBackwardV, c, c.v_width, d.adds[2],
        {c.q, c.k, mask, dropout, c.statistics, d.d_out, d.d_in[2]});
  }
  if (d.d_in[0] == 0 && d.d_in[1] == 0) return;
  run(Kernel::kAttentionDots, c, c.v_width, false,
      {c.q, c.k, c.v, mask, dropout, d.d_out, c.statistics});
  if (d.d_in[0] != 0) {
    run(Kernel::kAttentionBackwardQ, c, c.width, d.adds[0],
        {c.q, c.k, c.v, mask, dropout, c.statistics, d.d_out, d.d_in[0]});
  }
  if (d.d_in[1] != 0) {
    run(Kernel::kAttentionBackwardK, c, c.width, d.adds[1],
        {c.q, c.k, c.v, mask, dropout, c.statistics, d.d_out, d.d_in[1]});
  }
}

}  // namespace headlight
