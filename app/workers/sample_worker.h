// SampleWorker: lets a model write a text by itself, on a thread of its own; the newest request
// first.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "app/ui/state/train_state.h"

namespace headlight {

struct SampleRequest {
  std::shared_ptr<const Model> model;
  std::int64_t step = 0;  // of its weights
  std::string sentence;   // the person's; where the model cannot read it, or it is empty: `start`
  std::string start;      // of the text that it learns
  SamplingOptions sampling;
  std::uint64_t seed = 1;
  bool operator==(const SampleRequest&) const = default;
};

/// How the model goes on: a pure function of the request. Fewer tokens of a large model, so that it
/// takes about as long.
FreeSample write_sample(const SampleRequest&);

class SampleWorker {
 public:
  /// `background` false: at once, for pictures and tests.
  explicit SampleWorker(bool background) : background_(background) {}
  ~SampleWorker();
  SampleWorker(const SampleWorker&) = delete;
  SampleWorker& operator=(const SampleWorker&) = delete;

  /// A request that was still waiting is dropped. `hurry` false: not more than twice a second, so
  /// that training keeps its cores.
  void request(SampleRequest, bool hurry);
  /// The newest one that was written, once.
  std::optional<FreeSample> poll();
  bool busy();
  void wait();

 private:
  void loop();

  const bool background_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<SampleRequest> wanted_;
  std::optional<FreeSample> done_;
  bool hurry_ = false, busy_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace headlight
