#include "app/workers/heads_worker.h"

#include <utility>

namespace headlight {

HeadsWorker::HeadsWorker(bool background, RunLimits limits)
    : background_(background), limits_(limits), mailbox_([this](Box::Job& job) {
        HeadsNews news = go_on(job.request, job.id);
        job.again = news.done < news.count;
        return news;
      }) {}

HeadsNews HeadsWorker::go_on(const HeadsRequest& request, std::uint64_t id) {
  constexpr std::size_t kAtOnce = 16;
  if (measures_ != id) {
    measures_ = id;
    measurement_.emplace(request.document, request.model, limits_);
  }
  HeadMeasurement& m = *measurement_;
  for (std::size_t i = 0; i < kAtOnce && m.done() < m.count(); ++i) m.step();
  HeadsNews news{m.done(), m.count()};
  if (m.done() == m.count()) news.heads = std::make_shared<MeasuredHeads>(m.result());
  return news;
}

void HeadsWorker::request(HeadsRequest request) {
  if (background_) {
    mailbox_.post({}, std::move(request));
    return;
  }
  measures_ = 0;
  try {
    do {
      done_ = go_on(request, 1);
    } while (!done_->heads);
  } catch (...) {
    done_ = HeadsNews{0, 0, nullptr, caught_problem()};
  }
}

std::optional<HeadsNews> HeadsWorker::poll() {
  if (!background_) return std::exchange(done_, std::nullopt);
  auto reply = mailbox_.take({});
  if (!reply) return std::nullopt;
  if (!reply->problem.empty()) return HeadsNews{0, 0, nullptr, std::move(reply->problem)};
  return std::move(reply->answer);
}

}  // namespace headlight
