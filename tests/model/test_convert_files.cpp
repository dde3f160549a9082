// Folders that models were written as: their files, their tokenizers, and where they may be.
#include <nlohmann/json.hpp>

#include "core/io/atomic_file.h"
#include "core/text/pieces/piece_tokenizer.h"
#include "tests/support/convert_models.h"

namespace headlight::test_convert_files {

using namespace converting;
using Json = nlohmann::ordered_json;

TEST_CASE("convert: 16 bits are the nearest, and what they cannot hold is refused") {
  Model model = own_model(gpt2_config());
  for (const NumberFormat format : {NumberFormat::kFloat16, NumberFormat::kBfloat16}) {
    const OutFolder place;
    convert_model(model, place / "out", {.to = "gpt2", .format = format});
    const auto read = load_model((place / "out").string());
    REQUIRE(read->weights.size() == model.weights.size());
    for (std::size_t i = 0; i < model.weights.size(); ++i) {
      std::vector<float> rounded(model.weights[i].data.size());
      round_to(format, model.weights[i].data, rounded.data());
      CHECK(std::ranges::equal(read->weights[i].data, rounded));
    }
    const Json config = Json::parse(read_file(place / "out" / "config.json", 1 << 20));
    CHECK(config["torch_dtype"] == (format == NumberFormat::kFloat16 ? "float16" : "bfloat16"));
  }
  const OutFolder place;
  convert_model(model, place / "own", {.to = "headlight", .format = NumberFormat::kFloat16});
  CHECK(load_model((place / "own").string())->weights[0].data[3] ==
        half_to_float(float_to_half(model.weights[0].data[3])));
  CHECK(has(refusal(model, {.to = "headlight", .format = NumberFormat::kBfloat16}), "bf16"));
  model.weights[2].data[1] = 70000;
  const std::string said = refusal(model, {.to = "gpt2", .format = NumberFormat::kFloat16});
  CHECK(has(said, model.weights[2].name));
  CHECK(has(said, "70000"));
  CHECK(has(said, "F16"));
  CHECK(refusal(model, {.to = "headlight", .format = NumberFormat::kFloat16}) != "");
  convert_model(model, place / "wide", {.to = "gpt2", .format = NumberFormat::kBfloat16});
}

TEST_CASE("convert: tokenizers go along, or the folder is refused") {
  // Byte pairs of this program.
  const auto stories = load_model("bundled:stories");
  const OutFolder place;
  CHECK(convert_model(*stories, place / "stories", {}).type == "gpt2");
  const auto read = load_model((place / "stories").string());
  const char* text = "One day, a little cat saw 12 birds.\n\nÜber 猫!";
  const std::vector<int> ids = stories->vocabulary->encode(text);
  CHECK(read->vocabulary->encode(text) == ids);
  CHECK(read->vocabulary->decode(ids) == text);
  CHECK(logits_of(read, ids) == logits_of(stories, ids));
  // Words have no tokenizer.json.
  Model words = own_model(gpt2_config());
  words.vocabulary = std::make_shared<const Vocabulary>(
      TextCut::kWords,
      std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"});
  const std::string said = refusal(words, {.to = "gpt2"});
  CHECK(has(said, "--no-tokenizer"));
  CHECK(has(said, "tokenizer.json"));
  CHECK_FALSE(
      convert_model(words, place / "bare", {.to = "gpt2", .tokenizer = false}).has_tokenizer);
  CHECK_FALSE(fs::exists(place / "bare" / "tokenizer.json"));
  CHECK(has_ids_alone(*load_model((place / "bare").string())));
  CHECK(has(refusal(words, {.to = "headlight", .tokenizer = false}), "--no-tokenizer"));
}

TEST_CASE("convert: a tokenizer from elsewhere is kept, with what it puts around a text") {
  const OutFolder place;
  const fs::path from = place / "bert", own = place / "own", back = place / "back";
  fs::create_directory(from);
  for (const char* file : {"config.json", "model.safetensors"})
    fs::copy(reference_folder("bert-classifier") / file, from / file);
  write_file_atomic(from / "vocab.txt",
                    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\n##ing\nworld\n");
  const auto model = load_model(from.string());
  CHECK(convert_model(*model, own, {}).has_tokenizer);
  convert_model(*load_model(own.string()), back, {.to = "bert"});
  for (const fs::path& one : {own, back}) {
    CAPTURE(one.filename().string());
    const auto read = load_model(one.string());
    CHECK(*read->vocabulary == *model->vocabulary);
    CHECK(read->before == std::vector{2});
    CHECK(read->behind == std::vector{3});
    CHECK(read->vocabulary->encode("helloing world") == std::vector{5, 6, 7});
    CHECK(read->vocabulary->id_of(Special::kMask) == 4);
    CHECK(logits_of(read, {2, 5, 3}) == logits_of(model, {2, 5, 3}));
  }
  const Json config = Json::parse(read_file(back / "tokenizer_config.json", 1 << 20));
  CHECK(config["cls_token"] == "[CLS]");
  CHECK(config["tokenizer_class"] == "PreTrainedTokenizerFast");
  CHECK(config["model_max_length"] == 12);
}

TEST_CASE("convert: without a tokenizer the ids that the config names go along") {
  const OutFolder place;
  const fs::path from = place / "llama";
  fs::create_directory(from);
  fs::copy(reference_folder("llama") / "model.safetensors", from / "model.safetensors");
  Json config = Json::parse(read_file(reference_folder("llama") / "config.json", 1 << 20));
  const auto written = [&](Json begin, Json pad) {
    config["bos_token_id"] = std::move(begin);
    config["pad_token_id"] = std::move(pad);
    write_file_atomic(from / "config.json", config.dump());
    convert_model(*load_model(from.string()), place / "out", {.to = "llama"});
    return Json::parse(read_file(place / "out" / "config.json", 1 << 20));
  };
  const Json named = written(3, 0);
  CHECK(named["bos_token_id"] == 3);
  CHECK(named["pad_token_id"] == 0);
  // As older files say that there is none, and what is no row of the table.
  const Json none = written(1 << 20, -1);
  CHECK(none["bos_token_id"].is_null());
  CHECK(none["pad_token_id"].is_null());
}

TEST_CASE("convert: the folder is new, empty, or one that the program wrote") {
  const OutFolder place;
  const Model model = own_model(gpt2_config());
  const auto out = [&](const char* name, const char* to) {
    return error_of([&] { convert_model(model, place / name, {.to = to}); });
  };
  fs::create_directory(place / "empty");
  CHECK(out("empty", "gpt2") == "");
  CHECK(out("empty", "headlight") == "");  // what it wrote before
  CHECK(load_model((place / "empty").string())->file == model.file);
  CHECK(out("empty", "gpt2") == "");
  // Somebody's own.
  fs::create_directory(place / "taken");
  write_file_atomic(place / "taken" / "letter.txt", "dear");
  CHECK(has(out("taken", "gpt2"), "did not write"));
  fs::copy(reference_folder("gpt2"), place / "gpt2");
  const std::string before = read_file(place / "gpt2" / "model.safetensors", 1 << 24);
  CHECK(has(out("gpt2", "gpt2"), "did not write"));
  CHECK(read_file(place / "gpt2" / "model.safetensors", 1 << 24) == before);
  write_file_atomic(place / "file", "x");
  CHECK(out("file", "gpt2") != "");
  CHECK(out("missing/out", "gpt2") != "");
  // In itself, however it is written.
  const auto foreign = load_model((place / "gpt2").string());
  for (const char* name : {"gpt2", "gpt2/out", "gpt2/../gpt2/.", "."}) {
    CAPTURE(name);
    CHECK(has(error_of([&] { convert_model(*foreign, place / name, {}); }), "in each other"));
  }
  CHECK(has(out("other", "gpt3"), "gpt2, llama, bert, headlight"));
  CHECK(has(error_of([] { (void)number_format("f8"); }), "f32, f16, bf16"));
}

}  // namespace headlight::test_convert_files
