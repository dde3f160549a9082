// The shell's part for the inspector, the row of heads and the mask painter.
#include "app/shell.h"

namespace headlight {

bool Shell::perform_inspect(Command) { return false; }
void Shell::on(const ChooseTab& a) { state_.session.inspector_tab = a.tab; }
void Shell::on(const GoBackTo&) {}
void Shell::on(const CopyText&) {}
void Shell::on(const LightTensor& a) { state_.session.lit_tensor = a.tensor; }
void Shell::on(const ChooseHeadsView& a) { state_.session.heads_view = a.view; }
void Shell::on(const ToggleLineHead&) {}
void Shell::on(const ChooseBrush& a) { state_.session.brush = a.brush; }

}  // namespace headlight
