// A translator whose target is cut into the same pieces in another way than its source.
#include <doctest/doctest.h>

#include <filesystem>

#include "core/run/sentence_tokens.h"
#include "core/text/pieces/piece_tokenizer.h"
#include "test_paths.h"

namespace headlight {
namespace {

std::vector<int> ids_of(const std::vector<PlacedToken>& tokens) {
  std::vector<int> ids;
  for (const PlacedToken& token : tokens) ids.push_back(token.id);
  return ids;
}

}  // namespace

TEST_CASE("target pieces: source and target are each cut by their own file") {
  const std::filesystem::path folder =
      std::filesystem::path(HEADLIGHT_TEST_DIR) / "reference/tokenizers/marian";
  const auto shared = [](PieceTokenizer pieces) {
    return std::make_shared<const Vocabulary>(
        Vocabulary::of_pieces(std::make_shared<const PieceTokenizer>(std::move(pieces))));
  };
  Model model;
  model.file.config.form = ModelForm::kTranslate;
  model.file.begin = 0;
  model.vocabulary = shared(PieceTokenizer::open(folder));
  CHECK(&target_vocabulary(model) == model.vocabulary.get());
  model.target = shared(*PieceTokenizer::open_target(folder));
  const std::string text = "La vieille dame";
  Document document;
  document.sentence = text + " → " + text;
  std::optional<Tokenizer> kept;
  const SentenceTokens found = sentence_tokens(document, &model, kept);
  const std::vector<int> source = model.vocabulary->encode(text),
                         target = model.target->encode(text);
  CHECK(source != target);
  CHECK(ids_of(found.source) == source);
  std::vector<int> row = target;
  row.insert(row.begin(), 0);
  CHECK(ids_of(found.tokens) == row);
  CHECK(model.vocabulary->decode(target) == model.vocabulary->decode(source));
}

}  // namespace headlight
