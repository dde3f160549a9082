#include "app/workers/as_trained_worker.h"

#include <utility>

namespace headlight {

AsTrainedWorker::AsTrainedWorker(bool background, RunLimits limits)
    : background_(background),
      runner_(limits),
      mailbox_([this](Box::Job& job) { return answer(job.request); }) {}

AsTrained AsTrainedWorker::answer(const AsTrainedRequest& request) {
  Document document = request.document;
  document.config = request.model->file.config;
  const RunResult run = runner_.run(document, *backend_, request.model);
  const Outcome outcome = outcome_of(run.trace.get(), request.position);
  return {request.document.model,
          request.document.sentence,
          outcome.position,
          {outcome.probabilities.begin(), outcome.probabilities.end()}};
}

void AsTrainedWorker::request(AsTrainedRequest request) {
  if (background_) {
    mailbox_.post({}, std::move(request));
  } else {
    done_ = answer(request);
  }
}

std::optional<AsTrained> AsTrainedWorker::poll() {
  if (!background_) return std::exchange(done_, std::nullopt);
  auto reply = mailbox_.take({});
  if (!reply || !reply->problem.empty()) return std::nullopt;
  return std::move(reply->answer);
}

}  // namespace headlight
