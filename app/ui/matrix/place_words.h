// What to call the parts of a model and the places along an axis, in the person's language.
#pragma once

#include <span>
#include <string>

#include "app/ui/kit/ui.h"
#include "core/run/trace.h"

namespace headlight {

/// The token, the entry of the vocabulary, the class, the number; the only row of a whole sentence
/// is "the sentence". As it is drawn (token_label).
std::string place_label(const Ui&, const Trace&, std::string_view axis, std::int64_t i);
/// The same where it stands alone (Trace::name).
std::string place_name(const Ui&, const Trace&, std::string_view axis, std::int64_t i);

/// A class, in the person's language where the program itself has named the classes: files say
/// whether a sentence follows as "next" and "other" in any language.
std::string class_label(const Ui&, std::span<const std::string> classes, std::int64_t i);

}  // namespace headlight
