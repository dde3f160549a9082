// The files of a model's folder: the older ones, and those that are wrong, which are named.
#include <doctest/doctest.h>

#include "tests/text/files_of_model.h"
#include "tests/text/piece_cases.h"

namespace headlight::test::test_pieces_files {
namespace {

using Ids = std::vector<int>;

}  // namespace

TEST_CASE("pieces: vocab.json and merges.txt, as GPT-2, RoBERTa and Qwen 2 have them") {
  Json vocab = byte_level_vocab();
  vocab["<|endoftext|>"] = 262;
  std::string merges = "#version: 0.2\n";
  for (const std::string& merge : kByteMerges) merges += merge + "\r\n";
  const FilesOfModel files;
  files.write("vocab.json", vocab.dump()).write("merges.txt", merges);
  CHECK(PieceTokenizer::is_in(files.path()));
  const PieceTokenizer tokenizer = files.open();
  CHECK(ids_of(tokenizer.encode("hello w<|endoftext|>")) == Ids{259, 260, 262});
  CHECK(tokenizer.id_of(Special::kBegin) == 262);
  CHECK(tokenizer.id_of(Special::kUnknown) == 262);
  CHECK(PieceTokenizer::from_json(tokenizer.to_tokenizer_json(), tokenizer.special_names()) ==
        tokenizer);
  files.write("added_tokens.json", R"({"<extra>": 300})");
  CHECK(ids_of(files.open().encode("he<extra>")) == Ids{256, 300});
  files.write("tokenizer_config.json", R"({"tokenizer_class": "Qwen2Tokenizer"})");
  CHECK(ids_of(files.open().encode("e\u0301")) == Ids{261});  // NFC
  CHECK(ids_of(tokenizer.encode("e\u0301")) == Ids{'e', 0xCC, 0x81});
  files.write("tokenizer_config.json", R"({"tokenizer_class": "CLIPTokenizer"})");
  CHECK(has(files.refused(), "CLIPTokenizer"));
  const std::vector<std::string> more = {"<s>", "</s>", "<unk>", "<pad>", "<mask>"};
  for (std::size_t i = 0; i < more.size(); ++i) vocab[more[i]] = 263 + i;
  files.write("vocab.json", vocab.dump())
      .write("tokenizer_config.json", R"({"tokenizer_class": "RobertaTokenizerFast"})");
  const PieceTokenizer roberta = files.open();
  CHECK(ids_of(roberta.encode_pair("hello", "he").tokens) == Ids{263, 259, 264, 264, 256, 264});
  CHECK(ids_of(roberta.encode("he <mask>", false)) == Ids{256, 267});  // it takes the blank
  CHECK(roberta.id_of(Special::kMask) == 267);
  CHECK(roberta.id_of(Special::kClass) == 263);
  files.write("tokenizer_config.json", "{}");  // by the tokens that are there
  CHECK(ids_of(files.open().encode("hello")) == Ids{263, 259, 264});
}

TEST_CASE("pieces: merges of number signs, settings and added tokens beside vocab.json") {
  Json vocab = byte_level_vocab();
  vocab["##"] = 262;
  vocab["!\u010A"] = 263;
  std::string merges = "#version: 0.2\n# #\n! \u010A\n";
  for (const std::string& merge : kByteMerges) merges += merge + "\n";
  const FilesOfModel files;
  files.write("vocab.json", vocab.dump()).write("merges.txt", merges);
  files.write("added_tokens.json", R"({"<extra>": 300})");
  CHECK(ids_of(files.open().encode("##")) == Ids{262});  // no remark
  CHECK(!files.open().is_special(300));
  CHECK(ids_of(files.open().encode("w!\n")) == Ids{'w', '!', '\n'});
  files.write("tokenizer_config.json", R"({"add_prefix_space": true})");
  CHECK(ids_of(files.open().encode("w")) == Ids{260});
  // What the settings say of a token counts more than its id alone.
  files.write("tokenizer_config.json",
              R"({"added_tokens_decoder": {"300": {"content": "<extra>", "lstrip": true}}})");
  CHECK(ids_of(files.open().encode("he <extra>")) == Ids{256, 300});
  // Qwen 2 keeps a line's end with the mark before it.
  files.write("tokenizer_config.json", R"({"tokenizer_class": "Qwen2Tokenizer"})");
  CHECK(ids_of(files.open().encode("!\n")) == Ids{263});
}

TEST_CASE("pieces: vocab.txt, as BERT has it") {
  const FilesOfModel files;
  files.write("vocab.txt",
              "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\n##ing\ncaf\u00E9\ncafe\n\n!\n");
  const PieceTokenizer tokenizer = files.open();
  CHECK(ids_of(tokenizer.encode("Helloing Caf\u00E9! [MASK]")) == Ids{2, 5, 6, 8, 10, 4, 3});
  CHECK(tokenizer.encode_pair("hello", "!").segments == Ids{0, 0, 0, 1, 1});
  CHECK(!tokenizer.has(9));
  for (const auto& [special, id] : {std::pair{Special::kPad, 0},
                                    {Special::kUnknown, 1},
                                    {Special::kClass, 2},
                                    {Special::kSeparator, 3},
                                    {Special::kMask, 4}})
    CHECK(tokenizer.id_of(special) == id);
  files.write("tokenizer_config.json", R"({"do_lower_case": false})");
  CHECK(ids_of(files.open().encode("Hello caf\u00E9", false)) == Ids{1, 7});
  files.write("tokenizer_config.json", R"({"do_lower_case": true, "strip_accents": false})");
  CHECK(ids_of(files.open().encode("Caf\u00E9", false)) == Ids{7});
  const FilesOfModel chinese;
  chinese.write("vocab.txt", "[UNK]\n\u4E2D\u6587\n\u4E2D\n\u6587\n");
  CHECK(ids_of(chinese.open().encode("\u4E2D\u6587")) == Ids{2, 3});
  chinese.write("tokenizer_config.json", R"({"tokenize_chinese_chars": false})");
  CHECK(ids_of(chinese.open().encode("\u4E2D\u6587")) == Ids{1});
  files.write("tokenizer_config.json", R"({"do_lower_case": "yes"})");
  CHECK(has(files.refused(), "do_lower_case"));
}

TEST_CASE("pieces: tokens that only the files beside a vocabulary name are found in a text") {
  const FilesOfModel files;
  files.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n[x]\n[\nx\n]\nn\n##n\n");
  CHECK(ids_of(files.open().encode("[x] n", false)) == Ids{6, 7, 8, 9});
  for (const char* name : {"special_tokens_map.json", "tokenizer_config.json"}) {
    CAPTURE(name);
    files.write(name, R"({"additional_special_tokens": ["[x]"]})");
    CHECK(ids_of(files.open().encode("[x] n", false)) == Ids{5, 9});
    files.write(name, "{}");
  }
  // One that is not special is looked for in what the normalizer makes of the text.
  files.write("added_tokens.json", R"({"nn1": 11})");
  CHECK(ids_of(files.open().encode("NN1", false)) == Ids{11});
}

TEST_CASE("pieces: beside a tokenizer.json as well, where its vocabulary has them") {
  const FilesOfModel files;
  files.write("tokenizer.json",
              R"({"added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Whitespace"},
                  "model": {"type": "WordPiece", "unk_token": "?", "max_input_chars_per_word": 9,
                            "continuing_subword_prefix": "##",
                            "vocab": {"?": 0, "[M]": 1, "a": 2, "b": 3, "<x>": 4}}})");
  CHECK(ids_of(files.open().encode("a [M] <x>")) == Ids{2, 0, 0, 0, 0, 0, 0});
  files.write("tokenizer_config.json",
              R"({"mask_token": "[M]", "added_tokens_decoder": {"4": {"content": "<x>"},
                  "9": {"content": "<y>"}}, "additional_special_tokens": ["<z>"]})");
  CHECK(ids_of(files.open().encode("a [M] <x>")) == Ids{2, 1, 4});
  CHECK(files.open().size() == 5);  // what has no piece is not added
}

