// Long texts and many heads: everything is still drawn, limits are said, nothing that was typed is
// lost.
#include <chrono>
#include <cstdlib>

#include "core/base/utf8.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string words(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "word" + std::to_string(i % 50) + " ";
  return text;
}

}  // namespace

TEST_CASE("large: 1,024 tokens with 12 heads are drawn at every step") {
  Document document = small_document(1, 12, 96);
  document.sentence = words(1024);
  Gui gui(document, {1920, 1080});
  CHECK(gui.trace().length() == 1024);
  CHECK(inconsistency(gui.state()) == "");
  int largest = 0;
  for (const std::string& step : step_names(gui.trace().program())) {
    CAPTURE(step);
    gui.push(GoToStep{step});
    largest = std::max(largest, ImGui::GetDrawData()->TotalVtxCount);
    CHECK(gui.state().session.step == step);
    if (step != "token_ids") CHECK(gui.heatmaps().drawn().size() > 4);
  }
  CHECK(largest > 0);
  gui.push(GoToStep{"blocks.0.attn.pattern"});
  gui.shift_click("heads/1");
  CHECK(gui.has_heatmap("compare/2"));
  gui.click_cell("compare/0", 700, 123);
  // Cells smaller than a pixel: one close by.
  const std::vector<std::int64_t> picked = gui.state().session.picked->index;
  CHECK(picked.size() == 4);
  CHECK(std::abs(picked[2] - 700) <= 4);
  CHECK(std::abs(picked[3] - 123) <= 4);
}

TEST_CASE("large: more vertices than 16 bits count, numbers in every cell of a large window") {
  Document document = small_document(1, 2, 8);
  document.sentence = words(48);
  Gui gui(document, {3840, 2160});
  int largest = 0;
  for (const std::string& step : step_names(gui.trace().program())) {
    gui.push(GoToStep{step});
    const ImDrawData* data = ImGui::GetDrawData();
    for (int n = 0; n < data->CmdListsCount; ++n) {
      largest = std::max(largest, data->CmdLists[n]->VtxBuffer.Size);
    }
  }
  CHECK(largest > 65535);  // else this test shows nothing
}

TEST_CASE("large: a text of 100,000 characters is cut for the model only") {
  Document document = small_document(1, 1, 4);
  Gui gui(document);
  const std::string text = words(100000 / 7);
  CHECK(text.size() > 90000);
  const double took = seconds_of([&] { gui.push(DoEdit{SetSentence{text}, ""}); });
  MESSAGE("cut to 1,024 tokens and drawn twice in ", took, " s");
  CHECK(gui.document().sentence == text);
  CHECK(gui.trace().length() == 1024);
  CHECK(gui.notices_say("the first 1,024 are shown"));
  CHECK(gui.notices_say("14,285 tokens"));
  CHECK(gui.shows("1,024 of 14,285 tokens"));
  CHECK(inconsistency(gui.state()) == "");
  gui.click("sentence");
  gui.edit_key({ImGuiKey_End});
  const double typed = seconds_of([&] { gui.type("!"); });
  MESSAGE("a letter at its end in ", typed, " s");
  CHECK(gui.document().sentence == text + "!");
  gui.ctrl('Z');
  CHECK(gui.document().sentence == text);
  gui.ctrl('Z');
  CHECK(gui.document() == document);
}

TEST_CASE("large: one token of 100,000 letters") {
  Gui gui(small_document(1, 1, 4));
  const std::string text(100000, 'x');
  const double took = seconds_of([&] { gui.push(DoEdit{SetSentence{text}, ""}); });
  MESSAGE("drawn twice in ", took, " s");
  CHECK(took < 5);
  CHECK(gui.trace().length() == 1);
  CHECK(gui.document().sentence == text);
}

TEST_CASE("large: 100,000 characters as tokens") {
  Document document = small_document(1, 1, 4);
  document.tokenizer = TokenizerKind::kCharacters;
  Gui gui(document);
  std::string text;
  for (int i = 0; i < 100000; ++i) text += to_utf8(U'一' + static_cast<char32_t>(i % 3000));
  const double took = seconds_of([&] { gui.push(DoEdit{SetSentence{text}, ""}); });
  MESSAGE("with 3,000 different Chinese characters drawn twice in ", took, " s");
  CHECK(gui.trace().length() == 1024);
  CHECK(gui.notices_say("100,000 tokens"));
  CHECK(gui.document().sentence == text);
}

TEST_CASE("large: a model that does not fit is refused in words, the last one stays") {
  RunLimits limits;
  limits.memory_bytes = 5e6;
  Gui gui(small_document(), {1440, 900}, 1, limits);
  const std::uint64_t serial = gui.trace().serial();
  Config config = gui.config();
  config.d_model = 4096;
  gui.push(DoEdit{SetConfig{config}, ""});
  CHECK(gui.config().d_model == 4096);
  CHECK(gui.trace().serial() == serial);
  CHECK(gui.notices_say("of memory"));
  CHECK(gui.notices_say("The last run that worked is still shown"));
  CHECK(gui.has_heatmap("pane/1/blocks.0.attn.pattern"));
  gui.ctrl('Z');
  CHECK_FALSE(gui.notices_say("of memory"));
  CHECK(inconsistency(gui.state()) == "");
}

}  // namespace headlight::test
