#include "app/workers/labs/lab_worker.h"

#include <algorithm>
#include <utility>

#include "app/workers/stopwatch.h"

namespace headlight {
namespace {

constexpr double kTellEvery = 0.05;  // seconds

}  // namespace

LabWorker::LabWorker(bool background, RunLimits limits, int threads)
    : background_(background), runner_(limits), threads_(threads), mailbox_([this](Box::Job& job) {
        const auto wanted = [&] { return !job.stop.stop_requested(); };
        double told = 0;
        const auto progress = [&](const Progress& p) {
          if (!wanted()) return false;
          if (seconds_now() - told < kTellEvery) return true;
          told = seconds_now();
          tell(job.id, p.share, nullptr);
          return true;
        };
        const auto show = [&](const LabResult& r) {
          tell(job.id, 0, std::make_shared<const LabResult>(r));
        };
        return run(job.request, progress, show);
      }) {}

LabWorker::Answer LabWorker::run(const LabRequest& request, const ProgressFunction& progress,
                                 std::function<void(const LabResult&)> show) {
  if (!backend_) backend_ = make_backend("cpu", threads_);
  const LabInput input{request.document, runner_,         *backend_,
                       progress,         std::move(show), request.run_model};
  return std::make_shared<const LabResult>(run_lab(find_lab(request.lab), input, request.settings));
}

void LabWorker::tell(std::uint64_t id, double share, Answer result) {
  const std::lock_guard lock(mutex_);
  if (id != wanted_) return;
  if (!news_) news_.emplace();
  if (result) news_->result = std::move(result);
  news_->share = std::max(news_->share, share);
}

void LabWorker::request(LabRequest request) {
  if (background_) {
    const std::lock_guard lock(mutex_);
    wanted_ = mailbox_.post({}, std::move(request));
    news_.reset();
    return;
  }
  try {
    done_ = LabNews{run(request, {}, {}), true, 1, {}};
  } catch (...) {
    done_ = LabNews{nullptr, true, 1, caught_problem()};
  }
}

void LabWorker::stop() {
  mailbox_.drop({});
  const std::lock_guard lock(mutex_);
  wanted_ = 0;
  news_.reset();
}

std::optional<LabNews> LabWorker::poll() {
  if (!background_) return std::exchange(done_, std::nullopt);
  auto reply = mailbox_.take({});
  const std::lock_guard lock(mutex_);
  if (reply) {
    news_.reset();  // how far it was says nothing more
    return LabNews{std::move(reply->answer), true, 1, std::move(reply->problem)};
  }
  return std::exchange(news_, std::nullopt);
}

}  // namespace headlight
