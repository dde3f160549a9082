// Which keys an input method keeps for itself, from what a window is told.
#include <doctest/doctest.h>

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include <string_view>

#include "app/platform/composition.h"

namespace headlight {
namespace {

// Letters that do not come: "ni".
void hold_back(Composition& composition, std::string_view letters) {
  for (const char c : letters) CHECK_FALSE(composition.press(c - 'a' + GLFW_KEY_A, true, false));
}
bool takes(Composition& composition, int key) { return composition.press(key, false, false); }

}  // namespace

TEST_CASE("composition: keys that edit what is being composed never reach the sentence") {
  Composition composition;
  CHECK_FALSE(takes(composition, GLFW_KEY_BACKSPACE));  // nothing is being composed
  hold_back(composition, "ni");
  CHECK(takes(composition, GLFW_KEY_LEFT));
  CHECK(takes(composition, GLFW_KEY_BACKSPACE));
  CHECK(takes(composition, GLFW_KEY_BACKSPACE));
  CHECK_FALSE(takes(composition, GLFW_KEY_BACKSPACE));  // the sentence's own last letter
  CHECK_FALSE(takes(composition, GLFW_KEY_LEFT));
}

TEST_CASE("composition: Enter and Escape end it, and the next one is the window's") {
  for (const int key : {GLFW_KEY_ENTER, GLFW_KEY_KP_ENTER, GLFW_KEY_ESCAPE}) {
    Composition composition;
    hold_back(composition, "zhong");
    CHECK(takes(composition, key));
    CHECK_FALSE(takes(composition, key));
  }
}

TEST_CASE("composition: once characters have come, keys are the field's again") {
  Composition composition;
  hold_back(composition, "ni");
  CHECK_FALSE(composition.press(GLFW_KEY_EQUAL, true, false));  // the candidates' next page
  CHECK_FALSE(composition.press(GLFW_KEY_2, true, false));      // the second of them
  composition.end();                                            // it came
  CHECK_FALSE(takes(composition, GLFW_KEY_BACKSPACE));
}

TEST_CASE("composition: without an input method every letter comes, and nothing is taken") {
  Composition composition;
  CHECK_FALSE(composition.press(GLFW_KEY_A, true, true));
  CHECK_FALSE(takes(composition, GLFW_KEY_BACKSPACE));
  CHECK_FALSE(takes(composition, GLFW_KEY_ENTER));
  // A sign that writes nothing by itself, as of a key for accents, begins no composition.
  CHECK_FALSE(composition.press(GLFW_KEY_APOSTROPHE, true, false));
  CHECK_FALSE(takes(composition, GLFW_KEY_LEFT));
}

}  // namespace headlight
