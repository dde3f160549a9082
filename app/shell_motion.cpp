// The shell's part for motion: the clock of the step that is shown.
#include "app/shell.h"

namespace headlight {

bool Shell::perform_motion(Command) { return false; }
void Shell::on(const Tick&) {}
void Shell::on(const ScrubTo&) {}
void Shell::on(const SetSpeed&) {}

}  // namespace headlight
