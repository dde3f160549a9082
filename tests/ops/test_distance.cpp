// Positions by distance: slopes, buckets and rows as the papers and their authors' code have them,
// and programs at the limits.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "core/backends/backend.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/graph/program.h"
#include "core/ops/positions/distance.h"

namespace headlight::test_distance {
namespace {

OpParams looking(bool causal, std::int64_t reach, std::int64_t offset = 0) {
  OpParams params;
  params.causal = causal;
  params.reach = reach;
  params.offset = offset;
  return params;
}

std::vector<std::int64_t> buckets_of(std::int64_t first, std::int64_t last, std::int64_t buckets,
                                     const OpParams& params) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = first; d <= last; ++d) all.push_back(distance_bucket(d, buckets, params));
  return all;
}

constexpr PositionKind kByDistance[] = {PositionKind::kRelative, PositionKind::kT5,
                                        PositionKind::kAlibi, PositionKind::kTransformerXl};

Config small(PositionKind kind) {
  Config c;
  c.layers = 1;
  c.heads = 3;
  c.d_model = 6;
  c.d_hidden = 5;
  c.positions = kind;
  c.relative_reach = 2;
  c.t5_buckets = 6;
  c.t5_reach = 5;
  return c;
}

// A run with parameters drawn by name, so that what two programs share is the same.
struct Ran {
  Program program;
  std::vector<std::vector<float>> cells;
  std::span<const float> of(TensorId id) const { return cells[place(program.resolve(id))]; }
  std::span<const float> of(const std::string& name) const { return of(program.require(name)); }
};

Ran run(const Config& c, const RunShape& shape, Backend& backend, const MaskSpec& mask) {
  Ran r{build_program(c, shape), {}};
  std::vector<float*> memory(r.program.tensors.size());
  for (const TensorSpec& spec : r.program.tensors) {
    const bool alias = spec.kind == TensorKind::kAlias;
    r.cells.emplace_back(alias ? 0 : static_cast<std::size_t>(cell_count(spec.axes)));
    if (spec.kind != TensorKind::kParameter) continue;
    for (std::size_t i = 0; i < r.cells.back().size(); ++i)
      r.cells.back()[i] = bell(hash_text(spec.name), i);
  }
  const auto n = static_cast<std::size_t>(shape.positions);
  for (std::size_t i = 0; i < n; ++i)
    r.cells[place(r.program.token_ids)][i] = static_cast<float>(i * 5 % 7);
  for (std::size_t i = 0; r.program.mask >= 0 && i < n * n; ++i)
    r.cells[place(r.program.mask)][i] =
        mask.allows(static_cast<int>(i / n), static_cast<int>(i % n)) ? 0.0f : -INFINITY;
  for (std::size_t id = 0; id < memory.size(); ++id)
    memory[id] = r.cells[place(r.program.resolve(static_cast<TensorId>(id)))].data();
  backend.run(r.program, r.program.calls, memory);
  return r;
}

bool all_finite(std::span<const float> cells) {
  return std::ranges::all_of(cells, [](float x) { return std::isfinite(x); });
}

}  // namespace

TEST_CASE("distance: slopes of ALiBi, also of head counts that are no power of two") {
  for (int h = 0; h < 8; ++h) CHECK(alibi_slope(h, 8) == doctest::Approx(std::exp2(-(h + 1.0))));
  CHECK(alibi_slope(0, 1) == doctest::Approx(1.0 / 256));
  // As get_slopes() of the authors' code: those of 2, then every second one of 4.
  CHECK(alibi_slope(0, 3) == doctest::Approx(1.0 / 16));
  CHECK(alibi_slope(1, 3) == doctest::Approx(1.0 / 256));
  CHECK(alibi_slope(2, 3) == doctest::Approx(1.0 / 4));
  CHECK(alibi_slope(8, 12) == doctest::Approx(std::exp2(-0.5)));
  CHECK(alibi_slope(11, 12) == doctest::Approx(std::exp2(-3.5)));
  std::set<double> apart;
  for (int h = 0; h < 12; ++h) apart.insert(alibi_slope(h, 12));
  CHECK(apart.size() == 12);
}

