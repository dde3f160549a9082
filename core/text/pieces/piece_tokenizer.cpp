#include "core/text/pieces/piece_tokenizer.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/text/pieces/piece_parts.h"
#include "core/text/pieces/piece_unicode.h"

namespace headlight {
namespace {

using Parts = PieceTokenizer::Parts;

// Words come again and again, and cutting one takes longer than looking it up.
class WordCache {
 public:
  explicit WordCache(std::size_t text_bytes) : in_use_(text_bytes > kWorthIt) {}

  const std::vector<WordPieceId>& cut(const PieceModel& model, std::string_view word) {
    if (!in_use_ || word.size() > kLongest || words_.size() > kMost) {
      once_.clear();
      model.cut(word, once_);
      return once_;
    }
    const auto found = words_.find(word);
    if (found != words_.end()) return found->second;
    std::vector<WordPieceId> pieces;
    model.cut(word, pieces);
    return words_.emplace(std::string(word), std::move(pieces)).first->second;
  }

 private:
  static constexpr std::size_t kWorthIt = 512, kLongest = 64, kMost = 1 << 20;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const {
      return std::hash<std::string_view>()(word);
    }
  };

  bool in_use_;
  std::unordered_map<std::string, std::vector<WordPieceId>, Hash, std::equal_to<>> words_;
  std::vector<WordPieceId> once_;
};

class TextEncoder {
 public:
  TextEncoder(const Parts& parts, std::size_t bytes, std::vector<PlacedToken>& out)
      : p_(parts), words_(bytes), out_(out) {}

  void encode(std::string_view text) {
    for (const AddedTokenFinder::Part& part : p_.typed.parts(text)) {
      ByteSpan span = part.span;
      if (part.id) {
        out_.push_back({*part.id, span.begin, span.end});
        continue;
      }
      span.begin += encode_code(text.substr(span.begin, span.size()), span.begin);
      AlignedText plain(text.substr(span.begin, span.size()), span.begin);
      if (!p_.any_bytes) clean(plain);
      if (p_.normalize) p_.normalize(plain);
      encode_normalized(std::move(plain));
    }
  }

 private:
  // Of a text that begins with a language's code: the code, one token. Returns its bytes.
  std::size_t encode_code(std::string_view text, std::size_t begin) {
    if (p_.code_begin.empty() || !text.starts_with(p_.code_begin)) return 0;
    const std::size_t end = text.find(p_.code_end, p_.code_begin.size());
    if (end == text.npos) return 0;
    const std::size_t size = end + p_.code_end.size();
    int id = p_.model.pieces->find(text.substr(0, size));
    if (id < 0) id = p_.special_ids[static_cast<std::size_t>(Special::kUnknown)];
    if (id >= 0) out_.push_back({id, begin, begin + size});
    return size;
  }

  // What is no UTF-8 becomes U+FFFD.
  static void clean(AlignedText& text) {
    AlignedText changed;
    std::size_t done = 0;
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint c = point_at(text.text(), at);
      if (!c.valid) {
        changed.append(text, done, at);
        changed.append("\xEF\xBF\xBD", text.place(at, at + c.size));
        done = at + c.size;
      }
      at += c.size;
    }
    if (done == 0) return;
    changed.append(text, done, text.size());
    text = std::move(changed);
  }

  void encode_normalized(AlignedText text) {
    if (p_.normalized.empty()) return encode_words(std::move(text));
    for (const AddedTokenFinder::Part& part : p_.normalized.parts(text.text())) {
      if (part.id) {
        const BytePlace place = text.place(part.span.begin, part.span.end);
        out_.push_back({*part.id, place.begin, place.end});
        continue;
      }
      AlignedText some;
      some.append(text, part.span.begin, part.span.end);
      encode_words(std::move(some));
    }
  }

