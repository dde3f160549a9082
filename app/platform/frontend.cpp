#include "app/platform/frontend.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "app/ui/frame/panels.h"
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

namespace {

// What the Train panel shows of the person's own data: any token may be said next.
bool need_training(Fonts& fonts, const AppState& state) {
  constexpr std::size_t kMaxTokens = 4096;
  const RunView& run = state.train.run;
  bool build = fonts.need(state.session.train.plan.text.path.filename().string());
  if (!run.plan || !run.plan->settings.task.empty()) return build;
  build |= fonts.need(say(state.session.language, run.status.problem));
  if (!run.task) return build;
  for (const std::string& name : run.task->classes()) build |= fonts.need(name);
  const auto& tokens = *run.task->vocabulary().tokens();
  for (std::size_t i = 0; i < std::min(tokens.size(), kMaxTokens); ++i)
    build |= fonts.need(tokens[i]);
  return build;
}

}  // namespace

bool Frontend::prepare_fonts() {
  const AppState& state = shell_.state();
  const Language language = state.session.language;
  bool build = built_scale_ != state.session.scale || built_language_ != language;
  const std::string& text = state.document().sentence;
  if (text != seen_text_) {
    seen_text_ = text;
    // Labels also use shaped and visible forms of what was typed.
    build |= fonts_.need(text);
    build |= fonts_.need(visual_order(visible_label(text)));
  }
  const auto& model = state.derived.model;
  if (model && model->vocabulary->tokens() != seen_vocabulary_) {
    seen_vocabulary_ = model->vocabulary->tokens();  // any of them may be said next
    for (const std::string& token : *seen_vocabulary_) build |= fonts_.need(visible_label(token));
  }
  for (const Notice& notice : state.notices) build |= fonts_.need(notice.text);
  build |= fonts_.need(state.session_path);
  for (const FileLine& line : state.session.path_lines) build |= fonts_.need(line.name);
  if (state.session.path_sheet != Sheet::kNone) build |= fonts_.need(state.session.path_folder);
  if (state.session.train.open) build |= need_training(fonts_, state);
  if (build) {
    built_scale_ = state.session.scale;
    built_language_ = language;
    fonts_.build(built_scale_, language);
    if (!fonts_.problem().empty())
      shell_.notify(NoticeKind::kWarning, Message{std::string(fonts_.problem())});
  }
  if (build || dark_ != state.session.dark) {
    dark_ = state.session.dark;
    apply_style(Theme::make(dark_), built_scale_);
  }
  return build;
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
  } else {
    draw_stage_only(state, ui, width, height, stage_only_ == StageOnly::kAllHeads);
  }
  shell_.end_frame();
  if (const std::string copied = shell_.take_copied(); !copied.empty()) {
    ImGui::SetClipboardText(copied.c_str());
  }
}

}  // namespace headlight
