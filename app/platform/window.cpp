#include "app/platform/window.h"

#include <epoxy/gl.h>
// GLFW after epoxy, which brings the OpenGL declarations.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <imgui_impl_glfw.h>
#include <imgui_impl_opengl3.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "app/gl/context/egl_context.h"
#include "app/platform/font_texture.h"
#include "app/platform/frontend.h"
#include "app/platform/heatmap_bridge.h"
#include "app/platform/icon.h"
#include "app/platform/imgui_renderer.h"
#include "app/platform/size.h"
#include "app/platform/window_context.h"
#include "app/platform/window_input.h"
#include "app/ui/kit/line_text.h"
#include "app/workers/gpu.h"
#include "core/base/error.h"

namespace headlight {

bool path_exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

namespace {

std::string g_glfw_error;  // GLFW reports errors only through a function without context

// GLFW itself, for as long as this lives.
struct Glfw {
  Glfw() {
    glfwSetErrorCallback([](int, const char* text) { g_glfw_error = text; });
    if (glfwInit()) return;
    throw Error(
        "no display was found to open a window on (" + g_glfw_error +
        "). Start Headlight in a desktop session, or without one use `headlight walk --out DIR`, "
        "`headlight screenshot` or `headlight trace`");
  }
  ~Glfw() { glfwTerminate(); }
};

GLFWwindow* create_window(int width, int height, bool maximized) {
  glfwWindowHint(GLFW_MAXIMIZED, maximized ? GLFW_TRUE : GLFW_FALSE);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
  glfwWindowHintString(GLFW_X11_CLASS_NAME, "headlight");
  // 4.3 can compute on the graphics card; 3.3 does for everything else.
  for (const int major : {4, 3}) {
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, major);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    GLFWwindow* window = glfwCreateWindow(width, height, "Headlight", nullptr, nullptr);
    if (window) return window;
  }
  throw Error(
      "a window with OpenGL 3.3 could not be opened (" + g_glfw_error +
      "). Update the graphics driver, or start with LIBGL_ALWAYS_SOFTWARE=1; without a window "
      "`headlight walk` and `headlight trace` still work");
}

// The window and everything that draws into it.
class App {
 public:
  App(const Document& document, const WindowOptions& options);
  ~App();
  /// The program's exit status.
  int run();

