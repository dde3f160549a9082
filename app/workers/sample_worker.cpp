#include "app/workers/sample_worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

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
  } catch (...) {
    sample.problem = caught_problem();
  }
  return sample;
}

// A sample says itself whose it is: one that is being written is shown although a newer one waits.
SampleWorker::SampleWorker(bool background)
    : background_(background),
      mailbox_([](const auto& job) { return write_sample(job.request); },
               {.finishes = true, .rest = kPause}) {}

void SampleWorker::request(SampleRequest request, bool hurry) {
  if (background_) {
    mailbox_.post({}, std::move(request), hurry);
  } else {
    done_ = write_sample(request);
  }
}

std::optional<FreeSample> SampleWorker::poll() {
  if (!background_) return std::exchange(done_, std::nullopt);
  auto reply = mailbox_.take({});
  if (reply && !reply->problem.empty()) reply->answer.problem = reply->problem;
  return reply ? std::optional(std::move(reply->answer)) : std::nullopt;
}

}  // namespace headlight
