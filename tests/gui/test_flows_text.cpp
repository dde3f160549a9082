// Typing, undo, fields: what a person does to the sentence, checked in the document and the trace.
#include "tests/gui/harness.h"

#include "core/base/utf8.h"

namespace headlight::test {
namespace {

std::vector<std::string> tokens(const Gui& gui) { return gui.trace().input().tokens; }

// Puts the cursor at the end of the sentence, with nothing selected.
void go_to_end(Gui& gui) {
  gui.click("sentence");
  gui.edit_key({ImGuiKey_End});
}

// Chosen as a person would: Ctrl+L, select all, delete.
void clear_sentence(Gui& gui) {
  gui.ctrl('L');
  gui.edit_key({ImGuiKey_A, true});
  gui.edit_key({ImGuiKey_Delete});
}

}  // namespace

TEST_CASE("flow: typing into the sentence, the tokens follow each key") {
  Gui gui(small_document());
  CHECK_FALSE(gui.in_field());
  go_to_end(gui);
  CHECK(gui.in_field());
  std::string expected = gui.document().sentence;
  const std::string typed = " and slept.";
  for (const char c : typed) {
    gui.type(std::string(1, c));
    expected += c;
    CHECK(gui.document().sentence == expected);
    CHECK(inconsistency(gui.state()) == "");
  }
  CHECK(tokens(gui) ==
        std::vector<std::string>{"the", "cat", "sat", "on", "a", "mat", "and", "slept", "."});
  CHECK(gui.shows("9 tokens"));
  gui.edit_key({ImGuiKey_Backspace});
  CHECK(tokens(gui).size() == 8);
  gui.edit_key({ImGuiKey_Home});
  gui.type("So ");
  CHECK(gui.document().sentence == "So the cat sat on a mat and slept");
  CHECK(tokens(gui)[0] == "So");
}

TEST_CASE("flow: Chinese, emoji and right-to-left text arrive whole") {
  Gui gui(small_document());
  clear_sentence(gui);
  CHECK(gui.document().sentence == "");
  CHECK(gui.shows("Type a sentence"));

  gui.type("小猫坐在垫子上");
  CHECK(gui.document().sentence == "小猫坐在垫子上");
  CHECK(inconsistency(gui.state()) == "");
  CHECK(gui.shows("小猫坐在垫子上"));

  gui.type(" 🐈 𠮷 ok");
  CHECK(gui.document().sentence == "小猫坐在垫子上 🐈 𠮷 ok");
  CHECK(inconsistency(gui.state()) == "");
  const std::vector<std::string> now = tokens(gui);
  CHECK(std::count(now.begin(), now.end(), "🐈") == 1);
  CHECK(std::count(now.begin(), now.end(), "𠮷") == 1);
  CHECK(std::count(now.begin(), now.end(), "ok") == 1);
  CHECK(gui.shows("🐈"));
  CHECK_FALSE(gui.shows("\uFFFD"));  // no character without a picture

  clear_sentence(gui);
  gui.type("שלום עולם");
  CHECK(gui.document().sentence == "שלום עולם");
  CHECK(tokens(gui) == std::vector<std::string>{"שלום", "עולם"});
  CHECK(gui.shows("םולש"));  // a label, drawn in the order in which it is read

  clear_sentence(gui);
  gui.type("مرحبا بالعالم");
  CHECK(gui.document().sentence == "مرحبا بالعالم");
  CHECK(tokens(gui).size() == 2);
  CHECK_FALSE(gui.shows("\uFFFD"));
}

TEST_CASE("flow: an emoji comes out of the field as it went in, also when pasted") {
  Gui gui(small_document());
  const std::string before = gui.document().sentence;
  gui.push(DoEdit{SetSentence{"a 👩‍👩‍👧 family"}, ""});
  go_to_end(gui);
  gui.type("!");
  CHECK(gui.document().sentence == "a 👩‍👩‍👧 family!");
  gui.paste(" 🙂中");
  CHECK(gui.document().sentence == "a 👩‍👩‍👧 family! 🙂中");
  gui.ctrl('Z');
  gui.ctrl('Z');
  CHECK(gui.document().sentence == before);
}

TEST_CASE("flow: bytes that are not UTF-8 are replaced, and that is said") {
  Gui gui(small_document());
  gui.push(DoEdit{SetSentence{"ab\xFF\xFE cd"}, ""});
  CHECK(gui.document().sentence == "ab\uFFFD\uFFFD cd");
  CHECK(gui.notices_say("2 pieces of the text were not valid UTF-8"));
}

TEST_CASE("flow: an empty sentence says what to do, and the last model comes back with a word") {
  Gui gui(small_document());
  const float before = gui.tensor("blocks.0.attn.pattern").data[0];
  clear_sentence(gui);
  CHECK(gui.state().derived.problem.find("the sentence is empty") != std::string::npos);
  CHECK(gui.shows("Right now the sentence is empty"));
  CHECK(gui.shows("0 tokens"));
  gui.type("   ");
  CHECK(gui.state().derived.problem.find("only spaces") != std::string::npos);
  clear_sentence(gui);
  gui.type("the cat sat on a mat");
  CHECK(gui.state().derived.problem == "");
  CHECK(gui.tensor("blocks.0.attn.pattern").data[0] == before);
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("flow: typing is one step of undo, and redo brings it back") {
  Gui gui(small_document());
  const std::string before = gui.document().sentence;
  go_to_end(gui);
  gui.type(" today");
  gui.key({kKeyEscape});
  CHECK_FALSE(gui.in_field());
  CHECK(gui.document().sentence == before + " today");
  go_to_end(gui);
  gui.type(" again");  // the field was left in between: a step of its own
  gui.key({kKeyEscape});
  gui.ctrl('Z');
  CHECK(gui.document().sentence == before + " today");
  CHECK(tokens(gui).size() == 7);
  gui.ctrl('Z');
  CHECK(gui.document().sentence == before);
  CHECK(tokens(gui).size() == 6);
  CHECK_FALSE(gui.state().history.can_undo());
  gui.ctrl('Z', true);
  gui.ctrl('Z', true);
  CHECK(gui.document().sentence == before + " today again");
  CHECK(tokens(gui).size() == 8);
  CHECK_FALSE(gui.state().history.can_redo());
}

TEST_CASE("flow: what was typed and taken away in one stay in the field comes back by undo") {
  Gui gui(small_document());
  const std::string before = gui.document().sentence;
  go_to_end(gui);
  gui.edit_key({ImGuiKey_A, true});
  gui.type("dogs bark");
  CHECK(gui.document().sentence == "dogs bark");
  gui.edit_key({ImGuiKey_A, true});
  gui.edit_key({ImGuiKey_Backspace});
  CHECK(gui.document().sentence == "");
  gui.ctrl('Z');
  CHECK(gui.document().sentence == "dogs bark");
  gui.ctrl('Z');
  CHECK(gui.document().sentence == before);
  gui.ctrl('Z', true);
  CHECK(gui.document().sentence == "dogs bark");
}

TEST_CASE("flow: undo inside the field changes its text, and typing goes on from there") {
  Gui gui(small_document());
  const std::string before = gui.document().sentence;
  go_to_end(gui);
  gui.type(" xyz");
  gui.ctrl('Z');
  CHECK(gui.in_field());
  CHECK(gui.document().sentence == before);
  CHECK(gui.shows(before));
  CHECK_FALSE(gui.shows("xyz"));
  gui.edit_key({ImGuiKey_End});
  gui.type("!");
  CHECK(gui.document().sentence == before + "!");
  gui.ctrl('Z');
  CHECK(gui.document().sentence == before);
  gui.ctrl('Z', true);
  CHECK(gui.document().sentence == before + "!");
  CHECK(gui.shows(before + "!"));
  gui.edit_key({ImGuiKey_End});
  gui.type("?");
  CHECK(gui.document().sentence == before + "!?");
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("flow: Escape leaves the field and keeps the text; Ctrl+L goes back into it") {
  Gui gui(small_document());
  go_to_end(gui);
  gui.type(" m");
  CHECK(gui.config().mask.kind == MaskKind::kCausal);  // a letter, not the command
  gui.key({kKeyEscape});
  CHECK_FALSE(gui.in_field());
  CHECK(gui.document().sentence == "the cat sat on a mat m");
  gui.key({'M'});
  CHECK(gui.config().mask.kind == MaskKind::kNone);
  CHECK(gui.document().sentence == "the cat sat on a mat m");
  gui.ctrl('L');
  CHECK(gui.in_field());
  gui.edit_key({ImGuiKey_End});
  gui.type("m");
  CHECK(gui.document().sentence == "the cat sat on a mat mm");
  CHECK(gui.config().mask.kind == MaskKind::kNone);
}

TEST_CASE("flow: keys that a field needs do not reach the window, and the other way round") {
  Gui gui(small_document());
  const std::string step = gui.state().session.step;
  go_to_end(gui);
  gui.key({kKeyLeft});  // moves the cursor
  gui.type("X");
  CHECK(gui.document().sentence == "the cat sat on a maXt");
  CHECK(gui.state().session.step == step);
  gui.type("[");
  CHECK(gui.document().sentence == "the cat sat on a maX[t");
  CHECK(gui.state().session.head == 0);
  for (const char letter : {'M', 'C', 'H', 'I', 'D'}) gui.key({letter});
  CHECK(gui.document().sentence == "the cat sat on a maX[mchidt");
  CHECK(gui.config() == small_document().config);
  CHECK_FALSE(gui.state().session.compare);
}

TEST_CASE("flow: characters and bytes as tokens") {
  Gui gui(small_document());
  gui.click("model");
  gui.reveal("model/tokenizer/characters", "panel/model_settings");
  gui.click("model/tokenizer/characters");
  CHECK(gui.document().tokenizer == TokenizerKind::kCharacters);
  CHECK(gui.trace().length() == 20);
  CHECK(tokens(gui)[3] == " ");
  gui.click("model/tokenizer/bytes");
  CHECK(gui.document().tokenizer == TokenizerKind::kBytes);
  CHECK(gui.trace().length() == 20);
  gui.key({kKeyEscape});
  CHECK_FALSE(gui.has("panel/model_settings"));
  gui.ctrl('Z');
  gui.ctrl('Z');
  CHECK(gui.document().tokenizer == TokenizerKind::kWords);
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("flow: more tokens than the limit are cut, and that is said") {
  Document document = small_document();
  document.max_tokens = 4;
  Gui gui(document);
  CHECK(gui.trace().length() == 4);
  CHECK(gui.notices_say("The text has 6 tokens; the first 4 are shown"));
  CHECK(gui.shows("4 of 6 tokens"));
  CHECK(inconsistency(gui.state()) == "");
  gui.click("model");
  gui.reveal("model/max_tokens/more", "panel/model_settings");
  gui.click("model/max_tokens/more");
  gui.click("model/max_tokens/more");
  CHECK(gui.trace().length() == 6);
  CHECK_FALSE(gui.notices_say("are shown"));
  gui.key({kKeyEscape});
  CHECK(gui.shows("6 tokens"));
}

}  // namespace headlight::test
