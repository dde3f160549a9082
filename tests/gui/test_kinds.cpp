// Every kind of model: what stands beside, over and above a matrix is named after the tensor that
// is shown. Which names belong there is said here a second time, from the tensor's own axes and
// name.
#include "core/base/utf8.h"
#include "core/explain/steps.h"
#include "core/view/row_detail.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

struct Kind {
  std::string name;
  Document document;
};

Kind bundled(const std::string& name, std::string_view sentence = "") {
  Document document = bundled_document(name);
  if (!sentence.empty()) document.sentence = sentence;
  return {name + " " + std::string(sentence), document};
}

std::vector<Kind> kinds() {
  std::vector<Kind> all = {bundled("dates", "june 7 2015 -> 2015-06-07")};
  for (const std::string& name : bundled_names()) all.push_back(bundled(name));
  all.push_back({"random", small_document(2, 2, 8)});
  Document basic = small_document(1, 1, 8);
  basic.config.attention = AttentionKind::kBasic;
  all.push_back({"basic", basic});
  Document post = small_document(1, 2, 8);
  post.config.block = BlockKind::kPostNorm;
  post.config.mask.kind = MaskKind::kNone;
  all.push_back({"random, post-norm, additive", post});
  for (const int components : {0, 3}) {
    Document numbers = small_document(1, 1, 8);
    numbers.config.numbers = true;
    numbers.config.components = components;
    numbers.config.mixer = MixerKind::kNone;
    numbers.config.norm = NormKind::kNone;
    numbers.config.positions = PositionKind::kNone;
    numbers.config.experts = components == 0 ? 2 : 0;
    numbers.sentence = "-0.80 -0.40 0.00 0.40";
    all.push_back({"numbers, components " + std::to_string(components), numbers});
  }
  return all;
}

// Forwards and, once the gradients are there, backwards.
std::vector<std::string> steps_both_ways(Gui& gui) {
  gui.push(ShowBackward{true});
  for (int i = 0; i < 10 && gui.trace().program().gradients.empty(); ++i) gui.frame();
  REQUIRE_FALSE(gui.trace().program().gradients.empty());
  gui.push(ShowBackward{false});
  return page_names(gui.trace().program());
}

// "decoder.blocks.0.cross_attn.q", also of its gradient.
std::string_view plain(std::string_view name) {
  return name.starts_with("d.") ? name.substr(2) : name;
}

// Of byte pairs: the blank before a word is not shown, what goes on with a word has a dot.
std::string without_blank(const Gui& gui, const std::string& token, bool with_dot) {
  if (gui.document().model != "bundled:stories") return token;
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (token.size() > 1 && token[0] == ' ' && is_word(token[1])) return token.substr(1);
  return with_dot && is_word(token[0]) ? "\u00b7" + token : token;
}

// The name of place `i` along the axis.
std::string place_of(const Gui& gui, const std::string& axis, std::int64_t i) {
  const RunInput& input = gui.trace().input();
  const auto at = static_cast<std::size_t>(i);
  if (axis == "source" || axis == "source_query" || axis == "source_key")
    return input.source_tokens.at(at);
  if (axis == "position" || axis == "query" || axis == "key")
    return without_blank(gui, input.tokens.at(at), false);  // its example has whole words
  if (axis == "vocab") return without_blank(gui, input.vocab.at(at), true);
  if (axis == "class") return input.classes.at(at);
  if (axis == "batch")
    return gui.state().session.language == Language::kChinese ? "整句话" : "the sentence";
  return std::to_string(i);
}

std::string shown_place(const Gui& gui, const std::string& axis, std::int64_t i) {
  const std::string name = place_of(gui, axis, i);
  return axis == "batch" ? name : from_field_text(token_label(name));
}

bool has_names(const std::string& axis) {
  for (const char* named :
       {"position", "query", "key", "source", "source_query", "source_key", "vocab", "class"}) {
    if (axis == named) return true;
  }
  return false;
}

struct Shown {
  int place = 0;
  TensorView tensor;
  HeatmapQuad quad;
  std::string rows, columns;  // axes
};

