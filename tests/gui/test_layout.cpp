// Where things stand: at every size and scale nothing overlaps, leaves the window or is cut.
#include <algorithm>
#include <cmath>

#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

struct Box {
  std::string id;
  ImVec2 min, max;
};

bool overlap(const Box& a, const Box& b) {
  constexpr float kTouch = 0.6f;  // edges may fall on the same pixel
  return a.min.x < b.max.x - kTouch && b.min.x < a.max.x - kTouch && a.min.y < b.max.y - kTouch &&
         b.min.y < a.max.y - kTouch;
}

// "a overlaps b" for the first pair that does; empty when none does.
std::string first_overlap(const std::vector<Box>& boxes) {
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (std::size_t j = i + 1; j < boxes.size(); ++j) {
      if (overlap(boxes[i], boxes[j])) return boxes[i].id + " overlaps " + boxes[j].id;
    }
  }
  return "";
}

std::string first_outside(const std::vector<Box>& boxes, ImVec2 size) {
  for (const Box& b : boxes) {
    const bool inside = b.min.x >= -0.6f && b.min.y >= -0.6f && b.max.x <= size.x + 0.6f &&
                        b.max.y <= size.y + 0.6f;
    if (!inside || !(b.max.x > b.min.x && b.max.y > b.min.y)) {
      return b.id + " stands at " + std::to_string(b.min.x) + "," + std::to_string(b.min.y) +
             " to " + std::to_string(b.max.x) + "," + std::to_string(b.max.y);
    }
  }
  return "";
}

std::vector<Box> boxes_of(const Gui& gui, std::initializer_list<const char*> ids) {
  std::vector<Box> boxes;
  for (const char* id : ids) {
    const DrawnControl r = gui.rect(id);
    boxes.push_back({id, r.min, r.max});
  }
  return boxes;
}

// The switches' own controls; a stepper counts by its two buttons.
std::vector<Box> switches(const Gui& gui) {
  std::vector<Box> boxes;
  for (const auto& [id, r] : gui.drawn().all()) {
    const std::string group = id.substr(0, id.find('/'));
    const bool ours = group == "mask" || group == "scale" || group == "positions" ||
                      group == "layer" || group == "head" || group == "temperature";
    if (ours && !gui.has(id + "/less")) boxes.push_back({id, r.min, r.max});
  }
  return boxes;
}

std::vector<Box> panels(const Gui& gui) {
  std::vector<Box> boxes = boxes_of(
      gui, {"sentence", "model", "panel/rail", "panel/stage", "panel/heads", "panel/inspector",
            "menu/File", "menu/Edit", "menu/View", "menu/Help", "view/theme"});
  for (Box& b : switches(gui)) boxes.push_back(std::move(b));
  for (const auto& [id, r] : gui.drawn().all()) {
    if (id.starts_with("notice/") && id.ends_with("/close")) boxes.push_back({id, r.min, r.max});
  }
  return boxes;
}

std::string cut_texts(const Gui& gui) {
  std::string all;
  for (const CutText& text : gui.drawn().cut_texts()) {
    all += "'" + text.text + "' needs " + std::to_string(text.width) + ", has " +
           std::to_string(text.room) + "; ";
  }
  return all;
}

void check_window(Gui& gui) {
  const std::vector<Box> boxes = panels(gui);
  CHECK(first_overlap(boxes) == "");
  CHECK(first_outside(boxes, gui.size()) == "");
  CHECK(cut_texts(gui) == "");
}

// Words are of other widths in other languages: a test that asks runs once for each.
Language each_language() {
  Language language = Language::kEnglish;
  SUBCASE("English") {}
  SUBCASE("Chinese") { language = Language::kChinese; }
  return language;
}

const ImVec2 kDesignSizes[] = {{960, 540}, {1280, 720}, {1440, 900}, {1920, 1080}, {3840, 2160}};

}  // namespace

