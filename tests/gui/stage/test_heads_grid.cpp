// All heads at a glance: the grid's pictures, scores and badges, and the ways through it.
#include <algorithm>
#include <cmath>

#include "app/ui/heads/head_cell.h"
#include "app/ui/heads/heads_grid.h"
#include "core/base/number_text.h"
#include "core/graph/program_memory.h"
#include "core/train/model_recipe.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

struct Attention {
  std::string number, tensor;
  bool crosses = false, source = false;
};

// What a person would call them, in the order in which they stand.
std::vector<Attention> attentions(const Trace& trace) {
  std::vector<Attention> all;
  const int layers = trace.config().layers;
  const auto name = [](const char* stack, int layer, const char* what) {
    return stack + std::string("blocks.") + std::to_string(layer) + what;
  };
  const bool translates = trace.config().form == ModelForm::kTranslate;
  for (int i = 0; translates && i < layers; ++i)
    all.push_back({"e" + std::to_string(i), name("encoder.", i, ".attn.pattern"), false, true});
  for (int i = 0; i < layers; ++i) {
    const std::string n = std::to_string(i);
    const char* stack = translates ? "decoder." : "";
    all.push_back({(translates ? "d" : "") + n, name(stack, i, ".attn.pattern")});
    if (translates) all.push_back({"c" + n, name(stack, i, ".cross_attn.pattern"), true});
  }
  return all;
}

// Measured here, from nothing but the weights, the mask's rule and the tokens.
HeadScores measure(const Trace& trace, const Attention& a, std::int64_t head) {
  const TensorView t = trace.tensor(a.tensor);
  const std::int64_t queries = t.axes[2].size, keys = t.axes[3].size;
  const auto cells = static_cast<std::size_t>(queries * keys);
  std::vector<float> mask;
  const bool own = !a.crosses && !a.source;
  if (own && trace.config().mask.kind != MaskKind::kNone) {
    mask.resize(cells);
    fill_mask(trace.config().mask, static_cast<int>(queries), mask.data());
  }
  const RunInput& in = trace.input();
  const std::vector<int> ids = a.crosses ? std::vector<int>{} : a.source ? in.source_ids : in.ids;
  return head_scores({{t.data + head * queries * keys, cells}, queries, keys, ids, mask, {}});
}

std::string id_of(const Gui& gui, const Attention& a, int head) {
  const std::string far = "heads/" + a.number + "." + std::to_string(head);
  return gui.has(far) ? far : "heads/" + std::to_string(head);
}

std::string words_in(Gui& gui, const DrawnControl& r) {
  std::string words;
  for (const DrawnText& text : gui.texts()) {
    const ImVec2 at{(text.min.x + text.max.x) / 2, (text.min.y + text.max.y) / 2};
    if (at.x > r.min.x && at.x < r.max.x && at.y > r.min.y && at.y < r.max.y)
      words += text.words + " ";
  }
  return words;
}

const DrawnHeatmap& picture_in(const Gui& gui, const DrawnControl& r) {
  const auto& all = gui.heatmaps().drawn();
  const auto found = std::find_if(all.begin(), all.end(), [&](const DrawnHeatmap& h) {
    return h.quad.x0 >= r.min.x && h.quad.x1 <= r.max.x && h.quad.y0 >= r.min.y &&
           h.quad.y1 <= r.max.y;
  });
  REQUIRE(found != all.end());
  return *found;
}

// What the model's recipe says that this head does here, in words of a badge.
const HeadClaim* claimed(const std::string& model, const Attention& a, int head) {
  for (const HeadClaim& claim : bundled_recipe(model).claims) {
    const bool own = claim.step == a.tensor && claim.head == head && !claim.badge.empty();
    if (own && claim.sentence == bundled_recipe(model).example) return &claim;
  }
  return nullptr;
}

const std::string& focused(const Gui& gui) { return gui.state().session.focus.id; }

}  // namespace

