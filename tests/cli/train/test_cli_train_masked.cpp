// headlight train with hidden tokens, pieces of words, and a classifier on what came of it.
#include <nlohmann/json.hpp>

#include "tests/cli/child.h"

namespace headlight::test::test_cli_train_masked {
namespace {

std::string text_of_words() {
  std::string text;
  for (int i = 0; i < 150; ++i)
    text +=
        i % 2 ? "the little dog was playing in the garden. " : "a girl walked to the old house. ";
  return text;
}

Args small(Args more) {
  more.insert(more.begin(), {"train", "--layers", "2", "--heads", "2", "--d-model", "16",
                             "--context", "12", "--batch", "4"});
  return more;
}

}  // namespace

TEST_CASE("train --mask-tokens: a model of pieces fills [MASK], goes on, and is tuned to labels") {
  const Folder folder;
  const std::string text = folder.write("text.txt", text_of_words()), kept = folder / "kept";
  const Args run_of_text = {"--text",       text,     "--cut",         "wordpiece",
                            "--vocabulary", "60",     "--mask-tokens", "15%",
                            "--positions",  "learned"};
  Args whole = run_of_text, half = run_of_text;
  whole.insert(whole.end(), {"--steps", "8", "--validation", "10%", "--out", folder / "whole"});
  half.insert(half.end(), {"--steps", "4", "--validation", "10%", "--out", kept});
  run_well(small(whole));
  run_well(small(half));
  run_well({"train", "--resume", kept, "--text", text, "--steps", "8", "--validation", "10%",
            "--out", kept});
  CHECK(read_bytes(kept + "/model.safetensors") ==
        read_bytes(folder / "whole" + "/model.safetensors"));
  const auto json = nlohmann::json::parse(read_bytes(kept + "/config.json"));
  CHECK(json["kind"] == "masked");
  const auto words = nlohmann::json::parse(read_bytes(kept + "/tokenizer.json"));
  CHECK(words["cut"] == "wordpiece");
  CHECK(words["tokens"].size() == 60);
  // The pieces of the sentence, and what stands behind its [MASK].
  run_well({"trace", "--model", kept, "--sentence", "the little [MASK] was playing", "--out",
            folder / "run.json"});
  const auto trace = nlohmann::json::parse(read_bytes(folder / "run.json"));
  CHECK(trace.dump().find("##") != std::string::npos);
  CHECK(trace.dump().find("[MASK]") != std::string::npos);

  const std::string table = folder.write("labels.tsv",
                                         "the dog was playing\tdog\na girl walked\tgirl\n"
                                         "the little dog\tdog\nthe old girl\tgirl\n");
  const std::string judge = folder / "judge";
  run_well({"train", "--labels", table, "--from", kept, "--freeze", "1", "--steps", "3", "--batch",
            "4", "--out", judge});
  run_well({"train", "--resume", judge, "--labels", table, "--steps", "5", "--out", judge});
  const auto run_file = nlohmann::json::parse(read_bytes(judge + "/train.json"));
  CHECK(run_file["frozen"] == 1);
  CHECK(run_file["schedule"]["peak"] == doctest::Approx(2e-4));
  run_well({"eval", "--model", judge, "--labels", table});

  const auto refused = [&](Args more, int status, const std::vector<std::string>& phrases) {
    more.insert(more.begin(), "train");
    check_refused(run(more), status, phrases);
  };
  refused({"--labels", table, "--from", kept, "--freeze", "3"}, 2, {"2 layers of", "or all"});
  refused({"--labels", table, "--from", kept, "--freeze", "few"}, 2, {"--freeze", "'few'"});
  refused({"--labels", table, "--freeze", "1"}, 2, {"--freeze goes with --from"});
  refused({"--labels", table, "--from", "dates"}, 2, {"dates", "no classifier can be made of it"});
  refused({"--labels", table, "--from", kept, "--layers", "1"}, 2, {"--layers", "--from"});
  refused({"--text", text, "--from", kept}, 2, {"--mask-tokens 15%"});
  refused({"--text", text, "--from", "stories", "--mask-tokens", "15%"}, 2,
          {"stories", "no [MASK]"});
  refused({"--text", text, "--mask-tokens", "15"}, 2, {"1% to 90%", "'15'"});
  refused({"--labels", table, "--mask-tokens", "15%"}, 2, {"--mask-tokens goes with --text"});
  refused({"--text", text, "--cut", "wordpiece", "--vocabulary", "9"}, 2,
          {"at least", "characters"});
  run_well({"train", "--text", text, "--from", kept, "--mask-tokens", "20%", "--steps", "2"});
}

}  // namespace headlight::test::test_cli_train_masked
