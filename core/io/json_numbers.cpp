#include "core/io/json_numbers.h"

#include <charconv>
#include <cmath>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/utf8.h"

namespace headlight {
namespace {

template <class Float>
void append_number(std::string& out, Float value) {
  if (std::isnan(value)) {
    out += "\"nan\"";
  } else if (std::isinf(value)) {
    out += value < 0 ? "\"-inf\"" : "\"inf\"";
  } else {
    char buffer[40];  // the longest shortest double has 24 characters
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    out.append(buffer, end);
  }
}

void append_number(std::string& out, std::int64_t value) { out += std::to_string(value); }

void append_string(std::string& out, const std::string& text) {
  using Json = nlohmann::json;
  out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Range, class Append>
void append_list(std::string& out, const Range& values, Append append) {
  out += '[';
  bool first = true;
  for (const auto& value : values) {
    if (!first) out += ',';
    first = false;
    append(out, value);
  }
  out += ']';
}

void append_array(std::string& out, const NamedArray& array) {
  const auto append = [](std::string& o, auto value) { append_number(o, value); };
  append_string(out, array.name);
  out += ":{\"shape\":";
  append_list(out, array.shape, append);
  out += ",\"data\":";
  std::visit([&](const auto& data) { append_list(out, data, append); }, array.data);
  out += '}';
}

}  // namespace

std::string json_number(double value) {
  std::string out;
  append_number(out, value);
  return out;
}

std::string json_number(float value) {
  std::string out;
  append_number(out, value);
  return out;
}

namespace {

// The text between two others; empty: it is not there.
std::string between(const std::string& text, std::string_view before, std::string_view after) {
  const std::size_t found = text.find(before), from = found + before.size();
  if (found == text.npos) return {};
  const std::size_t to = text.find(after, from);
  return to == text.npos ? "" : text.substr(from, to - from);
}

// The parser speaks English alone: "… parse error at line 1, column 9: syntax error while parsing
// value - invalid literal; last read: '[1, x'". What it says of the place can be said in any
// language.
Message place_of(const std::string& text) {
  const std::string line = between(text, "at line ", ","), column = between(text, ", column ", ":");
  if (line.empty() || column.empty()) return Message::of(text);
  constexpr std::size_t kRead = 40;
  const std::string read = shortened(between(text, "last read: '", "'"), kRead);
  return Message{read.empty() ? "json.at" : "json.at.near",
                 {{"line", line}, {"column", column}, {"read", read}}};
}

}  // namespace

Message json_problem(const char* not_json, const std::exception& error) {
  const std::string text = clean_utf8(error.what()).text;
  // "… out_of_range.406] number overflow parsing '1e999'"
  const std::size_t open = text.find('\'');
  if (text.find("out_of_range.406") == text.npos || open == text.npos)
    return Message{not_json}.with(place_of(text));
  const std::string number = text.substr(open + 1, text.rfind('\'') - open - 1);
  return Message{"json.too_large", {{"number", shortened(number, 40)}}};
}

std::string to_trace_json(std::span<const NamedArray> arrays, std::span<const StringList> lists) {
  check_arrays(arrays, lists);
  std::string out = "{\"tensors\":{";
  bool first = true;
  for (const NamedArray& array : arrays) {
    out += first ? "\n" : ",\n";
    first = false;
    append_array(out, array);
  }
  out += "}";
  for (const StringList& list : lists) {
    if (list.name == "tensors") {
      throw Error(
          "A list of a trace cannot be called 'tensors': that name holds the arrays. "
          "Rename the list.");
    }
    out += ",\n";
    append_string(out, list.name);
    out += ':';
    append_list(out, list.values, append_string);
  }
  return out + "}\n";
}

}  // namespace headlight
