#include "app/platform/composition.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

namespace headlight {

bool Composition::press(int key, bool has_letter, bool came) {
  if (has_letter) {
    // Signs and digits turn the pages of the candidates or choose one; none of them begins a word.
    const bool begins = key >= GLFW_KEY_A && key <= GLFW_KEY_Z;
    if (!came && (begins || (held_ > 0 && key == GLFW_KEY_APOSTROPHE))) ++held_;
    return false;  // a field takes characters, not such keys
  }
  if (held_ == 0) return false;
  if (key == GLFW_KEY_BACKSPACE) --held_;
  if (key == GLFW_KEY_ENTER || key == GLFW_KEY_KP_ENTER || key == GLFW_KEY_ESCAPE) end();
  return true;
}

}  // namespace headlight
