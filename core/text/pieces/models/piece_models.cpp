#include "core/text/pieces/models/piece_models.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/text/special_tokens.h"

namespace headlight {

PieceTable PieceTable::of_ids(const PieceJson& vocab) {
  if (!vocab.json().is_object()) vocab.fail(Message{"pieces.expected.vocab"});
  if (vocab.json().empty()) throw Error(Message{"pieces.empty"});
  PieceTable table;
  const nlohmann::json& json = vocab.json();
  for (auto entry = json.begin(); entry != json.end(); ++entry) {
    const auto name = [&] { return vocab.name_of(visible_label(shortened(entry.key(), 40))); };
    const bool plain = entry->is_number_unsigned() &&
                       entry->get<std::uint64_t>() < static_cast<std::uint64_t>(kMaxVocabulary);
    const int id =
        plain ? entry->get<int>() : PieceJson(*entry, name()).integer(0, kMaxVocabulary - 1);
    if (entry.key().size() > kMaxTokenBytes) {
      throw Error(Message{"vocabulary.long_token",
                          {{"id", std::to_string(id)},
                           {"limit", std::to_string(kMaxTokenBytes)},
                           {"got", std::to_string(entry.key().size())}}});
    }
    table.grow(std::max(table.size(), id + 1));
    if (table.set(id, entry.key())) continue;
    throw Error(Message{"pieces.id_twice",
                        {{"id", std::to_string(id)},
                         {"first", visible_label(shortened(table.piece(id), 40))},
                         {"second", visible_label(shortened(entry.key(), 40))}}});
  }
  table.index();
  return table;
}

void PieceTable::grow(int size) {
  if (size <= this->size()) return;
  pieces_.resize(static_cast<std::size_t>(size));
  has_.resize(static_cast<std::size_t>(size), 0);
}

bool PieceTable::set(int id, std::string piece) {
  const auto at = static_cast<std::size_t>(id);
  if (has_[at]) return false;
  pieces_[at] = std::move(piece);
  has_[at] = 1;
  return true;
}

void PieceTable::index() {
  ids_.clear();
  ids_.reserve(pieces_.size());
  longest_ = 0;
  for (std::size_t id = 0; id < pieces_.size(); ++id) {
    if (!has_[id]) continue;
    ids_[pieces_[id]] = static_cast<int>(id);  // of a piece that is there twice the last
    longest_ = std::max(longest_, pieces_[id].size());
  }
}

int PieceTable::find(std::string_view piece) const {
  const auto found = ids_.find(piece);
  return found == ids_.end() ? -1 : found->second;
}

namespace {

// Files of the first versions do not name the type.
std::string model_type(const PieceJson& json) {
  if (json.has("type")) return json.type();
  if (json.has("merges")) return "BPE";
  if (json.has("max_input_chars_per_word")) return "WordPiece";
  return json.has("unk_id") ? "Unigram" : "WordLevel";
}

}  // namespace

ReadModel read_piece_model(const PieceJson& json) {
  ReadModel read;
  read.type = model_type(json);
  if (read.type == "Unigram") {
    read_unigram_model(json, read);
    return read;
  }
  const bool bpe = read.type == "BPE";
  if (!bpe && read.type != "WordPiece" && read.type != "WordLevel")
    json.fail_unknown(read.type, "BPE, Unigram, WordLevel, WordPiece");
  read.pieces = std::make_shared<PieceTable>(PieceTable::of_ids(json.at("vocab")));
  bpe ? read_bpe_model(json, read) : read_greedy_model(json, read);
  return read;
}

}  // namespace headlight
