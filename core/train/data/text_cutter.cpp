#include "core/train/data/text_cutter.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/text/word_pieces.h"

namespace headlight {
namespace {

constexpr std::size_t kStep = std::size_t{1} << 20;  // between two looks at the progress
constexpr std::size_t kPiecesPerTell = 4096;

bool ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

// Whether a character or word may always be cut between these two.
bool safe_cut(char before, char after, TextCut cut) {
  if (!ascii(before) || !ascii(after) || before == '\r') return false;
  return cut == TextCut::kCharacters || before == '\n' || (before == ' ' && after > ' ');
}

}  // namespace

void CompactIds::push_back(std::uint32_t id) {
  if (!wide_ && id > 0xFFFF) {
    wide_ = true;
    large_.assign(small_.begin(), small_.end());
    std::vector<std::uint16_t>().swap(small_);
  }
  if (wide_) {
    large_.push_back(id);
  } else {
    small_.push_back(static_cast<std::uint16_t>(id));
  }
}

void CompactIds::renumber(std::span<const std::uint32_t> to) {
  const bool needs_wide = std::any_of(to.begin(), to.end(), [](auto id) { return id > 0xFFFF; });
  if (!wide_ && !needs_wide) {
    for (std::uint16_t& id : small_) id = static_cast<std::uint16_t>(to[id]);
    return;
  }
  CompactIds renumbered;
  for (std::size_t i = 0; i < size(); ++i) renumbered.push_back(to[(*this)[i]]);
  *this = std::move(renumbered);
}

TextCutter::TextCutter(CutOptions options) : options_(std::move(options)) {
  if (options_.known) options_.cut = options_.known->cut();
  if (options_.cut == TextCut::kPieces && !options_.known)
    throw UsageError(Message{"pieces.cannot_learn"});
  if (options_.cut == TextCut::kWords || options_.cut == TextCut::kWordPiece)
    tokenizer_.emplace(TokenizerKind::kWords);
  if (options_.cut == TextCut::kCharacters) tokenizer_.emplace(TokenizerKind::kCharacters);
  ascii_.fill(-1);
}

void TextCutter::add_token(std::string_view token) {
  const bool single = token.size() == 1 && ascii(token[0]);
  if (single && ascii_[static_cast<std::size_t>(token[0])] >= 0) {
    const auto number = static_cast<std::uint32_t>(ascii_[static_cast<std::size_t>(token[0])]);
    ++counts_[number];
    return ids_.push_back(number);
  }
  key_.assign(token);  // keeps its memory, so that looking up allocates nothing
  const auto [entry, is_new] =
      numbers_.try_emplace(key_, static_cast<std::uint32_t>(texts_.size()));
  if (is_new) {
    texts_.emplace_back(entry->first);
    counts_.push_back(0);
    if (single) ascii_[static_cast<std::size_t>(token[0])] = entry->second;
  }
  ++counts_[entry->second];
  ids_.push_back(entry->second);
}

// Where to stop for a look at the progress: where a token ends for certain, or, in a step without
// such a place, before a code point.
std::size_t TextCutter::step_end(std::string_view text, std::size_t at) const {
  const std::size_t limit = at + kStep;
  if (limit >= text.size()) return text.size();
  for (std::size_t end = limit; end > at + 1; --end) {
    if (safe_cut(text[end - 1], text[end], options_.cut)) return end;
  }
  std::size_t end = limit;
  while (end > at + 1 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return end;
}

// Most texts are ASCII for long stretches, where every byte is a character.
void TextCutter::add_characters(std::string_view text) {
  const auto cut_before = [&](std::size_t i) {
    return i == text.size() || safe_cut(text[i - 1], text[i], TextCut::kCharacters);
  };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (!cut_before(end)) ++end;
    if (end == at + 1) {
      add_token(text.substr(at, 1));
    } else {
      const std::string_view part = text.substr(at, end - at);
      tokenizer_->for_each(part, [&](std::size_t begin, std::size_t stop) {
        add_token(part.substr(begin, stop - begin));
        return true;
      });
    }
    at = end;
  }
}

void TextCutter::add(std::string_view text, const ProgressFunction& progress, double share,
                     double per_byte, const PassedFunction& passed) {
  const bool each_byte = options_.cut == TextCut::kCharacters || options_.cut == TextCut::kBytes;
  if (ids_.size() == 0 && each_byte) ids_.reserve(text.size());
  std::size_t told = 0;
  const auto look = [&](std::size_t at) {
    if (at < told) return;
    told = at + kStep;
    if (passed) passed(at);
    tell(progress, "progress.cutting", std::min(1.0, share + per_byte * static_cast<double>(at)));
  };
  // Where one of these may be cut only its tokenizer knows.
  if (options_.cut == TextCut::kPieces) {
    look(0);
    for (const int id : options_.known->encode(text))
      ids_.push_back(static_cast<std::uint32_t>(id));
    ends_.push_back(ids_.size());
    return;
  }
  for (std::size_t at = 0; at < text.size();) {
    look(at);
    const bool bpe = options_.cut == TextCut::kBpe;
    const std::size_t end = bpe ? bpe_piece_end(text, at) : step_end(text, at);
    const std::string_view part = text.substr(at, end - at);
    if (bpe) {
      add_token(part);
    } else if (options_.cut == TextCut::kBytes) {
      for (const char byte : part) ids_.push_back(static_cast<unsigned char>(byte));
    } else if (options_.cut == TextCut::kCharacters) {
      add_characters(part);
    } else {
      tokenizer_->for_each(part, [&](std::size_t begin, std::size_t stop) {
        add_token(part.substr(begin, stop - begin));
        return true;
      });
    }
    at = end;
  }
  ends_.push_back(ids_.size());
}

void TextCutter::check_size(std::size_t distinct) const {
  if (distinct <= static_cast<std::size_t>(options_.most_tokens)) return;
  throw Error(Message{options_.cut == TextCut::kWords ? "text.many_words" : "text.many_characters",
                      {{"n", count_text(static_cast<long long>(distinct))},
                       {"limit", count_text(options_.most_tokens)}}});
}

void TextCutter::check_known() const {
  for (const Special special : options_.specials) {
    if (special == Special::kUnknown || options_.known->id_of(special)) continue;
    throw Error(Message{"text.known_lacks", {{"token", std::string(to_string(special))}}});
  }
}

// Characters by code point; words by how often they come, the rare ones perhaps left to [UNK].
std::vector<std::uint32_t> TextCutter::number_words(std::vector<std::string>& tokens) const {
  const bool words = options_.cut == TextCut::kWords;
  std::vector<std::uint32_t> order(texts_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (words && counts_[a] != counts_[b]) return counts_[a] > counts_[b];
    return texts_[a] < texts_[b];
  });
  std::vector<Special> specials = options_.specials;
  std::size_t kept = order.size();
  if (words && options_.vocabulary > 0 &&
      order.size() + specials.size() > static_cast<std::size_t>(options_.vocabulary)) {
    if (std::find(specials.begin(), specials.end(), Special::kUnknown) == specials.end())
      specials.push_back(Special::kUnknown);
    if (specials.size() >= static_cast<std::size_t>(options_.vocabulary)) {
      throw UsageError(Message{"text.few_words",
                               {{"low", std::to_string(specials.size() + 1)},
                                {"got", std::to_string(options_.vocabulary)}}});
    }
    kept = static_cast<std::size_t>(options_.vocabulary) - specials.size();
  }
  check_size(kept + specials.size());
  for (const Special special : specials) tokens.emplace_back(to_string(special));
  std::size_t unknown = 0;
  while (unknown < specials.size() && specials[unknown] != Special::kUnknown) ++unknown;
  std::vector<std::uint32_t> to(order.size(), static_cast<std::uint32_t>(unknown));
  for (std::size_t i = 0; i < kept; ++i) {
    to[order[i]] = static_cast<std::uint32_t>(tokens.size());
    tokens.emplace_back(texts_[order[i]]);
  }
  return to;
}

