#include "core/text/pieces/piece_parts.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/text/pieces/piece_unicode.h"
#include "core/text/pieces/usual_specials.h"

namespace headlight {
namespace {

using Parts = PieceTokenizer::Parts;

// The pieces of the model, and those that were added.
void list_pieces(Parts& p) {
  const PieceTable& table = *p.model.pieces;
  int size = table.size();
  for (const AddedToken& token : p.added) size = std::max(size, token.id + 1);
  const auto count = static_cast<std::size_t>(size);
  p.written.resize(count);
  p.has.resize(count, 0);
  p.special.resize(count, 0);
  for (int id = 0; id < table.size(); ++id) {
    p.written[static_cast<std::size_t>(id)] = table.piece(id);
    p.has[static_cast<std::size_t>(id)] = table.has(id);
  }
  for (const AddedToken& token : p.added) {
    const auto id = static_cast<std::size_t>(token.id);
    const int known = table.find(token.content);
    const bool other_id = known >= 0 && known != token.id;
    if (other_id || (p.has[id] && p.written[id] != token.content)) {
      throw Error(Message{"pieces.added_twice",
                          {{"token", visible_label(shortened(token.content, 40))},
                           {"id", std::to_string(token.id)},
                           {"first", visible_label(shortened(p.written[id], 40))},
                           {"known", std::to_string(known)}}});
    }
    p.written[id] = token.content;
    p.has[id] = 1;
    if (token.special) p.special[id] = 1;
  }
}

// One that is looked for in the normalized text is normalized itself.
void list_added(Parts& p) {
  for (const AddedToken& token : p.added) {
    if (!token.normalized) {
      p.typed.add(token, token.content);
      continue;
    }
    AlignedText written(token.content, 0);
    if (p.normalize) p.normalize(written);
    p.normalized.add(token, written.text());
  }
  p.typed.finish();
  p.normalized.finish();
}

// What stands for a piece on an axis.
std::string name_of_piece(const Parts& p, std::size_t id) {
  const std::string& written = p.written[id];
  if (!p.has[id] || written.empty()) return std::to_string(id);
  const bool in_words = p.model.type == "WordPiece" || !p.model.suffix.empty();
  const bool as_it_is = p.special[id] || in_words || byte_of_piece(written) >= 0;
  const std::string name = as_it_is ? written : readable_bytes(p.bytes[id]);
  return name.empty() ? written : name;
}

void name_pieces(Parts& p) {
  p.bytes = p.written;
  p.names = std::make_shared<std::vector<std::string>>();
  p.names->reserve(p.written.size());
  for (std::size_t id = 0; id < p.written.size(); ++id) {
    if (p.has[id] && !p.special[id]) p.decoder.one(p.bytes[id]);
    p.names->push_back(name_of_piece(p, id));
  }
}

// What a special token may be called where nothing says it, the likeliest first: what stands around
// a text, then the usual names.
std::vector<std::string> likely_names(const Parts& p, Special special) {
  std::vector<std::string> names = usual_names(special, kAnyTokenizerJson);
  if (special == Special::kClass) names.insert(names.begin(), p.rows.start);
  if (special == Special::kSeparator) names.insert(names.begin(), p.rows.separator);
  return names;
}

int find_written(const Parts& p, const std::string& name, bool only_special) {
  if (name.empty()) return -1;
  for (const AddedToken& token : p.added) {
    if (token.content == name && (token.special || !only_special)) return token.id;
  }
  return only_special ? -1 : p.model.pieces->find(name);
}

void find_specials(Parts& p, const SpecialNames& names) {
  for (std::size_t i = 0; i < kSpecials; ++i) {
    int id = find_written(p, names[i], false);
    if (id < 0 && static_cast<Special>(i) == Special::kUnknown)
      id = p.model.model->unknown().value_or(-1);
    for (const std::string& usual : likely_names(p, static_cast<Special>(i))) {
      if (id < 0) id = find_written(p, usual, true);
    }
    p.special_ids[i] = id;
    if (id >= 0) p.special[static_cast<std::size_t>(id)] = 1;
  }
}

// Does this component, or one within it, keep every byte? Its list of parts has this name.
bool has_byte_level(const PieceJson& json, const char* list) {
  if (json.type() == "ByteLevel") return true;
  if (json.type() != "Sequence") return false;
  for (const PieceJson& each : json.at(list).items()) {
    if (has_byte_level(each, list)) return true;
  }
  return false;
}

void read_components(const PieceJson& json, Parts& p) {
  if (json.has("normalizer")) {
    p.normalize = read_normalizer(json.at("normalizer"));
    p.any_bytes = has_byte_level(json.at("normalizer"), "normalizers");
  }
  if (json.has("pre_tokenizer")) {
    p.cut = read_pre_tokenizer(json.at("pre_tokenizer"));
    p.any_bytes = p.any_bytes || has_byte_level(json.at("pre_tokenizer"), "pretokenizers");
  }
  if (json.has("language_code")) {
    p.code_begin = json.at("language_code").at("begin").text();
    p.code_end = json.at("language_code").at("end").text();
  }
  if (json.has("decoder")) p.decoder = read_piece_decoder(json.at("decoder"));
  if (json.has("post_processor")) {
    p.rows = read_post_processor(json.at("post_processor"), static_cast<int>(p.written.size()));
  }
}

}  // namespace

std::shared_ptr<PieceTokenizer::Parts> read_piece_parts(const nlohmann::json& document,
                                                        const SpecialNames& names) {
  const PieceJson json(document, "");
  // How many tokens a training's rows had is no matter here: a row is as long as its text.
  json.only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
             "post_processor", "decoder", "model", "language_code"});
  auto p = std::make_shared<Parts>();
  p->model = read_piece_model(json.at("model"));
  if (json.has("added_tokens")) p->added = read_added_tokens(json.at("added_tokens"));
  list_pieces(*p);
  read_components(json, *p);
  list_added(*p);
  find_specials(*p, names);
  name_pieces(*p);
  constexpr char kMark[] = "\xE2\x96\x81";
  if (p->model.model->parts_before(kMark)) p->mark = kMark;
  p->source = document.dump();
  return p;
}

}  // namespace headlight
