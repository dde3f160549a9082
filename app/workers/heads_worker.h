// HeadsWorker: measures a model's heads on many sentences, on a thread of its own.
#pragma once

#include <memory>
#include <optional>

#include "core/base/mailbox.h"
#include "core/train/heads/measured_heads.h"

namespace headlight {

struct HeadsRequest {
  Document document;
  std::shared_ptr<const Model> model;  // null: the sandbox
};

/// How far it has come.
struct HeadsNews {
  std::size_t done = 0, count = 0;                  // sentences
  std::shared_ptr<const MeasuredHeads> heads = {};  // once all are done
  Message problem = {};                             // why there will be none
};

class HeadsWorker {
 public:
  /// `background` false: at once, for pictures and tests.
  HeadsWorker(bool background, RunLimits limits);

  /// What was being measured is dropped.
  void request(HeadsRequest);
  void stop() { mailbox_.drop({}); }
  std::optional<HeadsNews> poll();
  bool busy() const { return mailbox_.awaits({}); }
  /// Blocks until there is nothing more to measure.
  void wait() { mailbox_.wait(); }

 private:
  using Box = Mailbox<OneKey, HeadsRequest, HeadsNews>;
  HeadsNews go_on(const HeadsRequest&, std::uint64_t id);

  const bool background_;
  const RunLimits limits_;
  // Of the thread that measures: for which request.
  std::uint64_t measures_ = 0;
  std::optional<HeadMeasurement> measurement_;
  std::optional<HeadsNews> done_;  // without a background
  Box mailbox_;
};

}  // namespace headlight
