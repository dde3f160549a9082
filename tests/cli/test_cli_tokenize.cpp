// headlight tokenize: ids, pieces and segments of a text, and the way back; only tokenizer files.
#include <nlohmann/json.hpp>

#include "tests/cli/child.h"

namespace headlight::test::test_cli_tokenize {
namespace {

nlohmann::json tokens_of(const Args& args) {
  return nlohmann::json::parse(run_well(joined({"tokenize", "--json"}, args)).out);
}

std::string bert_folder(const Folder& folder) {
  folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\n##ing\nworld\n");
  return folder / ".";
}

using Ids = std::vector<int>;
using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("tokenize: a folder with a tokenizer alone; one text, two texts, a file") {
  const Folder folder;
  const std::string bert = bert_folder(folder);
  const auto one = tokens_of({"--model", bert, "--text", "Helloing world"});
  CHECK(one["ids"] == Ids{2, 5, 6, 7, 3});
  CHECK(one["pieces"] == Words{"[CLS]", "hello", "##ing", "world", "[SEP]"});
  CHECK(one["segments"] == Ids{0, 0, 0, 0, 0});
  const auto two = tokens_of({"--model", bert, "--text", "hello", "--pair", "world"});
  CHECK(two["ids"] == Ids{2, 5, 3, 7, 3});
  CHECK(two["segments"] == Ids{0, 0, 0, 1, 1});
  const std::string file = folder.write("text.txt", "hello [MASK]");
  CHECK(tokens_of({"--model", bert, "--file", file})["ids"] == Ids{2, 5, 4, 3});
  CHECK(contains(run_well({"tokenize", "--model", bert, "--text", "hello"}).out, "5  hello\n"));
  CHECK(contains(run_well({"tokenize", "--model", bert, "--text=", "--json"}).out, "[2,3]"));
  CHECK(run_well({"tokenize", "--model", bert, "--decode", "5, 6,7"}).out == "helloing world\n");
  CHECK(tokens_of({"--model", bert, "--decode", "7"})["text"] == "world");
}

TEST_CASE("tokenize: the models of this program") {
  const auto bundled = tokens_of({"--model", "bundled:reverse", "--text", "a b"});
  CHECK(bundled["pieces"] == Words{"a", "b"});
  // What is no UTF-8 is read as by a run.
  const auto ids = [](const char* text) {
    return tokens_of({"--model", "bundled:stories", "--text", text})["ids"];
  };
  CHECK(ids("a\xFF") == ids("a\uFFFD"));
  const Folder folder;
  run_well({"train", "--task", "reverse", "--layers", "1", "--heads", "2", "--d-model", "8",
            "--steps", "1", "--out", folder / "own"});
  CHECK(tokens_of({"--model", folder / "own", "--text", "a b"})["ids"] == bundled["ids"]);
}

TEST_CASE("tokenize: what makes no sense is refused") {
  const Folder folder;
  const std::string bert = bert_folder(folder);
  check_refused(run({"tokenize", "--model", bert}), 2, {"--text, --file and --decode"});
  check_refused(run({"tokenize", "--model", bert, "--text", "a", "--decode", "1"}), 2,
                {"give one"});
  check_refused(run({"tokenize", "--model", bert, "--decode", "1,x"}), 2, {"1,2,3", "'x'"});
  check_refused(run({"tokenize", "--model", bert, "--decode", "8"}), 2, {"no token 8", "0 to 7"});
  check_refused(run({"tokenize", "--model", bert, "--decode", "1", "--pair", "a"}), 2, {"--pair"});
  const Folder empty;
  check_refused(run({"tokenize", "--model", empty / ".", "--text", "a"}), 1, {"tokenizer.json"});
  folder.write("vocab.txt", "a\n\xFF\n");
  check_refused(run({"tokenize", "--model", bert, "--text", "a"}), 1, {"vocab.txt", "UTF-8"});
}

}  // namespace headlight::test::test_cli_tokenize
