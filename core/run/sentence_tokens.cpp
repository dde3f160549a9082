#include "core/run/sentence_tokens.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/model/ids_text.h"
#include "core/run/model_input.h"
#include "core/text/word_pieces.h"

namespace headlight {
namespace {

Tokenizer& cutter(TokenizerKind kind, std::optional<Tokenizer>& kept, std::string_view whole = {}) {
  if (!kept || kept->kind() != kind) kept.emplace(kind);
  kept->keep_whole(whole);
  return *kept;
}

// Of a part of the sentence, with places in all of it.
std::vector<PlacedToken> placed(std::string_view part, const std::string& sentence,
                                const Vocabulary& vocabulary, std::optional<Tokenizer>& kept) {
  std::vector<PlacedToken> tokens = vocabulary.encode_placed(
      as_ids(vocabulary, part), &cutter(vocabulary.tokenizer_kind(), kept));
  const auto before = static_cast<std::size_t>(part.data() - sentence.data());
  for (PlacedToken& token : tokens) {
    token.begin += before;
    token.end += before;
  }
  return tokens;
}

// The [SEP] that nobody wrote behind the second sentence.
void close_pair(const Config& config, const std::string& sentence, std::vector<PlacedToken>& tokens,
                int most) {
  const auto is_separator = [&](const PlacedToken& t) {
    const std::string_view text = std::string_view(sentence).substr(t.begin, t.end - t.begin);
    return text == to_string(Special::kSeparator);
  };
  const auto separators = static_cast<std::size_t>(std::ranges::count_if(tokens, is_separator));
  if (!closes_pair(config, separators, !tokens.empty() && is_separator(tokens.back()))) return;
  tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(most) - 1));
  tokens.push_back({});
}

bool is_whole_text(std::string_view text) { return clean_utf8(text).replaced == 0; }

// No space before what closes, as people write.
bool needs_space(std::string_view sentence, std::string_view token) {
  if (sentence.empty() || sentence.back() == ' ') return false;
  return token.size() != 1 || std::string_view(".,;:!?)").find(token[0]) == std::string_view::npos;
}

std::optional<std::string> in_sandbox(const Document& doc, const std::string& token) {
  if (doc.config.numbers)
    return doc.sentence + (needs_space(doc.sentence, token) ? " " : "") + token;
  if (doc.tokenizer == TokenizerKind::kBytes && token.size() > 1) return std::nullopt;  // "<0xE4>"
  const bool words = doc.tokenizer == TokenizerKind::kWords;
  return doc.sentence + (words && needs_space(doc.sentence, token) ? " " : "") + token;
}

// What the token adds to a row of the model's.
std::optional<std::string> text_behind(const Vocabulary& vocabulary, std::span<const int> row,
                                       int id) {
  if (id == vocabulary.id_of(Special::kEnd)) return std::nullopt;
  if (row.empty()) return vocabulary.decode({&id, 1});
  const int pair[] = {row.back(), id};
  const std::size_t before = vocabulary.decode({pair, 1}).size();
  return vocabulary.decode(pair).substr(before);
}

// Is it "##ing", which goes on with the word before it?
bool goes_on(const Vocabulary& vocabulary, int id) {
  if (!vocabulary.pieces()) return vocabulary.goes_on(id);
  const std::string_view name = vocabulary.token(id);
  return name.starts_with(kGoesOn) && name.substr(kGoesOn.size()) == vocabulary.text_of(id);
}

// Ids that are given stand nowhere in the sentence.
SentenceTokens given(const Document& doc, bool of_pair) {
  SentenceTokens found;
  for (const int id : doc.ids) (of_pair ? found.source : found.tokens).push_back({id, 0, 0});
  for (const int id : doc.target_ids) found.tokens.push_back({id, 0, 0});
  return found;
}

void put_around(const RowFrame& frame, std::vector<PlacedToken>& tokens) {
  if (tokens.empty()) return;
  std::vector<PlacedToken> before;
  for (const int id : frame.before) before.push_back({id, 0, 0});
  tokens.insert(tokens.begin(), before.begin(), before.end());
  for (const int id : frame.behind) tokens.push_back({id, 0, 0});
}

}  // namespace

