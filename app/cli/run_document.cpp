// A document's run for the command line: whatever stands in its way is an error.
#include <cstdio>

#include "app/cli/named_backend.h"
#include "app/cli/options.h"
#include "core/base/error.h"
#include "core/base/number_text.h"

namespace headlight {

std::shared_ptr<const Trace> run_or_throw(const ModelOptions& options, const Document& doc,
                                          bool gradients) {
  const NamedBackend backend(options.backend, options.threads);
  Runner runner(options.limits());
  auto trace = run_or_throw(runner, *backend, doc, gradients);
  note_fallbacks(backend);
  return trace;
}

std::shared_ptr<const Trace> run_or_throw(Runner& runner, Backend& backend, const Document& doc,
                                          bool gradients) {
  RunResult result = runner.run(doc, backend, nullptr, gradients);
  if (!result.trace) {
    if (result.is_usage) throw UsageError(result.message);
    throw Error(result.message);
  }
  if (result.cut && result.limit_of_model) {
    throw UsageError("the sentence has " +
                     count_text(static_cast<long long>(result.tokens_in_sentence)) +
                     " tokens, but the model has learned " + count_text(result.limit) +
                     " positions. Give a shorter sentence, or choose another model");
  }
  if (result.cut) {
    throw UsageError(
        "the sentence has " + count_text(static_cast<long long>(result.tokens_in_sentence)) +
        " tokens, over the limit of " + count_text(doc.max_tokens) +
        ": attention keeps a number for every pair of tokens. Raise it with --max-tokens N");
  }
  if (!result.note.empty())
    std::fprintf(stderr, "headlight: %s\n", say(Language::kEnglish, result.note).c_str());
  return result.trace;
}

}  // namespace headlight