 private:
  int end_at_once();
  void open_window();
  void offer_gpu();
  void update_scale();
  void frame();
  void tell_size();
  void keep();
  void set_title();
  void report();
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  WindowOptions options_;
  Shell shell_;
  Glfw glfw_;
  GLFWwindow* window_ = nullptr;
  std::unique_ptr<ImGuiHost> host_;
  std::unique_ptr<HeatmapBridge> bridge_;
  std::unique_ptr<Frontend> frontend_;
  std::unique_ptr<WindowInput> input_;
  int frames_drawn_ = 0;
  double first_frame_ms_ = 0, next_keep_ = 0;
  FontTexture font_texture_;
  std::string title_;
};

// The system is shut down, the session ends, or somebody presses Ctrl+C where it was started: by
// this signal. Once more is the system's own way.
std::atomic<int> asked_to_end{0};

void ask_to_end(int number) {
  asked_to_end = number;
  std::signal(number, SIG_DFL);
}

void watch_for_end() {
  for (const int number : {SIGTERM, SIGHUP, SIGINT}) {
    if (std::signal(number, ask_to_end) == SIG_IGN) std::signal(number, SIG_IGN);
  }
}

// Who asks for files. The tests, which know where to click in Headlight's own list, want just that.
std::vector<std::string> file_dialogs() {
  if (std::getenv("HEADLIGHT_OWN_DIALOGS")) return {};
  return {"portal", "zenity", "kdialog"};
}

ShellOptions shell_options(const WindowOptions& options) {
  ShellOptions shell;
  shell.limits = options.limits;
  shell.backend = options.backend;
  shell.compute = options.compute;
  shell.threads = options.threads;
  shell.folders = options.folders;
  shell.first_language = language_of_machine();
  shell.dialogs = file_dialogs();
  std::error_code unknown;  // on a system without /proc
  shell.program = std::filesystem::read_symlink("/proc/self/exe", unknown).string();
  return shell;
}

App::App(const Document& document, const WindowOptions& options)
    : options_(options), shell_(document, shell_options(options)) {
  open_window();
  if (options.language) shell_.set_language(*options.language);
  if (options.dark) shell_.set_look(*options.dark, shell_.state().session.scale);
  update_scale();
  const std::chrono::duration<double> since_1970 =
      std::chrono::system_clock::now().time_since_epoch();
  if (!options.folders.empty()) shell_.start_keeping(static_cast<std::int64_t>(since_1970.count()));
  if (options.look_at) shell_.show_claim(*options.look_at);
  if (options.problem) shell_.notify(NoticeKind::kWarning, *options.problem);
  if (!options.session_path.empty()) shell_.set_session_path(options.session_path);
  host_ = std::make_unique<ImGuiHost>();
  input_ = std::make_unique<WindowInput>(window_, shell_);
  ImGui_ImplGlfw_InitForOpenGL(window_, false);
  start_imgui_renderer();
  bridge_ = std::make_unique<HeatmapBridge>();
  frontend_ = std::make_unique<Frontend>(shell_, *bridge_);
  offer_gpu();
  ImGuiIO& io = ImGui::GetIO();
  io.ClipboardUserData = window_;
  io.GetClipboardTextFn = [](void* window) {
    static std::string text;  // ImGui wants a pointer that lives on
    const char* clip = glfwGetClipboardString(static_cast<GLFWwindow*>(window));
    text = pasted_text(clip ? clip : "");
    return text.c_str();
  };
  io.SetClipboardTextFn = [](void* window, const char* text) {
    glfwSetClipboardString(static_cast<GLFWwindow*>(window), from_field_text(text).c_str());
  };
}

// What the window's driver is, and how to get a context for computing when that is wanted.
void App::offer_gpu() {
  const GlDevice device = GlDevice::ask(real_gl());
  GpuState gpu;
  gpu.device = device.renderer;
  gpu.version = device.version;
  gpu.software = is_software_renderer(device.renderer);
  gpu.problem = device.problem();
  if (!gpu.problem.empty()) gpu.phase = GpuPhase::kAbsent;
  const auto make = [window = window_] {
    return std::make_unique<Gpu>(make_window_compute_context(window), watched_options());
  };
  shell_.offer_gpu(make, gpu);
}

// As large as it was the last time, or as was asked for, but no larger than the screen.
void App::open_window() {
  const Settings& stored = shell_.settings();
  int width = stored.width, height = stored.height;
  bool maximized = stored.maximized;
  if (options_.size) {
    std::tie(width, height) = parse_size(*options_.size);
    maximized = false;
  } else if (GLFWmonitor* screen = glfwGetPrimaryMonitor()) {
    int x = 0, y = 0, wide = 0, tall = 0;
    glfwGetMonitorWorkarea(screen, &x, &y, &wide, &tall);
    if (wide > 0) width = std::min(width, wide);
    if (tall > 0) height = std::min(height, tall);
  }
  window_ = create_window(width, height, maximized);
  glfwMakeContextCurrent(window_);
  require_gl33();
  glfwSwapInterval(options_.frames > 0 ? 0 : 1);
  std::vector<std::vector<std::uint8_t>> pixels;
  std::vector<GLFWimage> icons;
  for (const int side : {16, 32, 48, 128}) {
    pixels.push_back(icon_pixels(side));
    icons.push_back({side, side, pixels.back().data()});
  }
  glfwSetWindowIcon(window_, static_cast<int>(icons.size()), icons.data());
  tell_size();
}

App::~App() {
  shell_.stop_gpu();
  frontend_.reset();
  bridge_.reset();
  end_imgui_renderer();
  ImGui_ImplGlfw_Shutdown();
  host_.reset();
  glfwDestroyWindow(window_);
}

void App::update_scale() {
  float scale = options_.scale.value_or(0);
  if (scale > 0) return shell_.set_look(shell_.state().session.dark, scale);
  {
    float content = 1, ignored = 1;
    glfwGetWindowContentScale(window_, &content, &ignored);
    int width = 1, pixels = 1, unused = 0;
    glfwGetWindowSize(window_, &width, &unused);
    glfwGetFramebufferSize(window_, &pixels, &unused);
    // Where the system already counts in larger units, only the rest is ours.
    scale =
        content * static_cast<float>(std::max(width, 1)) / static_cast<float>(std::max(pixels, 1));
  }
  shell_.set_screen_scale(scale);
}

void App::tell_size() {
  int width = 0, height = 0;
  glfwGetWindowSize(window_, &width, &height);
  shell_.set_window(width, height, glfwGetWindowAttrib(window_, GLFW_MAXIMIZED) == GLFW_TRUE);
}

// What outlives the window: its size, settings, unsaved work. Not at every frame: the question for
// the size goes to the system.
void App::keep() {
  if (seconds() < next_keep_) return;
  next_keep_ = seconds() + 0.25;
  tell_size();
  const std::size_t notices = shell_.state().notices.size();
  shell_.keep(seconds());
  if (shell_.state().notices.size() != notices) input_->want_frames(3);
}

void App::frame() {
  int width = 0, height = 0;
  glfwGetFramebufferSize(window_, &width, &height);
  if (width == 0 || height == 0) return;  // minimised
  font_texture_.update(*frontend_);
  ImGui_ImplOpenGL3_NewFrame();
  input_->drain();
  ImGui_ImplGlfw_NewFrame();
  ImGui::NewFrame();
  bridge_->begin_frame();
  const ImVec2 size = ImGui::GetIO().DisplaySize;
  frontend_->draw(size.x, size.y);
  ImGui::Render();
  const Color ground = Theme::make(shell_.state().session.dark).background;
  glViewport(0, 0, width, height);
  glDisable(GL_SCISSOR_TEST);
  glClearColor(ground.r, ground.g, ground.b, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  bridge_->render(ImGui::GetDrawData(), width, height);
  if (!bridge_->problem().empty()) shell_.notify(NoticeKind::kError, bridge_->problem());
  glfwSwapBuffers(window_);
}

void App::report() {
  long pages = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  std::printf("first frame after %.0f ms, %.0f MB resident, %s\n", first_frame_ms_,
              static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGE_SIZE)) / 1e6,
              gl_description().c_str());
}

