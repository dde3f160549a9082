// Numbers and whole traces as JSON that reads back to the same bits.
#pragma once

#include <exception>
#include <span>
#include <string>

#include "core/base/message.h"
#include "core/io/array.h"

namespace headlight {

/// The shortest decimal that reads back to the same number. JSON has no infinity and no NaN: they
/// are the strings "inf", "-inf" and "nan", quotes included. Never depends on the locale.
std::string json_number(double value);
std::string json_number(float value);

/// What nlohmann's parser threw, to say to a person: a number that no double holds, or `not_json`,
/// a text id around what is wrong where.
Message json_problem(const char* not_json, const std::exception& error);

/// {"tensors": {name: {"shape": [...], "data": [row-major, flat]}, ...}, list name: ["..."], ...}
/// in the order given. Invalid UTF-8 becomes U+FFFD. Throws Error for names that clash (a list may
/// not be called "tensors") and shapes that do not fit their data.
std::string to_trace_json(std::span<const NamedArray> arrays,
                          std::span<const StringList> lists = {});

}  // namespace headlight
