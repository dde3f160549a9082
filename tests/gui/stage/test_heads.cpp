// Heads: two of them compared, and the lines view.
#include <algorithm>
#include <cmath>

#include "app/ui/heads/heads_lines.h"
#include "core/base/number_text.h"
#include "core/base/random.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

constexpr const char* kPattern = "blocks.0.attn.pattern";

float weight(Gui& gui, std::int64_t head, std::int64_t query, std::int64_t key) {
  const std::int64_t n = gui.trace().length();
  return gui.tensor(kPattern).data[(head * n + query) * n + key];
}

}  // namespace

TEST_CASE("heads: the button in a card compares its head with the chosen one") {
  Gui gui(small_document(1, 3, 12));
  gui.click("heads/2/compare");
  CHECK(gui.state().session.compare);
  CHECK(gui.state().session.head == 0);
  CHECK(gui.state().session.other_head == 2);
  CHECK_FALSE(gui.has("heads/0/compare"));
  const std::int64_t n = gui.trace().length();
  float largest = 0;
  std::int64_t query = 0, key = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const float change = weight(gui, 0, i, j) - weight(gui, 2, i, j);
      CHECK(gui.heatmap("heads/difference").cell(i, j) == change);
      if (std::fabs(change) <= std::fabs(largest)) continue;
      largest = change;
      query = i;
      key = j;
    }
  }
  CHECK(gui.shows("largest difference"));
  CHECK(gui.shows(gui.trace().tick("query", query) + " → " + gui.trace().tick("key", key)));
  CHECK(gui.shows(signed_number(largest, 2)));
  gui.click("heads/2/compare");  // again: no comparison
  CHECK_FALSE(gui.state().session.compare);
  CHECK_FALSE(gui.has("heads/difference"));
  // On a page without heads the row shows the patterns, and so does the difference.
  gui.push(GoToStep{"blocks.0.mlp.pre"});
  gui.click("heads/1/compare");
  CHECK(gui.heatmap("heads/difference").cell(5, 0) == weight(gui, 0, 5, 0) - weight(gui, 1, 5, 0));
}

TEST_CASE("heads: in a low window the largest difference stands beside the name, not under it") {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    Gui gui(small_document(1, 3, 12), {1280, 720});
    gui.push(ChooseLanguage{language});
    gui.frame();
    gui.click("heads/compare");
    gui.frame(2);
    const DrawnControl number = gui.rect("label/heads/change"),
                       name = gui.rect("label/heads/minus");
    CHECK((number.max.y <= name.min.y || number.min.x >= name.max.x));
    CHECK(number.max.x <= gui.rect("panel/heads").max.x);
  }
}

TEST_CASE("heads: with one head there is nothing to compare") {
  Gui gui(small_document(1, 1, 8));
  CHECK(gui.has("heads/0"));
  CHECK_FALSE(gui.has("heads/0/compare"));
  gui.shift_click("heads/0");
  CHECK_FALSE(gui.state().session.compare);
}

TEST_CASE("heads: of many heads the chosen one comes into sight, the wheel moves the row") {
  Gui gui(small_document(1, 32, 64));
  CHECK(gui.has("heads/0"));
  CHECK_FALSE(gui.has("heads/25"));
  for (int i = 0; i < 25; ++i) gui.key({']'});
  gui.frame(2);
  const DrawnControl strip = gui.rect("panel/heads"), card = gui.rect("heads/25");
  CHECK(card.min.x >= strip.min.x);
  CHECK(card.max.x <= strip.max.x);
  const float before = card.min.x;
  gui.wheel(card.center(), -1);
  CHECK(gui.rect("heads/25").min.x < before);
}

TEST_CASE("lines: they stand on the stage of the softmax step while they are chosen") {
  Gui gui(small_document(1, 3, 12));
  gui.push(GoToStep{"embed"});
  gui.click("heads/view/lines");
  CHECK(gui.state().session.heads_view == HeadsView::kLines);
  CHECK(gui.state().session.step == kPattern);
  CHECK(gui.has("lines/area"));
  gui.key({'L'});
  CHECK_FALSE(gui.has("lines/area"));
  gui.key({'L'});
  CHECK(gui.has("lines/area"));
  gui.shift_click("heads/1");  // a comparison takes their place
  CHECK_FALSE(gui.has("lines/area"));
  CHECK(gui.has("compare/0"));
  gui.click("heads/view/lines");
  CHECK(gui.has("lines/area"));
  gui.push(GoToStep{"logits"});
  CHECK_FALSE(gui.has("lines/area"));
  CHECK(gui.document() == small_document(1, 3, 12));
}

