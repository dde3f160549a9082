// Reading the parts of a tokenizer.json: each says where it stands when something is wrong with it.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/message.h"

namespace headlight {

/// Parses what is nested at most 64 deep. Throws Error.
nlohmann::json parse_piece_json(std::string_view text);

/// One value and its name, as "pre_tokenizer.pretokenizers[1]". Looks into a document that has to
/// outlive it.
class PieceJson {
 public:
  PieceJson(const nlohmann::json& json, std::string name) : json_(&json), name_(std::move(name)) {}

  const nlohmann::json& json() const { return *json_; }
  const std::string& name() const { return name_; }
  /// "name.key"; at the top the key alone.
  std::string name_of(std::string_view key) const;

  /// Is there such a member, and is it not null?
  bool has(const char* key) const;
  /// A member. Throws Error when there is none.
  PieceJson at(const char* key) const;
  /// The elements of a list. Throws Error for anything else.
  std::vector<PieceJson> items() const;
  /// The member "type" of an object.
  std::string type() const;
  /// Throws Error for a member with another name: what it asks for would not be done.
  void only(std::initializer_list<std::string_view> keys) const;

  /// What this is. Each throws Error for something else.
  std::string text() const;
  bool boolean() const;
  int integer(int low, int high) const;
  double number() const;
  /// The same of a member, or what is taken where there is none.
  std::string text(const char* key, std::string otherwise) const;
  bool boolean(const char* key, bool otherwise) const;

  /// Throws Error: this is not what was expected. `expected` is the id of a text.
  [[noreturn]] void fail(const Message& expected) const;
  /// Throws Error: this type of component, or word, is not known; `known` are those that are.
  [[noreturn]] void fail_unknown(const std::string& got, std::string_view known) const;

 private:
  const nlohmann::json* json_;
  std::string name_;
};

}  // namespace headlight
