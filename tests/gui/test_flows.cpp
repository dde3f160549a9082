// Looking and switching: steps, masks, layers, heads. Each flow checks the document and the
// numbers.
#include <algorithm>
#include <cmath>

#include "core/base/number_text.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

// The largest weight that a query of any head gives to a key that the predicate picks.
template <class Pick>
float largest_weight(const Gui& gui, int layer, Pick pick) {
  const TensorView t = gui.tensor("blocks." + std::to_string(layer) + ".attn.pattern");
  const std::int64_t heads = t.axes[1].size, n = t.axes[2].size;
  float largest = 0;
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        if (pick(i, j)) largest = std::max(largest, t.data[(h * n + i) * n + j]);
      }
    }
  }
  return largest;
}

float future_weight(const Gui& gui, int layer = 0) {
  return largest_weight(gui, layer, [](std::int64_t i, std::int64_t j) { return j > i; });
}

void check_rows_sum_to_one(const Gui& gui) {
  const TensorView t = gui.tensor("blocks.0.attn.pattern");
  const std::int64_t n = t.axes[3].size, rows = t.size() / n;
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += t.data[r * n + j];
    CHECK(sum == doctest::Approx(1).epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("flow: the causal mask by its key and by its button") {
  Gui gui(small_document(2, 2, 8));
  CHECK(future_weight(gui) == 0);
  gui.key({'M'});
  CHECK(gui.config().mask.kind == MaskKind::kNone);
  CHECK(future_weight(gui) > 0);
  CHECK(future_weight(gui, 1) > 0);
  CHECK_FALSE(gui.trace().find("blocks.0.attn.scores_masked").data);
  check_rows_sum_to_one(gui);
  gui.click("mask/causal");
  CHECK(gui.config().mask.kind == MaskKind::kCausal);
  CHECK(future_weight(gui) == 0);
  CHECK(future_weight(gui, 1) == 0);
  check_rows_sum_to_one(gui);
  gui.click("mask/none");
  CHECK(future_weight(gui) > 0);
  gui.ctrl('Z');
  CHECK(future_weight(gui) == 0);
}

TEST_CASE("flow: every mask kind forbids what it says") {
  Document document = small_document();
  document.sentence = "one two three four five six seven eight";
  Gui gui(document, {1920, 1080});
  MaskKind before = gui.config().mask.kind;
  for (const auto& choice : choices(MaskKind{})) {
    gui.click("mask/" + std::string(choice.word));
    CAPTURE(choice.word);
    CHECK(gui.config().mask.kind == choice.value);
    CHECK(inconsistency(gui.state()) == "");
    const MaskSpec mask = gui.config().mask;
    const bool none = largest_weight(gui, 0, [&](std::int64_t i, std::int64_t j) {
                        return !mask.allows(static_cast<int>(i), static_cast<int>(j));
                      }) == 0;
    CHECK(none);
    check_rows_sum_to_one(gui);
    gui.ctrl('Z');
    CHECK(gui.config().mask.kind == before);
    gui.ctrl('Z', true);
    CHECK(gui.config().mask.kind == choice.value);
    before = choice.value;
  }
  const auto far = [](std::int64_t distance) {
    return [=](std::int64_t i, std::int64_t j) { return std::abs(i - j) > distance; };
  };
  gui.click("mask/local");
  CHECK(largest_weight(gui, 0, far(2)) == 0);
  CHECK(largest_weight(gui, 0, far(1)) > 0);
  gui.click("mask/window/less");
  CHECK(gui.config().mask.window == 1);
  CHECK(largest_weight(gui, 0, far(1)) == 0);
  CHECK(future_weight(gui) == 0);
  gui.click("mask/also_causal");
  CHECK(future_weight(gui) > 0);
  gui.click("mask/strided");
  gui.click("mask/stride/more");
  CHECK(gui.config().mask.stride == 4);
  CHECK(largest_weight(gui, 0, [](std::int64_t i, std::int64_t j) { return i - j == 4; }) > 0);
  CHECK(largest_weight(gui, 0, [](std::int64_t i, std::int64_t j) { return i - j == 5; }) == 0);
}

TEST_CASE("flow: scale on and off") {
  Gui gui(small_document(1, 2, 8));
  const float raw = gui.tensor("blocks.0.attn.scores_raw").data[0];
  CHECK(gui.tensor("blocks.0.attn.scores_scaled").data[0] ==
        doctest::Approx(raw / std::sqrt(4.0f)));
  gui.click("scale/off");
  CHECK_FALSE(gui.config().scale);
  CHECK_FALSE(gui.trace().find("blocks.0.attn.scores_scaled").data);
  gui.click("scale/on");
  CHECK(gui.config().scale);
  gui.key({'D'});
  CHECK_FALSE(gui.config().scale);
  gui.ctrl('Z');
  CHECK(gui.config().scale);
  CHECK(gui.trace().find("blocks.0.attn.scores_scaled").data);
}

TEST_CASE("flow: positions; without them equal tokens have equal embeddings") {
  Document document = small_document();
  document.sentence = "red red red";
  Gui gui(document, {2560, 1440});  // all kinds of positions side by side
  const auto rows_differ = [&] {
    const TensorView x = gui.tensor("blocks.0.resid_pre");
    for (std::int64_t c = 0; c < 8; ++c) {
      if (x.data[c] != x.data[8 + c]) return true;
    }
    return false;
  };
  CHECK(rows_differ());
  gui.click("positions/none");
  CHECK(gui.config().positions == PositionKind::kNone);
  CHECK_FALSE(rows_differ());
  gui.click("positions/learned");
  CHECK(gui.config().positions == PositionKind::kLearned);
  CHECK(rows_differ());
  gui.ctrl('Z');
  CHECK_FALSE(rows_differ());
  gui.click("positions/sinusoidal");
  CHECK(rows_differ());
}

TEST_CASE("flow: the arrows go through every step in the program's order, and back") {
  Document document = small_document(2, 2, 8);
  for (const BlockKind block : {BlockKind::kPreNorm, BlockKind::kPostNorm, BlockKind::kAttention,
                                BlockKind::kNormedAttention}) {
    document.config.block = block;
    Gui gui(document);
    const std::vector<std::string> names = step_names(gui.trace().program());
    for (std::size_t i = 0; i < names.size() + 2; ++i) gui.key({kKeyLeft});
    CHECK(gui.state().session.step == names.front());
    for (std::size_t i = 0; i < names.size(); ++i) {
      CAPTURE(names[i]);
      CHECK(gui.state().session.step == names[i]);
      CHECK(gui.has("rail/current"));
      CHECK(gui.shows("step " + std::to_string(i + 1) + " of " + std::to_string(names.size())));
      REQUIRE(gui.state().session.picked);
      CHECK(inconsistency(gui.state()) == "");
      gui.key({kKeyRight});
    }
    CHECK(gui.state().session.step == names.back());  // stays at the end
    for (std::size_t i = names.size(); i-- > 0;) {
      CHECK(gui.state().session.step == names[i]);
      gui.key({kKeyLeft});
    }
    CHECK(gui.document() == document);  // looking changes nothing
    gui.click("step/next");
    CHECK(gui.state().session.step == names[1]);
    gui.click("step/previous");
    CHECK(gui.state().session.step == names[0]);
  }
}

TEST_CASE("flow: the rail leads to each step") {
  Gui gui(small_document(2, 2, 8));
  const std::vector<std::string> names = step_names(gui.trace().program());
  for (const char* fold : {"rail/fold/1/attention", "rail/fold/1/feed_forward",
                           "rail/fold/0/attention", "rail/fold/0/feed_forward"}) {
    CAPTURE(fold);
    gui.reveal(fold, "panel/rail");
    gui.click(fold);
    CHECK_FALSE(gui.has(fold));  // open now
  }
  for (const std::string& name : names) {
    gui.push(GoToStep{name});
    const std::string id = "rail/" + name;
    gui.key({name == names.front() ? kKeyRight : kKeyLeft});
    if (!gui.has(id)) continue;  // folded: its section has another one open
    gui.reveal(id, "panel/rail");
    gui.click(id);
    CHECK(gui.state().session.step == name);
  }
}

TEST_CASE("flow: brackets change the head, PageUp and PageDown the layer") {
  Gui gui(small_document(3, 4, 8));
  CHECK(gui.state().session.head == 0);
  gui.key({']'});
  CHECK(gui.state().session.head == 1);
  gui.key({'['});
  gui.key({'['});
  CHECK(gui.state().session.head == 3);  // round
  CHECK(gui.state().session.step == "blocks.0.attn.pattern");
  gui.key({kKeyPageDown});
  CHECK(gui.state().session.layer == 1);
  CHECK(gui.state().session.step == "blocks.1.attn.pattern");
  gui.key({kKeyPageDown});
  gui.key({kKeyPageDown});
  CHECK(gui.state().session.layer == 2);  // stays at the end
  gui.key({kKeyPageUp});
  CHECK(gui.state().session.step == "blocks.1.attn.pattern");
  gui.click("layer/0");
  CHECK(gui.state().session.step == "blocks.0.attn.pattern");
  gui.click("head/2");
  CHECK(gui.state().session.head == 2);
  gui.click("heads/1");
  CHECK(gui.state().session.head == 1);
  // The stage shows that head's numbers.
  const TensorView t = gui.tensor("blocks.0.attn.pattern");
  const std::int64_t n = gui.trace().length();
  const DrawnHeatmap& drawn = gui.heatmap("pane/1/blocks.0.attn.pattern");
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t c = 0; c < n; ++c) CHECK(drawn.cell(r, c) == t.data[(n + r) * n + c]);
  }
}

