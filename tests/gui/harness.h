// Gui: the real shell, panels and Dear ImGui without a window or OpenGL. Input comes as a person
// gives it, one fact per frame; what was drawn can be read back as heatmaps and as words.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/platform/frontend.h"
#include "core/view/pane_layout.h"
#include "tests/support/sanitized.h"

namespace headlight::test {

/// A heatmap that a panel asked for, and the part of the window where it can be seen.
struct DrawnHeatmap {
  HeatmapQuad quad;
  Rect clip;
  float cell(std::int64_t r, std::int64_t c) const {
    const std::int64_t in_head = quad.head_stride > 0 ? c % quad.head_columns : c;
    const std::int64_t head = quad.head_stride > 0 ? c / quad.head_columns : 0;
    return quad.data[head * quad.head_stride + r * quad.row_stride + in_head * quad.column_stride];
  }
};

/// Keeps the heatmaps of the last frame instead of drawing them.
class RecordingSink final : public HeatmapSink {
 public:
  void draw(ImDrawList*, const HeatmapQuad&) override;
  void begin_frame(std::shared_ptr<const Trace> shown) {
    drawn_.clear();
    shown_ = std::move(shown);
  }
  const std::vector<DrawnHeatmap>& drawn() const { return drawn_; }

 private:
  std::vector<DrawnHeatmap> drawn_;
  std::shared_ptr<const Trace> shown_;  // keeps the numbers that the quads point to
};

/// Words that were drawn in one go, read back from the vertices. Spaces draw nothing and are left
/// out; what the clip rectangle hides is left out as well.
struct DrawnText {
  std::string words;
  ImVec2 min, max;
  bool slanted = false;
  bool strong = false;  // in the font that makes names stand out
};

/// A key press beside text: editing keys go to Dear ImGui, shortcuts to the shell first.
struct EditKey {
  ImGuiKey key{};
  bool ctrl = false, shift = false;
};

class Gui {
 public:
  explicit Gui(Document document = {}, ImVec2 size = {1440, 900}, float scale = 1,
               RunLimits limits = {}, UserFolders folders = {});
  /// With a background, say, whose answers shell().poll() takes in.
  Gui(Document document, std::reference_wrapper<const ShellOptions> options,
      ImVec2 size = {1440, 900}, float scale = 1);

  const AppState& state() const { return shell_.state(); }
  const Document& document() const { return state().document(); }
  const Config& config() const { return document().config; }
  /// Fails the test when there is none.
  const Trace& trace() const;
  TensorView tensor(std::string_view name) const { return trace().tensor(name); }
  Shell& shell() { return shell_; }
  const Drawn& drawn() const { return frontend_.drawn(); }
  const RecordingSink& heatmaps() const { return sink_; }
  ImVec2 size() const { return size_; }

  void frame(int count = 1);
  void set_size(float width, float height);
  void set_scale(float scale);
  void push(Action action);

  // ---- pointing; an id that is not on the screen fails the test ----
  bool has(std::string_view id) const { return drawn().find(id) != nullptr; }
  DrawnControl rect(std::string_view id) const;
  void move_to(ImVec2 at);
  void press(bool down);
  void click_at(ImVec2 at);
  void click(std::string_view id) { click_at(rect(id).center()); }
  void shift_click(std::string_view id);
  void ctrl_click(std::string_view id);
  void right_click(std::string_view id);
  /// Presses on `from`, moves in two steps to `to`, lets go.
  void drag(ImVec2 from, ImVec2 to);
  void hover(std::string_view id) { move_to(rect(id).center()); }
  /// The middle of cell (r, c) of a pane of `rows` × `columns` cells.
  ImVec2 cell_center(std::string_view id, std::int64_t r, std::int64_t c) const;
  void click_cell(std::string_view id, std::int64_t r, std::int64_t c) {
    click_at(cell_center(id, r, c));
  }
  void wheel(ImVec2 at, float amount);
  /// Turns the wheel over `panel` until `id` lies inside it.
  void reveal(std::string_view id, std::string_view panel);

  // ---- typing ----
  bool in_field() const { return ImGui::GetIO().WantTextInput; }
  void type(std::string_view utf8);
  /// As the window does it: a command's key never reaches a field as well.
  void key(Shortcut);
  void ctrl(char letter, bool shift = false) { key({letter, true, shift}); }
  void edit_key(EditKey);
  /// Ctrl+V with this text in the clipboard.
  void paste(std::string_view utf8);

  // ---- reading the screen ----
  std::vector<DrawnText> texts();
  /// Are these words on the screen?
  bool shows(std::string_view words);
  /// The heatmap that fills exactly this control; fails the test when there is none.
  const DrawnHeatmap& heatmap(std::string_view id) const;
  bool has_heatmap(std::string_view id) const { return find_heatmap(id) != nullptr; }
  /// Has this part of the window a line of the theme's colour along all its edges?
  bool has_frame(const Rect&) const;
  /// All notices, one a line.
  std::string notices() const;
  bool notices_say(std::string_view part) const {
    return notices().find(part) != std::string::npos;
  }

 private:
  const DrawnHeatmap* find_heatmap(std::string_view id) const;
  void set_modifiers(bool ctrl, bool shift);

  ImGuiHost host_;
  Shell shell_;
  RecordingSink sink_;
  Frontend frontend_;
  ImVec2 size_;
  std::string clipboard_;
  struct Glyph {
    unsigned codepoint = 0;
    bool strong = false;
  };
  std::unordered_map<std::uint64_t, Glyph> glyphs_;  // by place in the atlas
};

/// For pictures: everything at once, without stored settings.
ShellOptions still_options(int threads);

/// One head and one layer short: a small, quick model.
Document small_document(int layers = 1, int heads = 2, int d_model = 8);

/// All bundled models, as assets/models has them.
std::vector<std::string> bundled_names();

/// One of them, with its example sentence.
Document bundled_document(const std::string& name);

/// The names of the steps, in the program's order.
std::vector<std::string> step_names(const Program&);

/// Those of them that a walk through all pages visits: of each stack's layers the first and the
/// last, whose pages those between have, with other numbers.
std::vector<std::string> page_names(const Program&);

/// Does the trace belong to the document? Otherwise a problem must be said. Empty when all is well.
std::string inconsistency(const AppState&);

/// A folder of its own that goes away again.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);

}  // namespace headlight::test
