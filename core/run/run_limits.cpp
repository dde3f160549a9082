// What this machine allows, and what is said where a run needs more.
#include "core/graph/program_cost.h"
#include "core/model/available_memory.h"
#include "core/run/large/kept_tensors.h"
#include "core/run/runner.h"

namespace headlight {

Message memory_refusal(const Config& config, const RunShape& shape, double bytes, RunKeeps keeps,
                       bool layers_are_free) {
  MemoryNeeded& need = keeps == RunKeeps::kLeast ? least_memory_needed : memory_needed;
  // Each tensor has a gradient of its size.
  const double times = keeps == RunKeeps::kGradients ? 2 : 1, needed = times * need(config, shape);
  if (needed <= bytes) return {};
  const int layers = layers_are_free ? most_layers(config, shape, bytes / times, need) : 0;
  const std::int64_t tokens = most_tokens(config, shape, bytes / times, need);
  const std::string_view id = !layers_are_free && tokens > 0 ? "error.needs_memory.model.tokens"
                              : !layers_are_free             ? "error.needs_memory.model"
                              : layers > 0 && tokens > 0     ? "error.needs_memory.both"
                              : layers > 0                   ? "error.needs_memory.layers"
                              : tokens > 0                   ? "error.needs_memory.tokens"
                                                             : "error.needs_memory";
  return Message{std::string(id),
                 {{"tokens", std::to_string(shape.positions)},
                  {"needed", bytes_text(needed)},
                  {"available", bytes_text(bytes)},
                  {"layers", std::to_string(layers)},
                  {"all_layers", std::to_string(config.layers)},
                  {"most", std::to_string(tokens)}}};
}

RunLimits machine_limits() { return {available_memory()}; }

}  // namespace headlight
