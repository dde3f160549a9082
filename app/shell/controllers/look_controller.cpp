#include "app/shell/controllers/look_controller.h"

#include <algorithm>

#include "app/ui/frame/hints.h"

namespace headlight {
namespace {

// The panel that holds the control with the keyboard; the stage when there is none.
PanelId panel_in_use(const Focus& focus) {
  if (!focus.visible) return PanelId::kStage;
  const auto starts = [&](std::string_view part) { return focus.id.starts_with(part); };
  if (starts("heads/") || focus.id == "maximize/heads") return PanelId::kHeads;
  if (starts("inspector/") || starts("term/") || starts("copy/") ||
      focus.id == "maximize/inspector")
    return PanelId::kInspector;
  return PanelId::kStage;
}

}  // namespace

LookController::LookController(const Shared& shared, LookSession& session)
    : Controller(shared), session_(session) {}

void LookController::restore(const Settings& stored, Language language) {
  LookSession& s = session_;
  s.dark = stored.dark;
  s.language = language;
  s.sizes = stored.sizes;
  s.rail_open = stored.rail_open;
  s.heads_open = stored.heads_open;
  s.inspector_open = stored.inspector_open;
  s.range = stored.range;
  s.vision = stored.vision;
  s.hint = stored.hints_seen ? -1 : 0;
}

void LookController::set_look(bool dark, float scale) {
  session_.dark = dark;
  session_.scale = std::clamp(scale, 0.75f, 4.0f);
}

void LookController::follow_hint(const Action& action) {
  if (does_hint(session_.hint, action)) on(ShowHint{session_.hint + 1});
}

void LookController::on(const Folded& a) {
  session_.rail_shown = a.rail_shown;
  session_.heads_shown = a.heads_shown;
  session_.inspector_shown = a.inspector_shown;
}

void LookController::on(const ShowHint& a) {
  session_.hint = a.hint >= 0 && a.hint < kHintCount ? a.hint : -1;
}

void LookController::on(Is<kToggleLanguage>) {
  const bool english = session_.language == Language::kEnglish;
  perform(ChooseLanguage{english ? Language::kChinese : Language::kEnglish});
}

void LookController::on(Is<kToggleRange>) {
  session_.range = session_.range == RangeMode::kShared ? RangeMode::kPicture : RangeMode::kShared;
}

void LookController::on(Is<kNextVision>) {
  session_.vision = static_cast<Vision>((static_cast<int>(session_.vision) + 1) % kVisionCount);
}

// Shows a panel that is folded and folds one that is shown; opened by hand it stays open.
void LookController::toggle(PanelId id, std::optional<bool>& wanted, bool& shown) {
  LookSession& s = session_;
  const bool alone = s.maximized == id;
  const bool open = s.maximized != PanelId::kNone && !alone ? true : !shown;
  s.maximized = PanelId::kNone;
  wanted = shown = open;
  if (open) s.last_opened = id;
}

void LookController::on(Is<kToggleRail>) {
  toggle(PanelId::kRail, session_.rail_open, session_.rail_shown);
}
void LookController::on(Is<kToggleHeads>) {
  toggle(PanelId::kHeads, session_.heads_open, session_.heads_shown);
}
void LookController::on(Is<kToggleInspector>) {
  toggle(PanelId::kInspector, session_.inspector_open, session_.inspector_shown);
}

void LookController::on(const ShowMode& a) {
  session_.mode = a.mode;
  session_.maximized = PanelId::kNone;
}

void LookController::toggle(Mode mode) {
  perform(ShowMode{session_.mode == mode ? Mode::kSteps : mode});
}

void LookController::on(Is<kMaximize>) {
  const bool none = session_.maximized == PanelId::kNone;
  session_.maximized = none ? panel_in_use(state_.session.focus) : PanelId::kNone;
}

void LookController::on(Is<kResetPanels>) {
  LookSession& s = session_;
  s.sizes = {};
  s.rail_open.reset();
  s.heads_open.reset();
  s.inspector_open.reset();
  s.maximized = s.last_opened = PanelId::kNone;
}

void LookController::on(Is<kHints>) {
  session_.hint = 0;
  session_.maximized = PanelId::kNone;
}

}  // namespace headlight
