#include "app/platform/frontend.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

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

// The first of a vocabulary, which may be said next; another is asked for when it is drawn.
bool need_tokens(Fonts& fonts, const std::vector<std::string>& tokens) {
  constexpr std::size_t kMost = 600;
  bool build = false;
  for (std::size_t i = 0; i < std::min(tokens.size(), kMost); ++i)
    build |= fonts.need(visible_label(tokens[i]));
  return build;
}

// What the Train panel shows of the person's own data.
bool need_training(Fonts& fonts, const AppState& state) {
  const RunView& run = state.train.run;
  bool build = fonts.need(state.session.train.plan.text.path.filename().string());
  if (!run.plan || !run.plan->settings.task.empty()) return build;
  build |= fonts.need(say(state.session.language, run.status.problem));
  if (!run.task) return build;
  for (const std::string& name : run.task->classes()) build |= fonts.need(name);
  return build | need_tokens(fonts, *run.task->vocabulary().tokens());
}

}  // namespace

bool Frontend::prepare_fonts() {
  const AppState& state = shell_.state();
  const Language language = state.session.language;
  bool build = built_scale_ != state.session.scale || built_language_ != language;
  build |= std::exchange(lacks_characters_, false);
  const std::string& text = state.document().sentence;
  if (text != seen_text_) {
    seen_text_ = text;
    // Labels also use shaped and visible forms of what was typed.
    build |= fonts_.need(text);
    build |= fonts_.need(visual_order(visible_label(text)));
  }
  const auto& model = state.derived.model;
  if (model && model->vocabulary->tokens() != seen_vocabulary_) {
    seen_vocabulary_ = model->vocabulary->tokens();
    build |= need_tokens(fonts_, *seen_vocabulary_);
  }
  for (const Notice& notice : state.notices) build |= fonts_.need(notice.text);
  build |= fonts_.need(state.session_path);
  for (const FileLine& line : state.session.path_lines) build |= fonts_.need(line.name);
  if (state.session.path_sheet != Sheet::kNone) build |= fonts_.need(state.session.path_folder);
  if (state.session.train.open) build |= need_training(fonts_, state);
  if (build && fonts_.is_full(state.session.scale)) {  // what was seen and is gone makes room
    fonts_.forget();
    fonts_.need(text);
    fonts_.need(visual_order(visible_label(text)));
    fonts_.need(seen_drawn_);
  }
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
  if (drawn_.beyond_ascii() != seen_drawn_) {
    seen_drawn_ = drawn_.beyond_ascii();
    lacks_characters_ |= fonts_.need(seen_drawn_);
  }
  if (const std::string copied = shell_.take_copied(); !copied.empty()) {
    ImGui::SetClipboardText(copied.c_str());
  }
}

}  // namespace headlight