SentenceTokens sentence_tokens(const Document& doc, const Model* model,
                               std::optional<Tokenizer>& kept) {
  SentenceTokens found;
  const RowFrame frame = row_frame(model, doc);
  if (!model && doc.config.numbers) {
    try {
      found.tokens = sandbox_numbers().encode_placed(doc.sentence);
    } catch (const Error&) {
    }
    found.tokens.resize(std::min(found.tokens.size(), static_cast<std::size_t>(doc.max_tokens)));
    return found;
  }
  if (!model && doc.config.form == ModelForm::kTranslate) {
    const SourceAndTarget pair = split_pair(doc.sentence);
    const auto read = [&](std::string_view text, int most, std::vector<PlacedToken>& into) {
      const std::size_t at = static_cast<std::size_t>(text.data() - doc.sentence.data());
      for (const Token& token :
           cutter(doc.tokenizer, kept).tokenize(text, static_cast<std::size_t>(most)))
        into.push_back({0, at + token.begin, at + token.end});
    };
    read(pair.source, doc.max_tokens, found.source);
    if (!pair.target) return found;
    found.tokens.push_back({0, 0, 0});  // [BOS]
    read(*pair.target, doc.max_tokens - 1, found.tokens);
    return found;
  }
  if (!model) {
    if (!frame.before.empty()) found.tokens.push_back({0, 0, 0});
    // With memory these are tokens of a segment, and all segments are read.
    const int most = doc.config.memory > 0 ? kLargestMaxTokens : doc.max_tokens - frame.size();
    Tokenizer& tokenizer = cutter(doc.tokenizer, kept, whole_token(doc.config));
    for (const Token& token : tokenizer.tokenize(doc.sentence, static_cast<std::size_t>(most)))
      found.tokens.push_back({0, token.begin, token.end});
    close_pair(doc.config, doc.sentence, found.tokens, doc.max_tokens);
    return found;
  }
  try {
    if (model->file.config.form != ModelForm::kTranslate) {
      found.tokens = placed(doc.sentence, doc.sentence, *model->vocabulary, kept);
      if (!doc.ids.empty()) return given(doc, false);
      put_around(frame, found.tokens);
      close_pair(model->file.config, doc.sentence, found.tokens, doc.max_tokens);
      return found;
    }
    const SourceAndTarget pair = split_pair(doc.sentence);
    if (!doc.ids.empty()) return given(doc, true);
    found.source = placed(pair.source, doc.sentence, *model->vocabulary, kept);
    put_around(frame, found.source);
    if (!pair.target) return found;
    found.tokens = placed(*pair.target, doc.sentence, target_vocabulary(*model), kept);
    const std::vector<int> opening = opening_of(*model);
    for (std::size_t i = 0; i < opening.size(); ++i)
      found.tokens.insert(found.tokens.begin() + static_cast<std::ptrdiff_t>(i),
                          PlacedToken{opening[i], 0, 0});
  } catch (const Error&) {
    return {};  // the model does not know all of it
  }
  return found;
}

std::optional<std::string> sentence_with(const Document& doc, const Trace& trace,
                                         const Model* model, int id,
                                         std::optional<std::int64_t> masked) {
  if (!model) {
    const std::string& token = trace.input().vocab[static_cast<std::size_t>(id)];
    if (doc.config.form != ModelForm::kTranslate) return in_sandbox(doc, token);
    if (token == to_string(Special::kBegin)) return std::nullopt;
    Document whole = doc;
    const SourceAndTarget pair = split_pair(doc.sentence);
    if (!pair.target) whole.sentence = std::string(pair.source) + " → " + std::string(pair.source);
    return in_sandbox(whole, token);
  }
  const Vocabulary& vocabulary = *model->vocabulary;
  if (masked) {
    std::optional<Tokenizer> own;
    const std::vector<PlacedToken> tokens = sentence_tokens(doc, model, own).tokens;
    if (*masked >= std::ssize(tokens) || vocabulary.is_special(id)) return std::nullopt;
    const PlacedToken& place = tokens[static_cast<std::size_t>(*masked)];
    std::string text = doc.sentence;
    std::size_t begin = place.begin;  // "go [MASK]" and "##ing" are "going"
    while (goes_on(vocabulary, id) && begin > 0 && text[begin - 1] == ' ') --begin;
    text.replace(begin, place.end - begin, vocabulary.text_of(id));
    return text;
  }
  const std::vector<int>& row = trace.input().ids;
  if (model->file.config.form == ModelForm::kTranslate) {
    if (ends_row(*model, id)) return std::nullopt;
    const std::vector<int> opening = opening_of(*model);  // it stands nowhere in the sentence
    std::vector<int> longer(std::ranges::mismatch(row, opening).in1, row.end());
    longer.push_back(id);
    return std::string(split_pair(doc.sentence).source) + " → " +
           target_vocabulary(*model).decode(longer);
  }
  return sentence_with(doc.sentence, row, vocabulary, id);
}

std::optional<std::string> sentence_with(const std::string& sentence, std::span<const int> row,
                                         const Vocabulary& vocabulary, int id) {
  const std::optional<std::string> text = text_behind(vocabulary, row, id);
  if (!text || !is_whole_text(*text)) return std::nullopt;
  return sentence + *text;
}

}  // namespace headlight
