// Two sentences of one row: how they are read, closed and told apart.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/document/session_file.h"
#include "core/explain/steps.h"
#include "core/run/runner.h"
#include "core/run/sentence_tokens.h"

namespace headlight::test_segments {
namespace {

using Words = std::vector<std::string>;
using Ids = std::vector<int>;

Document divided(const std::string& sentence, bool judged = true) {
  Document d = apply(Document{}, SetSentence{sentence});
  d.config.layers = 1;
  d.config.segments = true;
  if (judged) {
    d.config.form = ModelForm::kClasses;
    d.config.pool = PoolKind::kFirst;
    d.config.mask.kind = MaskKind::kNone;
  }
  return d;
}

RunResult run(const Document& d) {
  const auto backend = make_reference_backend();
  return Runner().run(d, *backend);
}

RunInput read(const Document& d) {
  const RunResult result = run(d);
  REQUIRE_MESSAGE(result.trace, result.problem);
  return result.trace->input();
}

}  // namespace

TEST_CASE("segments: [CLS] first [SEP] second is closed by a [SEP], and each token has its row") {
  const RunResult result = run(divided("the cat sat [SEP] it slept"));
  REQUIRE_MESSAGE(result.trace, result.problem);
  const RunInput& input = result.trace->input();
  CHECK(input.tokens == Words{"[CLS]", "the", "cat", "sat", "[SEP]", "it", "slept", "[SEP]"});
  CHECK(input.segment_ids == Ids{0, 0, 0, 0, 0, 1, 1, 1});
  CHECK_FALSE(result.cut);
  const TensorView ids = result.trace->tensor("segment_ids");
  const TensorView rows = result.trace->tensor("segment_embed");
  const TensorView sum = result.trace->tensor("segment_sum"), x = result.trace->tensor("embed");
  const TensorView table = result.trace->tensor("segment_embed.W_seg");
  for (std::int64_t t = 0; t < 8; ++t) {
    CHECK(ids.data[t] == static_cast<float>(input.segment_ids[static_cast<std::size_t>(t)]));
    for (std::int64_t f = 0; f < 64; ++f) {
      CHECK(rows.data[t * 64 + f] == table.data[(t < 5 ? 0 : 1) * 64 + f]);
      CHECK(sum.data[t * 64 + f] == x.data[t * 64 + f] + rows.data[t * 64 + f]);
    }
  }
  CHECK(table.data[0] != table.data[64]);
  // One that is closed already, and one that is not a pair, stay as they are.
  CHECK(read(divided("a b [SEP] c [SEP]")).tokens ==
        Words{"[CLS]", "a", "b", "[SEP]", "c", "[SEP]"});
  CHECK(read(divided("a b [SEP]")).tokens == Words{"[CLS]", "a", "b", "[SEP]"});
  CHECK(read(divided("a b")).segment_ids == Ids{0, 0, 0});
  // Who also says hidden tokens reads [MASK] as one.
  Document hidden = divided("a [MASK] [SEP] c");
  hidden.config.token_head = true;
  CHECK(read(hidden).tokens == Words{"[CLS]", "a", "[MASK]", "[SEP]", "c", "[SEP]"});
  CHECK(read(divided("a [MASK] b")).tokens == Words{"[CLS]", "a", "[", "MASK", "]", "b"});
  // Who predicts tokens gets what was written and nothing else.
  CHECK(read(divided("a [SEP] b", false)).tokens == Words{"a", "[SEP]", "b"});
}

TEST_CASE("segments: a third sentence is refused") {
  for (const char* text : {"a [SEP] b [SEP] c", "a [SEP] b [SEP] c [SEP]", "[SEP] [SEP] [SEP]"}) {
    const RunResult result = run(divided(text));
    CHECK_FALSE(result.trace);
    CHECK(result.is_usage);
    CHECK(result.problem.find("one sentence or two") != std::string::npos);
    CHECK(result.problem.find("got 3") != std::string::npos);
  }
}

TEST_CASE("segments: a pair that fills the row to its limit ends in [SEP] all the same") {
  Document d = divided("a b c [SEP] d e f g");
  d.max_tokens = 7;
  const RunResult result = run(d);
  REQUIRE(result.trace);
  CHECK(result.trace->input().tokens == Words{"[CLS]", "a", "b", "c", "[SEP]", "d", "[SEP]"});
  CHECK(result.cut);
  d.max_tokens = 9;  // just as long as [CLS] and the sentence
  CHECK(run(d).trace->input().tokens.back() == "[SEP]");
  CHECK(run(d).trace->length() == 9);
  CHECK(run(d).cut);
  d.max_tokens = 10;
  CHECK_FALSE(run(d).cut);
}

TEST_CASE("segments: without them [SEP] is what the tokenizer makes of it, and no row is added") {
  Document d = divided("a [SEP] b", false);
  d.config.segments = false;
  const RunInput input = read(d);
  CHECK(input.tokens == Words{"a", "[", "SEP", "]", "b"});
  CHECK(input.segment_ids.empty());
  // Characters keep it in one piece, bytes are bytes.
  d.config.segments = true;
  d.tokenizer = TokenizerKind::kCharacters;
  CHECK(read(d).tokens == Words{"a", " ", "[SEP]", " ", "b"});
  d.tokenizer = TokenizerKind::kBytes;
  CHECK(read(d).tokens.size() == 9);
  CHECK(read(d).segment_ids == Ids(9, 0));
}

TEST_CASE("segments: tokens stand where they were written, and words move over the [SEP]") {
  const Document d = divided("ab cd [SEP] ef");
  std::optional<Tokenizer> kept;
  const SentenceTokens tokens = sentence_tokens(d, nullptr, kept);
  REQUIRE(tokens.tokens.size() == 6);
  CHECK(tokens.tokens[3] == PlacedToken{0, 6, 11});
  CHECK(tokens.tokens[4] == PlacedToken{0, 12, 14});
  for (const std::size_t unwritten : {0u, 5u})
    CHECK(tokens.tokens[unwritten].begin == tokens.tokens[unwritten].end);
  CHECK(apply(d, MoveToken{4, 1}).sentence == "ef ab cd [SEP]");
  CHECK(apply(d, MoveToken{3, 2}).sentence == "ab [SEP] cd ef");
}

TEST_CASE("segments: a session keeps them, and an older one has none") {
  const Document d = divided("a [SEP] b");
  CHECK(parse_session(session_text(d)).document == d);
  Document plain = d;
  plain.config.segments = false;
  CHECK(session_text(plain).find("segments") == std::string::npos);
}

}  // namespace headlight::test_segments
