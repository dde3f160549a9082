#include "core/graph/config_json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/graph/masks/number_file.h"
#include "core/graph/options/attention_options.h"
#include "core/io/json_numbers.h"

namespace headlight {
namespace {

using Json = OrderedJson;

constexpr std::size_t kMaxListed = 1u << 22;  // padding positions or forbidden cells

int position(const JsonReader& in, const Json& value, const std::string& key) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= 1u << 24) {
    in.fail(key, Message{"session.positions"}, value);
  }
  return value.get<int>();
}

// Rows as "3: 1-11, 14"; sessions of earlier versions list [query, key] pairs.
CellSet read_cells(const JsonReader& in, const Json& list) {
  const std::string key = in.name("forbidden");
  const Message expected("session.pairs");
  if (!list.is_array() || list.size() > kMaxListed) in.fail(key, expected, list);
  CellSet cells;
  std::map<int, std::vector<Span>> pairs;
  for (const Json& item : list) {
    if (item.is_string()) {
      try {
        read_row(item.get<std::string>(), kLargestMaxTokens, cells);
      } catch (const UsageError&) {
        in.fail(key, expected, item);
      }
      continue;
    }
    if (!item.is_array() || item.size() != 2) in.fail(key, expected, item);
    const int query = position(in, item[0], key), place = position(in, item[1], key);
    pairs[query].push_back({place, place});
  }
  for (auto& [query, keys] : pairs) {
    const std::vector<Span>& before = cells.row(query);
    keys.insert(keys.end(), before.begin(), before.end());
    cells.set_row(query, std::move(keys));
  }
  return cells;
}

// The numbers of an added mask; −∞, which JSON has no number for, as "-inf".
AddedMask read_added(const JsonReader& in, const Json& json, const JsonFileWords& words) {
  const JsonReader inside(json, in.name("added"), words);
  int heads = 0, tokens = 0;
  inside.number("heads", heads, 0, kMaxHeads);
  inside.number("tokens", tokens, 0, kLargestMaxTokens);
  const Json* list = inside.find("cells");
  const auto refuse = [&](const Json& got) {
    in.fail(in.name("added"), Message{"session.added"}, got);
  };
  if (tokens == 0 || !list || !list->is_array()) refuse(json);
  NumberArray array;
  array.shape = {std::max(heads, 1), tokens, tokens};
  if (heads == 0) array.shape.erase(array.shape.begin());
  const std::int64_t cells = std::int64_t{std::max(heads, 1)} * tokens * tokens;
  if (cells > kMostAddedCells || std::ssize(*list) != cells) refuse(*list);
  for (const Json& item : *list) {
    const bool forbids = item.is_string() && item.get<std::string>() == "-inf";
    if (!forbids && !item.is_number()) refuse(item);
    array.values.push_back(forbids ? -std::numeric_limits<double>::infinity() : item.get<double>());
  }
  try {
    return added_mask(array);
  } catch (const UsageError&) {
    refuse(*list);
  }
  return {};
}

std::map<int, CellSet> read_by_head(const JsonReader& in, const Json& json) {
  std::map<int, CellSet> all;
  const auto refuse = [&](const Json& got) {
    in.fail(in.name("by_head"), Message{"session.by_head"}, got);
  };
  if (!json.is_object()) refuse(json);
  for (const auto& [key, rows] : json.items()) {
    const bool digits =
        !key.empty() && key.size() <= 4 && key.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || std::stoi(key) >= kMaxHeads) refuse(json);
    CellSet cells = read_cells(in, rows);
    if (!cells.empty()) all.emplace(std::stoi(key), std::move(cells));
  }
  return all;
}

MaskSpec read_mask(const Json& json, const std::string& where, const JsonFileWords& words) {
  const JsonReader in(json, where, words);
  MaskSpec mask;
  in.choice("kind", mask.kind);
  in.number("window", mask.window, 0, 1 << 20);
  in.number("stride", mask.stride, 1, 1 << 20);
  if (in.find("causal")) {
    bool causal = false;
    in.boolean("causal", causal);
    mask.causal = causal;
  }
  const auto read_positions = [&](const char* name, std::vector<int>& positions) {
    const Json* list = in.find(name);
    if (!list) return;
    const std::string key = in.name(name);
    if (!list->is_array() || list->size() > kMaxListed)
      in.fail(key, Message{"session.positions"}, *list);
    for (const Json& item : *list) positions.push_back(position(in, item, key));
  };
  read_positions("padding", mask.padding);
  read_positions("source_padding", mask.source_padding);
  if (const Json* list = in.find("forbidden")) mask.forbidden = read_cells(in, *list);
  if (const Json* added = in.find("added")) mask.added = read_added(in, *added, words);
  if (const Json* heads = in.find("by_head")) mask.by_head = read_by_head(in, *heads);
  return mask;
}

