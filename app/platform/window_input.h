// What the window's system says (keys, letters, the mouse, dropped files), in the order in which it
// happened, so that nothing typed fast is lost.
#pragma once

#include <deque>

#include "app/platform/composition.h"
#include "app/shell/shell.h"

struct GLFWwindow;

namespace headlight {

class WindowInput {
 public:
  /// Becomes the window's user pointer and takes all its callbacks.
  WindowInput(GLFWwindow*, Shell&);
  WindowInput(const WindowInput&) = delete;
  WindowInput& operator=(const WindowInput&) = delete;

  /// Before ImGui's new frame: hands over what has come, as far as one frame can take it.
  void drain();
  /// Frames that are to be drawn because of what has happened.
  int wanted_frames() const { return wanted_frames_; }
  void want_frames(int count) { wanted_frames_ = count > wanted_frames_ ? count : wanted_frames_; }
  void frame_done() { wanted_frames_ = wanted_frames_ > 0 ? wanted_frames_ - 1 : 0; }
  /// Did the screen's scale change? Once.
  bool take_scale_change();

 private:
  // A key, a character, a button of the mouse or the window's focus, kept until a frame takes it.
  enum class Kind { kKey, kCharacter, kButton, kFocus };
  struct Event {
    Kind kind{};
    unsigned character = 0;
    int key = 0, scancode = 0, action = 0, mods = 0;  // kFocus: action 1, it has it
    bool is_character() const { return kind == Kind::kCharacter; }
  };
  static WindowInput& of(GLFWwindow*);
  void install_key_callbacks();
  void install_other_callbacks();
  bool waits() const;
  bool is_composed(const Event&);
  bool on_key(const Event&);
  void on_character(unsigned c);
  void in_order(const Event&);
  void on_other(const Event&);

  GLFWwindow* window_;
  Shell& shell_;
  std::deque<Event> events_;
  Composition composition_;
  int hold_ = 0;           // frames that take no input
  int wanted_frames_ = 3;  // still to be drawn after the last thing that happened
  bool scale_changed_ = false;
};

}  // namespace headlight