TEST_CASE("flow: a step of the first layer that the others lack leads to a step they have") {
  Gui gui(small_document(2, 2, 8));
  gui.push(GoToStep{"blocks.0.resid_pre"});
  CHECK(gui.state().session.step == "blocks.0.resid_pre");
  gui.key({kKeyPageDown});
  CHECK(gui.state().session.layer == 1);
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("flow: two heads and their difference") {
  Gui gui(small_document(1, 3, 12));
  gui.shift_click("heads/2");
  CHECK(gui.state().session.compare);
  CHECK(gui.state().session.other_head == 2);
  const TensorView t = gui.tensor("blocks.0.attn.pattern");
  const std::int64_t n = gui.trace().length();
  const auto check = [&](std::int64_t a, std::int64_t b) {
    for (std::int64_t r = 0; r < n; ++r) {
      for (std::int64_t c = 0; c < n; ++c) {
        const float x = t.data[(a * n + r) * n + c], y = t.data[(b * n + r) * n + c];
        CHECK(gui.heatmap("compare/0").cell(r, c) == x);
        CHECK(gui.heatmap("compare/1").cell(r, c) == y);
        CHECK(gui.heatmap("compare/2").cell(r, c) == x - y);
      }
    }
    CHECK(gui.heatmap("compare/2").quad.scale.map == ColorMap::kDiverging);
    CHECK(gui.shows("head " + std::to_string(a) + " − head " + std::to_string(b)));
  };
  check(0, 2);
  gui.key({']'});
  check(1, 2);
  gui.shift_click("heads/2");  // again: no comparison any more
  CHECK_FALSE(gui.state().session.compare);
  CHECK_FALSE(gui.has("compare/0"));
  gui.key({'C'});
  check(1, 2);
  gui.click("heads/compare");
  CHECK_FALSE(gui.has("compare/0"));
  CHECK(gui.document() == small_document(1, 3, 12));
}

TEST_CASE("flow: clicking tokens marks padding; the padded keys get no weight") {
  Gui gui(small_document());
  gui.click("mask/padding");
  gui.push(GoToStep{"token_ids"});
  CHECK(gui.has("token/0"));
  gui.click("token/4");
  gui.click("token/5");
  CHECK(gui.config().mask.padding == std::vector<int>{4, 5});
  CHECK(gui.shows("pad"));
  const auto padded = [](std::int64_t, std::int64_t j) { return j >= 4; };
  CHECK(largest_weight(gui, 0, padded) == 0);
  check_rows_sum_to_one(gui);
  gui.click("token/5");
  CHECK(gui.config().mask.padding == std::vector<int>{4});
  CHECK(largest_weight(gui, 0, padded) > 0);
  gui.ctrl('Z');
  CHECK(gui.config().mask.padding == std::vector<int>{4, 5});
  // All padding: no query has a key, rows of zeros, no NaN.
  for (int i = 0; i < 4; ++i) gui.click("token/" + std::to_string(i));
  CHECK(gui.config().mask.padding.size() == 6);
  for (const float w : gui.tensor("blocks.0.attn.pattern").cells()) CHECK(w == 0);
  for (const float w : gui.tensor("probs").cells()) CHECK(std::isfinite(w));
}

TEST_CASE("flow: a click on a cell picks it, its terms lead on to where they come from") {
  Gui gui(small_document());
  gui.push(GoToStep{"blocks.0.attn.scores_raw"});
  gui.click_cell("pane/2/blocks.0.attn.scores_raw", 4, 2);
  REQUIRE(gui.state().session.picked);
  CHECK(*gui.state().session.picked == CellPick{"blocks.0.attn.scores_raw", {0, 0, 4, 2}});
  const float value = gui.tensor("blocks.0.attn.scores_raw").data[4 * 6 + 2];
  CHECK(gui.shows(number_text(value)));
  CHECK(gui.shows("sum of 4 terms"));
  gui.click("term/0");
  CHECK(gui.state().session.picked->tensor == "blocks.0.attn.q");
  CHECK(inconsistency(gui.state()) == "");
}

}  // namespace headlight::test
