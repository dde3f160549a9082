#include "app/frontend.h"

#include "app/ui/panels.h"
#include "core/text/utf8.h"

namespace headlight {

ImGuiHost::ImGuiHost() {
  IMGUI_CHECKVERSION();
  ImGui::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.LogFilename = nullptr;
  // Without it a draw list of more than 65,535 vertices aborts.
  io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
}

ImGuiHost::~ImGuiHost() { ImGui::DestroyContext(); }

bool Frontend::prepare_fonts() {
  const AppState& state = shell_.state();
  bool build = built_scale_ != state.session.scale;
  const std::string& text = state.document().sentence;
  if (text != seen_text_) {
    seen_text_ = text;
    // Labels also use shaped and visible forms of what was typed.
    build |= fonts_.need(text);
    build |= fonts_.need(visual_order(visible_label(text)));
  }
  for (const Notice& notice : state.notices) build |= fonts_.need(notice.text);
  build |= fonts_.need(state.session_path);
  if (build) {
    built_scale_ = state.session.scale;
    fonts_.build(built_scale_);
    if (!fonts_.problem().empty()) shell_.notify(NoticeKind::kWarning, fonts_.problem());
  }
  if (build || dark_ != state.session.dark) {
    dark_ = state.session.dark;
    apply_style(Theme::make(dark_), built_scale_);
  }
  return build;
}

void Frontend::draw(float width, float height) {
  const AppState& state = shell_.state();
  probe_.begin_frame();
  if (state.session.playback.playing) shell_.push(Tick{ImGui::GetIO().DeltaTime});
  Ui ui(Theme::make(state.session.dark), fonts_.set(), state.session.scale, probe_, sink_,
        shell_.queue(), state.session.language, &state.session.focus);
  if (stage_only_ == StageOnly::kNo) {
    draw_window(state, ui, width, height);
  } else {
    draw_stage_only(state, ui, width, height, stage_only_ == StageOnly::kAllHeads);
  }
  shell_.apply();
}

}  // namespace headlight
