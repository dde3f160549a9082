#include "core/text/pieces/steps/post_processors.h"

#include <algorithm>
#include <optional>

#include "core/base/error.h"

namespace headlight {
namespace {

TemplatePart special(std::vector<int> ids, int segment) {
  return {TemplatePart::kSpecial, std::move(ids), segment};
}

// ["[SEP]", 102]
std::pair<std::string, int> read_named_id(const PieceJson& json, int size) {
  const std::vector<PieceJson> both = json.items();
  if (both.size() != 2) json.fail(Message{"pieces.expected.named_id"});
  return {both[0].text(), both[1].integer(0, size - 1)};
}

RowTemplate read_bert_rows(const PieceJson& json, int size) {
  json.only({"sep", "cls"});
  const auto [sep_name, sep] = read_named_id(json.at("sep"), size);
  const auto [cls_name, cls] = read_named_id(json.at("cls"), size);
  RowTemplate rows;
  rows.separator = sep_name;
  rows.start = cls_name;
  rows.single = {special({cls}, 0), {TemplatePart::kFirst, {}, 0}, special({sep}, 0)};
  rows.pair = rows.single;
  rows.pair.push_back({TemplatePart::kSecond, {}, 1});
  rows.pair.push_back(special({sep}, 1));
  return rows;
}

// Two separators between the texts, and no segments. What it says of blanks is of the places alone.
RowTemplate read_roberta_rows(const PieceJson& json, int size) {
  json.only({"sep", "cls", "trim_offsets", "add_prefix_space"});
  const auto [sep_name, sep] = read_named_id(json.at("sep"), size);
  const auto [cls_name, cls] = read_named_id(json.at("cls"), size);
  RowTemplate rows;
  rows.separator = sep_name;
  rows.start = cls_name;
  rows.single = {special({cls}, 0), {TemplatePart::kFirst, {}, 0}, special({sep}, 0)};
  rows.pair = rows.single;
  rows.pair.push_back(special({sep}, 0));
  rows.pair.push_back({TemplatePart::kSecond, {}, 0});
  rows.pair.push_back(special({sep}, 0));
  return rows;
}

std::vector<int> read_special_ids(const PieceJson& specials, const std::string& name, int size) {
  std::vector<int> ids;
  for (const PieceJson& id : specials.at(name.c_str()).at("ids").items())
    ids.push_back(id.integer(0, size - 1));
  return ids;
}

std::vector<TemplatePart> read_row(const PieceJson& json, const PieceJson& specials, int size,
                                   bool pair) {
  std::vector<TemplatePart> row;
  int texts = 0;
  for (const PieceJson& item : json.items()) {
    item.only({"SpecialToken", "Sequence"});
    const bool is_special = item.has("SpecialToken");
    const PieceJson part = item.at(is_special ? "SpecialToken" : "Sequence");
    part.only({"id", "type_id"});
    const std::string id = part.at("id").text();
    const int segment = part.has("type_id") ? part.at("type_id").integer(0, 1) : 0;
    if (is_special) {
      row.push_back(special(read_special_ids(specials, id, size), segment));
      continue;
    }
    if (id != "A" && (id != "B" || !pair)) part.at("id").fail(Message{"pieces.expected.sequence"});
    texts |= id == "A" ? 1 : 2;
    row.push_back({id == "A" ? TemplatePart::kFirst : TemplatePart::kSecond, {}, segment});
  }
  const auto of_kind = [&](TemplatePart::Kind kind) {
    return std::count_if(row.begin(), row.end(),
                         [&](const TemplatePart& part) { return part.kind == kind; });
  };
  const bool whole = texts == (pair ? 3 : 1) && of_kind(TemplatePart::kFirst) == 1 &&
                     of_kind(TemplatePart::kSecond) == (pair ? 1 : 0);
  if (!whole) json.fail(Message{"pieces.expected.sequence"});
  return row;
}

RowTemplate read_rows(const PieceJson& json, int size) {
  json.only({"single", "pair", "special_tokens"});
  RowTemplate rows;
  const PieceJson specials = json.at("special_tokens");
  rows.single = read_row(json.at("single"), specials, size, false);
  rows.pair = read_row(json.at("pair"), specials, size, true);
  return rows;
}

std::optional<RowTemplate> read_one(const PieceJson& json, int size);

// Of several parts one may put tokens around a text.
std::optional<RowTemplate> read_some(const PieceJson& json, int size) {
  json.only({"processors"});
  std::optional<RowTemplate> rows;
  for (const PieceJson& each : json.at("processors").items()) {
    std::optional<RowTemplate> more = read_one(each, size);
    if (more && rows) each.fail(Message{"pieces.expected.one_template"});
    if (more) rows = std::move(more);
  }
  return rows;
}

std::optional<RowTemplate> read_one(const PieceJson& json, int size) {
  const std::string type = json.type();
  if (type == "Sequence") return read_some(json, size);
  if (type == "TemplateProcessing") return read_rows(json, size);
  if (type == "BertProcessing") return read_bert_rows(json, size);
  if (type == "RobertaProcessing") return read_roberta_rows(json, size);
  if (type == "ByteLevel") {  // only takes blanks from the places of tokens
    json.only({"add_prefix_space", "trim_offsets", "use_regex"});
    return std::nullopt;
  }
  json.fail_unknown(type,
                    "BertProcessing, ByteLevel, RobertaProcessing, Sequence, TemplateProcessing");
}

}  // namespace

RowTemplate RowTemplate::plain() {
  RowTemplate rows;
  rows.single = {{TemplatePart::kFirst, {}, 0}};
  rows.pair = {{TemplatePart::kFirst, {}, 0}, {TemplatePart::kSecond, {}, 1}};
  return rows;
}

RowTemplate read_post_processor(const PieceJson& json, int size) {
  return read_one(json, size).value_or(RowTemplate::plain());
}

}  // namespace headlight
