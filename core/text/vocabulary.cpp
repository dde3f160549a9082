#include "core/text/vocabulary.h"

#include <unicode/uchar.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/similar.h"
#include "core/base/utf8.h"
#include "core/text/number_words.h"
#include "core/text/pieces/piece_tokenizer.h"
#include "core/text/pieces/piece_unicode.h"
#include "core/text/unknown_words.h"
#include "core/text/word_pieces.h"

namespace headlight {
namespace {

constexpr std::pair<TextCut, std::string_view> kCuts[] = {
    {TextCut::kWords, "words"},     {TextCut::kCharacters, "characters"},
    {TextCut::kBytes, "bytes"},     {TextCut::kBpe, "bpe"},
    {TextCut::kNumbers, "numbers"}, {TextCut::kWordPiece, "wordpiece"},
    {TextCut::kPieces, "pieces"}};

constexpr std::string_view kSpecialNames[kSpecials] = {"[PAD]", "[UNK]",  "[BOS]", "[EOS]",
                                                       "[CLS]", "[MASK]", "[SEP]"};

std::string in_quotes(std::string_view token) { return "'" + visible_label(token) + "'"; }

void check_token(std::string_view token, std::size_t id) {
  const MessageSlot where{"id", std::to_string(id)};
  if (token.empty()) throw Error(Message{"vocabulary.empty_token", {where}});
  if (token.size() > kMaxTokenBytes) {
    throw Error(Message{
        "vocabulary.long_token",
        {where, {"limit", std::to_string(kMaxTokenBytes)}, {"got", std::to_string(token.size())}}});
  }
  if (clean_utf8(token).replaced > 0) throw Error(Message{"vocabulary.token_not_utf8", {where}});
}

// No space before these, none after those.
bool sticks_to_word_before(std::string_view token) {
  static constexpr std::string_view kClosing[] = {".", ",", "!", "?", ";", ":", ")", "]", "}", "%"};
  return std::find(std::begin(kClosing), std::end(kClosing), token) != std::end(kClosing);
}
bool sticks_to_word_after(std::string_view token) {
  return token == "(" || token == "[" || token == "{";
}

// A person may write a number as they like, the tokens have one way.
void check_grid(const std::vector<std::string>& tokens) {
  const std::vector<std::string> right = grid_words(static_cast<int>(tokens.size()));
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id] == right[id]) continue;
    throw Error(Message{"vocabulary.not_a_grid",
                        {{"id", std::to_string(id)},
                         {"right", right[id]},
                         {"got", visible_label(shortened(tokens[id], 40))}}});
  }
}

// Scripts that write words apart, so that what stands without a space belongs together.
bool begins_with_letter(std::string_view word) {
  const auto point = static_cast<UChar32>(code_point_at(word, 0).value);
  return u_isalnum(point) && !u_hasBinaryProperty(point, UCHAR_IDEOGRAPHIC);
}

// A token that neither is there nor has [UNK] to stand for it.
struct NotThere {};

}  // namespace

std::string_view to_string(TextCut cut) {
  for (const auto& [kind, name] : kCuts) {
    if (kind == cut) return name;
  }
  return "unknown";
}

std::optional<TextCut> text_cut_from_string(std::string_view name) {
  for (const auto& [kind, text] : kCuts) {
    if (text == name) return kind;
  }
  return std::nullopt;
}

bool is_learned(TextCut cut) { return cut != TextCut::kNumbers && cut != TextCut::kPieces; }

bool is_ascii_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool begins_word(std::string_view token) {
  return token.size() > 1 && token[0] == ' ' && is_ascii_word(token[1]);
}

std::string_view to_string(Special special) {
  return kSpecialNames[static_cast<std::size_t>(special)];
}

Vocabulary::Vocabulary(TextCut cut, std::vector<std::string> names, std::shared_ptr<const Bpe> bpe)
    : cut_(cut),
      names_(std::make_shared<const std::vector<std::string>>(std::move(names))),
      bpe_(std::move(bpe)) {
  if (names_->empty()) throw Error(Message{"vocabulary.empty"});
  if (names_->size() > static_cast<std::size_t>(kMaxVocabulary)) {
    throw Error(Message{"vocabulary.too_large",
                        {{"limit", count_text(kMaxVocabulary)},
                         {"got", count_text(static_cast<long long>(names_->size()))}}});
  }
  blanks_begin_words_ = cut == TextCut::kBpe && std::ranges::any_of(*names_, begins_word);
  index_tokens(bpe_ ? static_cast<std::size_t>(bpe_->size()) : 0);
}

Vocabulary::Vocabulary(TextCut cut, std::vector<std::string> tokens)
    : Vocabulary(cut, std::move(tokens), nullptr) {
  if (cut == TextCut::kNumbers) check_grid(*names_);
  const bool listed =
      cut == TextCut::kWords || cut == TextCut::kCharacters || cut == TextCut::kWordPiece;
  if (!listed && cut != TextCut::kNumbers)
    throw UsageError(Message{"vocabulary.cut_has_tokens", {{"cut", std::string(to_string(cut))}}});
}

