#include "app/workers/sample_worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/train/model_recipe.h"
#include "core/train/predictor.h"

namespace headlight {
namespace {

constexpr std::int64_t kMaxLetters = 160, kMaxWords = 48, kMinTokens = 16;
constexpr double kMaxWork = 2e10;  // multiplications of one sample, about
constexpr auto kPause = std::chrono::milliseconds(500);

// Letters and bytes say little each.
std::int64_t token_count(const Model& model) {
  const TextCut cut = model.vocabulary->cut();
  const bool letters = cut == TextCut::kCharacters || cut == TextCut::kBytes;
  const double each = static_cast<double>(parameter_count(model)) *
                      static_cast<double>(std::max<std::int64_t>(model.file.context, 1));
  const auto affordable = static_cast<std::int64_t>(kMaxWork / std::max(each, 1.0));
  return std::clamp(affordable, kMinTokens, letters ? kMaxLetters : kMaxWords);
}

}  // namespace

FreeSample write_sample(const SampleRequest& request) {
  FreeSample sample;
  sample.model = request.model;
  sample.step = request.step;
  sample.own = !request.sentence.empty() && knows(*request.model, request.sentence);
  sample.prompt = sample.own ? request.sentence : request.start;
  try {
    Generator generator(request.model, sample.prompt, request.sampling, request.seed, 1);
    std::string text;
    for (std::int64_t i = token_count(*request.model); i > 0; --i) {
      const std::optional<std::string> next = generator.next();
      if (!next) break;
      text += *next;
    }
    sample.text = clean_utf8(text).text;  // a model of bytes may write anything
  } catch (const Error& error) {
    sample.problem = error.message();
  } catch (const std::bad_alloc&) {
    sample.problem = Message{"error.no_memory"};
  }
  return sample;
}

SampleWorker::~SampleWorker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SampleWorker::request(SampleRequest request, bool hurry) {
  if (!background_) {
    done_ = write_sample(request);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    wanted_ = std::move(request);
    hurry_ = hurry;
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  }
  changed_.notify_all();
}

std::optional<FreeSample> SampleWorker::poll() {
  const std::lock_guard lock(mutex_);
  return std::exchange(done_, std::nullopt);
}

bool SampleWorker::busy() {
  const std::lock_guard lock(mutex_);
  return busy_ || wanted_;
}

void SampleWorker::wait() {
  std::unique_lock lock(mutex_);
  hurry_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !busy_ && !wanted_; });
}

void SampleWorker::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || wanted_; });
    if (stop_) return;
    const SampleRequest request = *std::exchange(wanted_, std::nullopt);
    busy_ = true;
    lock.unlock();
    FreeSample sample = write_sample(request);
    lock.lock();
    done_ = std::move(sample);
    busy_ = false;
    changed_.notify_all();
    changed_.wait_for(lock, kPause, [this] { return stop_ || (hurry_ && wanted_); });
    if (stop_) return;
  }
}

}  // namespace headlight
