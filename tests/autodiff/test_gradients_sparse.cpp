// Attention in one piece without the blocks of scores that the mask forbids: the bits of computing
// them, forward and backward.
#include <doctest/doctest.h>

#include <cstring>

#include "core/graph/fusion.h"
#include "tests/support/training_model.h"

namespace headlight::test_gradients_sparse {
namespace {

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// A run and a pass backwards of the fusing backend.
struct Fused {
  Fused(const Config& config, const RunShape& shape, ForbiddenBlocks forbidden)
      : model(config, shape),
        fusion(std::make_shared<const Fusion>(*model.program, FusedBy::kProcessor, forbidden)),
        backend(make_fusing_backend(fusion)),
        pass(model.program, KeptGradients::kParameters, fusion) {}
  void run() {
    model.run(*backend);
    pass.seed_loss(model.memory, counted_targets(*model.program, model.memory));
    pass.run(*backend, model.memory);
  }
  TrainingModel model;
  std::shared_ptr<const Fusion> fusion;
  std::unique_ptr<Backend> backend;
  Backward pass;
};

// Says how many blocks were left out.
std::int64_t check_same(Fused& skips, Fused& computes) {
  skips.run();
  computes.run();
  const TensorId logits = skips.model.program->require("logits");
  CHECK(same_bits(skips.model.cells(logits), computes.model.cells(logits)));
  for (const TensorId id : skips.model.of_kind(TensorKind::kParameter)) {
    CAPTURE(skips.model.program->tensors[place(id)].name);
    CHECK(same_bits(skips.pass.gradient(id).cells(), computes.pass.gradient(id).cells()));
  }
  const BlockCount blocks = skips.backend->blocks(), all = computes.backend->blocks();
  CHECK(all.computed == all.all);
  CHECK(blocks.all == all.all);
  return blocks.all - blocks.computed;
}

Config config_of(MaskKind mask) {
  Config c;
  c.layers = 1;
  c.heads = 2;
  c.d_model = 20;
  c.mask.kind = mask;
  c.mask.causal = mask == MaskKind::kStrided;
  c.mask.window = 40;
  c.mask.stride = 64;
  c.mask.padding = {0, 3};
  for (int i = 48; i < 80; ++i) c.mask.padding.push_back(i);
  for (int i = 0; i < 480; ++i) {
    c.mask.forbidden.insert(2, i);
    for (int j = 0; j < 480; ++j) {
      // Holes within and between the parts in which long sums are made; whole rows and columns.
      const bool hole = (i / 16 * 7 + j / 16 * 3) % 5 < 3, row = i / 16 == 4, key = j / 16 == 3;
      if (hole || row || key) c.mask.forbidden.insert(i, j);
    }
  }
  return c;
}

}  // namespace

TEST_CASE("sparse: forbidden blocks change no bit, whatever the mask, the length and the width") {
  for (const auto& mask : choices(MaskKind{})) {
    CAPTURE(mask.word);
    for (const std::int64_t positions : {1, 33, 100, 250, 449}) {
      CAPTURE(positions);
      Config c = config_of(mask.value);
      c.d_head = positions % 2 == 0 ? 16 : 11;
      const RunShape shape{2, positions, 9};
      Fused skips(c, shape, ForbiddenBlocks::kSkipped);
      Fused computes(c, shape, ForbiddenBlocks::kComputed);
      const std::int64_t left_out = check_same(skips, computes);
      const BlockCount one = count_blocks(c.mask, static_cast<int>(positions));
      CHECK(left_out == 2 * 2 * (one.all - one.computed));
      const bool leaves = mask.value != MaskKind::kNone && positions >= 100;
      CHECK((left_out > 0) == (leaves || (mask.value == MaskKind::kCausal && positions == 33) ||
                               one.computed < one.all));
    }
  }
}

TEST_CASE(
    "sparse: heads that share keys, turned rows, x that attends to itself, own masks of rows") {
  for (const int kind : {0, 1, 2, 3}) {
    CAPTURE(kind);
    Config c = config_of(MaskKind::kFree);
    if (kind == 0) {
      c.heads = 4;
      c.d_head = 6;
      c.kv_heads = 2;
      c.positions = PositionKind::kRotary;
    }
    if (kind == 1) c.attention = AttentionKind::kBasic;
    if (kind == 2) c.attention = AttentionKind::kWide;
    const RunShape shape{3, 260, 9};
    Fused skips(c, shape, ForbiddenBlocks::kSkipped);
    Fused computes(c, shape, ForbiddenBlocks::kComputed);
    for (Fused* one : {&skips, &computes}) {
      const auto mask = one->model.cells(one->model.program->mask);
      for (std::size_t i = 0; kind == 3 && i < mask.size(); ++i) {  // padding at the end of each
        const std::size_t row = i / (260 * 260);
        if (i % 260 >= 260 - 90 * row) mask[i] = -std::numeric_limits<float>::infinity();
      }
    }
    CHECK(check_same(skips, computes) > 0);
  }
}

TEST_CASE("sparse: a forbidden block of the pattern is not even written") {
  Fused skips(config_of(MaskKind::kFree), {1, 100, 9}, ForbiddenBlocks::kSkipped);
  skips.run();
  MaskBlocks blocks;
  blocks.find(1, 100, 100, skips.model.cells(skips.model.program->mask).data());
  const auto pattern = skips.model.cells(skips.fusion->attentions()[0].pattern);
  for (std::size_t i = 0; i < 100 * 100; ++i) {
    const auto runs = blocks.keys_of(0, static_cast<std::int64_t>(i / 100 / 16)).runs;
    const auto key = static_cast<std::int64_t>(i % 100);
    const bool computed = std::ranges::any_of(
        runs, [&](const Stretch& run) { return key >= run.begin && key < run.end; });
    CHECK(std::isnan(pattern[i]) == !computed);
  }
}

}  // namespace headlight::test_gradients_sparse
