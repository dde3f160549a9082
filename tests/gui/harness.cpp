#include "tests/gui/harness.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "app/ui/kit/line_text.h"
#include "core/base/texts.h"
#include "core/base/utf8.h"
#include "core/graph/program_memory.h"
#include "core/model/bundled.h"
#include "core/model/model.h"
#include "core/run/model_input.h"
#include "core/train/model_recipe.h"

namespace headlight::test {
namespace {

ShellOptions at_once(RunLimits limits, UserFolders folders) {
  ShellOptions options;
  options.folders = std::move(folders);
  options.limits = limits;
  options.background = false;
  return options;
}

// Dear ImGui 1.86 has arrays, later versions have events; whichever exists is used.
template <class Io>
void prepare_keys(Io& io) {
  if constexpr (requires { io.AddKeyEvent(ImGuiKey{}, true); }) {
    if constexpr (requires { io.ConfigInputTrickleEventQueue; }) {
      io.ConfigInputTrickleEventQueue = false;
    }
  } else {
    for (int key = 0; key < ImGuiKey_COUNT; ++key) io.KeyMap[key] = key;
  }
}

template <class Io>
void feed_key(Io& io, ImGuiKey key, bool down) {
  if constexpr (requires { io.AddKeyEvent(key, down); }) {
    io.AddKeyEvent(key, down);
  } else {
    io.KeysDown[io.KeyMap[key]] = down;
  }
}

template <class Io>
void feed_modifiers(Io& io, bool ctrl, bool shift) {
  if constexpr (requires { io.AddKeyEvent(ImGuiKey{}, true); }) {
    // ImGuiMod_Ctrl and ImGuiMod_Shift, names that 1.86 does not know.
    io.AddKeyEvent(static_cast<ImGuiKey>(1 << 12), ctrl);
    io.AddKeyEvent(static_cast<ImGuiKey>(1 << 13), shift);
  } else {
    io.KeyCtrl = ctrl;
    io.KeyShift = shift;
  }
}

template <class Io>
void feed_wheel(Io& io, float amount) {
  if constexpr (requires { io.AddMouseWheelEvent(0.0f, amount); }) {
    io.AddMouseWheelEvent(0.0f, amount);
  } else {
    io.MouseWheel = amount;
  }
}

std::uint64_t place_of(ImVec2 corner, ImVec2 opposite) {
  std::uint32_t bits[4];
  std::memcpy(bits, &corner, sizeof corner);
  std::memcpy(bits + 2, &opposite, sizeof opposite);
  std::uint64_t key = 1469598103934665603u;
  for (const std::uint32_t b : bits) key = (key ^ b) * 1099511628211u;
  return key;
}

// Line ends and tabs as they are drawn.
std::string with_signs(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '\n' ? "↵" : c == '\t' ? "⇥" : std::string(1, c);
  }
  return out;
}

std::string without_spaces(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\n') out += c;
  }
  return out;
}

}  // namespace

void RecordingSink::draw(ImDrawList* list, const HeatmapQuad& quad) {
  const ImVec2 low = list->GetClipRectMin(), high = list->GetClipRectMax();
  drawn_.push_back({quad, {low.x, low.y, high.x, high.y}});
}

Gui::Gui(Document document, ImVec2 size, float scale, RunLimits limits, UserFolders folders)
    // Until the end of this call, which copies it.
    : Gui(std::move(document),
          std::cref(static_cast<const ShellOptions&>(at_once(limits, std::move(folders)))), size,
          scale) {}

Gui::Gui(Document document, std::reference_wrapper<const ShellOptions> options, ImVec2 size,
         float scale)
    : shell_(std::move(document), options.get()), frontend_(shell_, sink_), size_(size) {
  prepare_keys(ImGui::GetIO());
  shell_.set_screen_scale(scale);
  move_to({-1, -1});
  frame(2);
}

const Trace& Gui::trace() const {
  REQUIRE_MESSAGE(state().derived.trace, "no trace: ", state().derived.problem);
  return *state().derived.trace;
}

