// Graphics cards in the window that something is wrong with: a wrong shader, a device that fails,
// is too old or too small, one whose operations do not pass.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "tests/gui/compute/compute_gui.h"
#include "tests/support/changed_text.h"

namespace headlight::test {
namespace {

GlBackendOptions options_with(GlTexts texts) {
  GlBackendOptions options;
  options.program_folder.clear();
  options.texts = std::move(texts);
  return options;
}

GlTexts wrong_softmax() { return texts_with("shaders/softmax.comp", "/ sum;", "/ sum * 1.01;"); }

// What a driver says that can be asked.
template <class F>
auto ask_driver(const F& f) {
  const auto context = make_egl_compute_context();
  context->make_current();
  auto said = f(real_gl());
  context->release();
  return said;
}

// The calls of OpenGL have no room for anything of the test's own.
GLenum g_next_error = GL_NO_ERROR;

// A driver that tells of this error once, when it is set.
const GlCalls& failing_calls() {
  static const GlCalls kFailing = ask_driver([](GlCalls calls) {
    calls.get_error = [] {
      const GLenum own = std::exchange(g_next_error, static_cast<GLenum>(GL_NO_ERROR));
      return own != GL_NO_ERROR ? own : epoxy_glGetError();
    };
    return calls;
  });
  return kFailing;
}

GlBackendOptions failing_options() {
  GlBackendOptions options;
  options.calls = &failing_calls();
  return options;
}

// A driver that says it is a real graphics card; all else is the true one's.
const GlCalls& renamed_card() {
  static PFNGLGETSTRINGPROC real = nullptr;
  static const GlCalls kRenamed = ask_driver([](GlCalls calls) {
    real = calls.get_string;
    calls.get_string = [](GLenum name) {
      return name == GL_RENDERER ? reinterpret_cast<const GLubyte*>("Card") : real(name);
    };
    return calls;
  });
  return kRenamed;
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

TEST_CASE("compute: a wrong shader is named, at its step, in the table and on the page") {
  Gui gui(small_document(2));
  gui.shell().offer_gpu(maker(options_with(wrong_softmax())), {});
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

TEST_CASE("compute: a device that fails gives the document back to the processor") {
  Gui gui(small_document());
  gui.shell().offer_gpu(maker(failing_options()), {});
  choose(gui, "gpu");
  REQUIRE(gui.trace().backend() == "gl");
  const Document before = gui.document();
  g_next_error = GL_CONTEXT_LOST;
  gui.push(DoEdit{SetSentence{"one two three"}, ""});
  settle(gui);
  CHECK(gui.state().session.compute == ComputeMode::kCpu);
  CHECK(gui.state().derived.gpu.phase == GpuPhase::kFailed);
  CHECK(gui.trace().backend() == "cpu");
  CHECK(gui.trace().length() == 3);
  CHECK(gui.document().config == before.config);
  CHECK(gui.notices_say("graphics card stopped working"));
  CHECK(gui.notices_say("The processor goes on with the same document"));
  // What the person wants has not changed, and may be tried again.
  CHECK(gui.state().session.compute_request == ComputeRequest::kGpu);
  choose(gui, "gpu");
  CHECK(gui.trace().backend() == "gl");
}

TEST_CASE("compute: sizes of groups that were kept and cannot be used are told of in the sheet") {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("headlight-sizes-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const GlDevice device = ask_driver([](const GlCalls& calls) { return GlDevice::ask(calls); });
  std::ofstream(tuned_file(folder, device)) << "{}";
  GlBackendOptions options;
  options.tuned_folder = folder;
  Gui gui(small_document());
  gui.shell().offer_gpu(maker(options), {});
  choose(gui, "gpu");
  CHECK(gui.trace().backend() == "gl");
  gui.key({'K', false, false});
  gui.frame(2);
  CHECK(gui.shows("headlighttune--forget"));
  fs::remove_all(folder);
}

TEST_CASE("compute: a card that fails while it is being tested is not started again for the test") {
  // The first model has no GELU, so that the test has begun when the second one fails.
  Document document = small_document();
  document.config.block = BlockKind::kAttention;
  ShellOptions window = still_options(1);
  window.background = true;
  window.compute = ComputeMode::kGpu;
  window.make_gpu = maker(
      options_with(texts_with("shaders/gelu.comp", "void main() {", "void main() { nonsense;")));
  Shell shell(document, window);
  shell.apply();
  for (int i = 0; i < 10000 && !shell.state().derived.gpu.testing; ++i) {
    shell.poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  REQUIRE(shell.state().derived.gpu.testing);
  Config config = document.config;
  config.block = BlockKind::kPreNorm;
  config.activation = Activation::kGelu;
  shell.push(DoEdit{SetConfig{config}, ""});
  shell.apply();
  shell.wait();
  const GpuState& gpu = shell.state().derived.gpu;
  CHECK(gpu.phase == GpuPhase::kFailed);
  CHECK_FALSE(gpu.testing);
  CHECK_FALSE(gpu.tested);
  CHECK(shell.state().derived.trace->backend() == "cpu");
}

TEST_CASE("compute: a shader that does not compile is told with file and line") {
  Gui gui(small_document());
  gui.shell().offer_gpu(maker(options_with(texts_with("shaders/softmax.comp", "float sum = 0.0;",
                                                      "float sum = nothing;"))),
                        {});
  choose(gui, "gpu");
  CHECK(gui.trace().backend() == "cpu");
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
  CHECK(gui.trace().backend() == "cpu");
  CHECK(gui.notices_say("needs OpenGL 4.3; An old card offers 4.1"));
  gui.key({'K', false, false});
  gui.frame(2);
  CHECK(gui.shows("Anoldcard"));
}

TEST_CASE("compute: a run is trained on the graphics card, and goes on where that fails") {
  Gui gui;
  gui.shell().offer_gpu(maker(failing_options()), {});
  choose(gui, "gpu");
  open_panel(gui);
  CHECK(!run_of(gui).status.device.empty());
  gui.push(PlayRun{true, 3});
  settle(gui);
  REQUIRE(run_of(gui).status.step == 3);
  g_next_error = GL_OUT_OF_MEMORY;
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
  GlBackendOptions options;
  options.limits = ask_driver([](const GlCalls& calls) { return GlDevice::ask(calls).limits; });
  options.limits->block_bytes = 4 * 150;  // of 11 tokens and 2 heads the scores are 242 numbers
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

TEST_CASE("compute: a card is chosen without being asked for once every operation passed there") {
  GlBackendOptions options = options_with({});
  options.calls = &renamed_card();
  std::string notices;
  CHECK(chosen_at_start(options, notices) == ComputeMode::kGpu);
  CHECK(notices == "");
  options.texts = wrong_softmax();
  CHECK(chosen_at_start(options, notices) == ComputeMode::kCpu);
  CHECK(notices.find("softmax") != std::string::npos);
  options.texts = {};
  options.calls = nullptr;  // a software renderer after all: no use
  notices.clear();
  CHECK(chosen_at_start(options, notices) == ComputeMode::kCpu);
  CHECK(notices == "");
}

}  // namespace headlight::test
