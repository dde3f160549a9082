#include "core/text/unknown_words.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/number_text.h"
#include "core/base/similar.h"
#include "core/base/utf8.h"
#include "core/text/number_words.h"
#include "core/text/pieces/piece_tokenizer.h"

namespace headlight {
namespace {

// A special that stands at this place of a text; empty: none does.
std::string_view special_at(const Vocabulary& vocabulary, std::string_view text) {
  for (std::size_t i = 0; i < kSpecials; ++i) {
    const auto special = static_cast<Special>(i);
    if (vocabulary.id_of(special) && text.starts_with(to_string(special)))
      return to_string(special);
  }
  return {};
}

// What a model's own tokenizer has no pieces for, as it stands in the text.
std::vector<std::string> without_pieces(const PieceTokenizer& pieces, std::string_view text) {
  std::vector<std::string> unknown;
  const std::optional<int> id = pieces.id_of(Special::kUnknown);
  if (!id) return unknown;
  for (const PlacedToken& token : pieces.encode(text, false)) {
    if (token.id != *id || token.begin >= token.end) continue;
    const std::string_view own = text.substr(token.begin, token.end - token.begin);
    if (own == pieces.written(*id)) continue;  // that is what was written
    const std::string clean = clean_utf8(own).text;
    if (std::ranges::find(unknown, clean) == unknown.end()) unknown.push_back(clean);
    if (unknown.size() == kMostUnknown) break;
  }
  return unknown;
}

}  // namespace

std::vector<std::string> unknown_tokens(const Vocabulary& vocabulary, std::string_view text,
                                        Tokenizer* kept) {
  std::vector<std::string> unknown;
  if (vocabulary.cut() == TextCut::kNumbers) {
    for_each_number_word(text, [&](std::size_t begin, std::size_t end) {
      const std::string_view word = text.substr(begin, end - begin);
      const std::optional<double> number = number_of_word(word);
      const std::string token = clean_utf8(word).text;
      const bool known = number && grid_id(*number, vocabulary.size());
      if (!known && std::ranges::find(unknown, token) == unknown.end()) unknown.push_back(token);
      return unknown.size() < kMostUnknown;
    });
    return unknown;
  }
  if (vocabulary.pieces()) return without_pieces(*vocabulary.pieces(), text);
  const bool whole_texts = vocabulary.cut() == TextCut::kWords ||
                           vocabulary.cut() == TextCut::kCharacters ||
                           vocabulary.cut() == TextCut::kWordPiece;
  if (!whole_texts) return unknown;  // bytes are all there
  std::optional<Tokenizer> own;
  if (!kept) kept = &own.emplace(vocabulary.tokenizer_kind());
  const auto look_at = [&](std::string_view plain) {
    kept->for_each(plain, [&](std::size_t begin, std::size_t end) {
      const std::string token = clean_utf8(plain.substr(begin, end - begin)).text;
      const bool is_new = std::find(unknown.begin(), unknown.end(), token) == unknown.end();
      if (!vocabulary.knows(token) && is_new) unknown.push_back(token);
      return unknown.size() < kMostUnknown;
    });
  };
  std::size_t begin = 0;
  for (std::size_t at = text.find('['); at != text.npos; at = text.find('[', at)) {
    const std::size_t length = special_at(vocabulary, text.substr(at)).size();
    if (length > 0) {
      look_at(text.substr(begin, at - begin));
      begin = at + length;
    }
    at += std::max<std::size_t>(length, 1);
  }
  look_at(text.substr(begin));
  return unknown;
}

std::string unknown_names(std::span<const std::string> unknown) {
  constexpr std::size_t kMostNamed = 5;
  std::string names;
  for (std::size_t i = 0; i < std::min(unknown.size(), kMostNamed); ++i)
    names += (i ? ", '" : "'") + shortened(visible_label(unknown[i]), 40) + "'";
  return names + (unknown.size() > kMostNamed ? " …" : "");
}

namespace {

Message off_grid(const Vocabulary& vocabulary, std::span<const std::string> unknown) {
  Message message{
      "vocabulary.off_grid",
      {{"step", exact_double(std::round(2e6 / std::max(vocabulary.size() - 1, 1)) / 1e6)},
       {"token", unknown_names(unknown)}}};
  const std::optional<double> number =
      unknown.size() == 1 ? number_of_word(unknown[0]) : std::nullopt;
  if (!number) return message;
  message.id = "vocabulary.off_grid.near";
  message.slots.push_back({"near", vocabulary.token(nearest_grid_id(*number, vocabulary.size()))});
  return message;
}

}  // namespace

bool holds_ids_alone(const Vocabulary& vocabulary) {
  if (vocabulary.cut() != TextCut::kWords) return false;
  for (int id = 0; id < vocabulary.size(); ++id)
    if (vocabulary.token(id) != std::to_string(id)) return false;
  return true;
}

Message unknown_message(std::string id, const Vocabulary& vocabulary,
                        std::span<const std::string> unknown) {
  if (vocabulary.cut() == TextCut::kNumbers) return off_grid(vocabulary, unknown);
  if (holds_ids_alone(vocabulary)) {
    return Message{
        "vocabulary.ids_alone",
        {{"token", unknown_names(unknown)}, {"last", std::to_string(vocabulary.size() - 1)}}};
  }
  if (const PieceTokenizer* pieces = vocabulary.pieces()) {
    const std::optional<int> read_as = pieces->id_of(Special::kUnknown);
    return Message{"vocabulary.no_pieces",
                   {{"token", unknown_names(unknown)},
                    {"unknown", read_as ? pieces->written(*read_as) : std::string()}}};
  }
  constexpr int kMostOfOurs = 12, kMaxCompared = 10000;
  std::string some;
  for (int i = 0; i < std::min(vocabulary.size(), kMostOfOurs); ++i)
    some += (i ? " " : "") + visible_label(vocabulary.token(i));
  if (vocabulary.size() > kMostOfOurs) some += " …";
  std::vector<std::string_view> near;
  if (vocabulary.cut() == TextCut::kWords && vocabulary.size() <= kMaxCompared)
    near.assign(vocabulary.tokens()->begin(), vocabulary.tokens()->end());
  const Message message{
      std::move(id),
      {{"token", unknown_names(unknown)}, {"n", count_text(vocabulary.size())}, {"some", some}}};
  return message.with(unknown.size() == 1 ? did_you_mean(unknown[0], near) : Message());
}

}  // namespace headlight
