// What a model writes on a thread of its own: all of it, and nothing once it was stopped.
#include <doctest/doctest.h>
#include <chrono>
#include <thread>

#include "app/workers/writing_worker.h"

namespace headlight::test_writing_worker {
namespace {

WritingRequest request_for(const std::string& sentence) {
  WritingRequest request;
  request.model = load_model("bundled:stories");
  request.document.model = request.model->ref;
  request.document.config = request.model->file.config;
  request.document.sentence = sentence;
  return request;
}

// What it has written once there is no more to come.
Writing wait_for(WritingWorker& worker) {
  Writing last;
  while (!last.done) {
    if (std::optional<Writing> news = worker.poll()) last = std::move(*news);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return last;
}

}  // namespace

TEST_CASE("writing worker: a row is filled, the same with and without a thread") {
  const WritingRequest request = request_for("Once upon a time");
  WritingWorker worker(true), plain(false);
  worker.begin(request);
  plain.begin(request);
  const Writing written = wait_for(worker);
  CHECK(written.problem.empty());
  CHECK(written.sentence == wait_for(plain).sentence);
  const auto ids = request.model->vocabulary->encode(written.sentence);
  CHECK(std::ssize(ids) == request.model->file.context);
}

TEST_CASE("writing worker: a new sentence takes the place of the one before, stop ends it") {
  WritingWorker worker(true);
  worker.begin(request_for("Once upon a time"));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  worker.begin(request_for("The little dog"));
  while (true) {
    const std::optional<Writing> news = worker.poll();
    if (!news) continue;
    CHECK(news->sentence.starts_with("The little dog"));
    if (news->sentence.size() > 30) break;
  }
  worker.stop();
  CHECK_FALSE(worker.poll());
}

TEST_CASE("writing worker: a sentence that the model cannot read is said") {
  WritingRequest request = request_for("Lily");
  request.model = load_model("bundled:sort");
  request.document.model = request.model->ref;
  request.document.config = request.model->file.config;
  request.document.sentence = "no such words";
  WritingWorker worker(true);
  worker.begin(request);
  CHECK_FALSE(wait_for(worker).problem.empty());
}

}  // namespace headlight::test_writing_worker