TEST_CASE("all heads: every head of every stack has its picture, its score and its badge") {
  int named = 0, plain = 0, claims = 0;
  for (const std::string& name : bundled_names()) {
    CAPTURE(name);
    Gui gui(bundled_document(name), {1920, 1080});
    gui.push(Maximize{PanelId::kHeads});
    gui.frame(2);
    const Trace& trace = gui.trace();
    for (const Attention& a : attentions(trace)) {
      for (int head = 0; head < trace.config().head_count(); ++head) {
        const std::string id = id_of(gui, a, head);
        CAPTURE(id);
        const DrawnControl cell = gui.rect(id);
        const DrawnHeatmap& picture = picture_in(gui, cell);
        const TensorView t = trace.tensor(a.tensor);
        const std::int64_t queries = t.axes[2].size, keys = t.axes[3].size;
        REQUIRE(picture.quad.rows == queries);
        REQUIRE(picture.quad.columns == keys);
        for (std::int64_t i = 0; i < queries * keys; ++i)
          CHECK(picture.cell(i / keys, i % keys) == t.data[head * queries * keys + i]);
        const HeadScores scores = measure(trace, a, head);
        const std::optional<Badge> badge = best_badge(scores);
        const HeadClaim* claim = claimed(name, a, head);
        CHECK(gui.has("label/" + id + "/badge") == (claim || badge));
        (claim || badge ? named : plain) += 1;
        const std::string words = words_in(gui, cell);
        CAPTURE(words);
        CHECK(words.find(a.number + "." + std::to_string(head)) != std::string::npos);
        if (claim) {  // the recipe's own word goes before the usual ones
          claims += 1;
          const double weight = measured_weight(*claim, trace);
          CHECK(words.find(cell_number(weight, kShareCell)) != std::string::npos);
          std::string label(tr(Language::kEnglish, claim->badge));
          std::erase(label, ' ');
          CHECK(words.find(label) != std::string::npos);
          continue;
        }
        if (!badge) continue;
        const HeadScore& score = scores[*badge];
        CHECK(score.value >= badge_info(*badge).threshold);
        CHECK(words.find(cell_number(score.value, kShareCell)) != std::string::npos);
        std::string label(tr(Language::kEnglish, badge_info(*badge).label));
        std::erase(label, ' ');
        CHECK(words.find(label) != std::string::npos);
        gui.hover("label/" + id + "/badge");
        gui.frame(2);
        CHECK(gui.shows(tr(Language::kEnglish, badge_info(*badge).help).substr(0, 30)));
        CHECK(gui.shows("measured on " + count_text(score.rows) + " queries"));
      }
    }
  }
  CHECK(named > 3);
  CHECK(plain > 3);
  CHECK(claims >= 3);
}

TEST_CASE("all heads: what a bundled model's head is said to do stands in its tooltip") {
  Gui gui(bundled_document("grammar"), {1440, 900});
  const auto hover = [&](const char* id) {
    const DrawnControl cell = gui.rect(id);
    gui.move_to({cell.max.x - 4, cell.max.y - 4});
    gui.frame(2);
  };
  hover("heads/2");
  CHECK(gui.shows("Layer 0, head 2: cat → boys"));
  hover("heads/1.2");
  CHECK_FALSE(gui.shows("head 2:"));
}

TEST_CASE("all heads: on many sentences each has the mean score and the badge that it earns") {
  int named = 0, claims = 0, plain = 0;
  for (const std::string& name :
       {std::string("stories"), std::string("induction"), std::string()}) {
    CAPTURE(name);
    Gui gui(name.empty() ? small_document(2, 2, 8) : bundled_document(name), {1920, 1080});
    gui.push(Maximize{PanelId::kHeads});
    const Document before = gui.document();
    gui.click("heads/measured");
    gui.frame(2);
    REQUIRE(gui.state().session.measured);
    REQUIRE(gui.state().derived.means->heads);
    const MeasuredHeads& heads = *gui.state().derived.means->heads;
    CHECK(heads.sentences == measured_sentences(gui.state().derived.model.get()).size());
    CHECK(gui.shows("means over " +
                    count_text(static_cast<std::int64_t>(heads.sentences - heads.written))));
    CHECK(gui.document() == before);
    const Trace& trace = gui.trace();
    const std::vector<Attention> rows = attentions(trace);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (int head = 0; head < trace.config().head_count(); ++head) {
        const std::string id = id_of(gui, rows[row], head);
        CAPTURE(id);
        const std::string words = words_in(gui, gui.rect(id));
        CAPTURE(words);
        const HeadScores& scores = heads.scores[row][static_cast<std::size_t>(head)];
        std::optional<double> shown;
        std::string label;
        bool own = false;
        if (const auto badge = best_badge(scores)) {
          shown = scores[*badge].value;
          label = tr(Language::kEnglish, badge_info(*badge).label);
        }
        const std::vector<HeadClaim> none;
        const auto& all = name.empty() ? none : bundled_recipe(name).claims;
        for (std::size_t c = 0; c < all.size(); ++c) {
          if (all[c].step != rows[row].tensor || all[c].head != head || !heads.claims[c]) continue;
          CHECK(*heads.claims[c] >= all[c].mean);
          shown = heads.claims[c];
          label = tr(Language::kEnglish, all[c].badge);
          own = true;
          ++claims;
          break;
        }
        (shown ? named : plain) += 1;
        CHECK(gui.has("label/" + id + "/badge") == shown.has_value());
        if (!shown) continue;
        CHECK(words.find(cell_number(*shown, kShareCell)) != std::string::npos);
        std::erase(label, ' ');
        CHECK(words.find(label) != std::string::npos);
        gui.hover("label/" + id + "/badge");
        gui.frame(2);
        CHECK(gui.shows(own                 ? "the mean over the sentences of its rule"
                        : name == "stories" ? "texts that the model wrote"
                                            : "sentences"));
        CHECK_FALSE((own && gui.shows("has no badge")));
      }
    }
    gui.click("heads/measured");  // which lets go of `heads`
    gui.move_to({5, 5});          // off the button, whose tooltip says what it is for
    gui.frame(2);
    CHECK_FALSE(gui.shows("means over"));
  }
  CHECK(claims >= 6);
  CHECK(named > claims);
  CHECK(plain > 3);
}