  void encode_words(AlignedText text) {
    if (text.empty()) return;
    WordCut cut{std::move(text), {}};
    cut.words.push_back({0, cut.text.size()});
    if (p_.cut) p_.cut(cut);
    for (const ByteSpan& word : cut.words) {
      for (std::size_t at = word.begin; at < word.end;) {
        const std::size_t end =
            p_.mark.empty() ? word.end : mark_behind(cut.text.text(), at, word.end);
        encode_word(cut.text, at, end);
        at = end;
      }
    }
  }

  // The next mark that stands behind something else.
  std::size_t mark_behind(std::string_view text, std::size_t at, std::size_t end) const {
    while (at < end && text.substr(at).starts_with(p_.mark)) at += p_.mark.size();
    return std::min(text.find(p_.mark, at), end);
  }

  void encode_word(const AlignedText& text, std::size_t begin, std::size_t end) {
    const auto word = std::string_view(text.text()).substr(begin, end - begin);
    for (const WordPieceId& piece : words_.cut(*p_.model.model, word)) {
      const BytePlace place = text.place(begin + piece.begin, begin + piece.end);
      out_.push_back({piece.id, place.begin, place.end});
    }
  }

  const Parts& p_;
  WordCache words_;
  std::vector<PlacedToken>& out_;
};

std::vector<PlacedToken> encode_text(const Parts& parts, std::string_view text) {
  if (text.size() >= kMaxAlignedBytes) {
    throw Error(Message{"pieces.long_text",
                        {{"limit", count_text(static_cast<long long>(kMaxAlignedBytes))},
                         {"got", count_text(static_cast<long long>(text.size()))}}});
  }
  const MatchAllowance allowance(text.size());
  std::vector<PlacedToken> out;
  out.reserve(text.size() / 3 + 4);
  TextEncoder(parts, text.size(), out).encode(text);
  return out;
}

SegmentedTokens filled(const std::vector<TemplatePart>& row, bool add_special,
                       std::span<const PlacedToken> first, std::span<const PlacedToken> second) {
  SegmentedTokens made;
  for (const TemplatePart& part : row) {
    if (part.kind == TemplatePart::kSpecial) {
      for (const int id : part.ids) {
        if (add_special) made.tokens.push_back({id, 0, 0});
      }
    } else {
      const auto& text = part.kind == TemplatePart::kFirst ? first : second;
      made.tokens.insert(made.tokens.end(), text.begin(), text.end());
    }
    made.segments.resize(made.tokens.size(), part.segment);
  }
  return made;
}

std::string with_marks(std::string_view text) {
  std::string marked;
  for (const char c : text) marked += c == ' ' ? std::string("\xE2\x96\x81") : std::string(1, c);
  return marked;
}

}  // namespace

std::vector<PlacedToken> PieceTokenizer::encode(std::string_view text, bool add_special) const {
  std::vector<PlacedToken> tokens = encode_text(*parts_, text);
  if (!add_special) return tokens;
  return filled(parts_->rows.single, true, tokens, {}).tokens;
}

SegmentedTokens PieceTokenizer::encode_pair(std::string_view first, std::string_view second,
                                            bool add_special) const {
  return filled(parts_->rows.pair, add_special, encode_text(*parts_, first),
                encode_text(*parts_, second));
}