std::vector<std::uint32_t> TextCutter::number_known() const {
  const Vocabulary& known = *options_.known;
  std::vector<std::uint32_t> to;
  for (const std::string_view text : texts_) {
    const auto id = known.find(text);
    // encode() gives [UNK], or says which token is missing and what to do.
    to.push_back(static_cast<std::uint32_t>(id ? *id : known.encode(text).at(0)));
  }
  return to;
}

CutTexts TextCutter::finish_tokens() {
  CutTexts result{options_.known, {}, std::move(ends_)};
  if (options_.known) {
    ids_.renumber(number_known());
  } else {
    std::vector<std::string> tokens;
    ids_.renumber(number_words(tokens));
    result.vocabulary = std::make_shared<const Vocabulary>(options_.cut, std::move(tokens));
  }
  result.ids = std::move(ids_);
  return result;
}

// Merges that are learned of these alone never reach over a character: the first byte of one is no
// byte within another (RFC 3629), so a pair that makes a character stands nowhere else.
std::vector<PieceCount> characters_of(std::span<const PieceCount> pieces) {
  std::unordered_map<std::string_view, std::uint64_t> counts;
  for (const PieceCount& piece : pieces) {
    for (std::size_t at = 0, end = 0; at < piece.piece.size(); at = end) {
      end = at + 1;
      while (end < piece.piece.size() && (piece.piece[end] & 0xC0) == 0x80) ++end;
      counts[piece.piece.substr(at, end - at)] += piece.count;
    }
  }
  std::vector<PieceCount> characters;
  for (const auto& [character, count] : counts) characters.push_back({character, count});
  return characters;
}