TEST_CASE("layout: panels neither overlap nor leave the window, and no words are cut") {
  Gui gui(small_document(2, 4, 16));
  gui.push(ChooseLanguage{each_language()});
  for (const float scale : {1.0f, 1.5f, 2.0f, 3.0f}) {
    gui.set_scale(scale);
    for (const ImVec2 design : kDesignSizes) {
      gui.set_size(design.x * scale, design.y * scale);
      CAPTURE(scale);
      CAPTURE(design.x);
      check_window(gui);
      const DrawnControl stage = gui.rect("panel/stage");
      CHECK(stage.max.x - stage.min.x >= 330 * scale);  // the stage never folds
      CHECK(stage.max.y - stage.min.y >= 200 * scale);
      for (const std::string& step : step_names(gui.trace().program())) {
        CAPTURE(step);
        gui.push(GoToStep{step});
        CHECK(cut_texts(gui) == "");
      }
    }
  }
}

TEST_CASE("layout: every matrix of every step stands inside the stage, apart from the others") {
  Document document = small_document(1, 4, 16);
  document.sentence = "The animal did not cross the street because it was too tired";
  Gui gui(document);
  for (const ImVec2 size : kDesignSizes) {
    gui.set_size(size.x, size.y);
    CAPTURE(size.x);
    for (const std::string& step : step_names(gui.trace().program())) {
      CAPTURE(step);
      gui.push(GoToStep{step});
      const DrawnControl stage = gui.rect("panel/stage");
      std::vector<Box> boxes;
      for (const auto& [id, r] : gui.drawn().all()) {
        if (id.starts_with("pane/")) boxes.push_back({id, r.min, r.max});
      }
      CHECK(first_overlap(boxes) == "");
      for (const Box& b : boxes) {
        CAPTURE(b.id);
        CHECK(b.min.x >= stage.min.x);
        CHECK(b.min.y >= stage.min.y);
        CHECK(b.max.x <= stage.max.x);
        CHECK(b.max.y <= gui.rect("step/next").min.y);
        CHECK(b.max.x - b.min.x >= 3);
        CHECK(b.max.y - b.min.y >= 3);
      }
    }
  }
}

TEST_CASE("layout: no words lie over other words, and each shows its letters") {
  Document document = small_document(2, 4, 16);
  const Language language = each_language();
  for (const ImVec2 size : {ImVec2{960, 540}, ImVec2{1280, 720}, ImVec2{1440, 900}}) {
    for (const ScoreKind scores : {ScoreKind::kDot, ScoreKind::kAdditive}) {
      for (const BlockKind block : {BlockKind::kPreNorm, BlockKind::kPostNorm}) {
        document.config.scores = scores;
        document.config.block = block;
        Gui gui(document, size);
        gui.push(ChooseLanguage{language});
        for (const std::string& step : step_names(gui.trace().program())) {
          gui.push(GoToStep{step});
          INFO(step, " at width ", size.x);
          const std::vector<DrawnText> texts = gui.texts();
          CHECK(texts.size() > 20);
          std::vector<Box> boxes;
          for (const DrawnText& t : texts) {
            CHECK(t.words.find("\uFFFD") == std::string::npos);  // a letter without a picture
            if (!t.slanted) boxes.push_back({"'" + t.words + "'", t.min, t.max});
          }
          CHECK(first_overlap(boxes) == "");
        }
      }
    }
  }
}

TEST_CASE("layout: a step's title, formula and links lie beside each other, pixel by pixel") {
  Gui gui(small_document(2, 4, 16));
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    gui.push(ChooseLanguage{language});
    for (const std::string step : {"blocks.0.ln2.normalized", "pos_embed"}) {
      gui.push(GoToStep{step});
      for (float width = 900; width < 1500; width += 1) {
        gui.set_size(width, 720);
        gui.frame();
        INFO(step, " at width ", width);
        const DrawnControl stage = gui.rect("panel/stage");
        std::vector<Box> boxes;
        for (const DrawnText& t : gui.texts()) {
          const bool in_header = t.min.x >= stage.min.x && t.max.x <= stage.max.x &&
                                 t.min.y >= stage.min.y && t.max.y <= stage.min.y + 70;
          if (in_header) boxes.push_back({"'" + t.words + "'", t.min, t.max});
        }
        REQUIRE(boxes.size() >= 3);
        CHECK(first_overlap(boxes) == "");
      }
    }
  }
}

