#include "app/window.h"

#include <epoxy/gl.h>
// GLFW after epoxy, which brings the OpenGL declarations.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <imgui_impl_glfw.h>
#include <imgui_impl_opengl3.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <memory>
#include <set>

#include "app/frontend.h"
#include "app/gl/egl_context.h"
#include "app/heatmap_bridge.h"
#include "app/size.h"
#include "core/error.h"

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

GLFWwindow* create_window(int width, int height) {
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
  glfwWindowHintString(GLFW_X11_CLASS_NAME, "headlight");
  GLFWwindow* window = glfwCreateWindow(width, height, "Headlight", nullptr, nullptr);
  if (window) return window;
  throw Error(
      "a window with OpenGL 3.3 could not be opened (" + g_glfw_error +
      "). Update the graphics driver, or start with LIBGL_ALWAYS_SOFTWARE=1; without a window "
      "`headlight walk` and `headlight trace` still work");
}

// A key or a character, kept until a frame takes it.
struct Input {
  bool is_character = false;
  unsigned character = 0;
  int key = 0, scancode = 0, action = 0, mods = 0;
};

// The window and everything that draws into it.
class App {
 public:
  App(const Document& document, const WindowOptions& options);
  ~App();
  int run();

 private:
  void install_callbacks();
  void drain_input();
  bool on_key(const Input&);
  void on_character(unsigned c);
  void update_scale();
  void frame();
  void report();
  static App& self(GLFWwindow* window) {
    return *static_cast<App*>(glfwGetWindowUserPointer(window));
  }

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  WindowOptions options_;
  Shell shell_;
  Glfw glfw_;
  GLFWwindow* window_ = nullptr;
  std::unique_ptr<ImGuiHost> host_;
  std::unique_ptr<HeatmapBridge> bridge_;
  std::unique_ptr<Frontend> frontend_;
  std::deque<Input> input_;
  int hold_input_ = 0;      // frames that take no input
  int pending_frames_ = 3;  // frames still to draw after the last thing that happened
  int frames_drawn_ = 0;
  double first_frame_ms_ = 0;
  bool fonts_uploaded_ = false;
  std::string title_;
};

ShellOptions shell_options(const WindowOptions& options) {
  ShellOptions shell;
  shell.limits = options.limits;
  shell.backend = options.backend;
  shell.threads = options.threads;
  return shell;
}

App::App(const Document& document, const WindowOptions& options)
    : options_(options), shell_(document, shell_options(options)) {
  const auto [width, height] = parse_size(options.size);
  window_ = create_window(width, height);
  glfwMakeContextCurrent(window_);
  require_gl33();
  glfwSwapInterval(options.frames > 0 ? 0 : 1);
  glfwSetWindowUserPointer(window_, this);
  if (!options.session_path.empty()) shell_.set_session_path(options.session_path);
  shell_.set_look(options.dark, 1.0f);
  update_scale();
  host_ = std::make_unique<ImGuiHost>();
  install_callbacks();
  ImGui_ImplGlfw_InitForOpenGL(window_, false);
  if (!ImGui_ImplOpenGL3_Init("#version 330"))
    throw Error("the window's OpenGL renderer did not start");
  bridge_ = std::make_unique<HeatmapBridge>();
  frontend_ = std::make_unique<Frontend>(shell_, *bridge_);
  ImGuiIO& io = ImGui::GetIO();
  io.ClipboardUserData = window_;
  io.GetClipboardTextFn = [](void* window) {
    static std::string text;  // ImGui wants a pointer that lives on
    const char* clip = glfwGetClipboardString(static_cast<GLFWwindow*>(window));
    text = to_field_text(clip ? clip : "");
    return text.c_str();
  };
  io.SetClipboardTextFn = [](void* window, const char* text) {
    glfwSetClipboardString(static_cast<GLFWwindow*>(window), from_field_text(text).c_str());
  };
}

App::~App() {
  frontend_.reset();
  bridge_.reset();
  ImGui_ImplOpenGL3_Shutdown();
  ImGui_ImplGlfw_Shutdown();
  host_.reset();
  glfwDestroyWindow(window_);
}

void App::update_scale() {
  float scale = options_.scale;
  if (scale <= 0) {
    float content = 1, ignored = 1;
    glfwGetWindowContentScale(window_, &content, &ignored);
    int width = 1, pixels = 1, unused = 0;
    glfwGetWindowSize(window_, &width, &unused);
    glfwGetFramebufferSize(window_, &pixels, &unused);
    // Where the system already counts in larger units, only the rest is ours.
    scale =
        content * static_cast<float>(std::max(width, 1)) / static_cast<float>(std::max(pixels, 1));
  }
  shell_.set_look(shell_.state().session.dark, scale);
}

