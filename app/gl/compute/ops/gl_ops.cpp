#include "app/gl/compute/ops/gl_ops.h"

#include <algorithm>
#include <cmath>

namespace headlight {
namespace {

bool is_product(Op op) {
  return op == Op::kLinear || op == Op::kProject || op == Op::kScores || op == Op::kWeightedSum ||
         op == Op::kLinearTransposed || op == Op::kFocusScores || op == Op::kConvolution;
}

bool is_norm(Op op) { return op == Op::kLayerNorm || op == Op::kRmsNorm; }

}  // namespace

GlOpCall::GlOpCall(const Program& program, const OpCall& c) : call(c), inputs(c.in.size()) {
  for (std::size_t i = 0; i < inputs; ++i) {
    axes[i] = program.tensors[static_cast<std::size_t>(c.in[i])].axes;
  }
  out_axes = program.tensors[static_cast<std::size_t>(c.out)].axes;
}

GlOps::GlOps(const GlLimits& limits, const KernelTable& table, GlLauncher& launcher)
    : limits_(limits), table_(table), launcher_(launcher) {}

bool GlOps::fits(const GlOpCall& c) const {
  // Steps that follow each other, each a small product, would keep the device waiting.
  if (op_info(c.call.op).is_sequential) return false;
  if (c.call.op == Op::kFusedAttention)
    return GlAttention(limits_, table_, launcher_).fits(attention_call(c));
  // Kernels count cells with 32 bits, and launch a few more invocations than there are cells.
  const std::int64_t most = std::min<std::int64_t>(limits_.block_bytes / 4, std::int64_t{1} << 31);
  std::int64_t cells = c.cells();
  for (std::size_t i = 0; i < c.inputs; ++i) cells = std::max(cells, cell_count(c.axes[i]));
  const std::int64_t spread = limits_.group_count[0] * limits_.group_count[1];
  return std::max(cells, scratch_cells(c)) <= most &&
         parts_of(cells, table_.cells_group) <= spread && row_groups(c) <= spread &&
         column_groups(c) <= limits_.group_count[0] &&
         (!is_product(c.call.op) || product_fits(c)) && experts_fit(c);
}

// The product is a matrix of (rows, columns), its gradients have the operands' shapes: (rows,
// inner) and (inner, columns). Keys are the columns of scores, and rows of their own gradient.
bool GlOps::product_fits(const GlOpCall& c) const {
  const auto& count = limits_.group_count;
  const auto [all_rows, inner] = as_rows(c.axes[0]);
  const bool foci = c.call.op == Op::kFocusScores;  // its rows go down both ways
  const std::int64_t matrices = foci ? c.size(0, 0) : c.out_axes.size() == 4 ? c.kv_matrices() : 1;
  const std::int64_t rows = foci ? std::max(c.out_size(2), c.out_size(3))
                                 : all_rows / std::max<std::int64_t>(1, matrices);
  const std::int64_t columns = c.out_axes.back().size;
  const bool transposed = c.call.op == Op::kScores || c.call.op == Op::kLinearTransposed;
  const std::int64_t taps = c.call.op == Op::kConvolution ? c.size(1, 0) : 1;
  const std::int64_t highest = std::max({rows, taps * inner, transposed ? columns : 0});
  const std::int64_t widest = std::max({columns, inner, foci ? rows : 0});
  return matrices <= count[2] && parts_of(highest, table_.product.rows) <= count[1] &&
         parts_of(widest, std::min(table_.product.columns, table_.few.columns)) <= count[0];
}

// Groups of the kernels that take a row each.
std::int64_t GlOps::row_groups(const GlOpCall& c) {
  switch (c.call.op) {
    case Op::kSoftmax:
    case Op::kLayerNorm:
    case Op::kRmsNorm:
    case Op::kCrossEntropy:
      return as_rows(c.axes[0]).rows;
    case Op::kFociPenalty:
    case Op::kLoadBalance:
      return c.size(0, 0);
    case Op::kAdditiveScores:
      return cell_count(c.axes[2]);
    default:
      return distance_groups(c);
  }
}

// Groups of the kernels that take a few columns each: gradients of biases and norms.
std::int64_t GlOps::column_groups(const GlOpCall& c) const {
  const bool has_columns = is_norm(c.call.op) || c.call.op == Op::kLinear ||
                           c.call.op == Op::kProject || c.call.op == Op::kConvolution ||
                           (c.call.op == Op::kLinearTransposed && c.has_bias());
  return has_columns ? parts_of(c.out_axes.back().size, table_.column_group) : 0;
}

// What is kept besides while an operation goes backwards.
std::int64_t GlOps::scratch_cells(const GlOpCall& c) {
  if (is_norm(c.call.op)) return 3 * as_rows(c.axes[0]).rows;
  return c.call.op == Op::kEmbed ? 2 * cell_count(c.axes[0]) : 0;
}

void GlOps::run_cells(Kernel kernel, std::int64_t cells, Buffers buffers, Uniforms uniforms) {
  const GlGroups groups = spread_groups(parts_of(cells, table_.group(kernel, 0)), limits_);
  launcher_.launch({kernel, 0, 0, 0, groups, buffers, uniforms});
}

void GlOps::run_rows(Kernel kernel, std::int64_t rows, std::int64_t columns, Buffers buffers,
                     Uniforms uniforms) {
  launcher_.launch({kernel, table_.variant(kernel, columns), rows, columns,
                    spread_groups(rows, limits_), buffers, uniforms});
}

void GlOps::run_columns(Kernel kernel, std::int64_t columns, Buffers buffers, Uniforms uniforms) {
  const GlGroups groups = {parts_of(columns, table_.column_group), 1, 1};
  launcher_.launch({kernel, 0, 0, columns, groups, buffers, uniforms});
}

void GlOps::run_product(Kernel kernel, std::int64_t matrices, std::int64_t rows,
                        std::int64_t columns, Buffers buffers, Uniforms uniforms) {
  const int variant = table_.variant(kernel, rows);
  const ProductTiles& tiles = table_.tiles(variant);
  const GlGroups groups = {parts_of(columns, tiles.columns), parts_of(rows, tiles.rows), matrices};
  launcher_.launch({kernel, variant, rows, columns, groups, buffers, uniforms});
}

// ---- forward ----

void GlOps::forward(const GlOpCall& c) {
  if (c.cells() == 0) return;
  switch (c.call.op) {
    case Op::kAdd:
    case Op::kScale:
    case Op::kRelu:
    case Op::kGelu:
    case Op::kGeluTanh:
    case Op::kSilu:
    case Op::kTanh:
    case Op::kMultiply:
    case Op::kDropout:
    case Op::kMask:
    case Op::kAdditiveScores:
      return forward_cells(c);
    case Op::kMeanPool:
    case Op::kConcatTokens:
    case Op::kFociPenalty:
      return forward_pooling(c);
    case Op::kEmbed:
    case Op::kLearnedPosition:
    case Op::kSplitHeads:
    case Op::kConcatHeads:
    case Op::kConcatRows:
      return forward_moves(c);
    case Op::kSinusoid:
      return sinusoid(c);
    case Op::kRotary:
      return rotary(c, c.in[0], c.out, false, false);
    case Op::kLayerNorm:
    case Op::kRmsNorm:
    case Op::kSoftmax:
    case Op::kCrossEntropy:
      return forward_rows(c);
    case Op::kProject:
    case Op::kScores:
    case Op::kWeightedSum:
    case Op::kLinear:
    case Op::kLinearTransposed:
      return forward_products(c);
    case Op::kFocusScores:
      return run_product(
          Kernel::kFocusScores, c.size(0, 0), c.out_size(2), c.out_size(3),
          {c.in[0], c.in[1], c.out},
          {{"positions", c.size(0, 1)}, {"hidden", c.size(0, 2)}, {"foci", c.size(1, 1)}});
    case Op::kAlibi:
    case Op::kDistanceBias:
    case Op::kDistanceSinusoid:
    case Op::kRelativeScores:
    case Op::kRelativeSum:
    case Op::kShiftHeads:
      return forward_distance(c);
    case Op::kExpertLinear:
    case Op::kTopExperts:
    case Op::kMix:
    case Op::kLoadBalance:
      return forward_experts(c);
    case Op::kRecurrence:
    case Op::kGru:
      return;  // fits() refuses them: each row waits for the one before
    case Op::kConvolution:
      return convolution(c);
    case Op::kNumber:
    case Op::kMixtureLogits:
      return forward_numbers(c);
    case Op::kAppendRow:
    case Op::kMaskHeads:
    case Op::kMeanHeads:
      return forward_heads(c);
    case Op::kFusedAttention:
      return fused_attention(c);
  }
}

void GlOps::forward_cells(const GlOpCall& c) {
  const std::int64_t cells = c.cells();
  const GlUniform count("cells", cells);
  switch (c.call.op) {
    case Op::kAdd:
      return run_cells(Kernel::kAdd, cells, {c.in[0], c.in[1], c.out}, {count});
    case Op::kMultiply:
    case Op::kDropout:
      return run_cells(Kernel::kMultiply, cells, {c.in[0], c.in[1], c.out}, {count});
    case Op::kScale:
      return run_cells(Kernel::kScale, cells, {c.in[0], c.out},
                       {count, {"factor", c.call.params.factor}});
    case Op::kRelu:
      return run_cells(Kernel::kRelu, cells, {c.in[0], c.out}, {count});
    case Op::kGelu:
      return run_cells(Kernel::kGelu, cells, {c.in[0], c.out}, {count});
    case Op::kGeluTanh:
      return run_cells(Kernel::kGeluTanh, cells, {c.in[0], c.out}, {count});
    case Op::kSilu:
      return run_cells(Kernel::kSilu, cells, {c.in[0], c.out}, {count});
    case Op::kTanh:
      return run_cells(Kernel::kTanh, cells, {c.in[0], c.out},
                       {count, {"limit", c.call.params.factor}});
    case Op::kMask:
      return run_cells(
          Kernel::kMask, cells, {c.in[0], c.in[1], c.out},
          {count, {"heads", c.out_size(1)}, {"places", c.out_size(2) * c.out_size(3)}});
    default:
      return run_cells(Kernel::kAdditiveScores, cells, {c.in[0], c.in[1], c.in[2], c.out},
                       {count,
                        {"heads", c.out_size(1)},
                        {"share", c.share()},
                        {"queries", c.out_size(2)},
                        {"keys", c.out_size(3)},
                        {"width", c.size(0, 3)}});
  }
}

void GlOps::forward_pooling(const GlOpCall& c) {
  const std::int64_t cells = c.cells();
  const GlUniform count("cells", cells);
  switch (c.call.op) {
    case Op::kMeanPool:
      return run_cells(Kernel::kMeanPool, cells, {c.in[0], c.in[1], c.out},
                       {count, {"positions", c.size(0, 1)}, {"width", c.size(0, 2)}});
    case Op::kConcatTokens:
      return run_cells(Kernel::kConcatTokens, cells, {c.in[0], c.in[1], c.out},
                       {count, {"width", c.size(0, 2)}});
    default:
      return foci_penalty(c);
  }
}

void GlOps::foci_penalty(const GlOpCall& c) {
  const std::int64_t rows = c.cells(), columns = cell_count(c.axes[0]) / rows;
  run_rows(Kernel::kFociPenalty, rows, columns, {c.in[0], c.out},
           {{"rows", rows},
            {"columns", columns},
            {"foci", c.size(0, 3)},
            {"factor", c.call.params.factor}});
}

// Operations that compute nothing: every cell is a cell found elsewhere.
void GlOps::forward_moves(const GlOpCall& c) {
  const std::int64_t cells = c.cells();
  const GlUniform count("cells", cells);
  switch (c.call.op) {
    case Op::kEmbed:
      return run_cells(Kernel::kEmbed, cells, {c.in[0], c.in[1], c.out},
                       {count, {"width", c.size(1, 1)}, {"vocab", c.size(1, 0)}});
    case Op::kLearnedPosition:
      return run_cells(Kernel::kLearnedPosition, cells, {c.in[1], c.out},
                       {count,
                        {"row", c.out_size(1) * c.out_size(2)},
                        {"first", c.call.params.offset * c.out_size(2)}});
    case Op::kSplitHeads:
      return run_cells(Kernel::kSplitHeads, cells, {c.in[0], c.out},
                       {count,
                        {"heads", c.out_size(1)},
                        {"positions", c.out_size(2)},
                        {"width", c.out_size(3)}});
    case Op::kConcatRows:
      return run_cells(
          Kernel::kConcatRows, cells, {c.in[0], c.in[1], c.out},
          {count, {"first", c.size(0, 1) * c.size(0, 2)}, {"rest", c.size(1, 1) * c.size(1, 2)}});
    default:
      return run_cells(
          Kernel::kConcatHeads, cells, {c.in[0], c.out},
          {count, {"heads", c.size(0, 1)}, {"positions", c.size(0, 2)}, {"width", c.size(0, 3)}});
  }
}

void GlOps::sinusoid(const GlOpCall& c) {
  const OpParams& params = c.call.params;
  const std::int64_t width = c.out_size(2), pairs = (width + 1) / 2;
  // Wavelengths are base^(2i/width): with this base those that go to the end.
  const double longer = static_cast<double>(width) / static_cast<double>(2 * (pairs - 1));
  const double base = params.to_end && pairs > 1 ? std::pow(10000, longer) : 10000;
  run_cells(Kernel::kSinusoid, c.cells(), {launcher_.turns(width, base), c.out},
            {{"cells", c.cells()},
             {"positions", c.out_size(1)},
             {"width", width},
             {"first", params.offset},
             {"halves", params.halves}});
}

void GlOps::rotary(const GlOpCall& c, unsigned from, unsigned into, bool is_back, bool adds) {
  const OpParams& params = c.call.params;
  const std::int64_t width = c.out_size(3), turned = params.turned == 0 ? width : params.turned;
  run_cells(Kernel::kRotary, c.cells(),
            {launcher_.turns(turned, params.base, params.stretch), from, into},
            {{"cells", c.cells()},
             {"positions", c.out_size(2)},
             {"width", width},
             {"turned", turned},
             {"interleaved", params.interleaved},
             {"is_back", is_back},
             {"first", params.offset},
             {"adds", adds}});
}

void GlOps::forward_rows(const GlOpCall& c) {
  const auto [rows, columns] = as_rows(c.axes[0]);
  const GlUniform row_count("rows", rows), column_count("columns", columns);
  switch (c.call.op) {
    case Op::kSoftmax:
      return run_rows(Kernel::kSoftmax, rows, columns, {c.in[0], c.out},
                      {row_count,
                       column_count,
                       {"temperature", static_cast<float>(c.call.params.temperature)}});
    case Op::kCrossEntropy:
      return run_rows(Kernel::kCrossEntropy, rows, columns, {c.in[0], c.in[1], c.out},
                      {row_count, column_count});
    default:
      return run_rows(Kernel::kNorm, rows, columns,
                      {c.in[0], c.in[1], c.has_bias() ? c.in[2] : c.in[1], c.out},
                      {row_count,
                       column_count,
                       {"has_bias", c.has_bias()},
                       {"has_mean", c.call.op == Op::kLayerNorm},
                       {"epsilon", c.call.params.epsilon}});
  }
}

void GlOps::forward_products(const GlOpCall& c) {
  const unsigned bias = c.has_bias() ? c.in[2] : c.in[1];
  const GlUniform has_bias("has_bias", c.has_bias());
  const auto [rows, inner] = as_rows(c.axes[0]);
  const std::int64_t columns = c.out_axes.back().size;
  if (c.call.op == Op::kLinear || c.call.op == Op::kLinearTransposed) {
    const bool table = c.call.op == Op::kLinearTransposed;
    return run_product(table ? Kernel::kLinearTransposed : Kernel::kLinear, 1, rows, columns,
                       {c.in[0], c.in[1], bias, c.out},
                       {{"rows", rows}, {"columns", columns}, {"inner", inner}, has_bias});
  }
  if (c.call.op == Op::kProject) {
    return run_product(Kernel::kProject, 1, rows, columns, {c.in[0], c.in[1], bias, c.out},
                       {{"rows", rows},
                        {"heads", c.size(1, 0)},
                        {"width", c.size(1, 2)},
                        {"inner", inner},
                        has_bias});
  }
  const bool scores = c.call.op == Op::kScores;
  const std::int64_t keys = c.size(1, 2), width = c.size(1, 3), queries = c.kv_queries();
  run_product(scores ? Kernel::kScores : Kernel::kWeightedSum, c.kv_matrices(), queries, columns,
              {c.in[0], c.in[1], c.out}, {{"queries", queries}, {"keys", keys}, {"width", width}});
}

}  // namespace headlight