TEST_CASE("pieces: a list of SentencePiece's pieces") {
  const FilesOfModel files;
  Json pieces = {"<unk>", "<s>", "</s>"};
  for (int byte = 0; byte < 256; ++byte)
    pieces.push_back(byte_piece(static_cast<unsigned char>(byte)));
  for (const char* piece : {"\u2581a", "ab", "\u2581ab", "\u2581", "a", "b"})
    pieces.push_back(piece);
  files.write("small_pieces.json", pieces.dump());
  const PieceTokenizer tokenizer = files.open();
  // "\u2581a" was learned before "ab".
  CHECK(cut_of(tokenizer, "ab") == "\u2581ab");
  CHECK(cut_of(tokenizer, "aab") == "\u2581a ab");
  CHECK(ids_of(tokenizer.encode("ab")) == Ids{1, 261});
  CHECK(tokenizer.decode(ids_of(tokenizer.encode("\u00E9 ab", false))) == "\u00E9 ab");
}

TEST_CASE("pieces: files that are wrong are named") {
  const auto refused = [](const std::string& text, const char* name = "tokenizer.json") {
    const FilesOfModel files;
    return files.write(name, text).refused();
  };
  CHECK(has(FilesOfModel().refused(), "has no tokenizer"));
  for (const auto& half : {std::pair{"vocab.json", "merges.txt"},
                           {"merges.txt", "vocab.json"},
                           {"source.spm", "vocab.json"},
                           {"sentencepiece.bpe.model", "vocab.json"}}) {
    const char *there = half.first, *missing = half.second;
    CAPTURE(there);
    const std::string said = refused("{}", there);
    CHECK(has(said, "half a tokenizer"));
    CHECK(has(said, there));
    CHECK(has(said, missing));
  }
  for (const char* settings : {"tokenizer_config.json", "special_tokens_map.json"}) {
    FilesOfModel files;
    files.write("vocab.txt", "a\nb\n[UNK]\n").write(settings, "[]");
    CHECK(has(files.refused(), settings));
    CHECK(has(files.refused(), "JSON object"));
  }
  CHECK(has(refused(""), "tokenizer.json: this is no valid JSON"));
  CHECK(has(refused(std::string(1000000, '[')), "nested more than 64"));
  CHECK(has(refused(std::string(500000, '{')), "JSON"));
  CHECK(has(refused("{\"model\": \"\xFF\"}"), "JSON"));
  CHECK(has(refused("a\n\xFF\xFE\n", "vocab.txt"), "line 2 of vocab.txt is not UTF-8"));
  CHECK(has(refused("", "vocab.txt"), "empty"));
  const FilesOfModel two;
  two.write("vocab.json", R"({"a": 0, "b": 1})").write("merges.txt", "a b\n");
  CHECK(has(two.refused(), "the vocabulary has no \u201Cab\u201D"));
  two.write("merges.txt", "#version\na b c\n");
  CHECK(has(two.refused(), "line 2 of merges.txt"));
  CHECK_FALSE(has(two.refused(), "vocab.json"));
  two.write("merges.txt", "").write("vocab.json", "[1]");
  CHECK(has(two.refused(), "vocab.json"));
}

}  // namespace headlight::test::test_pieces_files
