// What a folder's tokenizer_config.json changes in the tokenizer.json beside it.
#include <doctest/doctest.h>

#include "tests/text/files_of_model.h"
#include "tests/text/piece_cases.h"

namespace headlight::test::test_class_settings {
namespace {

// "<s> A" around words that blanks part.
Json words_with_begin() {
  const Json begin = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  const auto text = [](const char* id) { return Json{{"Sequence", {{"id", id}, {"type_id", 0}}}}; };
  return tokenizer_of(
      whole_words({"<unk>", "<s>", "</s>", "the", "cat", "eng_Latn", "fra_Latn"}),
      {{"added_tokens", {added(1, "<s>"), added(2, "</s>"), added(6, "fra_Latn")}},
       {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
       {"post_processor",
        {{"type", "TemplateProcessing"},
         {"single", {begin, text("A")}},
         {"pair", {begin, text("A"), text("B")}},
         {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {1}}, {"tokens", {"<s>"}}}}}}}}});
}

// The ids of a text with these settings beside the tokenizer.
std::vector<int> ids_with(const Json& tokenizer, const Json& settings, const std::string& text,
                          const Json& config = nullptr) {
  const FilesOfModel files;
  files.write("tokenizer.json", tokenizer.dump());
  if (!settings.is_null()) files.write("tokenizer_config.json", settings.dump());
  if (!config.is_null()) files.write("config.json", config.dump());
  return ids_of(files.open().encode(text));
}

using IdList = std::vector<int>;

}  // namespace

TEST_CASE(
    "class settings: NLLB puts the source's language in front, whatever tokenizer.json says") {
  const Json file = words_with_begin();
  const auto ids = [&](const Json& settings) { return ids_with(file, settings, "the cat"); };
  CHECK(ids({{"tokenizer_class", "NllbTokenizer"}}) == IdList{5, 3, 4, 2});
  const Json french = {{"tokenizer_class", "NllbTokenizerFast"}, {"src_lang", "fra_Latn"}};
  CHECK(ids(french) == IdList{6, 3, 4, 2});
  Json older = french;
  older["legacy_behaviour"] = true;
  CHECK(ids(older) == IdList{3, 4, 2, 6});
  older["src_lang"] = "zul_Latn";  // not in the vocabulary
  CHECK(ids(older) == IdList{3, 4, 2, 0});
  const FilesOfModel files;
  files.write("tokenizer.json", file.dump()).write("tokenizer_config.json", french.dump());
  CHECK(ids_of(files.open().encode_pair("the", "cat").tokens) == IdList{6, 3, 4, 2});
  CHECK(files.open().encode_pair("the", "cat").segments == IdList{0, 0, 0, 0});
}

TEST_CASE("class settings: Llama's and GPT-NeoX's beginning and end, where one of them is said") {
  const Json file = words_with_begin();
  const auto ids = [&](const Json& settings) { return ids_with(file, settings, "the"); };
  const auto llama = [](const Json& more) {
    Json settings = {{"tokenizer_class", "LlamaTokenizer"}};
    settings.update(more);
    return settings;
  };
  CHECK(ids(nullptr) == IdList{1, 3});
  CHECK(ids(llama(Json::object())) == IdList{1, 3});
  CHECK(ids(llama({{"add_eos_token", true}})) == IdList{1, 3, 2});
  CHECK(ids(llama({{"add_bos_token", false}})) == IdList{3});
  CHECK(ids(llama({{"add_bos_token", true}, {"bos_token", "cat"}})) == IdList{4, 3});
  CHECK(ids(llama({{"add_bos_token", true}, {"bos_token", "none"}})) == IdList{3});
  const Json ends = {{"eos_token", "</s>"}, {"add_eos_token", true}};
  Json settings = ends;
  settings["tokenizer_class"] = "GPTNeoXTokenizerFast";
  CHECK(ids(settings) == IdList{3, 2});
  settings["tokenizer_class"] = "PreTrainedTokenizerFast";  // no class of a model's
  CHECK(ids(settings) == IdList{1, 3});
  CHECK(ids_with(file, ends, "the", {{"model_type", "llama"}}) == IdList{1, 3, 2});
  CHECK(ids_with(file, ends, "the", {{"model_type", "gpt2"}}) == IdList{1, 3});
  const FilesOfModel files;
  files.write("tokenizer.json", file.dump());
  files.write("tokenizer_config.json", llama({{"add_eos_token", true}}).dump());
  CHECK(ids_of(files.open().encode_pair("the", "cat").tokens) == IdList{1, 3, 2, 1, 4, 2});
  CHECK(files.open().encode_pair("the", "cat").segments == IdList{0, 0, 0, 1, 1, 1});
  files.write("tokenizer_config.json", llama({{"add_eos_token", "yes"}}).dump());
  CHECK(has(files.refused(), "add_eos_token"));
}