std::string PieceTokenizer::decode(std::span<const int> ids) const {
  std::vector<std::string> pieces;
  for (const int id : ids) {
    if (id < 0 || id >= size()) {
      throw Error(Message{"vocabulary.no_such_id",
                          {{"id", std::to_string(id)}, {"last", std::to_string(size() - 1)}}});
    }
    if (has(id)) pieces.push_back(written(id));
  }
  parts_->decoder.row(pieces);
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

int PieceTokenizer::size() const { return static_cast<int>(parts_->written.size()); }

const std::string& PieceTokenizer::piece(int id) const {
  return (*parts_->names)[static_cast<std::size_t>(id)];
}

std::shared_ptr<const std::vector<std::string>> PieceTokenizer::pieces() const {
  return parts_->names;
}

const std::string& PieceTokenizer::written(int id) const {
  return parts_->written[static_cast<std::size_t>(id)];
}

bool PieceTokenizer::has(int id) const { return parts_->has[static_cast<std::size_t>(id)] != 0; }

const std::string& PieceTokenizer::bytes(int id) const {
  return parts_->bytes[static_cast<std::size_t>(id)];
}

std::optional<int> PieceTokenizer::find(std::string_view piece) const {
  for (const AddedToken& token : parts_->added) {
    if (token.content == piece) return token.id;
  }
  const PieceTable& table = *parts_->model.pieces;
  const int as_it_is = table.find(piece);
  if (as_it_is >= 0) return as_it_is;
  for (const std::string& other : {as_byte_characters(piece), with_marks(piece)}) {
    const int id = table.find(other);
    if (id >= 0 && this->piece(id) == piece) return id;
  }
  return std::nullopt;
}

std::optional<int> PieceTokenizer::id_of(Special special) const {
  const int id = parts_->special_ids[static_cast<std::size_t>(special)];
  return id < 0 ? std::nullopt : std::optional(id);
}

bool PieceTokenizer::is_special(int id) const {
  return id >= 0 && id < size() && parts_->special[static_cast<std::size_t>(id)] != 0;
}

SpecialNames PieceTokenizer::special_names() const {
  SpecialNames names;
  for (std::size_t i = 0; i < kSpecials; ++i) {
    const int id = parts_->special_ids[i];
    // A name that another id has as well would say that one.
    if (id >= 0 && find(written(id)) == id) names[i] = written(id);
  }
  return names;
}

PieceTokenizer PieceTokenizer::with_size(int wanted) const {
  if (wanted == size()) return *this;
  if (wanted < size() || wanted > kMaxVocabulary) {
    throw Error(Message{"pieces.rows",
                        {{"n", count_text(size())},
                         {"rows", count_text(wanted)},
                         {"limit", count_text(kMaxVocabulary)}}});
  }
  auto parts = std::make_shared<Parts>(*parts_);
  const auto rows = static_cast<std::size_t>(wanted);
  parts->written.resize(rows);
  parts->bytes.resize(rows);
  parts->has.resize(rows, 0);
  parts->special.resize(rows, 0);
  auto names = std::make_shared<std::vector<std::string>>(*parts_->names);
  for (std::size_t id = names->size(); id < rows; ++id) names->push_back(std::to_string(id));
  parts->names = std::move(names);
  return PieceTokenizer(std::move(parts));
}

std::string_view PieceTokenizer::kind() const { return parts_->model.type; }

const std::string& PieceTokenizer::to_tokenizer_json() const { return parts_->source; }

bool operator==(const PieceTokenizer& a, const PieceTokenizer& b) {
  return a.parts_ == b.parts_ ||
         (a.size() == b.size() && a.parts_->special_ids == b.parts_->special_ids &&
          a.parts_->source == b.parts_->source);
}

PieceTokenizer PieceTokenizer::from_json(std::string_view json, const SpecialNames& names) {
  return PieceTokenizer(read_piece_parts(parse_piece_json(json), names));
}

PieceTokenizer PieceTokenizer::of_files(const PieceFiles& files) {
  try {
    return PieceTokenizer(read_piece_parts(files.tokenizer, files.names));
  } catch (const Error& error) {
    throw Error(Message{"pieces.file", {{"file", files.file.string()}}}.with(error.message()));
  }
}

PieceTokenizer PieceTokenizer::open(const std::filesystem::path& folder) {
  return of_files(read_piece_files(folder));
}

std::optional<PieceTokenizer> PieceTokenizer::open_target(const std::filesystem::path& folder) {
  const std::filesystem::path file = target_piece_file(folder);
  if (file.empty()) return std::nullopt;
  return of_files(read_piece_files(folder, file));
}

bool PieceTokenizer::is_in(const std::filesystem::path& folder) {
  return !piece_file(folder).empty();
}

}  // namespace headlight
