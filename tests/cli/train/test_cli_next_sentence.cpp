// headlight with two sentences in a row: segments, and whether one follows another.
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/child.h"

namespace headlight::test::test_cli_next_sentence {
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

TEST_CASE("train --next-sentence --mask-tokens: both at once, resumed, measured and gone on from") {
  const Folder folder;
  const std::string text = folder.write("text.txt", stories()), kept = folder / "kept";
  const Args both = {
      "--text",    text, "--next-sentence", "--mask-tokens", "20%", "--vocabulary", "80",
      "--context", "24"};
  Args whole = both, half = both;
  whole.insert(whole.end(), {"--steps", "8", "--validation", "20%", "--validate-every", "4",
                             "--log", folder / "log.csv", "--out", folder / "whole"});
  half.insert(half.end(), {"--steps", "4", "--validation", "20%", "--out", kept});
  const std::string told = run_well(small(whole)).err;
  CHECK(told.find("(class 0.") != std::string::npos);
  CHECK(told.find("hidden tokens: ") != std::string::npos);
  run_well(small(half));
  run_well({"train", "--resume", kept, "--text", text, "--steps", "8", "--validation", "20%",
            "--out", kept});
  CHECK(read_bytes(kept + "/model.safetensors") ==
        read_bytes(folder / "whole" + "/model.safetensors"));
  const auto config = nlohmann::json::parse(read_bytes(kept + "/config.json"));
  CHECK(config["model"]["token_head"] == true);
  CHECK(config["task"] == "next-sentence");
  CHECK(nlohmann::json::parse(read_bytes(kept + "/train.json"))["text"]["masked"] == 20);

  // The log has both losses, whose sum is the loss, and what was measured of each.
  std::istringstream log(read_bytes(folder / "log.csv"));
  std::string line;
  std::getline(log, line);
  CHECK(line ==
        "step,loss,gradient_norm,learning_rate,tokens_per_second,validation_loss,class_loss,"
        "hidden_loss,validation_class_loss,validation_hidden_loss,validation_class_accuracy,"
        "validation_hidden_accuracy");
  int lines = 0, measured = 0;
  while (std::getline(log, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    cells.resize(12);
    const auto at = [&](std::size_t i) { return std::stod(cells[i]); };
    CHECK(at(1) == doctest::Approx(at(6) + at(7)));
    CHECK(at(7) > at(6));  // of 80 tokens one, of two classes one
    ++lines;
    if (cells[5].empty()) continue;
    CHECK(at(5) == doctest::Approx(at(8) + at(9)));
    ++measured;
  }
  CHECK(lines == 8);
  CHECK(measured == 2);

  const std::string report = run_well({"eval", "--model", kept, "--text", text}).out;
  CHECK(report.find("of 120 rows right") != std::string::npos);
  CHECK(report.find("hidden tokens right") != std::string::npos);
  run_well({"trace", "--model", kept, "--sentence", "Tom has a [MASK]. [SEP] Sue goes home.",
            "--gradients", "--out", folder / "run.json"});
  const auto trace = nlohmann::json::parse(read_bytes(folder / "run.json"));
  CHECK(trace["tensors"].contains("token_probs"));
  CHECK(trace["tensors"].contains("d.token_logits"));

  // On from it: to either alone, and to labels; what is of no use there is said.
  const std::string table = folder.write("labels.tsv",
                                         "Tom plays\tplay\nSue goes home\thome\nAnn plays\tplay\n"
                                         "Tom goes home\thome\n");
  const auto on = [&](Args more) {
    Args all = {"train", "--from", kept, "--steps", "2", "--batch", "4", "--out", folder / "on"};
    all.insert(all.end(), more.begin(), more.end());
    return run_well(all).err;
  };
  const auto says = [](const std::string& text_of, const char* part) {
    return text_of.find(part) != std::string::npos;
  };
  const std::string of_labels = on({"--labels", table});
  CHECK(says(of_labels, "has no use for these weights of kept"));
  CHECK(says(of_labels, "unembed.W_U"));
  const std::string of_words = on({"--text", text, "--mask-tokens", "20%"});
  CHECK(says(of_words, "classify.W_C"));
  CHECK_FALSE(says(of_words, "unembed.W_U"));
  CHECK(nlohmann::json::parse(read_bytes(folder / "on" + "/config.json"))["kind"] == "masked");
  CHECK(says(on({"--text", text, "--next-sentence"}), "unembed.W_U"));
  CHECK_FALSE(says(on({"--text", text, "--next-sentence", "--mask-tokens", "20%"}), "unembed.W_U"));
  check_refused(run({"train", "--from", kept, "--text", text}), 2, {"--mask-tokens 15%"});
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
  refused({"train", "--text", one, "--next-sentence", "--mask-tokens", "15%"}, 1,
          {"at least 3", "has 1. Choose a longer text"});
  refused(
      {"train", "--text", text, "--next-sentence", "--mask-tokens", "15%", "--token-head", "off"},
      2, {"hidden tokens too", "Leave --token-head or --mask-tokens out"});
  refused({"train", "--text", text, "--next-sentence", "--mask-tokens", "15%", "--mask", "causal"},
          2, {"causal mask", "--pool last"});
  refused({"train", "--text", text, "--next-sentence", "--mask-tokens", "15"}, 2,
          {"--mask-tokens must be 1% to 90%"});
  refused({"train", "--labels", table, "--token-head", "on"}, 2,
          {"these data hide none", "leave --token-head out"});
  refused({"trace", "--token-head", "on", "--list"}, 2,
          {"--token-head on goes with --form classes", "leave --token-head out"});
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

}  // namespace headlight::test::test_cli_next_sentence
