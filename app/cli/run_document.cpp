// A document's run for the command line: whatever stands in its way is an error.
#include <cstdio>

#include "app/cli/cli.h"
#include "app/cli/named_backend.h"
#include "app/cli/options.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/run/row_around.h"

namespace headlight {
namespace {

// All tokens of the row, with those that the model's tokenizer puts there.
std::string too_long(const RunResult& result, const Document& doc) {
  const CutRow row = cut_row(*result.trace, result.model.get(), doc, result.tokens_in_sentence);
  const std::vector<std::string>& around = row.around;
  std::string text = "the sentence has " + count_text(row.all()) + " tokens";
  for (std::size_t i = 0; i < around.size(); ++i)
    text += (i == 0 ? " with " : i + 1 < around.size() ? ", " : " and ") + around[i];
  if (result.limit_of_model)
    return text + ", but the model has learned " +
           count_text(around.empty() ? result.limit : row.positions) +
           " positions. Give a shorter sentence, or choose another model";
  return text + ", over the limit of " + count_text(doc.max_tokens) +
         ": attention keeps a number for every pair of tokens. Raise it with --max-tokens N";
}

void tell_unused_padding(const Trace& trace) {
  const MaskSpec& mask = trace.config().mask;
  const std::int64_t positions = trace.program().shape.positions;
  if (mask.kind != MaskKind::kPadding) return;
  for (const int position : mask.padding) {
    if (position >= positions)
      tell("--pad " + count_text(position) + " changes nothing: the last token is number " +
           count_text(positions - 1));
  }
}

}  // namespace

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
  if (result.cut) throw UsageError(too_long(result, doc));
  tell_unused_padding(*result.trace);
  if (!result.note.empty())
    std::fprintf(stderr, "headlight: %s\n", say(Language::kEnglish, result.note).c_str());
  return result.trace;
}

}  // namespace headlight
