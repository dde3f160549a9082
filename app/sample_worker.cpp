#include "app/sample_worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/error.h"
#include "core/text/utf8.h"
#include "core/train/model_recipe.h"
#include "core/train/predictor.h"

namespace headlight {
namespace {

constexpr std::int64_t kMostLetters = 160, kMostWords = 48, kLeastTokens = 16;
constexpr double kMostWork = 2e10;  // multiplications of one sample, about
constexpr auto kPause = std::chrono::milliseconds(500);

// Letters and bytes say little each.
std::int64_t token_count(const Model& model) {
  const TextCut cut = model.vocabulary->cut();
  const bool letters = cut == TextCut::kCharacters || cut == TextCut::kBytes;
  const double each = static_cast<double>(parameter_count(model)) *
                      static_cast<double>(std::max<std::int64_t>(model.file.context, 1));
  const auto affordable = static_cast<std::int64_t>(kMostWork / std::max(each, 1.0));
  return std::clamp(affordable, kLeastTokens, letters ? kMostLetters : kMostWords);
}

}  // namespace

FreeSample write_sample(const SampleWish& wish) {
  FreeSample sample;
  sample.model = wish.model;
  sample.step = wish.step;
  sample.own = !wish.sentence.empty() && knows(*wish.model, wish.sentence);
  sample.prompt = sample.own ? wish.sentence : wish.start;
  try {
    Generator generator(wish.model, sample.prompt, wish.sampling, wish.seed, 1);
    std::string text;
    for (std::int64_t i = token_count(*wish.model); i > 0; --i) {
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

void SampleWorker::request(SampleWish wish, bool hurry) {
  if (!background_) {
    done_ = write_sample(wish);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    wanted_ = std::move(wish);
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
    const SampleWish wish = *std::exchange(wanted_, std::nullopt);
    busy_ = true;
    lock.unlock();
    FreeSample sample = write_sample(wish);
    lock.lock();
    done_ = std::move(sample);
    busy_ = false;
    changed_.notify_all();
    changed_.wait_for(lock, kPause, [this] { return stop_ || (hurry_ && wanted_); });
    if (stop_) return;
  }
}

}  // namespace headlight
