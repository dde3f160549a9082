#include "app/gl/training/gl_updates.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight {
namespace {

constexpr std::size_t kSums = 0, kHits = 1;  // slots of what lies between kernels
// Kernels that add up run in the larger of their two groups.
constexpr int kLarge = 1;

}  // namespace

double GlFigures::norm() const {
  if (odd >= 2) return std::numeric_limits<double>::quiet_NaN();
  if (odd >= 1) return std::numeric_limits<double>::infinity();
  return std::sqrt(static_cast<double>(large) * 0x1p158 + static_cast<double>(middle) +
                   static_cast<double>(small) * 0x1p-150);
}

GlUpdates::GlUpdates(const GlCalls& gl, const GlLimits& limits, const KernelTable& table,
                     GlPrograms& programs, GlQueue& queue)
    : limits_(limits), table_(table), programs_(programs), queue_(queue), between_(gl) {
  between_.begin(2, 1);
}

void GlUpdates::run_cells(Kernel kernel, std::int64_t cells,
                          std::initializer_list<unsigned> buffers,
                          std::initializer_list<GlUniform> uniforms) {
  const std::int64_t group = table_.group(kernel, 0);
  queue_.dispatch(programs_.get(kernel, 0), buffers, uniforms,
                  spread_groups((cells + group - 1) / group, limits_));
}

void GlUpdates::run_sum(Kernel kernel, std::initializer_list<unsigned> buffers,
                        std::initializer_list<GlUniform> uniforms, std::int64_t groups) {
  queue_.dispatch(programs_.get(kernel, kLarge), buffers, uniforms, {groups, 1, 1});
}

void GlUpdates::draw_dropout(GlCells cells, const DropoutCells& d) {
  const auto lower = [](std::uint64_t bits) {
    return static_cast<std::int64_t>(bits & 0xFFFFFFFF);
  };
  const auto upper = [](std::uint64_t bits) { return static_cast<std::int64_t>(bits >> 32); };
  run_cells(Kernel::kDrawDropout, cells.cells, {cells.buffer},
            {{"cells", cells.cells},
             {"key_lower", lower(d.key)},
             {"key_upper", upper(d.key)},
             {"first_lower", lower(d.first)},
             {"first_upper", upper(d.first)},
             {"limit_lower", lower(d.limit)},
             {"limit_upper", upper(d.limit)},
             {"kept", d.kept}});
}

// ---- figures ----

void GlUpdates::sum_loss(GlCells loss, unsigned figures) {
  run_sum(Kernel::kLossSum, {loss.buffer, figures}, {{"cells", loss.cells}});
}

void GlUpdates::count_hits(GlCells logits, GlCells targets, std::int64_t per_row,
                           unsigned figures) {
  const unsigned hits = between_.to_write(kHits, targets.cells);
  const std::int64_t columns = logits.cells / targets.cells;
  queue_.dispatch(programs_.get(Kernel::kHits, table_.variant(Kernel::kHits, columns)),
                  {logits.buffer, targets.buffer, hits},
                  {{"rows", targets.cells}, {"columns", columns}},
                  spread_groups(targets.cells, limits_));
  run_sum(Kernel::kHitSum, {hits, targets.buffer, figures},
          {{"rows", targets.cells / per_row}, {"columns", per_row}});
}

// Enough groups to fill a device, but each with some cells to add up.
std::int64_t GlUpdates::groups_for(std::int64_t cells) const {
  constexpr std::int64_t kCellsEach = 16, kMax = 64;
  const std::int64_t cells_of_group = kCellsEach * table_.group(Kernel::kSquares, kLarge);
  return std::clamp((cells + cells_of_group - 1) / cells_of_group, std::int64_t{1}, kMax);
}

void GlUpdates::measure(std::span<const GlCells> gradients, unsigned figures) {
  std::int64_t all = 0;
  for (const GlCells& gradient : gradients) all += groups_for(gradient.cells);
  const unsigned sums = between_.to_write(kSums, 4 * all);
  std::int64_t first = 0;
  for (const GlCells& gradient : gradients) {
    const std::int64_t groups = groups_for(gradient.cells);
    run_sum(Kernel::kSquares, {gradient.buffer, sums},
            {{"cells", gradient.cells}, {"groups", groups}, {"first", first}}, groups);
    first += groups;
  }
  run_sum(Kernel::kSquaresSum, {sums, figures}, {{"count", all}});
}

// ---- updates ----

void GlUpdates::clip(GlCells gradient, float factor) {
  run_cells(Kernel::kClip, gradient.cells, {gradient.buffer},
            {{"cells", gradient.cells}, {"factor", factor}});
}

void GlUpdates::sgd(GlCells parameter, unsigned gradient, unsigned moment, float rate, float decay,
                    float momentum) {
  const GlUniform cells("cells", parameter.cells);
  if (momentum == 0) {
    return run_cells(Kernel::kSgd, parameter.cells, {parameter.buffer, gradient},
                     {cells, {"rate", rate}, {"decay", decay}});
  }
  run_cells(Kernel::kSgdMomentum, parameter.cells, {parameter.buffer, gradient, moment},
            {cells, {"rate", rate}, {"decay", decay}, {"momentum", momentum}});
}

void GlUpdates::adam(GlCells parameter, unsigned gradient, std::array<unsigned, 2> moments,
                     const AdamStep& s) {
  run_cells(Kernel::kAdam, parameter.cells, {parameter.buffer, gradient, moments[0], moments[1]},
            {{"cells", parameter.cells},
             {"rate", s.rate},
             {"root", s.root},
             {"decay", s.decay},
             {"kept", s.kept},
             {"beta1", s.beta1},
             {"rest1", s.rest1},
             {"beta2", s.beta2},
             {"rest2", s.rest2},
             {"epsilon", s.epsilon}});
}

}  // namespace headlight
