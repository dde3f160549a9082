#include "app/ui/stage_motion.h"

namespace headlight {

void draw_motion(const AppState&, Ui&, const Rect&, const StepPage&, const StagePlacement&) {}

}  // namespace headlight