std::vector<Shown> panes(const Gui& gui) {
  std::vector<Shown> all;
  for (const auto& [id, r] : gui.drawn().all()) {
    if (!id.starts_with("pane/") || !gui.has_heatmap(id)) continue;
    const std::size_t slash = id.find('/', 5);
    Shown s{std::stoi(id.substr(5, slash - 5)), gui.tensor(id.substr(slash + 1)),
            gui.heatmap(id).quad, "", ""};
    const auto& axes = s.tensor.axes;
    s.columns = axes.back().name;
    s.rows = axes.size() > 1 ? axes[axes.size() - 2].name : "batch";
    const bool column = s.quad.columns == 1 && has_names(s.columns);  // of the losses
    const bool transposed = s.quad.column_stride > s.quad.row_stride && !column;
    if (column) s.rows = s.columns, s.columns = "batch";
    if (transposed) std::swap(s.rows, s.columns);
    all.push_back(s);
  }
  std::sort(all.begin(), all.end(),
            [](const Shown& a, const Shown& b) { return a.place < b.place; });
  return all;
}

// Is it the name of place `i`, shortened or not; with its position where labels are left out?
bool fits(const std::string& shown, const std::string& whole, std::int64_t i) {
  const std::string text = from_field_text(shown);
  for (const std::string& name : {whole, whole + subscript(i)}) {
    if (text == name) return true;
    const std::size_t cut = text.find("…");
    if (cut != std::string::npos && name.starts_with(text.substr(0, cut)) &&
        (text.ends_with("…") || name.ends_with(text.substr(cut + std::string("…").size()))))
      return true;
  }
  return false;
}

// Over the pane's columns: each label is that of its column. Returns how many there are.
int check_columns(const Gui& gui, const Shown& s) {
  const float width = (s.quad.x1 - s.quad.x0) / static_cast<float>(s.quad.columns);
  int seen = 0;
  for (const DrawnLabel& label : gui.drawn().labels()) {
    const bool above = label.anchor.y < s.quad.y0 && label.anchor.y > s.quad.y0 - 12;
    if (!above || label.anchor.x < s.quad.x0 || label.anchor.x >= s.quad.x1) continue;
    const auto column = static_cast<std::int64_t>((label.anchor.x - s.quad.x0) / width);
    const std::string token = shown_place(gui, s.columns, column);
    INFO("'", label.text, "' over column ", column, " of ", s.tensor.name, ", not '", token, "'");
    CHECK(fits(label.text, token, column));
    ++seen;
  }
  return seen;
}

void check_rows(const std::vector<DrawnText>& texts, const Gui& gui, const Shown& s) {
  const float height = (s.quad.y1 - s.quad.y0) / static_cast<float>(s.quad.rows);
  if (height < 14 || (!has_names(s.rows) && s.rows != "batch")) return;
  for (std::int64_t r = 0; r < s.quad.rows; ++r) {
    std::string label = shown_place(gui, s.rows, r);
    std::erase(label, ' ');  // spaces draw nothing
    const float top = s.quad.y0 + static_cast<float>(r) * height;
    const bool found = std::any_of(texts.begin(), texts.end(), [&](const DrawnText& text) {
      const float middle = (text.min.y + text.max.y) / 2;
      std::string words = text.words;
      std::erase(words, ' ');
      return fits(words, label, r) && text.max.x <= s.quad.x0 && text.max.x > s.quad.x0 - 110 &&
             middle > top && middle < top + height;
    });
    INFO("'", label, "' beside row ", r, " of ", s.tensor.name);
    CHECK(found);
  }
}

void check_matrices(Gui& gui, const std::vector<DrawnText>& texts, const Step& step) {
  const std::vector<Shown> all = panes(gui);
  const StepPage page = step_page(gui.trace(), step, 0);
  int labels = 0;
  bool named = false;
  for (const Shown& s : all) {
    labels += check_columns(gui, s);
    named |= has_names(s.columns) && s.quad.columns > 1;
  }
  if (named) CHECK(labels > 0);
  if (all.empty()) return;
  const bool product = page.layout == Layout::kProduct;
  check_rows(texts, gui, product ? all.back() : all.front());
  if (product) check_rows(texts, gui, all[1]);  // the keys, of which it adds up the values
}

