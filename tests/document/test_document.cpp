// The document: pure edits, undo, and its file.
#include <doctest/doctest.h>

#include "core/base/error.h"
#include "core/document/document.h"
#include "core/document/session_file.h"
#include "core/graph/masks/number_file.h"

namespace headlight::test_document {
namespace {

Document rich_document() {
  Document d;
  d.sentence = "\u6211\u559c\u6b22 caf\u00e9 \U0001F600 \"quoted\"\n\ttab";
  d.tokenizer = TokenizerKind::kCharacters;
  d.max_tokens = 77;
  d.config.layers = 3;
  d.config.heads = 5;
  d.config.d_model = 35;
  d.config.d_head = 9;
  d.config.d_hidden = 11;
  d.config.attention = AttentionKind::kWide;
  d.config.scores = ScoreKind::kAdditive;
  d.config.scale = false;
  d.config.block = BlockKind::kPostNorm;
  d.config.activation = Activation::kGeluTanh;
  d.config.positions = PositionKind::kLearned;
  d.config.bias = false;
  d.config.residual = false;
  d.config.temperature = 0.35;
  d.config.seed = 18446744073709551615ull;
  d.config.mask.kind = MaskKind::kFree;
  d.config.mask.window = 4;
  d.config.mask.stride = 9;
  d.config.mask.causal = true;
  d.config.mask.padding = {1, 3};
  d.config.mask.forbidden = {{0, 1}, {2, 2}, {2, 3}, {2, 7}};
  d.targets = {"", "caf\u00e9"};
  return d;
}

std::string problem_of(const std::string& text) {
  try {
    parse_session(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string session_with(const std::string& part) {
  return R"({"format": "headlight session", "version": 1, )" + part + "}";
}

}  // namespace

TEST_CASE("document: what only some models have is written for those, and read again") {
  const std::string plain = session_text(Document{});
  for (const char* key :
       {"norm", "kv_heads", "rotary", "output_projection", "d_value", "bias_kv", "zero_attention",
        "average_weights", "fused_attention", "masked_heads", "added", "by_head"}) {
    CAPTURE(key);
    CHECK(plain.find("\"" + std::string(key)) == std::string::npos);
  }
  Document d;
  d.config.norm = NormKind::kRms;
  d.config.kv_heads = 2;
  d.config.output_projection = false;
  d.config.d_value = 3;
  d.config.bias_kv = d.config.zero_attention = d.config.average_weights = true;
  d.config.masked_heads = {{HeadsOf::kOwn, 0, 1}, {HeadsOf::kCross, 1, 0}};
  d.config.mask.by_head[2].insert(3, 1);
  d.config.mask.added = added_mask(parse_number_text("0.1 -inf\n-2.5e-7 3\n"));
  d.config.fused_attention = true;
  d.config.positions = PositionKind::kRotary;
  d.config.activation = Activation::kSwiglu;
  CHECK(parse_session(session_text(d)).document == d);
  d.config.rotary = RotaryPairs::kInterleaved;
  d.config.rotary_base = 500000.5;
  d.config.rotary_width = 4;
  d.config.activation = Activation::kGeglu;
  CHECK(parse_session(session_text(d)).document == d);
  const auto refused = [](const std::string& part, const std::string& phrase) {
    const std::string problem = problem_of(session_with(R"("model": {)" + part + "}"));
    CHECK_MESSAGE(problem.find(phrase) != std::string::npos, problem);
  };
  refused(R"("norm": "batch")", "layer, rms");
  refused(R"("rotary": "both")", "half, interleaved");
  refused(R"("kv_heads": 0)", "kv_heads");
  refused(R"("rotary_base": 0)", "rotary_base");
  refused(R"("rotary_width": -2)", "rotary_width");
  refused(R"("masked_heads": "1")", "layer.head");
  refused(R"("mask": {"by_head": {"x": ["0: 1"]}})", "by_head");
  refused(R"("mask": {"added": {"heads": 0, "tokens": 2, "cells": [1, 2, 3]}})", "added");
  refused(R"("mask": {"added": {"heads": 0, "tokens": 1, "cells": ["inf"]}})", "added");
}

TEST_CASE("document: edits leave everything else alone") {
  const Document before = rich_document();
  Document expected = before;
  expected.sentence = "new";
  CHECK(apply(before, SetSentence{"new"}) == expected);
  expected = before;
  expected.tokenizer = TokenizerKind::kBytes;
  CHECK(apply(before, SetTokenizer{TokenizerKind::kBytes}) == expected);
  expected = before;
  expected.config.mask = MaskSpec{};
  CHECK(apply(before, SetMask{MaskSpec{}}) == expected);
  CHECK(apply(before, SetMaxTokens{-5}).max_tokens == 1);
  CHECK(apply(before, SetMaxTokens{1 << 30}).max_tokens == kLargestMaxTokens);
}

TEST_CASE("document: lists are sorted and without doubles, so that lookups find every cell") {
  MaskSpec mask;
  mask.kind = MaskKind::kFree;
  mask.forbidden = {{3, 1}, {0, 2}, {3, 1}};
  mask.padding = {5, 2, 5};
  const MaskSpec tidy = apply(Document{}, SetMask{mask}).config.mask;
  CHECK(tidy.padding == std::vector<int>{2, 5});
  CHECK_FALSE(tidy.allows(3, 1));
  CHECK_FALSE(tidy.allows(0, 2));
  CHECK(tidy.allows(1, 3));
}

TEST_CASE("document: targets are set one by one, and go with the model that they belong to") {
  Document d = apply(Document{}, SetTarget{2, "cat\xFF"});
  CHECK(d.targets == std::vector<std::string>{"", "", "cat\uFFFD"});
  d = apply(d, SetTarget{0, "dog"});
  CHECK(apply(d, SetTarget{2, ""}).targets == std::vector<std::string>{"dog"});
  CHECK(apply(d, SetTarget{-1, "x"}) == d);
  CHECK(apply(d, SetTarget{kMaxTargets, "x"}) == d);
  CHECK(apply(d, SetSentence{"other"}).targets == d.targets);
  CHECK(apply(d, SetModel{"bundled:masked", {}, {}, {}}).targets.empty());
}

TEST_CASE("document: invalid UTF-8 becomes U+FFFD") {
  CHECK(apply(Document{}, SetSentence{"a\xFFz"}).sentence == "a\uFFFDz");
}

TEST_CASE("history: undo and redo walk through every state") {
  History history;
  const Document start = history.now();
  history.edit(SetSentence{"one"});
  history.edit(SetSentence{"two"});
  history.edit(SetMaxTokens{9});
  history.undo();
  CHECK(history.now().max_tokens == start.max_tokens);
  CHECK(history.now().sentence == "two");
  history.undo();
  history.undo();
  CHECK(history.now() == start);
  CHECK_FALSE(history.can_undo());
  history.undo();  // nothing more to undo: nothing happens
  CHECK(history.now() == start);
  history.redo();
  history.redo();
  history.redo();
  CHECK(history.now().sentence == "two");
  CHECK(history.now().max_tokens == 9);
  CHECK_FALSE(history.can_redo());
}

TEST_CASE("history: a group is one step, and ends when it is told to") {
  History history;
  for (const char* text : {"w", "wo", "wor", "word"}) history.edit(SetSentence{text}, "sentence");
  history.end_group();
  history.edit(SetSentence{"word!"}, "sentence");
  history.undo();
  CHECK(history.now().sentence == "word");
  history.undo();
  CHECK(history.now().sentence == kDefaultSentence);
}

TEST_CASE(
    "history: an edit that changes nothing is no step, a new edit forgets the redone future") {
  History history;
  history.edit(SetSentence{history.now().sentence});
  CHECK_FALSE(history.can_undo());
  history.edit(SetSentence{"a"});
  history.undo();
  history.edit(SetSentence{"b"});
  CHECK_FALSE(history.can_redo());
  CHECK_FALSE(history.is_saved());
  history.mark_saved();
  CHECK(history.is_saved());
}

TEST_CASE("session: what is written is read back, whole") {
  const Document document = rich_document();
  const SessionFile file = parse_session(session_text(document));
  CHECK(file.document == document);
  CHECK(file.notes.empty());
  CHECK(parse_session(session_text(Document{})).document == Document{});
}

TEST_CASE("session: labs and their controls are kept; what is none is refused") {
  Document document;
  document.labs.lab = "scale";
  document.labs.settings["scale"]["d_k"] = "16";
  document.labs.settings["shuffle"]["draw"] = "7";
  CHECK(parse_session(session_text(document)).document == document);
  for (const char* labs : {R"("labs": [])", R"("labs": {"scale": 1})",
                           R"("labs": {"scale": {"d_k": 16}})", R"("lab": 3)"})
    CHECK_FALSE(problem_of(session_with(labs)).empty());
  // Which lab is shown changes no number in Steps.
  Document other = document;
  other.labs = {};
  CHECK(same_run(document, other));
  other.sentence += " more";
  CHECK_FALSE(same_run(document, other));
}

TEST_CASE("session: files of earlier versions load") {
  const Document d = parse_session(session_with(R"("model": {"mask": {"kind": "free",
      "forbidden": [[3, 1], [0, 5], [3, 2]]}})"))
                         .document;
  CHECK(d.config.mask.forbidden == CellSet{{0, 5}, {3, 1}, {3, 2}});
  CHECK(d.config.temperature == 1);
}

TEST_CASE("session: a painted mask is a line for each query") {
  Document d;
  d.config.mask = as_free(MaskSpec{}, 1024);  // causal: half a million cells
  const std::string text = session_text(d);
  CHECK(text.find("\"5: 6-1023\"") != std::string::npos);
  CHECK(text.size() < 40000);
  CHECK(parse_session(text).document == d);
}

TEST_CASE("document: a moved word takes its mark of padding along") {
  Document d;
  d.sentence = "one two three four";
  d.config.mask.padding = {0, 3, 9};
  const Document moved = apply(d, MoveToken{0, 2});
  CHECK(moved.sentence == "two three one four");
  CHECK(moved.config.mask.padding == std::vector<int>{2, 3, 9});
  CHECK(apply(d, MoveToken{7, 0}) == d);
}

TEST_CASE("session: cut off anywhere it is refused with a sentence, never half read") {
  const std::string text = session_text(rich_document());
  const std::size_t end = text.find_last_of('}');
  for (std::size_t length = 0; length <= end; length += 3) {
    CHECK_FALSE(problem_of(text.substr(0, length)).empty());
  }
}

TEST_CASE("session: what is wrong is named") {
  const auto says = [](const std::string& text, const std::string& word) {
    const std::string problem = problem_of(text);
    CHECK_MESSAGE(problem.find(word) != std::string::npos, problem);
  };
  says("hello", "not whole JSON");
  says("", "not whole JSON");
  says("[1, 2]", "object");
  says(R"({"format": "something else"})", "not a Headlight session");
  says(R"({"format": "headlight session", "version": 2})", "version 2");
  says(R"({"format": "headlight session", "version": "1"})", "version");
  says(session_with(R"("model": {"layers": NaN})"), "not whole JSON");
  says(session_with(R"("model": {"layers": 1e99})"), "model.layers");
  says(session_with(R"("model": {"layers": 18446744073709551615})"), "model.layers");
  says(session_with(R"("model": {"layers": 0})"), "1 to 256");
  says(session_with(R"("model": {"attention": "tall"})"), "basic, single, narrow, wide");
  says(session_with(R"("model": {"bias": "yes"})"), "true or false");
  says(session_with(R"("model": {"seed": -1})"), "model.seed");
  says(session_with(R"("model": {"mask": {"padding": [1, "x"]}})"), "model.mask.padding");
  says(session_with(R"("model": {"mask": {"forbidden": [[1]]}})"), "[query, key]");
  says(session_with(R"("model": {"mask": {"forbidden": ["3: x"]}})"), "3: 1-11, 14");
  says(session_with(R"("model": {"temperature": 0})"), "0.05");
  says(session_with(R"("model": {"temperature": "hot"})"), "model.temperature");
  says(session_with(R"("sentence": 5)"), "sentence");
  says(session_with(R"("targets": "pos")"), "'targets' should be a list of names");
  says(session_with(R"("targets": ["pos", 1])"), "a list of names");
  says(session_with(R"("tokenizer": "letters")"), "words, characters, bytes");
  says(std::string(100000, '['), "16 levels");
}

TEST_CASE("session: a model that cannot be run is kept, with a note") {
  const SessionFile file = parse_session(session_with(R"("model": {"heads": 3, "d_model": 10})"));
  CHECK(file.document.config.heads == 3);
  REQUIRE(file.notes.size() == 1);
  const std::string note = say(Language::kEnglish, file.notes[0]);
  CHECK(note.find("width 10 does not divide into 3 heads") != std::string::npos);
}

}  // namespace headlight::test_document