TEST_CASE("all heads: many sentences are measured again where the model or a setting is another") {
  Gui gui(bundled_document("induction"), {1440, 900});
  gui.push(DoCommand{Command::kToggleMeasured});
  gui.frame(2);
  const auto heads = [&] { return gui.state().derived.means->heads; };
  const auto first = heads();
  REQUIRE(first);
  gui.push(DoEdit{SetSentence{"c a d c a"}, ""});
  gui.frame(2);
  CHECK(heads() == first);  // the shown sentence is none of them
  gui.push(DoCommand{Command::kToggleScale});
  gui.frame(2);
  REQUIRE(heads());
  CHECK(heads() != first);
  CHECK(heads()->scores[1][0].all != first->scores[1][0].all);
  gui.push(DoCommand{Command::kUndo});
  gui.frame(2);
  CHECK(heads()->scores[1][0].all == first->scores[1][0].all);
  gui.push(DoCommand{Command::kToggleLanguage});
  gui.frame(2);
  CHECK(gui.shows("\u4E2A\u53E5\u5B50\u7684\u5E73\u5747"));
}

TEST_CASE("all heads: a click opens the same step of another layer, and that head") {
  Gui gui(small_document(3, 3, 12));
  gui.click("heads/2.1");
  CHECK(gui.state().session.step == "blocks.2.attn.pattern");
  CHECK(gui.state().session.layer == 2);
  CHECK(gui.state().session.head == 1);
  CHECK(gui.has("heads/0.1"));  // its own row has short names now
  CHECK_FALSE(gui.has("heads/2.1"));
  gui.push(GoToStep{"blocks.2.attn.scores_raw"});
  gui.click("heads/0.2");
  CHECK(gui.state().session.step == "blocks.0.attn.scores_raw");
  CHECK(gui.state().session.head == 2);
  const TensorView t = gui.tensor("blocks.1.attn.scores_raw");
  const std::int64_t n = gui.trace().length();
  CHECK(picture_in(gui, gui.rect("heads/1.1")).cell(2, 1) == t.data[n * n + 2 * n + 1]);
  // From a step without heads to the weights.
  gui.push(GoToStep{"logits"});
  gui.click("heads/1.0");
  CHECK(gui.state().session.step == "blocks.1.attn.pattern");
  CHECK(gui.state().session.head == 0);
  CHECK(gui.document() == small_document(3, 3, 12));
}

TEST_CASE("all heads: encoder, decoder and cross-attention stand apart, and each opens") {
  Gui gui(bundled_document("dates"), {1440, 900});
  for (const char* name : {"encoder", "decoder", "cross"}) CHECK(gui.shows(name));
  gui.click("heads/c0.1");
  CHECK(gui.state().session.step == "decoder.blocks.0.cross_attn.pattern");
  CHECK(gui.state().session.head == 1);
  gui.click("heads/e0.2");
  CHECK(gui.state().session.step == "encoder.blocks.0.attn.pattern");
  CHECK(gui.state().session.head == 2);
  gui.click("heads/d0.3");
  CHECK(gui.state().session.step == "decoder.blocks.0.attn.pattern");
}