TEST_CASE("layout: very small windows still show the stage") {
  Gui gui(small_document());
  gui.push(ChooseLanguage{each_language()});
  for (const float scale : {1.0f, 1.5f, 2.0f, 3.0f}) {
    gui.set_scale(scale);
    for (const ImVec2 size : kDesignSizes) {
      gui.set_size(size.x, size.y);  // in pixels: at scale 3 room for a third
      if (size.x / scale < 480) continue;
      INFO(size.x, " x ", size.y, " pixels at scale ", scale);
      const std::vector<Box> stage = boxes_of(gui, {"panel/stage"});
      CHECK(first_outside(stage, size) == "");
      CHECK(first_overlap(boxes_of(
                gui, {"panel/rail", "panel/stage", "panel/heads", "panel/inspector"})) == "");
    }
  }
  for (const ImVec2 size : {ImVec2{320, 200}, ImVec2{64, 64}, ImVec2{1, 1}, ImVec2{8000, 100}}) {
    gui.set_size(size.x, size.y);  // must not crash
    gui.key({kKeyRight});
  }
}

TEST_CASE("layout: the switches fit for every number of heads and layers and every mask") {
  Document document = small_document();
  document.sentence = "a b";
  document.config.attention = AttentionKind::kWide;
  document.config.d_model = 4;
  document.config.d_head = 2;
  Gui gui(document);
  gui.push(ChooseLanguage{each_language()});
  for (const ImVec2 size :
       {ImVec2{960, 540}, ImVec2{1280, 720}, ImVec2{1440, 900}, ImVec2{1920, 1080}}) {
    gui.set_size(size.x, size.y);
    for (const auto& mask : choices(MaskKind{})) {
      for (int count = 1; count <= 12; ++count) {
        for (const auto& sizes :
             {std::pair{count, count}, std::pair{1, count}, std::pair{count, 12}}) {
          const int layers = sizes.first, heads = sizes.second;
          Config config = document.config;
          config.layers = layers;
          config.heads = heads;
          config.mask.kind = mask.value;
          gui.push(DoEdit{SetConfig{config}, ""});
          INFO("width ", size.x, ", ", layers, " layers, ", heads, " heads, mask ", mask.word);
          const std::vector<Box> boxes = switches(gui);
          CHECK(boxes.size() >= 6);
          CHECK(first_overlap(boxes) == "");
          CHECK(first_outside(boxes, gui.size()) == "");
          CHECK(cut_texts(gui) == "");
        }
      }
    }
  }
}

TEST_CASE("layout: notices push the panels down and can be closed") {
  Gui gui(small_document(), {1280, 720});
  gui.push(ChooseLanguage{each_language()});
  const float top = gui.rect("panel/stage").min.y;
  const std::string longer(400, 'x');
  for (const char* words : {"first", "second", "third", "fourth"}) {
    gui.shell().notify(NoticeKind::kWarning, std::string(words) + " " + longer);
  }
  gui.frame(2);
  CHECK(gui.shows("first"));  // those of one moment, one after the other
  CHECK_FALSE(gui.shows("fourth"));
  check_window(gui);
  CHECK(gui.rect("panel/stage").min.y > top);
  gui.click("notice/0/close");
  CHECK_FALSE(gui.shows("first"));
  for (int i = 0; i < 2; ++i) gui.click("notice/0/close");
  CHECK(gui.shows("fourth"));
  gui.click("notice/0/close");
  CHECK(gui.rect("panel/stage").min.y == top);
}

