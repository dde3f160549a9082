// Processor and graphics card in the window: the switch, both side by side, a shader that is wrong,
// a device that fails. The graphics card here is whatever EGL offers, mostly a software renderer.
#include <cmath>

#include "app/gl/embedded.h"
#include "app/gpu.h"
#include "app/heatmap_bridge.h"
#include "app/offscreen.h"
#include "app/ui/compute_state.h"
#include "harness.h"
#include "train_gui.h"

namespace headlight::test {
namespace {

GpuMaker maker(GlBackendOptions options = {}) {
  return [options] { return std::make_unique<Gpu>(make_egl_compute_context(), options); };
}

// The shaders as they are, but for one in which `from` is `to`.
GlTexts with_change(const std::string& file, const std::string& from, const std::string& to) {
  std::string text(embedded_file(file));
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  auto changed = std::make_shared<const std::string>(std::move(text));
  return [file, changed](std::string_view asked) -> std::string_view {
    return asked == file ? std::string_view(*changed) : embedded_file(asked);
  };
}

GlBackendOptions broken_softmax() {
  GlBackendOptions options;
  options.program_folder.clear();
  options.texts = with_change("shaders/softmax.comp", "/ sum;", "/ sum * 1.01;");
  return options;
}

void choose(Gui& gui, const std::string& mode) {
  gui.click("top/compute/" + mode);
  settle(gui);
}

std::string name_of(const Gui& gui, const CallDifference& d) {
  return gui.trace().program().tensors[static_cast<std::size_t>(d.tensor)].name;
}

bool g_lost = false;  // the calls of OpenGL have no room for anything of the test's own
bool g_out_of_memory = false;
GLenum lost_or_not() {
  if (std::exchange(g_lost, false)) return GL_CONTEXT_LOST;
  return std::exchange(g_out_of_memory, false) ? GL_OUT_OF_MEMORY : epoxy_glGetError();
}

}  // namespace

TEST_CASE("compute: the switch changes who computes, and both agree") {
  Gui gui(small_document());
  const std::vector<float> logits(gui.tensor("logits").cells().begin(),
                                  gui.tensor("logits").cells().end());
  CHECK(gui.trace().backend() == "eigen");
  CHECK(gui.shows("CPU·Eigen"));
  choose(gui, "gpu");
  REQUIRE(gui.state().derived.gpu.phase == GpuPhase::kReady);
  CHECK(gui.trace().backend() == "gl");
  CHECK(!gui.state().derived.both);
  const TensorView own = gui.tensor("logits");
  REQUIRE(own.size() == static_cast<std::int64_t>(logits.size()));
  for (std::size_t i = 0; i < logits.size(); ++i)
    CHECK(own.data[i] == doctest::Approx(logits[i]).epsilon(1e-5));
  choose(gui, "both");
  const auto both = gui.state().derived.both;
  REQUIRE(both);
  CHECK(gui.trace().backend() == "gl");
  CHECK(both->serial == gui.trace().serial());
  CHECK(!both->comparison.first_beyond);
  CHECK(both->comparison.calls.size() == gui.trace().program().calls.size());
  for (const CallDifference& d : both->comparison.calls) {
    CAPTURE(name_of(gui, d));
    CHECK(both->cpu.of(d) >= 0);
    CHECK(both->gpu.of(d) > 0);
  }
  CHECK(both->cpu_ms > 0);
  CHECK(both->gpu_ms > 0);
  choose(gui, "cpu");
  CHECK(gui.trace().backend() == "eigen");
  CHECK(!gui.state().derived.both);
  CHECK(gui.notices() == "");
}

TEST_CASE("compute: every step says its own difference, and a key goes round") {
  Gui gui(small_document());
  gui.key({'G', false, false});
  gui.key({'G', false, false});
  settle(gui);
  REQUIRE(gui.state().session.compute == ComputeMode::kBoth);
  const auto& calls = gui.state().derived.both->comparison.calls;
  for (const std::string step : {"blocks.0.attn.scores_raw", "blocks.0.attn.pattern", "logits"}) {
    gui.push(GoToStep{step});
    gui.frame(2);
    CAPTURE(step);
    CHECK(gui.shows("GPU"));
    const auto at = std::find_if(calls.begin(), calls.end(),
                                 [&](const auto& d) { return name_of(gui, d) == step; });
    REQUIRE(at != calls.end());
    CHECK((at->cells.place < 0 ? gui.shows("agreebitforbit") : gui.shows("GPUbesideCPU:atmost")));
  }
  gui.key({'G', false, false});
  settle(gui);
  CHECK(gui.state().session.compute == ComputeMode::kCpu);
}

TEST_CASE("compute: a wrong shader is named, at its step, in the table and on the page") {
  Gui gui(small_document(2));
  gui.shell().offer_gpu(maker(broken_softmax()), {});
  choose(gui, "both");
  const auto both = gui.state().derived.both;
  REQUIRE(both);
  const Comparison& c = both->comparison;
  REQUIRE(c.first_beyond);
  const CallDifference& first = c.calls[*c.first_beyond];
  CHECK(name_of(gui, first) == "blocks.0.attn.pattern");
  CHECK(first.cells.error == doctest::Approx(1e-4).epsilon(0.01));
  CHECK(gui.shows("differs:Softmax"));
  gui.push(GoToStep{"blocks.0.attn.scores_scaled"});
  gui.frame(2);
  CHECK(!gui.shows("GPUandCPUdonotagreehere"));
  gui.key({'K', false, false});
  gui.frame(2);
  REQUIRE(gui.has("panel/compute"));
  CHECK(gui.shows("Thefirstoperationbeyonditslimit:Softmax"));
  gui.reveal("compute/row/" + std::to_string(*c.first_beyond), "compute_rows");
  gui.click("compute/row/" + std::to_string(*c.first_beyond));
  gui.frame(2);
  CHECK(!gui.has("panel/compute"));
  CHECK(gui.state().session.step == "blocks.0.attn.pattern");
  REQUIRE(gui.state().session.picked);
  CHECK(gui.state().session.picked->index == first.index);
  CHECK(gui.shows("GPUandCPUdonotagreehere"));
  // What is shown is what the graphics card computed: a row that does not sum to 1.
  const TensorView pattern = gui.tensor("blocks.0.attn.pattern");
  CHECK(pattern.data[0] == doctest::Approx(1.01));
}

TEST_CASE("compute: the walk backwards is compared as well") {
  Gui gui(small_document());
  choose(gui, "both");
  gui.push(WalkBackward{true});
  settle(gui);
  const auto both = gui.state().derived.both;
  REQUIRE(both);
  std::size_t backward = 0, timed = 0;
  for (const CallDifference& d : both->comparison.calls) {
    if (!d.backward) continue;
    ++backward;
    CAPTURE(name_of(gui, d));
    CHECK(d.within());
    CHECK(d.step >= 0);
    timed += both->gpu.of(d) > 0 ? 1 : 0;  // a sum passes its gradient on without a kernel
  }
  CHECK(backward > 20);
  CHECK(timed > 15);
}

TEST_CASE("compute: typing goes on while the graphics card computes") {
  Gui gui(small_document());
  choose(gui, "gpu");
  gui.click("sentence");
  gui.type(" again and again");
  settle(gui);
  CHECK(gui.trace().backend() == "gl");
  CHECK(gui.trace().tick("position", gui.trace().length() - 1) == "again");
  CHECK(inconsistency(gui.state()) == "");
}

TEST_CASE("compute: a device that fails gives the document back to the processor") {
  GlCalls calls;
  {
    const auto context = make_egl_compute_context();
    context->make_current();
    calls = real_gl();
    context->release();
  }
  calls.get_error = lost_or_not;
  GlBackendOptions options;
  options.calls = &calls;
  Gui gui(small_document());
  gui.shell().offer_gpu(maker(options), {});
  choose(gui, "gpu");
  REQUIRE(gui.trace().backend() == "gl");
  const Document before = gui.document();
  g_lost = true;
  gui.push(DoEdit{SetSentence{"one two three"}, ""});
  settle(gui);
  CHECK(gui.state().session.compute == ComputeMode::kCpu);
  CHECK(gui.state().derived.gpu.phase == GpuPhase::kFailed);
  CHECK(gui.trace().backend() == "eigen");
  CHECK(gui.trace().length() == 3);
  CHECK(gui.document().config == before.config);
  CHECK(gui.notices_say("graphics card stopped working"));
  CHECK(gui.notices_say("The processor goes on with the same document"));
  // What the person wants has not changed, and may be tried again.
  CHECK(gui.state().session.compute_wish == ComputeWish::kGpu);
  choose(gui, "gpu");
  CHECK(gui.trace().backend() == "gl");
}

TEST_CASE("compute: a shader that does not compile is told with file and line") {
  GlBackendOptions options;
  options.program_folder.clear();
  options.texts = with_change("shaders/softmax.comp", "float sum = 0.0;", "float sum = nothing;");
  Gui gui(small_document());
  gui.shell().offer_gpu(maker(options), {});
  choose(gui, "gpu");
  CHECK(gui.trace().backend() == "eigen");
  CHECK(gui.notices_say("shaders/softmax.comp, line "));
}

TEST_CASE("compute: without OpenGL 4.3 the processor computes, and the window says why") {
  Gui gui(small_document());
  GpuState old;
  old.phase = GpuPhase::kAbsent;
  old.device = "An old card";
  old.problem = Message{"gpu.too_old", {{"device", "An old card"}, {"version", "4.1"}}};
  gui.shell().offer_gpu(maker(), old);
  gui.frame();
  CHECK(gui.notices() == "");  // nobody asked for it
  choose(gui, "gpu");
  CHECK(gui.state().session.compute == ComputeMode::kCpu);
  CHECK(gui.trace().backend() == "eigen");
  CHECK(gui.notices_say("needs OpenGL 4.3; An old card offers 4.1"));
  gui.key({'K', false, false});
  gui.frame(2);
  CHECK(gui.shows("Anoldcard"));
}

TEST_CASE("compute: the kernel page shows the shader, its group and invocation, and the lines") {
  Gui gui(small_document());
  gui.push(PickCell{{"blocks.0.attn.pattern", {0, 1, 3, 2}}, true});
  gui.key({'4', false, false});
  gui.frame(2);
  const auto now = gui.state().derived.inspected;
  REQUIRE(now);
  REQUIRE(now->kernel);
  REQUIRE(now->kernel->sites.size() == 1);
  const KernelSite& site = now->kernel->sites[0];
  CHECK(site.file() == "shaders/softmax.comp");
  const std::int64_t tokens = gui.trace().length();
  CHECK(site.group[0] == tokens + 3);  // a group to a row: head 1, query 3
  CHECK(site.invocation[0] == 2);
  CHECK(gui.shows("shaders/softmax.comp"));
  CHECK(gui.shows("Theprocessormadethisnumber"));
  gui.click("inspector/library/numpy");
  gui.frame(2);
  CHECK(!gui.shows("shaders/softmax.comp"));
  gui.click("inspector/library/kernel");
  gui.push(PickCell{{"blocks.0.attn.scores_raw", {0, 0, 1, 1}}, true});
  gui.frame(2);
  CHECK(gui.shows("shaders/scores.comp"));
}

TEST_CASE("compute: the size from which the graphics card wins lies between two measured ones") {
  const auto at = [](double cpu, double gpu, std::int64_t tokens) {
    return SizePoint{tokens, cpu, gpu};
  };
  CHECK(!crossover({}));
  CHECK(!crossover({at(1, 2, 4), at(2, 3, 8)}));
  CHECK(!crossover({at(2, 1, 4), at(2, 3, 8)}));  // wins below only
  CHECK(*crossover({at(2, 1, 4), at(4, 2, 8)}) == 4);
  // Twice as slow at 4, twice as quick at 16: even at 8.
  CHECK(*crossover({at(1, 2, 4), at(4, 2, 16)}) == doctest::Approx(8));
  CHECK(*crossover({at(9, 1, 2), at(1, 2, 4), at(4, 2, 16), at(9, 2, 32)}) == doctest::Approx(8));
}

TEST_CASE("compute: time against size is measured until it is stopped") {
  Gui gui(small_document());
  gui.key({'K', false, false});
  gui.frame(2);
  gui.click("compute/tab/sizes");
  gui.frame();
  gui.click("compute/measure");
  gui.frame();
  for (int i = 0; i < 2000 && gui.state().derived.sizes.points.size() < 3; ++i) {
    gui.shell().poll();
    gui.frame();
  }
  REQUIRE(gui.state().derived.sizes.points.size() >= 3);
  gui.click("compute/measure");
  settle(gui);
  const SizeChart& sizes = gui.state().derived.sizes;
  CHECK(!sizes.measuring);
  for (std::size_t i = 0; i < sizes.points.size(); ++i) {
    CHECK(sizes.points[i].tokens == (std::int64_t{4} << i));
    CHECK(sizes.points[i].cpu_ms > 0);
    CHECK(sizes.points[i].gpu_ms > 0);
  }
  // Of another model the times are others.
  Config config = gui.config();
  config.layers = 2;
  gui.push(DoEdit{SetConfig{config}, ""});
  gui.frame(2);
  CHECK(gui.state().derived.sizes.points.empty());
}

TEST_CASE("compute: heatmaps are drawn from the graphics card's buffers, and look the same") {
  Shell shell(small_document(2), still_options(1));
  Offscreen screen(shell, 1100, 700);
  screen.frontend().show_only_stage(false);
  shell.offer_gpu([&] { return std::make_unique<Gpu>(screen.compute_context()); }, {});
  const auto look = [&](Offscreen& at, const std::string& step) {
    shell.push(GoToStep{step});
    shell.apply();
    return at.picture();
  };
  look(screen, "blocks.0.attn.pattern");
  CHECK(screen.bridge().device_pictures() == 0);  // the processor's
  shell.push(ChooseCompute{ComputeMode::kGpu});
  shell.apply();
  for (const std::string step :
       {"blocks.0.attn.pattern", "blocks.1.attn.scores_masked", "blocks.1.mlp.pre", "logits"}) {
    CAPTURE(step);
    const std::uint64_t before = screen.bridge().device_pictures();
    const auto picture = look(screen, step);
    CHECK(screen.bridge().device_pictures() > before);
    // Another window, which cannot see those buffers, draws the same numbers from memory.
    Offscreen other(shell, 1100, 700);
    other.frontend().show_only_stage(false);
    CHECK(look(other, step) == picture);
    CHECK(other.bridge().device_pictures() == 0);
  }
  // What is measured or tested meanwhile does not write over them.
  shell.push(MeasureSizes{true});
  shell.apply();
  shell.wait();
  REQUIRE(!shell.state().derived.sizes.points.empty());
  const auto later = look(screen, "blocks.1.attn.z");
  {
    Offscreen other(shell, 1100, 700);
    other.frontend().show_only_stage(false);
    CHECK(look(other, "blocks.1.attn.z") == later);
  }
  // An older run's pictures stay right while newer ones come.
  const auto old = shell.state().derived.device_cells;
  REQUIRE(old);
  for (const std::string text : {"one two", "three four five", "six"}) {
    shell.push(DoEdit{SetSentence{text}, ""});
    shell.apply();
    shell.wait();
    const auto now = shell.state().derived.device_cells;
    REQUIRE(now);
    for (const auto& mine : now->stretches) {
      for (const auto& theirs : old->stretches) CHECK(mine.buffer != theirs.buffer);
    }
  }
  shell.stop_gpu();
}

TEST_CASE("compute: a run is trained on the graphics card, and goes on where that fails") {
  GlCalls calls;
  {
    const auto context = make_egl_compute_context();
    context->make_current();
    calls = real_gl();
    context->release();
  }
  calls.get_error = lost_or_not;
  GlBackendOptions options;
  options.calls = &calls;
  Gui gui;
  gui.shell().offer_gpu(maker(options), {});
  choose(gui, "gpu");
  open_panel(gui);
  CHECK(!run_of(gui).status.device.empty());
  gui.push(PlayRun{true, 3});
  settle(gui);
  REQUIRE(run_of(gui).status.step == 3);
  g_out_of_memory = true;
  gui.push(PlayRun{true, 6});
  settle(gui);
  gui.frame(2);
  CHECK(run_of(gui).status.step == 6);
  CHECK(run_of(gui).status.device.empty());
  CHECK(gui.notices_say("The run goes on on the processor"));
  // On the processor alone the losses are the same.
  std::vector<double> losses;
  for (const TrainStep& step : run_of(gui).curve) losses.push_back(step.loss);
  choose(gui, "cpu");
  gui.push(StartRun{});
  settle(gui);
  CHECK(run_of(gui).status.device.empty());
  gui.push(PlayRun{true, 6});
  settle(gui);
  REQUIRE(run_of(gui).curve.size() >= losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i)
    CHECK(run_of(gui).curve[i].loss == doctest::Approx(losses[i]).epsilon(1e-4));
}

TEST_CASE("compute: what the graphics card cannot take runs on the processor, and is counted") {
  GlLimits limits;
  {
    const auto context = make_egl_compute_context();
    context->make_current();
    limits = GlDevice::ask(real_gl()).limits;
    context->release();
  }
  limits.block_bytes = 4 * 150;  // of 11 tokens and 2 heads the scores are 242 numbers
  GlBackendOptions options;
  options.limits = limits;
  Gui gui(small_document());
  gui.shell().offer_gpu(maker(options), {});
  choose(gui, "both");
  const auto both = gui.state().derived.both;
  REQUIRE(both);
  CHECK(!both->comparison.first_beyond);
  const auto& fallbacks = gui.state().derived.gpu.fallbacks;
  REQUIRE(!fallbacks.empty());
  for (const ComputeFallback& one : fallbacks) {
    const auto& calls = gui.trace().program().calls;
    CHECK(std::any_of(calls.begin(), calls.end(),
                      [&](const OpCall& call) { return op_info(call.op).id == one.op; }));
  }
  CHECK(gui.shows("kindsofstepontheCPU"));
  gui.key({'K', false, false});
  gui.frame(2);
  CHECK(gui.shows("Thegraphicscardcannottake"));
}

namespace {

// A driver that says it is a real graphics card; all else is the true one's.
GlCalls renamed_card() {
  static PFNGLGETSTRINGPROC real = nullptr;
  const auto context = make_egl_compute_context();
  context->make_current();
  GlCalls calls = real_gl();
  real = calls.get_string;
  calls.get_string = [](GLenum name) {
    return name == GL_RENDERER ? reinterpret_cast<const GLubyte*>("Card") : real(name);
  };
  context->release();
  return calls;
}

// A window as it starts, and what it has chosen once every operation has been tested.
ComputeMode chosen_at_start(const GlBackendOptions& options, std::string& notices) {
  ShellOptions window = still_options(1);
  window.background = true;
  Shell shell(small_document(), window);
  GpuState card;
  card.device = "Card";
  shell.offer_gpu(maker(options), card);
  CHECK(shell.state().session.compute == ComputeMode::kCpu);  // not before the test
  shell.wait();
  shell.apply();
  shell.wait();
  for (const Notice& notice : shell.state().notices) notices += notice.text + "\n";
  CHECK(shell.state().derived.gpu.tested);
  return shell.state().session.compute;
}

}  // namespace

TEST_CASE("compute: a card is chosen without being asked for once every operation passed there") {
  const GlCalls calls = renamed_card();
  GlBackendOptions options;
  options.calls = &calls;
  options.program_folder.clear();
  std::string notices;
  CHECK(chosen_at_start(options, notices) == ComputeMode::kGpu);
  CHECK(notices == "");
  options.texts = broken_softmax().texts;
  CHECK(chosen_at_start(options, notices) == ComputeMode::kCpu);
  CHECK(notices.find("softmax") != std::string::npos);
  options.texts = {};
  options.calls = nullptr;  // a software renderer after all: no use
  notices.clear();
  CHECK(chosen_at_start(options, notices) == ComputeMode::kCpu);
  CHECK(notices == "");
}

TEST_CASE("compute: short names of devices") {
  CHECK(short_device("llvmpipe (LLVM 15.0.6, 256 bits)") == "llvmpipe");
  CHECK(short_device("NVIDIA X/PCIe/SSE2") == "NVIDIA X");
}

}  // namespace headlight::test
