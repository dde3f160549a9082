// Trained models in the window: chosen from the list, from a folder, dropped; undone; what is
// wrong.
#include <fstream>

#include "core/train/model_recipe.h"
#include "test_paths.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

void choose(Gui& gui, const std::string& id) {
  if (!gui.has("panel/model_settings")) gui.click("model");
  REQUIRE(gui.has("panel/model_settings"));
  gui.click("model/trained/" + id);
}

bool same(const TensorView& a, const TensorView& b) {
  return a.size() == b.size() && std::equal(a.cells().begin(), a.cells().end(), b.cells().begin());
}

RunResult run(const Document& document) {
  const auto backend = make_cpu_backend(1);
  return Runner().run(document, *backend);
}

std::string work_folder(const char* name) {
  const auto folder = std::filesystem::temp_directory_path() / "headlight_gui_models";
  std::filesystem::create_directories(folder);
  return (folder / name).string();
}

}  // namespace

TEST_CASE("models: the random model cuts text as it was set to, whatever trained one came before") {
  Gui gui;
  for (const char* name : {"stories", "poems"}) {
    for (const TokenizerKind kind : {TokenizerKind::kWords, TokenizerKind::kCharacters}) {
      gui.push(ChooseModel{});
      gui.push(DoEdit{SetTokenizer{kind}, ""});
      gui.push(ChooseModel{std::string(kBundledRef) + name});
      gui.frame(2);
      REQUIRE(gui.document().tokenizer == TokenizerKind::kBytes);
      gui.push(ChooseModel{});
      gui.frame(2);
      CHECK(gui.document().tokenizer == kind);
      gui.push(ChooseModel{std::string(kBundledRef) + name});
      gui.push(ChoosePreset{"gpt", false});
      gui.frame(2);
      CHECK(gui.document().tokenizer == kind);
    }
  }
  // Nothing was set: the first model shown is a trained one.
  Gui first(first_start(Language::kChinese).document);
  first.push(ChooseModel{});
  first.frame(2);
  CHECK(first.document().tokenizer == TokenizerKind::kWords);
  CHECK_FALSE(first.shows("<0xE"));
}

TEST_CASE("models: one that is chosen shows its numbers, its shape and a sentence of its own") {
  Gui gui(small_document(1, 2, 8));
  const Document before = gui.document();
  choose(gui, "induction");
  CHECK(gui.document().model == "bundled:induction");
  CHECK(gui.document().sentence == bundled_recipe("induction").example);
  CHECK(gui.notices_say("The model induction does not know 'the', 'cat', 'sat'"));
  CHECK(gui.config().layers == 2);
  const RunResult result = run(gui.document());
  REQUIRE(result.trace);
  for (const char* name : {"blocks.0.attn.pattern", "blocks.1.attn.pattern", "probs"}) {
    CAPTURE(name);
    CHECK(same(gui.tensor(name), result.trace->tensor(name)));
  }
  CHECK(gui.shows("105,240 parameters, 24 tokens, context 32"));
  CHECK(gui.shows("This comes with the trained model."));
  gui.click("model/layers/more");  // not of a trained model
  CHECK(gui.config().layers == 2);
  CHECK(inconsistency(gui.state()) == "");
  // One step back, and forth again.
  gui.edit_key({ImGuiKey_Escape});
  gui.ctrl('Z');
  CHECK(gui.document() == before);
  CHECK(gui.tensor("embed").axes.back().size == 8);
  gui.ctrl('Z', true);
  CHECK(gui.document().model == "bundled:induction");
  CHECK(same(gui.tensor("probs"), result.trace->tensor("probs")));
  choose(gui, "sandbox");
  CHECK(gui.document().model.empty());
  CHECK_FALSE(
      same(gui.tensor("blocks.0.attn.pattern"), result.trace->tensor("blocks.0.attn.pattern")));
  gui.click("model/layers/more");
  CHECK(gui.config().layers == 3);
}

TEST_CASE("models: behind an encoder-decoder or a classifier the sandbox is a plain decoder") {
  for (const char* name : {"dates", "sentiment"}) {
    CAPTURE(name);
    Gui gui(small_document(1, 2, 8));
    choose(gui, name);
    const Document trained = gui.document();
    CHECK(trained.config.form != ModelForm::kTokens);
    choose(gui, "sandbox");
    CHECK(gui.config().form == ModelForm::kTokens);
    CHECK(gui.config().d_model == trained.config.d_model);
    CHECK(gui.trace().input().source_ids.empty());
    CHECK(gui.tensor("probs").axes.back().name == "vocab");
    CHECK(gui.state().derived.problem == "");
    CHECK(inconsistency(gui.state()) == "");
    gui.edit_key({ImGuiKey_Escape});
    gui.ctrl('Z');
    CHECK(gui.document() == trained);
  }
}

TEST_CASE("models: from any step of one kind of model to the same one of another") {
  Gui gui(small_document(1, 2, 8));
  struct Change {
    const char *from, *to;
  };
  const std::vector<Change> there = {
      {"blocks.0.attn.pattern", "decoder.blocks.0.attn.pattern"},
      {"blocks.0.mlp.post", "decoder.blocks.0.mlp.post"},
      {"embed", "decoder.embed"},
      {"probs", "probs"},
  };
  for (const Change& c : there) {
    CAPTURE(c.from);
    gui.push(GoToStep{c.from});
    REQUIRE(gui.state().session.step == c.from);
    choose(gui, "dates");
    CHECK(gui.state().session.step == c.to);
    CHECK(inconsistency(gui.state()) == "");
    gui.push(DoCommand{Command::kUndo});
    CHECK(gui.state().session.step == c.from);
    CHECK(inconsistency(gui.state()) == "");
  }
  choose(gui, "dates");
  gui.push(GoToStep{"decoder.blocks.0.cross_attn.scores_scaled"});
  gui.push(DoCommand{Command::kUndo});
  CHECK(gui.state().session.step == "blocks.0.attn.pattern");
}

