// The settings of single parts, which models of other programs have.
#pragma once

#include "app/ui/frame/model/model_form.h"

namespace headlight {

/// What is embedded: × √d, a norm behind it, where the first token stands.
void embedding_settings(Form&, Config&, bool& changed);
/// The number of norms, biases of single products.
void norm_and_bias_settings(Form&, Config&, bool& changed);
/// Between the last layer and the scores.
void head_settings(Form&, Config&, bool& changed);

}  // namespace headlight