Vocabulary Vocabulary::of_bytes(std::span<const Special> specials) {
  std::vector<std::string> names;
  for (int byte = 0; byte < 256; ++byte) names.push_back(byte_text(static_cast<char>(byte)));
  for (const Special special : specials) names.emplace_back(to_string(special));
  return {TextCut::kBytes, std::move(names), std::make_shared<const Bpe>()};
}

Vocabulary Vocabulary::of_numbers(int count) { return {TextCut::kNumbers, grid_words(count)}; }

Vocabulary Vocabulary::of_bpe(Bpe bpe, std::span<const Special> specials) {
  std::vector<std::string> names;
  for (int id = 0; id < bpe.size(); ++id) names.push_back(readable_bytes(bpe.bytes(id)));
  for (const Special special : specials) names.emplace_back(to_string(special));
  return {TextCut::kBpe, std::move(names), std::make_shared<const Bpe>(std::move(bpe))};
}

Vocabulary::Vocabulary(std::shared_ptr<const PieceTokenizer> pieces)
    : cut_(TextCut::kPieces), names_(pieces->pieces()), pieces_(std::move(pieces)) {
  blanks_begin_words_ = std::ranges::any_of(*names_, begins_word);
  for (std::size_t i = 0; i < kSpecials; ++i)
    special_ids_[i] = pieces_->id_of(static_cast<Special>(i)).value_or(-1);
}

Vocabulary Vocabulary::of_pieces(std::shared_ptr<const PieceTokenizer> pieces) {
  return Vocabulary(std::move(pieces));
}

// From `first` on; before it the tokens are bytes and merges, which are not looked up by name.
void Vocabulary::index_tokens(std::size_t first) {
  special_ids_.fill(-1);
  for (std::size_t id = first; id < names_->size(); ++id) {
    const std::string& name = (*names_)[id];
    check_token(name, id);
    longest_ = std::max(longest_, name.size());
    const auto [entry, is_new] = ids_.emplace(name, static_cast<int>(id));
    if (!is_new) {
      throw Error(Message{"vocabulary.token_twice",
                          {{"token", in_quotes(name)},
                           {"first", std::to_string(entry->second)},
                           {"id", std::to_string(id)}}});
    }
    const auto special = std::find(std::begin(kSpecialNames), std::end(kSpecialNames), name);
    if (special != std::end(kSpecialNames))
      special_ids_[static_cast<std::size_t>(special - kSpecialNames)] = static_cast<int>(id);
  }
}

std::string_view Vocabulary::text_of(int id) const {
  if (pieces_) return pieces_->bytes(id);
  if (goes_on(id)) return std::string_view(token(id)).substr(kGoesOn.size());
  return bpe_ && id < bpe_->size() ? std::string_view(bpe_->bytes(id)) : token(id);
}

bool Vocabulary::goes_on(int id) const {
  return cut_ == TextCut::kWordPiece && goes_on_with_word(token(id));
}

bool Vocabulary::knows(std::string_view word) const {
  if (pieces_) return true;
  if (cut_ != TextCut::kWordPiece) return find(word).has_value();
  std::vector<PlacedPiece> pieces;
  const auto id_of_piece = [&](std::string_view piece) { return find(piece).value_or(-1); };
  return cut_word(word, false, longest_, id_of_piece, pieces);
}

