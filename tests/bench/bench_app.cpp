#include "tests/bench/bench_app.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "app/gl/context/egl_context.h"
#include "app/gl/context/framebuffer.h"
#include "app/platform/frontend.h"
#include "app/platform/offscreen.h"
#include "core/base/error.h"
#include "core/lab/lab.h"
#include "core/model/bundled.h"
#include "core/model/model.h"
#include "tests/bench/median.h"

namespace headlight {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double resident_mb() {
  long pages = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGE_SIZE)) / 1e6;
}

std::string words(int count) {
  static const char* const kWords[] = {"the",    "animal",  "crossed", "a",
                                       "street", "because", "it",      "was"};
  std::string text;
  for (int i = 0; i < count; ++i) text += (i ? " " : "") + std::string(kWords[i % 8]);
  return text;
}

class NoHeatmaps final : public HeatmapSink {
 public:
  void draw(ImDrawList*, const HeatmapQuad&) override {}
};

// A word more, 400 times, until all tensors are there.
double keystroke(const Document& document, const std::shared_ptr<const Model>& model, int threads) {
  const auto backend = make_cpu_backend(threads);
  Runner runner;
  std::shared_ptr<const Trace> shown;  // the window keeps the last one
  std::vector<double> times;
  for (int i = 0; i < 400; ++i) {
    const Document typed =
        apply(document, SetSentence{document.sentence + " word" + std::to_string(i)});
    const auto start = Clock::now();
    shown = runner.run(typed, *backend, model).trace;
    times.push_back(since(start));
  }
  return median(times);
}

BenchRow keystroke_of_default() {
  Document document;
  document.sentence = words(31);
  return {"keystroke to new trace, default model, 32 tokens, 1 thread",
          keystroke(document, nullptr, 1), "ms", 1.0, "at most"};
}

BenchRow keystroke_of_stories() {
  const auto model = load_model("bundled:stories");
  Document document;
  document.model = model->ref;
  document.config = model->file.config;
  document.sentence = words(28);  // "word123" is several tokens
  return {"keystroke to new trace, stories, 32 tokens, 2 threads", keystroke(document, model, 2),
          "ms", 4.0, "at most"};
}

// Built, but not drawn.
double built_frame(Shell& shell, const std::vector<Action>& before) {
  const ImGuiHost host;
  NoHeatmaps sink;
  Frontend frontend(shell, sink);
  for (const Action& action : before) shell.push(action);
  shell.apply();
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) {
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = {1280, 720};
    io.DeltaTime = 1.0f / 60.0f;
    frontend.prepare_fonts();
    // The mouse moves over the stage, so that hovering is part of it.
    io.MousePos = {500.0f + static_cast<float>(i % 100), 420.0f};
    const auto start = Clock::now();
    ImGui::NewFrame();
    frontend.draw(1280, 720);
    ImGui::Render();
    if (i >= 20) times.push_back(since(start));
  }
  return median(times);
}

BenchRow frame_building(const char* what, int tokens, int heads, double asked, int threads,
                        bool playing = false) {
  Document document;
  document.sentence = words(tokens);
  document.config.heads = heads;
  document.config.d_model = heads == 12 ? 96 : 64;
  document.config.layers = heads == 12 ? 1 : 2;
  ShellOptions options;
  options.limits = machine_limits();
  options.threads = threads;
  options.background = false;
  Shell shell(document, options);
  std::vector<Action> before;
  if (playing) {
    before = {GoToStep{"blocks.0.attn.scores_raw"},
              SetSpeed{4},  // so that every phase of a step is among the frames
              DoCommand{Command::kPlay}};
  }
  return {what, built_frame(shell, before), "ms", asked, "at most"};
}

// Frames of the Train panel at 60 a second, the run paused or playing: how long each takes from
// taking in what was trained to its last vertex.
std::vector<double> train_frames(Shell& shell, Frontend& frontend, bool playing) {
  constexpr auto kFrame = std::chrono::microseconds(16667);
  shell.push(PlayRun{playing});
  shell.apply();
  std::vector<double> times;
  for (int i = 0; i < 360; ++i) {
    const auto start = Clock::now();
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = {1280, 720};
    io.DeltaTime = 1.0f / 60.0f;
    frontend.prepare_fonts();
    shell.poll();
    ImGui::NewFrame();
    frontend.draw(1280, 720);
    ImGui::Render();
    if (i >= 60) times.push_back(since(start));
    std::this_thread::sleep_until(start + kFrame);
  }
  std::sort(times.begin(), times.end());
  return times;
}

