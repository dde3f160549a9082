// The commands that fold, size and maximise panels, and start the hints again.
#pragma once

#include "app/ui/state/actions.h"

namespace headlight {

/// Carries out a command about panels; false when it is about something else.
bool perform_panel_command(Session&, Command);

}  // namespace headlight
