// Folders of other programs on the command line: what is printed of what they write, and what is
// said of requests that make no sense.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/io/safetensors.h"
#include "tests/cli/child.h"
#include "tests/model/worded_folder.h"

namespace headlight::test::test_cli_folders {
namespace {

// A folder of this type, by its name in tests/reference/folders.
std::string worded(const Folder& folder, const char* name, std::map<int, std::string> special) {
  special.emplace(3, "<unk>");
  make_worded_folder(name, folder / name, special);
  return folder / name;
}

// "2,36,4,4" as words, without the special tokens among them.
std::string words_of(const std::string& ids, std::set<std::string> special) {
  std::string words, id;
  std::istringstream in(ids.substr(0, ids.find('\n')));
  while (std::getline(in, id, ','))
    if (!special.contains(id)) words += (words.empty() ? "w" : " w") + id;
  return words + "\n";
}

}  // namespace

TEST_CASE("folders: a translation is printed without what stands around it") {
  const Folder folder;
  const std::string m2m = worded(folder, "m2m_100", {{2, "</s>"}, {36, "__fr__"}}),
                    bart = worded(folder, "bart", {{0, "<s>"}, {2, "</s>"}});
  const std::string bare = reference_folder("bart");
  for (const std::string& model : {m2m, bart, bare}) {
    CAPTURE(model);
    const Args base = {"generate",   "--model",  model,      "--ids",
                       "11,24,7,30", "--greedy", "--tokens", "5"};
    const std::string ids = run_well(joined(base, {"--print-ids"})).out;
    CHECK(ids.starts_with(model == m2m ? "2,36," : "2,0,"));  // the begin, and what is forced
    std::string expected = words_of(ids, {model == m2m ? "36" : "0", "2"});
    if (model == bare) std::erase(expected, 'w');
    CHECK(run_well(base).out == expected);
  }
}

TEST_CASE("folders: what a translator must not write it never does") {
  const Folder folder;
  std::filesystem::copy(reference_folder("bart"), folder / "bart");
  const std::string path = folder / "bart/config.json", plain = read_bytes(path);
  const std::string open = plain.substr(0, plain.rfind('\n', plain.rfind('}')));
  const auto with_words = [&](const std::string& words) {
    std::ofstream(path) << open << ",\n  \"bad_words_ids\": " << words << "\n}\n";
  };
  const Args base = {"generate", "--model", folder / "bart", "--ids", "11,24,7,30", "--greedy",
                     "--tokens", "5",       "--print-ids"};
  const std::string before = run_well(base).out;
  const std::string likeliest = before.substr(4, before.find(',', 4) - 4);  // behind "2,0,"
  with_words("[[" + likeliest + "], [1]]");
  const std::string after = run_well(base).out;
  CHECK(after.starts_with("2,0,"));
  CHECK(("," + after + ",").find("," + likeliest + ",") == std::string::npos);
  // Many, some of them again and again: the folder that convert writes has each once.
  std::string many = "[[1], [" + likeliest + "]";
  for (int i = 0; i < 1500; ++i) many += ", [" + std::to_string(5 + i % 3) + "]";
  with_words(many + "]");
  const std::string others = run_well(base).out, copy = folder / "copy";
  run_well({"convert", folder / "bart", "--out", copy, "--to", "headlight"});
  Args of_copy = base;
  of_copy[2] = copy;
  CHECK(run_well(of_copy).out == others);
  for (const char* never : {"5", "6", "7"})
    CHECK(("," + others + ",").find("," + std::string(never) + ",") == std::string::npos);
  for (const char* wrong : {"[3]", "[[1, 2]]", "[[40]]", "[[-1]]", "7"}) {
    CAPTURE(wrong);
    with_words(wrong);
    check_refused(run(base), 1, {"bad_words_ids", "one id each"});
  }
}

TEST_CASE("folders: special tokens that are given as ids are not printed, and no blank for them") {
  const Folder folder;
  const std::string llama = worded(folder, "llama", {{1, "<s>"}, {2, "</s>"}});
  const auto words = [&](const std::string& given) {
    const Args base = {"generate", "--model", llama, "--ids", given, "--greedy", "--tokens", "4"};
    const std::string ids = run_well(joined(base, {"--print-ids"})).out;
    const std::string text = run_well(base).out;
    CHECK(text == words_of(ids, {"1", "2"}));
    return text;
  };
  CHECK(words("1,5,7").starts_with("w5 w7 "));
  CHECK(words("1").starts_with("w"));
}

TEST_CASE("folders: source ids are rows of the source's own table") {
  const std::string apart = reference_folder("marian-apart");  // 40 and 34 rows
  const Args trace = {"trace", "--model", apart, "--list", "--ids"};
  CHECK(contains(run_well(joined(trace, {"39,0", "--target-ids", "33,5"})).out, "probs"));
  check_refused(run(joined(trace, {"40,0"})), 2, {"position 0 is 40", "from 0 to 39"});
  check_refused(run(joined(trace, {"39,0", "--target-ids", "33,34"})), 2,
                {"position 1 is 34", "from 0 to 33"});
  // Both tables' ids are kept by what else is written of it.
  const Folder folder;
  run_well({"convert", apart, "--out", folder / "torch", "--to", "pytorch"});
  CHECK(contains(run_well({"info", folder / "torch"}).out, "34, source 40"));
}

// Rows as the model has learned them, with [CLS] and [SEP], also those that are too long for it.
TEST_CASE(
    "folders: a classifier on another program's folder learns rows as its tokenizer has them") {
  const Folder folder;
  const std::string bert = folder / "bert";
  make_worded_folder("bert", bert, {{0, "[PAD]"}, {1, "[CLS]"}, {2, "[SEP]"}, {3, "<unk>"}},
                     {{"type", "BertProcessing"}, {"sep", {"[SEP]", 2}}, {"cls", {"[CLS]", 1}}});
  const auto most =
      nlohmann::json::parse(read_bytes(bert + "/config.json"))["max_position_embeddings"]
          .get<int>();
  std::string text = "w5";
  for (int i = 1; i < most; ++i) text += " w" + std::to_string(6 + i % 3);
  const std::string table = folder.write("t.tsv", "w5 w6\tone\nw7 w8 w9\ttwo\n" + text + "\ttwo\n");
  const std::string run_folder = folder / "run";
  const auto train = [&](Args more) {
    return run_well(joined({"train", "--labels", table, "--validation", table, "--log",
                            folder / "log.csv", "--out", run_folder},
                           more));
  };
  CHECK(contains(train({"--from", bert, "--batch", "3", "--steps", "2"}).err,
                 std::to_string(most - 2)));
  train({"--resume", run_folder, "--steps", "4"});
  const auto config = nlohmann::json::parse(read_bytes(run_folder + "/config.json"));
  CHECK(config["context"] == most);
  // What training measured is what eval measures and what a person sees of each row.
  const std::string log = read_bytes(folder / "log.csv");
  const double learned = std::stod(log.substr(log.rfind(',') + 1));
  const auto measured = nlohmann::json::parse(
      run_well({"eval", "--model", run_folder, "--labels", table, "--json"}).out);
  double nats = 0;
  for (const auto& [row, label] : std::vector<std::pair<std::string, std::size_t>>{
           {"w5 w6", 0},
           {"w7 w8 w9", 1},
           {text.substr(0, text.rfind(' ', text.rfind(' ') - 1)), 1}}) {
    run_well(
        {"trace", "--model", run_folder, "--sentence", row, "--out", folder / "t.safetensors"});
    const SafetensorsFile trace = read_safetensors(folder / "t.safetensors");
    nats -= std::log(static_cast<double>(tensor_as_float(trace, "probs")[label]));
  }
  CHECK(measured["loss"].get<double>() == doctest::Approx(nats / 3).epsilon(1e-4));
  CHECK(learned == doctest::Approx(nats / 3).epsilon(1e-4));
}

TEST_CASE("folders: a run on a text goes on, and is written for PyTorch with its data") {
  const Folder folder;
  const std::string gpt2 = worded(folder, "gpt2", {{0, "<s>"}});
  std::string text;
  for (int i = 0; i < 400; ++i) text += "w" + std::to_string(5 + i * i % 11) + " ";
  const std::string file = folder.write("text.txt", text), begun = folder / "run";
  const auto begin = [&](const std::string& to, const char* steps) {
    run_well({"train", "--from", gpt2, "--text", file, "--context", "6", "--batch", "2", "--steps",
              steps, "--out", to});
  };
  begin(begun, "4");
  begin(folder / "half", "2");
  run_well({"train", "--resume", folder / "half", "--text", file, "--steps", "4", "--out",
            folder / "half"});
  CHECK(read_bytes(folder / "half/model.safetensors") == read_bytes(begun + "/model.safetensors"));
  run_well({"convert", begun, "--out", folder / "torch", "--to", "pytorch", "--text", file});
  CHECK(std::filesystem::exists(folder / "torch/data.safetensors"));
}

TEST_CASE("folders: what load would refuse info refuses, and names of tensors do nothing") {
  const Folder folder;
  const auto damaged = [&](const char* name, const std::string& from, const std::string& to) {
    const std::string path = folder / ("damaged-" + std::string(name));
    std::filesystem::copy(reference_folder(name), path);
    std::string bytes = read_bytes(path + "/model.safetensors");
    const std::size_t at = bytes.find(from);
    REQUIRE(at != bytes.npos);
    std::ofstream(path + "/model.safetensors", std::ios::binary)
        << bytes.replace(at, from.size(), to);
    return path;
  };
  check_refused(run({"info", damaged("gpt2", "c_fc.bias", "c_fx.bias")}), 1, {"c_fc.bias"});
  const std::string shown = run_well({"info", damaged("marian-apart", "decoder.embed_positions",
                                                      "decoder.\\u001b[31m_none")})
                                .out;
  CHECK(contains(shown, "[31m_none"));
  CHECK_FALSE(contains(shown, "\x1b"));
  const std::string few = worded(folder, "gpt2", {});
  std::string tokens = read_bytes(few + "/tokenizer.json");
  tokens.replace(tokens.find("\"w39\":39"), 8, "\"w39\":40,\"w40\":39");
  std::ofstream(few + "/tokenizer.json") << tokens;
  check_refused(run({"info", few}), 1, {"41", "40"});
}

TEST_CASE("folders: a classifier's loss is one number, which has no place in a comparison") {
  const Args compare = {"compare-backends",
                        "--gradients",
                        "--model",
                        reference_folder("bert-classifier"),
                        "--ids",
                        "2,3,5"};
  const Result said = run(compare);
  CHECK(said.out.find("cross_entropy backward") != std::string::npos);
  CHECK_FALSE(contains(said.err, "substr"));
}

TEST_CASE("folders: what would change the numbers and is not known is named with its key") {
  const Folder folder;
  const auto with = [&](const char* name, const std::string& more) {
    const std::string copy = folder / (std::string(name) + "-other");
    std::filesystem::remove_all(copy);
    std::filesystem::copy(reference_folder(name), copy);
    const std::string plain = read_bytes(copy + "/config.json");
    std::ofstream(copy + "/config.json")
        << plain.substr(0, plain.rfind('}')) << ", " << more << "}";
    return copy;
  };
  const auto refused = [&](const char* name, const char* more, const char* key) {
    check_refused(run({"info", with(name, more)}), 1, {key, "config.json"});
  };
  refused("bert-classifier", R"("problem_type": "multi_label_classification")", "'problem_type'");
  refused("bert-classifier", R"("problem_type": "regression")", "'problem_type'");
  refused("llama", R"("rope_scaling": 5)", "'rope_scaling'");
  run_well({"info", with("bert-classifier", R"("problem_type": "single_label_classification")")});
  // A link to itself is there, and cannot be read.
  const std::string loop = folder / "loop";
  std::filesystem::create_directory(loop);
  std::filesystem::create_symlink("config.json", loop + "/config.json");
  const Result said = run({"info", loop});
  check_refused(said, 1, {"config.json"});
  CHECK_FALSE(contains(said.err, "missing"));
}

TEST_CASE("folders: the end of a row that generation_config.json calls none is none") {
  const Folder folder;
  const std::string copy = folder / "gpt2";
  std::filesystem::copy(reference_folder("gpt2"), copy);
  const Args generate = {"generate", "--model",  copy, "--ids",      "5,6",
                         "--greedy", "--tokens", "4",  "--print-ids"};
  const std::string plain = run_well(generate).out;
  const std::string first = plain.substr(4, plain.find(',', 4) - 4);
  const std::string config = read_bytes(copy + "/config.json");
  std::ofstream(copy + "/config.json")
      << config.substr(0, config.rfind('}')) << ", \"eos_token_id\": " << first << "}";
  CHECK(run_well(generate).out == "5,6," + first + "\n");
  std::ofstream(copy + "/generation_config.json") << R"({"eos_token_id": null})";
  CHECK(run_well(generate).out == plain);
}

TEST_CASE("folders: what one asks for and is not followed is said, and changes nothing") {
  const Folder folder;
  const std::string copy = folder / "gpt2";
  std::filesystem::copy(reference_folder("gpt2"), copy);
  const Args generate = {"generate", "--model",  copy, "--ids",      "5,6",
                         "--greedy", "--tokens", "4",  "--print-ids"};
  const Result plain = run_well(generate);
  CHECK(plain.err == "");
  std::ofstream(copy + "/generation_config.json")
      << R"({"repetition_penalty": 1.5, "num_beams": 4, "no_repeat_ngram_size": 0})";
  const Result asked = run_well(generate);
  CHECK(asked.out == plain.out);
  CHECK(contains(asked.err, "repetition_penalty 1.5; that is not followed"));
  CHECK_FALSE(contains(asked.err, "no_repeat_ngram_size"));
  CHECK(contains(run_well({"info", copy}).out, "repetition_penalty 1.5"));
}

TEST_CASE("folders: without a tokenizer and a sentence some ids are shown, and are measured") {
  const std::string gpt2 = reference_folder("gpt2");
  CHECK(contains(run_well({"trace", "--model", gpt2, "--list"}).out, "token_ids"));
  // Of one that is small, too, a typed token takes the rows before from the run before.
  CHECK(contains(run_well({"bench", "folder", gpt2, "--tokens", "8", "--rounds", "1"}).out,
                 "one more token typed"));
  check_refused(run({"bench", "folder", gpt2, "--tokens", "64"}), 2, {"context", "--tokens 64"});
  check_refused(run({"bench", "folder", reference_folder("bert"), "--tokens", "8"}), 2,
                {"decoder"});
}

TEST_CASE(
    "folders: a text is measured behind what its tokenizer puts before it, as a run reads it") {
  const Folder folder;
  const std::string llama = folder / "llama";
  make_worded_folder(
      "llama", llama, {{1, "<s>"}, {3, "<unk>"}},
      {{"type", "TemplateProcessing"},
       {"single",
        {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
         {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
       {"pair",
        {{{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
         {{"Sequence", {{"id", "B"}, {"type_id", 1}}}}}},
       {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {1}}, {"tokens", {"<s>"}}}}}}});
  const std::string text = "w5 w9 w7";
  run_well({"trace", "--model", llama, "--sentence", text, "--out", folder / "t.safetensors"});
  const SafetensorsFile file = read_safetensors(folder / "t.safetensors");
  const std::vector<float> probs = tensor_as_float(file, "probs");
  double nats = 0;
  const std::vector<int> row = {1, 5, 9, 7};
  for (std::size_t t = 0; t + 1 < row.size(); ++t)
    nats -= std::log(static_cast<double>(probs[t * 40 + static_cast<std::size_t>(row[t + 1])]));
  const auto measured = [&](const std::string& words) {
    return nlohmann::json::parse(
        run_well({"eval", "--model", llama, "--text", folder.write("t.txt", words), "--json"}).out);
  };
  CHECK(measured(text)["tokens"] == 3);
  CHECK(measured(text)["loss"].get<double>() == doctest::Approx(nats / 3).epsilon(1e-5));
  CHECK(measured("w5")["tokens"] == 1);
  CHECK(measured(text)["bytes"] == text.size());
  check_refused(run({"eval", "--model", llama, "--text", folder.write("t.txt", "")}), 1, {"t.txt"});
}

TEST_CASE("folders: what is too long, and weights that are no numbers, are named") {
  const Folder folder;
  std::string ids = "4";
  for (int i = 0; i < 40; ++i) ids += ",5";
  check_refused(run({"generate", "--model", reference_folder("bart"), "--ids", ids}), 2,
                {"the source has 41 tokens", "positions"});
  const std::string nan = folder / "nan";
  std::filesystem::copy(reference_folder("gpt2"), nan);
  std::string bytes = read_bytes(nan + "/model.safetensors");
  bytes.replace(bytes.size() - 4, 4, std::string("\0\0\xc0\x7f", 4));
  std::ofstream(nan + "/model.safetensors", std::ios::binary) << bytes;
  const std::string table = folder.write("t.txt", "4 5 6 7 8 9\n");
  for (const Args& args : {Args{"generate", "--model", nan, "--ids", "1,2", "--tokens", "1"},
                           Args{"eval", "--model", nan, "--text", table}}) {
    CHECK(contains(run(args).err, "NaN"));
  }
}

TEST_CASE("folders: what a model cannot do is said with what it does") {
  const Folder folder;
  const std::string roberta = worded(folder, "roberta", {{0, "<s>"}, {2, "</s>"}, {38, "<mask>"}});
  check_refused(run({"generate", "--model", roberta, "--prompt", "w5"}), 2,
                {"roberta", "stands behind <mask>"});
  check_refused(run({"generate", "--model", reference_folder("bert-classifier"), "--ids", "5"}), 2,
                {"bert-classifier", "class of a sentence"});
  const std::string gpt2 = reference_folder("gpt2");
  check_refused(run({"generate", "--model", gpt2, "--prompt", "The cat"}), 2,
                {"'The', 'cat'", "ids", "from 0 to 39", "tokenizer"});
  check_refused(run({"trace", "--list", "--model", gpt2, "--ids", "1,2", "--target-ids", "3"}), 2,
                {"--target-ids", "encoder-decoder", "gpt2"});
  const std::string spaces = run({"trace", "--list", "--model", roberta, "--sentence", "   "}).err;
  CHECK(contains(spaces, "finds no token"));
  CHECK_FALSE(contains(spaces, "tokenizer"));
  // Both masks are hidden tokens; a word that only looks like one is a word.
  check_refused(run({"trace", "--list", "--gradients", "--model", roberta, "--sentence",
                     "w5 <mask> <mask>", "--target", "w5", "--target", "w5", "--target", "w5"}),
                2, {"3 times", "2 <mask>"});
  check_refused(run({"trace", "--list", "--gradients", "--model", roberta, "--sentence",
                     "w5 [MASK]", "--target", "w5"}),
                2, {"hidden tokens"});
}

}  // namespace headlight::test::test_cli_folders
