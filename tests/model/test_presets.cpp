#include <doctest/doctest.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/texts.h"
#include "core/graph/program_cost.h"
#include "core/model/presets.h"
#include "core/run/runner.h"

namespace headlight::test_presets {
namespace {

// Known counts: of GPT, GPT-2 and BERT those of the released weights, of Transformer-XL what the
// authors' code prints. Those of the other two papers are rounded.
TEST_CASE("presets: parameters are those that are known, differences included") {
  const std::pair<std::string_view, std::int64_t> known[] = {
      {"gpt", 116'534'784},        {"gpt2-small", 124'439'808},    {"gpt2-medium", 354'823'168},
      {"gpt2-large", 774'030'080}, {"gpt2-xl", 1'557'611'200},     {"bert-base", 109'482'240},
      {"bert-large", 335'141'888}, {"transformer-xl", 151'107'538}};
  for (const auto& one : known) CHECK_MESSAGE(preset(one.first).published == one.second, one.first);
  for (const Preset& p : all_presets()) {
    std::int64_t count = parameters_here(p);
    for (const PresetDifference& d : p.differences) count += d.count;
    CHECK_MESSAGE(count == p.published, p.name);
    // As the table says without building all layers, so does the whole program.
    double cells = 0;
    for (const TensorSpec& spec : build_program(p.config, p.shape).tensors) {
      if (spec.kind == TensorKind::kParameter) cells += static_cast<double>(cell_count(spec.axes));
    }
    CHECK_MESSAGE(parameters_here(p) == static_cast<std::int64_t>(cells), p.name);
  }
  CHECK(preset("transformer-base").published == doctest::Approx(65e6).epsilon(0.04));
  CHECK(preset("sparse-transformer").published == doctest::Approx(95e6).epsilon(0.01));
}

TEST_CASE("presets: all words are there, in both languages") {
  for (const Preset& p : all_presets()) {
    for (const Language language : {Language::kEnglish, Language::kChinese}) {
      CHECK(tr_or(language, p.apart, {}) != "");
      for (const PresetDifference& d : p.differences) CHECK(tr_or(language, d.what, {}) != "");
    }
  }
}

TEST_CASE("presets: a miniature runs, and is built as its model is") {
  Runner runner;
  const auto backend = make_backend("cpu", 1);
  for (const Preset& p : all_presets()) {
    const Config c = miniature(p);
    CHECK(c.layers == 2);
    CHECK(c.block == p.config.block);
    CHECK(c.positions == p.config.positions);
    CHECK(c.activation == p.config.activation);
    CHECK(c.form == p.config.form);
    CHECK(c.mask.kind == p.config.mask.kind);
    CHECK(c.tied_head == p.config.tied_head);
    Document document;
    document.config = c;
    const RunResult result = runner.run(document, *backend);
    CHECK_MESSAGE(result.trace, p.name << ": " << result.problem);
  }
}

TEST_CASE(
    "presets: BERT judges two sentences and says tokens in their places, as in pre-training") {
  Document document;
  document.config = miniature(preset("bert-base"));
  document.sentence = "the cat sat [SEP] it was tired";
  Runner runner;
  const auto trace = runner.run(document, *make_backend("cpu", 1)).trace;
  REQUIRE(trace);
  CHECK(trace->input().tokens.front() == "[CLS]");
  CHECK(trace->input().tokens.back() == "[SEP]");
  for (const Role role : {Role::kTokenProbabilities, Role::kPoolerWeight, Role::kSegmentTable}) {
    const auto& tensors = trace->program().tensors;
    CHECK(std::ranges::count(tensors, role, &TensorSpec::role) == 1);
  }
  CHECK(preset("bert-base").config.embed_norm);
  CHECK(preset("transformer-base").config.embed_scale);
  CHECK(preset("transformer-xl").config.embed_scale);
}

TEST_CASE("presets: a wrong name says which there are") {
  try {
    preset("gpt2-smal");
    FAIL("there is none");
  } catch (const UsageError& error) {
    const std::string said = error.what();
    CHECK(said.find("gpt2-small") != said.npos);
    CHECK(said.find("transformer-xl") != said.npos);
  }
}

// What is refused says what is needed, what is there, and what would fit; and that does fit.
TEST_CASE("presets: one that is too large is refused with the figures") {
  Runner runner({.memory_bytes = 2e9});
  Document document;
  document.sentence = "a b c d";
  document.config = preset("gpt2-xl").config;
  const auto backend = make_backend("cpu", 1);
  const RunResult refused = runner.run(document, *backend);
  CHECK(!refused.trace);
  for (const char* part : {"5.9 GB", "2.0 GB", "at most 16 of its 48 layers would fit"})
    CHECK_MESSAGE(refused.problem.find(part) != std::string::npos, refused.problem);
}

TEST_CASE("sandbox: an encoder-decoder reads the sentence, and what stands behind the arrow") {
  Runner runner;
  const auto backend = make_backend("reference", 1);
  Document document;
  document.config = miniature(preset("transformer-base"));
  document.sentence = "the cat -> die katze";
  const auto trace = runner.run(document, *backend).trace;
  REQUIRE(trace);
  CHECK(trace->input().source_tokens == std::vector<std::string>{"the", "cat"});
  CHECK(trace->input().tokens == std::vector<std::string>{"[BOS]", "die", "katze"});
  CHECK(trace->input().vocab.size() == 5);
  document.sentence = "the cat";
  const auto alone = runner.run(document, *backend).trace;
  REQUIRE(alone);
  CHECK(alone->input().tokens == std::vector<std::string>{"[BOS]", "the", "cat"});
  document.sentence = "-> die katze";
  const RunResult empty = runner.run(document, *backend);
  CHECK(!empty.trace);
  CHECK(empty.is_usage);
  document.sentence = "a b c d e f";
  document.max_tokens = 3;
  const RunResult cut = runner.run(document, *backend);
  REQUIRE(cut.trace);
  CHECK(cut.cut);
  CHECK(cut.tokens_in_sentence == 6);
  CHECK(cut.trace->input().source_tokens.size() == 3);
}

}  // namespace
}  // namespace headlight::test_presets
