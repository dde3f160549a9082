// AsTrainedWorker: what a model says of a sentence with the settings that it learned with, while
// others are shown. On a thread of its own.
#pragma once

#include <memory>
#include <optional>

#include "app/ui/state/state.h"
#include "core/backends/backend.h"
#include "core/base/mailbox.h"
#include "core/run/runner.h"

namespace headlight {

struct AsTrainedRequest {
  Document document;  // as it is shown
  std::shared_ptr<const Model> model;
  std::int64_t position = 0;  // of the row that is asked about
};

class AsTrainedWorker {
 public:
  /// `background` false: at once, for pictures and tests.
  AsTrainedWorker(bool background, RunLimits limits);

  /// A request before it is dropped.
  void request(AsTrainedRequest);
  /// The answer to the newest request, once.
  std::optional<AsTrained> poll();
  bool busy() const { return mailbox_.awaits({}); }

 private:
  using Box = Mailbox<OneKey, AsTrainedRequest, AsTrained>;
  AsTrained answer(const AsTrainedRequest&);

  const bool background_;
  Runner runner_;  // of the thread that answers
  std::unique_ptr<Backend> backend_ = make_cpu_backend(1);
  std::optional<AsTrained> done_;  // without a background
  Box mailbox_;
};

}  // namespace headlight
