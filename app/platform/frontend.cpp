#include "app/platform/frontend.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "app/ui/frame/panels.h"
#include "app/ui/labs/labs_view.h"
#include "core/base/utf8.h"

namespace headlight {

namespace {

// ImGui uses what it asked for without a look: where there is no memory, that would be a crash.
void* allocate(std::size_t bytes, void*) {
  void* memory = std::malloc(std::max<std::size_t>(bytes, 1));
  if (!memory) throw std::bad_alloc();
  return memory;
}

void release(void* memory, void*) { std::free(memory); }

ImGuiContext* make_context() {
  ImGui::SetAllocatorFunctions(allocate, release);
  return ImGui::CreateContext();
}

}  // namespace

ImGuiHost::ImGuiHost() : before_(ImGui::GetCurrentContext()), own_(make_context()) {
  IMGUI_CHECKVERSION();
  ImGui::SetCurrentContext(own_);
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  // A blinking cursor would draw the whole window over and over while nothing changes.
  io.ConfigInputTextCursorBlink = false;
  io.LogFilename = nullptr;
  // Without it a draw list of more than 65,535 vertices aborts.
  io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
}

ImGuiHost::~ImGuiHost() {
  ImGui::DestroyContext(own_);
  ImGui::SetCurrentContext(before_);
}

void Frontend::need_characters() {
  const AppState& state = shell_.state();
  // Labels also use shaped and visible forms of what was typed.
  const std::string& text = state.document().sentence;
  fonts_.need(text);
  fonts_.need(visual_order(visible_label(text)));
  fonts_.need(from_field_text(drawn_.beyond_ascii()));
}

FontsChange Frontend::prepare_fonts() {
  const AppState& state = shell_.state();
  if (state.document().sentence != seen_text_) {
    seen_text_ = state.document().sentence;
    need_characters();
  }
  FontsChange change = FontsChange::kNone;
  const Language language = state.session.language;
  const bool other = built_scale_ != state.session.scale || built_language_ != language;
  const bool lacks = !other && fonts_.is_lacking();
  if (lacks && !fonts_.is_full() && fonts_.grow()) {
    change = FontsChange::kGrown;
  } else if (other || lacks) {
    change = FontsChange::kBuilt;
    built_scale_ = state.session.scale;
    built_language_ = language;
    fonts_.forget();  // what was seen and is gone makes room
    need_characters();
    fonts_.build(built_scale_, language);
    if (!fonts_.problem().empty())
      shell_.notify(NoticeKind::kWarning, Message{std::string(fonts_.problem())});
  }
  if (change == FontsChange::kBuilt || dark_ != state.session.dark) {
    dark_ = state.session.dark;
    apply_style(Theme::make(dark_), built_scale_);
  }
  return change;
}

void Frontend::draw(float width, float height) {
  const AppState& state = shell_.state();
  drawn_.begin_frame();
  sink_.set_vision(state.session.vision);
  sink_.set_device_cells(state.derived.device_cells);
  if (state.session.playback.playing || state.session.train.film)
    shell_.push(Tick{ImGui::GetIO().DeltaTime});
  Ui ui(Theme::make(state.session.dark), fonts_.set(), state.session.scale, drawn_, sink_,
        shell_.queue(), state.session.language, &state.session.focus, state.requests.focus,
        state.session.range);
  if (stage_only_ == StageOnly::kNo) {
    draw_window(state, ui, width, height);
  } else if (stage_only_ == StageOnly::kLab) {
    draw_lab_only(state, ui, width, height);
  } else {
    draw_stage_only(state, ui, width, height, stage_only_ == StageOnly::kAllHeads);
  }
  shell_.end_frame();
  if (drawn_.beyond_ascii() != seen_drawn_) {
    seen_drawn_ = drawn_.beyond_ascii();
    fonts_.need(from_field_text(seen_drawn_));
  }
  if (const std::string copied = shell_.take_copied(); !copied.empty()) {
    ImGui::SetClipboardText(copied.c_str());
  }
}

}  // namespace headlight
