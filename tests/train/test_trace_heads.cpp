// The scores of a trace's heads are those of its own patterns, masks and tokens.
#include <doctest/doctest.h>

#include "core/graph/program_memory.h"
#include "core/model/bundled.h"
#include "core/run/runner.h"
#include "core/train/heads/trace_heads.h"
#include "core/train/model_recipe.h"

namespace headlight::test_trace_heads {
namespace {

std::shared_ptr<const Trace> run(Document document, const std::shared_ptr<const Model>& model,
                                 bool gradients = false) {
  const auto backend = make_reference_backend();
  RunResult result = Runner().run(document, *backend, model, gradients);
  REQUIRE(result.trace);
  return result.trace;
}

// One attention, with a mask made anew from what the document says.
void check_attention(const Trace& trace, const std::string& name, std::span<const int> ids,
                     const MaskSpec* mask, const std::vector<HeadScores>& scores) {
  CAPTURE(name);
  const TensorView t = trace.tensor(name);
  const std::int64_t heads = t.axes[1].size, queries = t.axes[2].size, keys = t.axes[3].size;
  const auto cells = static_cast<std::size_t>(queries * keys);
  std::vector<float> forbidden;
  if (mask) {
    forbidden.resize(cells);
    fill_mask(*mask, static_cast<int>(queries), forbidden.data());
  }
  REQUIRE(scores.size() == static_cast<std::size_t>(heads));
  for (std::int64_t head = 0; head < heads; ++head) {
    const std::vector<float> weights(t.data + head * queries * keys,
                                     t.data + (head + 1) * queries * keys);
    const HeadScores own = head_scores({weights, queries, keys, ids, forbidden, {}});
    CHECK(scores[static_cast<std::size_t>(head)].all == own.all);
  }
}

Document bundled(const std::string& name, std::shared_ptr<const Model>& model) {
  model = load_model(std::string(kBundledRef) + name);
  return apply(Document{}, choose_model(Document{}, *model));
}

}  // namespace

TEST_CASE("trace heads: a row for each layer, whatever else the run has computed") {
  Document document;
  document.sentence = "the cat saw the dog and the dog saw the cat";
  document.config.layers = 3;
  document.config.heads = 2;
  for (const MaskKind kind : {MaskKind::kCausal, MaskKind::kNone, MaskKind::kLocal}) {
    document.config.mask.kind = kind;
    const auto trace = run(document, nullptr, kind == MaskKind::kCausal);
    const TraceHeads heads = score_heads(*trace);
    CHECK(heads.serial == trace->serial());
    REQUIRE(heads.scores.size() == 3);
    for (int layer = 0; layer < 3; ++layer) {
      check_attention(*trace, "blocks." + std::to_string(layer) + ".attn.pattern",
                      trace->input().ids, kind == MaskKind::kNone ? nullptr : &document.config.mask,
                      heads.scores[static_cast<std::size_t>(layer)]);
    }
    if (kind == MaskKind::kCausal) CHECK(heads.scores[0][0][Badge::kSameToken].rows > 0);
  }
}

TEST_CASE("trace heads: layers with a window of their own are judged by what they may look at") {
  Document document;
  document.sentence = "the cat saw the dog and the dog saw the cat";
  document.config.layers = 2;
  document.config.heads = 2;
  document.config.local_layers = {1};
  document.config.local_window = 3;
  const auto trace = run(document, nullptr, false);
  const TraceHeads heads = score_heads(*trace);
  for (int layer = 0; layer < 2; ++layer) {
    const MaskSpec own = document.config.mask_of(layer);
    check_attention(*trace, "blocks." + std::to_string(layer) + ".attn.pattern", trace->input().ids,
                    &own, heads.scores[static_cast<std::size_t>(layer)]);
  }
}

TEST_CASE("trace heads: classifiers and models that fill [MASK] look both ways") {
  for (const char* name : {"sentiment", "masked"}) {
    std::shared_ptr<const Model> model;
    const auto trace = run(bundled(name, model), model);
    const TraceHeads heads = score_heads(*trace);
    REQUIRE(heads.scores.size() == static_cast<std::size_t>(trace->config().layers));
    check_attention(*trace, "blocks.0.attn.pattern", trace->input().ids, nullptr, heads.scores[0]);
  }
}

TEST_CASE("trace heads: of an encoder-decoder the source's, its own, and across") {
  std::shared_ptr<const Model> model;
  const auto trace = run(bundled("dates", model), model);
  const Program& program = trace->program();
  std::vector<std::string> names;
  for (const int place : pattern_steps(program)) {
    const Step& step = program.steps[static_cast<std::size_t>(place)];
    names.push_back(program.tensors[static_cast<std::size_t>(step.tensor)].name);
  }
  REQUIRE(names == std::vector<std::string>{"encoder.blocks.0.attn.pattern",
                                            "decoder.blocks.0.attn.pattern",
                                            "decoder.blocks.0.cross_attn.pattern"});
  const TraceHeads heads = score_heads(*trace);
  REQUIRE(heads.scores.size() == 3);
  check_attention(*trace, names[0], trace->input().source_ids, nullptr, heads.scores[0]);
  check_attention(*trace, names[1], trace->input().ids, &trace->config().mask, heads.scores[1]);
  check_attention(*trace, names[2], {}, nullptr, heads.scores[2]);
  CHECK(heads.scores[2][0][Badge::kPreviousToken].rows == 0);
  CHECK(heads.scores[2][0][Badge::kFirstToken].rows > 0);
}

}  // namespace headlight::test_trace_heads
