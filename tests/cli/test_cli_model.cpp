// Trained models on the command line: --model, models, eval, generate, train --config, and what is
// wrong with a checkpoint.
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/base/half.h"
#include "test_paths.h"
#include "tests/cli/child.h"

namespace headlight::test::test_cli_model {
namespace {

nlohmann::json json_of(const Args& args) { return nlohmann::json::parse(run_well(args).out); }

// A model that was hardly trained: 1 layer, learned positions.
std::string small_checkpoint(const Folder& folder) {
  run_well({"train", "--task", "reverse", "--layers", "1", "--heads", "2", "--d-model", "8",
            "--positions", "learned", "--steps", "2", "--out", folder / "small"});
  return folder / "small";
}

// A safetensors file with another header.
void rewrite_header(const std::string& path, const std::function<void(nlohmann::json&)>& change) {
  const std::string bytes = read_bytes(path);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  nlohmann::json header = nlohmann::json::parse(bytes.substr(8, length));
  change(header);
  const std::string numbers = bytes.substr(8 + length), text = header.dump();
  length = text.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), 8);
  file << text << numbers;
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("--model: the trace of a folder is that of its weights; the shape is the model's") {
  const Folder folder;
  const std::string model = small_checkpoint(folder);
  run_well({"trace", "--model", model, "--sentence", "a b [SEP] b", "--out",
            folder / "run.safetensors", "--weights-out", folder / "weights.safetensors"});
  const SafetensorsFile trace = read_safetensors(folder / "run.safetensors");
  const SafetensorsFile used = read_safetensors(folder / "weights.safetensors");
  const SafetensorsFile saved = read_safetensors(model + "/model.safetensors");
  for (const auto& entry : saved.entries) {
    const std::string& name = entry.first;
    CAPTURE(name);
    // Also the positions that the sentence does not take.
    CHECK(used.entries.at(name).shape == entry.second.shape);
    CHECK(tensor_as_float(saved, name) == tensor_as_float(used, name));
  }
  CHECK(used.entries.at("pos_embed.W_pos").shape == std::vector<std::int64_t>{16, 8});
  CHECK(trace.entries.at("blocks.0.attn.pattern").shape == std::vector<std::int64_t>{2, 4, 4});
  CHECK(tensor_as_int64(trace, "token_ids") == std::vector<std::int64_t>{1, 2, 0, 2});
  CHECK(contains(run_well({"explain", "--model", "induction", "--tensor", "blocks.1.attn.pattern",
                           "--at", "0,3,1"})
                     .out,
                 "blocks.1.attn.pattern"));
  check_refused(run({"trace", "--model", model, "--layers", "3", "--list"}), 2, {"shape"});
  check_refused(run({"trace", "--model", model, "--sentence", "a z", "--list"}), 2, {"'z'"});
  check_refused(run({"generate", "--model", model, "--prompt", "a z"}), 2, {"'z'"});
  std::string longer;
  for (int i = 0; i < 17; ++i) longer += "a ";
  check_refused(run({"trace", "--model", model, "--sentence", longer, "--list"}), 2,
                {"17 tokens", "16 positions"});
  check_refused(run({"trace", "--model", "inducton", "--list"}), 2,
                {"'inducton'", "did you mean 'induction'"});
}

TEST_CASE("models --half: a copy whose weights are the nearest halves, read as such") {
  const Folder folder;
  const std::string model = small_checkpoint(folder), half = folder / "half";
  run_well({"models", "--model", model, "--half", half});
  const SafetensorsFile saved = read_safetensors(model + "/model.safetensors");
  const SafetensorsFile copy = read_safetensors(half + "/model.safetensors");
  run_well({"trace", "--model", half, "--sentence", "a b [SEP] b", "--out", folder / "run.npz",
            "--weights-out", folder / "used.safetensors"});
  const SafetensorsFile used = read_safetensors(folder / "used.safetensors");
  CHECK(copy.entries.size() == saved.entries.size());
  for (const auto& [name, entry] : copy.entries) {
    CHECK(entry.dtype == "F16");
    std::vector<float> rounded = tensor_as_float(saved, name);
    for (float& cell : rounded) cell = half_to_float(float_to_half(cell));
    CHECK(tensor_as_float(used, name) == rounded);
  }
  CHECK(read_bytes(half + "/tokenizer.json") == read_bytes(model + "/tokenizer.json"));
  check_refused(run({"models", "--half", half}), 2, {"--half needs --model"});
  check_refused(run({"models", "--model", model}), 2, {"--model needs --half"});
  check_refused(run({"models", "--model", model, "--half", model}), 2, {"another folder"});
  CHECK(read_safetensors(model + "/model.safetensors").entries.begin()->second.dtype == "F32");
}

TEST_CASE("--target: of what the gradients are") {
  const Folder folder;
  const auto loss = [&](const Args& more, std::size_t place) {
    const std::string path = folder / "run.safetensors";
    run_well(joined({"trace", "--gradients", "--out", path}, more));
    const SafetensorsFile trace = read_safetensors(path);
    // Of foci with a penalty the loss holds that, too.
    const auto cells =
        tensor_as_float(trace, trace.entries.contains("class_loss") ? "class_loss" : "loss");
    return cells[place];
  };
  const Args sentiment = {"--model", "sentiment", "--sentence", "the book is not good ."};
  const auto pos = loss(joined(sentiment, {"--target", "positive"}), 0);
  const auto neg = loss(joined(sentiment, {"--target", "negative"}), 0);
  CHECK(std::exp(-pos) + std::exp(-neg) == doctest::Approx(1).epsilon(1e-4));
  CHECK(loss(sentiment, 0) == std::min(pos, neg));
  const Args masked = {"--model", "masked", "--sentence",
                       "[CLS] [MASK] thanks them . the boys [MASK] busy ."};
  const Args both = joined(masked, {"--target", "mary", "--target", "is"});
  CHECK(loss(both, 1) > 0);
  CHECK(loss(both, 7) > loss(masked, 7));
  const auto refused = [&](const Args& args, const std::vector<std::string>& phrases) {
    check_refused(run(joined({"trace", "--gradients", "--list"}, args)), 2, phrases);
  };
  refused(joined(sentiment, {"--target", "positiv"}),
          {"one of the model's 2 classes: negative, positive; got 'positiv'", "did you mean"});
  refused(joined(masked, {"--target", "a", "--target", "b", "--target", "c"}),
          {"given 3 times", "the sentence has 2 [MASK]"});
  refused({"--sentence", "a b", "--target", "a"}, {"the sentence itself tells"});
  check_refused(run(joined({"trace", "--list", "--target", "positive"}, sentiment)), 2,
                {"give --gradients too"});
}

TEST_CASE("--model: a row that is given whole is to be followed by [EOS], as in training") {
  const Folder folder;
  run_well({"trace", "--model", "dates", "--sentence", "may 1 1999 -> 1999-05-01", "--gradients",
            "--out", folder / "t.safetensors"});
  const std::vector<float> targets =
      tensor_as_float(read_safetensors(folder / "t.safetensors"), "targets");
  CHECK(targets.size() == 11);
  CHECK(std::count_if(targets.begin(), targets.end(), [](float t) { return t >= 0; }) == 11);
}

TEST_CASE("--model: what is wrong with a checkpoint is said in one line that names it") {
  const Folder folder;
  const std::string model = small_checkpoint(folder), weights = model + "/model.safetensors";
  const std::string whole = read_bytes(weights), config = read_bytes(model + "/config.json");
  const auto refused = [&](const std::vector<std::string>& phrases) {
    check_refused(run({"trace", "--model", model, "--list"}), 1, phrases);
    write_bytes(weights, whole);
    write_bytes(model + "/config.json", config);
  };
  write_bytes(weights, whole.substr(0, whole.size() / 2));
  refused({"model.safetensors"});
  std::string huge = whole;
  const std::uint64_t most = std::uint64_t{1} << 63;
  std::memcpy(huge.data(), &most, 8);
  write_bytes(weights, huge);
  refused({"model.safetensors", "header"});
  rewrite_header(weights, [](nlohmann::json& h) {
    h["embed.W_E"]["data_offsets"] = h["unembed.W_U"]["data_offsets"];
  });
  refused({"model.safetensors"});
  rewrite_header(weights, [](nlohmann::json& h) { h["embed.W_E"]["dtype"] = "I32"; });
  refused({"'embed.W_E'", "F32", "I32"});
  rewrite_header(weights, [](nlohmann::json& h) {
    h["other.W"] = h["embed.W_E"];
    h.erase("embed.W_E");
  });
  refused({"'embed.W_E'", "missing"});
  write_bytes(model + "/config.json", config.substr(0, config.find("\"d_model\": 8")) +
                                          "\"d_model\": 16" +
                                          config.substr(config.find("\"d_model\": 8") + 12));
  refused({"model.safetensors", "shape"});
  write_bytes(model + "/config.json", config.substr(0, config.size() / 2));
  refused({"config.json", "JSON"});
  std::filesystem::remove(model + "/tokenizer.json");
  check_refused(run({"trace", "--model", model, "--list"}), 1, {"tokenizer.json", "missing"});
}

TEST_CASE("models: the list has what each needs, in words and as JSON") {
  const std::string list = run_well({"models"}).out;
  for (const auto& model : json_of({"models", "--json"})) {
    const std::string name = model["name"];
    CAPTURE(name);
    CHECK(contains(list, name + ": "));
    CHECK(contains(list, model["look_for"]));
    const bool text = model["task"] == "";  // its weights have two bytes each
    CHECK(model["parameters"].get<int>() * (text ? 2 : 4) < model["bytes"].get<int>());
    CHECK(model["bytes"] < (text ? 8000000 : 1000000));
    CHECK(model["score"] > (text ? 0.3 : 0.5));  // of a text: next tokens of thousands
    run_well({"trace", "--model", name, "--list"});
  }
}

TEST_CASE("train --config: a short run of a bundled recipe reaches its score, as eval says") {
  const Folder folder;
  const std::string recipe =
      std::string(HEADLIGHT_TEST_DIR) + "../assets/models/reverse/recipe.json";
  run_well({"train", "--config", recipe, "--steps", "400", "--out", folder / "again"});
  const auto score =
      json_of({"eval", "--model", folder / "again", "--task", "--count", "100", "--json"});
  CHECK(score["task"] == "reverse");
  CHECK(score["tokens"] == 800);
  CHECK(score["token_accuracy"].get<double>() >=
        nlohmann::json::parse(read_bytes(recipe))["score"].get<double>());
  // What is given beside it counts; the rest is the recipe's.
  run_well({"train", "--config", recipe, "--steps", "2", "--warmup", "0", "--layers", "1", "--out",
            folder / "one"});
  const auto config = nlohmann::json::parse(read_bytes(folder / "one/config.json"));
  CHECK(config["model"]["layers"] == 1);
  CHECK(config["model"]["d_model"] == 64);
  CHECK(config["model"]["positions"] == "learned");
  const std::string other = folder.write("other.json", "{\"format\": \"headlight model\"}");
  check_refused(run({"train", "--config", other}), 1, {"other.json", "not a recipe"});
}

TEST_CASE("eval: a text in nats, bits and shares; what cannot be measured is refused") {
  const Folder folder;
  const std::string text = folder.write("t.txt", "mary gives the book to john . he thanks her .");
  const auto f = json_of({"eval", "--model", "grammar", "--text", text, "--json"});
  CHECK(f["tokens"] == 10);
  CHECK(f["context"] == 32);
  CHECK(f["stride"] == 16);
  const double loss = f["loss"];
  CHECK(loss > 0);
  CHECK(loss < 3);
  CHECK(f["perplexity"].get<double>() == doctest::Approx(std::exp(loss)));
  CHECK(f["bits_per_byte"].get<double>() ==
        doctest::Approx(loss * 10 / std::log(2.0) / f["bytes"].get<double>()));
  CHECK(contains(run_well({"eval", "--model", "grammar", "--text", text}).out,
                 "in windows of 32 tokens that begin 16 apart"));
  check_refused(run({"eval", "--model", "grammar"}), 2, {"--text", "--task"});
  check_refused(run({"eval", "--model", "sort", "--text", text}), 1, {"t.txt", "'mary'"});
  check_refused(run({"eval", "--model", "sort", "--text", folder / "no"}), 1, {"no"});
  check_refused(run({"eval", "--model", "sort", "--text", text, "--stride", "99"}), 2, {"99"});
  // What would change nothing is not taken.
  for (const char* option : {"--context", "--count", "--seed"}) {
    check_refused(run({"eval", "--model", "grammar", "--text", text, option, "5"}), 2,
                  {option, "--task"});
  }
  check_refused(run({"eval", "--model", "grammar", "--text", text, "--rows", "5"}), 2,
                {"--rows", "--pairs"});
  check_refused(run({"eval", "--model", "grammar", "--task", "--stride", "5"}), 2,
                {"--stride", "--text"});
}

TEST_CASE("generate: the same seed, the same text; over the context it says so once") {
  const Args base = {"generate", "--model", "grammar", "--prompt", "mary gives the"};
  const Result one = run_well(joined(base, {"--tokens", "60", "--seed", "4"}));
  CHECK(one.out == run_well(joined(base, {"--tokens", "60", "--seed", "4"})).out);
  CHECK(one.out != run_well(joined(base, {"--tokens", "60", "--seed", "5"})).out);
  CHECK(one.out.starts_with("mary gives the "));
  CHECK(contains(one.err, "the last 32 tokens"));
  CHECK(one.err.find("the last 32") == one.err.rfind("the last 32"));
  CHECK(run_well({"generate", "--model", "induction", "--prompt", "a b c d e f a b", "--tokens",
                  "4", "--temperature", "0"})
            .out == "a b c d e f a b c d e f\n");
  check_refused(run(joined(base, {"--temperature", "-1"})), 2, {"temperature"});
  check_refused(run(joined(base, {"--top-p", "2"})), 2, {"top-p"});
  for (const auto& idle :
       {std::pair{"--temperature", "2"}, {"--top-k", "3"}, {"--top-p", "0.5"}, {"--seed", "4"}})
    check_refused(run(joined(base, {"--greedy", idle.first, idle.second})), 2,
                  {"--greedy", idle.first});
  check_refused(run(joined(base, {"--tokens", "-3"})), 2, {"--tokens"});
  check_refused(run({"generate", "--model", "induction", "--tokens", "1"}), 2, {"no token"});
}

}  // namespace headlight::test::test_cli_model