// Our callbacks stand before ImGui's: a key that is a command never reaches a field as well.
void App::install_callbacks() {
  glfwSetKeyCallback(window_, [](GLFWwindow* w, int key, int scancode, int action, int mods) {
    self(w).pending_frames_ = 3;
    self(w).input_.push_back({false, 0, key, scancode, action, mods});
  });
  glfwSetCharCallback(window_, [](GLFWwindow* w, unsigned c) {
    self(w).pending_frames_ = 3;
    self(w).input_.push_back({true, c, 0, 0, 0, 0});
  });
  glfwSetMouseButtonCallback(window_, [](GLFWwindow* w, int button, int action, int mods) {
    self(w).pending_frames_ = 4;
    ImGui_ImplGlfw_MouseButtonCallback(w, button, action, mods);
  });
  glfwSetScrollCallback(window_, [](GLFWwindow* w, double x, double y) {
    self(w).pending_frames_ = 3;
    ImGui_ImplGlfw_ScrollCallback(w, x, y);
  });
  glfwSetCursorPosCallback(window_,
                           [](GLFWwindow* w, double, double) { self(w).pending_frames_ = 3; });
  glfwSetCursorEnterCallback(window_, [](GLFWwindow* w, int entered) {
    self(w).pending_frames_ = 3;
    ImGui_ImplGlfw_CursorEnterCallback(w, entered);
  });
  glfwSetWindowFocusCallback(window_, [](GLFWwindow* w, int focused) {
    self(w).pending_frames_ = 3;
    ImGui_ImplGlfw_WindowFocusCallback(w, focused);
  });
  glfwSetFramebufferSizeCallback(window_,
                                 [](GLFWwindow* w, int, int) { self(w).pending_frames_ = 3; });
  glfwSetWindowRefreshCallback(window_, [](GLFWwindow* w) { self(w).pending_frames_ = 2; });
  glfwSetWindowContentScaleCallback(window_, [](GLFWwindow* w, float, float) {
    self(w).pending_frames_ = 3;
    self(w).update_scale();
  });
}

// Letters by what the person's keyboard writes on them, the rest by place.
int shortcut_key(int key, int scancode) {
  switch (key) {
    case GLFW_KEY_RIGHT:
      return kKeyRight;
    case GLFW_KEY_LEFT:
      return kKeyLeft;
    case GLFW_KEY_PAGE_UP:
      return kKeyPageUp;
    case GLFW_KEY_PAGE_DOWN:
      return kKeyPageDown;
    case GLFW_KEY_ESCAPE:
      return kKeyEscape;
    case GLFW_KEY_F1:
      return kKeyF1;
    case GLFW_KEY_SPACE:
      return kKeySpace;
    case GLFW_KEY_HOME:
      return kKeyHome;
    case GLFW_KEY_END:
      return kKeyEnd;
    case GLFW_KEY_BACKSPACE:
      return kKeyBackspace;
    case GLFW_KEY_UP:
      return kKeyUp;
    case GLFW_KEY_DOWN:
      return kKeyDown;
    case GLFW_KEY_ENTER:
    case GLFW_KEY_KP_ENTER:
      return kKeyEnter;
    case GLFW_KEY_TAB:
      return kKeyTab;
    case GLFW_KEY_F10:
      return kKeyF10;
    case GLFW_KEY_KP_ADD:
      return '=';
    case GLFW_KEY_KP_SUBTRACT:
      return '-';
    default:
      break;
  }
  const char* name = glfwGetKeyName(key, scancode);
  if (!name || name[1] != '\0') return kKeyNone;
  const char c = name[0];
  if (c == '+') return '=';
  return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c;
}

// Keys that write nothing by themselves: their order among the characters matters.
bool is_editing_key(const Input& input) {
  const bool prints = input.key >= GLFW_KEY_SPACE && input.key <= GLFW_KEY_GRAVE_ACCENT;
  return !prints || (input.mods & (GLFW_MOD_CONTROL | GLFW_MOD_SUPER | GLFW_MOD_ALT)) != 0;
}

bool is_modifier(int key) { return key >= GLFW_KEY_LEFT_SHIFT && key <= GLFW_KEY_RIGHT_SUPER; }

