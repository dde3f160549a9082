// config.json of a model folder of another program, key by key. A value that would change the
// numbers and is not known here is refused by name, never ignored.
#pragma once

#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include "core/graph/config_json.h"

namespace headlight {

/// What configs call an activation; of a gated one, the function that makes the gate.
std::string_view activation_name(Activation);

class FolderConfig {
 public:
  /// Throws Error for a text that is no JSON object. A key whose value is null counts as absent.
  explicit FolderConfig(std::string_view text);
  /// The object that stands under a key of another config, which is named in errors.
  FolderConfig(OrderedJson object, std::string where);

  bool has(const char* key) const { return reader().find(key) != nullptr; }
  /// Does null stand there, which says "none" where a key that is absent has a value of its own?
  bool is_null(std::string_view key) const { return nulls_.contains(key); }
  /// Throws Error where the key is missing, of another kind or out of range.
  int whole(const char* key, int low, int high) const;
  int whole_or(const char* key, int other, int low, int high) const;
  double number(const char* key, double low, double high) const;
  double number_or(const char* key, double other, double low, double high) const;
  /// What a norm adds to the variance.
  double epsilon_or(const char* key, double other) const {
    return number_or(key, other, kLowestEpsilon, kHighestEpsilon);
  }
  bool flag_or(const char* key, bool other) const;
  std::string text_or(const char* key, std::string other) const;
  /// Throws Error where the key has another value than these.
  std::string one_of(const char* key, std::string other,
                     std::initializer_list<std::string_view> known) const;
  /// Throws Error where the key has another value than this, which is also what it means when it is
  /// absent.
  void only(const char* key, bool value) const;
  /// The activation, by the names that configs have. Throws Error for another.
  Activation activation(const char* key, const char* other) const;
  /// What stands under the key; throws Error where nothing does.
  const OrderedJson& at(const char* key) const;
  [[noreturn]] void refuse(const char* key, const std::string& known) const;

  JsonReader reader() const;

 private:
  OrderedJson json_;
  std::string where_;
  std::set<std::string, std::less<>> nulls_;  // taken out of json_
};

}  // namespace headlight
