// Whatever recipe the random model has, a lab runs on it or says which model it takes instead.
#include <doctest/doctest.h>

#include <array>

#include "core/base/error.h"
#include "core/model/bundled.h"
#include "core/text/number_words.h"
#include "core/train/model_recipe.h"
#include "core/train/sampling.h"
#include "tests/graph/drawn_recipes.h"
#include "tests/run/drawn_models.h"
#include "tests/support/lab_bench.h"
#include "tests/support/sanitized.h"

namespace headlight::test_lab_recipes {
namespace {

// Labs that read the document's own model, or change it for Steps.
constexpr std::array kOfRecipe = {
    "without-parameters", "building-up", "dictionary", "scale",   "shuffle", "depth", "reach",
    "sampling",           "gradients",   "positions",  "segments"};
constexpr std::array kOfAnyRecipe = {"building-up", "shuffle", "depth"};

Document random_document(const Config& config) {
  Document d;
  d.config = config;
  d.sentence = config.numbers ? std::string(kNumberSentence) : "the dog was sad";
  return d;
}

// What the lab's page has buttons for (lab_ways()).
bool is_mended(const std::string& problem) {
  const std::initializer_list<std::string_view> known = {
      "lab.error.no_attention", "lab.error.fused",        "lab.error.no_key",
      "lab.error.no_next",      "lab.error.no_embedding", "lab.error.no_weight"};
  return std::ranges::find(known, problem) != known.end();
}

void check_labs(LabBench& bench, const Document& document) {
  for (const char* lab : kOfRecipe) {
    CAPTURE(lab);
    const bool takes_any = std::ranges::count(kOfAnyRecipe, std::string_view(lab)) > 0;
    try {
      const LabResult r = bench.run(lab, document);
      if (r.in_steps.model.empty()) CHECK_NOTHROW(validate(r.in_steps.config));
    } catch (const Error& error) {
      CAPTURE(error.what());
      CHECK_FALSE(takes_any);
      CHECK(is_mended(error.message().id));
    }
  }
}

}  // namespace

TEST_CASE("lab recipes: every lab takes the recipe of a bundled model whose weights are random") {
  LabBench bench;
  for (const BundledModel& files : bundled_models()) {
    CAPTURE(files.name);
    const auto model = load_model(files);
    const Document trained = apply(Document{}, choose_model(Document{}, *model));
    const Document random = apply(trained, choose_sandbox(trained));
    check_labs(bench, random_document(random.config));
  }
}

TEST_CASE("lab recipes: and any other recipe that a person can choose") {
  LabBench bench;
  for (std::uint64_t seed = 1; seed <= 40; seed += test::kWalkStride) {
    CAPTURE(seed);
    check_labs(bench, random_document(drawn_recipe(seed)));
  }
}

TEST_CASE("lab recipes: how given ids may go on is what the model says behind them") {
  Config config;
  config.d_model = 16;
  config.layers = 1;
  const auto model = drawn::readable_model(config, 5);
  const Document document = [&] {
    Document d = drawn::document_of_ids(config, {5, 3, 11, 3});
    d.model = kRunRef;
    return d;
  }();
  LabBench bench;
  const LabInput input{document, bench.runner, *bench.backend, {}, {}, model};
  const LabResult r = run_lab(find_lab("sampling"), input);
  REQUIRE(r.tree.size() == 12);
  for (const LabBranch& branch : r.tree) {
    Document behind = document;
    const auto id_of = [&](const std::string& token) { return *model->vocabulary->find(token); };
    if (branch.parent >= 0)
      behind.ids.push_back(id_of(r.tree[static_cast<std::size_t>(branch.parent)].text));
    const auto trace = bench.runner.run(behind, *bench.backend, model).trace;
    REQUIRE(trace);
    const TensorView logits = trace->tensor(trace->program().logits);
    const auto chances = token_chances(
        logits.cells().last(static_cast<std::size_t>(logits.axes.back().size)), {1, 0, 1});
    const auto own = std::ranges::find(chances, id_of(branch.text), &TokenChance::id);
    REQUIRE(own != chances.end());
    CHECK(own->probability == doctest::Approx(branch.probability));
  }
}

TEST_CASE("lab recipes: what is left out of a recipe is said, and nothing else") {
  LabBench bench;
  Config tied;
  tied.tied_head = true;
  tied.d_model = 24;
  const LabResult r = bench.run("shuffle", random_document(tied));
  CHECK(has_note(r, "lab.note.recipe"));
  CHECK_FALSE(r.in_steps.config.tied_head);
  CHECK(r.in_steps.config.d_model == 24);
  CHECK_FALSE(has_note(bench.run("shuffle", random_document({})), "lab.note.recipe"));
  CHECK_FALSE(has_note(bench.run("depth", random_document(tied)), "lab.note.recipe"));
}

}  // namespace headlight::test_lab_recipes
