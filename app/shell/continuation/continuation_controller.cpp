#include "app/shell/continuation/continuation_controller.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/train/sampling.h"

namespace headlight {

ContinuationController::ContinuationController(const Shared& shared, DocumentController& document,
                                               ComputingController& computing,
                                               ContinuationDerived& derived)
    : Controller(shared), document_(document), computing_(computing), derived_(derived) {}

void ContinuationController::take_trace() {
  const Derived& d = state_.derived;
  if (!d.trace || derived_.tokens_of == d.trace->serial()) return;
  derived_.tokens = sentence_tokens(d.asked, d.model.get(), kept_);
  auto& tokens = derived_.tokens.tokens;
  tokens.erase(tokens.begin(), tokens.begin() + std::min(std::ssize(tokens),
                                                         static_cast<std::ptrdiff_t>(d.skipped)));
  derived_.tokens_of = d.trace->serial();
  keep_as_trained();
}

// To be compared with, once a switch is set that the model was not trained with.
void ContinuationController::keep_as_trained() {
  const Document& now = state_.document();
  if (now.model.empty() || !is_as_trained(state_) || !computing_.is_current()) return;
  const Outcome outcome = shown_outcome(state_);
  AsTrained& kept = derived_.as_trained;
  kept.model = now.model;
  kept.sentence = now.sentence;
  kept.position = outcome.position;
  kept.probabilities.assign(outcome.probabilities.begin(), outcome.probabilities.end());
}

void ContinuationController::stop() {
  derived_.writing = false;
  perform(EndEdit{});
}

void ContinuationController::update() {
  if (!derived_.writing) return;
  const bool current = computing_.is_current() && !state_.derived.computing;
  if (state_.document().sentence != written_ || (current && !state_.derived.problem.empty()))
    return stop();
  if (!current) return;
  if (!has_room(state_)) return stop();
  const std::optional<std::string> next = drawn();
  if (!next) return stop();
  written_ = *next;
  document_.edit(SetSentence{*next}, "write");
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
  try {
    std::vector<TokenChance> chances =
        token_chances({logits.data + row * width, width}, state_.session.train.sampling);
    // A part of a character cannot stand in a text, and a mask is not filled with a special token;
    // what ends the row can be drawn.
    const auto end = model ? model->vocabulary->id_of(Special::kEnd) : std::nullopt;
    const auto masked = outcome.hidden ? std::optional(outcome.position) : std::nullopt;
    std::erase_if(chances, [&](const TokenChance& c) {
      return c.id != end && !sentence_with(state_.document(), *trace, model, c.id, masked);
    });
    double all = 0;
    for (const TokenChance& c : chances) all += c.probability;
    if (all <= 0) return std::nullopt;
    for (TokenChance& c : chances) c.probability /= all;
    const int id = draw_token(chances, state_.session.train.sampling_seed,
                              static_cast<std::uint64_t>(trace->length() - 1));
    return sentence_with(state_.document(), *trace, model, id, masked);
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
}

}  // namespace headlight