TEST_CASE("distance: buckets of T5") {
  // Buckets and reach of T5: the first 16 of 32 distances apart, then by logarithm up to 128.
  const OpParams back = looking(true, 128), both = looking(false, 128);
  CHECK(buckets_of(0, 15, 32, back) ==
        std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  CHECK(distance_bucket(16, 32, back) == 16);
  CHECK(distance_bucket(32, 32, back) == 21);
  CHECK(distance_bucket(64, 32, back) == 26);
  CHECK(distance_bucket(127, 32, back) == 31);
  CHECK(distance_bucket(100000, 32, back) == 31);
  CHECK(distance_bucket(-5, 32, back) == 0);
  CHECK(distance_bucket(7, 32, both) == 7);
  CHECK(distance_bucket(-7, 32, both) == 23);
  CHECK(distance_bucket(500, 32, both) == 15);
  CHECK(distance_bucket(-500, 32, both) == 31);
  // At the limits every distance still has a bucket that exists, and farther ones none before it.
  for (const std::int64_t buckets : {1, 2, 3, 5, 8}) {
    for (const std::int64_t reach : {1, 2, 3, 100}) {
      for (const bool causal : {true, false}) {
        const auto all = buckets_of(0, 40, buckets, looking(causal, reach));
        CHECK(std::ranges::is_sorted(all));
        for (const auto bucket : buckets_of(-40, 40, buckets, looking(causal, reach)))
          CHECK((bucket >= 0 && bucket < buckets));
      }
    }
  }
}

TEST_CASE("distance: rows stand in the order of the distance, and what is farther has the last") {
  const DistanceRows shaw(5, looking(false, 2));
  CHECK(shaw.ahead == 2);
  CHECK(shaw.row(-7) == 0);
  CHECK(shaw.row(0) == 2);
  CHECK(shaw.row(2) == 4);
  CHECK(shaw.row(9) == 4);
  const DistanceRows back(4, looking(true, 3));
  CHECK(back.ahead == 0);
  CHECK(back.row(-3) == 0);
  CHECK(back.row(3) == 3);
  // Keys of a memory stand before the first query.
  CHECK(distance_of(looking(true, 3, 2), 0, 0) == 2);
}

TEST_CASE("distance: one token, widths of 1, other head counts, rows without a key: no NaN") {
  const auto reference = make_reference_backend(), cpu = make_cpu_backend(2);
  for (const PositionKind kind : kByDistance) {
    for (const int heads : {1, 3, 12}) {
      for (const int positions : {1, 6}) {
        for (const MaskKind mask : {MaskKind::kNone, MaskKind::kCausal, MaskKind::kFree}) {
          Config c = small(kind);
          c.heads = heads;
          c.d_model = heads;  // a width of 1 for each
          c.relative_reach = c.t5_reach = 1;
          c.t5_buckets = 2;
          c.mask.kind = mask;
          for (int j = 0; j < positions; ++j) c.mask.forbidden.insert(0, j);
          CAPTURE(word(kind));
          CAPTURE(heads);
          const Ran ours = run(c, {1, positions, 7}, *cpu, c.mask);
          const Ran theirs = run(c, {1, positions, 7}, *reference, c.mask);
          CHECK(all_finite(ours.of(ours.program.logits)));
          const auto a = ours.of(ours.program.logits), b = theirs.of(theirs.program.logits);
          for (std::size_t i = 0; i < a.size(); ++i)
            CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-4));
        }
      }
    }
  }
}

TEST_CASE("distance: what a token finds does not depend on where the text begins") {
  const auto cpu = make_cpu_backend(1);
  for (const PositionKind kind : kByDistance) {
    Config c = small(kind);
    c.mask.kind = MaskKind::kLocal;  // the last rows see the same few keys in both
    c.mask.window = 3;
    CAPTURE(word(kind));
    // Ids have a period of 7, so both rows end alike.
    const Ran brief = run(c, {1, 7, 7}, *cpu, c.mask), wide = run(c, {1, 14, 7}, *cpu, c.mask);
    const auto a = brief.of("blocks.0.attn_out").last(6), b = wide.of("blocks.0.attn_out").last(6);
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-4));
    // And there is a position at all: one token earlier gives other scores.
    const auto scores = brief.of("blocks.0.attn.scores_placed");
    CHECK(scores.size() == 3 * 7 * 7);
  }
}

TEST_CASE("distance: cross-attention has none, and encoders look both ways") {
  for (const PositionKind kind : kByDistance) {
    Config c = small(kind);
    c.form = ModelForm::kTranslate;
    CAPTURE(word(kind));
    const Program p = build_program(c, {1, 4, 7, 0, 5});
    int causal = 0, both = 0;
    for (const OpCall& call : p.calls) {
      const TensorSpec& out = p.tensors[place(call.out)];
      const bool by_distance = call.op >= Op::kAlibi && call.op <= Op::kShiftHeads;
      if (!by_distance) continue;
      CHECK(out.place.section != Section::kCrossAttention);
      if (call.op == Op::kShiftHeads) continue;
      CHECK(call.params.causal == (out.place.stack == Stack::kDecoder));
      ++(call.params.causal ? causal : both);
    }
    CHECK(causal > 0);
    CHECK(causal == both);
    CHECK(p.find("decoder.blocks.0.cross_attn.scores_placed") == -1);
    CHECK(p.find("decoder.blocks.0.attn.scores_placed") >= 0);
    CHECK(p.attentions.size() == 1);  // cross-attention alone
  }
}

TEST_CASE("distance: all layers of a stack share T5's table, and u and v") {
  const auto parameters = [](PositionKind kind, int layers) {
    Config c = small(kind);
    c.layers = layers;
    std::int64_t count = 0;
    for (const TensorSpec& spec : build_program(c, {1, 4, 7}).tensors)
      count += spec.kind == TensorKind::kParameter && spec.name.starts_with("rel_pos.");
    return count;
  };
  CHECK(parameters(PositionKind::kT5, 1) == 1);
  CHECK(parameters(PositionKind::kT5, 3) == 1);
  CHECK(parameters(PositionKind::kTransformerXl, 3) == 2);
  CHECK(parameters(PositionKind::kAlibi, 3) == 0);
}

TEST_CASE("distance: options out of range are refused with a sentence") {
  const auto refused = [](auto change) {
    Config c = small(PositionKind::kT5);
    change(c);
    CHECK_THROWS_AS(validate(c), UsageError);
  };
  validate(small(PositionKind::kT5));
  refused([](Config& c) { c.relative_reach = 0; });
  refused([](Config& c) { c.relative_reach = kMaxReach + 1; });
  refused([](Config& c) { c.t5_buckets = 1; });
  refused([](Config& c) { c.t5_reach = 0; });
}

}  // namespace headlight::test_distance
