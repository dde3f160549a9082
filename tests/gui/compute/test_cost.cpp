// Memory and time: what is said is of what is shown, sizes that are tried out change nothing until
// they are asked for, models from papers open small and are refused where they are too large.
#include "core/model/presets.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

void open_cost(Gui& gui, Command command = Command::kCost) {
  gui.push(DoCommand{command});
  gui.frame(3);
  gui.shell().wait();
  gui.frame();
}

const ModelCost& cost_of(const Gui& gui) {
  REQUIRE(gui.state().derived.cost);
  return *gui.state().derived.cost;
}

TEST_CASE("cost: the sheet says what the shown run takes, and what it really took") {
  Gui gui;
  open_cost(gui);
  CHECK(gui.drawn().find("panel/cost"));
  const ModelCost& m = cost_of(gui);
  CHECK(m.config == gui.trace().config());
  const double real = gui.trace().memory().run();
  CHECK(m.run.run_bytes() == doctest::Approx(real).epsilon(0.05));
  CHECK(gui.shows(bytes_text(m.run.run_bytes())));
  CHECK(gui.shows(bytes_text(real)));
  CHECK(gui.state().derived.rates.size() == all_ops().size());
  CHECK(predicted_seconds(m.run, gui.state().derived.rates) > 0);
}

TEST_CASE("cost: sizes are tried out beside the document, used with one undo") {
  Gui gui;
  const Document before = gui.document();
  open_cost(gui);
  const double bytes = cost_of(gui).run.run_bytes();
  CostSizes sizes = sizes_of(gui.trace().config(), gui.trace().program().shape);
  sizes.layers = 5;
  sizes.tokens = 1000;
  gui.push(TryCostSizes{sizes});
  gui.frame(3);
  CHECK(gui.document() == before);
  CHECK(cost_of(gui).config.layers == 5);
  CHECK(cost_of(gui).shape.positions == 1000);
  CHECK(cost_of(gui).run.run_bytes() > 10 * bytes);
  gui.click("cost/shown");
  gui.frame(2);
  CHECK(cost_of(gui).run.run_bytes() == bytes);
  gui.push(TryCostSizes{sizes});
  gui.frame(2);
  gui.click("cost/use");
  gui.frame(2);
  CHECK(gui.config().layers == 5);
  CHECK(gui.document().sentence == before.sentence);
  gui.push(DoCommand{Command::kUndo});
  gui.frame(2);
  CHECK(gui.document() == before);
}

TEST_CASE("cost: a trained model keeps its sizes") {
  Gui gui;
  gui.push(ChooseModel{"bundled:induction"});
  gui.frame(2);
  const Document before = gui.document();
  open_cost(gui);
  CostSizes sizes = sizes_of(gui.trace().config(), gui.trace().program().shape);
  sizes.layers = 7;
  gui.push(TryCostSizes{sizes});
  gui.push(UseCostSizes{});
  gui.frame(2);
  CHECK(gui.document() == before);
}

TEST_CASE("cost: a model from a paper opens small; too large, it is refused with what would fit") {
  Gui gui({}, {1440, 900}, 1, {.memory_bytes = 1e9});
  const Document before = gui.document();
  open_cost(gui, Command::kPresets);
  CHECK(gui.state().derived.presets.size() == all_presets().size());
  gui.push(ChoosePreset{"gpt2-xl", true});
  gui.frame(2);
  CHECK(gui.document() == before);
  REQUIRE(!gui.state().notices.empty());
  const std::string& said = gui.state().notices.front().text;
  CHECK_MESSAGE(said.find("of its 48 layers would fit") != said.npos, said);
  gui.push(ChoosePreset{"bert-base", false});
  gui.frame(2);
  CHECK(gui.config() == miniature(preset("bert-base")));
  CHECK(gui.trace().config().mask.kind == MaskKind::kNone);
  gui.push(DoCommand{Command::kUndo});
  gui.frame(2);
  CHECK(gui.document() == before);
}

TEST_CASE("cost: sizes beyond the machine say what would fit, absurd ones are numbers") {
  Gui gui({}, {1440, 900}, 1, {.memory_bytes = 1e9});
  open_cost(gui);
  gui.push(TryCostSizes{CostSizes{65536, 4096, 256, 128, 16384}});
  gui.frame(3);
  CHECK(cost_of(gui).run.run_bytes() > 1e15);
  CHECK(gui.state().derived.cost_problem.empty());
}

}  // namespace
}  // namespace headlight::test
