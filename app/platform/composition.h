// What an input method is composing: GLFW 3.3 tells of the keys that it takes, and not that it took
// them. A key that writes a letter, and no letter comes: the letter is being held back.
#pragma once

namespace headlight {

class Composition {
 public:
  /// A key is pressed in a field, without Ctrl, Alt and the like. `key` as GLFW names it;
  /// `has_letter`: the keyboard has a letter, digit or sign on it; `came`: it came as a character
  /// at once. True where the key changes what is being composed: it is not for the field.
  bool press(int key, bool has_letter, bool came);
  /// Characters have come, another field or none is written in: nothing is held back any more.
  void end() { held_ = 0; }

 private:
  int held_ = 0;  // keys whose letters are held back
};

}  // namespace headlight
