#include "core/text/pieces/steps/pre_tokenizers.h"

#include <algorithm>

#include "core/text/pieces/piece_unicode.h"
#include "core/text/pieces/steps/metaspace.h"

namespace headlight {
namespace {

struct SplitPart {
  ByteSpan span;
  bool match = false;
};

// The matches and what lies between them: together the whole word.
std::vector<SplitPart> parts_of(std::size_t size, const std::vector<ByteSpan>& matches,
                                bool invert) {
  std::vector<SplitPart> parts;
  std::size_t done = 0;
  for (const ByteSpan& match : matches) {
    if (match.begin > done) parts.push_back({{done, match.begin}, invert});
    parts.push_back({match, !invert});
    done = match.end;
  }
  if (done < size) parts.push_back({{done, size}, invert});
  return parts;
}

// A match joins what stands before it, unless a match does.
void join_with_previous(std::vector<SplitPart>& parts) {
  std::vector<SplitPart> joined;
  bool match_before = false;
  for (const SplitPart& part : parts) {
    if (part.match && !match_before && !joined.empty()) {
      joined.back().span.end = part.span.end;
    } else {
      joined.push_back(part);
    }
    match_before = part.match;
  }
  parts = std::move(joined);
}

void join_with_next(std::vector<SplitPart>& parts) {
  std::vector<SplitPart> joined;
  bool match_behind = false;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->match && !match_behind && !joined.empty()) {
      joined.back().span.begin = part->span.begin;
    } else {
      joined.push_back(*part);
    }
    match_behind = part->match;
  }
  std::reverse(joined.begin(), joined.end());
  parts = std::move(joined);
}

void join_neighbours(std::vector<SplitPart>& parts) {
  std::vector<SplitPart> joined;
  for (const SplitPart& part : parts) {
    if (!joined.empty() && joined.back().match == part.match) {
      joined.back().span.end = part.span.end;
    } else {
      joined.push_back(part);
    }
  }
  parts = std::move(joined);
}

void add_isolated(const ByteSpan& word, const std::vector<ByteSpan>& matches,
                  std::vector<ByteSpan>& words) {
  std::size_t done = word.begin;
  for (const ByteSpan& match : matches) {
    const std::size_t begin = word.begin + match.begin, end = word.begin + match.end;
    if (begin > done) words.push_back({done, begin});
    if (end > begin) words.push_back({begin, end});
    done = end;
  }
  if (done < word.end) words.push_back({done, word.end});
}

