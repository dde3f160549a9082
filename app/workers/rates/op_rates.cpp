#include "app/workers/rates/op_rates.h"

#include <algorithm>
#include <numeric>

#include "app/workers/stopwatch.h"
#include "core/graph/options/attention_options.h"
#include "core/graph/program_memory.h"
#include "core/model/presets.h"

namespace headlight {
namespace {

struct ProbeSize {
  int tokens, d_model, vocab;
};
constexpr ProbeSize kSmall = {8, 32, 64}, kLarge = {96, 256, 2048};
constexpr int kRounds = 5;

struct OpTime {
  double calls = 0, flops = 0, seconds = 0;
};

// The same mechanisms, in sizes that every kind of head divides.
Config probe_config(const Config& like, const ProbeSize& size) {
  Config c = like;
  c.layers = 1;
  c.heads = 4;
  c.d_model = size.d_model;
  c.kv_heads = c.d_head = c.d_hidden = c.rotary_width = c.pool_hidden = c.memory = 0;
  c.experts = std::min(c.experts, 4);
  c.top_experts = std::min(c.top_experts, c.experts);
  c.mask.padding.clear();
  c.mask.source_padding.clear();
  c.mask.forbidden = {};
  drop_unfit_options(c);
  return c;
}

// Seconds of each operation in a whole run, its calls timed one by one.
std::vector<OpTime> time_ops(const Config& like, const ProbeSize& size, Backend& backend) {
  const Config c = probe_config(like, size);
  const bool pair = c.form == ModelForm::kTranslate;
  const RunShape shape{.batch = 1,
                       .positions = size.tokens,
                       .vocab = size.vocab,
                       .classes = 2,
                       .source = pair ? size.tokens : 0};
  const Program p = build_program(c, shape);
  FloatBuffer arena(arena_cells(p));
  std::vector<float*> memory(p.tensors.size(), nullptr);
  lay_out(p, arena.data(), memory);
  std::vector<FloatBuffer> parameters;
  for (std::size_t id = 0; id < p.tensors.size(); ++id) {
    if (p.tensors[id].kind != TensorKind::kParameter) continue;
    parameters.emplace_back(static_cast<std::size_t>(cell_count(p.tensors[id].axes)), 0.01f);
    memory[id] = parameters.back().data();
  }
  share_aliases(p, memory);
  std::vector<int> ids(static_cast<std::size_t>(size.tokens));
  std::iota(ids.begin(), ids.end(), 0);
  for (int& id : ids) id %= size.vocab;
  fill_inputs(p, ids, pair ? std::span<const int>(ids) : std::span<const int>(), memory);
  std::vector<double> best(p.calls.size(), 1e9);
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < p.calls.size(); ++i) {
      const double start = seconds_now();
      backend.run(p, {&p.calls[i], 1}, memory);
      best[i] = std::min(best[i], seconds_now() - start);
    }
  }
  std::vector<OpTime> times(all_ops().size());
  for (std::size_t i = 0; i < p.calls.size(); ++i) {
    const OpInfo& info = op_info(p.calls[i].op);
    OpTime& op = times[static_cast<std::size_t>(&info - all_ops().data())];
    op.calls += 1;
    const std::vector<TensorId>& in = p.calls[i].in;
    op.flops += call_flops(info, p.look(in[0]).axes, p.look(p.calls[i].out).axes,
                           in.size() > 1 ? p.look(in[1]).axes : std::span<const Axis>());
    op.seconds += best[i];
  }
  return times;
}

// The line through both: seconds of a call = call + flop · its work, neither below zero.
OpRate rate_of(const OpTime& few, const OpTime& many) {
  if (few.calls == 0 || many.calls == 0 || many.flops == 0) return {};
  const double few_flops = few.flops / few.calls, many_flops = many.flops / many.calls;
  const double few_time = few.seconds / few.calls, many_time = many.seconds / many.calls;
  if (many_flops <= few_flops) return {many_time, 0};
  const double slope = (many_time - few_time) / (many_flops - few_flops);
  const double flop = std::clamp(slope, 0.0, many_time / many_flops);
  return {std::max(few_time - flop * few_flops, 0.0), flop};
}

}  // namespace

std::vector<OpRate> measure_op_rates(const Config& like, Backend& backend) {
  const std::vector<OpTime> few = time_ops(like, kSmall, backend);
  const std::vector<OpTime> many = time_ops(like, kLarge, backend);
  std::vector<OpRate> rates;
  for (std::size_t i = 0; i < few.size(); ++i) rates.push_back(rate_of(few[i], many[i]));
  return rates;
}

std::vector<OpRate> rates_for_all(const Config& like, Backend& backend) {
  std::vector<OpRate> rates = measure_op_rates(like, backend);
  const auto is_known = [](const OpRate& rate) { return rate.call > 0 || rate.flop > 0; };
  for (const Preset& one : all_presets()) {
    const ProgramCost cost = program_cost(miniature(one), one.shape);
    bool all = true;
    for (std::size_t i = 0; i < rates.size(); ++i)
      all &= cost.operations[i].calls == 0 || is_known(rates[i]);
    if (all) continue;
    const std::vector<OpRate> its = measure_op_rates(one.config, backend);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      if (!is_known(rates[i])) rates[i] = its[i];
    }
  }
  return rates;
}

}  // namespace headlight