std::optional<int> Vocabulary::find(std::string_view token) const {
  if (pieces_) return pieces_->find(token);
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::optional<int> Vocabulary::id_of(Special special) const {
  const int id = special_ids_[static_cast<std::size_t>(special)];
  if (id < 0) return std::nullopt;
  return id;
}

bool Vocabulary::is_special(int id) const {
  if (pieces_) return pieces_->is_special(id);
  return id >= 0 && std::find(special_ids_.begin(), special_ids_.end(), id) != special_ids_.end();
}

TokenizerKind Vocabulary::tokenizer_kind() const {
  if (cut_ == TextCut::kWords || cut_ == TextCut::kWordPiece) return TokenizerKind::kWords;
  if (cut_ == TextCut::kCharacters) return TokenizerKind::kCharacters;
  return TokenizerKind::kBytes;
}

void Vocabulary::add_id(std::string_view token, std::size_t begin, std::size_t end,
                        std::vector<PlacedToken>& out) const {
  auto id = find(token);
  if (!id) id = id_of(Special::kUnknown);
  if (!id) throw NotThere{};
  out.push_back({*id, begin, end});
}

// A word that begins at byte `begin` of the text. `inside`: it goes on with what stands before it,
// where it can.
void Vocabulary::add_pieces(std::string_view word, std::size_t begin, bool inside,
                            std::vector<PlacedToken>& out) const {
  std::vector<PlacedPiece> pieces;
  const auto id_of_piece = [&](std::string_view piece) { return find(piece).value_or(-1); };
  const bool fits = (inside && cut_word(word, true, longest_, id_of_piece, pieces)) ||
                    cut_word(word, false, longest_, id_of_piece, pieces);
  const std::optional<int> unknown = id_of(Special::kUnknown);
  if (!fits && !unknown) throw NotThere{};
  if (!fits) pieces.push_back({*unknown, word.size()});
  std::size_t at = 0;
  for (const PlacedPiece& piece : pieces) {
    out.push_back({piece.id, begin + at, begin + piece.end});
    at = piece.end;
  }
}

void Vocabulary::encode_word(std::string_view word, std::vector<int>& out) const try {
  if (pieces_) {
    for (const PlacedToken& token : pieces_->encode(word, false)) out.push_back(token.id);
    return;
  }
  std::vector<PlacedToken> placed;
  add_pieces(word, 0, false, placed);
  for (const PlacedToken& token : placed) out.push_back(token.id);
} catch (const NotThere&) {
  throw UsageError(unknown_message("vocabulary.unknown_token", *this, unknown_tokens(*this, word)));
}

// The part of a text from byte `from` of the whole, without specials.
void Vocabulary::encode_plain(std::string_view text, std::size_t from, Tokenizer* kept,
                              std::vector<PlacedToken>& out) const {
  if (bpe_) {
    std::size_t at = from;
    for (const int id : bpe_->encode(text)) {
      const std::size_t end = at + bpe_->bytes(id).size();
      out.push_back({id, at, end});
      at = end;
    }
    return;
  }
  if (cut_ == TextCut::kNumbers) {
    for_each_number_word(text, [&](std::size_t begin, std::size_t end) {
      const std::optional<double> number = number_of_word(text.substr(begin, end - begin));
      const std::optional<int> id = number ? grid_id(*number, size()) : std::nullopt;
      if (!id) throw NotThere{};
      out.push_back({*id, from + begin, from + end});
      return true;
    });
    return;
  }
  kept->for_each(text, [&](std::size_t begin, std::size_t end) {
    const std::string_view piece = text.substr(begin, end - begin);
    if (cut_ == TextCut::kWordPiece) {
      // "[MASK]ing": the hidden piece and the one behind it are one word.
      const bool inside = begin == 0 && !out.empty() && out.back().end == from &&
                          out.back().id == id_of(Special::kMask) && begins_with_letter(piece);
      add_pieces(piece, from + begin, inside, out);
      return true;
    }
    const CleanText clean = clean_utf8(piece);
    add_id(clean.replaced > 0 ? std::string_view(clean.text) : piece, from + begin, from + end,
           out);
    return true;
  });
}

std::vector<PlacedToken> Vocabulary::encode_placed(std::string_view text, Tokenizer* kept) const
    try {
  if (pieces_) return pieces_->encode(text, false);
  std::optional<Tokenizer> own;
  if (!bpe_ && !kept) kept = &own.emplace(tokenizer_kind());
  std::vector<PlacedToken> out;
  std::size_t plain = 0;  // where the text since the last special begins
  for (std::size_t at = text.find('['); at != text.npos; at = text.find('[', at)) {
    int special = -1;
    std::size_t length = 1;
    for (const int id : special_ids_) {
      if (id < 0 || !text.substr(at).starts_with(token(id))) continue;
      special = id;
      length = token(id).size();
    }
    if (special >= 0) {
      encode_plain(text.substr(plain, at - plain), plain, kept, out);
      out.push_back({special, at, at + length});
      plain = at + length;
    }
    at += length;
  }
  encode_plain(text.substr(plain), plain, kept, out);
  return out;
} catch (const NotThere&) {
  throw UsageError(unknown_message("vocabulary.unknown_token", *this, unknown_tokens(*this, text)));
}

std::vector<int> Vocabulary::encode(std::string_view text, Tokenizer* kept) const {
  std::vector<int> ids;
  for (const PlacedToken& placed : encode_placed(text, kept)) ids.push_back(placed.id);
  return ids;
}

std::string Vocabulary::decode(std::span<const int> ids) const {
  if (pieces_) return pieces_->decode(ids);
  std::string text;
  bool open = true;  // nothing before, or a bracket that the next word sticks to
  for (const int id : ids) {
    if (id < 0 || id >= size()) {
      throw Error(Message{"vocabulary.no_such_id",
                          {{"id", std::to_string(id)}, {"last", std::to_string(size() - 1)}}});
    }
    const std::string_view piece = text_of(id);
    if (cut_ == TextCut::kWords || cut_ == TextCut::kWordPiece) {
      if (!open && !goes_on(id) && !sticks_to_word_before(piece)) text += ' ';
      open = sticks_to_word_after(piece);
    }
    if (cut_ == TextCut::kNumbers && !text.empty()) text += ' ';
    text += piece;
  }
  return text;
}

bool operator==(const Vocabulary& a, const Vocabulary& b) {
  const auto merges = [](const Vocabulary& v) {
    return v.bpe_ ? v.bpe_->merges() : std::vector<BpeMerge>{};
  };
  if (a.pieces_ || b.pieces_) return a.pieces_ && b.pieces_ && *a.pieces_ == *b.pieces_;
  return a.cut_ == b.cut_ && *a.names_ == *b.names_ && merges(a) == merges(b);
}

}  // namespace headlight