TEST_CASE("lines: heads are chosen by their chips; the last one stays") {
  Gui gui(small_document(1, 3, 12));
  gui.key({'L'});
  const auto shown = [&] { return shown_line_heads(gui.state().session, 3); };
  CHECK(shown() == std::vector<int>{0});
  gui.click("lines/head/2");
  CHECK(shown() == std::vector<int>{0, 2});
  gui.click("lines/head/0");
  CHECK(shown() == std::vector<int>{2});
  gui.click("lines/head/2");
  CHECK(shown() == std::vector<int>{2});
}

TEST_CASE("lines: a token under the mouse shows its weights, a click picks the strongest") {
  Gui gui(small_document(1, 2, 8));
  gui.key({'L'});
  gui.click("lines/head/1");
  const std::int64_t last = gui.trace().length() - 1;
  gui.hover("lines/query/" + std::to_string(last));
  gui.frame();
  int best_head = 0;
  std::int64_t best_key = 0;
  for (int head = 0; head < 2; ++head) {
    for (std::int64_t key = 0; key <= last; ++key) {
      const float w = weight(gui, head, last, key);
      if (w >= kMinLine) CHECK(gui.shows(number_text(w, 2)));
      if (w <= weight(gui, best_head, last, best_key)) continue;
      best_head = head;
      best_key = key;
    }
  }
  REQUIRE(gui.state().session.hovered);
  CHECK(*gui.state().session.hovered == CellPick{kPattern, {0, best_head, last, best_key}});
  gui.click("lines/query/" + std::to_string(last));
  CHECK(gui.state().session.picked == CellPick{kPattern, {0, best_head, last, best_key}});
  // On a line itself: that very cell.
  const DrawnControl from = gui.rect("lines/query/" + std::to_string(last));
  const DrawnControl to = gui.rect("lines/key/" + std::to_string(best_key));
  const float t = 0.9f;
  gui.click_at({from.max.x + t * (to.min.x - from.max.x),
                from.center().y + t * (to.center().y - from.center().y)});
  REQUIRE(gui.state().session.picked);
  CHECK(gui.state().session.picked->tensor == kPattern);
  CHECK(gui.state().session.picked->index[3] == best_key);
}

TEST_CASE("lines: just the weights of 0.01 and more that have an end in sight, at most so many") {
  constexpr std::int64_t kQueries = 23, kKeys = 17;  // cross-attention is not square
  std::vector<float> pattern(3 * kQueries * kKeys);
  for (std::size_t i = 0; i < pattern.size(); ++i)
    pattern[i] = static_cast<float>(scatter(i) % 1000) / 20000.0f;
  const std::vector<int> heads = {0, 2};
  const RowRange shown{5, 9};
  const auto lines = attention_lines(pattern.data(), kQueries, kKeys, heads, shown, 100000);
  std::size_t expected = 0;
  for (const int head : heads) {
    for (std::int64_t i = 0; i < kQueries; ++i) {
      for (std::int64_t j = 0; j < kKeys; ++j) {
        const auto at = static_cast<std::size_t>((head * kQueries + i) * kKeys + j);
        const auto in_sight = [&](std::int64_t row) { return row >= 5 && row < 9; };
        if (pattern[at] < 0.01f || (!in_sight(i) && !in_sight(j))) continue;
        ++expected;
        const bool found = std::any_of(lines.begin(), lines.end(), [&](const AttentionLine& l) {
          return l.head == head && l.query == i && l.key == j && l.weight == pattern[at];
        });
        CHECK(found);
      }
    }
  }
  CHECK(lines.size() == expected);
  CHECK(std::is_sorted(lines.begin(), lines.end(),
                       [](const auto& a, const auto& b) { return a.weight < b.weight; }));
  const auto few = attention_lines(pattern.data(), kQueries, kKeys, heads, shown, 10);
  REQUIRE(few.size() == 10);
  CHECK(few.back().weight == lines.back().weight);
  CHECK(few.front().weight == lines[lines.size() - 10].weight);
}

TEST_CASE("lines: 200 tokens scroll, and say what is left out") {
  Document document = small_document(1, 4, 16);
  document.sentence.clear();
  for (int i = 0; i < 200; ++i) document.sentence += "word" + std::to_string(i % 17) + " ";
  Gui gui(document);
  gui.key({'L'});
  CHECK(gui.has("lines/query/1"));
  CHECK_FALSE(gui.has("lines/query/150"));
  CHECK(gui.shows("Only lines with an end in sight are drawn"));
  const DrawnControl area = gui.rect("lines/area");
  gui.wheel(area.center(), -8);
  gui.frame(2);
  CHECK_FALSE(gui.has("lines/query/1"));
}

}  // namespace headlight::test
