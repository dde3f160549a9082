// What is said when something is refused.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace headlight {

/// The words of the Error that f ends with; empty: it ends well.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline bool has(std::string_view text, std::string_view words) {
  return text.find(words) != text.npos;
}

}  // namespace headlight
