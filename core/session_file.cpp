#include "core/session_file.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/io/atomic_file.h"
#include "core/text/number_text.h"
#include "core/text/utf8.h"

namespace headlight {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMaxSessionBytes = 64u << 20;
constexpr std::size_t kMaxListed = 1u << 22;  // padding positions or forbidden cells

// `list` begins with "one of ", as choice_list() makes it.
Message one_of(const std::string& list) {
  return Message{"session.choice", {{"choices", list.substr(std::string_view("one of ").size())}}};
}

// Reads values from one JSON object, with messages that name the key.
class Reader {
 public:
  Reader(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) fail(where_, Message{"session.object"}, object_);
  }

  [[noreturn]] static void fail(const std::string& key, const Message& expected, const Json& got) {
    std::string text = got.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 40) text = text.substr(0, 40) + "…";
    throw Error(Message{"session.wrong_value", {{"key", key}, {"got", clean_utf8(text).text}}}.with(
        expected));
  }

  const Json* find(const char* key) const {
    const auto at = object_.find(key);
    return at == object_.end() ? nullptr : &*at;
  }

  std::string name(const char* key) const { return where_.empty() ? key : where_ + "." + key; }

  void number(const char* key, int& out, int low, int high) const {
    const Json* value = find(key);
    if (!value) return;
    const Message expected{"session.number",
                           {{"low", std::to_string(low)}, {"high", std::to_string(high)}}};
    if (!value->is_number_integer()) fail(name(key), expected, *value);
    const bool huge = value->is_number_unsigned() && value->get<std::uint64_t>() > 0x7FFFFFFFull;
    const auto wide = huge ? std::int64_t{high} + 1 : value->get<std::int64_t>();
    if (wide < low || wide > high) fail(name(key), expected, *value);
    out = static_cast<int>(wide);
  }

  void boolean(const char* key, bool& out) const {
    const Json* value = find(key);
    if (!value) return;
    if (!value->is_boolean()) fail(name(key), Message{"session.boolean"}, *value);
    out = value->get<bool>();
  }

  void number(const char* key, double& out, double low, double high) const {
    const Json* value = find(key);
    if (!value) return;
    const bool fits =
        value->is_number() && value->get<double>() >= low && value->get<double>() <= high;
    if (!fits) {
      fail(name(key),
           Message{"session.real_number",
                   {{"low", number_text(low, 3)}, {"high", number_text(high, 3)}}},
           *value);
    }
    out = value->get<double>();
  }

  template <class T>
  void choice(const char* key, T& out) const {
    const Json* value = find(key);
    if (!value) return;
    const std::optional<T> chosen =
        value->is_string() ? from_word<T>(value->get<std::string>()) : std::nullopt;
    if (!chosen) fail(name(key), one_of(choice_list(T{})), *value);
    out = *chosen;
  }

 private:
  const Json& object_;
  std::string where_;
};

int position(const Json& value, const std::string& key) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= 1u << 24) {
    Reader::fail(key, Message{"session.positions"}, value);
  }
  return value.get<int>();
}

// Rows as "3: 1-11, 14"; sessions of earlier versions list [query, key] pairs.
CellSet read_cells(const Json& list) {
  const std::string key = "model.mask.forbidden";
  const Message expected("session.pairs");
  if (!list.is_array() || list.size() > kMaxListed) Reader::fail(key, expected, list);
  CellSet cells;
  std::map<int, std::vector<Span>> pairs;
  for (const Json& item : list) {
    if (item.is_string()) {
      try {
        read_row(item.get<std::string>(), kLargestMaxTokens, cells);
      } catch (const UsageError&) {
        Reader::fail(key, expected, item);
      }
      continue;
    }
    if (!item.is_array() || item.size() != 2) Reader::fail(key, expected, item);
    const int query = position(item[0], key), place = position(item[1], key);
    pairs[query].push_back({place, place});
  }
  for (auto& [query, keys] : pairs) {
    const std::vector<Span>& before = cells.row(query);
    keys.insert(keys.end(), before.begin(), before.end());
    cells.set_row(query, std::move(keys));
  }
  return cells;
}

MaskSpec read_mask(const Json& json) {
  const Reader in(json, "model.mask");
  MaskSpec mask;
  in.choice("kind", mask.kind);
  in.number("window", mask.window, 0, 1 << 20);
  in.number("stride", mask.stride, 1, 1 << 20);
  if (in.find("causal")) {
    bool causal = false;
    in.boolean("causal", causal);
    mask.causal = causal;
  }
  if (const Json* list = in.find("padding")) {
    if (!list->is_array() || list->size() > kMaxListed)
      Reader::fail("model.mask.padding", Message{"session.positions"}, *list);
    for (const Json& item : *list) mask.padding.push_back(position(item, "model.mask.padding"));
  }
  if (const Json* list = in.find("forbidden")) mask.forbidden = read_cells(*list);
  return mask;
}

