#include "core/train/metrics/model_cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/number_text.h"
#include "core/graph/options/attention_options.h"

namespace headlight {
namespace {

constexpr std::int64_t kFirstTokens = 4, kLastTokens = 16384;

CostPoint point_of(const Config& config, const RunShape& shape, std::int64_t tokens) {
  const ProgramCost cost = program_cost(config, with_tokens(shape, tokens));
  return {tokens, cost.parameter_bytes(), cost.run_bytes(), sizeof(float) * cost.pairs,
          cost.multiply_adds};
}

}  // namespace

CostSizes sizes_of(const Config& c, const RunShape& shape) {
  return {shape.source > 0 ? shape.source : shape.positions, shape.batch, c.layers, c.head_count(),
          c.d_model};
}

void set_sizes(const CostSizes& sizes, Config& c, RunShape& shape) {
  shape = with_tokens(shape, sizes.tokens);
  shape.batch = sizes.batch;
  if (shape.memory > 0) shape.memory = c.memory;
  c.layers = sizes.layers;
  drop_unfit_options(c);
  if (c.head_count() != sizes.heads) c.heads = sizes.heads;
  if (c.kv_heads > 0) c.kv_heads = std::gcd(c.kv_heads, c.heads);
  const bool parts = c.attends() && c.d_head == 0;
  const int step = parts ? c.head_count() * (c.has_rotary() && c.rotary_width == 0 ? 2 : 1) : 1;
  c.d_model = std::max((sizes.d_model + step / 2) / step, 1) * step;
}

ModelCost model_cost(const Config& config, const RunShape& shape, const TrainerOptions& options) {
  validate(config);
  ModelCost cost;
  cost.config = config;
  cost.shape = shape;
  cost.run = program_cost(config, shape);
  cost.training = program_cost(config, shape, true);
  cost.fused_saving = fused_saving(config, shape);
  cost.memory = training_memory(config, shape, options, shape.batch);
  TrainerOptions as = options;
  for (const NumberFormat storage : {NumberFormat::kFloat32, NumberFormat::kBfloat16}) {
    as.storage = storage;
    (storage == NumberFormat::kFloat32 ? cost.kept : cost.kept_in_half) =
        kept_activation_bytes(config, shape, as, shape.batch);
  }
  const std::int64_t own = sizes_of(config, shape).tokens;
  for (std::int64_t tokens = kFirstTokens; tokens <= kLastTokens; tokens *= 2) {
    const bool between = own > tokens / 2 && own < tokens;
    if (between) cost.curve.push_back(point_of(config, shape, own));
    cost.curve.push_back(point_of(config, shape, tokens));
  }
  if (!config.attends()) return cost;
  for (const AttentionKind kind : {AttentionKind::kNarrow, AttentionKind::kWide}) {
    Config c = config;
    c.attention = kind;
    c.d_head = 0;
    if (c.d_model % c.heads != 0) continue;
    (kind == AttentionKind::kNarrow ? cost.narrow : cost.wide) = program_cost(c, shape);
  }
  return cost;
}

std::string section_name(Language language, Section section, Stack stack) {
  constexpr std::string_view kNames[] = {"cost.part.input",      "rail.attention",
                                         "rail.cross_attention", "rail.section.mixer",
                                         "rail.feed_forward",    "cost.part.prediction"};
  const bool encodes = stack == Stack::kEncoder;
  std::string words;
  if (stack != Stack::kOnly)
    words = std::string(tr(language, encodes ? "cost.part.encoder" : "cost.part.decoder")) + " · ";
  const bool ends = section == Section::kPrediction && encodes;
  return words +
         std::string(tr(language, ends ? "cost.part.output" : kNames[static_cast<int>(section)]));
}

std::string apart_text(double real, double predicted) {
  const double share = 100 * (real / predicted - 1);
  if (std::abs(share) < 0.05) return "±0 %";
  return (share < 0 ? "−" : "+") + number_text(std::abs(share), 2) + " %";
}

}  // namespace headlight
