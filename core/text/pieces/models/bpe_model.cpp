// Byte-pair encoding by ranked merges, over the characters of a word: those that stand for bytes,
// or SentencePiece's with bytes where a character is not known.
#include <queue>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/text/pieces/models/pair_table.h"
#include "core/text/pieces/models/piece_models.h"
#include "core/text/pieces/piece_unicode.h"

namespace headlight {
namespace {

// From here on a heap finds the next merge; for less, looking at all is faster.
constexpr std::size_t kShortWord = 48;

struct BpeOptions {
  std::string prefix, suffix;
  int unknown = -1;
  bool fuse_unknown = false, byte_fallback = false, ignore_merges = false;
  std::vector<char>
      only_whole;  // by id: stands for what is unknown and written just so; may be empty
};

struct Symbol {
  int id = 0;
  std::uint32_t begin = 0, end = 0;
  std::int32_t before = -1, behind = -1;  // of a long word: its neighbours; -1: none
};

class BpeModel final : public PieceModel {
 public:
  BpeModel(std::shared_ptr<const PieceTable> pieces, PairTable merges, BpeOptions options,
           std::vector<char> made)
      : pieces_(std::move(pieces)),
        merges_(std::move(merges)),
        o_(std::move(options)),
        made_(std::move(made)) {
    for (int byte = 0; byte < 256; ++byte) {
      bytes_[byte] = pieces_->find(byte_piece(static_cast<unsigned char>(byte)));
      std::string c;
      if (byte < 128) ascii_[byte] = find_in_texts(c.assign(1, static_cast<char>(byte)));
    }
  }

  std::optional<int> unknown() const override {
    return o_.unknown < 0 ? std::nullopt : std::optional(o_.unknown);
  }

  void cut(std::string_view word, std::vector<WordPieceId>& out) const override {
    if (o_.ignore_merges) {
      const int id = pieces_->find(word);
      if (id >= 0) return out.push_back({id, 0, static_cast<std::uint32_t>(word.size())});
    }
    std::vector<Symbol> symbols = symbols_of(word);
    symbols.size() <= kShortWord ? merge_short(symbols) : merge_long(symbols);
    for (const Symbol& s : symbols) {
      if (s.end > s.begin) out.push_back({id_of_symbol(s, word), s.begin, s.end});
    }
  }

  // Where no merge makes a piece in which the mark stands behind something else, none reaches over
  // such a place, and what is unknown is not joined over a mark that is known.
  bool parts_before(std::string_view mark) const override {
    if (!o_.prefix.empty() || !o_.suffix.empty() || o_.ignore_merges) return false;
    if (find_in_texts(mark) < 0) return false;
    for (int id = 0; id < pieces_->size(); ++id) {
      if (!made_[static_cast<std::size_t>(id)]) continue;
      const std::string_view piece = pieces_->piece(id);
      std::size_t at = 0;
      while (piece.substr(at).starts_with(mark)) at += mark.size();
      if (piece.find(mark, at) != piece.npos) return false;
    }
    return true;
  }

 private:
  int find_in_texts(std::string_view piece) const {
    const int id = pieces_->find(piece);
    const bool whole =
        id >= 0 && !o_.only_whole.empty() && o_.only_whole[static_cast<std::size_t>(id)];
    return whole ? -1 : id;
  }

  int id_of_symbol(const Symbol& symbol, std::string_view word) const {
    if (o_.only_whole.empty() || symbol.id != o_.unknown) return symbol.id;
    const int id = pieces_->find(word.substr(symbol.begin, symbol.end - symbol.begin));
    return id < 0 ? symbol.id : id;
  }

