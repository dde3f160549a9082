// Protocol Buffers' wire format, as far as SentencePiece's model file needs it: fields of a number
// and a kind, each a whole number of 7-bit groups, 4 or 8 bytes, or a length and so many bytes.
#include <bit>
#include <cmath>
#include <optional>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/text/pieces/sentencepiece.h"
#include "core/text/special_tokens.h"

namespace headlight {
namespace {

struct Field {
  std::uint64_t number = 0, whole = 0;  // of kinds 0, 1 and 5
  std::string_view bytes;               // of kind 2
  int kind = 0;

  bool flag() const { return whole != 0; }
};

class Wire {
 public:
  explicit Wire(std::string_view bytes) : bytes_(bytes) {}

  std::optional<Field> next() {
    if (at_ == bytes_.size()) return std::nullopt;
    const std::uint64_t key = group();
    Field field{key >> 3, 0, {}, static_cast<int>(key & 7)};
    switch (field.kind) {
      case 0:
        field.whole = group();
        break;
      case 1:
        field.whole = little(8);
        break;
      case 2:
        field.bytes = take(group());
        break;
      case 5:
        field.whole = little(4);
        break;
      default:
        fail();
    }
    return field;
  }

  [[noreturn]] static void fail() { throw Error(Message{"pieces.no_sentencepiece"}); }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - at_) fail();
    const std::string_view part = bytes_.substr(at_, static_cast<std::size_t>(count));
    at_ += part.size();
    return part;
  }

  std::uint64_t group() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    fail();
  }

  std::uint64_t little(std::size_t count) {
    const std::string_view part = take(count);
    std::uint64_t value = 0;
    for (std::size_t i = count; i-- > 0;)
      value = (value << 8) | static_cast<unsigned char>(part[i]);
    return value;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

template <class Visit>
void for_each_field(std::string_view bytes, Visit visit) {
  Wire wire(bytes);
  while (const std::optional<Field> field = wire.next()) visit(*field);
}

[[noreturn]] void refuse(const char* key, const std::string& got, const char* known) {
  throw Error(Message{"pieces.unknown_type", {{"key", key}, {"got", got}, {"known", known}}});
}

void expect(const Field& field, int kind) {
  if (field.kind != kind) Wire::fail();
}

SentencePieceFile::Piece read_piece(std::string_view bytes, std::size_t id) {
  SentencePieceFile::Piece piece;
  for_each_field(bytes, [&](const Field& field) {
    if (field.number == 1) {
      expect(field, 2);
      piece.text = field.bytes;
    } else if (field.number == 2) {
      expect(field, 5);
      piece.score =
          static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(field.whole)));
    } else if (field.number == 3) {
      expect(field, 0);
      if (field.whole < 1 || field.whole > SentencePieceFile::kByte) Wire::fail();
      piece.type = static_cast<int>(field.whole);
    }
  });
  if (piece.text.empty() || clean_utf8(piece.text).replaced > 0 || !std::isfinite(piece.score))
    Wire::fail();
  if (piece.text.size() > kMaxTokenBytes) {
    throw Error(Message{"vocabulary.long_token",
                        {{"id", std::to_string(id)},
                         {"limit", std::to_string(kMaxTokenBytes)},
                         {"got", std::to_string(piece.text.size())}}});
  }
  return piece;
}

void read_trainer(std::string_view bytes, SentencePieceFile& file) {
  constexpr const char* kModels[] = {"UNIGRAM", "BPE", "WORD", "CHAR"};
  for_each_field(bytes, [&](const Field& field) {
    if (field.number == 3) {
      expect(field, 0);
      if (field.whole < 1 || field.whole > std::size(kModels)) Wire::fail();
      file.model = static_cast<int>(field.whole);
      if (file.model > SentencePieceFile::kBpe)
        refuse("model_type", kModels[field.whole - 1], "BPE, UNIGRAM");
    } else if (field.number == 24) {
      expect(field, 0);
      if (field.flag()) refuse("treat_whitespace_as_suffix", "true", "false");
    } else if (field.number == 35) {
      expect(field, 0);
      file.byte_fallback = field.flag();
    }
  });
}

void read_normalizer(std::string_view bytes, SentencePieceFile& file) {
  for_each_field(bytes, [&](const Field& field) {
    if (field.number == 2) {
      expect(field, 2);
      file.charsmap = field.bytes;
    } else if (field.number >= 3 && field.number <= 5) {
      expect(field, 0);
      if (field.number == 3) file.adds_blank = field.flag();
      if (field.number == 4) file.removes_blanks = field.flag();
      if (field.number == 5 && !field.flag()) refuse("escape_whitespaces", "false", "true");
    }
  });
}

}  // namespace

SentencePieceFile read_sentencepiece(std::string_view bytes) {
  SentencePieceFile file;
  for_each_field(bytes, [&](const Field& field) {
    if (field.number < 1 || field.number > 5) return;  // what others have added
    expect(field, 2);
    if (field.number == 1) {
      if (file.pieces.size() >= static_cast<std::size_t>(kMaxVocabulary)) {
        throw Error(Message{
            "vocabulary.too_large",
            {{"limit", count_text(kMaxVocabulary)}, {"got", "> " + count_text(kMaxVocabulary)}}});
      }
      file.pieces.push_back(read_piece(field.bytes, file.pieces.size()));
    } else if (field.number == 2) {
      read_trainer(field.bytes, file);
    } else if (field.number == 3) {
      read_normalizer(field.bytes, file);
    }
  });
  if (file.pieces.empty()) Wire::fail();
  return file;
}

}  // namespace headlight