// The title says to which stack the tensor belongs, and whether to cross-attention.
void check_title(Gui& gui, const std::vector<DrawnText>& texts, const std::string& name) {
  const bool chinese = gui.state().session.language == Language::kChinese;
  const std::string_view rest = plain(name);
  const DrawnControl stage = gui.rect("panel/stage");
  std::string header;
  for (const DrawnText& text : texts) {
    if (text.min.x > stage.min.x && text.max.x < stage.max.x && text.min.y < stage.min.y + 44)
      header += text.words + "|";
  }
  const auto says = [&](const char* english, const char* words) {
    return header.find(chinese ? words : english) != std::string::npos;
  };
  CAPTURE(header);
  CHECK(says("encoder", "编码器") == (rest.starts_with("encoder.") || rest == "source_ids"));
  const bool decodes =
      rest.starts_with("decoder.") || (!gui.trace().input().source_ids.empty() &&
                                       !rest.starts_with("encoder.") && rest != "source_ids");
  CHECK(says("decoder", "解码器") == decodes);
  const bool crosses = rest.find("cross_attn") != rest.npos ||
                       (rest.find("decoder.") == 0 && rest.ends_with("resid_mid_cross")) ||
                       (decodes && rest.ends_with("ln2.normalized"));
  CHECK(says("cross-attention", "交叉注意力") == crosses);
}

// The row that is opened below, and the sentence, are those of the chosen cell.
void check_row_words(Gui& gui, const Step& step) {
  const Trace& trace = gui.trace();
  const Language language = gui.state().session.language;
  const auto& picked = gui.state().session.picked;
  REQUIRE(picked);
  const TensorView t = trace.tensor(picked->tensor);
  const TensorView own = trace.tensor(step.tensor);
  const auto rows = std::find_if(own.axes.begin(), own.axes.end(),
                                 [](const Axis& a) { return has_names(a.name) && a.size > 0; });
  if (rows == own.axes.end() || rows->name == "vocab" || rows->name == "class") return;
  for (const std::int64_t query : {std::int64_t{0}, rows->size - 1}) {
    const std::string sentence = step_sentence(language, trace, step, 0, query);
    const bool asks = tr(language, step.words().sentence).find("{query}") != std::string_view::npos;
    if (!asks) continue;
    const std::string quoted = "“" + token_label(trace.name(rows->name, query)) + "”";
    CAPTURE(sentence);
    CHECK(sentence.find(from_field_text(quoted)) != std::string::npos);
  }
  if (step_detail(trace, step) != Detail::kRow || !gui.has("panel/detail") || step.backward) return;
  const int axis = t.find_dim(rows->name);
  if (axis < 0 || own.axes.back().name == "vocab") return;
  // Foci show the words once for each, in the place of one row.
  if (trace.program().tensors[static_cast<std::size_t>(step.tensor)].role == Role::kFocusWeights)
    return;
  const std::string title =
      tr(language, "stage.row.title",
         {{"token",
           token_label(trace.name(rows->name, picked->index[static_cast<std::size_t>(axis)]))}});
  CAPTURE(title);
  CHECK(gui.shows(title));
}

}  // namespace

TEST_CASE("kinds: labels, titles and sentences are those of the tensor that is shown") {
  std::size_t first = 0;
  for (const Kind& kind : kinds()) {
    for (const Language language : {Language::kEnglish, Language::kChinese}) {
      Gui gui(kind.document, {1920, 1080});
      CAPTURE(kind.name);
      gui.push(ChooseLanguage{language});
      REQUIRE(gui.state().derived.problem == "");
      for (const std::string& name : walked(steps_both_ways(gui), first++)) {
        CAPTURE(name);
        gui.push(GoToStep{name});
        REQUIRE(gui.state().session.step == name);
        const Program& program = gui.trace().program();
        const Step& step =
            program.steps[static_cast<std::size_t>(program.step_of(program.find(name)))];
        const std::vector<DrawnText> texts = gui.texts();
        check_title(gui, texts, name);
        check_matrices(gui, texts, step);
        check_row_words(gui, step);
      }
    }
  }
}

