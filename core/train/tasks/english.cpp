#include "core/train/tasks/english.h"

#include <initializer_list>
#include <span>

#include "core/train/tasks/task_list.h"

namespace headlight {
namespace {

using Word = std::string_view;

// As pronouns see them.
enum Group { kHe, kShe, kThey };

constexpr Word kSubject[] = {"he", "she", "they"};
constexpr Word kObject[] = {"him", "her", "them"};
constexpr Word kReflexive[] = {"himself", "herself", "themselves"};

constexpr Word kMen[] = {"john", "peter", "tom", "paul"};
constexpr Word kWomen[] = {"mary", "anna", "lucy", "emma"};

// Singular, then plural.
struct Noun {
  Word one, many;
};
constexpr Noun kThings[] = {{"book", "books"},
                            {"ball", "balls"},
                            {"letter", "letters"},
                            {"flower", "flowers"},
                            {"cake", "cakes"}};
constexpr Noun kAnimals[] = {{"dog", "dogs"}, {"cat", "cats"}};
constexpr Noun kChildren[] = {{"boy", "boys"}, {"girl", "girls"}};  // in the order of kHe, kShe

// With one, then with many.
constexpr Noun kGive[] = {{"gives", "give"}, {"sends", "send"}, {"shows", "show"}};
constexpr Noun kThank = {"thanks", "thank"}, kLike = {"likes", "like"}, kHate = {"hates", "hate"};
constexpr Noun kThink = {"thinks", "think"}, kWash = {"washes", "wash"};
constexpr Noun kBe = {"is", "are"}, kDo = {"does", "do"};

constexpr Word kGood[] = {"good", "great", "nice", "fine"};
constexpr Word kBad[] = {"bad", "awful", "poor", "dull"};
constexpr Word kMoods[] = {"happy", "tired", "busy"};

Word form(const Noun& word, bool many) { return many ? word.many : word.one; }

struct Who {
  std::vector<Word> words;
  Group group = kHe;
  bool many() const { return group == kThey; }
};

class Writer {
 public:
  explicit Writer(Random& random) : random_(random) {}

  // A word that could have been another one, and one that could not.
  void free(Word word) { add(word, 0); }
  void sure(Word word) { add(word, 1); }
  void free(const Who& who) {
    for (const Word word : who.words) free(word);
  }

  bool coin() { return random_.below(2) == 1; }
  bool percent(int p) { return random_.percent(p); }
  template <class T, std::size_t n>
  const T& any(const T (&items)[n]) {
    return items[random_.below(n)];
  }

  Who name() {
    const bool woman = coin();
    return {{woman ? any(kWomen) : any(kMen)}, woman ? kShe : kHe};
  }
  Who person_or_group() {
    if (percent(60)) return name();
    const Group group = coin() ? kShe : kHe;
    const bool many = percent(60);
    return {{"the", form(kChildren[group], many)}, many ? kThey : group};
  }
  // Also "mary and paul".
  Who anyone() {
    if (percent(80)) return person_or_group();
    const Who first = name();
    Who second = name();
    while (second.words == first.words) second = name();
    return {{first.words[0], "and", second.words[0]}, kThey};
  }

  Story story;

