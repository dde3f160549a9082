// Model folders as other programs save them, in the window: dropped, looked into, gone on with.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "app/ui/cost/cost_view.h"
#include "core/base/number_text.h"
#include "core/explain/explain.h"
#include "core/model/convert/convert.h"
#include "test_paths.h"
#include "tests/gui/harness.h"
#include "tests/model/worded_folder.h"

namespace headlight::test {
namespace {

// A bundled model as another program would have it.
std::string gpt2_folder(const TemporaryFolder& folder) {
  const std::string path = folder.path("little-gpt2");
  (void)convert_model(*load_model("bundled:stories"), path, {"gpt2"});
  return path;
}

// One of the reference folders with words, and a tokenizer that puts [CLS] and [SEP] around them.
std::string framed_folder(const TemporaryFolder& folder, const char* name) {
  const std::string path = folder.path(name);
  make_worded_folder(name, path, {{1, "[CLS]"}, {2, "[SEP]"}, {3, "<unk>"}, {4, "[MASK]"}});
  const std::string file = path + "/tokenizer.json";
  write_text(file, R"({"post_processor":{"type":"BertProcessing","sep":["[SEP]",2],)"
                   R"("cls":["[CLS]",1]},)" +
                       read_text(file).substr(1));
  return path;
}

// The settings of the model, at their end.
void open_text_settings(Gui& gui) {
  gui.click("model");
  gui.frame(2);
  gui.reveal("model/max_tokens/more", "panel/model_settings");
  gui.frame();
}

}  // namespace

TEST_CASE(
    "real models: a dropped folder is stepped through, a cell asked, a token added and undone") {
  const TemporaryFolder folder;
  const std::string path = gpt2_folder(folder);
  Gui gui(small_document(1, 2, 8));
  gui.push(DropFiles{{path}});
  gui.frame();
  REQUIRE(gui.document().model == path);
  CHECK(gui.shows("little-gpt2"));
  const auto count = static_cast<double>(parameter_count(*gui.state().derived.model));
  CHECK(gui.shows("From a folder · " + amount_text(Language::kEnglish, count) + " parameters"));
  gui.push(DoEdit{SetSentence{"The little dog was sad"}, ""});
  // The numbers are those of the model that was written.
  Document bundled = gui.document();
  bundled.model = "bundled:stories";
  const RunResult own = Runner().run(bundled, *make_cpu_backend(1));
  REQUIRE(own.trace);
  CHECK(gui.trace().input().ids == own.trace->input().ids);
  const std::vector<float> ours(gui.tensor("logits").cells().begin(),
                                gui.tensor("logits").cells().end());
  CHECK(std::ranges::equal(ours, own.trace->tensor("logits").cells()));

  const int middle = gui.config().layers / 2;
  const std::string step = "blocks." + std::to_string(middle) + ".attn.pattern";
  gui.push(GoToStep{step});
  gui.push(PickCell{{step, {0, 1, 3, 2}}});
  gui.frame(2);
  const Explanation e = explain(gui.trace(), gui.trace().program().require(step),
                                std::vector<std::int64_t>{0, 1, 3, 2});
  CHECK(std::fabs(e.sum() - e.value) < 1e-5);
  CHECK(gui.shows(number_text(e.value, 4)));
  CHECK(std::ranges::count(gui.state().session.runs.kept, path) == 1);  // offered again

  const std::int64_t tokens = gui.trace().length();
  const std::string before = gui.document().sentence;
  gui.click("next/0");
  CHECK(gui.trace().length() == tokens + 1);
  CHECK(gui.document().sentence != before);
  gui.key({'Z', true});
  CHECK(gui.document().sentence == before);
  CHECK(gui.trace().length() == tokens);
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE(
    "real models: a file of a folder opens it; one that is renamed meanwhile is still shown") {
  const TemporaryFolder folder;
  const std::string path = gpt2_folder(folder);
  Gui gui(small_document(1, 2, 8));
  const Document before = gui.document();
  for (const char* file : {"/model.safetensors", "/config.json", "/tokenizer.json"}) {
    gui.push(DropFiles{{path + file}});
    gui.frame();
    CHECK(gui.document().model == path);
    gui.key({'Z', true});
    REQUIRE(gui.document() == before);
  }
  // A text that lies there is a sentence.
  write_text(path + "/note.txt", "a b c");
  gui.push(DropFiles{{path + "/note.txt"}});
  gui.frame();
  CHECK(gui.document().sentence == "a b c");
  gui.push(DropFiles{{path}});
  gui.frame();
  std::filesystem::rename(path, path + "-away");
  gui.push(DoEdit{SetSentence{"One day the dog"}, ""});
  CHECK(gui.state().derived.problem.empty());
  CHECK(gui.trace().length() == 4);
  // Another model, and back: it is not there any more, which is said with its name.
  gui.push(DropFiles{{path + "/model.safetensors"}});
  gui.frame();
  CHECK(gui.notices_say("model.safetensors"));
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("real models: one that is not there any more is not called trained") {
  Document document = small_document(1, 2, 8);
  document.model = "/no/such/folder";
  Gui gui(document, {1280, 720});
  gui.frame(2);
  REQUIRE_FALSE(gui.state().derived.problem.empty());
  CHECK(gui.shows("Not open: nothing of it was run"));
  CHECK(gui.shows("again. Change the sentence"));
  CHECK_FALSE(gui.shows("Trained model"));
}

TEST_CASE("real models: while one is opened its switches stand, however narrow the window is") {
  const TemporaryFolder folder;
  Document document;
  document.model = gpt2_folder(folder);
  document.config = load_model(document.model)->file.config;
  document.max_tokens = 2000;
  for (int i = 0; i < 900; ++i) document.sentence += "The little dog was sad. ";  // a long run
  ShellOptions options = still_options(1);
  options.background = true;
  for (const float scale : {1.0f, 1.5f, 2.0f, 3.0f}) {
    CAPTURE(scale);
    Gui gui(document, std::cref(options), {1280, 720}, scale);
    REQUIRE_FALSE(gui.state().derived.model);
    REQUIRE(gui.state().derived.computing);
    gui.frame(2);
    if (gui.has("positions")) CHECK(gui.shows("learned"));
    CHECK_FALSE(gui.shows("Trained model"));
    if (scale == 1) CHECK(gui.shows("Being opened…"));
    for (int i = 0; i < 1000 && gui.state().derived.computing; ++i) gui.shell().wait();
    gui.frame();
    CHECK(gui.state().derived.model);
    CHECK_FALSE(gui.shows("Being opened"));
  }
}

TEST_CASE("real models: what hides a word has the model's own name") {
  const TemporaryFolder folder;
  const std::string path = folder.path("roberta");
  make_worded_folder("roberta", path, {{0, "<s>"}, {2, "</s>"}, {3, "<unk>"}, {38, "<mask>"}});
  Document document = small_document(1, 2, 8);
  document.model = path;
  document.sentence = "w5 w7";
  Gui gui(document, {1280, 720});
  gui.push(GoToStep{"probs"});
  gui.frame(2);
  CHECK(gui.shows("This model fills in <mask>"));
  CHECK(gui.shows("only at <mask> is it a prediction"));
  CHECK(gui.shows("Put <mask> in the place of a word"));
  gui.click("next/mask");
  CHECK(gui.document().sentence == "w5 w7 <mask>");
  CHECK(gui.trace().input().masked == std::vector{2});
  CHECK(gui.shows("Hidden by <mask>"));
  CHECK_FALSE(gui.has("next/mask"));
  gui.key({'Z', true});
  CHECK(gui.document().sentence == "w5 w7");
  gui.push(DoEdit{SetSentence{"w5 [MASK]"}, ""});  // to this model a word like any other
  CHECK(gui.trace().input().masked.empty());
  CHECK(gui.shows("Add <mask>"));
}

TEST_CASE("real models: a notice names the words that the tokenizer has no pieces for") {
  const TemporaryFolder folder;
  const std::string path = folder.path("roberta");
  make_worded_folder("roberta", path, {{0, "<s>"}, {2, "</s>"}, {3, "<unk>"}, {38, "<mask>"}});
  Document document = small_document(1, 2, 8);
  document.model = path;
  document.sentence = "w5 zebra w7";
  Gui gui(document, {1280, 720});
  gui.frame(2);
  CHECK(gui.notices_say("no pieces for 'zebra', so the model reads <unk> instead"));
  gui.push(DoEdit{SetSentence{"w5 <unk> w7"}, ""});  // asked for
  gui.frame(2);
  CHECK_FALSE(gui.notices_say("no pieces for"));
}

TEST_CASE("real models: the card says the layers of both stacks; ids alone are told of") {
  Gui gui(small_document(1, 2, 8), {1920, 1080});
  gui.push(ChooseModel{reference_folder("marian-apart")});
  gui.push(DoEdit{SetSentence{"5 7 9"}, ""});
  gui.frame();
  CHECK(gui.shows("2 + 1 layers"));
  gui.push(DoEdit{SetSentence{"Hello"}, ""});
  gui.frame();
  CHECK(gui.state().derived.problem.find("from 0 to 39") != std::string::npos);
}

TEST_CASE("real models: a folder that is not right changes nothing, and says what is wrong") {
  const TemporaryFolder folder;
  const std::string path = gpt2_folder(folder);
  Gui gui(small_document(1, 2, 8));
  const Document before = gui.document();
  const auto drop = [&] {
    gui.push(DropFiles{{path}});
    gui.frame();
    CHECK(gui.document() == before);
  };
  const std::string config = read_text(path + "/config.json");
  write_text(path + "/config.json", R"({"model_type": "mamba"})");
  drop();
  CHECK(gui.notices_say("mamba"));
  write_text(path + "/config.json", config);
  std::filesystem::rename(path + "/model.safetensors", path + "/pytorch_model.bin");
  drop();
  CHECK(gui.notices_say("pytorch_model.bin"));
  CHECK(gui.has("notice/open_model"));
  // Mended, it is opened by the notice's own button.
  std::filesystem::rename(path + "/pytorch_model.bin", path + "/model.safetensors");
  gui.click("notice/again");
  gui.frame();
  CHECK(gui.document().model == path);
}

TEST_CASE(
    "real models: weights that are not numbers are named, and the folder is opened all the same") {
  const TemporaryFolder folder;
  const std::string path = gpt2_folder(folder);
  const std::string file = path + "/model.safetensors";
  std::string bytes = read_text(file);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(bytes.data() + bytes.size() - sizeof nan, &nan, sizeof nan);
  write_text(file, bytes);
  Gui gui(small_document(1, 2, 8));
  gui.push(DropFiles{{path}});
  gui.frame();
  CHECK(gui.document().model == path);
  CHECK(gui.notices_say("NaN"));
  const auto& model = gui.state().derived.model;
  REQUIRE(model);
  REQUIRE(model->not_finite.size() == 1);
  CHECK(gui.notices_say(model->not_finite.front()));
  CHECK(gui.has("notice/open_model"));
}

TEST_CASE("real models: where all that is said is no number, no answer is offered") {
  const TemporaryFolder folder;
  const std::string path = gpt2_folder(folder);
  const std::string file = path + "/model.safetensors";
  std::string bytes = read_text(file);
  for (std::size_t i = bytes.size() / 2 / sizeof(float); i < bytes.size() / sizeof(float); ++i)
    std::memset(bytes.data() + i * sizeof(float), 0xFF, sizeof(float));
  write_text(file, bytes);
  Gui gui(small_document(1, 2, 8));
  gui.push(DropFiles{{path}});
  gui.frame(2);
  REQUIRE(gui.document().model == path);
  CHECK(gui.has("label/next/none"));
  CHECK_FALSE(gui.has("next/0"));
  CHECK_FALSE(gui.has("next/add"));
}

TEST_CASE("real models: what a folder asks for and is not followed is said where one writes") {
  const TemporaryFolder folder;
  const std::string path = gpt2_folder(folder);
  const auto said = [&](const char* id, std::string_view part) {
    Gui gui(small_document(1, 2, 8), {1280, 720});
    gui.push(DropFiles{{path}});
    gui.frame(2);
    gui.move_to(gui.rect(id).center());
    gui.frame(2);
    return gui.shows(part);
  };
  CHECK(said("next/write", "Adds one token after the other"));
  CHECK_FALSE(said("next/write", "not followed"));
  write_text(path + "/generation_config.json", R"({"min_length": 5, "repetition_penalty": 1.5})");
  for (const char* id : {"next/write", "next/add"}) {
    CHECK(said(id, "not followed"));
    CHECK(said(id, "min_length"));
    CHECK_FALSE(said(id, "min_length\u2423"));
  }
}

TEST_CASE(
    "real models: a masked model whose folder has no tokenizer says nothing of what comes next") {
  Gui gui(small_document(1, 2, 8));
  gui.push(DropFiles{{std::string(HEADLIGHT_TEST_DIR) + "reference/folders/bert"}});
  gui.frame();
  gui.push(DoEdit{SetSentence{"1 5 7 3"}, ""});
  gui.frame();
  CHECK(gui.trace().input().ids == std::vector{1, 5, 7, 3});
  CHECK(gui.shows("its folder has no tokenizer"));
  CHECK_FALSE(gui.has("next/0"));
  CHECK_FALSE(gui.has("next/write"));
}

TEST_CASE("real models: [CLS] and [SEP] are counted, and of a text too long it is said what is") {
  const TemporaryFolder folder;
  Document document = small_document(1, 2, 8);
  document.model = framed_folder(folder, "bert");
  document.sentence = "w5 w7";
  Gui gui(document, {1280, 720});
  gui.frame();
  REQUIRE(gui.trace().length() == 4);
  CHECK(gui.shows("4 tokens"));  // as on the page of the tokens
  std::string text;
  for (int i = 0; i < 30; ++i) text += "w5 ";
  gui.push(DoEdit{SetSentence{text}, ""});
  gui.frame();
  CHECK(gui.trace().length() == 12);
  CHECK(gui.shows("12 of 32 tokens"));
  CHECK(
      gui.notices_say("With [CLS] and [SEP] the text has 32 tokens, but this model has learned "
                      "12 positions: of the other 30 the first 10 are shown"));
  // No setting gives it more.
  CHECK_FALSE(gui.has("notice/settings"));
  CHECK(gui.has("notice/sandbox"));
  gui.push(DoEdit{SetMaxTokens{7}, ""});
  gui.frame();
  CHECK(gui.shows("7 of 32 tokens"));
  CHECK(gui.notices_say("the limit is 7"));
  CHECK(gui.notices_say("the first 5 are shown"));
  CHECK(gui.has("notice/settings"));
}

TEST_CASE("real models: of an encoder-decoder both rows are counted") {
  Document document = small_document(1, 2, 8);
  document.model = reference_folder("bart");
  document.sentence = "5 7 9 -> 4 6 8";
  Gui gui(document, {1280, 720});
  gui.frame();
  CHECK(gui.trace().length() == 5);  // with what opens it
  CHECK(gui.shows("3 → 5 tokens"));
  std::string text;
  for (int i = 0; i < 30; ++i) text += "5 ";
  gui.push(DoEdit{SetSentence{text + "-> 4"}, ""});
  gui.frame();
  CHECK(gui.shows("20 of 30 → 3 tokens"));
  CHECK(gui.notices_say("The text has 30 tokens; the first 20 are shown"));
  gui.push(DoEdit{SetSentence{"4 -> " + text}, ""});
  gui.frame();
  CHECK(gui.shows("1 → 20 of 32 tokens"));
  CHECK(gui.notices_say("The text has 32 tokens; the first 20 are shown"));
}

TEST_CASE("real models: the settings say what the tokens are, and how many the model reads") {
  const TemporaryFolder folder;
  Document document = small_document(1, 2, 8);
  document.model = framed_folder(folder, "bert");
  document.sentence = "w5 w7";
  Gui gui(document, {1280, 900});
  open_text_settings(gui);
  CHECK(gui.shows("pieces of the model's own tokenizer (WordLevel)"));
  CHECK_FALSE(gui.has("model/tokenizer/bytes"));
  CHECK(gui.shows("This model has learned 12 positions"));
  gui.push(DoEdit{SetMaxTokens{8}, ""});
  gui.frame(2);
  CHECK_FALSE(gui.shows("This model has learned 12 positions"));
  Document ids = document;
  ids.model = reference_folder("llama");
  ids.sentence = "5 7";
  Gui other(ids, {1280, 900});
  open_text_settings(other);
  CHECK(other.shows("ids: the folder has no tokenizer"));
  Document stories = bundled_document("stories");
  Gui bundled(stories, {1280, 900});
  open_text_settings(bundled);
  CHECK(bundled.shows("byte pairs (BPE)"));
}

TEST_CASE("real models: a BERT without a head predicts nothing, and is not said to") {
  const TemporaryFolder folder;
  Document document = small_document(1, 2, 8);
  document.model = framed_folder(folder, "bert-bare");
  Gui gui(document, {1280, 720});
  gui.push(GoToStep{"probs"});
  for (const char* sentence : {"w5 w7", "w5 [MASK]"}) {
    CAPTURE(sentence);
    gui.push(DoEdit{SetSentence{sentence}, ""});
    gui.frame(2);
    CHECK(gui.shows("This folder has no head that predicts tokens"));
    CHECK(gui.shows("Softmax of the products"));
    CHECK_FALSE(gui.shows("This model guesses"));
    CHECK_FALSE(gui.shows("Predicted token"));
    CHECK_FALSE(gui.has("next/mask"));
    CHECK_FALSE(gui.has("next/0"));
  }
  document.model = framed_folder(folder, "bert");  // which has one
  document.sentence = "w5 w7";
  Gui whole(document, {1280, 720});
  whole.push(GoToStep{"probs"});
  whole.frame(2);
  CHECK(whole.shows("Predicted token"));
  CHECK(whole.shows("only at [MASK] is it a prediction"));
  CHECK(whole.shows("the largest probability is"));
  CHECK_FALSE(whole.shows("it predicts"));
}

TEST_CASE("real models: ids may have commas between them, and words are answered with ids") {
  Document document = small_document(1, 2, 8);
  document.model = reference_folder("llama");
  document.sentence = "1,2, 3";
  Gui gui(document, {1280, 720});
  CHECK(gui.trace().input().ids == std::vector{1, 2, 3});
  const auto& placed = gui.state().derived.tokens.tokens;
  REQUIRE(placed.size() == 3);
  CHECK(placed[1].begin == 2);
  CHECK(placed[2].begin == 5);
  gui.push(DoEdit{SetSentence{"the cat"}, ""});
  gui.frame(2);
  REQUIRE_FALSE(gui.state().derived.problem.empty());
  gui.click("notice/ids");
  gui.frame(2);
  CHECK(gui.state().derived.problem.empty());
  CHECK(gui.trace().input().ids == std::vector{6, 13, 20, 26, 33});
}

TEST_CASE("real models: the row that a model wrote is the same when it is given to it") {
  for (const char* name : {"bart", "m2m_100", "marian"}) {
    CAPTURE(name);
    Document document = small_document(1, 2, 8);
    document.model = reference_folder(name);
    document.sentence = "5 6 7";
    Gui gui(document, {1280, 720});
    const std::vector<int> own = gui.trace().input().ids;
    gui.push(DoCommand{Command::kForced});
    gui.frame(3);
    // What the settings put there nobody has said, nor is it asked for.
    const bool set = std::string(name) != "marian";
    CHECK(gui.shows("comes first by the model's settings") == set);
    CHECK(gui.state().derived.rows->asked == own.size() - (set ? 2 : 1));
    gui.click("forced/give");
    gui.frame(2);
    CHECK(gui.trace().input().ids == own);
    CHECK(gui.state().document().sentence.find("→") != std::string::npos);
  }
}

TEST_CASE("real models: under the curve positions that begin later have their own numbers") {
  Document document = small_document(1, 2, 8);
  document.model = reference_folder("m2m_100");
  document.sentence = "5 6 7";
  Gui gui(document, {1280, 720});
  gui.push(GoToStep{"encoder.pos_embed"});
  gui.frame(2);
  // The last token is looked at, whose first number is sin(position).
  const TensorView rows = gui.trace().tensor("encoder.pos_embed");
  const float number = rows.data[2 * rows.axes.back().size];
  CHECK(number == doctest::Approx(std::sin(4.0)));
  CHECK(gui.shows("feature 0 at position 4: " + number_text(number, 4)));
}

TEST_CASE("real models: an empty sentence comes with one to begin with") {
  Document document = small_document(1, 2, 8);
  document.model = reference_folder("gpt2");
  document.sentence = "5 6";
  Gui gui(document, {1280, 720});
  gui.push(DoEdit{SetSentence{""}, ""});
  gui.frame(2);
  REQUIRE(gui.has("stage/example"));
  CHECK(gui.shows("From a folder"));  // it is open, though there is nothing to run
  gui.click("stage/example");
  gui.frame(2);
  CHECK_FALSE(gui.trace().input().ids.empty());
}

TEST_CASE("real models: rows longer than those that a model is made for are said to be") {
  Document document = small_document(1, 2, 8);
  document.model = reference_folder("marian");
  document.sentence = "5 6 7";
  Gui gui(document, {1280, 720});
  const std::string said = "made for rows of up to";
  REQUIRE(gui.state().derived.model);
  const auto context = static_cast<int>(gui.state().derived.model->file.source);
  CHECK_FALSE(gui.notices_say(said));
  std::string ids;
  for (int i = 0; i < context; ++i) ids += "5 ";
  gui.push(DoEdit{SetSentence{ids}, ""});
  gui.frame(2);
  CHECK_FALSE(gui.notices_say(said));
  gui.push(DoEdit{SetSentence{ids + "5"}, ""});
  gui.frame(2);
  CHECK(gui.notices_say(said));
}

TEST_CASE("real models: the name of a class is words, and has the room that there is") {
  const TemporaryFolder folder;
  const std::string path = folder.path("classes");
  std::filesystem::copy(reference_folder("bert-classifier"), path);
  std::string config = read_text(path + "/config.json");
  const std::string old = "LABEL_0", name = "not at all good, and rather long";
  for (std::size_t at = 0; (at = config.find(old, at)) != config.npos; at += name.size())
    config.replace(at, old.size(), name);
  write_text(path + "/config.json", config);
  Document document = small_document(1, 2, 8);
  document.model = path;
  document.sentence = "5 6 7";
  Gui gui(document, {1920, 1080});
  gui.frame(2);
  CHECK(gui.shows(name));
}

TEST_CASE("real models: between ids that are given every blank is shown") {
  Document document = small_document(1, 2, 8);
  document.model = reference_folder("llama");
  document.sentence = "5 6 7";
  document.ids = {5, 6, 7};
  Gui gui(document, {1280, 720});
  gui.push(GoToStep{"token_ids"});
  gui.frame(2);
  REQUIRE(gui.has("cut/2"));
  CHECK(std::ranges::count(gui.texts(), "␣", &DrawnText::words) == 2);
}

}  // namespace headlight::test
