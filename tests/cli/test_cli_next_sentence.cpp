// headlight with two sentences in a row: segments, and whether one follows another.
#include <nlohmann/json.hpp>

#include "tests/cli/child.h"

namespace headlight::test {
namespace {

std::string stories() {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    const std::string name = i % 3 == 0 ? "Tom" : i % 3 == 1 ? "Ann" : "Sue";
    text +=
        name + " has a ball. " + name + " plays with the ball. Then " + name + " goes home.\n\n";
  }
  return text;
}

Args small(Args more) {
  more.insert(more.begin(), {"train", "--layers", "1", "--heads", "2", "--d-model", "16", "--batch",
                             "4", "--positions", "learned"});
  return more;
}

}  // namespace

TEST_CASE("train --next-sentence: goes on as if never stopped; eval and trace read its pairs") {
  const Folder folder;
  const std::string text = folder.write("text.txt", stories()), kept = folder / "kept";
  const Args pairs = {"--text", text, "--next-sentence", "--vocabulary", "80", "--context", "24"};
  Args whole = pairs, half = pairs;
  whole.insert(whole.end(), {"--steps", "8", "--validation", "20%", "--out", folder / "whole"});
  half.insert(half.end(), {"--steps", "4", "--validation", "20%", "--out", kept});
  run_well(small(whole));
  run_well(small(half));
  run_well({"train", "--resume", kept, "--text", text, "--steps", "8", "--validation", "20%",
            "--out", kept});
  CHECK(read_bytes(kept + "/model.safetensors") ==
        read_bytes(folder / "whole" + "/model.safetensors"));
  const auto config = nlohmann::json::parse(read_bytes(kept + "/config.json"));
  CHECK(config["task"] == "next-sentence");
  CHECK(config["classes"] == nlohmann::json({"next", "other"}));
  CHECK(config["model"]["segments"] == true);
  CHECK(config["model"]["pool"] == "cls");
  CHECK(config["context"] == 25);  // and [CLS]
  const auto words = nlohmann::json::parse(read_bytes(kept + "/tokenizer.json"));
  CHECK(words["cut"] == "wordpiece");
  run_well({"trace", "--model", kept, "--sentence", "Tom has a ball. [SEP] Sue goes home.", "--out",
            folder / "run.json"});
  const auto trace = nlohmann::json::parse(read_bytes(folder / "run.json"));
  CHECK(trace["tokens"].front() == "[CLS]");
  CHECK(trace["tokens"].back() == "[SEP]");
  const std::string report = run_well({"eval", "--model", kept, "--text", text}).out;
  CHECK(report.find("of 120 rows right") != std::string::npos);  // two pairs of each story
  CHECK(report.find("other") != std::string::npos);

  // Of a model that only looks back, the last token has heard both sentences.
  run_well({"train", "--text", text, "--next-sentence", "--from", "stories", "--batch", "2",
            "--steps", "1", "--out", folder / "back"});
  const auto back = nlohmann::json::parse(read_bytes(folder / "back" + "/config.json"));
  CHECK(back["model"]["pool"] == "last");
  CHECK(back["model"]["segments"] == true);

  // On from a model of hidden tokens, which has never seen a [SEP], and on to labels.
  const std::string masked = folder / "masked", judge = folder / "judge";
  run_well(small({"--text", text, "--mask-tokens", "20%", "--cut", "wordpiece", "--vocabulary",
                  "80", "--context", "24", "--steps", "3", "--out", masked}));
  run_well({"train", "--text", text, "--next-sentence", "--from", masked, "--steps", "3", "--batch",
            "4", "--out", judge});
  const auto judged = nlohmann::json::parse(read_bytes(judge + "/config.json"));
  CHECK(judged["model"]["segments"] == true);
  CHECK(judged["context"] == 24);  // the model's own, [CLS] among it
  const std::string table = folder.write("labels.tsv",
                                         "Tom plays\tplay\nSue goes home\thome\nAnn plays\tplay\n"
                                         "Tom goes home\thome\n");
  run_well({"train", "--labels", table, "--from", judge, "--pool", "cls", "--steps", "3", "--batch",
            "4", "--out", folder / "labels"});
  run_well({"eval", "--model", folder / "labels", "--labels", table});
  // Rows of other lengths are padded, also where tokens only look back.
  run_well({"train", "--labels", table, "--from", "stories", "--by-length", "off", "--steps", "1",
            "--batch", "4"});
}

TEST_CASE("train --next-sentence, --segments: what cannot be, each with what to do") {
  const Folder folder;
  const std::string text = folder.write("text.txt", stories());
  const std::string one = folder.write("one.txt", "There is only one sentence here.");
  const std::string table = folder.write("labels.tsv", "a\tx\nb\ty\n");
  std::string rows;
  for (int i = 0; i < 12; ++i) rows += "a b\tc d\n";
  const std::string translated = folder.write("pairs.tsv", rows);
  const auto refused = [&](Args more, int status, const std::vector<std::string>& phrases) {
    check_refused(run(std::move(more)), status, phrases);
  };
  refused({"train", "--text", one, "--next-sentence"}, 1,
          {"at least 3", "has 1. Choose a longer text"});
  refused({"train", "--text", text, "--next-sentence", "--mask-tokens", "15%"}, 2,
          {"leave --mask-tokens or --next-sentence out", "--from"});
  refused({"train", "--labels", table, "--next-sentence"}, 2, {"--next-sentence goes with --text"});
  refused({"train", "--pairs", table, "--next-sentence"}, 2, {"--next-sentence goes with --text"});
  refused({"train", "--task", "copy", "--next-sentence"}, 2, {"--next-sentence goes with --text"});
  refused({"train", "--text", text, "--next-sentence", "--mask", "causal"}, 2,
          {"causal mask", "--pool last"});
  refused({"train", "--text", text, "--next-sentence", "--context", "5"}, 2,
          {"at least 8 tokens; got 5"});
  refused({"train", "--pairs", translated, "--segments", "on"}, 2,
          {"--segments on", "encoder-decoder", "Leave --segments out"});
  refused({"trace", "--numbers", "on", "--segments", "on", "--sentence", "0.1 0.2", "--list"}, 2,
          {"--segments or --numbers"});
  refused({"trace", "--memory", "4", "--positions", "rotary", "--segments", "on", "--list"}, 2,
          {"--segments or --memory"});
  refused({"trace", "--segments", "maybe", "--list"}, 2, {"--segments must be on or off"});
  refused({"trace", "--segments", "on", "--sentence", "a [SEP] b [SEP] c [SEP] d", "--list"}, 2,
          {"one sentence or two", "got 4"});
  const std::string list =
      run_well({"trace", "--segments", "on", "--sentence", "a b [SEP] c", "--list"}).out;
  CHECK(list.find("segment_ids") != std::string::npos);
  CHECK(list.find("segment_sum") != std::string::npos);
}

}  // namespace headlight::test
