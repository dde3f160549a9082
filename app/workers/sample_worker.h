// SampleWorker: lets a model write a text by itself, on a thread of its own; the newest request
// first.
#pragma once

#include <optional>
#include <string>

#include "app/ui/state/train_state.h"
#include "core/base/mailbox.h"

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
  explicit SampleWorker(bool background);

  /// A request that was still waiting is dropped. `hurry` false: not more than twice a second, so
  /// that training keeps its cores.
  void request(SampleRequest, bool hurry);
  /// The newest one that was written, once.
  std::optional<FreeSample> poll();
  bool busy() { return mailbox_.busy(); }
  void wait() { mailbox_.wait(); }

 private:
  const bool background_;
  std::optional<FreeSample> done_;  // without a background
  Mailbox<OneKey, SampleRequest, FreeSample> mailbox_;
};

}  // namespace headlight
