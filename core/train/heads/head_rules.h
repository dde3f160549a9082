// The rule that a head's claim stands for: sentences of one kind, with the place that looks and the
// places that it looks at marked in them. The tests measure it on all.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/text/vocabulary.h"
#include "core/train/heads/head_claims.h"

namespace headlight {

/// Words that may stand for one another in a rule's sentences: "place": park, zoo, …
using WordLists = std::map<std::string, std::vector<std::string>>;

/// Throws Error that names the key, what was expected and what came.
WordLists read_word_lists(const OrderedJson&, const JsonFileWords&);

/// Bytes of a sentence, the last one not included.
struct TextSpan {
  std::size_t begin = 0, end = 0;
};

struct MarkedSentence {
  std::string text;
  TextSpan query;
  std::vector<TextSpan> keys;
};

/// The sentences of a pattern such as "The {$animal} near the $thing <was> $mood": each $name
/// becomes each word of its list (a digit behind the name, as in $name2, makes another choice from
/// the same list), <…> is the query and {…} the keys. Of more than `most` evenly many are left out.
/// Throws Error for a name without a list and for a pattern without marks.
std::vector<MarkedSentence> marked_sentences(const std::string& pattern, const WordLists&,
                                             std::size_t most);

/// The claim about one of the rule's sentences: the query is the last token of its mark, the keys
/// are all tokens of theirs.
HeadClaim claim_on(const HeadClaim&, const MarkedSentence&, std::span<const PlacedToken>);

}  // namespace headlight