  std::vector<Symbol> symbols_of(std::string_view word) const {
    std::vector<Symbol> symbols;
    symbols.reserve(word.size());
    bool unknown_before = false;
    std::string key;
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t end = at + point_at(word, at).size;
      const int id = id_of_character(word, at, end, key);
      const auto from = static_cast<std::uint32_t>(at), to = static_cast<std::uint32_t>(end);
      bool unknown_now = false;
      if (id >= 0) {
        symbols.push_back({id, from, to});
      } else if (!add_bytes(word, at, end, symbols) && o_.unknown >= 0) {
        unknown_now = true;
        if (unknown_before && o_.fuse_unknown) {
          symbols.back().end = to;
        } else {
          symbols.push_back({o_.unknown, from, to});
        }
      }
      unknown_before = unknown_now;
      at = end;
    }
    return symbols;
  }

  int id_of_character(std::string_view word, std::size_t at, std::size_t end,
                      std::string& key) const {
    const bool prefixed = at > 0 && !o_.prefix.empty();
    const bool suffixed = end == word.size() && !o_.suffix.empty();
    if (!prefixed && !suffixed) {
      const auto byte = static_cast<unsigned char>(word[at]);
      return byte < 128 ? ascii_[byte] : find_in_texts(word.substr(at, end - at));
    }
    key = prefixed ? o_.prefix : std::string();
    key += word.substr(at, end - at);
    if (suffixed) key += o_.suffix;
    return pieces_->find(key);
  }

  bool add_bytes(std::string_view word, std::size_t at, std::size_t end,
                 std::vector<Symbol>& symbols) const {
    if (!o_.byte_fallback) return false;
    for (std::size_t i = at; i < end; ++i) {
      if (bytes_[static_cast<unsigned char>(word[i])] < 0) return false;
    }
    for (std::size_t i = at; i < end; ++i) {
      const auto from = static_cast<std::uint32_t>(i);
      symbols.push_back({bytes_[static_cast<unsigned char>(word[i])], from, from + 1});
    }
    return true;
  }

  // Of all merges that fit, the first one learned, of these the leftmost, again and again.
  void merge_short(std::vector<Symbol>& symbols) const {
    const PairTable::Merge* merges[kShortWord] = {};
    const auto look = [&](std::size_t i) {
      merges[i] = i + 1 < symbols.size() ? merges_.find(symbols[i].id, symbols[i + 1].id) : nullptr;
    };
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) look(i);
    for (;;) {
      std::size_t best = symbols.size();
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
        if (merges[i] && (best == symbols.size() || merges[i]->rank < merges[best]->rank)) best = i;
      }
      if (best == symbols.size()) return;
      symbols[best].id = merges[best]->made;
      symbols[best].end = symbols[best + 1].end;
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
      for (std::size_t i = best + 1; i + 1 < symbols.size(); ++i) merges[i] = merges[i + 1];
      look(best);
      if (best > 0) look(best - 1);
    }
  }

  struct Candidate {
    std::int32_t rank = 0, at = 0, left = 0, right = 0;
    bool operator>(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };

  void merge_long(std::vector<Symbol>& symbols) const {
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
    const auto symbol = [&](std::int32_t i) -> Symbol& {
      return symbols[static_cast<std::size_t>(i)];
    };
    const auto offer = [&](std::int32_t at) {
      const std::int32_t next = at < 0 ? -1 : symbol(at).behind;
      if (next < 0) return;
      if (const auto* merge = merges_.find(symbol(at).id, symbol(next).id))
        queue.push({merge->rank, at, symbol(at).id, symbol(next).id});
    };
    const auto count = static_cast<std::int32_t>(symbols.size());
    for (std::int32_t i = 0; i < count; ++i) {
      symbol(i).before = i - 1;
      symbol(i).behind = i + 1 < count ? i + 1 : -1;
    }
    for (std::int32_t i = 0; i < count; ++i) offer(i);
    while (!queue.empty()) {
      const Candidate c = queue.top();
      queue.pop();
      Symbol& left = symbol(c.at);
      if (left.end == left.begin || left.behind < 0) continue;
      Symbol& right = symbol(left.behind);
      if (left.id != c.left || right.id != c.right) continue;  // merged meanwhile
      left.id = merges_.find(c.left, c.right)->made;
      left.end = right.end;
      right.end = right.begin;
      left.behind = right.behind;
      if (left.behind >= 0) symbol(left.behind).before = c.at;
      offer(left.before);
      offer(c.at);
    }
  }

  std::shared_ptr<const PieceTable> pieces_;
  PairTable merges_;
  BpeOptions o_;
  std::vector<char> made_;  // by id: made by a merge
  int bytes_[256] = {}, ascii_[128] = {};
};

