#include "core/model/folders/folder_config.h"

#include <algorithm>

namespace headlight {
namespace {

constexpr JsonFileWords kFolderWords = {"folder.wrong_value", "folder.not_json", "folder.too_deep"};

struct ActivationName {
  std::string_view name;
  Activation value;
};
// As configs call them; "gelu" is exact, the others compute tanh.
constexpr ActivationName kActivationNames[] = {
    {"relu", Activation::kRelu},          {"gelu", Activation::kGelu},
    {"gelu_python", Activation::kGelu},   {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh}, {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"silu", Activation::kSilu},          {"swish", Activation::kSilu}};

}  // namespace

std::string_view activation_name(Activation activation) {
  if (activation == Activation::kSwiglu) activation = Activation::kSilu;
  if (activation == Activation::kGeglu) activation = Activation::kGelu;
  for (const ActivationName& known : kActivationNames) {
    if (known.value == activation) return known.name;
  }
  return "";
}

FolderConfig::FolderConfig(std::string_view text)
    : FolderConfig(parse_json(text, kFolderWords), "") {}

FolderConfig::FolderConfig(OrderedJson object, std::string where)
    : json_(std::move(object)), where_(std::move(where)) {
  (void)reader();  // which refuses what is no object
  for (auto it = json_.begin(); it != json_.end();) {
    if (it->is_null()) nulls_.insert(it.key());
    it->is_null() ? it = json_.erase(it) : ++it;
  }
}

JsonReader FolderConfig::reader() const { return {json_, where_, kFolderWords}; }

const OrderedJson& FolderConfig::at(const char* key) const {
  if (const OrderedJson* found = reader().find(key)) return *found;
  throw Error(Message{"folder.no_key", {{"key", key}}});
}

int FolderConfig::whole(const char* key, int low, int high) const {
  (void)at(key);
  return whole_or(key, 0, low, high);
}

int FolderConfig::whole_or(const char* key, int other, int low, int high) const {
  reader().number(key, other, low, high);
  return other;
}

double FolderConfig::number(const char* key, double low, double high) const {
  (void)at(key);
  return number_or(key, 0, low, high);
}

double FolderConfig::number_or(const char* key, double other, double low, double high) const {
  reader().number(key, other, low, high);
  return other;
}

bool FolderConfig::flag_or(const char* key, bool other) const {
  reader().boolean(key, other);
  return other;
}

std::string FolderConfig::text_or(const char* key, std::string other) const {
  reader().text(key, other);
  return other;
}

void FolderConfig::refuse(const char* key, const std::string& known) const {
  reader().fail(reader().name(key), JsonReader::one_of("one of " + known), at(key));
}

std::string FolderConfig::one_of(const char* key, std::string other,
                                 std::initializer_list<std::string_view> known) const {
  const std::string got = text_or(key, std::move(other));
  if (std::ranges::find(known, got) != known.end()) return got;
  std::string all;
  for (const std::string_view word : known) all += (all.empty() ? "" : ", ") + std::string(word);
  refuse(key, all);
}

void FolderConfig::only(const char* key, bool value) const {
  if (flag_or(key, value) != value) refuse(key, value ? "true" : "false");
}

Activation FolderConfig::activation(const char* key, const char* other) const {
  const std::string got = text_or(key, other);
  std::string all;
  for (const ActivationName& known : kActivationNames) {
    if (known.name == got) return known.value;
    all += (all.empty() ? "" : ", ") + std::string(known.name);
  }
  refuse(key, all);
}

}  // namespace headlight
