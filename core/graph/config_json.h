// JSON files that people may edit: values read with messages that name the key; and a Config in
// JSON, shared by sessions and checkpoints.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/graph/config.h"

namespace headlight {

using OrderedJson = nlohmann::ordered_json;

/// What a kind of file says about itself: text ids, each with a {problem} or an {error}.
struct JsonFileWords {
  const char* wrong_value;  // "the session's '{key}' should be {problem}; got {got}"
  const char* not_json;     // around what is wrong where
  const char* too_deep;
};

/// Parses a whole document of at most 16 levels. Throws Error.
OrderedJson parse_json(std::string_view text, const JsonFileWords&);

/// The text of a file: two spaces a level, a line break at the end; invalid UTF-8 becomes U+FFFD.
std::string json_text(const OrderedJson&);

/// Reads values from one JSON object. A key that is not there leaves `out` as it is; a value of
/// another kind or out of range throws Error.
class JsonReader {
 public:
  /// `where` is the object's own key with all above it ("model.mask"), empty for the document.
  JsonReader(const OrderedJson& object, std::string where, const JsonFileWords&);

  [[noreturn]] void fail(const std::string& key, const Message& expected,
                         const OrderedJson& got) const;
  const OrderedJson* find(const char* key) const;
  std::string name(const char* key) const { return where_.empty() ? key : where_ + "." + key; }
  const JsonFileWords& words() const { return words_; }

  void number(const char* key, int& out, int low, int high) const;
  void number(const char* key, std::int64_t& out, std::int64_t low, std::int64_t high) const;
  void number(const char* key, double& out, double low, double high) const;
  void boolean(const char* key, bool& out) const;
  void text(const char* key, std::string& out) const;
  /// A list of texts, of one at least.
  void texts(const char* key, std::vector<std::string>& out) const;

  template <class T>
  void choice(const char* key, T& out) const {
    const OrderedJson* value = find(key);
    if (!value) return;
    const std::optional<T> chosen =
        value->is_string() ? from_word<T>(value->get<std::string>()) : std::nullopt;
    if (!chosen) fail(name(key), one_of(choice_list(T{})), *value);
    out = *chosen;
  }

  /// `list` begins with "one of ", as choice_list() makes it.
  static Message one_of(const std::string& list);

 private:
  const OrderedJson& object_;
  std::string where_;
  JsonFileWords words_;
};

/// A Config by the words of the command line.
OrderedJson config_json(const Config&);

/// Reads what config_json() wrote; what is absent has its default. Values are in range, but the
/// whole may still be refused by validate(). Throws Error; keys are named from `where` on.
Config read_config(const OrderedJson&, const std::string& where, const JsonFileWords&);

}  // namespace headlight
