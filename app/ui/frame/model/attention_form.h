// The fields of attention that only some published models have: a factor and a cap of the scores,
// layers with a window of keys, how slowly rotary positions turn.
#pragma once

#include "app/ui/frame/model/model_form.h"

namespace headlight {

/// Each says whether a value has changed.
bool score_fields(Form&, Config&);
bool rotary_fields(Form&, Config&);

}  // namespace headlight