TEST_CASE("class settings: BERT's letters") {
  const auto file = [](bool lower) {
    return tokenizer_of(
        {{"type", "WordPiece"},
         {"unk_token", "[UNK]"},
         {"continuing_subword_prefix", "##"},
         {"max_input_chars_per_word", 100},
         {"vocab", vocab_of({"[UNK]", "the", "The", "th\u00E9", "\u4E2D", "\u4E2D\u4E2D"})}},
        {{"normalizer",
          {{"type", "BertNormalizer"},
           {"clean_text", true},
           {"handle_chinese_chars", true},
           {"strip_accents", nullptr},
           {"lowercase", lower}}},
         {"pre_tokenizer", {{"type", "BertPreTokenizer"}}}});
  };
  const std::string text = "The th\u00E9 \u4E2D\u4E2D";
  const auto ids = [&](bool lower, const Json& settings) {
    Json all = {{"tokenizer_class", "BertTokenizer"}};
    all.update(settings);
    return ids_with(file(lower), all, text);
  };
  CHECK(ids(true, Json::object()) == IdList{1, 1, 4, 4});
  CHECK(ids(true, {{"do_lower_case", false}}) == IdList{2, 3, 4, 4});
  CHECK(ids(true, {{"strip_accents", false}}) == IdList{1, 3, 4, 4});
  CHECK(ids(true, {{"tokenize_chinese_chars", false}}) == IdList{1, 1, 5});
  CHECK(ids(false, Json::object()) == IdList{2, 3, 4, 4});
  CHECK(ids(false, {{"do_lower_case", true}}) == IdList{1, 1, 4, 4});
}

TEST_CASE("class settings: GPT-2's blank in front") {
  Json vocab = byte_level_vocab();
  const auto file = [&](bool blank) {
    return tokenizer_of({{"type", "BPE"}, {"vocab", vocab}, {"merges", kByteMerges}},
                        {{"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", blank}}}});
  };
  const Json gpt2 = {{"tokenizer_class", "GPT2Tokenizer"}, {"add_prefix_space", true}};
  CHECK(ids_with(file(false), gpt2, "w") == IdList{260});
  CHECK(ids_with(file(false), {{"tokenizer_class", "GPT2Tokenizer"}}, "w") == IdList{'w'});
  const Json roberta = {{"tokenizer_class", "RobertaTokenizerFast"}, {"add_prefix_space", false}};
  CHECK(ids_with(file(true), roberta, "w") == IdList{'w'});
  CHECK(ids_with(file(true), nullptr, "w") == IdList{260});
}

TEST_CASE("class settings: GPT-2's beginning, where the folder has the older files") {
  Json vocab = byte_level_vocab();
  vocab["<|endoftext|>"] = 262;
  std::string merges = "#version: 0.2\n";
  for (const std::string& merge : kByteMerges) merges += merge + "\n";
  const FilesOfModel files;
  files.write("vocab.json", vocab.dump()).write("merges.txt", merges);
  files.write("tokenizer_config.json", R"({"add_bos_token": true})");
  CHECK(ids_of(files.open().encode("hello")) == IdList{262, 259});
  const SegmentedTokens pair = files.open().encode_pair("hello", "he");
  CHECK(ids_of(pair.tokens) == IdList{262, 259, 256});
  CHECK(pair.segments == IdList{0, 0, 1});
  files.write("tokenizer_config.json", R"({"add_bos_token": false})");
  CHECK(ids_of(files.open().encode("hello")) == IdList{259});
}

}  // namespace headlight::test::test_class_settings