TEST_CASE(
    "kinds: the rail of an encoder-decoder has its two stacks in order, each line its own id") {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    const bool chinese = language == Language::kChinese;
    Gui gui(bundled("dates").document, {1440, 1600});
    gui.push(ChooseLanguage{language});
    gui.push(GoToStep{"source_ids"});
    const auto line = [&](const char* id) { return gui.rect(id).center().y; };
    const std::vector<float> order = {line("rail/source_ids"),
                                      line("rail/encoder.embed"),
                                      line("rail/fold/encoder/0/attention"),
                                      line("rail/fold/encoder/0/feed_forward"),
                                      line("rail/encoder.ln_final.normalized"),
                                      line("rail/token_ids"),
                                      line("rail/decoder.embed"),
                                      line("rail/fold/decoder/0/attention"),
                                      line("rail/fold/decoder/0/cross_attention"),
                                      line("rail/fold/decoder/0/feed_forward"),
                                      line("rail/decoder.ln_final.normalized"),
                                      line("rail/logits"),
                                      line("rail/probs")};
    CHECK(std::is_sorted(order.begin(), order.end()));
    // What stands on the folded lines, and above them.
    const auto words_at = [&](float y0, float y1) {
      std::string words;
      const DrawnControl rail = gui.rect("panel/rail");
      for (const DrawnText& text : gui.texts()) {
        const float y = (text.min.y + text.max.y) / 2;
        if (y > y0 && y < y1 && text.max.x < rail.max.x) words += text.words + "|";
      }
      return words;
    };
    const auto says = [&](const std::string& words, const char* part) {
      CAPTURE(words);
      CHECK(words.find(part) != std::string::npos);
    };
    const DrawnControl crossed = gui.rect("rail/fold/decoder/0/cross_attention");
    says(words_at(crossed.min.y, crossed.max.y), chinese ? "交叉注意力" : "Cross-attention");
    const DrawnControl fed = gui.rect("rail/fold/decoder/0/feed_forward");
    says(words_at(fed.min.y, fed.max.y), chinese ? "前馈网络" : "Feed-forward");
    says(words_at(order[0] - 50, order[0] - 10), chinese ? "编码器" : "ENCODER");
    says(words_at(order[1], order[2] - 10), chinese ? "编码器" : "ENCODER");
    says(words_at(order[4], order[5] - 10), chinese ? "解码器" : "DECODER");
    says(words_at(order[10] - 50, order[10] - 10), chinese ? "预测" : "PREDICTION");
    // Each leads to its own steps.
    gui.click("rail/fold/decoder/0/cross_attention");
    CHECK(gui.state().session.step == "decoder.blocks.0.ln2.normalized");
    gui.click("rail/fold/decoder/0/feed_forward");
    CHECK(gui.state().session.step == "decoder.blocks.0.ln3.normalized");
    gui.click("rail/fold/encoder/0/feed_forward");
    CHECK(gui.state().session.step == "encoder.blocks.0.ln2.normalized");
    gui.click("rail/fold/decoder/0/attention");
    CHECK(gui.state().session.step == "decoder.blocks.0.ln1.normalized");
  }
}

TEST_CASE("kinds: each side of an encoder-decoder has its own tokens, padding and order") {
  Gui gui(bundled("dates", "june 7 2015").document);
  gui.push(GoToStep{"source_ids"});
  const std::vector<std::string> source = gui.trace().input().source_tokens;
  REQUIRE(source.size() == 11);
  for (std::size_t t = 0; t < source.size(); ++t) CHECK(gui.has("token/" + std::to_string(t)));
  CHECK_FALSE(gui.has("token/11"));
  gui.click("token/0");
  REQUIRE(gui.state().session.picked);
  CHECK(gui.state().session.picked->tensor == "source_ids");
  // To the end: the year's last digit stays the last but one.
  gui.right_click("token/0");
  gui.click("token_menu/last");
  CHECK(gui.document().sentence == "une 7 2015j");
  gui.ctrl('Z');
  gui.drag(gui.rect("token/0").center(), gui.rect("token/2").max);
  CHECK(gui.document().sentence == "unje 7 2015");
  gui.ctrl('Z');
  // Padding of the source: no query of either attention looks at it, the decoder's row is whole.
  gui.right_click("token/5");
  gui.click("token_menu/padding");
  CHECK(gui.document().config.mask.source_padding == std::vector<int>{5});
  CHECK(gui.document().config.mask.padding.empty());
  CHECK(gui.document().config.mask.kind == MaskKind::kCausal);
  for (const char* name :
       {"encoder.blocks.0.attn.pattern", "decoder.blocks.0.cross_attn.pattern"}) {
    CAPTURE(name);
    const TensorView pattern = gui.tensor(name);
    const std::int64_t keys = pattern.axes[3].size;
    for (std::int64_t row = 0; row < pattern.size() / keys; ++row)
      CHECK(pattern.data[row * keys + 5] == 0);
  }
  CHECK(inconsistency(gui.state()) == "");
  gui.click("token/5");  // and takes it away again
  CHECK(gui.document().config.mask.source_padding.empty());
  // The decoder's tokens are the model's own, and stay where they are.
  gui.push(GoToStep{"token_ids"});
  gui.drag(gui.rect("token/2").center(), gui.rect("token/5").max);
  CHECK(gui.document().sentence == "june 7 2015");
  CHECK(gui.shows("The model wrote these tokens itself"));
  // Those of a target that the sentence gives are the person's; [BOS] stays first.
  gui.push(DoEdit{SetSentence{"june 7 2015 -> 2015-06-07"}, ""});
  gui.push(GoToStep{"token_ids"});
  gui.right_click("token/1");
  gui.click("token_menu/last");
  CHECK(gui.document().sentence == "june 7 2015 -> 015-06-072");
  gui.right_click("token/3");
  gui.click("token_menu/first");
  CHECK(gui.document().sentence == "june 7 2015 -> 501-06-072");
}