// "a b" or ["a", "b"].
std::optional<std::pair<std::string, std::string>> read_merge(const nlohmann::json& value) {
  if (value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string())
    return std::pair{value[0].get<std::string>(), value[1].get<std::string>()};
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const std::size_t blank = text.find(' ');
    if (blank != text.npos && text.find(' ', blank + 1) == text.npos)
      return std::pair{text.substr(0, blank), text.substr(blank + 1)};
  }
  return std::nullopt;
}

PairTable read_piece_merges(const PieceJson& json, const PieceTable& pieces,
                            const std::string& prefix, std::vector<char>& made) {
  if (!json.json().is_array()) json.fail(Message{"pieces.expected.list"});
  PairTable table(json.json().size());
  std::int32_t rank = 0;
  for (const nlohmann::json& value : json.json()) {
    const auto named = [&] {
      return PieceJson(value, json.name() + "[" + std::to_string(rank) + "]");
    };
    const auto merge = read_merge(value);
    if (!merge) named().fail(Message{"pieces.expected.merge"});
    const auto& [left, right] = *merge;
    // Of what goes on with a word, the mark at its beginning is no part of what is made.
    const std::string joined =
        left + (right.starts_with(prefix) ? right.substr(prefix.size()) : right);
    const int ids[] = {pieces.find(left), pieces.find(right), pieces.find(joined)};
    const std::string* const texts[] = {&left, &right, &joined};
    for (std::size_t i = 0; i < 3; ++i) {
      if (ids[i] >= 0) continue;
      throw Error(Message{"pieces.merge_unknown",
                          {{"key", named().name()},
                           {"left", visible_label(shortened(left, 40))},
                           {"right", visible_label(shortened(right, 40))},
                           {"piece", visible_label(shortened(*texts[i], 40))}}});
    }
    table.set(ids[0], ids[1], rank++, ids[2]);
    made[static_cast<std::size_t>(ids[2])] = 1;
  }
  return table;
}

}  // namespace

void read_bpe_model(const PieceJson& json, ReadModel& read) {
  // "only_whole", a list of ids, is our own: a vocabulary has pieces that SentencePiece's file
  // lacks.
  json.only({"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
             "byte_fallback", "ignore_merges", "vocab", "merges", "only_whole"});
  // Cutting by chance is for training.
  if (json.has("dropout") && json.at("dropout").number() != 0)
    json.at("dropout").fail(Message{"pieces.expected.no_dropout"});
  BpeOptions o;
  o.prefix = read.prefix = json.text("continuing_subword_prefix", "");
  o.suffix = read.suffix = json.text("end_of_word_suffix", "");
  o.fuse_unknown = json.boolean("fuse_unk", false);
  o.byte_fallback = json.boolean("byte_fallback", false);
  o.ignore_merges = json.boolean("ignore_merges", false);
  if (json.has("only_whole")) {
    const int size = read.pieces->size();
    o.only_whole.resize(static_cast<std::size_t>(size), 0);
    for (const PieceJson& id : json.at("only_whole").items())
      o.only_whole[static_cast<std::size_t>(id.integer(0, size - 1))] = 1;
  }
  if (json.has("unk_token")) o.unknown = read.pieces->find(json.at("unk_token").text());
  std::vector<char> made(static_cast<std::size_t>(read.pieces->size()), 0);
  PairTable merges = read_piece_merges(json.at("merges"), *read.pieces, o.prefix, made);
  read.model =
      std::make_shared<BpeModel>(read.pieces, std::move(merges), std::move(o), std::move(made));
}

}  // namespace headlight