// What training adds to a frame: of 100 frames the second longest, beside a resting one.
BenchRow frame_while_training(int threads) {
  ShellOptions options;
  options.limits = machine_limits();
  options.threads = options.train_threads = threads;
  Shell shell({}, options);
  const ImGuiHost host;
  NoHeatmaps sink;
  Frontend frontend(shell, sink);
  RunPlan plan = default_plan("induction");
  plan.stop.steps = 1000000;  // none ends while frames are counted
  shell.push(DoCommand{Command::kTrain});
  shell.push(PlanRun{plan});
  shell.push(StartRun{});
  shell.apply();
  shell.wait();
  const std::vector<double> rest = train_frames(shell, frontend, false);
  const std::vector<double> busy = train_frames(shell, frontend, true);
  const double longest = busy[busy.size() * 99 / 100], resting = rest[rest.size() / 2];
  shell.push(PlayRun{false});
  shell.apply();
  return {"training on every core holds up a frame by (99th of 100)", longest - resting, "ms", 4.0,
          "at most"};
}

// The page of each lab in a window of 1280 × 720: the one whose frame takes longest to build.
BenchRow frame_of_labs(int threads) {
  double longest = 0;
  for (const Lab& lab : all_labs()) {
    Document document;
    document.sentence = words(16);
    if (!lab.takes.empty() && lab.takes != "random") {
      const auto model = load_model(std::string(kBundledRef) + std::string(lab.takes));
      document.model = model->ref;
      document.config = model->file.config;
    }
    ShellOptions options;
    options.limits = machine_limits();
    options.threads = threads;
    options.background = false;
    Shell shell(document, options);
    longest = std::max(longest, built_frame(shell, {ShowLab{std::string(lab.id)}}));
  }
  return {"building a frame of a lab's page, the slowest of all labs", longest, "ms", 6, "at most"};
}

// From the first token to a full context, the window built 60 times a second meanwhile.
BenchRow writing(int threads) {
  const auto model = load_model("bundled:stories");
  Document document;
  document.model = model->ref;
  document.config = model->file.config;
  document.sentence = "Once upon a time";
  ShellOptions options;
  options.limits = machine_limits();
  options.threads = threads;
  Shell shell(document, options);
  const ImGuiHost host;
  NoHeatmaps sink;
  Frontend frontend(shell, sink);
  shell.wait();
  const std::int64_t before = shell.state().derived.trace->length();
  shell.push(Write{true});
  shell.apply();
  const auto start = Clock::now();
  constexpr auto kFrame = std::chrono::microseconds(16667);
  for (auto frame = start; shell.state().derived.writing; frame += kFrame) {
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = {1280, 720};
    io.DeltaTime = 1.0f / 60.0f;
    frontend.prepare_fonts();
    shell.poll();
    ImGui::NewFrame();
    frontend.draw(1280, 720);
    ImGui::Render();
    std::this_thread::sleep_until(frame + kFrame);
  }
  const double seconds = since(start) / 1e3;
  shell.wait();
  const std::int64_t written = shell.state().derived.trace->length() - before;
  return {"Write, stories, to a full context, 60 frames a second",
          static_cast<double>(written) / seconds, "tokens/s", 300, "at least"};
}

// A character that was not on the screen before: it is drawn into the room that the atlas keeps.
BenchRow new_character() {
  const ImGuiHost host;
  Fonts fonts;
  fonts.need("我喜欢机器学习因为它很有意思");
  fonts.build(1.0f, Language::kEnglish);
  std::vector<double> times;
  for (const char* character : {"的", "是", "不", "了", "人"}) {
    const auto start = Clock::now();
    fonts.need(character);
    fonts.grow();
    times.push_back(since(start));
  }
  return {"a new Chinese character, in every size of text", median(times), "ms", 4.0, "at most"};
}

void first_frame(std::vector<BenchRow>& rows, int threads) {
  try {
    double renderer = 0;
    {
      const double before = resident_mb();
      EglContext context;
      Framebuffer target(1280, 720);
      target.clear(rgb(0xFFFFFF));
      target.read_rgba();
      renderer = resident_mb() - before;
    }
    const auto start = Clock::now();
    ShellOptions options;
    options.limits = machine_limits();
    options.threads = threads;
    Shell shell(Document{}, options);
    Offscreen screen(shell, 1280, 720);
    screen.frame();
    screen.read();
    rows.push_back(
        {"start to first frame, off screen, renderer loaded", since(start), "ms", 500, "at most"});
    for (int i = 0; i < 5; ++i) screen.frame();
    rows.push_back({"resident memory with the default window", resident_mb(), "MB", 0,
                    "an empty picture with this renderer alone: " +
                        std::to_string(static_cast<int>(renderer)) + " MB"});
  } catch (const Error& error) {
    rows.push_back({std::string("no OpenGL: ") + error.what(), 0, "", 0, ""});
  }
}

