// Legends, ranges of colours, and colours as other eyes see them.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/platform/offscreen.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "tests/gui/color_checks.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

constexpr std::array<Vision, 3> kDichromacies = {Vision::kProtanopia, Vision::kDeuteranopia,
                                                 Vision::kTritanopia};

// The words that stand in a rectangle of the window.
std::string words_in(Gui& gui, const std::string& id) {
  const DrawnControl r = gui.rect(id);
  for (const DrawnText& text : gui.texts()) {
    const ImVec2 middle = {(text.min.x + text.max.x) / 2, (text.min.y + text.max.y) / 2};
    if (middle.x >= r.min.x - 1 && middle.x <= r.max.x + 1 && middle.y >= r.min.y - 2 &&
        middle.y <= r.max.y + 2) {
      return text.words;
    }
  }
  return "";
}

// Panes of the page that is shown, by their probe ids.
std::vector<std::string> pane_ids(const Gui& gui) {
  std::vector<std::string> ids;
  for (const auto& entry : gui.drawn().all()) {
    if (entry.first.starts_with("pane/")) ids.push_back(entry.first);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

TEST_CASE("look: the legend's numbers are those of the range that coloured the pane") {
  Gui gui(small_document(2, 2, 8), {1440, 900});
  for (const bool own : {false, true}) {
    gui.push(ChooseRange{own ? RangeMode::kPicture : RangeMode::kShared});
    for (const std::string& step : step_names(gui.trace().program())) {
      if (step == "token_ids") continue;
      gui.push(GoToStep{step});
      gui.move_to({-1, -1});
      for (const std::string& id : pane_ids(gui)) {
        gui.hover(id);
        gui.frame();
        if (!gui.state().session.hovered) continue;
        const DrawnHeatmap& drawn = gui.heatmap(id);
        const HeatmapQuad quad = drawn.quad;
        CAPTURE(own);
        CAPTURE(step);
        CAPTURE(id);
        float lowest = 0, highest = 0;
        for (std::int64_t r = 0; r < quad.rows; ++r) {
          for (std::int64_t c = 0; c < quad.columns; ++c) {
            const float v = drawn.cell(r, c);
            if (!std::isfinite(v)) continue;
            lowest = std::min(lowest, v);
            highest = std::max(highest, v);
          }
        }
        const std::string high = words_in(gui, "legend/high"), low = words_in(gui, "legend/low");
        const std::string limit = fine_number(quad.scale.limit, 3);
        const std::string least = fine_number(-quad.scale.limit, 3);
        CHECK((high == limit || high == "≥" + limit));
        if (quad.scale.map == ColorMap::kDiverging) {
          CHECK((low == least || low == "≤" + least));
        } else {
          CHECK(low == "0");
        }
        // A picture that holds numbers beyond the range says so.
        if (highest > quad.scale.limit) CHECK(high == "≥" + limit);
        if (lowest < -quad.scale.limit) CHECK(low == "≤" + least);
        if (own) {
          std::vector<float> cells;
          for (std::int64_t r = 0; r < quad.rows; ++r) {
            for (std::int64_t c = 0; c < quad.columns; ++c) cells.push_back(drawn.cell(r, c));
          }
          const bool weights = quad.scale.map == ColorMap::kSequential;
          CHECK(quad.scale.limit == (weights ? highest : robust_limit(cells)));
        }
      }
    }
  }
}

TEST_CASE("look: one range for all heads of a layer, or each picture its own") {
  Gui gui(small_document(2, 2, 8), {1440, 900});
  gui.push(GoToStep{"blocks.0.attn.scores_raw"});
  gui.move_to({-1, -1});
  const Document before = gui.document();
  const std::string id = "pane/2/blocks.0.attn.scores_raw";
  const auto limit = [&] { return gui.heatmap(id).quad.scale.limit; };
  const auto whole = [&](const char* name) { return robust_limit(gui.tensor(name).cells()); };
  const float shared = whole("blocks.0.attn.scores_raw");
  CHECK(limit() == shared);
  gui.click("legend/range");
  CHECK(gui.state().session.range == RangeMode::kPicture);
  gui.move_to({-1, -1});
  const TensorView t = gui.tensor("blocks.0.attn.scores_raw");
  const auto one = static_cast<std::size_t>(t.axes[2].size * t.axes[3].size);
  CHECK(limit() == robust_limit(t.cells().subspan(0, one)));
  gui.push(ChooseHead{1});
  CHECK(limit() == robust_limit(t.cells().subspan(one, one)));
  gui.key({'R', false, false});
  CHECK(gui.state().session.range == RangeMode::kShared);
  CHECK(limit() == shared);
  CHECK(gui.document() == before);
}

TEST_CASE("look: colour maps can be told apart and stay in order for all eyes") {
  for (const bool dark : {false, true}) {
    CAPTURE(dark);
    const Theme t = Theme::make(dark);
    const ColorScale weights = t.weight_scale(1), values = t.signed_scale(1);
    for (int v = 0; v < kVisionCount; ++v) {
      CAPTURE(v);
      const auto seen = [&](Color c) { return seen_with(static_cast<Vision>(v), c); };
      const auto apart = [&](Color a, Color b) { return color_difference(seen(a), seen(b)); };
      CHECK(apart(weights.center, weights.high) > 50);
      CHECK(apart(values.center, values.high) > 30);
      CHECK(apart(values.center, values.low) > 30);
      CHECK(apart(values.center, values.hatch) > 12);
      CHECK(apart(values.center, values.invalid) > 40);
      if (static_cast<Vision>(v) != Vision::kGrey) CHECK(apart(values.low, values.high) > 60);
      // Lightness runs one way from the centre to each end.
      const auto monotone = [&](const ColorScale& scale, float end) {
        const float sign = dark ? 1.0f : -1.0f;
        float last = lightness(seen(color_at(scale, 0)));
        for (int i = 1; i <= 20; ++i) {
          const float now = lightness(seen(color_at(scale, end * static_cast<float>(i) / 20)));
          CHECK((now - last) * sign > 0.2f);
          last = now;
        }
      };
      monotone(weights, 1);
      monotone(values, 1);
      monotone(values, -1);
    }
    const std::array<Color, 4> roles = {t.q, t.k, t.v, t.pattern};
    for (const Vision v : kDichromacies) {
      CAPTURE(static_cast<int>(v));
      for (std::size_t a = 0; a < 4; ++a) {
        for (std::size_t b = a + 1; b < 4; ++b) {
          CAPTURE(a);
          CAPTURE(b);
          CHECK(color_difference(seen_with(v, roles[a]), seen_with(v, roles[b])) > 10);
        }
      }
    }
  }
}

TEST_CASE("look: red, green and blue look as the literature says") {
  // Machado, Oliveira, Fernandes 2009, table 1, severity 1.0, by hand: linear columns to sRGB.
  const auto near = [](Color c, float r, float g, float b) {
    return std::fabs(c.r - r) < 0.01f && std::fabs(c.g - g) < 0.01f && std::fabs(c.b - b) < 0.01f;
  };
  CHECK(near(seen_with(Vision::kProtanopia, rgb(0xFF0000)), 0.427f, 0.374f, 0));
  CHECK(near(seen_with(Vision::kProtanopia, rgb(0x00FF00)), 1, 0.899f, 0));
  CHECK(near(seen_with(Vision::kDeuteranopia, rgb(0xFF0000)), 0.641f, 0.567f, 0));
  CHECK(near(seen_with(Vision::kDeuteranopia, rgb(0x0000FF)), 0, 0.241f, 0.986f));
  CHECK(near(seen_with(Vision::kTritanopia, rgb(0x0000FF)), 0, 0.421f, 0.588f));
  CHECK(near(seen_with(Vision::kTritanopia, rgb(0x00FF00)), 0, 0.969f, 0.851f));
}

TEST_CASE("look: colours of other eyes are said, and there is a way back") {
  Gui gui(small_document());
  const Document before = gui.document();
  CHECK_FALSE(gui.has("vision"));
  for (int i = 1; i < kVisionCount; ++i) {
    gui.push(DoCommand{Command::kNextVision});
    CHECK(static_cast<int>(gui.state().session.vision) == i);
    CHECK(gui.has("vision"));
    CHECK(gui.shows("Colours as seen"));
  }
  gui.click("vision/back");
  CHECK(gui.state().session.vision == Vision::kFull);
  CHECK_FALSE(gui.has("vision"));
  CHECK(gui.document() == before);
}

TEST_CASE("look: the whole window goes through the colours of other eyes") {
  constexpr int kWidth = 1800;  // there is room in the line of the menus to say so
  Shell shell(small_document(), still_options(1));
  std::unique_ptr<Offscreen> screen;
  try {
    screen = std::make_unique<Offscreen>(shell, kWidth, 400);
  } catch (const Error& error) {
    MESSAGE("SKIPPED: ", error.what());
    return;
  }
  const std::vector<std::uint8_t> full = screen->picture();
  for (const Vision vision : {Vision::kDeuteranopia, Vision::kTritanopia, Vision::kGrey}) {
    shell.push(ChooseVision{vision});
    const std::vector<std::uint8_t> seen = screen->picture();
    // Below that line nothing else differs.
    int wrong = 0;
    for (std::size_t i = std::size_t{kWidth} * 40 * 4; i < full.size(); i += 4) {
      const auto channel = [&](const std::vector<std::uint8_t>& p, std::size_t c) {
        return static_cast<float>(p[i + c]) / 255;
      };
      const Color wanted =
          seen_with(vision, {channel(full, 0), channel(full, 1), channel(full, 2), 1});
      wrong += std::fabs(wanted.r - channel(seen, 0)) > 0.013f ||
               std::fabs(wanted.g - channel(seen, 1)) > 0.013f ||
               std::fabs(wanted.b - channel(seen, 2)) > 0.013f;
    }
    CAPTURE(static_cast<int>(vision));
    CHECK(wrong == 0);
  }
  shell.push(ChooseVision{Vision::kFull});
  CHECK(screen->picture() == full);
}

}  // namespace headlight::test