TEST_CASE("layout: folding the heads and the inspector gives their room to the stage") {
  Gui gui(small_document());
  const auto area = [&] {
    const DrawnControl r = gui.rect("panel/stage");
    return (r.max.x - r.min.x) * (r.max.y - r.min.y);
  };
  const float both = area();
  gui.key({'H'});
  const float without_heads = area();
  CHECK(without_heads > both);
  check_window(gui);
  gui.key({'I'});
  CHECK(area() > without_heads);
  check_window(gui);
  gui.click("view/heads");
  gui.click("view/inspector");
  CHECK(area() == both);
  CHECK(gui.has("heads/1"));
  gui.set_size(1000, 560);  // opened by hand: they stay, however small the window
  CHECK(gui.state().session.heads_shown);
  CHECK(gui.state().session.inspector_shown);
  check_window(gui);
}

TEST_CASE("layout: a small window folds the heads, then the inspector, never the stage") {
  Gui gui(small_document());
  gui.set_size(1440, 560);
  CHECK_FALSE(gui.has("heads/1"));
  CHECK_FALSE(gui.state().session.heads_shown);
  CHECK(gui.state().session.inspector_shown);
  CHECK(gui.has("maximize/inspector"));
  gui.set_size(1000, 560);
  CHECK_FALSE(gui.state().session.heads_shown);
  CHECK_FALSE(gui.state().session.inspector_shown);
  CHECK_FALSE(gui.has("maximize/inspector"));
  CHECK(gui.has("panel/stage"));
  gui.click("view/inspector");  // the request counts more than the size
  CHECK(gui.state().session.inspector_shown);
  CHECK(gui.has("maximize/inspector"));
  check_window(gui);
}

TEST_CASE("layout: the model's settings fit or scroll, at every size") {
  const Language language = each_language();
  for (const float scale : {1.0f, 2.0f}) {
    for (const ImVec2 design : kDesignSizes) {
      CAPTURE(scale);
      CAPTURE(design.x);
      Gui gui(small_document(), {design.x * scale, design.y * scale}, scale);
      gui.push(ChooseLanguage{language});
      gui.click("model");
      std::vector<Box> popup = boxes_of(gui, {"panel/model_settings"});
      CHECK(first_outside(popup, gui.size()) == "");
      CHECK(cut_texts(gui) == "");
      std::vector<Box> controls;
      for (const auto& [id, r] : gui.drawn().all()) {
        if (!id.starts_with("model/")) continue;
        controls.push_back({id, r.min, r.max});
        CHECK(r.min.x >= popup[0].min.x);
        CHECK(r.max.x <= popup[0].max.x);
      }
      CHECK(controls.size() > 30);
      CHECK(first_overlap(controls) == "");
      for (const char* id : {"model/max_tokens/more", "model/layers/more"}) {
        gui.reveal(id, "panel/model_settings");
        const Document before = gui.document();
        gui.click(id);
        CHECK_FALSE(gui.document() == before);
      }
    }
  }
}

TEST_CASE("layout: menus and sheets lie inside the window") {
  const Language language = each_language();
  for (const ImVec2 size : {ImVec2{960, 540}, ImVec2{1440, 900}}) {
    Gui gui(small_document(), size);
    gui.push(ChooseLanguage{language});
    for (const char* menu : {"File", "Edit", "View", "Help"}) {
      gui.click("menu/" + std::string(menu));
      for (const auto& [id, r] : gui.drawn().all()) {
        if (id.starts_with("menu/")) CHECK(first_outside({{id, r.min, r.max}}, size) == "");
      }
      gui.key({kKeyEscape});
    }
    for (const Command sheet :
         {Command::kKeys, Command::kAbout, Command::kOpen, Command::kSaveAs}) {
      gui.push(DoCommand{sheet});
      gui.frame(2);
      int open = 0;
      for (const auto& [id, r] : gui.drawn().all()) {
        if (id == "panel/keys" || id == "panel/about" || id.ends_with("_path")) {
          ++open;
          CHECK(first_outside({{id, r.min, r.max}}, size) == "");
        }
      }
      CHECK(open == 1);
      gui.key({kKeyEscape});
      gui.key({kKeyEscape});
    }
  }
}