// Built, drawn and read back, all panels and pictures on the screen.
void whole_frames(std::vector<BenchRow>& rows, const char* what, int tokens, int heads,
                  double asked, int threads) {
  Document document;
  document.sentence = words(tokens);
  document.config.heads = heads;
  document.config.d_model = heads == 12 ? 96 : 64;
  document.config.layers = heads == 12 ? 1 : 2;
  ShellOptions options;
  options.limits = machine_limits();
  options.threads = threads;
  options.background = false;
  try {
    Shell shell(document, options);
    Offscreen screen(shell, 1280, 720);
    std::vector<double> times;
    for (int i = 0; i < 30; ++i) {
      ImGui::GetIO().MousePos = {500.0f + static_cast<float>(i), 420.0f};
      const auto start = Clock::now();
      screen.frame();
      screen.read();
      if (i >= 5) times.push_back(since(start));
    }
    rows.push_back({what, median(times), "ms", asked, "at most"});
  } catch (const Error& error) {
    rows.push_back({std::string("no OpenGL: ") + error.what(), 0, "", 0, ""});
  }
}

Document with_heads(int layers, int heads) {
  Document document;
  document.sentence = words(32);
  document.config.layers = layers;
  document.config.heads = heads;
  document.config.d_model = 12 * heads;
  return document;
}

// Frames of a window that shows nothing but all heads: built, or drawn and read back as well.
double frame_of_heads(int layers, int heads, int threads, bool drawn) {
  ShellOptions options;
  options.limits = machine_limits();
  options.threads = threads;
  options.background = false;
  Shell shell(with_heads(layers, heads), options);
  const Maximize whole{PanelId::kHeads};
  if (!drawn) return built_frame(shell, {whole});
  shell.push(whole);
  shell.apply();
  Offscreen screen(shell, 1280, 720);
  std::vector<double> times;
  for (int i = 0; i < 60; ++i) {
    ImGui::GetIO().MousePos = {200.0f + static_cast<float>(i), 420.0f};
    const auto start = Clock::now();
    screen.frame();
    screen.read();
    if (i >= 10) times.push_back(since(start));
  }
  return median(times);
}

// What 144 heads cost beside one alone.
void grid_of_heads(std::vector<BenchRow>& rows, int threads) {
  try {
    for (const bool drawn : {false, true}) {
      const double one = frame_of_heads(1, 1, threads, drawn);
      const double all = frame_of_heads(12, 12, threads, drawn);
      rows.push_back({drawn ? "12 x 12 heads in a whole frame at 1280x720"
                            : "12 x 12 heads in the building of a frame",
                      all - one, "ms", 2.0, "at most, more than one head alone"});
    }
  } catch (const Error& error) {
    rows.push_back({std::string("no OpenGL: ") + error.what(), 0, "", 0, ""});
  }
}

}  // namespace

std::vector<BenchRow> bench_app(int threads) {
  std::vector<BenchRow> rows;
  first_frame(rows, threads);
  rows.push_back(keystroke_of_default());
  rows.push_back(keystroke_of_stories());
  rows.push_back(new_character());
  rows.push_back(frame_building("building a frame, 32 tokens", 32, 4, 2.0, threads));
  rows.push_back(
      frame_building("building a frame, 1,024 tokens, 12 heads", 1024, 12, 4.0, threads));
  whole_frames(rows, "a whole frame at 1280x720, 32 tokens", 32, 4, 16, threads);
  whole_frames(rows, "a whole frame at 1280x720, 1,024 tokens, 12 heads", 1024, 12, 0, threads);
  rows.push_back(frame_building("the same with motion, 32 tokens", 32, 4, 3.0, threads, true));
  rows.push_back(
      frame_building("the same with motion, 1,024 tokens, 12 heads", 1024, 12, 6.0, threads, true));
  grid_of_heads(rows, threads);
  rows.push_back(writing(threads));
  rows.push_back(frame_while_training(threads));
  rows.push_back(frame_of_labs(threads));
  return rows;
}

}  // namespace headlight
