// "Start from" in the Train panel: a kept model under a head of its own, frozen layers, the way
// back to new weights, and models that do not fit.
#include <cmath>
#include <filesystem>

#include "core/backends/backend.h"
#include "core/io/atomic_file.h"
#include "core/model/checkpoint.h"
#include "core/run/runner.h"
#include "core/train/fine_tuning.h"
#include "tests/gui/train/train_gui.h"
#include "tests/model/worded_folder.h"

namespace headlight::test {
namespace {

std::string labelled() {
  std::string rows;
  for (int i = 0; i < 12; ++i)
    rows += i % 2 ? "the cat sat on the mat\tcat\n" : "the dog lay on the log\tdog\n";
  return rows;
}

std::string passages() {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += "the cat sat on the mat.\nthe dog lay on the log.\nthe cat lay on the mat.\n\n";
  return text;
}

void choose(Gui& gui, const std::string& list, const std::string& what) {
  gui.click("train/set/" + list);
  gui.frame(2);
  gui.click("train/set/" + list + "/" + what);
  settle(gui);
}

// Two layers that have filled a few holes, kept by hand.
std::string keep_masked(Gui& gui, const TemporaryFolder& folder) {
  RunPlan plan = with_masked(text_plan(2), 20);
  plan.text_options.cut = TextCut::kWords;
  plan.text_options.context = 16;
  open_panel(gui, plan);
  gui.push(PlayRun{true, 4});
  settle(gui);
  gui.push(KeepRun{folder.path("holes")});
  settle(gui);
  REQUIRE(std::filesystem::exists(folder.path("holes")));
  return folder.path("holes");
}

const FloatBuffer& weight(const Model& model, std::string_view name) {
  const auto at = std::ranges::find(model.weights, name, &Tensor::name);
  REQUIRE(at != model.weights.end());
  return at->data;
}

// Tokens that are new stand behind those of the base.
bool begins_with(const FloatBuffer& all, const FloatBuffer& first) {
  return all.size() >= first.size() && std::equal(first.begin(), first.end(), all.begin());
}

const RunPlan& plan_of(const Gui& gui) { return gui.state().session.train.plan; }

}  // namespace

TEST_CASE("train base: labels start from a kept model; frozen layers stay, new weights compare") {
  const TemporaryFolder folder;
  Gui gui({}, {1440, 1400});
  const std::string kept = keep_masked(gui, folder);
  const auto base = load_model(kept);
  choose_own(gui, OwnData::kLabels);
  paste(gui, labelled());
  choose(gui, "base", kept);
  CHECK(plan_of(gui).settings.base == kept);
  CHECK(plan_of(gui).config.layers == 2);
  CHECK_FALSE(gui.has("train/set/layers"));
  gui.click("train/set/frozen/number");
  gui.frame(2);
  gui.type("1");
  gui.edit_key({ImGuiKey_Enter});
  settle(gui);
  CHECK(plan_of(gui).settings.frozen == 1);
  const Document before = gui.document();
  gui.click("train/same");
  settle(gui);
  REQUIRE(run_of(gui).status.problem.empty());
  REQUIRE(run_of(gui).status.start_problem.empty());
  REQUIRE(run_of(gui).plan->settings.base == kept);
  const auto first = run_of(gui).live;
  CHECK(begins_with(weight(*first, "embed.W_E"), weight(*base, "embed.W_E")));
  for (const char* name : {"blocks.0.attn.W_Q", "blocks.0.mlp.W_in", "blocks.1.attn.W_Q"})
    CHECK(weight(*first, name) == weight(*base, name));
  // What the document shows are that model's numbers: its patterns on the same sentence.
  REQUIRE(gui.config().form == ModelForm::kClasses);
  Document alone = gui.document();
  alone.model = kept;
  alone.config = base->file.config;
  const RunResult result = Runner().run(alone, *make_reference_backend(), nullptr);
  REQUIRE(result.trace);
  for (const char* name : {"blocks.0.attn.pattern", "blocks.1.attn.pattern"}) {
    const auto shown = gui.tensor(name).cells(), own = result.trace->tensor(name).cells();
    REQUIRE(shown.size() == own.size());
    for (std::size_t i = 0; i < own.size(); ++i) CHECK(std::fabs(shown[i] - own[i]) < 1e-5f);
  }

  gui.push(PlayRun{true, 6});
  settle(gui);
  const auto tuned = run_of(gui).live;
  const std::uint64_t tuned_run = run_of(gui).status.run;
  REQUIRE(run_of(gui).curve.size() == 6);
  for (const char* name : {"embed.W_E", "blocks.0.attn.W_Q", "blocks.0.mlp.W_in"})
    CHECK(weight(*tuned, name) == weight(*first, name));
  for (const char* name : {"blocks.1.attn.W_Q", "classify.W_C"})
    CHECK(weight(*tuned, name) != weight(*first, name));
  CHECK(weight(*load_model(kept), "blocks.1.attn.W_Q") == weight(*base, "blocks.1.attn.W_Q"));

  // What was looked at before comes back, and the run again.
  const Document with_run = gui.document();
  gui.push(DoCommand{Command::kUndo});
  settle(gui);
  CHECK(gui.document() == before);
  gui.push(DoCommand{Command::kRedo});
  settle(gui);
  CHECK(gui.document() == with_run);

  choose(gui, "base", "new");
  CHECK(plan_of(gui).settings.base.empty());
  CHECK(plan_of(gui).data == OwnData::kLabels);
  gui.click("train/same");
  settle(gui);
  gui.push(PlayRun{true, 6});
  settle(gui);
  CHECK(weight(*run_of(gui).live, "embed.W_E") != weight(*tuned, "embed.W_E"));
  CHECK(run_of(gui).curve.size() == 6);
  CHECK(gui.has("train/pin/" + std::to_string(tuned_run)));  // its curve stays in the chart
  CHECK_FALSE(gui.shows("other tokens"));
}

TEST_CASE("train base: what cannot be begun with is said, and the run goes on as it was") {
  const TemporaryFolder folder;
  Gui gui({}, {1440, 1400});
  const std::string kept = keep_masked(gui, folder);
  const RunPlan before = plan_of(gui);
  choose_own(gui, OwnData::kLabels);
  paste(gui, labelled());
  SUBCASE("an encoder-decoder") {
    gui.push(StartFrom{"bundled:dates"});
    settle(gui);
    CHECK(gui.notices_say("does not read a row of tokens alone"));
  }
  SUBCASE("a folder that is gone") {
    std::filesystem::rename(kept, kept + "-away");
    choose(gui, "base", kept);
    CHECK(gui.notices_say("config.json"));
  }
  SUBCASE("weights of another width than its config says") {
    std::string file = read_text(kept + "/config.json");
    const auto at = file.find("\"d_model\": 16");
    REQUIRE(at != std::string::npos);
    file.replace(at, 13, "\"d_model\": 32");
    write_text(kept + "/config.json", file);
    choose(gui, "base", kept);
    gui.click("train/same");
    settle(gui);
    const std::string problem = say(Language::kEnglish, run_of(gui).status.start_problem);
    CHECK(problem.find("16") != std::string::npos);
    CHECK(problem.find("32") != std::string::npos);
  }
  SUBCASE("a text with a word that it does not know") {
    choose(gui, "base", kept);
    paste(gui, labelled() + "the zebra sat\tcat\n");
    gui.click("train/same");
    settle(gui);
    CHECK(say(Language::kEnglish, run_of(gui).status.start_problem).find("zebra") !=
          std::string::npos);
  }
  // The run before is there, and goes on.
  CHECK(run_of(gui).task->kind() == TaskKind::kMasked);
  CHECK(run_of(gui).curve.size() == 4);
  gui.push(PlanRun{before});
  gui.push(PlayRun{true, 6});
  settle(gui);
  CHECK(run_of(gui).curve.size() == 6);
}

TEST_CASE("train base: next sentences start from a model of hidden words, hidden words from one") {
  const TemporaryFolder folder;
  Gui gui({}, {1440, 1400});
  const std::string kept = keep_masked(gui, folder);
  const auto base = load_model(kept);
  choose_own(gui, OwnData::kText);
  paste(gui, passages());
  choose(gui, "learns", "next_sentence");
  choose(gui, "base", kept);
  CHECK(plan_of(gui).text_options.next_sentence);
  CHECK(plan_of(gui).text_options.context == 15);  // and [CLS]
  CHECK(plan_of(gui).config.segments);
  CHECK(plan_of(gui).config.pool == PoolKind::kFirst);
  CHECK(gui.has("train/set/frozen"));
  gui.click("train/same");
  settle(gui);
  REQUIRE(run_of(gui).status.start_problem.empty());
  REQUIRE(run_of(gui).task->id() == kNextSentenceTask);
  const auto first = run_of(gui).live;
  CHECK(begins_with(weight(*first, "embed.W_E"), weight(*base, "embed.W_E")));
  CHECK(weight(*first, "blocks.1.mlp.W_out") == weight(*base, "blocks.1.mlp.W_out"));
  CHECK(gui.document().sentence.find("[SEP]") != std::string::npos);
  gui.push(PlayRun{true, 3});
  settle(gui);
  const std::uint64_t tuned = run_of(gui).status.run;
  choose(gui, "base", "new");
  CHECK(plan_of(gui).text_options.next_sentence);  // it learns the same
  CHECK(plan_of(gui).config.segments);
  gui.click("train/same");
  settle(gui);
  gui.push(PlayRun{true, 3});
  settle(gui);
  CHECK(gui.has("train/pin/" + std::to_string(tuned)));
  CHECK_FALSE(gui.shows("other tokens"));

  // Hidden tokens begin with who has [MASK].
  choose(gui, "learns", "masked");
  gui.click("train/set/base");
  gui.frame(2);
  CHECK_FALSE(gui.has("train/set/base/stories"));
  gui.click("train/set/base/" + kept);
  settle(gui);
  CHECK(plan_of(gui).settings.base == kept);
  CHECK(plan_of(gui).text_options.masked == kMaskedShare);
  gui.push(StartFrom{"bundled:stories"});
  settle(gui);
  CHECK(gui.notices_say("stories has no [MASK]"));
  CHECK(plan_of(gui).settings.base == kept);
}

TEST_CASE("train base: a model whose rows hold no two sentences is refused") {
  const TemporaryFolder folder;
  Gui gui({}, {1440, 1400});
  RunPlan plan = with_masked(text_plan(1), 20);
  plan.text_options.context = 8;
  open_panel(gui, plan);
  gui.push(KeepRun{folder.path("short")});
  settle(gui);
  choose_own(gui, OwnData::kText);
  paste(gui, passages());
  choose(gui, "learns", "next_sentence");
  choose(gui, "base", folder.path("short"));
  CHECK(gui.notices_say("has room for 7"));
  CHECK(plan_of(gui).settings.base.empty());
}

TEST_CASE("train base: another program's folder is begun with, or what it lacks is said") {
  const TemporaryFolder folder;
  const std::string bert = folder.path("bert"), gpt2 = folder.path("gpt2");
  make_worded_folder("bert", bert, {{0, "[PAD]"}, {1, "[CLS]"}, {2, "[SEP]"}, {3, "<unk>"}},
                     {{"type", "BertProcessing"}, {"sep", {"[SEP]", 2}}, {"cls", {"[CLS]", 1}}});
  make_worded_folder("gpt2", gpt2, {{3, "<unk>"}});
  Gui gui({}, {1440, 1400});
  for (const std::string& path : {bert, gpt2, reference_folder("llama"), reference_folder("bart")})
    gui.push(RememberModel{path});
  open_panel(gui, text_plan(1));
  choose_own(gui, OwnData::kLabels);
  paste(gui, "w5 w6 w7\tone\nw8 w9\ttwo\nw5 w7 w7\tone\nw9 w9\ttwo\nw5\tone\nw8\ttwo\n");
  const auto refused = [&](const std::string& path, std::string_view why) {
    gui.push(StartFrom{path});
    settle(gui);
    CHECK(gui.notices_say(why));
    CHECK(plan_of(gui).settings.base.empty());
  };
  refused(gpt2, "the tokenizer of gpt2 has no [PAD]");
  refused(reference_folder("llama"), "llama cannot read a text: no tokenizer lies in its folder");
  refused(reference_folder("bart"), "bart does not read a row of tokens alone");
  choose(gui, "base", bert);
  CHECK(plan_of(gui).settings.base == bert);
  gui.click("train/same");
  settle(gui);
  REQUIRE(run_of(gui).status.problem.empty());
  REQUIRE(run_of(gui).status.start_problem.empty());
  const auto base = load_model(bert);
  CHECK(plan_of(gui).text_options.context == base->file.context - 2);  // [CLS] and [SEP]
  CHECK(begins_with(weight(*run_of(gui).live, "embed.W_E"), weight(*base, "embed.W_E")));
  // What has learned rows of ids has no tokenizer to be opened.
  const std::string kept = folder.path("kept");
  gui.push(KeepRun{kept});
  settle(gui);
  write_file_atomic(std::filesystem::path(kept) / "tokenizer.json", std::string(kNoTokenizer));
  gui.push(StartFrom{kept});
  settle(gui);
  CHECK(plan_of(gui).settings.base == kept);
}

}  // namespace headlight::test