namespace {

// What a control stands in, and whether the rest of that can be scrolled to.
std::string place_of(const Gui& gui, const std::string& id) {
  if (id == "view/rail" || id.starts_with("rail/direction"))
    return "panel/rail";  // stay above the list
  if (id == "inspector/numbers" || id == "inspector/code" || id == "inspector/words")
    return "panel/inspector";  // the tabs stay where they are
  for (const auto& [prefix, place] : {std::pair{"train/set/", "panel/train_settings"},
                                      std::pair{"train/side/", "panel/inspector"},
                                      std::pair{"train/head/", "panel/train_heads_grid"}}) {
    if (id.starts_with(prefix) && gui.has(place)) return place;
  }
  for (const char* panel : {"rail", "heads", "token", "model", "term", "nudge", "inspector"}) {
    const std::string name = std::string(panel) == "token"       ? "panel/tokens"
                             : std::string(panel) == "model"     ? "panel/model_settings"
                             : std::string(panel) == "term"      ? "panel/inspector_contents"
                             : std::string(panel) == "nudge"     ? "panel/inspector_contents"
                             : std::string(panel) == "inspector" ? "panel/inspector_contents"
                             : std::string(panel) == "rail"      ? "panel/rail_steps"
                                                                 : "panel/" + std::string(panel);
    if (id.starts_with(std::string(panel) + "/") && gui.has(name)) return name;
  }
  return "";
}

// The sheets and menus that can lie over the panels.
bool is_sheet(const std::string& id) {
  return id == "panel/keys" || id == "panel/about" || id == "panel/model_settings" ||
         id == "panel/switches" || id == "panel/cost" || id == "panel/forced" ||
         id == "panel/palette" || id == "panel/compute" || id.ends_with("_path") ||
         id == "panel/train_text" || id == "panel/train_folder" || id == "panel/mask_file";
}

// Everything that can be pressed now, as far as it can be seen.
std::vector<Box> controls(const Gui& gui) {
  std::vector<Box> boxes;
  bool sheet = false;
  for (const auto& [id, r] : gui.drawn().all()) {
    if (is_sheet(id)) boxes.push_back({id, r.min, r.max});
  }
  sheet = !boxes.empty();
  for (const auto& [id, r] : gui.drawn().all()) {
    const bool other = id.starts_with("panel/") || id == "rail/current" || id == "hint/target" ||
                       id.starts_with("pane/") ||
                       id.starts_with("train/pattern/") ||  // matrices have a test of their own
                       id.starts_with("label/") || gui.has(id + "/less");
    if (other || sheet) continue;
    const std::string place = place_of(gui, id);
    if (place.empty()) {
      boxes.push_back({id, r.min, r.max});
      continue;
    }
    const DrawnControl around = gui.rect(place);
    const ImVec2 low{std::max(r.min.x, around.min.x), std::max(r.min.y, around.min.y)};
    const ImVec2 high{std::min(r.max.x, around.max.x), std::min(r.max.y, around.max.y)};
    if (high.x > low.x && high.y > low.y) boxes.push_back({id, low, high});
  }
  std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.id < b.id; });
  return boxes;
}

// A button in a card, a token of the lines view, a bubble of a hint over the panels.
bool may_lie_over(const Box& a, const Box& b) {
  const bool token_of_lines =
      a.id == "lines/area" && (b.id.starts_with("lines/key/") || b.id.starts_with("lines/query/"));
  // The frame of the chosen column of an opened row: nothing to click at.
  const bool frame = a.id == "detail/chosen" || b.id == "detail/chosen";
  return token_of_lines || frame || b.id.starts_with(a.id + "/") || a.id.starts_with("hint/") ||
         b.id.starts_with("hint/");
}

std::string wrong_controls(const Gui& gui) {
  const std::vector<Box> boxes = controls(gui);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (std::size_t j = i + 1; j < boxes.size(); ++j) {
      if (overlap(boxes[i], boxes[j]) && !may_lie_over(boxes[i], boxes[j]))
        return boxes[i].id + " overlaps " + boxes[j].id;
    }
  }
  return first_outside(boxes, gui.size());
}