TEST_CASE("kinds: a masked model speaks of the token at [MASK], and says when there is none") {
  const Kind masked = bundled("masked");
  Gui gui(masked.document, {1600, 1000});
  gui.push(GoToStep{"probs"});
  const std::vector<int>& places = gui.trace().input().masked;
  REQUIRE_FALSE(places.empty());
  REQUIRE(gui.state().session.picked);
  CHECK(gui.state().session.picked->index[1] == places[0]);
  CHECK(gui.shows("Predicted token"));
  CHECK_FALSE(gui.shows("Next token"));
  CHECK_FALSE(gui.shows("After “"));
  CHECK_FALSE(gui.shows("has no [MASK]"));
  std::string whole = masked.document.sentence;
  while (whole.find("[MASK]") != whole.npos) whole.replace(whole.find("[MASK]"), 6, "the");
  gui.push(DoEdit{SetSentence{whole}, ""});
  REQUIRE(gui.trace().input().masked.empty());
  CHECK(gui.shows("this sentence has no [MASK]"));
}

TEST_CASE("kinds: a classifier's rows are the sentence, its columns the classes") {
  Gui gui(bundled("sentiment").document, {1600, 1000});
  for (const char* step : {"logits", "probs"}) {
    gui.push(GoToStep{step});
    gui.frame();
    CAPTURE(step);
    CHECK(gui.shows("the sentence"));
    CHECK_FALSE(gui.shows("Row “0”"));
    CHECK(gui.shows("negative"));
    CHECK_FALSE(gui.shows("negat…"));
  }
  Document mean = small_document(1, 2, 8);
  mean.config.form = ModelForm::kClasses;
  mean.config.mask.kind = MaskKind::kNone;
  Gui of_mean(mean, {1600, 1000});
  of_mean.push(GoToStep{"pooled"});
  CHECK_FALSE(of_mean.shows("numbers of m are the same"));
  CHECK(of_mean.shows("m says which rows count"));
}

TEST_CASE(
    "kinds: a new sentence chooses a cell by itself; a chosen one stays while its tokens do") {
  Gui gui(small_document(1, 2, 8));
  const std::string step = "blocks.0.attn.pattern";
  gui.push(GoToStep{step});
  const auto picked = [&] { return gui.state().session.picked->index; };
  gui.push(DoEdit{SetSentence{"a dog saw the old cat"}, ""});
  CHECK(picked()[2] == 5);  // the last query
  gui.push(DoEdit{SetSentence{"a dog saw the old cat run"}, ""});
  CHECK(picked()[2] == 6);
  gui.push(PickCell{{step, {0, 0, 3, 1}}});
  gui.push(DoEdit{SetSentence{"a dog saw the old cat run home"}, ""});
  CHECK(picked() == std::vector<std::int64_t>{0, 0, 3, 1});
  gui.push(DoEdit{SetSentence{"one bird saw two old cats"}, ""});
  CHECK(picked()[2] == 5);
}

TEST_CASE("kinds: over the input of softmax the row below frames the key under the mouse") {
  Gui gui(small_document(1, 2, 8), {1600, 1000});
  gui.push(GoToStep{"blocks.0.attn.pattern"});
  std::string input;
  for (const auto& [id, r] : gui.drawn().all())
    if (id.starts_with("pane/0/")) input = id;
  REQUIRE_FALSE(input.empty());
  for (const std::int64_t key : {0, 2}) {
    gui.move_to(gui.cell_center(input, 4, key));
    gui.frame(3);
    const DrawnControl column = gui.rect("detail/" + std::to_string(key));
    const float x = gui.rect("detail/chosen").center().x;
    CHECK(x > column.min.x);
    CHECK(x < column.max.x);
  }
}

}  // namespace headlight::test