// ImGui 1.86 sees only how the keys stand when a frame begins. So that nothing typed fast is lost
// or changes its order, a frame takes input up to the first key that would hide an earlier one.
void App::drain_input() {
  // A field that is being left or entered still says the opposite: wait until it is done.
  const Session& session = shell_.state().session;
  if (hold_input_ > 0 || session.leave_field || session.focus_sentence || session.focus.move != 0) {
    hold_input_ = std::max(0, hold_input_ - 1);
    pending_frames_ = std::max(pending_frames_, 3);
    return;
  }
  bool typed = false;
  std::set<int> changed;
  while (!input_.empty()) {
    const Input& next = input_.front();
    if (next.is_character) {
      on_character(next.character);
      typed = true;
    } else if (!is_modifier(next.key)) {
      const bool presses = next.action != GLFW_RELEASE;
      const bool hides = changed.count(next.key) > 0;
      if (hides || (presses && is_editing_key(next) && (typed || !changed.empty()))) break;
      if (presses && on_key(next)) {
        input_.pop_front();
        // The letter that the key would have written must not reach a field that is entered later.
        if (!input_.empty() && input_.front().is_character) input_.pop_front();
        break;  // a command: what follows comes after it
      }
      if (!presses) on_key(next);
      if (is_editing_key(next)) changed.insert(next.key);
    } else {
      if (!changed.empty() || typed) break;  // while Ctrl is down a field drops letters
      on_key(next);
    }
    input_.pop_front();
  }
  if (!input_.empty()) pending_frames_ = std::max(pending_frames_, 3);
}

// True when it was a command.
bool App::on_key(const Input& input) {
  const bool in_field = ImGui::GetIO().WantTextInput;
  if (input.action != GLFW_RELEASE) {
    const int ours = shortcut_key(input.key, input.scancode);
    // Brackets come as characters: on many keyboards they need AltGr.
    const bool bracket = ours == '[' || ours == ']';
    const bool ctrl = (input.mods & (GLFW_MOD_CONTROL | GLFW_MOD_SUPER)) != 0;
    const bool shift = (input.mods & GLFW_MOD_SHIFT) != 0 && ours != '=';
    const bool plain = ours != kKeyNone && !bracket && !(input.mods & GLFW_MOD_ALT);
    if (plain && shell_.key({ours, ctrl, shift}, in_field)) {
      const bool moves_focus =
          ours == kKeyEscape || (ctrl && (ours == 'L' || ours == 'O' || ours == 'S'));
      hold_input_ = ours == kKeyTab ? 4 : moves_focus ? 2 : 0;
      return true;
    }
  }
  ImGui_ImplGlfw_KeyCallback(window_, input.key, input.scancode, input.action, input.mods);
  return false;
}

void App::on_character(unsigned c) {
  const bool in_field = ImGui::GetIO().WantTextInput;
  if ((c == '[' || c == ']') && !in_field) {
    shell_.key({static_cast<int>(c), false, false}, false);
    return;
  }
  ImGui_ImplGlfw_CharCallback(window_, to_field_character(c));
}

void App::frame() {
  int width = 0, height = 0;
  glfwGetFramebufferSize(window_, &width, &height);
  if (width == 0 || height == 0) return;  // minimised
  if (frontend_->prepare_fonts() && fonts_uploaded_) {
    ImGui_ImplOpenGL3_DestroyFontsTexture();
    ImGui_ImplOpenGL3_CreateFontsTexture();
  }
  fonts_uploaded_ = true;
  ImGui_ImplOpenGL3_NewFrame();
  drain_input();
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

int App::run() {
  while (!glfwWindowShouldClose(window_) && !shell_.state().session.quit) {
    if (shell_.poll()) pending_frames_ = 3;
    const bool moving = pending_frames_ > 0 || options_.frames > 0 || frontend_->wants_frame();
    if (moving) {
      glfwPollEvents();
    } else {
      // Nothing changed: sleep. A field's cursor blinks, a run in the background may end.
      const bool blinks = ImGui::GetIO().WantTextInput;
      const double timeout = shell_.state().derived.computing ? 0.02 : blinks ? 0.25 : 1.0;
      glfwWaitEventsTimeout(timeout);
      if (blinks) pending_frames_ = std::max(pending_frames_, 1);
      if (pending_frames_ == 0) continue;
    }
    frame();
    pending_frames_ = std::max(0, pending_frames_ - 1);
    if (++frames_drawn_ == 1) {
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - start_;
      first_frame_ms_ = took.count();
    }
    if (options_.frames > 0 && frames_drawn_ >= options_.frames) {
      report();
      break;
    }
    const AppState& state = shell_.state();
    const std::string file =
        state.session_path.empty()
            ? ""
            : std::filesystem::path(state.session_path).filename().string() + " - ";
    const std::string title = (state.history.is_saved() ? "" : "* ") + file + "Headlight";
    if (title != title_) glfwSetWindowTitle(window_, (title_ = title).c_str());
  }
  return 0;
}

}  // namespace

int run_window(const Document& document, const WindowOptions& options) {
  return App(document, options).run();
}

}  // namespace headlight