void Gui::frame(int count) {
  ImGuiIO& io = ImGui::GetIO();
  for (int i = 0; i < count; ++i) {
    io.DisplaySize = size_;
    io.DeltaTime = 1.0f / 60.0f;
    if (frontend_.prepare_fonts() != FontsChange::kNone) glyphs_.clear();
    ImGui::NewFrame();
    sink_.begin_frame(state().derived.trace);
    frontend_.draw(size_.x, size_.y);
    ImGui::Render();
    CHECK_MESSAGE(missing_text().empty(), "no text for ", missing_text());
  }
}

void Gui::set_size(float width, float height) {
  size_ = {width, height};
  frame(3);
}

void Gui::set_scale(float scale) {
  shell_.set_look(state().session.dark, scale);
  frame(3);
}

void Gui::push(Action action) {
  shell_.push(std::move(action));
  frame(2);
}

// ---- pointing ----

DrawnControl Gui::rect(std::string_view id) const {
  const DrawnControl* found = drawn().find(id);
  std::string near;
  if (!found) {
    const std::string_view start = id.substr(0, id.find('/'));
    for (const auto& [name, where] : drawn().all()) {
      if (name.starts_with(start)) near += " " + name;
    }
  }
  REQUIRE_MESSAGE(found, "not on the screen: ", std::string(id), "; there are:", near);
  return *found;
}

void Gui::move_to(ImVec2 at) {
  feed_mouse_position(ImGui::GetIO(), at.x, at.y);
  frame();
}

void Gui::press(bool down) {
  feed_mouse_button(ImGui::GetIO(), 0, down);
  frame();
}

void Gui::click_at(ImVec2 at) {
  move_to(at);
  press(true);
  press(false);
  frame(2);  // what was asked for has been done, drawn, and popups have their size
}

void Gui::shift_click(std::string_view id) {
  const ImVec2 at = rect(id).center();
  set_modifiers(false, true);
  click_at(at);
  set_modifiers(false, false);
}

void Gui::ctrl_click(std::string_view id) {
  const ImVec2 at = rect(id).center();
  set_modifiers(true, false);
  click_at(at);
  set_modifiers(false, false);
}

void Gui::right_click(std::string_view id) {
  move_to(rect(id).center());
  feed_mouse_button(ImGui::GetIO(), 1, true);
  frame();
  feed_mouse_button(ImGui::GetIO(), 1, false);
  frame(3);
}

void Gui::drag(ImVec2 from, ImVec2 to) {
  move_to(from);
  press(true);
  frame();
  move_to({(from.x + to.x) / 2, (from.y + to.y) / 2});
  move_to(to);
  press(false);
  frame(2);
}

ImVec2 Gui::cell_center(std::string_view id, std::int64_t r, std::int64_t c) const {
  const HeatmapQuad& q = heatmap(id).quad;
  const float w = (q.x1 - q.x0) / static_cast<float>(q.columns);
  const float h = (q.y1 - q.y0) / static_cast<float>(q.rows);
  return {q.x0 + (static_cast<float>(c) + 0.5f) * w, q.y0 + (static_cast<float>(r) + 0.5f) * h};
}

void Gui::wheel(ImVec2 at, float amount) {
  move_to(at);
  feed_wheel(ImGui::GetIO(), amount);
  frame(2);
}

void Gui::reveal(std::string_view id, std::string_view panel) {
  for (int turns = 0; turns < 80; ++turns) {
    const DrawnControl inside = rect(id), around = rect(panel);
    const bool above = inside.min.y<around.min.y, below = inside.max.y> around.max.y;
    if (!above && !below) return;
    wheel(around.center(), above ? 1.0f : -1.0f);
  }
  FAIL("the wheel does not bring into view: ", std::string(id));
}

// ---- typing ----

void Gui::set_modifiers(bool ctrl, bool shift) {
  feed_modifiers(ImGui::GetIO(), ctrl, shift);
  frame();
}

void Gui::type(std::string_view utf8) {
  for (const char32_t c : to_code_points(utf8)) {
    ImGui::GetIO().AddInputCharacter(to_field_character(c));
    frame();
  }
  frame();
}

