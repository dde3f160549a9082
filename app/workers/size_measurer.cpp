#include "app/workers/size_measurer.h"

#include <algorithm>

#include "app/workers/gpu.h"
#include "app/workers/guarded_backend.h"
#include "app/workers/stopwatch.h"
#include "app/workers/trace_worker.h"
#include "core/base/error.h"

namespace headlight {
namespace {

constexpr std::int64_t kFirstSize = 4;
constexpr double kLongestRun = 1000, kLongForOne = 300;  // milliseconds

// The quickest of a few runs: the first one makes buffers, and the others are disturbed only ever
// for the worse. Negative: it could not be run.
double time_of(Runner& runner, Backend& backend, const RunRequest& r, const Document& document,
               std::int64_t tokens, Message& problem) {
  double best = -1, all = 0;
  for (int i = 0; i < 4 && all < kLongForOne; ++i) {
    RunResult result;
    const double ms =
        milliseconds([&] { result = runner.run(document, backend, r.model, r.gradients); });
    problem = result.message;
    if (!result.trace) return -1;
    const RunInput& input = result.trace->input();
    const bool pair = !input.source_ids.empty();
    const std::size_t count = pair ? input.source_ids.size() : input.tokens.size();
    if (static_cast<std::int64_t>(count) != tokens) return -1;  // the model reads no more
    best = i < 2 ? ms : std::min(best, ms);
    all += ms;
  }
  return best;
}

// The sentence over and over.
Document repeated(const Document& document, std::int64_t tokens) {
  Document longer = document;
  longer.max_tokens = static_cast<int>(tokens);
  longer.config.memory = 0;  // all of it at once
  longer.config.mask.padding.clear();
  longer.config.mask.source_padding.clear();
  const std::string once = document.sentence.substr(0, document.sentence.find("→")) + " ";
  const auto enough = static_cast<std::size_t>(tokens) * 2;
  longer.sentence.clear();
  while (longer.sentence.size() < enough * 8 && !document.sentence.empty()) longer.sentence += once;
  return longer;
}

}  // namespace

SizeMeasurer::SizeMeasurer(RunLimits limits, std::unique_ptr<Backend> backend)
    : runner_(limits), backend_(std::move(backend)) {}

bool SizeMeasurer::add_point(const RunRequest& r, Gpu& gpu, SizeChart& chart) {
  const std::int64_t tokens = chart.points.empty() ? kFirstSize : 2 * chart.points.back().tokens;
  chart.problem = {};
  if (tokens > kLargestMaxTokens) return false;
  const Document document = repeated(r.document, tokens);
  Message problem;
  SizePoint point{tokens, 0, 0};
  point.cpu_ms = time_of(runner_, *backend_, r, document, tokens, problem);
  if (point.cpu_ms >= 0) {
    try {
      GuardedBackend guarded(gpu.backend());
      point.gpu_ms = time_of(runner_, guarded, r, document, tokens, problem);
      if (!guarded.failure().empty()) throw Error(guarded.failure());
    } catch (const Error& error) {
      gpu.fail(error.message());
      chart.problem = error.message();
      return false;
    }
  }
  if (point.cpu_ms < 0 || point.gpu_ms < 0) {
    if (chart.points.empty()) chart.problem = problem;
    return false;
  }
  chart.points.push_back(point);
  return std::max(point.cpu_ms, point.gpu_ms) < kLongestRun;
}

}  // namespace headlight
