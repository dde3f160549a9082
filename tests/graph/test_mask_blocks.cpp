// Blocks of scores: what a mask leaves of them, and how many are computed.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/graph/mask_blocks.h"
#include "core/graph/program_memory.h"

namespace headlight::test_mask_blocks {
namespace {

MaskSpec mask_of(MaskKind kind) {
  MaskSpec mask;
  mask.kind = kind;
  mask.causal = kind == MaskKind::kLocal || kind == MaskKind::kStrided;
  mask.window = 20;
  mask.stride = 48;
  mask.padding = {0, 3, 40};
  for (int i = 0; i < 100; ++i) {
    mask.forbidden.insert(2, i);  // a row with no key at all
    for (int j = 32; j < 64; ++j) mask.forbidden.insert(i, j);
  }
  return mask;
}

bool in_runs(const BlockRow& row, std::int64_t at) {
  return std::ranges::any_of(row.runs,
                             [&](const Stretch& r) { return at >= r.begin && at < r.end; });
}

}  // namespace

TEST_CASE("mask blocks: those with an allowed cell are computed, from both sides, and counted") {
  for (const auto& kind : choices(MaskKind{})) {
    CAPTURE(kind.word);
    const MaskSpec spec = mask_of(kind.value);
    for (const int n : {1, 15, 16, 17, 33, 64, 100}) {
      CAPTURE(n);
      const auto cells = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
      std::vector<float> mask(2 * cells);
      fill_mask(spec, n, mask.data());
      std::copy_n(mask.begin(), cells, mask.begin() + static_cast<std::ptrdiff_t>(cells));
      mask[cells] = 0;  // the second item's own
      MaskBlocks blocks, whole;
      blocks.find(2, n, n, mask.data());
      whole.find(2, n, n, mask.data(), ForbiddenBlocks::kComputed);
      BlockCount count{0, 2 * score_blocks(n) * score_blocks(n)};
      CHECK(whole.count() == BlockCount{count.all, count.all});
      for (int item = 0; item < 2; ++item) {
        for (std::int64_t i = 0; i < score_blocks(n); ++i) {
          for (std::int64_t j = 0; j < score_blocks(n); ++j) {
            bool any = false;
            for (std::int64_t q = 16 * i; q < std::min<std::int64_t>(n, 16 * i + 16); ++q) {
              for (std::int64_t k = 16 * j; k < std::min<std::int64_t>(n, 16 * j + 16); ++k)
                any |= mask[static_cast<std::size_t>((item * n + q) * n + k)] == 0;
            }
            count.computed += any;
            CHECK(in_runs(blocks.keys_of(item, i), 16 * j) == any);
            CHECK(in_runs(blocks.queries_of(item, j), 16 * i) == any);
            CHECK(in_runs(whole.keys_of(item, i), 16 * j));
          }
          CHECK(blocks.keys_of(item, i).hull == whole.keys_of(item, i).hull);
          CHECK(blocks.queries_of(item, i).hull == whole.queries_of(item, i).hull);
        }
      }
      CHECK(blocks.count() == count);
    }
  }
}

TEST_CASE("mask blocks: known counts") {
  MaskSpec local = mask_of(MaskKind::kLocal);
  local.window = 64;
  CHECK(count_blocks(local, 1024) == BlockCount{310, 4096});  // 5 for each of 64 rows, but 10
  CHECK(count_blocks(mask_of(MaskKind::kNone), 40) == BlockCount{9, 9});
  CHECK(count_blocks(mask_of(MaskKind::kCausal), 40) == BlockCount{6, 9});
  CHECK(count_blocks(mask_of(MaskKind::kCausal), 32, 16) == BlockCount{5, 6});
  MaskBlocks blocks;
  blocks.find(3, 20, 40, nullptr);
  CHECK(blocks.count() == BlockCount{18, 18});
  CHECK(blocks.keys_of(2, 1).runs.size() == 1);
  CHECK(blocks.queries_of(2, 2).hull == Stretch{0, 20});
}

}  // namespace headlight::test_mask_blocks