// What the window can look like, each made from the plain one.
struct LayoutState {
  const char* name;
  std::vector<Action> actions;
};

MaskSpec nothing_allowed() {
  MaskSpec mask;
  mask.kind = MaskKind::kFree;
  for (int query = 0; query < 6; ++query)
    for (int key = 0; key < 6; ++key) mask.forbidden.insert(query, key);
  return mask;
}

std::vector<LayoutState> layout_states() {
  const auto config = [](auto change) {
    Config c = small_document(2, 4, 16).config;
    change(c);
    return DoEdit{SetConfig{c}, ""};
  };
  return {
      {"plain", {}},
      {"compare", {CompareHead{1}}},
      {"lines", {ChooseHeadsView{HeadsView::kLines}}},
      {"free mask", {config([](Config& c) { c.mask.kind = MaskKind::kFree; })}},
      {"strided", {config([](Config& c) { c.mask.kind = MaskKind::kStrided; })}},
      {"many heads", {config([](Config& c) { c.heads = 8, c.layers = 9; })}},
      {"tokens", {GoToStep{"token_ids"}}},
      {"hint 0", {ShowHint{0}}},
      {"hint 1", {ShowHint{1}}},
      {"hint 4", {ShowHint{4}}},
      {"whole stage", {Maximize{PanelId::kStage}}},
      {"whole heads", {Maximize{PanelId::kHeads}}},
      {"whole inspector", {Maximize{PanelId::kInspector}}},
      {"rail opened", {DoCommand{Command::kToggleRail}}},
      {"heads opened or folded", {DoCommand{Command::kToggleHeads}}},
      {"inspector opened or folded", {DoCommand{Command::kToggleInspector}}},
      {"dragged wide", {SizePanels{{500, 600, 500}}}},
      {"no sentence", {DoEdit{SetSentence{""}, ""}}},
      {"one token", {DoEdit{SetSentence{"cat"}, ""}}},
      {"one long word", {DoEdit{SetSentence{std::string(300, 'w')}, ""}}},
      {"an error", {config([](Config& c) { c.d_model = 15; })}},
      {"model sheet", {DoCommand{Command::kToggleModel}}},
      {"keys", {DoCommand{Command::kKeys}}},
      {"about", {DoCommand{Command::kAbout}}},
      {"open", {DoCommand{Command::kOpen}}},
      {"palette", {DoCommand{Command::kPalette}}},
      {"in the making", {DoCommand{Command::kPlay}, Tick{0.7}, DoCommand{Command::kPlay}}},
      {"mask page", {GoToStep{"blocks.0.attn.scores_masked"}}},
      {"all masked", {DoEdit{SetMask{nothing_allowed()}, ""}}},
      {"a warm softmax", {config([](Config& c) { c.temperature = 2.5f; })}},
      {"code", {ChooseTab{InspectorTab::kCode}}},
      {"words", {ChooseTab{InspectorTab::kWords}}},
      {"kernel", {DoCommand{Command::kKernel}}},
      {"processor and graphics card", {DoCommand{Command::kCompareBackends}}},
      {"time against size", {DoCommand{Command::kCompareBackends}, ShowSizes{true}}},
      {"memory and time", {DoCommand{Command::kCost}}},
      {"models from papers", {DoCommand{Command::kPresets}}},
      {"a row that is given, and its own",
       {ChooseModel{"bundled:dates"}, DoEdit{SetSentence{"march 5 2021 → 2021-04"}, ""},
        DoCommand{Command::kForced}}},
      {"colours of others", {ChooseVision{Vision::kDeuteranopia}}},
      {"backward", {ShowBackward{true}}},
      {"nudged",
       {ShowBackward{true}, GoToStep{"d.blocks.0.mlp.pre"}, NudgeCell{}, DoCommand{Command::kPlay},
        Tick{0.7}, DoCommand{Command::kPlay}}},
      {"which class",
       {ChooseModel{"bundled:sentiment"}, ShowBackward{true}, GoToStep{"d.class_loss"}}},
      {"which tokens",
       {ChooseModel{"bundled:masked"},
        DoEdit{SetSentence{"[CLS] [MASK] [MASK] the [MASK] and [MASK] . [MASK] [MASK] [MASK]"}, ""},
        ShowBackward{true}, GoToStep{"d.loss"}}},
      {"zoomed in", {DoCommand{Command::kZoomIn}, DoCommand{Command::kZoomIn}}},
  };
}