void Gui::key(Shortcut shortcut) {
  const bool bracket = shortcut.key == '[' || shortcut.key == ']';
  if (bracket) {  // these come as characters
    if (in_field()) return type(std::string(1, static_cast<char>(shortcut.key)));
    shell_.key(shortcut, false);
    return frame(2);
  }
  if (shortcut.ctrl || shortcut.shift) set_modifiers(shortcut.ctrl, shortcut.shift);
  const bool taken = shell_.key(shortcut, in_field());
  frame();
  if (taken && shortcut.key == kKeyTab) frame(3);  // a field takes its time
  if (!taken && shortcut.key == kKeyEnter) edit_key({ImGuiKey_Enter, shortcut.ctrl});
  if (!taken && shortcut.key == kKeyLeft) edit_key({ImGuiKey_LeftArrow, shortcut.ctrl});
  if (!taken && shortcut.key == kKeyRight) edit_key({ImGuiKey_RightArrow, shortcut.ctrl});
  // A letter also comes as a character, after the key.
  if (!shortcut.ctrl && shortcut.key >= 'A' && shortcut.key <= 'Z') {
    ImGui::GetIO().AddInputCharacter(
        static_cast<unsigned>(shortcut.key + (shortcut.shift ? 0 : 32)));
  }
  frame();
  if (shortcut.ctrl || shortcut.shift) set_modifiers(false, false);
  frame();
}

void Gui::edit_key(EditKey e) {
  if (e.ctrl || e.shift) set_modifiers(e.ctrl, e.shift);
  feed_key(ImGui::GetIO(), e.key, true);
  frame();
  feed_key(ImGui::GetIO(), e.key, false);
  frame();
  if (e.ctrl || e.shift) set_modifiers(false, false);
  frame();
}

void Gui::paste(std::string_view utf8) {
  clipboard_ = pasted_text(utf8);
  ImGuiIO& io = ImGui::GetIO();
  io.ClipboardUserData = this;
  io.GetClipboardTextFn = [](void* gui) -> const char* {
    return static_cast<Gui*>(gui)->clipboard_.c_str();
  };
  key({'V', true});
  edit_key({ImGuiKey_V, true});
}

// ---- reading the screen ----

std::vector<DrawnText> Gui::texts() {
  if (glyphs_.empty()) {
    constexpr int kStrong = 5;  // in the order of Fonts::build
    const ImVector<ImFont*>& fonts = ImGui::GetIO().Fonts->Fonts;
    for (int i = 0; i < fonts.Size; ++i) {
      for (const ImFontGlyph& g : glyphs_of(fonts[i])) {
        glyphs_[place_of({g.U0, g.V0}, {g.U1, g.V1})] = {g.Codepoint, i == kStrong};
      }
    }
  }
  std::vector<DrawnText> result;
  const ImDrawData* data = ImGui::GetDrawData();
  for (int n = 0; n < data->CmdListsCount; ++n) {
    const ImDrawList& list = *data->CmdLists[n];
    for (const ImDrawCmd& command : list.CmdBuffer) {
      const ImDrawVert* last = nullptr;  // of the letter before
      unsigned i = 0;
      while (i + 6 <= command.ElemCount) {
        const ImDrawIdx* index = list.IdxBuffer.Data + command.IdxOffset + i;
        const ImDrawVert* v = list.VtxBuffer.Data + command.VtxOffset + index[0];
        const bool is_quad = index[1] == index[0] + 1 && index[5] == index[0] + 3;
        const auto found = is_quad ? glyphs_.find(place_of(v[0].uv, v[2].uv)) : glyphs_.end();
        if (found == glyphs_.end()) {
          last = nullptr;
          i += 3;
          continue;
        }
        i += 6;
        const ImVec2 middle = {(v[0].pos.x + v[2].pos.x) / 2, (v[0].pos.y + v[2].pos.y) / 2};
        const ImVec4& clip = command.ClipRect;
        if (middle.x < clip.x || middle.x > clip.z || middle.y < clip.y || middle.y > clip.w) {
          last = nullptr;
          continue;
        }
        // A gap much wider than a space, or a step back: other words.
        const ImVec2 step =
            last ? ImVec2(v[0].pos.x - last[1].pos.x, v[0].pos.y - last[1].pos.y) : ImVec2(1e6f, 0);
        // A mark above a letter stands on it, not behind it.
        const auto [letter, strong] = found->second;
        const bool is_mark = last && letter >= 0x0300 && letter <= 0x036F;
        const bool apart = !is_mark && (step.x > 14 * state().session.scale || step.x < -3 ||
                                        std::fabs(step.y) > 14 * state().session.scale);
        if (apart) result.push_back({"", v[0].pos, v[0].pos});
        DrawnText& text = result.back();
        text.words += to_utf8(letter);
        text.slanted |= v[0].pos.y != v[1].pos.y;
        text.strong |= strong;
        for (int corner = 0; corner < 4; ++corner) {
          const ImVec2 p = v[corner].pos;
          text.min = {std::min(text.min.x, p.x), std::min(text.min.y, p.y)};
          text.max = {std::max(text.max.x, p.x), std::max(text.max.y, p.y)};
        }
        if (!is_mark) last = v;
      }
    }
  }
  for (DrawnText& text : result) text.words = with_signs(from_field_text(text.words));
  return result;
}