TEST_CASE("models: the lines of cross-attention go from the target's tokens to the source's") {
  Gui gui(small_document(1, 2, 8));
  gui.push(ChooseModel{"bundled:dates"});
  gui.set_size(1440, 1200);
  gui.push(GoToStep{"decoder.blocks.0.cross_attn.pattern"});
  gui.push(ChooseHeadsView{HeadsView::kLines});
  CHECK(gui.state().session.step == "decoder.blocks.0.cross_attn.pattern");
  const TensorView pattern = gui.tensor("decoder.blocks.0.cross_attn.pattern");
  const std::int64_t queries = pattern.axes[2].size, keys = pattern.axes[3].size;
  REQUIRE(queries != keys);
  CHECK(gui.has("lines/query/" + std::to_string(queries - 1)));
  CHECK_FALSE(gui.has("lines/query/" + std::to_string(queries)));
  CHECK(gui.has("lines/key/" + std::to_string(keys - 1)));
  CHECK_FALSE(gui.has("lines/key/" + std::to_string(keys)));
  gui.click("lines/query/3");
  const auto picked = gui.state().session.picked;
  REQUIRE(picked);
  const std::int64_t head = gui.state().session.head;
  const float* row = pattern.data + (head * queries + 3) * keys;
  const std::int64_t best = std::max_element(row, row + keys) - row;
  CHECK(picked->index == std::vector<std::int64_t>{0, head, 3, best});
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("models: the tokens that an encoder-decoder wrote cannot be dragged") {
  Gui gui(small_document(1, 2, 8));
  gui.push(ChooseModel{"bundled:dates"});
  const Document before = gui.document();
  gui.push(DoEdit{MoveToken{0, 3}, ""});
  CHECK(gui.document() == before);
}

TEST_CASE("models: nothing is wrong with the sentences that they come with") {
  for (const std::string& name : bundled_names()) {
    CAPTURE(name);
    Gui gui(bundled_document(name));
    gui.frame(2);
    CHECK(gui.notices() == "");
  }
}

TEST_CASE("models: typing, an unknown token, a long sentence, the mask") {
  Gui gui(bundled_document("induction"));
  CHECK(gui.shows("induction"));
  gui.click("sentence");
  gui.edit_key({ImGuiKey_A, true});
  gui.type("a b c a b");
  CHECK(gui.tensor("token_ids").size() == 5);
  CHECK(gui.tensor("probs").data[4 * 24 + 2] > 0.9);  // "c"
  gui.type(" ");
  const std::uint64_t serial = gui.trace().serial();
  gui.type("zebra");
  CHECK(gui.trace().serial() == serial);
  CHECK(gui.notices_say("does not know 'zebra'"));
  CHECK(gui.document().sentence == "a b c a b zebra");
  gui.edit_key({ImGuiKey_A, true});
  std::string longer;
  for (int i = 0; i < 33; ++i) longer += "ab"[i % 2] + std::string(" ");
  gui.type(longer);
  CHECK(gui.trace().length() == 32);
  CHECK(gui.notices_say("learned 32 positions"));
  gui.edit_key({ImGuiKey_Escape});
  gui.click("mask/none");
  CHECK_FALSE(gui.trace().find("blocks.0.attn.scores_masked").data);
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("models: from a folder, by the sheet and dropped; one that is broken changes nothing") {
  const std::string folder = work_folder("sort_copy");
  std::filesystem::create_directories(folder);
  const std::string source = std::string(HEADLIGHT_TEST_DIR) + "../assets/models/sort/";
  const auto copy = [&] {
    for (const char* file : {"config.json", "model.safetensors", "tokenizer.json"}) {
      std::filesystem::copy_file(source + file, folder + "/" + file,
                                 std::filesystem::copy_options::overwrite_existing);
    }
  };
  copy();
  Gui gui(small_document(1, 2, 8));
  gui.ctrl('O', true);
  REQUIRE(gui.has("panel/open_model"));
  gui.type(folder);
  gui.click("path/ok");
  CHECK(gui.document().model == folder);
  CHECK(gui.shows("sort_copy"));
  Document bundled = gui.document();
  bundled.model = "bundled:sort";
  const RunResult result = run(bundled);
  REQUIRE(result.trace);
  CHECK(same(gui.tensor("probs"), result.trace->tensor("probs")));

  Gui other(small_document(1, 2, 8));
  const Document before = other.document();
  std::ofstream(folder + "/model.safetensors") << "cut";
  other.push(DropFiles{{folder}});
  other.frame();
  CHECK(other.notices_say("model.safetensors"));
  CHECK(other.document() == before);
  copy();
  other.push(DropFiles{{folder}});
  other.frame();
  CHECK(other.document().model == folder);
  std::filesystem::remove_all(folder);
}

TEST_CASE("models: a token that is dragged goes as one, specials too") {
  Document document = bundled_document("induction");
  document = apply(document, choose_model(document, *load_model("bundled:reverse")));
  document.sentence = "a b [SEP] c";
  Gui gui(document);
  gui.push(DoEdit{MoveToken{2, 0}, ""});
  gui.frame();
  CHECK(gui.document().sentence == "[SEP] a b c");
  CHECK(gui.tensor("token_ids").data[0] == 0);
}

}  // namespace headlight::test