// Byte pairs or pieces of words, learned from what was added.
std::shared_ptr<const Vocabulary> TextCutter::learned(const ProgressFunction& progress) const {
  std::vector<PieceCount> pieces;
  for (std::size_t i = 0; i < texts_.size(); ++i) pieces.push_back({texts_[i], counts_[i]});
  const bool words = options_.cut == TextCut::kWordPiece;
  const int tokens = options_.vocabulary > 0 ? options_.vocabulary
                     : words                 ? kDefaultWordPieces
                                             : kDefaultBpe;
  check_size(static_cast<std::size_t>(tokens));
  if (!words) {
    if (options_.characters) pieces = characters_of(pieces);
    return std::make_shared<const Vocabulary>(
        Vocabulary::of_bpe(learn_bpe(pieces, tokens, progress), options_.specials));
  }
  std::vector<Special> specials = options_.specials;
  if (std::ranges::find(specials, Special::kUnknown) == specials.end())
    specials.push_back(Special::kUnknown);
  const int others = static_cast<int>(specials.size());
  std::vector<std::string> all;
  for (const Special special : specials) all.emplace_back(to_string(special));
  for (std::string& piece : learn_word_pieces(pieces, tokens - others, others, progress))
    all.push_back(std::move(piece));
  return std::make_shared<const Vocabulary>(TextCut::kWordPiece, std::move(all));
}

// Each piece or word is encoded once, then put wherever it stood.
CutTexts TextCutter::finish_pieces(const ProgressFunction& progress) {
  CutTexts result{options_.known, {}, {}};
  if (!result.vocabulary) result.vocabulary = learned(progress);
  const Bpe* bpe = result.vocabulary->bpe();
  std::vector<int> encoded;
  std::vector<std::size_t> begins;
  for (const std::string_view text : texts_) {
    if (begins.size() % kPiecesPerTell == 0) tell(progress, "progress.encoding", 0);
    begins.push_back(encoded.size());
    if (bpe) {
      bpe->encode_piece(text, encoded);
    } else {
      result.vocabulary->encode_word(text, encoded);
    }
  }
  begins.push_back(encoded.size());
  std::size_t i = 0;
  for (const std::size_t end : ends_) {
    for (; i < end; ++i) {
      if (i % kStep == 0)
        tell(progress, "progress.encoding", static_cast<double>(i) / double(ids_.size()));
      for (std::size_t k = begins[ids_[i]]; k < begins[ids_[i] + 1]; ++k)
        result.ids.push_back(static_cast<std::uint32_t>(encoded[k]));
    }
    result.ends.push_back(result.ids.size());
  }
  return result;
}

CutTexts TextCutter::finish(const ProgressFunction& progress) {
  if (options_.known) check_known();
  if (options_.cut == TextCut::kBpe || options_.cut == TextCut::kWordPiece)
    return finish_pieces(progress);
  if (options_.cut != TextCut::kBytes && options_.cut != TextCut::kPieces) return finish_tokens();
  CutTexts result{options_.known, std::move(ids_), std::move(ends_)};
  if (!result.vocabulary) {
    result.vocabulary = std::make_shared<const Vocabulary>(Vocabulary::of_bytes(options_.specials));
  }
  return result;
}

}  // namespace headlight
