// The very window, drawn by OpenGL without a display: not blank, true to the numbers, always equal.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <set>

#include "app/platform/offscreen.h"
#include "app/ui/kit/theme.h"
#include "core/base/error.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

struct Look {
  int width, height;
  float scale;
  bool dark;
};

constexpr Look kLooks[] = {
    {1280, 720, 1, false}, {1280, 720, 1, true}, {2560, 1440, 2, false}, {2560, 1440, 2, true}};

// Nothing without OpenGL: says why. With HEADLIGHT_REQUIRE_GL=1 that is a failure.
std::unique_ptr<Offscreen> open_offscreen(Shell& shell, const Look& look) {
  shell.set_look(look.dark, look.scale);
  try {
    return std::make_unique<Offscreen>(shell, look.width, look.height);
  } catch (const Error& error) {
    std::cout << "SKIPPED: no OpenGL context. " << error.what() << std::endl;
    const char* required = std::getenv("HEADLIGHT_REQUIRE_GL");
    if (required && std::string(required) != "0") {
      FAIL_CHECK("OpenGL is required here: ", error.what());
    }
    return nullptr;
  }
}

using Bytes = std::vector<std::uint8_t>;

Color pixel_at(const Bytes& picture, int width, float x, float y) {
  const auto at = 4 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                       static_cast<std::size_t>(x));
  const auto channel = [&](std::size_t i) { return static_cast<float>(picture[at + i]) / 255.0f; };
  return {channel(0), channel(1), channel(2), channel(3)};
}

float distance(Color a, Color b) {
  return std::max({std::fabs(a.r - b.r), std::fabs(a.g - b.g), std::fabs(a.b - b.b)});
}

std::size_t different_colors(const Bytes& picture, int width, const DrawnControl& r) {
  std::set<std::uint32_t> colors;
  for (float y = r.min.y; y < r.max.y; y += 1) {
    for (float x = r.min.x; x < r.max.x; x += 1) {
      const Color c = pixel_at(picture, width, x, y);
      const auto byte = [](float v) { return static_cast<std::uint32_t>(v * 255 + 0.5f); };
      colors.insert(byte(c.r) << 16 | byte(c.g) << 8 | byte(c.b));
    }
  }
  return colors.size();
}

// Cells of the pane whose colour is not that of their number; numbers are written in the middle of
// a cell, so its upper left part is looked at.
int wrong_cells(const Bytes& picture, const Look& look, const Offscreen& offscreen,
                const Trace& trace, const std::string& id, const ColorScale& scale) {
  const Drawn& drawn = const_cast<Offscreen&>(offscreen).frontend().drawn();
  const DrawnControl* r = drawn.find(id);
  REQUIRE_MESSAGE(r, id, " is not on the screen");
  const TensorView t = trace.tensor(id.substr(id.find('/', 5) + 1));
  const std::int64_t rows = t.axes[2].size, columns = t.axes[3].size;
  const float w = (r->max.x - r->min.x) / static_cast<float>(columns);
  const float h = (r->max.y - r->min.y) / static_cast<float>(rows);
  int wrong = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const float value = t.data[i * columns + j];
      if (!std::isfinite(value)) continue;  // hatched
      const float x = r->min.x + (static_cast<float>(j) + 0.22f) * w;
      const float y = r->min.y + (static_cast<float>(i) + 0.18f) * h;
      const Color shown = pixel_at(picture, look.width, x, y);
      if (distance(shown, color_at(scale, value)) > 2.1f / 255) ++wrong;
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("pictures: the window is drawn, light and dark, at two sizes, and always the same") {
  for (const Look& look : kLooks) {
    INFO(look.width, " x ", look.height, look.dark ? " dark" : " light");
    Shell shell(small_document(2, 4, 16), still_options(2));
    const auto offscreen = open_offscreen(shell, look);
    if (!offscreen) return;
    const Bytes picture = offscreen->picture();
    CHECK(picture.size() == 4u * static_cast<std::size_t>(look.width * look.height));
    const Drawn& drawn = offscreen->frontend().drawn();
    for (const char* id : {"panel/stage", "panel/rail", "panel/inspector", "sentence", "mask/none",
                           "menu/File", "model"}) {
      CAPTURE(id);
      REQUIRE(drawn.find(id));
      // Letters are drawn with many shades.
      CHECK(different_colors(picture, look.width, *drawn.find(id)) > 12);
    }
    const Theme theme = Theme::make(look.dark);
    CHECK(distance(pixel_at(picture, look.width, 2, static_cast<float>(look.height) - 3),
                   theme.background) < 1.5f / 255);
    CHECK(offscreen->picture() == picture);
  }
}

TEST_CASE("pictures: each cell of a heatmap has the colour of the trace's number") {
  for (const Look& look : kLooks) {
    INFO(look.width, " x ", look.height, look.dark ? " dark" : " light");
    Shell shell(small_document(1, 2, 8), still_options(2));
    const auto offscreen = open_offscreen(shell, look);
    if (!offscreen) return;
    const Theme theme = Theme::make(look.dark);
    const auto check = [&](const std::string& step, const std::string& id, bool weights) {
      CAPTURE(id);
      shell.push(GoToStep{step});
      const Bytes picture = offscreen->picture();
      const Trace& trace = *shell.state().derived.trace;
      const float limit =
          weights ? 1 : robust_limit(trace.tensor(id.substr(id.find('/', 5) + 1)).cells());
      const ColorScale scale = weights ? theme.weight_scale(limit) : theme.signed_scale(limit);
      CHECK(wrong_cells(picture, look, *offscreen, trace, id, scale) == 0);
    };
    const std::string attn = "blocks.0.attn.";
    check(attn + "pattern", "pane/1/" + attn + "pattern", true);
    check(attn + "pattern", "pane/0/" + attn + "scores_masked", false);
    check(attn + "scores_raw", "pane/2/" + attn + "scores_raw", false);
    check(attn + "z", "pane/2/" + attn + "z", false);
    shell.push(DoCommand{Command::kToggleCausal});
    check(attn + "pattern", "pane/1/" + attn + "pattern", true);
  }
}

TEST_CASE("pictures: another sentence gives another picture, the first one its own again") {
  const Look look = kLooks[0];
  Shell shell(small_document(1, 2, 8), still_options(2));
  const auto offscreen = open_offscreen(shell, look);
  if (!offscreen) return;
  const auto stage = [&] {  // without the time that a run took
    const Bytes picture = offscreen->picture();
    const DrawnControl r = *offscreen->frontend().drawn().find("panel/stage");
    std::vector<Color> part;
    for (float y = r.min.y; y < r.max.y; y += 1) {
      for (float x = r.min.x; x < r.max.x; x += 1) {
        part.push_back(pixel_at(picture, look.width, x, y));
      }
    }
    return part;
  };
  const auto first = stage();
  shell.push(DoEdit{SetSentence{"猫 sat 🙂 on a mat"}, ""});
  const auto second = stage();
  CHECK_FALSE(first == second);
  shell.push(DoCommand{Command::kUndo});
  const auto third = stage();
  REQUIRE(third.size() == first.size());
  // The letters may stand elsewhere in the font's picture: a shade more or less.
  std::size_t different = 0;
  for (std::size_t i = 0; i < first.size(); ++i) different += distance(first[i], third[i]) > 0.02f;
  CHECK(different == 0);
}

}  // namespace headlight::test
