// A translator whose target is cut into the same pieces in another way than its source.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/io/atomic_file.h"
#include "core/model/convert/convert.h"
#include "core/run/runner.h"
#include "core/run/sentence_tokens.h"
#include "core/text/pieces/piece_tokenizer.h"
#include "test_paths.h"

namespace headlight::test_target_pieces {
namespace {

namespace fs = std::filesystem;

std::vector<int> ids_of(const std::vector<PlacedToken>& tokens) {
  std::vector<int> ids;
  for (const PlacedToken& token : tokens) ids.push_back(token.id);
  return ids;
}

// Its source cuts "a b" into pieces 3 and 4 of 40, its target "x y" into 4 and 3 of 34.
fs::path folder_of_two_vocabularies() {
  const auto field = [](int number, const std::string& bytes) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
  };
  const auto piece = [&](const std::string& text, char type) {
    return field(1, field(1, text) + std::string{3 << 3, type});
  };
  const std::string mark = "\xE2\x96\x81", unknown = piece("<unk>", 2);
  const fs::path from = fs::path(HEADLIGHT_TEST_DIR) / "reference/folders/marian-apart";
  const fs::path folder = fs::temp_directory_path() / "headlight-two-tables";
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const char* file : {"config.json", "model.safetensors"})
    fs::copy(from / file, folder / file);
  const nlohmann::json source = {
      {"</s>", 0}, {"<unk>", 1}, {"<pad>", 2}, {mark + "a", 3}, {mark + "b", 4}};
  const nlohmann::json target = {
      {"</s>", 0}, {"<unk>", 1}, {"<pad>", 2}, {mark + "y", 3}, {mark + "x", 4}};
  write_file_atomic(folder / "source.spm", unknown + piece(mark + "a", 1) + piece(mark + "b", 1));
  write_file_atomic(folder / "target.spm", unknown + piece(mark + "x", 1) + piece(mark + "y", 1));
  write_file_atomic(folder / "vocab.json", source.dump());
  write_file_atomic(folder / "target_vocab.json", target.dump());
  return folder;
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

TEST_CASE("target pieces: a folder of two vocabularies, and the same converted") {
  const fs::path folder = folder_of_two_vocabularies(), own = folder.string() + "-own";
  fs::remove_all(own);
  (void)convert_model(*load_model(folder.string()), own, {});
  for (const fs::path& each : {folder, own}) {
    CAPTURE(each.string());
    Document document;
    document.model = each.string();
    document.sentence = "a b → x y";
    Runner runner;
    const auto backend = make_reference_backend();
    const RunResult result = runner.run(document, *backend);
    REQUIRE_MESSAGE(result.trace, result.problem);
    const RunInput& input = result.trace->input();
    CHECK(input.source_ids == std::vector{3, 4, 0});
    CHECK(input.source_tokens == std::vector<std::string>{" a", " b", "</s>"});
    CHECK(input.ids == std::vector{33, 4, 3});
    CHECK(input.tokens == std::vector<std::string>{"33", " x", " y"});
    REQUIRE(input.vocab.size() == 34);
    CHECK(input.vocab[3] == " y");
    CHECK(result.trace->tensor("probs").axes.back().size == 34);
    // A token that is added is one of the target's.
    CHECK(sentence_with(document, *result.trace, result.model.get(), 3, std::nullopt) ==
          "a b → x y y");
    document.sentence = "a";  // the model writes a row of its own
    CHECK(runner.run(document, *backend).trace);
  }
  fs::remove_all(folder);
  fs::remove_all(own);
}

}  // namespace headlight::test_target_pieces
