// Look: colours, language, zoom, which panels are there and how large, the hints of the first
// start.
#pragma once

#include "app/shell/controllers/controller.h"
#include "app/shell/settings.h"

namespace headlight {

class LookController : public Controller {
 public:
  LookController(const Shared&, LookSession&);

  void restore(const Settings&, Language);
  void set_look(bool dark, float scale);
  /// After every action: goes on to the next hint where it was what this one speaks of.
  void follow_hint(const Action&);

  void on(const SetView& a) { session_.view = a.view; }
  void on(const ChooseRange& a) { session_.range = a.range; }
  void on(const ChooseVision& a) { session_.vision = a.vision; }
  void on(const SizePanels& a) { session_.sizes = a.sizes; }
  void on(const ShowMode&);
  void on(const Maximize& a) { session_.maximized = a.panel; }
  void on(const OpenInspector&) { session_.inspector_open = true; }
  void on(const Folded&);
  void on(const ShowHint&);
  void on(const ChooseLanguage& a) { session_.language = a.language; }

  void on(Is<kTrain>) { toggle(Mode::kTrain); }
  void on(Is<kLabs>) { toggle(Mode::kLabs); }
  void on(Is<kToggleTheme>) { session_.dark = !session_.dark; }
  void on(Is<kToggleLanguage>);
  void on(Is<kLarger>) { set_look(session_.dark, session_.scale * 1.1f); }
  void on(Is<kSmaller>) { set_look(session_.dark, session_.scale / 1.1f); }
  void on(Is<kResetSize>) { set_look(session_.dark, 1.0f); }
  void on(Is<kZoomIn>) { ++requests_.view.zoom; }
  void on(Is<kZoomOut>) { --requests_.view.zoom; }
  void on(Is<kViewLeft>) { --requests_.view.right; }
  void on(Is<kViewRight>) { ++requests_.view.right; }
  void on(Is<kViewUp>) { --requests_.view.down; }
  void on(Is<kViewDown>) { ++requests_.view.down; }
  void on(Is<kResetView>) { session_.view = {}; }
  void on(Is<kToggleRange>);
  void on(Is<kNextVision>);
  void on(Is<kToggleRail>);
  void on(Is<kToggleHeads>);
  void on(Is<kToggleInspector>);
  void on(Is<kMaximize>);
  void on(Is<kResetPanels>);
  void on(Is<kHints>);
  void on(Is<kToggleModel>) { requests_.open = Sheet::kModel; }
  void on(Is<kKeys>) { requests_.open = Sheet::kKeys; }
  void on(Is<kAbout>) { requests_.open = Sheet::kAbout; }

 private:
  void toggle(Mode);
  void toggle(PanelId, std::optional<bool>& wanted, bool& shown);

  LookSession& session_;
};

}  // namespace headlight
