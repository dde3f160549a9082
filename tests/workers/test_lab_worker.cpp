// Labs on a thread of their own: all of one, nothing of one that was stopped or replaced.
#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "app/workers/labs/lab_worker.h"
#include "core/lab/lab_files.h"

namespace headlight::test_lab_worker {
namespace {

LabRequest lab_request(const char* lab, const char* sentence, LabSettings settings = {}) {
  LabRequest request;
  request.lab = lab;
  request.document.sentence = sentence;
  request.settings = std::move(settings);
  return request;
}

LabNews wait_for_lab(LabWorker& worker) {
  while (true) {
    if (std::optional<LabNews> news = worker.poll(); news && news->done) return std::move(*news);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

TEST_CASE("lab worker: the same with and without a thread") {
  LabWorker worker(true, {}, 1), plain(false, {}, 1);
  const LabRequest request = lab_request("scale", "a cat sat on the mat");
  worker.request(request);
  plain.request(request);
  const LabNews there = wait_for_lab(worker), here = wait_for_lab(plain);
  REQUIRE(there.result);
  REQUIRE(here.result);
  const Lab& lab = find_lab("scale");
  CHECK(lab_json(lab, *there.result, Language::kEnglish) ==
        lab_json(lab, *here.result, Language::kEnglish));
  CHECK_FALSE(worker.poll());
  CHECK_FALSE(worker.busy());
}

TEST_CASE("lab worker: the latest request wins, and a stopped one says nothing more") {
  LabWorker worker(true, {}, 1);
  for (int draw = 1; draw <= 6; ++draw)
    worker.request(lab_request("scale", "a cat sat on the mat", {{"draw", std::to_string(draw)}}));
  const LabNews last = wait_for_lab(worker);
  REQUIRE(last.result);
  CHECK(last.result->settings.at("draw") == "6");
  worker.request(lab_request("depth", "a cat sat on the mat", {{"layers", "32"}}));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  worker.stop();
  worker.wait();
  CHECK_FALSE(worker.poll());
  CHECK_FALSE(worker.busy());
}

TEST_CASE("lab worker: what a lab cannot take is said, with and without a thread") {
  for (const bool background : {true, false}) {
    LabWorker worker(background, {}, 1);
    worker.request(lab_request("scale", "a cat", {{"d_k", "seven"}}));
    const LabNews news = wait_for_lab(worker);
    CHECK_FALSE(news.result);
    CHECK(news.problem.id == "lab.error.setting");
  }
}

}  // namespace headlight::test_lab_worker
