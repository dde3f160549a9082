// Runs that do not keep all that they make: what stays, and that a layer computed again is the
// same.
#include <doctest/doctest.h>

#include "core/graph/program_cost.h"
#include "core/run/large/kept_tensors.h"
#include "tests/run/keeps_little.h"
#include "tests/run/kinds_of_models.h"

namespace headlight::test_kept_tensors {
namespace {

Document long_run(int layers) {
  return random_model([&](Config& c) { c.layers = layers; });
}

TensorId named(const Trace& trace, std::string_view name) { return trace.program().require(name); }

}  // namespace

TEST_CASE("kept tensors: of every kind of model, every tensor is that of a run that keeps all") {
  for (const char* backend_name : {"cpu", "reference"}) {
    const auto backend = make_backend(backend_name, 2);
    for (const auto& kind : kinds_of_models()) {
      CAPTURE(std::string(kind.first));
      const Document& document = kind.second;
      Runner whole, little(keeps_little());
      const RunResult all = whole.run(document, *backend);
      const RunResult some = little.run(document, *backend);
      REQUIRE(all.trace);
      REQUIRE_MESSAGE(some.trace, some.problem);
      CHECK(all.trace->keeps_all());
      REQUIRE_FALSE(some.trace->keeps_all());
      const Program& p = all.trace->program();
      std::size_t again = 0;
      // Backwards, so that no layer is asked for behind the one before it.
      for (std::size_t id = p.tensors.size(); id-- > 0;) {
        const auto tensor = static_cast<TensorId>(id);
        again += !some.trace->is_there(tensor);
        CAPTURE(p.tensors[id].name);
        REQUIRE(same_bits(some.trace->tensor(tensor), all.trace->tensor(tensor)));
        CHECK(some.trace->is_there(tensor));
      }
      CHECK(again > 0);
    }
  }
}

TEST_CASE("kept tensors: the residual stream, patterns, and the layer on the screen stay") {
  Runner runner(keeps_little());
  runner.set_shown("blocks.1.attn.scores_raw");
  const auto backend = make_cpu_backend(1);
  const auto trace = runner.run(long_run(3), *backend).trace;
  REQUIRE(trace);
  const Program& p = trace->program();
  for (std::size_t id = 0; id < p.tensors.size(); ++id) {
    const TensorSpec& spec = p.tensors[id];
    const auto tensor = static_cast<TensorId>(id);
    CAPTURE(spec.name);
    const bool stays = spec.place.layer < 0 || spec.place.layer == 1 ||
                       spec.role == Role::kPattern || spec.kind == TensorKind::kInput ||
                       spec.kind == TensorKind::kParameter;
    if (stays) CHECK(trace->is_there(tensor));
  }
  CHECK(trace->is_there(named(*trace, "blocks.2.resid_mid")));
  CHECK_FALSE(trace->is_there(named(*trace, "blocks.2.attn.scores_raw")));
  CHECK_FALSE(trace->is_there(named(*trace, "blocks.0.mlp.pre")));
}

TEST_CASE("kept tensors: a plain decoder's calls go row by row, but for scores that are seen") {
  Runner runner(keeps_little());
  const auto backend = make_cpu_backend(1);
  const auto trace = runner.run(long_run(2), *backend).trace;
  REQUIRE(trace);
  const Program& p = trace->program();
  const auto whole = [&](const KeptTensors& kept) {
    std::string names;
    for (std::size_t c = 0; c < p.calls.size(); ++c) {
      if (!kept.by_rows()[c]) names += p.tensors[place(p.calls[c].out)].name + " ";
    }
    return names;
  };
  CHECK(whole(KeptTensors(p)) == "pos_embed ");  // a table that reads nothing
  const TensorId shown = p.require("blocks.1.attn.z");
  CHECK(whole(KeptTensors(p, shown)) ==
        "pos_embed blocks.1.attn.scores_raw blocks.1.attn.scores_scaled "
        "blocks.1.attn.scores_masked ");
}

TEST_CASE("kept tensors: a layer that is computed again writes over nothing that stays") {
  Runner runner(keeps_little());
  const auto backend = make_cpu_backend(1);
  const auto trace = runner.run(long_run(2), *backend).trace;
  REQUIRE(trace);
  const TensorView pattern = trace->tensor("blocks.1.attn.pattern");
  // Others may be reading it: what is written would be seen.
  const_cast<float*>(pattern.data)[0] = 7;
  REQUIRE_FALSE(trace->is_there(named(*trace, "blocks.1.attn.scores_raw")));
  (void)trace->tensor("blocks.1.attn.scores_raw");
  CHECK(pattern.data[0] == 7);
}

TEST_CASE("kept tensors: what experts make on their way does not stay") {
  Runner runner(keeps_little());
  const auto backend = make_cpu_backend(1);
  const auto trace = runner.run(random_model([](Config& c) { c.experts = 4; }), *backend).trace;
  REQUIRE(trace);
  for (const char* name : {"blocks.0.mlp.expert_pre", "blocks.0.mlp.expert_post"})
    CHECK_FALSE(trace->is_there(named(*trace, name)));
}

TEST_CASE("kept tensors: memory is less, what is looked at counts, and is let go") {
  Runner whole, little(keeps_little());
  const auto backend = make_cpu_backend(1);
  const Document doc = long_run(12);
  const auto all = whole.run(doc, *backend).trace, some = little.run(doc, *backend).trace;
  REQUIRE(all);
  REQUIRE(some);
  CHECK(some->memory().arena + some->memory().shared < 0.6 * all->memory().arena);
  CHECK(some->memory().again == 0);
  const RunShape& shape = some->program().shape;
  const TraceMemory real = some->memory();
  const double least = least_memory_needed(doc.config, shape);
  CHECK(least - (real.arena + 2 * real.shared + real.parameters) < kTensorAlignment);
  CHECK(least >= real.arena + 2 * real.shared + real.parameters);
  const TensorId third = named(*some, "blocks.3.attn.scores_raw"),
                 fifth = named(*some, "blocks.5.attn.scores_raw");
  (void)some->tensor(third);
  const double one = some->memory().again;
  CHECK(one > 0);
  (void)some->tensor(fifth);
  CHECK(some->memory().again == 2 * one);
  some->forget(fifth, 2 * one);  // there is room for both
  CHECK(some->is_there(third));
  auto held = some->hold(third);
  const float* cells = some->tensor(third).data;
  some->forget(-1);
  CHECK_FALSE(some->is_there(fifth));
  CHECK(some->memory().again == one);
  CHECK(some->tensor(third).data == cells);
  held.reset();
  (void)some->tensor(fifth);
  some->forget(fifth);
  CHECK(some->is_there(fifth));
  CHECK_FALSE(some->is_there(third));
  CHECK(some->memory().again == one);
}

TEST_CASE("kept tensors: a run that would not fit whole fits in part, and else is refused") {
  const Document doc = long_run(12);
  const auto backend = make_cpu_backend(1);
  Runner first;
  const RunShape shape = first.run(doc, *backend).trace->program().shape;
  const double least = least_memory_needed(doc.config, shape);
  REQUIRE(least < memory_needed(doc.config, shape));
  RunLimits limits;
  limits.memory_bytes = least;
  Runner fits(limits);
  const auto trace = fits.run(doc, *backend).trace;
  REQUIRE(trace);
  CHECK_FALSE(trace->keeps_all());
  limits.memory_bytes = least - 1;
  Runner refuses(limits);
  CHECK(refuses.run(doc, *backend).message.id.starts_with("error.needs_memory"));
  CHECK(memory_refusal(doc.config, shape, least).empty());
  CHECK_FALSE(memory_refusal(doc.config, shape, least, RunKeeps::kAll).empty());
  CHECK_FALSE(memory_refusal(doc.config, shape, least - 1).empty());
  // What goes back needs every tensor, and a gradient of it.
  CHECK(fits.run(doc, *backend, nullptr, true).message.id.starts_with("error.needs_memory"));
}

TEST_CASE("kept tensors: what a run needs at least is what it takes, whatever its sizes") {
  for (const auto& kind : kinds_of_models()) {
    const Document& document = kind.second;
    if (document.config.memory > 0) continue;  // the first segment alone is asked for below
    CAPTURE(std::string(kind.first));
    Runner little(keeps_little());
    const auto backend = make_cpu_backend(1);
    const auto trace = little.run(document, *backend).trace;
    REQUIRE(trace);
    const TraceMemory real = trace->memory();
    const double least = least_memory_needed(trace->config(), trace->program().shape);
    CHECK(least <= memory_needed(trace->config(), trace->program().shape));
    CHECK(real.run() <= least * 1.05);
  }
  Config huge;
  huge.layers = 1000;
  huge.d_model = 1 << 20;
  CHECK(least_memory_needed(huge, {1, 1 << 30, 1 << 30}) > 1e15);
}

}  // namespace headlight::test_kept_tensors
