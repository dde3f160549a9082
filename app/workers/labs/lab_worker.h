// LabWorker: runs labs on a thread of its own, says how far one is, and shows what is there so far.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "app/workers/trace_worker.h"
#include "core/base/mailbox.h"
#include "core/lab/lab.h"

namespace headlight {

struct LabRequest {
  Document document;
  std::shared_ptr<const Model> run_model;  // of a document whose model is a run
  std::string lab;
  LabSettings settings;
};

struct LabNews {
  std::shared_ptr<const LabResult> result;  // null: there is nothing new to see
  bool done = false;
  double share = 0;  // until it is done
  Message problem;   // why there is no result
};

class LabWorker {
 public:
  /// `background` false: at once, for pictures and tests.
  LabWorker(bool background, RunLimits limits, int threads);

  /// What was being run is dropped.
  void request(LabRequest);
  void stop();
  /// What has happened since this was last asked, if anything has.
  std::optional<LabNews> poll();
  bool busy() const { return mailbox_.awaits({}); }
  void wait() { mailbox_.wait(); }

 private:
  using Answer = std::shared_ptr<const LabResult>;
  using Box = Mailbox<OneKey, LabRequest, Answer>;
  Answer run(const LabRequest&, const ProgressFunction&,
             std::function<void(const LabResult&)> show);
  void tell(std::uint64_t id, double share, Answer);

  const bool background_;
  // Of the thread that runs.
  Runner runner_;
  std::unique_ptr<Backend> backend_;
  const int threads_;
  std::optional<LabNews> done_;  // without a background
  std::mutex mutex_;             // guards the next two
  std::uint64_t wanted_ = 0;     // the latest request
  std::optional<LabNews> news_;  // of that one, not taken yet
  Box mailbox_;
};

}  // namespace headlight
