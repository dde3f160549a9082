// Frontend: an ImGui context around a Shell. Builds frames; whoever has OpenGL draws them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/shell/shell.h"
#include "app/ui/kit/drawn.h"
#include "app/ui/kit/fonts.h"
#include "app/ui/kit/ui.h"

namespace headlight {

/// An ImGui context of its own, current as long as this lives; then the one before it is again.
class ImGuiHost {
 public:
  ImGuiHost();
  ~ImGuiHost();
  ImGuiHost(const ImGuiHost&) = delete;
  ImGuiHost& operator=(const ImGuiHost&) = delete;

 private:
  ImGuiContext* before_;
  ImGuiContext* own_;
};

/// What became of the font atlas: more glyphs in the rows Fonts::grown(), or another atlas.
enum class FontsChange { kNone, kGrown, kBuilt };

class Frontend {
 public:
  Frontend(Shell& shell, HeatmapSink& sink) : shell_(shell), sink_(sink) {}

  /// Before ImGui::NewFrame: brings the font atlas to the scale, the language and the characters of
  /// now. Whatever changed has to go to the graphics card.
  FontsChange prepare_fonts();
  /// Between ImGui::NewFrame and ImGui::Render: draws the window and carries out what was asked
  /// for.
  void draw(float width, float height);
  /// From now on only the stage is drawn, over the whole picture: one head, or all of them.
  void show_only_stage(bool all_heads) {
    stage_only_ = all_heads ? StageOnly::kAllHeads : StageOnly::kOne;
  }
  /// The same of the shown lab's page.
  void show_only_lab() { stage_only_ = StageOnly::kLab; }
  /// Does anything move by itself, so that another frame is needed without input?
  bool wants_frame() const {
    const AppState& state = shell_.state();
    return !shell_.queue().empty() || state.derived.computing || state.session.playback.playing ||
           state.session.train.film || sink_.unfinished() || fonts_.is_lacking();
  }

  Shell& shell() { return shell_; }
  const Drawn& drawn() const { return drawn_; }
  const Fonts& fonts() const { return fonts_; }

 private:
  void need_characters();

  enum class StageOnly { kNo, kOne, kAllHeads, kLab };
  Shell& shell_;
  HeatmapSink& sink_;
  Fonts fonts_;
  Drawn drawn_;
  float built_scale_ = 0;
  Language built_language_ = Language::kEnglish;
  bool dark_ = false;
  StageOnly stage_only_ = StageOnly::kNo;
  std::string seen_text_, seen_drawn_;
};

}  // namespace headlight