bool Gui::shows(std::string_view words) {
  const std::string wanted = without_spaces(words);
  const std::vector<DrawnText> all = texts();
  return std::any_of(all.begin(), all.end(), [&](const DrawnText& text) {
    return text.words.find(wanted) != std::string::npos;
  });
}

const DrawnHeatmap* Gui::find_heatmap(std::string_view id) const {
  const DrawnControl* r = drawn().find(id);
  if (!r) return nullptr;
  for (const DrawnHeatmap& d : sink_.drawn()) {
    // A matrix that is zoomed into reaches beyond its control and is clipped to it.
    const HeatmapQuad& q = d.quad;
    const bool fills =
        std::max(q.x0, d.clip.x0) == r->min.x && std::max(q.y0, d.clip.y0) == r->min.y &&
        std::min(q.x1, d.clip.x1) == r->max.x && std::min(q.y1, d.clip.y1) == r->max.y;
    if (fills) return &d;
  }
  return nullptr;
}

const DrawnHeatmap& Gui::heatmap(std::string_view id) const {
  const DrawnHeatmap* found = find_heatmap(id);
  REQUIRE_MESSAGE(found, "no heatmap at ", std::string(id));
  return *found;
}

bool Gui::has_frame(const Rect& r) const {
  const ImU32 line = to_u32(Theme::make(state().session.dark).line);
  const ImDrawData* data = ImGui::GetDrawData();
  bool found[4] = {};
  for (int n = 0; n < data->CmdListsCount; ++n) {
    for (const ImDrawVert& v : data->CmdLists[n]->VtxBuffer) {
      if (v.col != line) continue;
      // Off the corner itself, where what is filled with the colour has its own.
      for (int corner = 0; corner < 4; ++corner) {
        const float x = corner % 2 ? r.x1 : r.x0, y = corner / 2 ? r.y1 : r.y0;
        const float dx = std::fabs(v.pos.x - x), dy = std::fabs(v.pos.y - y);
        found[corner] |= dx > 0.3f && dy > 0.3f && dx < 2.1f && dy < 2.1f;
      }
    }
  }
  return std::all_of(std::begin(found), std::end(found), [](bool f) { return f; });
}

std::string Gui::notices() const {
  std::string text;
  for (const Notice& notice : state().notices) text += notice.text + "\n";
  return text;
}

// ---- documents, files ----

ShellOptions still_options(int threads) {
  ShellOptions options;
  options.threads = threads;
  options.background = false;
  return options;
}

Document small_document(int layers, int heads, int d_model) {
  Document document;
  document.config.layers = layers;
  document.config.heads = heads;
  document.config.d_model = d_model;
  document.sentence = "the cat sat on a mat";
  return document;
}

std::vector<std::string> bundled_names() {
  std::vector<std::string> names;
  for (const BundledModel& model : bundled_models()) names.emplace_back(model.name);
  return names;
}

Document bundled_document(const std::string& name) {
  const auto model = load_model(std::string(kBundledRef) + name);
  Document document = apply(Document{}, choose_model(Document{}, *model));
  document.sentence = bundled_recipe(name).example;
  return document;
}

std::vector<std::string> step_names(const Program& program) {
  std::vector<std::string> names;
  for (const Step& step : program.steps) {
    names.push_back(program.tensors[static_cast<std::size_t>(step.tensor)].name);
  }
  return names;
}