TEST_CASE("all heads: only heads of one layer are compared, and the others say so") {
  Gui gui(small_document(2, 3, 12));
  gui.shift_click("heads/1.1");
  CHECK_FALSE(gui.state().session.compare);
  CHECK(gui.state().session.layer == 0);
  gui.shift_click("heads/2");
  CHECK(gui.state().session.compare);
  CHECK(gui.state().session.other_head == 2);
  const DrawnControl far = gui.rect("heads/1.1");
  gui.move_to({far.max.x - 4, far.center().y});
  gui.frame(2);
  CHECK(gui.shows("Two heads are compared"));
}

TEST_CASE("all heads: arrow keys go through the grid, Enter opens") {
  Gui gui(small_document(3, 3, 12));
  gui.push(FocusOn{"heads/1", FocusKind::kGrid, true, true, ""});
  gui.frame();
  const auto press = [&](int key) { gui.key({key}); };
  press(kKeyDown);
  CHECK(focused(gui) == "heads/1.1");
  press(kKeyRight);
  CHECK(focused(gui) == "heads/1.2");
  press(kKeyRight);  // the edge
  CHECK(focused(gui) == "heads/1.2");
  press(kKeyDown);
  CHECK(focused(gui) == "heads/2.2");
  press(kKeyDown);
  CHECK(focused(gui) == "heads/2.2");
  CHECK(gui.state().session.layer == 0);  // only looked over
  press(kKeyEnter);
  CHECK(gui.state().session.layer == 2);
  CHECK(gui.state().session.head == 2);
  gui.frame();
  CHECK(focused(gui) == "heads/2");  // of this layer now
  press(kKeyUp);
  CHECK(focused(gui) == "heads/1.2");
  press(kKeyLeft);
  CHECK(focused(gui) == "heads/1.1");
  // Tab knows one layer's heads only.
  gui.key({kKeyTab});
  CHECK_FALSE(focused(gui).starts_with("heads/1."));
}

TEST_CASE("all heads: of many layers the chosen one comes into sight, by keys too") {
  Gui gui(small_document(12, 12, 24), {1280, 720});
  CHECK_FALSE(gui.has("heads/9.3"));
  for (int i = 0; i < 9; ++i) gui.key({kKeyPageDown});
  gui.frame(2);
  const DrawnControl strip = gui.rect("panel/heads"), cell = gui.rect("heads/3");
  CHECK(gui.state().session.layer == 9);
  CHECK(cell.min.y >= strip.min.y + 30);
  CHECK(cell.max.y <= strip.max.y);
  gui.push(FocusOn{"heads/3", FocusKind::kGrid, true, true, ""});
  gui.frame();
  for (int i = 0; i < 5; ++i) gui.key({kKeyUp});
  gui.frame(2);
  CHECK(focused(gui) == "heads/4.3");
  CHECK(gui.rect("heads/4.3").min.y >= strip.min.y + 30);
}

TEST_CASE("all heads: all rows at once where they fit, whole pixels for each cell") {
  for (const float scale : {1.0f, 2.0f}) {
    for (const int tokens : {1, 5, 11, 23, 31, 48, 60, 200, 1024}) {
      for (const int rows : {1, 2, 4, 12}) {
        for (const int heads : {1, 4, 12, 40}) {
          for (const ImVec2 room : {ImVec2(700, 84), ImVec2(820, 160), ImVec2(1900, 900)}) {
            CAPTURE(scale);
            CAPTURE(tokens);
            CAPTURE(rows);
            CAPTURE(heads);
            CAPTURE(room.x);
            const float width = room.x * scale, height = room.y * scale;
            const HeadsGridShape s =
                heads_grid_shape(width, height, scale, rows, heads, tokens, tokens);
            CHECK((s.scrolls_down || s.row_height * static_cast<float>(rows) <= height));
            CHECK((s.scrolls_across || s.cell_width * static_cast<float>(heads) <= width));
            const ImVec2 drawn = whole_cells(s.picture_width, s.picture_height, tokens, tokens);
            CHECK(drawn.x <= s.cell_width);
            CHECK(drawn.y <= s.row_height);
            CHECK(drawn.y >= 23 * scale);  // never a stamp
            const float cell = drawn.x / static_cast<float>(tokens);
            if (cell >= 1) CHECK(cell == std::round(cell));
          }
        }
      }
    }
  }
}

}  // namespace headlight::test
