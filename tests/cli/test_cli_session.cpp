// Session files that someone edited, cut off or made up.
#include "core/document/session_file.h"
#include "tests/cli/child.h"

namespace headlight::test_cli_session {

using namespace headlight;
using namespace headlight::test;

namespace {

// The text of a session file with one more or another member.
std::string session_with(const std::string& member) {
  return R"({"format": "headlight session", "version": 1, )" + member + "}";
}

Result open(const std::string& text) {
  const Folder folder;
  return run({"trace", "--list", "--session", folder.write("s.headlight.json", text)});
}

}  // namespace

TEST_CASE("session: what Headlight writes it reads") {
  Document document;
  document.sentence = "naïve 我 🎉 \"quoted\"";
  document.config.layers = 1;
  document.config.heads = 8;
  const Result result = open(session_text(document));
  CHECK(result.status == 0);
  CHECK(result.err == "");
  CHECK(contains(result.out, "blocks.0.attn.pattern            (head, query, key)  (8, "));
  CHECK_FALSE(contains(result.out, "blocks.1."));
}

TEST_CASE("session: files that are not one") {
  const std::string whole = session_text(Document{});
  const Folder folder;
  check_refused(run({"trace", "--list", "--session", folder / "none.headlight.json"}), 1,
                {"none.headlight.json", "No such file"});
  check_refused(open(""), 1, {"s.headlight.json", "not whole JSON"});
  check_refused(open("hello"), 1, {"not whole JSON"});
  for (const double part : {0.1, 0.5, 0.9}) {
    const auto size = static_cast<std::size_t>(part * static_cast<double>(whole.size()));
    check_refused(open(whole.substr(0, size)), 1, {"not whole JSON", "cut off"});
  }
  check_refused(open("[1, 2]"), 1, {"should be a JSON object"});
  check_refused(open("{}"), 1, {"not a Headlight session"});
  check_refused(open(R"({"format": "other"})"), 1, {"not a Headlight session"});
  check_refused(open(std::string("\0\0\0", 3)), 1, {"not whole JSON"});
  check_refused(open("\xff\xfe{}"), 1, {"not whole JSON"});
  check_refused(open(std::string(200000, '[')), 1, {"levels deep"});
  check_refused(open(session_with("\"x\": " + std::string(5000, '['))), 1, {"levels deep"});
}

TEST_CASE("session: other versions") {
  check_refused(open(R"({"format": "headlight session", "version": 2})"), 1,
                {"version 2", "reads version 1", "Update Headlight"});
  check_refused(open(R"({"format": "headlight session", "version": 0})"), 1, {"version 0"});
  check_refused(open(R"({"format": "headlight session"})"), 1, {"version"});
  check_refused(open(R"({"format": "headlight session", "version": "1"})"), 1, {"'version'"});
  check_refused(open(R"({"format": "headlight session", "version": 1e99})"), 1, {"'version'"});
}

TEST_CASE("session: wrong types and numbers name the key, what was expected and what came") {
  check_refused(open(session_with(R"("sentence": 5)")), 1, {"'sentence'", "a text", "got 5"});
  check_refused(open(session_with(R"("tokenizer": "letters")")), 1,
                {"'tokenizer'", "words, characters, bytes", "letters"});
  check_refused(open(session_with(R"("max_tokens": -1)")), 1, {"'max_tokens'", "got -1"});
  check_refused(open(session_with(R"("model": 3)")), 1, {"'model'", "an object", "got 3"});
  const auto model = [](const std::string& member) {
    return open(session_with("\"model\": {" + member + "}"));
  };
  check_refused(model(R"("layers": "two")"), 1, {"'model.layers'", "whole number", "\"two\""});
  check_refused(model(R"("layers": 2.5)"), 1, {"'model.layers'", "got 2.5"});
  check_refused(model(R"("layers": NaN)"), 1, {"not whole JSON"});
  check_refused(model(R"("layers": 1e400)"), 1, {});
  check_refused(model(R"("layers": 18446744073709551615)"), 1, {"'model.layers'"});
  check_refused(model(R"("layers": -9223372036854775808)"), 1, {"'model.layers'"});
  check_refused(model(R"("d_model": 99999999999999999999999)"), 1, {"'model.d_model'"});
  check_refused(model(R"("attention": "broad")"), 1, {"'model.attention'", "narrow", "broad"});
  check_refused(model(R"("scale": "yes")"), 1, {"'model.scale'", "true or false"});
  check_refused(model(R"("seed": -1)"), 1, {"'model.seed'"});
  check_refused(model(R"("mask": [])"), 1, {"'model.mask'", "an object"});
  check_refused(model(R"("mask": {"padding": [1, "a"]})"), 1, {"'model.mask.padding'"});
  check_refused(model(R"("mask": {"forbidden": [[1, 2, 3]]})"), 1, {"'model.mask.forbidden'"});
  check_refused(model(R"("mask": {"forbidden": [[0, 99999999999]]})"), 1,
                {"'model.mask.forbidden'"});
}

TEST_CASE("session: a model that cannot be run is said as such") {
  const Result result = open(session_with(R"("model": {"heads": 3, "d_model": 10})"));
  CHECK(result.status == 2);
  CHECK(contains(result.err, "choose 2 or 5 heads"));
  const Result large = open(session_with(
      R"("model": {"layers": 256, "heads": 1024, "d_model": 65536, "attention": "wide"})"));
  check_refused(large, 1, {"of memory"});
  CHECK(large.seconds < 2);
}

TEST_CASE("session: unpaired surrogates and unknown keys are read past") {
  CHECK(open(session_with(R"("future": {"a": [1]}, "sentence": "a b")")).status == 0);
  CHECK(open(session_with(R"("sentence": "a \u0000 \u202e b")")).status == 0);
  CHECK(open(session_with(R"("sentence": "a \ud800")")).status == 1);
}

}  // namespace headlight::test_cli_session
