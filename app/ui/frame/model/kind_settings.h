// The part of the model's settings that depends on its kind.
#pragma once

#include "app/ui/frame/model/model_form.h"

namespace headlight {

/// The lines for its attention, its positions and the parts of a block. Sets `changed` where the
/// config has become another one.
void kind_settings(const AppState&, Ui&, Form&, Config&, bool& changed);

}  // namespace headlight