Config read_config(const Json& json) {
  const Reader in(json, "model");
  Config c;
  in.number("layers", c.layers, 1, kMaxLayers);
  in.number("heads", c.heads, 1, kMaxHeads);
  in.number("d_model", c.d_model, 1, kMaxWidth);
  in.number("d_head", c.d_head, 0, kMaxWidth);
  in.number("d_hidden", c.d_hidden, 0, 4 * kMaxWidth);
  in.choice("attention", c.attention);
  in.choice("scores", c.scores);
  in.boolean("scale", c.scale);
  in.number("temperature", c.temperature, kLowestTemperature, kHighestTemperature);
  in.choice("block", c.block);
  in.choice("activation", c.activation);
  in.choice("positions", c.positions);
  in.boolean("bias", c.bias);
  in.boolean("residual", c.residual);
  if (const Json* seed = in.find("seed")) {
    if (!seed->is_number_unsigned()) Reader::fail("model.seed", Message{"session.seed"}, *seed);
    c.seed = seed->get<std::uint64_t>();
  }
  if (const Json* mask = in.find("mask")) c.mask = read_mask(*mask);
  return c;
}

Json mask_json(const MaskSpec& mask) {
  Json json = {{"kind", word(mask.kind)}, {"window", mask.window}, {"stride", mask.stride}};
  if (mask.causal) json["causal"] = *mask.causal;
  if (!mask.padding.empty()) json["padding"] = mask.padding;
  for (const int query : mask.forbidden.rows()) {
    json["forbidden"].push_back(row_text(query, mask.forbidden.row(query)));
  }
  return json;
}

}  // namespace

std::string session_text(const Document& d) {
  const Config& c = d.config;
  const Json json = {{"format", "headlight session"},
                     {"version", kSessionVersion},
                     {"sentence", d.sentence},
                     {"tokenizer", to_string(d.tokenizer)},
                     {"max_tokens", d.max_tokens},
                     {"model",
                      {{"layers", c.layers},
                       {"heads", c.heads},
                       {"d_model", c.d_model},
                       {"d_head", c.d_head},
                       {"d_hidden", c.d_hidden},
                       {"attention", word(c.attention)},
                       {"scores", word(c.scores)},
                       {"scale", c.scale},
                       {"temperature", c.temperature},
                       {"block", word(c.block)},
                       {"activation", word(c.activation)},
                       {"positions", word(c.positions)},
                       {"bias", c.bias},
                       {"residual", c.residual},
                       {"seed", c.seed},
                       {"mask", mask_json(c.mask)}}}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

SessionFile parse_session(std::string_view text) {
  // nlohmann's parser is recursive; a document of ours nests five deep.
  int depth = 0;
  const auto shallow = [&](int level, Json::parse_event_t, Json&) {
    depth = std::max(depth, level);
    if (level > 16) throw Error(Message{"session.too_deep"});
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, shallow);
  } catch (const Json::exception& error) {
    throw Error(Message{"session.not_json", {{"error", clean_utf8(error.what()).text}}});
  }
  const Reader in(json, "");
  const Json* format = in.find("format");
  if (!format || *format != "headlight session") {
    throw Error(Message{"session.not_a_session"});
  }
  int version = 0;
  in.number("version", version, 0, 1 << 30);
  if (version != kSessionVersion) {
    throw Error(
        Message{version > kSessionVersion ? "session.newer_version" : "session.version",
                {{"version", std::to_string(version)}, {"ours", std::to_string(kSessionVersion)}}});
  }
  SessionFile file;
  if (const Json* sentence = in.find("sentence")) {
    if (!sentence->is_string()) Reader::fail("sentence", Message{"session.text"}, *sentence);
    file.document = apply(file.document, SetSentence{sentence->get<std::string>()});
  }
  if (const Json* tokenizer = in.find("tokenizer")) {
    const auto kind = tokenizer->is_string() ? tokenizer_from_string(tokenizer->get<std::string>())
                                             : std::nullopt;
    if (!kind) Reader::fail("tokenizer", one_of("one of words, characters, bytes"), *tokenizer);
    file.document.tokenizer = *kind;
  }
  in.number("max_tokens", file.document.max_tokens, 1, kLargestMaxTokens);
  if (const Json* model = in.find("model")) {
    file.document = apply(file.document, SetConfig{read_config(*model)});
    try {
      validate(file.document.config);
    } catch (const Error& error) {
      file.notes.push_back(Message{"session.cannot_run"}.with(error.message()));
    }
  }
  return file;
}

SessionFile read_session(const std::string& path) {
  try {
    return parse_session(read_file(path, kMaxSessionBytes));
  } catch (const Error& error) {
    const std::string text = error.what();
    if (text.find(path) != std::string::npos) throw;
    throw Error(Message{"session.in_file", {{"path", path}}}.with(error.message()));
  }
}

void write_session(const std::string& path, const Document& document) {
  write_file_atomic(path, session_text(document));
}

}  // namespace headlight
