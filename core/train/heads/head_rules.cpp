#include "core/train/heads/head_rules.h"

#include <algorithm>

#include "core/base/error.h"

namespace headlight {
namespace {

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "$animal2" -> "animal2"; nothing where no name follows.
std::string name_at(const std::string& pattern, std::size_t dollar) {
  std::size_t end = dollar + 1;
  while (end < pattern.size() && is_letter(pattern[end])) ++end;
  while (end > dollar + 1 && end < pattern.size() && is_digit(pattern[end])) ++end;
  return pattern.substr(dollar + 1, end - dollar - 1);
}

// What a name stands for: a list, and which of its words is meant now.
struct NamedWord {
  std::string name;
  const std::vector<std::string>* words = nullptr;
  std::size_t now = 0;
};

std::vector<NamedWord> choices_of(const std::string& pattern, const WordLists& lists) {
  std::vector<NamedWord> choices;
  for (std::size_t at = 0; (at = pattern.find('$', at)) != pattern.npos; ++at) {
    const std::string name = name_at(pattern, at);
    if (std::ranges::find(choices, name, &NamedWord::name) != choices.end()) continue;
    const auto list = lists.find(name.substr(0, name.find_first_of("0123456789")));
    if (list == lists.end() || list->second.empty())
      throw Error(Message{"claim.no_words", {{"name", name}, {"sentence", pattern}}});
    choices.push_back({name, &list->second});
  }
  return choices;
}

// The sentence with the words that are chosen now, and its marks.
MarkedSentence filled(const std::string& pattern, const std::vector<NamedWord>& choices) {
  MarkedSentence sentence;
  std::size_t begin = 0;
  bool has_query = false;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    switch (pattern[at]) {
      case '<':
      case '{':
        begin = sentence.text.size();
        break;
      case '>':
        sentence.query = {begin, sentence.text.size()};
        has_query = true;
        break;
      case '}':
        sentence.keys.push_back({begin, sentence.text.size()});
        break;
      case '$': {
        const std::string name = name_at(pattern, at);
        const auto choice = std::ranges::find(choices, name, &NamedWord::name);
        sentence.text += (*choice->words)[choice->now];
        at += name.size();
        break;
      }
      default:
        sentence.text += pattern[at];
    }
  }
  if (!has_query || sentence.keys.empty())
    throw Error(Message{"claim.no_marks", {{"sentence", pattern}, {"open", "{"}, {"close", "}"}}});
  return sentence;
}

bool overlap(const PlacedToken& token, const TextSpan& span) {
  return token.begin < span.end && token.end > span.begin;
}

}  // namespace

WordLists read_word_lists(const OrderedJson& json, const JsonFileWords& words) {
  if (!json.is_object())
    JsonReader(OrderedJson::object(), "", words).fail("words", Message{"session.object"}, json);
  const JsonReader in(json, "words", words);
  WordLists lists;
  for (const auto& item : json.items()) in.texts(item.key().c_str(), lists[item.key()]);
  return lists;
}

std::vector<MarkedSentence> marked_sentences(const std::string& pattern, const WordLists& lists,
                                             std::size_t most) {
  std::vector<NamedWord> choices = choices_of(pattern, lists);
  std::size_t all = 1;
  for (const NamedWord& choice : choices) all *= choice.words->size();
  const std::size_t count = std::min(all, most);
  std::vector<MarkedSentence> sentences;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t which = i * all / count;
    for (NamedWord& choice : choices) {
      choice.now = which % choice.words->size();
      which /= choice.words->size();
    }
    sentences.push_back(filled(pattern, choices));
  }
  return sentences;
}

HeadClaim claim_on(const HeadClaim& claim, const MarkedSentence& sentence,
                   std::span<const PlacedToken> tokens) {
  HeadClaim here = claim;
  here.sentence = sentence.text;
  here.query.reset();
  here.keys.clear();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto place = static_cast<int>(i);
    if (overlap(tokens[i], sentence.query)) here.query = place;
    if (std::ranges::any_of(sentence.keys,
                            [&](const TextSpan& s) { return overlap(tokens[i], s); }))
      here.keys.push_back(place);
  }
  return here;
}

}  // namespace headlight