std::vector<Action> plain_again() {
  return {ShowBackward{false},
          ShowHint{-1},
          Maximize{PanelId::kNone},
          DoCommand{Command::kResetPanels},
          ChooseTab{InspectorTab::kNumbers},
          ChooseVision{Vision::kFull},
          DoCommand{Command::kResetView},
          CompareHead{-1},
          ChooseHeadsView{HeadsView::kPictures}};
}

// Makes every fifth number of a tensor of the trace NaN.
void make_nan(Gui& gui, std::string_view tensor) {
  const TensorView t = gui.tensor(tensor);
  for (std::int64_t i = 0; i < t.size(); i += 5) const_cast<float*>(t.data)[i] = NAN;
}

std::string in_window(const Gui& gui, float scale, Language language) {
  return std::to_string(gui.size().x) + " x " + std::to_string(gui.size().y) + ", scale " +
         std::to_string(scale) + ", " + std::string(word(language));
}

}  // namespace

TEST_CASE("layout: every control within reach, none over another, no words cut, in any state") {
  const struct {
    ImVec2 size;
    float scale;
  } windows[] = {{{400, 300}, 1},   {{700, 450}, 1},   {{960, 600}, 1},   {{960, 600}, 1.5f},
                 {{1280, 720}, 1},  {{1280, 720}, 2},  {{1280, 720}, 3},  {{1920, 1080}, 1},
                 {{1920, 1080}, 2}, {{3840, 2160}, 1}, {{3840, 2160}, 2}, {{3840, 2160}, 3}};
  for (const auto& window : windows) {
    for (const Language language : {Language::kEnglish, Language::kChinese}) {
      Gui gui(small_document(2, 4, 16), window.size, window.scale);
      gui.push(ChooseLanguage{language});
      gui.frame(2);
      const std::string step = gui.state().session.step;
      for (const LayoutState& state : layout_states()) {
        for (const Action& action : state.actions) gui.push(action);
        gui.frame(2);
        INFO(std::string(state.name), " at ", window.size.x, " x ", window.size.y, ", scale ",
             window.scale, ", ", std::string(word(language)));
        CHECK(wrong_controls(gui) == "");
        CHECK(cut_texts(gui) == "");
        gui.key({kKeyEscape});
        gui.key({kKeyEscape});
        for (const Action& plain : plain_again()) gui.shell().push(plain);
        gui.frame(2);
        while (gui.state().history.can_undo()) gui.push(DoCommand{Command::kUndo});
        while (!gui.state().notices.empty()) gui.push(DismissNotice{0});
        gui.push(GoToStep{step});
      }
    }
  }
}

