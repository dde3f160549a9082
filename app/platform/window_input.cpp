#include "app/platform/window_input.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "app/platform/backend_compat.h"
#include "app/ui/kit/fonts.h"

namespace headlight {
namespace {

// A field asked for takes the keyboard two frames later and says so (WantTextInput) in a third; a
// sheet with a field in it needs one or two more to open.
constexpr int kFramesToMoveKeyboard = 6;
// A field clicked at takes it in the frame of the click.
constexpr int kFramesOfClick = 3;

}  // namespace

WindowInput::WindowInput(GLFWwindow* window, Shell& shell) : window_(window), shell_(shell) {
  glfwSetWindowUserPointer(window_, this);
  install_key_callbacks();
  install_other_callbacks();
}

WindowInput& WindowInput::of(GLFWwindow* window) {
  return *static_cast<WindowInput*>(glfwGetWindowUserPointer(window));
}

bool WindowInput::take_scale_change() {
  const bool changed = scale_changed_;
  scale_changed_ = false;
  return changed;
}

// Our callbacks stand before ImGui's: a key that is a command never reaches a field as well.
void WindowInput::install_key_callbacks() {
  glfwSetKeyCallback(window_, [](GLFWwindow* w, int key, int scancode, int action, int mods) {
    of(w).want_frames(3);
    of(w).events_.push_back({Kind::kKey, 0, key, scancode, action, mods});
  });
  glfwSetCharCallback(window_, [](GLFWwindow* w, unsigned c) {
    of(w).want_frames(3);
    of(w).events_.push_back({Kind::kCharacter, c, 0, 0, 0, 0});
  });
}

void WindowInput::install_other_callbacks() {
  glfwSetMouseButtonCallback(window_, [](GLFWwindow* w, int button, int action, int mods) {
    of(w).want_frames(4);
    of(w).in_order({Kind::kButton, 0, button, 0, action, mods});
  });
  glfwSetScrollCallback(window_, [](GLFWwindow* w, double x, double y) {
    of(w).want_frames(3);
    ImGui_ImplGlfw_ScrollCallback(w, x, y);
  });
  glfwSetCursorPosCallback(window_, [](GLFWwindow* w, double x, double y) {
    of(w).want_frames(3);
    tell_mouse_position(w, x, y);
  });
  glfwSetCursorEnterCallback(window_, [](GLFWwindow* w, int entered) {
    of(w).want_frames(3);
    ImGui_ImplGlfw_CursorEnterCallback(w, entered);
  });
  glfwSetWindowFocusCallback(window_, [](GLFWwindow* w, int focused) {
    of(w).want_frames(3);
    of(w).in_order({Kind::kFocus, 0, 0, 0, focused, 0});
  });
  glfwSetFramebufferSizeCallback(window_, [](GLFWwindow* w, int, int) { of(w).want_frames(3); });
  glfwSetWindowRefreshCallback(window_, [](GLFWwindow* w) { of(w).want_frames(2); });
  glfwSetWindowContentScaleCallback(window_, [](GLFWwindow* w, float, float) {
    of(w).want_frames(3);
    of(w).scale_changed_ = true;
  });
  glfwSetDropCallback(window_, [](GLFWwindow* w, int count, const char** paths) {
    of(w).want_frames(3);
    of(w).shell_.push(DropFiles{{paths, paths + count}});
  });
}

namespace {

// Letters by what the person's keyboard writes on them, the rest by place.
int shortcut_key(int key, int scancode) {
  static const std::unordered_map<int, int> kByPlace = {
      {GLFW_KEY_RIGHT, kKeyRight},    {GLFW_KEY_LEFT, kKeyLeft},
      {GLFW_KEY_UP, kKeyUp},          {GLFW_KEY_DOWN, kKeyDown},
      {GLFW_KEY_PAGE_UP, kKeyPageUp}, {GLFW_KEY_PAGE_DOWN, kKeyPageDown},
      {GLFW_KEY_ENTER, kKeyEnter},    {GLFW_KEY_KP_ENTER, kKeyEnter},
      {GLFW_KEY_TAB, kKeyTab},        {GLFW_KEY_F10, kKeyF10},
      {GLFW_KEY_ESCAPE, kKeyEscape},  {GLFW_KEY_F1, kKeyF1},
      {GLFW_KEY_SPACE, kKeySpace},    {GLFW_KEY_HOME, kKeyHome},
      {GLFW_KEY_END, kKeyEnd},        {GLFW_KEY_BACKSPACE, kKeyBackspace},
      {GLFW_KEY_KP_ADD, '='},         {GLFW_KEY_KP_SUBTRACT, '-'}};
  if (const auto found = kByPlace.find(key); found != kByPlace.end()) return found->second;
  const char* name = glfwGetKeyName(key, scancode);
  if (!name || name[1] != '\0') return kKeyNone;
  const char c = name[0];
  if (c == '+') return '=';
  return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c;
}

// Keys that write nothing by themselves: their order among the characters matters.
bool is_editing_key(int key, int mods) {
  const bool prints = key >= GLFW_KEY_SPACE && key <= GLFW_KEY_GRAVE_ACCENT;
  return !prints || (mods & (GLFW_MOD_CONTROL | GLFW_MOD_SUPER | GLFW_MOD_ALT)) != 0;
}

bool is_modifier(int key) { return key >= GLFW_KEY_LEFT_SHIFT && key <= GLFW_KEY_RIGHT_SUPER; }

// Commands after which a field is entered or left: what follows waits until it is.
bool moves_keyboard(int key, bool ctrl) {
  static constexpr std::string_view kOpensSomething = "LOSKNQ";
  if (key == kKeyEscape || key == kKeyEnter || key == kKeyTab) return true;
  return ctrl && key > 0 && key < 128 &&
         kOpensSomething.find(static_cast<char>(key)) != std::string_view::npos;
}

}  // namespace

// A field that is being left or entered still says the opposite: wait until it is done.
bool WindowInput::waits() const {
  const Requests& next = shell_.state().requests;
  return hold_ > 0 || next.leave_field || next.focus_sentence || next.focus.move != 0;
}

// ImGui 1.86 sees only how the keys stand when a frame begins. So that nothing typed fast is lost
// or changes its order, a frame takes input up to the first key that would hide an earlier one.
void WindowInput::drain() {
  if (has_input_left()) return want_frames(3);
  if (waits()) {
    hold_ = std::max(0, hold_ - 1);
    return want_frames(3);
  }
  bool typed = false;
  std::set<int> changed;
  while (!events_.empty()) {
    const Event& next = events_.front();
    if (next.is_character()) {
      on_character(next.character);
      typed = true;
    } else if (next.kind == Kind::kButton || next.kind == Kind::kFocus) {
      if (typed || !changed.empty()) break;
      on_other(next);
      events_.pop_front();
      break;
    } else if (!is_modifier(next.key)) {
      const bool presses = next.action != GLFW_RELEASE;
      const bool edits = is_editing_key(next.key, next.mods);
      const bool hides = changed.count(next.key) > 0;
      if (hides || (presses && edits && (typed || !changed.empty()))) break;
      if (presses && is_composed(next)) {
        events_.pop_front();
        continue;
      }
      if (presses && on_key(next)) {
        events_.pop_front();
        // The letter that the key would have written must not reach a field that is entered later.
        if (!events_.empty() && events_.front().is_character()) events_.pop_front();
        break;  // a command: what follows comes after it
      }
      if (!presses) on_key(next);
      if (edits) changed.insert(next.key);
    } else {
      if (!changed.empty() || typed) break;  // while Ctrl is down a field drops letters
      on_key(next);
    }
    events_.pop_front();
  }
  if (!events_.empty()) want_frames(3);
}

// An input method takes the key, for what it is composing.
bool WindowInput::is_composed(const Event& input) {
  const bool commands = (input.mods & (GLFW_MOD_CONTROL | GLFW_MOD_SUPER | GLFW_MOD_ALT)) != 0;
  if (commands || !ImGui::GetIO().WantTextInput) {
    composition_.end();
    return false;
  }
  const char* name = glfwGetKeyName(input.key, input.scancode);
  const bool came = events_.size() > 1 && events_[1].is_character();
  return composition_.press(input.key, name && *name, came);
}

// True when it was a command.
bool WindowInput::on_key(const Event& input) {
  const bool in_field = ImGui::GetIO().WantTextInput;
  if (input.action != GLFW_RELEASE) {
    const int ours = shortcut_key(input.key, input.scancode);
    // Brackets come as characters: on many keyboards they need AltGr.
    const bool bracket = ours == '[' || ours == ']';
    const bool ctrl = (input.mods & (GLFW_MOD_CONTROL | GLFW_MOD_SUPER)) != 0;
    const bool shift = (input.mods & GLFW_MOD_SHIFT) != 0 && ours != '=';
    const bool plain = ours != kKeyNone && !bracket && !(input.mods & GLFW_MOD_ALT);
    if (plain && shell_.key({ours, ctrl, shift}, in_field)) {
      hold_ = moves_keyboard(ours, ctrl) ? kFramesToMoveKeyboard : 0;
      return true;
    }
  }
  tell_key(window_, input.key, input.scancode, input.action, input.mods);
  // Enter in a field may close its sheet; what is typed next is for what comes then.
  const bool enter = input.key == GLFW_KEY_ENTER || input.key == GLFW_KEY_KP_ENTER;
  if (enter && input.action == GLFW_PRESS) hold_ = kFramesToMoveKeyboard;
  return false;
}

void WindowInput::on_character(unsigned c) {
  composition_.end();
  const bool in_field = ImGui::GetIO().WantTextInput;
  if ((c == '[' || c == ']') && !in_field) {
    shell_.key({static_cast<int>(c), false, false}, false);
    return;
  }
  ImGui_ImplGlfw_CharCallback(window_, to_field_character(c));
}

// What was typed before a click is for what has the keyboard then; ImGui forgets the keys of a
// frame in which the window loses the focus.
void WindowInput::in_order(const Event& other) {
  if (events_.empty()) return on_other(other);
  events_.push_back(other);
}

// A click enters a field or leaves it: keys that follow at once are for what it leads to.
void WindowInput::on_other(const Event& other) {
  if (other.kind == Kind::kFocus) return ImGui_ImplGlfw_WindowFocusCallback(window_, other.action);
  composition_.end();
  if (other.action == GLFW_PRESS) hold_ = std::max(hold_, kFramesOfClick);
  ImGui_ImplGlfw_MouseButtonCallback(window_, other.key, other.action, other.mods);
}

}  // namespace headlight
