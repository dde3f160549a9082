#include "core/train/sentence_writer.h"

#include <algorithm>

#include "core/run/model_input.h"
#include "core/run/sentence_tokens.h"

namespace headlight {

std::optional<std::string> drawn_sentence(
    std::span<const float> logits, const SamplingOptions& sampling, std::uint64_t seed,
    std::uint64_t draw, const std::function<bool(int id)>& ends,
    const std::function<std::optional<std::string>(int id)>& with) {
  std::vector<TokenChance> chances = token_chances(logits, sampling);
  std::erase_if(chances, [&](const TokenChance& c) { return !ends(c.id) && !with(c.id); });
  double all = 0;
  for (const TokenChance& c : chances) all += c.probability;
  if (all <= 0) return std::nullopt;
  for (TokenChance& c : chances) c.probability /= all;
  const int id = draw_token(chances, seed, draw);
  return ends(id) ? std::nullopt : with(id);
}

bool SentenceWriter::can_write(const Document& doc, const Model& model) {
  return goes_on(model) &&
         CachedPredictor::can_read(model, run_config(doc.config, model.file.config));
}

SentenceWriter::SentenceWriter(std::shared_ptr<const Model> model, const Document& doc,
                               const SamplingOptions& sampling, std::uint64_t seed)
    : predictor_(model, run_config(doc.config, model->file.config)),
      sentence_(doc.sentence),
      most_(static_cast<std::size_t>(std::min<std::int64_t>(model->file.context, doc.max_tokens))),
      sampling_(sampling),
      seed_(seed) {
  tokenizer_.emplace(model->vocabulary->tokenizer_kind());
}

std::optional<std::string> SentenceWriter::next() {
  // Cut anew each time: what was two tokens may be one once another follows.
  const Vocabulary& vocabulary = *predictor_.model().vocabulary;
  const std::vector<int> row = vocabulary.encode(sentence_, &*tokenizer_);
  if (row.empty() || row.size() >= most_) return std::nullopt;
  std::optional<std::string> longer = drawn_sentence(
      predictor_.logits(row), sampling_, seed_, row.size() - 1,
      [&](int id) { return ends_row(predictor_.model(), id); },
      [&](int id) { return sentence_with(sentence_, row, vocabulary, id); });
  if (longer) sentence_ = *longer;
  return longer;
}

}  // namespace headlight
