#include "app/workers/writing_worker.h"

#include <utility>

namespace headlight {

WritingWorker::WritingWorker(bool background)
    : background_(background), mailbox_([this](Box::Job& job) {
        Writing writing = go_on(job.request, job.id);
        job.again = !writing.done;
        return writing;
      }) {}

Writing WritingWorker::go_on(const WritingRequest& request, std::uint64_t id) {
  if (writes_ != id) {
    writes_ = id;
    writer_.emplace(request.model, request.document, request.sampling, request.seed);
    sentence_ = request.document.sentence;
  }
  const std::optional<std::string> longer = writer_->next();
  if (longer) sentence_ = *longer;
  return {sentence_, !longer, {}};
}

void WritingWorker::begin(WritingRequest request) {
  if (background_) {
    mailbox_.post({}, std::move(request));
    return;
  }
  writes_ = 0;
  request_ = std::move(request);
}

void WritingWorker::stop() {
  if (background_) mailbox_.drop({});
  request_.reset();
}

std::optional<Writing> WritingWorker::poll() {
  if (background_) {
    auto reply = mailbox_.take({});
    if (!reply) return std::nullopt;
    if (!reply->problem.empty()) return Writing{{}, true, std::move(reply->problem)};
    return std::move(reply->answer);
  }
  if (!request_) return std::nullopt;
  try {
    return go_on(*request_, 1);
  } catch (...) {
    return Writing{{}, true, caught_problem()};
  }
}

}  // namespace headlight
