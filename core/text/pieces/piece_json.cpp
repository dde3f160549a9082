#include "core/text/pieces/piece_json.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/io/json_numbers.h"

namespace headlight {
namespace {

constexpr int kMaxPieceDepth = 64;
constexpr std::size_t kShownValue = 60;  // code points of a value in a message

std::string value_text(const nlohmann::json& json) {
  // A whole vocabulary need not be written out to say that it is none.
  if (json.is_structured() && json.size() > 8)
    return json.is_array() ? "[" + std::to_string(json.size()) + "]"
                           : "{" + std::to_string(json.size()) + "}";
  const auto text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return visible_label(shortened(clean_utf8(text).text, kShownValue));
}

}  // namespace

nlohmann::json parse_piece_json(std::string_view text) {
  const auto shallow = [](int level, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (level > kMaxPieceDepth)
      throw Error(Message{"pieces.too_deep", {{"limit", std::to_string(kMaxPieceDepth)}}});
    return true;
  };
  try {
    return nlohmann::json::parse(text, shallow);
  } catch (const nlohmann::json::exception& error) {
    throw Error(json_problem("pieces.not_json", error));
  }
}

std::string PieceJson::name_of(std::string_view key) const {
  return name_.empty() ? std::string(key) : name_ + "." + std::string(key);
}

bool PieceJson::has(const char* key) const {
  if (!json_->is_object()) return false;
  const auto found = json_->find(key);
  return found != json_->end() && !found->is_null();
}

PieceJson PieceJson::at(const char* key) const {
  if (!json_->is_object()) fail(Message{"pieces.expected.object"});
  const auto found = json_->find(key);
  if (found == json_->end())
    throw Error(Message{"pieces.missing", {{"key", visible_label(name_of(key))}}});
  return {*found, name_of(key)};
}

std::vector<PieceJson> PieceJson::items() const {
  if (!json_->is_array()) fail(Message{"pieces.expected.list"});
  std::vector<PieceJson> all;
  for (const nlohmann::json& item : *json_)
    all.emplace_back(item, name_ + "[" + std::to_string(all.size()) + "]");
  return all;
}

std::string PieceJson::type() const { return at("type").text(); }

void PieceJson::only(std::initializer_list<std::string_view> keys) const {
  if (!json_->is_object()) fail(Message{"pieces.expected.object"});
  for (auto member = json_->begin(); member != json_->end(); ++member) {
    const std::string_view key = member.key();
    if (key == "type" || std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    throw Error(Message{"pieces.unknown_key",
                        {{"key", visible_label(shortened(name_of(key), kShownValue))},
                         {"got", value_text(*member)}}});
  }
}

std::string PieceJson::text() const {
  if (!json_->is_string()) fail(Message{"pieces.expected.text"});
  return json_->get<std::string>();
}

bool PieceJson::boolean() const {
  if (!json_->is_boolean()) fail(Message{"pieces.expected.boolean"});
  return json_->get<bool>();
}

int PieceJson::integer(int low, int high) const {
  const bool whole = json_->is_number_integer();
  const bool fits = whole && (json_->is_number_unsigned()
                                  ? json_->get<std::uint64_t>() <= static_cast<std::uint64_t>(high)
                                  : json_->get<std::int64_t>() <= high);
  if (!fits || json_->get<std::int64_t>() < low) {
    fail(Message{"pieces.expected.integer",
                 {{"low", std::to_string(low)}, {"high", std::to_string(high)}}});
  }
  return json_->get<int>();
}

double PieceJson::number() const {
  if (!json_->is_number()) fail(Message{"pieces.expected.number"});
  return json_->get<double>();
}

std::string PieceJson::text(const char* key, std::string otherwise) const {
  return has(key) ? at(key).text() : std::move(otherwise);
}

bool PieceJson::boolean(const char* key, bool otherwise) const {
  return has(key) ? at(key).boolean() : otherwise;
}

void PieceJson::fail(const Message& expected) const {
  const std::string shown = name_.empty() ? "tokenizer" : name_;
  throw Error(
      Message{"pieces.wrong_value",
              {{"key", visible_label(shortened(shown, kShownValue))}, {"got", value_text(*json_)}}}
          .with(expected));
}

void PieceJson::fail_unknown(const std::string& got, std::string_view known) const {
  throw Error(Message{"pieces.unknown_type",
                      {{"key", visible_label(name_)},
                       {"got", visible_label(shortened(got, kShownValue))},
                       {"known", std::string(known)}}});
}

}  // namespace headlight