Json mask_json(const MaskSpec& mask) {
  Json json = {{"kind", word(mask.kind)}, {"window", mask.window}, {"stride", mask.stride}};
  if (mask.causal) json["causal"] = *mask.causal;
  if (!mask.padding.empty()) json["padding"] = mask.padding;
  if (!mask.source_padding.empty()) json["source_padding"] = mask.source_padding;
  const auto cells_json = [](const CellSet& cells) {
    Json rows = Json::array();
    for (const int query : cells.rows()) rows.push_back(row_text(query, cells.row(query)));
    return rows;
  };
  if (!mask.forbidden.empty()) json["forbidden"] = cells_json(mask.forbidden);
  for (const auto& [head, cells] : mask.by_head)
    json["by_head"][std::to_string(head)] = cells_json(cells);
  if (mask.added.empty()) return json;
  Json numbers = Json::array();
  for (const float number : *mask.added.cells)
    numbers.push_back(std::isfinite(number) ? Json(number) : Json("-inf"));
  json["added"] = {
      {"heads", mask.added.heads}, {"tokens", mask.added.tokens}, {"cells", std::move(numbers)}};
  return json;
}

}  // namespace

Json parse_json(std::string_view text, const JsonFileWords& words) {
  // nlohmann's parser is recursive; a document of ours nests five deep.
  const auto shallow = [&](int level, Json::parse_event_t, Json&) {
    if (level > 16) throw Error(Message{words.too_deep});
    return true;
  };
  try {
    return Json::parse(text, shallow);
  } catch (const Json::exception& error) {
    throw Error(json_problem(words.not_json, error));
  }
}

std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

JsonReader::JsonReader(const Json& object, std::string where, const JsonFileWords& words)
    : object_(object), where_(std::move(where)), words_(words) {
  if (object_.is_object()) return;
  if (where_.empty()) throw Error(Message{"folder.no_object"});
  fail(where_, Message{"session.object"}, object_);
}

void JsonReader::fail(const std::string& key, const Message& expected, const Json& got) const {
  std::string text = got.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 40) + "…";
  throw Error(
      Message{words_.wrong_value, {{"key", key}, {"got", clean_utf8(text).text}}}.with(expected));
}

const Json* JsonReader::find(const char* key) const {
  const auto at = object_.find(key);
  return at == object_.end() ? nullptr : &*at;
}

void JsonReader::number(const char* key, int& out, int low, int high) const {
  std::int64_t wide = out;
  number(key, wide, std::int64_t{low}, std::int64_t{high});
  out = static_cast<int>(wide);
}

void JsonReader::number(const char* key, std::int64_t& out, std::int64_t low,
                        std::int64_t high) const {
  const Json* value = find(key);
  if (!value) return;
  const Message expected{"session.number",
                         {{"low", std::to_string(low)}, {"high", std::to_string(high)}}};
  if (!value->is_number_integer()) fail(name(key), expected, *value);
  // What does not fit into 63 bits reads back as negative; it may not pass for a small number.
  const bool huge = value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX;
  const std::int64_t number = huge ? 0 : value->get<std::int64_t>();
  if (huge || number < low || number > high) fail(name(key), expected, *value);
  out = number;
}

void JsonReader::boolean(const char* key, bool& out) const {
  const Json* value = find(key);
  if (!value) return;
  if (!value->is_boolean()) fail(name(key), Message{"session.boolean"}, *value);
  out = value->get<bool>();
}