SplitBehaviour read_behaviour(const PieceJson& json) {
  const std::string word = json.text();
  if (word == "Removed") return SplitBehaviour::kRemoved;
  if (word == "Isolated") return SplitBehaviour::kIsolated;
  if (word == "MergedWithPrevious") return SplitBehaviour::kWithPrevious;
  if (word == "MergedWithNext") return SplitBehaviour::kWithNext;
  if (word == "Contiguous") return SplitBehaviour::kContiguous;
  json.fail_unknown(word, "Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
}

// A new text of the words alone: add(begin, end, text to append to) for each.
template <class Add>
void rewrite_words(WordCut& cut, Add add) {
  AlignedText changed;
  changed.reserve(cut.text.size() + cut.words.size());
  for (ByteSpan& word : cut.words) {
    const std::size_t begin = changed.size();
    add(word.begin, word.end, changed);
    word = {begin, changed.size()};
  }
  cut.text = std::move(changed);
}

void add_prefix(WordCut& cut, const std::string& prefix) {
  rewrite_words(cut, [&](std::size_t begin, std::size_t end, AlignedText& out) {
    const std::uint32_t at = cut.text.place(begin).begin;
    const auto word = std::string_view(cut.text.text()).substr(begin, end - begin);
    if (!word.starts_with(prefix)) out.append(prefix, {at, at});
    out.append(cut.text, begin, end);
  });
}

PreTokenizer read_byte_level(const PieceJson& json) {
  json.only({"add_prefix_space", "trim_offsets", "use_regex"});
  const bool prefix = json.boolean("add_prefix_space", true);
  const bool split = json.boolean("use_regex", true);
  return [prefix, split, find = matches_of_regex(kGpt2Pattern, "")](WordCut& cut) {
    if (prefix) add_prefix(cut, " ");
    if (split) split_words(cut, find, SplitBehaviour::kIsolated);
    std::array<std::string, 256> characters;
    for (std::size_t byte = 0; byte < 256; ++byte)
      append_point(characters[byte], byte_character(static_cast<unsigned char>(byte)));
    rewrite_words(cut, [&](std::size_t begin, std::size_t end, AlignedText& out) {
      for (std::size_t at = begin; at < end; ++at) {
        const auto byte = static_cast<unsigned char>(cut.text.text()[at]);
        out.append(characters[byte], cut.text.place(at));
      }
    });
  };
}

PreTokenizer read_metaspace_cut(const PieceJson& json) {
  const MetaspaceOptions o = read_metaspace(json);
  return [o, find = matches_of_text(o.mark)](WordCut& cut) {
    rewrite_words(cut, [&](std::size_t begin, std::size_t end, AlignedText& out) {
      const auto word = std::string_view(cut.text.text()).substr(begin, end - begin);
      const BytePlace first = cut.text.place(begin);
      const bool wanted =
          o.prepend == Prepend::kAlways || (o.prepend == Prepend::kFirst && first.begin == 0);
      if (wanted && word[0] != ' ' && !word.starts_with(o.mark))
        out.append(o.mark, {first.begin, first.begin});
      for (std::size_t at = begin; at < end;) {
        if (cut.text.text()[at] == ' ') {
          out.append(o.mark, cut.text.place(at));
          ++at;
          continue;
        }
        const std::size_t next = std::min(cut.text.text().find(' ', at), end);
        out.append(cut.text, at, next);
        at = next;
      }
    });
    if (o.split) split_words(cut, find, SplitBehaviour::kWithNext);
  };
}

PreTokenizer read_split(const PieceJson& json) {
  json.only({"pattern", "behavior", "invert"});
  const SplitBehaviour behaviour = read_behaviour(json.at("behavior"));
  const bool invert = json.boolean("invert", false);
  return [behaviour, invert, find = read_pattern(json.at("pattern"))](WordCut& cut) {
    split_words(cut, find, behaviour, invert);
  };
}

PreTokenizer by_characters(bool (*fits)(char32_t), SplitBehaviour behaviour) {
  return [behaviour, find = matches_of_characters(fits)](WordCut& cut) {
    split_words(cut, find, behaviour);
  };
}

bool is_other_visible(char32_t c) { return !is_word_character(c) && !is_white_space(c); }

// \w+|[^\w\s]+
PreTokenizer words_and_others() {
  return [words = matches_of_characters(is_word_character),
          others = matches_of_characters(is_other_visible),
          blanks = matches_of_characters(is_white_space)](WordCut& cut) {
    split_words(cut, blanks, SplitBehaviour::kRemoved);
    split_words(cut, words, SplitBehaviour::kContiguous);
  };
}

PreTokenizer read_delimiter(const PieceJson& json) {
  json.only({"delimiter"});
  const PieceJson text = json.at("delimiter");
  if (text.text().empty()) text.fail(Message{"pieces.expected.some_text"});
  return [find = matches_of_text(text.text())](WordCut& cut) {
    split_words(cut, find, SplitBehaviour::kRemoved);
  };
}

PreTokenizer read_cuts(const PieceJson& json) {
  json.only({"pretokenizers"});
  std::vector<PreTokenizer> all;
  for (const PieceJson& each : json.at("pretokenizers").items())
    all.push_back(read_pre_tokenizer(each));
  return [all](WordCut& cut) {
    for (const PreTokenizer& each : all) each(cut);
  };
}

PreTokenizer bert_words() {
  return [blanks = matches_of_characters(is_white_space),
          marks = matches_of_characters(is_punctuation)](WordCut& cut) {
    split_words(cut, blanks, SplitBehaviour::kRemoved);
    split_words(cut, marks, SplitBehaviour::kIsolated);
  };
}

constexpr char kKnownPreTokenizers[] =
    "BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, Metaspace, Punctuation, Sequence, "
    "Split, Whitespace, WhitespaceSplit";

}  // namespace

void split_words(WordCut& cut, const PatternMatches& find, SplitBehaviour behaviour, bool invert) {
  std::vector<ByteSpan> words, matches;
  words.reserve(cut.words.size());
  for (const ByteSpan& word : cut.words) {
    matches.clear();
    find(std::string_view(cut.text.text()).substr(word.begin, word.size()), matches);
    if (behaviour == SplitBehaviour::kIsolated) {  // whatever is a match
      add_isolated(word, matches, words);
      continue;
    }
    std::vector<SplitPart> parts = parts_of(word.size(), matches, invert);
    if (behaviour == SplitBehaviour::kWithPrevious) join_with_previous(parts);
    if (behaviour == SplitBehaviour::kWithNext) join_with_next(parts);
    if (behaviour == SplitBehaviour::kContiguous) join_neighbours(parts);
    for (const SplitPart& part : parts) {
      const bool dropped = behaviour == SplitBehaviour::kRemoved && part.match;
      if (dropped || part.span.size() == 0) continue;
      words.push_back({word.begin + part.span.begin, word.begin + part.span.end});
    }
  }
  cut.words = std::move(words);
}

PreTokenizer read_pre_tokenizer(const PieceJson& json) {
  const std::string type = json.type();
  if (type == "Sequence") return read_cuts(json);
  if (type == "ByteLevel") return read_byte_level(json);
  if (type == "Metaspace") return read_metaspace_cut(json);
  if (type == "Split") return read_split(json);
  if (type == "CharDelimiterSplit") return read_delimiter(json);
  if (type == "BertPreTokenizer") return json.only({}), bert_words();
  if (type == "Whitespace") return json.only({}), words_and_others();
  if (type == "WhitespaceSplit")
    return json.only({}), by_characters(is_white_space, SplitBehaviour::kRemoved);
  if (type == "Punctuation") {
    json.only({"behavior"});
    return by_characters(is_punctuation, json.has("behavior") ? read_behaviour(json.at("behavior"))
                                                              : SplitBehaviour::kIsolated);
  }
  if (type == "Digits") {
    json.only({"individual_digits"});
    return by_characters(is_number, json.boolean("individual_digits", false)
                                        ? SplitBehaviour::kIsolated
                                        : SplitBehaviour::kContiguous);
  }
  json.fail_unknown(type, kKnownPreTokenizers);
}

}  // namespace headlight
