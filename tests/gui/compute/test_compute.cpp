// Processor and graphics card in the window: the switch, both side by side, the kernels, time
// against size, pictures. The graphics card here is whatever EGL offers, mostly a software
// renderer.
#include "app/platform/heatmap_bridge.h"
#include "app/platform/offscreen.h"
#include "tests/gui/compute/compute_gui.h"

namespace headlight::test {

TEST_CASE("compute: the switch changes who computes, and both agree") {
  Gui gui(small_document());
  const std::vector<float> logits(gui.tensor("logits").cells().begin(),
                                  gui.tensor("logits").cells().end());
  CHECK(gui.trace().backend() == "cpu");
  CHECK_FALSE(gui.shows("CPU·"));  // as of the reference backend
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
  CHECK(gui.trace().backend() == "cpu");
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

TEST_CASE("compute: the backward pass is compared as well") {
  Gui gui(small_document());
  choose(gui, "both");
  gui.push(ShowBackward{true});
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
  measure_three_sizes(gui);
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

TEST_CASE("compute: short names of devices") {
  CHECK(short_device("llvmpipe (LLVM 15.0.6, 256 bits)") == "llvmpipe");
  CHECK(short_device("NVIDIA X/PCIe/SSE2") == "NVIDIA X");
}

TEST_CASE(
    "compute: the test of a graphics card lets runs pass, and ends where the card is let go") {
  GlBackendOptions options;
  options.program_folder.clear();  // nothing of an earlier test is known
  TraceWorker worker(machine_limits(), [] { return make_backend("cpu", 1); });
  worker.use_gpu(maker(options)());
  worker.request_gpu_test();
  RunRequest request{small_document()};
  request.mode = ComputeMode::kGpu;
  worker.request(request);
  REQUIRE(worker.wait_for(100));
  CHECK_FALSE(worker.poll_gpu());  // the test goes on
  const auto run = worker.poll();
  REQUIRE(run);
  REQUIRE(run->result.trace);
  CHECK(run->result.trace->backend() == "gl");
  request.mode = ComputeMode::kCpu;
  CHECK(worker.run_now(request)->result.trace->backend() == "cpu");
  CHECK_FALSE(worker.poll_gpu());
  worker.wait();
  const auto tested = worker.poll_gpu();
  REQUIRE(tested);
  CHECK(tested->passed());
  worker.request_gpu_test();
  worker.stop_gpu();
  CHECK_FALSE(worker.poll_gpu());
}

TEST_CASE(
    "compute: at the start the processor's numbers are shown until the graphics card has its own") {
  ShellOptions window = still_options(1);
  window.background = true;
  window.compute = ComputeMode::kGpu;
  window.make_gpu = maker();
  Shell shell(small_document(), window);
  shell.apply();
  const auto trace = [&] { return shell.state().derived.trace; };
  REQUIRE(trace());
  const std::string at_once(trace()->backend());
  CHECK(shell.state().session.compute == ComputeMode::kGpu);
  shell.wait();
  CHECK(at_once == "cpu");
  CHECK(trace()->backend() == "gl");
}

TEST_CASE("compute: a layer of a large run on the card is computed there, however small it is") {
  ShellOptions window = still_options(1);
  window.background = true;
  window.compute = ComputeMode::kGpu;
  window.limits.keep_all_to = 0;
  window.make_gpu = maker();
  Gui gui(small_document(3, 2, 8), std::cref(window));
  gui.shell().wait();
  gui.frame();
  REQUIRE(gui.trace().backend() == "gl");
  REQUIRE(gui.trace().layers_on_device());
  const std::string far = "blocks.2.mlp.post", near = gui.state().session.step;
  gui.push(GoToStep{far});
  CHECK(gui.state().derived.computing);  // by the thread that has the card
  CHECK(gui.state().session.step == near);
  gui.shell().wait();
  gui.frame();
  CHECK(gui.state().session.step == far);
  const auto whole = Runner().run(gui.document(), *make_cpu_backend(1)).trace;
  const auto got = gui.tensor(far).cells(), expected = whole->tensor(far).cells();
  CHECK(difference(got, expected).error < 1e-10);
  CHECK(inconsistency(gui.state()) == "");
}

}  // namespace headlight::test
