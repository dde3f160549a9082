// Ui: what a panel draws with. Widgets carry stable ids, actions go into a queue, heatmaps to
// whoever can draw them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/kit/drawn.h"
#include "app/ui/kit/fonts.h"
#include "app/ui/kit/theme.h"
#include "app/ui/state/actions.h"
#include "core/view/device_cells.h"
#include "core/view/heatmap.h"

namespace headlight {

/// Draws matrices into a draw list: OpenGL in the window, a recorder in tests.
class HeatmapSink {
 public:
  virtual ~HeatmapSink() = default;
  virtual void draw(ImDrawList*, const HeatmapQuad&) = 0;
  /// Many small ones, in as few draws as can be.
  virtual void draw_all(ImDrawList* list, std::span<const HeatmapQuad> quads) {
    for (const HeatmapQuad& quad : quads) draw(list, quad);
  }
  /// From now on the whole window is shown as these eyes see it.
  virtual void set_vision(Vision) {}
  /// From now on these cells can be taken from the graphics card; null: none.
  virtual void set_device_cells(std::shared_ptr<const DeviceCells>) {}
  /// Do pictures of the last frame wait for the next one?
  virtual bool unfinished() const { return false; }
};

struct Rect {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  float width() const { return x1 - x0; }
  float height() const { return y1 - y0; }
  ImVec2 min() const { return {x0, y0}; }
  ImVec2 max() const { return {x1, y1}; }
  bool contains(ImVec2 p) const { return p.x >= x0 && p.x < x1 && p.y >= y0 && p.y < y1; }
};

/// A control that the keyboard can reach, where it stands and what it stands in.
struct Focusable {
  std::string id;
  Rect rect;
  FocusKind kind{};
  int popups = 0;  // how many menus and sheets it lies in
};

class Ui {
 public:
  Ui(Theme theme_now, const FontSet& fonts_now, float scale_now, Drawn& drawn_now,
     HeatmapSink& heatmaps_now, std::vector<Action>& actions,
     Language language_now = Language::kEnglish, const Focus* focus_now = nullptr,
     FocusRequest focus_request = {}, RangeMode range_now = RangeMode::kShared)
      : language(language_now),
        range(range_now),
        theme(theme_now),
        fonts(fonts_now),
        scale(scale_now),
        drawn(drawn_now),
        heatmaps(heatmaps_now),
        actions_(actions),
        focus_(focus_now),
        request_(focus_request) {}

  const Language language;
  const RangeMode range;  // of the pictures' colours
  const Theme theme;
  const FontSet& fonts;
  const float scale;
  Drawn& drawn;
  HeatmapSink& heatmaps;
  /// The cell under the mouse, set by whichever picture shows it; every other picture of the same
  /// tensor lights it in the next frame.
  std::optional<CellPick> hovered_cell;
  /// What no tooltip of another control covers: the sentence, whose change it explains.
  Rect kept_clear;

  /// Design pixels to screen pixels.
  float px(float design) const { return design * scale; }
  /// The text of the interface with this id, in the person's language (assets/i18n).
  std::string_view tr(std::string_view id) const { return headlight::tr(language, id); }
  std::string tr(std::string_view id, std::initializer_list<Slot> slots) const {
    return headlight::tr(language, id, slots);
  }
  void push(Action action) { actions_.push_back(std::move(action)); }

  // ---- text, at a place, in one line ----
  ImVec2 measure(ImFont*, std::string_view) const;
  /// Draws our own text; reports to `drawn` when it is wider than `room` (0: any).
  void text(ImFont*, ImVec2 at, Color, std::string_view, float room = 0);
  /// Draws a text of the person's (tokens, file names), shortened with "…" to `room`.
  void user_text(ImFont*, ImVec2 at, Color, std::string_view, float room);
  /// Right-aligned at `right`.
  void text_right(ImFont*, float right, float y, Color, std::string_view);
  /// A bar for `share` (0 to 1) of `room`, from its left: at least a hair for what is not zero,
  /// nothing for zero and NaN. Returns where it ends.
  float bar(const Rect& room, double share, Color);
  /// Words over several lines; returns the height used.
  float wrapped(ImFont*, ImVec2 at, float width, Color, std::string_view);
  /// The height that wrapped() would use.
  float wrapped_height(ImFont*, float width, std::string_view) const;
  /// Formula markup ({q|Q}, ^{T}, _{k}); returns the width. Draws nothing when `draw` is false.
  float formula(ImVec2 at, std::string_view markup, bool draw = true);

  // ---- widgets ----
  /// A surface with border; the panel's contents go between begin_panel and end_panel.
  void begin_panel(const char* id, const Rect&, bool scrolls = false);
  void end_panel();
  /// A button that fills `rect`; true when pressed.
  bool button(std::string_view id, std::string_view label, const Rect&, bool on = false,
              bool enabled = true, std::string_view help = {});
  /// An invisible button; true when pressed. `hovered` may be null.
  bool hot(std::string_view id, const Rect&, bool* hovered = nullptr, bool enabled = true,
           FocusKind kind = FocusKind::kButton);
  /// ImGui's id of a hot() in the current child.
  ImGuiID hot_id(std::string_view id) const;
  /// One of several; returns the index pressed or -1.
  int segmented(std::string_view id, std::span<const std::string> labels, int chosen, ImVec2 at,
                float height, std::span<const std::string_view> words, bool enabled = true,
                std::string_view help = {});
  float segmented_width(std::span<const std::string> labels) const;
  /// "−  12  +": returns the new value.
  int stepper(std::string_view id, int value, int low, int high, const Rect&);
  void tooltip(std::string_view);
  /// Words over several lines among ImGui's own items, in the current font.
  void paragraph(std::string_view words, float width);
  /// A line of a menu; true when chosen.
  bool menu_item(std::string_view id, std::string_view label, std::string_view key = {},
                 bool checked = false, bool enabled = true);
  /// Around one of ImGui's fields: the keyboard reaches it, `drawn` knows it.
  void before_field(std::string_view id);
  void after_field(std::string_view id);

  // ---- the keyboard (app/ui/kit/focus.cpp) ----
  /// Takes the control into the order of the Tab key and draws its ring; `hot` and `button` do so
  /// by themselves. True when a key pressed it. For controls that are scrolled out of sight.
  bool focusable(std::string_view id, const Rect&, FocusKind kind = FocusKind::kButton);
  bool is_focused(std::string_view id) const {
    return focus_ && focus_->visible && focus_->id == id;
  }
  /// Steps by which arrow keys change this slider now: mostly 0.
  int nudge(std::string_view id) const { return is_focused(id) ? request_.nudge : 0; }
  /// Was it pressed by a key in this frame?
  bool activated(std::string_view id) const { return is_focused(id) && request_.activate; }
  /// At the end of the frame: draws the ring, moves the focus as the keys asked.
  void settle_focus();

 private:
  const Focusable* neighbour(const Focusable&) const;
  struct Ring {
    Rect rect, clip;
  };
  std::vector<Action>& actions_;
  const Focus* focus_;
  const FocusRequest request_;
  std::vector<Focusable> focusables_;  // in the order they were drawn
  std::optional<Ring> ring_;
};

/// How a token reads in the window: visible, in visual order, within ImGui's characters.
std::string token_label(std::string_view token);

/// The colour that a letter stands for in formulas and in RoleInfo: 'q', 'k', 'v', 'p'; of others
/// that of text.
Color formula_color(const Theme&, char letter);

}  // namespace headlight
