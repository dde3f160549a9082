// What this machine allows, and what is said where a run needs more.
#include <unistd.h>

#include <cstdio>

#include "core/graph/program_cost.h"
#include "core/run/runner.h"

namespace headlight {

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  int unit = 0;
  while (bytes >= 1000 && unit < 6) {
    bytes /= 1000;
    ++unit;
  }
  char text[64];
  std::snprintf(text, sizeof text, unit == 0 || bytes >= 100 ? "%.0f %s" : "%.1f %s", bytes,
                kUnits[unit]);
  return text;
}

Message memory_refusal(const Config& config, const RunShape& shape, double bytes, bool gradients,
                       bool layers_are_free) {
  const double times = gradients ? 2 : 1, needed = times * memory_needed(config, shape);
  if (needed <= bytes) return {};
  const int layers = layers_are_free ? most_layers(config, shape, bytes / times) : 0;
  const std::int64_t tokens = most_tokens(config, shape, bytes / times);
  const std::string_view id = layers > 0 && tokens > 0 ? "error.needs_memory.both"
                              : layers > 0             ? "error.needs_memory.layers"
                              : tokens > 0             ? "error.needs_memory.tokens"
                                                       : "error.needs_memory";
  return Message{std::string(id),
                 {{"tokens", std::to_string(shape.positions)},
                  {"needed", bytes_text(needed)},
                  {"available", bytes_text(bytes)},
                  {"layers", std::to_string(layers)},
                  {"all_layers", std::to_string(config.layers)},
                  {"most", std::to_string(tokens)}}};
}

RunLimits machine_limits() {
  double available = 0;
  if (std::FILE* file = std::fopen("/proc/meminfo", "r")) {
    char line[256];
    long long kilobytes = 0;
    while (std::fgets(line, sizeof line, file)) {
      if (std::sscanf(line, "MemAvailable: %lld kB", &kilobytes) == 1) {
        available = static_cast<double>(kilobytes) * 1024;
      }
    }
    std::fclose(file);
  }
  if (available == 0) {
    available = 0.5 * static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                static_cast<double>(sysconf(_SC_PAGE_SIZE));
  }
  return {0.8 * available};  // the rest of the machine lives on the other fifth
}

}  // namespace headlight
