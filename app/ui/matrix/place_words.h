// What to call the parts of a model and the places along an axis, in the person's language.
#pragma once

#include "app/ui/kit/ui.h"
#include "core/run/trace.h"

namespace headlight {

/// The token, the entry of the vocabulary, the class, the number; the only row of a whole sentence
/// is "the sentence". As it is drawn (token_label).
std::string place_label(const Ui&, const Trace&, std::string_view axis, std::int64_t i);
/// The same where it stands alone (Trace::name).
std::string place_name(const Ui&, const Trace&, std::string_view axis, std::int64_t i);

}  // namespace headlight
