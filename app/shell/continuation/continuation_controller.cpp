#include "app/shell/continuation/continuation_controller.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/run/model_input.h"
#include "core/train/sentence_writer.h"

namespace headlight {

ContinuationController::ContinuationController(const Shared& shared, DocumentController& document,
                                               ComputingController& computing,
                                               ContinuationDerived& derived,
                                               const ShellOptions& options)
    : Controller(shared),
      document_(document),
      computing_(computing),
      derived_(derived),
      writer_(options.background),
      as_trained_(options.background, options.limits) {}

void ContinuationController::take_trace() {
  const Derived& d = state_.derived;
  if (!d.trace || derived_.tokens_of == d.trace->serial()) return;
  derived_.tokens = sentence_tokens(d.asked, d.model.get(), kept_);
  derived_.tokens_sentence = d.asked.sentence;
  auto& tokens = derived_.tokens.tokens;
  // What is remembered of the segments before is seen as well.
  const std::ptrdiff_t before =
      static_cast<std::ptrdiff_t>(d.skipped) - std::ssize(d.trace->input().memory_ids);
  tokens.erase(tokens.begin(), tokens.begin() + std::min(std::ssize(tokens), before));
  derived_.tokens_of = d.trace->serial();
  keep_as_trained();
}

// To be compared with, where a switch is set that the model was not trained with.
void ContinuationController::keep_as_trained() {
  const Document& now = state_.document();
  const std::shared_ptr<const Model>& model = state_.derived.model;
  if (now.model.empty() || !model || !computing_.is_current()) return;
  const Outcome outcome = shown_outcome(state_);
  if (!is_as_trained(state_)) {
    const bool known = !said_as_trained(state_, outcome).empty();
    if (!known) as_trained_.request({now, model, outcome.position});
    poll();
    return;
  }
  derived_.as_trained = {now.model,
                         now.sentence,
                         outcome.position,
                         {outcome.probabilities.begin(), outcome.probabilities.end()}};
}

bool ContinuationController::poll() {
  std::optional<AsTrained> said = as_trained_.poll();
  if (said) derived_.as_trained = std::move(*said);
  return said.has_value();
}

void ContinuationController::stop() {
  derived_.writing = false;
  writer_.stop();
  perform(EndEdit{});
}

void ContinuationController::write(const std::string& sentence) {
  written_ = sentence;
  document_.edit(SetSentence{sentence}, "write");
}

void ContinuationController::update() {
  if (!derived_.writing) return;
  if (state_.document().sentence != written_) return stop();
  if (asked_ != request()) begin();
  if (asked_) return take_written();
  if (computing_.is_current() && !state_.derived.computing) add_drawn();
}

void ContinuationController::take_written() {
  const std::optional<Writing> news = writer_.poll();
  if (!news) return;
  if (!news->problem.empty()) notify(NoticeKind::kError, news->problem);
  if (news->problem.empty() && news->sentence != written_) write(news->sentence);
  if (news->done) stop();
}

// One token, of the run that has ended.
void ContinuationController::add_drawn() {
  if (!state_.derived.problem.empty() || !has_room(state_)) return stop();
  const std::optional<std::string> next = drawn();
  if (!next) return stop();
  write(*next);
}

std::optional<std::string> ContinuationController::drawn() const {
  const Trace* trace = state_.derived.trace.get();
  const Outcome outcome = shown_outcome(state_);
  if (outcome.probabilities.empty() || outcome.classes) return std::nullopt;
  if (trace->program().shape.in_place && !outcome.hidden) return std::nullopt;
  const TensorView logits = trace->tensor(trace->program().logits);
  const auto width = static_cast<std::size_t>(logits.axes.back().size);
  const auto row = static_cast<std::size_t>(outcome.position);
  const Model* model = state_.derived.model.get();
  const auto masked = outcome.hidden ? std::optional(outcome.position) : std::nullopt;
  const auto with = [&](int id) {
    return sentence_with(state_.document(), *trace, model, id, masked);
  };
  try {
    // A mask is not filled with what ends a row.
    const auto ends = [&](int id) { return model && !masked && ends_row(*model, id); };
    return drawn_sentence({logits.data + row * width, width}, state_.session.train.sampling,
                          state_.session.train.sampling_seed,
                          static_cast<std::uint64_t>(trace->length() - 1), ends, with);
  } catch (const Error& error) {
    notify(NoticeKind::kError, error.message());
    return std::nullopt;
  }
}

void ContinuationController::on(const AddToken& a) {
  if (derived_.writing) stop();
  const Outcome outcome = shown_outcome(state_);
  if (outcome.probabilities.empty() || outcome.classes || !computing_.is_current()) return;
  const auto masked = outcome.hidden ? std::optional(outcome.position) : std::nullopt;
  const std::optional<std::string> text = sentence_with(state_.document(), *state_.derived.trace,
                                                        state_.derived.model.get(), a.id, masked);
  if (text) document_.edit(SetSentence{*text});
}

void ContinuationController::on(const GenerateToken&) {
  if (derived_.writing) stop();
  if (!computing_.is_current() || !can_go_on(state_)) return;
  if (const std::optional<std::string> text = drawn()) document_.edit(SetSentence{*text});
}

void ContinuationController::on(const Write& a) {
  if (!a.on) return stop();
  perform(EndEdit{});
  derived_.writing = true;
  written_ = state_.document().sentence;
  begin();
}

// What the writer is to be asked for, whatever the sentence; nothing where each token takes a run.
std::optional<WritingRequest> ContinuationController::request() const {
  const std::shared_ptr<const Model>& model = state_.derived.model;
  if (!model || model->ref != state_.document().model ||
      !SentenceWriter::can_write(state_.document(), *model))
    return std::nullopt;
  WritingRequest request{model, state_.document(), state_.session.train.sampling,
                         state_.session.train.sampling_seed};
  request.document.sentence.clear();
  return request;
}

void ContinuationController::begin() {
  writer_.stop();
  asked_ = request();
  if (!asked_) return;
  WritingRequest whole = *asked_;
  whole.document.sentence = written_;
  writer_.begin(std::move(whole));
}

}  // namespace headlight