TEST_CASE("layout: the Train panel, at every size") {
  const struct {
    ImVec2 size;
    float scale;
  } windows[] = {{{400, 300}, 1},  {{960, 600}, 1},   {{1280, 720}, 1}, {{1280, 720}, 2},
                 {{1280, 720}, 3}, {{1920, 1080}, 1}, {{3840, 2160}, 2}};
  for (const auto& window : windows) {
    for (const Language language : {Language::kEnglish, Language::kChinese}) {
      Gui gui(small_document(1, 2, 8), window.size, window.scale);
      gui.push(ChooseLanguage{language});
      gui.push(DoCommand{Command::kTrain});
      gui.frame();
      gui.shell().wait();
      const auto check = [&](const char* state) {
        gui.shell().wait();
        gui.frame(3);
        INFO(state, " in ", in_window(gui, window.scale, language));
        CHECK(wrong_controls(gui) == "");
        CHECK(cut_texts(gui) == "");
      };
      check("fresh");
      RunPlan plan = default_plan("reverse");
      plan.config.heads = 8;
      plan.config.d_model = 16;
      plan.settings.batch = 4;
      gui.push(PlanRun{plan});
      check("another task");
      gui.push(PlayRun{true, 6});
      check("trained");
      gui.push(PinStep{RunPoint{gui.state().train.run.status.run, 1}});
      gui.push(MarkStep{3});
      check("marked and compared");
      for (const Curve curve : {Curve::kAccuracy, Curve::kNorm, Curve::kRate}) {
        gui.push(ChooseCurve{curve, true});
        check("another curve");
      }
      plan.settings.task.clear();
      gui.push(PlanRun{plan});
      check("own text, settings that wait");
      gui.push(StartRun{});
      check("no text");
      for (const OwnData data : {OwnData::kLabels, OwnData::kPairs}) {
        while (!gui.state().notices.empty()) gui.push(DismissNotice{0});
        plan = with_data(plan, data);
        plan.text = {{}, "one column\nalone\n"};
        gui.push(PlanRun{plan});  // nothing was learned: it starts
        gui.shell().wait();
        while (!gui.state().notices.empty()) gui.push(DismissNotice{0});
        check("a table that is refused");
        gui.push(AskText{});
        check("which table");
        gui.key({kKeyEscape});
        gui.key({kKeyEscape});
      }
    }
  }
}

TEST_CASE("layout: every step, finished and in the making, its first numbers NaN, at every size") {
  const struct {
    ImVec2 size;
    float scale;
  } windows[] = {{{400, 300}, 1}, {{960, 600}, 1}, {{1280, 720}, 1}, {{1920, 1080}, 2}};
  for (const auto& window : windows) {
    for (const Language language : {Language::kEnglish, Language::kChinese}) {
      Gui gui(small_document(1, 2, 8), window.size, window.scale);
      gui.push(ChooseLanguage{language});
      gui.push(ShowHint{-1});
      const std::vector<std::string> forward = step_names(gui.trace().program());
      gui.push(ShowBackward{true});
      gui.frame(2);
      for (const std::string& step : step_names(gui.trace().program())) {
        INFO(step, " in ", in_window(gui, window.scale, language));
        gui.push(GoToStep{step});
        gui.frame(2);
        CHECK(wrong_controls(gui) == "");
        CHECK(cut_texts(gui) == "");
        gui.push(ScrubTo{0.3});
        CHECK(wrong_controls(gui) == "");
        CHECK(cut_texts(gui) == "");
        gui.push(ScrubTo{1});
      }
      if (window.scale > 1 || window.size.x == 960) continue;
      for (const std::string& step : forward) {
        INFO(step, " with NaN in ", in_window(gui, window.scale, language));
        if (step == "token_ids") continue;  // ids choose rows: they cannot be NaN
        make_nan(gui, step);
        gui.push(GoToStep{"token_ids"});
        gui.push(GoToStep{step});
        gui.frame(2);
        CHECK(wrong_controls(gui) == "");
        CHECK(cut_texts(gui) == "");
      }
    }
  }
}

TEST_CASE("layout: a thousand tokens, at every step") {
  Document document = small_document(1, 2, 8);
  document.sentence.clear();
  for (int i = 0; i < 1024; ++i) document.sentence += "the cat sat on mats "[i % 20];
  document.tokenizer = TokenizerKind::kCharacters;
  Gui gui(document);
  REQUIRE(gui.trace().length() == 1024);
  for (const std::string& step : step_names(gui.trace().program())) {
    INFO(step);
    gui.push(GoToStep{step});
    gui.frame(2);
    CHECK(wrong_controls(gui) == "");
    CHECK(cut_texts(gui) == "");
  }
}

}  // namespace headlight::test