std::vector<std::string> page_names(const Program& program) {
  std::map<Stack, int> last;
  for (const Step& step : program.steps) last[step.stack] = std::max(last[step.stack], step.layer);
  std::vector<std::string> names;
  for (const Step& step : program.steps) {
    if (step.layer > 0 && step.layer < last[step.stack]) continue;
    names.push_back(program.tensors[static_cast<std::size_t>(step.tensor)].name);
  }
  return names;
}

namespace {

// What the sentence is cut into: by the document's tokenizer, or by the model's vocabulary.
std::vector<std::string> expected_tokens(const AppState& state) {
  const Document& doc = state.document();
  auto limit = static_cast<std::size_t>(doc.max_tokens);
  const std::string_view sentence = doc.config.form == ModelForm::kTranslate
                                        ? split_pair(doc.sentence).source
                                        : std::string_view(doc.sentence);
  std::vector<std::string> texts;
  if (const auto& model = state.derived.model) {
    if (model->file.config.positions == PositionKind::kLearned)
      limit = std::min(limit,
                       static_cast<std::size_t>(std::max(model->file.context, model->file.source)));
    for (const int id : model->vocabulary->encode(sentence))
      texts.push_back(model->vocabulary->token(id));
    // What goes on with a text reads its end.
    const std::size_t left_out = texts.size() - std::min(texts.size(), limit);
    if (goes_on(*model)) texts.erase(texts.begin(), texts.begin() + std::ptrdiff_t(left_out));
    texts.resize(std::min(texts.size(), limit));
    return texts;
  }
  if (doc.config.numbers) {  // as the tests write them: with blanks, and two decimals
    std::istringstream words{std::string(sentence)};
    for (std::string word; words >> word;) texts.push_back(word);
    return texts;
  }
  Tokenizer tokenizer(doc.tokenizer);
  tokenizer.keep_whole(whole_token(doc.config));
  for (const Token& token : tokenizer.tokenize(sentence, limit)) texts.push_back(token.text);
  return texts;
}

}  // namespace

std::string inconsistency(const AppState& state) {
  const Document& doc = state.document();
  const Derived& d = state.derived;
  if (d.computing) return "computing, though everything is to be done at once";
  if (!d.problem.empty()) return "";
  if (!d.trace) return "neither a trace nor a problem";
  const Trace& trace = *d.trace;
  // The document keeps what a switch has made idle, for when it is switched back.
  if (!(without_idle_options(trace.config()) == without_idle_options(doc.config)))
    return "the trace is of another config";
  std::vector<std::string> tokens = expected_tokens(state);
  if (doc.model.empty() && begins_with_class(doc.config)) tokens.insert(tokens.begin(), "[CLS]");
  const auto separators = static_cast<std::size_t>(std::ranges::count(tokens, "[SEP]"));
  const bool ends = !tokens.empty() && tokens.back() == "[SEP]";
  if (closes_pair(doc.config, separators, ends)) tokens.emplace_back("[SEP]");
  const auto& shown = trace.program().shape.source > 0 ? trace.input().source_tokens  // it is read
                                                       : trace.input().tokens;
  if (shown.size() != tokens.size()) return "another number of tokens";
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (shown[i] != tokens[i]) return "token " + std::to_string(i) + " differs";
  }
  const Session& s = state.session;
  if (trace.program().find(s.step) < 0) return "no such step: " + s.step;
  if (s.head < 0 || s.head >= trace.config().head_count()) return "no such head";
  if (s.layer < 0 || s.layer >= std::max(trace.config().layers, 1)) return "no such layer";
  if (s.picked) {
    const TensorView t = trace.find(s.picked->tensor);
    if (!t.data || s.picked->index.size() != t.axes.size()) return "the picked cell has no tensor";
    for (std::size_t a = 0; a < t.axes.size(); ++a) {
      const std::int64_t i = s.picked->index[a];
      if (i < 0 || i >= t.axes[a].size) return "the picked cell is outside " + s.picked->tensor;
    }
  }
  return "";
}

TemporaryFolder::TemporaryFolder() {
  static int count = 0;
  folder_ = std::filesystem::temp_directory_path() /
            ("headlight_gui_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
  std::filesystem::create_directories(folder_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace headlight::test
