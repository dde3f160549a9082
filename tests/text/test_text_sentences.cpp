// Where the sentences of a text stand, and what lies between them.
#include <doctest/doctest.h>

#include <string>

#include "core/text/sentences.h"

namespace headlight::test_text_sentences {
namespace {

using Texts = std::vector<std::string>;

// The sentences, each that opens a passage behind a bar.
Texts cut(const std::string& text) {
  Texts found;
  for (const SentenceRange& r : sentence_ranges(text))
    found.push_back((r.opens ? "|" : "") + text.substr(r.begin, r.end - r.begin));
  return found;
}

}  // namespace

TEST_CASE("sentences: full stops, questions and line breaks end them, abbreviated numbers do not") {
  CHECK(cut("The cat sat. Did it? It is 3.5 years old!") ==
        Texts{"|The cat sat.", "Did it?", "It is 3.5 years old!"});
  CHECK(cut("no stop\nat all") == Texts{"|no stop", "at all"});
  CHECK(cut("\"Stay.\" He went.") == Texts{"|\"Stay.\"", "He went."});
  CHECK(cut("猫坐下了。它睡着了吗？睡着了。") == Texts{"|猫坐下了。", "它睡着了吗？", "睡着了。"});
}

TEST_CASE("sentences: an empty line opens a passage, one line break does not") {
  CHECK(cut("A b.\nC d.\n\nE f. G h.\n  \n\n I j.") ==
        Texts{"|A b.", "C d.", "|E f.", "G h.", "|I j."});
  CHECK(cut("A b.\r\nC d.\r\n\r\nE f.") == Texts{"|A b.", "C d.", "|E f."});
}

TEST_CASE("sentences: white space is none of them, and a text may have none") {
  CHECK(cut("").empty());
  CHECK(cut(" \n\t\n ").empty());
  CHECK(cut("  A b.   C.  \n") == Texts{"|A b.", "C."});
  bool asked = false;
  CHECK_THROWS_AS(sentence_ranges("A b. C d.",
                                  [&](const Progress&) {
                                    asked = true;
                                    return false;
                                  }),
                  Cancelled);
  CHECK(asked);
}

}  // namespace headlight::test_text_sentences