 private:
  void add(Word word, std::uint8_t sure) {
    story.words.push_back(word);
    story.sure.push_back(sure);
  }
  Random& random_;
};

bool share_a_word(const Who& a, const Who& b) {
  for (const Word word : a.words) {
    for (const Word other : b.words) {
      if (word == other && word != "the") return true;
    }
  }
  return false;
}

void write_giving(Writer& w) {
  const Who giver = w.anyone();
  Who taker = w.person_or_group();
  while (share_a_word(giver, taker)) taker = w.person_or_group();
  const bool many_things = w.percent(40);
  w.free(giver);
  w.free(form(w.any(kGive), giver.many()));
  w.free(!many_things && w.coin() ? "a" : "the");
  w.free(form(w.any(kThings), many_things));
  w.sure("to");
  w.free(taker);
  w.sure(".");
  w.sure(kSubject[taker.group]);
  w.sure(form(kThank, taker.many()));
  w.sure(kObject[giver.group]);
  w.sure(".");
}

// The verb agrees with the first noun, though the second stands nearer.
void write_agreement(Writer& w) {
  const bool many = w.coin();
  w.free("the");
  w.free(form(w.any(kChildren), many));
  w.free("near");
  w.sure("the");
  w.free(form(w.any(kAnimals), w.coin()));
  w.sure(form(kBe, many));
  w.free(w.any(kMoods));
  w.sure(".");
}

void write_quality(Writer& w) {
  const bool many = w.percent(40), negated = w.coin(), good_word = w.coin();
  const bool good = good_word != negated;
  const Who who = w.person_or_group();
  w.free("the");
  w.free(form(w.any(kThings), many));
  w.sure(form(kBe, many));
  if (negated) w.free("not");
  w.free(good_word ? w.any(kGood) : w.any(kBad));
  w.sure(".");
  w.free(who);
  if (good) {
    w.sure(form(kLike, who.many()));
  } else {
    w.sure(form(kDo, who.many()));
    w.sure("not");
    w.sure("like");
  }
  w.sure(many ? "them" : "it");
  w.sure(".");
}

void write_washing(Writer& w) {
  const Who who = w.anyone();
  w.free(who);
  w.free(form(kWash, who.many()));
  w.sure(kReflexive[who.group]);
  w.sure(".");
}

// "the book is", "the books are"; the words after "not" and "very" follow.
void write_thing(Writer& w, bool many) {
  w.free("the");
  w.free(form(w.any(kThings), many));
  w.free(form(kBe, many));
}

void write_quality_of(Writer& w, bool negated, bool good_word) {
  if (negated) w.free("not");
  if (w.percent(30)) w.free("very");
  w.free(good_word ? w.any(kGood) : w.any(kBad));
}

// "likes", "do not like": whether it agrees is said by `many`.
void write_verb(Writer& w, const Noun& verb, bool many, bool negated) {
  if (!negated) return w.free(form(verb, many));
  w.free(form(kDo, many));
  w.free("not");
  w.free(verb.many);
}

}  // namespace

Story draw_story(Random& random) {
  Writer w(random);
  switch (random.below(4)) {
    case 0:
      write_giving(w);
      break;
    case 1:
      write_agreement(w);
      break;
    case 2:
      write_quality(w);
      break;
    default:
      write_washing(w);
  }
  return std::move(w.story);
}

Opinion draw_opinion(Random& random) {
  Writer w(random);
  const bool many = w.percent(40), negated = w.coin(), good_word = w.coin();
  bool positive = good_word != negated;
  switch (random.below(5)) {
    case 0:  // the book is not good .
      write_thing(w, many);
      write_quality_of(w, negated, good_word);
      break;
    case 1: {  // mary does not hate the book .
      const Who who = w.anyone();
      w.free(who);
      write_verb(w, good_word ? kLike : kHate, who.many(), negated);
      w.free("the");
      w.free(form(w.any(kThings), many));
      break;
    }
    case 2:  // the book is good , not bad . / the book is bad , not good .
      write_thing(w, many);
      write_quality_of(w, false, good_word);
      w.free(",");
      write_quality_of(w, true, !good_word);
      positive = good_word;
      break;
    case 3:  // the book is not bad , but good .
      write_thing(w, many);
      write_quality_of(w, true, good_word);
      w.free(",");
      w.free("but");
      write_quality_of(w, false, !good_word);
      positive = !good_word;
      break;
    default: {  // mary does not think that the book is not good .
      const Who who = w.anyone();
      const bool doubts = w.percent(40);
      w.free(who);
      write_verb(w, kThink, who.many(), doubts);
      w.free("that");
      write_thing(w, many);
      write_quality_of(w, negated, good_word);
      positive = (good_word != negated) != doubts;
    }
  }
  w.free(".");
  return {std::move(w.story.words), positive};
}

std::vector<std::string> english_words() {
  std::vector<std::string> words;
  const auto add = [&](std::span<const Word> list) {
    words.insert(words.end(), list.begin(), list.end());
  };
  const auto add_both = [&](std::span<const Noun> list) {
    for (const Noun& noun : list) {
      words.emplace_back(noun.one);
      words.emplace_back(noun.many);
    }
  };
  for (const Word word :
       {".", ",", "the", "a", "and", "to", "near", "not", "very", "but", "that", "it"})
    words.emplace_back(word);
  for (const auto& list : {kSubject, kObject, kReflexive}) add(std::span(list, 3));
  add(kMen);
  add(kWomen);
  add_both(kChildren);
  add_both(kAnimals);
  add_both(kThings);
  add_both(kGive);
  for (const Noun& verb : {kThank, kLike, kHate, kThink, kWash, kBe, kDo}) add_both({&verb, 1});
  add(kGood);
  add(kBad);
  add(kMoods);
  return words;
}

}  // namespace headlight