void App::set_title() {
  const AppState& state = shell_.state();
  const std::string file =
      state.session_path.empty()
          ? ""
          : std::filesystem::path(state.session_path).filename().string() + " - ";
  const std::string title = (state.history.is_saved() ? "" : "* ") + file + "Headlight";
  if (title != title_) glfwSetWindowTitle(window_, (title_ = title).c_str());
}

// Nobody is there to be asked: what is unsaved is offered by the next start, as after a crash, but
// nothing of it is missing.
int App::end_at_once() {
  tell_size();
  shell_.keep_at_once();
  return 128 + asked_to_end;
}

int App::run() {
  watch_for_end();
  while (!shell_.state().session.quit) {
    if (asked_to_end != 0) return end_at_once();
    if (glfwWindowShouldClose(window_)) {  // its cross: as Ctrl+Q, unsaved changes are asked about
      glfwSetWindowShouldClose(window_, GLFW_FALSE);
      shell_.push(DoCommand{Command::kQuit});
      input_->want_frames(3);
    }
    if (shell_.poll()) input_->want_frames(3);
    if (input_->take_scale_change()) update_scale();
    keep();
    const bool moving =
        input_->wanted_frames() > 0 || options_.frames > 0 || frontend_->wants_frame();
    if (moving) {
      glfwPollEvents();
    } else {
      // Nothing changed: sleep. A run in the background may end.
      const bool soon = shell_.is_working();
      glfwWaitEventsTimeout(soon ? 0.02 : 1.0);
      if (input_->wanted_frames() == 0) continue;
    }
    frame();
    input_->frame_done();
    if (++frames_drawn_ == 1) first_frame_ms_ = seconds() * 1e3;
    if (options_.frames > 0 && frames_drawn_ >= options_.frames) {
      report();
      break;
    }
    set_title();
  }
  tell_size();
  shell_.finish_keeping();
  return 0;
}

}  // namespace

// The first of these that is set.
Language language_of_machine() {
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const char* value = std::getenv(name);
    if (!value || value[0] == '\0') continue;
    return std::string_view(value).starts_with("zh") ? Language::kChinese : Language::kEnglish;
  }
  return Language::kEnglish;
}

int run_window(const Document& document, const WindowOptions& options) {
  return App(document, options).run();
}

}  // namespace headlight