void JsonReader::number(const char* key, double& out, double low, double high) const {
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

void JsonReader::text(const char* key, std::string& out) const {
  const Json* value = find(key);
  if (!value) return;
  if (!value->is_string()) fail(name(key), Message{"session.text"}, *value);
  out = value->get<std::string>();
}

void JsonReader::texts(const char* key, std::vector<std::string>& out) const {
  const Json* value = find(key);
  if (!value) return;
  const auto refuse = [&](const Json& got) { fail(name(key), Message{"claim.texts"}, got); };
  if (!value->is_array() || value->empty()) refuse(*value);
  out.clear();
  for (const Json& one : *value) {
    if (!one.is_string()) refuse(one);
    out.push_back(one.get<std::string>());
  }
}

Message JsonReader::one_of(const std::string& list) {
  return Message{"session.choice", {{"choices", list.substr(std::string_view("one of ").size())}}};
}

namespace {

// Biases of single products, where they are not as `bias` says.
void write_biases(const Config& c, Json& json) {
  if (c.qkv_bias) json["qkv_bias"] = *c.qkv_bias;
  if (c.output_bias) json["output_bias"] = *c.output_bias;
  if (c.mlp_bias) json["mlp_bias"] = *c.mlp_bias;
  if (c.head_bias) json["head_bias"] = *c.head_bias;
}

void write_embedding(const Config& c, Json& json) {
  if (c.embed_scale) json["embed_scale"] = true;
  if (c.embed_norm) json["embed_norm"] = true;
  if (c.sinusoid != Sinusoid::kInterleaved) json["sinusoid"] = word(c.sinusoid);
  if (c.position_offset != 0) json["position_offset"] = c.position_offset;
  if (c.segment_rows != kSegments) json["segment_rows"] = c.segment_rows;
}

void read_biases(const JsonReader& in, Config& c) {
  const auto read = [&](const char* key, std::optional<bool>& out) {
    bool value = false;
    in.boolean(key, value);
    if (in.find(key)) out = value;
  };
  read("qkv_bias", c.qkv_bias);
  read("output_bias", c.output_bias);
  read("mlp_bias", c.mlp_bias);
  read("head_bias", c.head_bias);
}

void read_embedding(const JsonReader& in, Config& c) {
  in.boolean("embed_scale", c.embed_scale);
  in.boolean("embed_norm", c.embed_norm);
  in.choice("sinusoid", c.sinusoid);
  in.number("position_offset", c.position_offset, 0, kMaxPositionOffset);
  in.number("segment_rows", c.segment_rows, 1, kSegments);
}

}  // namespace

// What only some models have is written for those alone: files of the others stay as they were.
Json config_json(const Config& c) {
  Json json = {{"form", word(c.form)},
               {"layers", c.layers},
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
               {"mask", mask_json(c.mask)}};
  if (c.norm != NormKind::kLayer) json["norm"] = word(c.norm);
  if (c.norm_epsilon != Config{}.norm_epsilon) json["norm_epsilon"] = c.norm_epsilon;
  write_biases(c, json);
  write_embedding(c, json);
  if (c.head_transform) json["head_transform"] = true;
  if (c.pooler != Pooler::kNone) json["pooler"] = word(c.pooler);
  if (c.encoder_layers != 0) json["encoder_layers"] = c.encoder_layers;
  if (c.kv_heads != 0) json["kv_heads"] = c.kv_heads;
  if (c.tied_head) json["tied_head"] = true;
  if (!c.output_projection) json["output_projection"] = false;
  if (c.d_value != 0) json["d_value"] = c.d_value;
  if (c.bias_kv) json["bias_kv"] = true;
  if (c.zero_attention) json["zero_attention"] = true;
  if (c.average_weights) json["average_weights"] = true;
  if (c.fused_attention) json["fused_attention"] = true;
  if (!c.masked_heads.empty()) json["masked_heads"] = heads_text(c.masked_heads);
  if (c.has_rotary()) {
    json["rotary"] = word(c.rotary);
    json["rotary_base"] = c.rotary_base;
    if (c.rotary_width != 0) json["rotary_width"] = c.rotary_width;
  }
  write_attention_options(c, json);
  if (c.positions == PositionKind::kRelative) json["relative_reach"] = c.relative_reach;
  if (c.positions == PositionKind::kT5) {
    json["t5_buckets"] = c.t5_buckets;
    json["t5_reach"] = c.t5_reach;
  }
  if (!c.attends()) json["mixer"] = word(c.mixer);
  if (c.mixer == MixerKind::kConvolution) {
    json["kernel"] = c.kernel;
    json["dilation"] = c.dilation;
  }
  if (c.has_experts()) {
    json["experts"] = c.experts;
    if (c.top_experts != 0) json["top_experts"] = c.top_experts;
    if (c.balance != 0) json["balance"] = c.balance;
  }
  if (c.memory != 0) json["memory"] = c.memory;
  if (c.numbers) json["numbers"] = true;
  if (c.components != 0) json["components"] = c.components;
  if (c.segments) json["segments"] = true;
  if (c.token_head) json["token_head"] = true;
  if (c.pool != PoolKind::kMean) json["pool"] = word(c.pool);
  if (c.pool == PoolKind::kFoci) {
    json["foci"] = c.foci;
    if (c.pool_hidden != 0) json["pool_hidden"] = c.pool_hidden;
    if (c.foci_penalty != 0) json["foci_penalty"] = c.foci_penalty;
  }
  return json;
}

Config read_config(const Json& json, const std::string& where, const JsonFileWords& words) {
  const JsonReader in(json, where, words);
  Config c;
  in.choice("form", c.form);
  in.number("layers", c.layers, c.form == ModelForm::kClasses ? 0 : 1, kMaxLayers);
  in.number("heads", c.heads, 1, kMaxHeads);
  in.number("d_model", c.d_model, 1, kMaxWidth);
  in.number("kv_heads", c.kv_heads, 1, kMaxHeads);
  in.number("d_head", c.d_head, 0, kMaxWidth);
  in.number("d_hidden", c.d_hidden, 0, 4 * kMaxWidth);
  in.choice("attention", c.attention);
  in.choice("scores", c.scores);
  in.boolean("scale", c.scale);
  in.number("temperature", c.temperature, kLowestTemperature, kHighestTemperature);
  in.choice("block", c.block);
  in.choice("norm", c.norm);
  in.number("norm_epsilon", c.norm_epsilon, kLowestEpsilon, kHighestEpsilon);
  read_biases(in, c);
  read_embedding(in, c);
  in.boolean("head_transform", c.head_transform);
  in.choice("pooler", c.pooler);
  in.number("encoder_layers", c.encoder_layers, 0, kMaxLayers);
  in.choice("activation", c.activation);
  in.choice("positions", c.positions);
  in.choice("rotary", c.rotary);
  in.number("rotary_base", c.rotary_base, kLowestRotaryBase, kHighestRotaryBase);
  in.number("rotary_width", c.rotary_width, 0, kMaxWidth);
  read_attention_options(in, c);
  in.number("relative_reach", c.relative_reach, 1, kMaxReach);
  in.number("t5_buckets", c.t5_buckets, 2, kMaxReach);
  in.number("t5_reach", c.t5_reach, 1, kMaxReach);
  in.choice("mixer", c.mixer);
  in.number("kernel", c.kernel, 1, kMaxKernel);
  in.number("dilation", c.dilation, 1, kMaxDilation);
  in.number("experts", c.experts, 0, kMaxExperts);
  in.number("top_experts", c.top_experts, 0, kMaxExperts);
  in.number("balance", c.balance, 0, kHighestPenalty);
  in.number("memory", c.memory, 0, kMaxMemory);
  in.boolean("numbers", c.numbers);
  in.number("components", c.components, 0, kMaxComponents);
  in.boolean("bias", c.bias);
  in.boolean("tied_head", c.tied_head);
  in.boolean("output_projection", c.output_projection);
  in.number("d_value", c.d_value, 0, kMaxWidth);
  in.boolean("bias_kv", c.bias_kv);
  in.boolean("zero_attention", c.zero_attention);
  in.boolean("average_weights", c.average_weights);
  in.boolean("fused_attention", c.fused_attention);
  if (const Json* heads = in.find("masked_heads")) {
    std::string text;
    in.text("masked_heads", text);
    try {
      c.masked_heads = read_heads(text);
    } catch (const UsageError&) {
      in.fail(in.name("masked_heads"), Message{"session.masked_heads"}, *heads);
    }
  }
  in.boolean("residual", c.residual);
  in.boolean("segments", c.segments);
  in.boolean("token_head", c.token_head);
  in.choice("pool", c.pool);
  in.number("foci", c.foci, 1, kMaxFoci);
  in.number("pool_hidden", c.pool_hidden, 0, kMaxWidth);
  in.number("foci_penalty", c.foci_penalty, 0, kHighestPenalty);
  if (const Json* seed = in.find("seed")) {
    if (!seed->is_number_unsigned()) in.fail(in.name("seed"), Message{"session.seed"}, *seed);
    c.seed = seed->get<std::uint64_t>();
  }
  if (const Json* mask = in.find("mask")) c.mask = read_mask(*mask, in.name("mask"), words);
  return c;
}

}  // namespace headlight
