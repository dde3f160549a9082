// A small grammar of English, written for this project: who gave what to whom, pronouns and verbs
// that agree, and judgements in which "not" turns the meaning round.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/random.h"

namespace headlight {

/// One or two sentences that belong together, as words; full stops and commas are words.
struct Story {
  std::vector<std::string_view> words;
  std::vector<std::uint8_t> sure;  // 1: after the words before it, no other word can come here
};

/// "mary gives the ball to john . he thanks her ."
/// "the boys near the dog are happy ."
/// "the cake is not good . anna does not like it ."
/// "mary and paul wash themselves ."
Story draw_story(Random& random);
inline constexpr int kLongestStory = 14;

/// A judgement, good (`positive`) or bad:
/// "the books are not very good .", "tom does not hate the cake .", "the ball is nice , not poor
/// .", "the letter is not bad , but great .", "lucy thinks that the flower is not awful ."
struct Opinion {
  std::vector<std::string_view> words;
  bool positive = false;
};
Opinion draw_opinion(Random& random);
inline constexpr int kLongestOpinion = 14;

/// Every word that these two use.
std::vector<std::string> english_words();

}  // namespace headlight
