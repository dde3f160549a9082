// headlight screenshot, render and walk: pictures without a display.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <sstream>

#include "tests/cli/child.h"
#include "tests/support/read_png.h"

namespace headlight::test_cli_pictures {

using namespace headlight;
using namespace headlight::test;

namespace {

const Args kSentence = {"--sentence", "the cat sat on the mat", "--layers", "1"};
const Environment kNoDisplay = {{"DISPLAY", {}}, {"WAYLAND_DISPLAY", {}}};

Picture drawn(const Args& args, const Environment& changes = kNoDisplay) {
  const Folder folder;
  run_well(joined(joined(args, kSentence), {"--out", folder / "a.png"}), changes);
  return decode_png(read_bytes(folder / "a.png"));
}

double brightness(const Picture& picture) {
  double sum = 0;
  for (std::size_t i = 0; i < picture.rgba.size(); i += 4) sum += picture.rgba[i + 1];
  return sum / static_cast<double>(picture.rgba.size() / 4) / 255;
}

std::size_t colours(const Picture& picture) {
  std::set<std::uint32_t> seen;
  for (std::size_t i = 0; i < picture.rgba.size(); i += 4) {
    seen.insert(static_cast<std::uint32_t>(picture.rgba[i] << 16 | picture.rgba[i + 1] << 8 |
                                           picture.rgba[i + 2]));
  }
  return seen.size();
}

// Below the top bar, which says how many milliseconds the run took.
bool same(const Picture& a, const Picture& b) {
  if (a.width != b.width || a.height != b.height) return false;
  const auto skipped = static_cast<std::ptrdiff_t>(a.width) * 4 * 40;
  return std::equal(a.rgba.begin() + skipped, a.rgba.end(), b.rgba.begin() + skipped);
}

}  // namespace

TEST_CASE("screenshot: every size, scale and theme") {
  if (!can_draw()) return;
  const Picture plain = drawn({"screenshot"});
  CHECK(plain.width == 1280);
  CHECK(plain.height == 720);
  CHECK(colours(plain) > 100);
  CHECK(brightness(plain) > 0.7);
  const Picture large = drawn({"screenshot", "--size", "1920x1080"});
  CHECK(large.width == 1920);
  CHECK(large.height == 1080);
  CHECK(colours(large) > 100);
  const Picture scaled = drawn({"screenshot", "--size", "1920x1080", "--scale", "2"});
  CHECK(scaled.width == 1920);
  CHECK_FALSE(same(scaled, large));
  const Picture dark = drawn({"screenshot", "--theme", "dark"});
  CHECK(colours(dark) > 100);
  CHECK(brightness(dark) < 0.4);
}

TEST_CASE("screenshot: a step, a head, a cell, a second head and a panel can be shown") {
  if (!can_draw()) return;
  std::vector<Picture> all = {
      drawn({"screenshot"}),
      drawn({"screenshot", "--step", "blocks.0.attn.scores_raw"}),
      drawn({"screenshot", "--step", "blocks.0.attn.pattern", "--head", "2"}),
      drawn({"screenshot", "--step", "blocks.0.attn.pattern", "--head", "2", "--at", "2,3,1"}),
      drawn({"screenshot", "--step", "blocks.0.attn.pattern", "--compare", "3"}),
      drawn({"screenshot", "--step", "blocks.0.attn.pattern", "--mask", "none"}),
      drawn({"screenshot", "--open", "model"}),
      drawn({"screenshot", "--open", "keys"})};
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      CAPTURE(a);
      CAPTURE(b);
      CHECK_FALSE(same(all[a], all[b]));
    }
  }
  CHECK(same(all[0], drawn({"screenshot"})));
}

TEST_CASE("screenshot: the empty sentence shows the window that asks for one") {
  if (!can_draw()) return;
  const Folder folder;
  run_well({"screenshot", "--sentence", "", "--out", folder / "a.png"}, kNoDisplay);
  CHECK(colours(decode_png(read_bytes(folder / "a.png"))) > 5);
  check_refused(run({"screenshot", "--sentence", "", "--step", "embed", "--out", folder / "b.png"}),
                2, {"the sentence is empty"});
}

TEST_CASE("screenshot: works on a machine without fonts") {
  if (!can_draw()) return;
  Environment bare = kNoDisplay;
  bare["HEADLIGHT_NO_FONTS"] = "1";
  const Picture picture = drawn({"screenshot"}, bare);
  CHECK(picture.width == 1280);
  CHECK(colours(picture) > 50);
}

TEST_CASE("screenshot: text in any script") {
  if (!can_draw()) return;
  const Folder folder;
  for (const char* text :
       {"我喜欢机器学习", "שלום עולם", "مرحبا بالعالم", "e\xcc\x81te\xcc\x81 n\xcc\x83",
        "👩‍👩‍👧 🎉 🇨🇭", "a\tb\x01\x1b[31mc\nd", "\xff\xfe\xc0\x80"}) {
    CAPTURE(text);
    run_well({"screenshot", "--sentence", text, "--out", folder / "a.png"}, kNoDisplay);
    CHECK(decode_png(read_bytes(folder / "a.png")).width == 1280);
  }
}

TEST_CASE("render: one head, and all of them") {
  if (!can_draw()) return;
  const Args step = {"render", "--step", "blocks.0.attn.pattern"};
  const Picture one = drawn(joined(step, {"--head", "1"}));
  const Picture other = drawn(joined(step, {"--head", "2"}));
  const Picture all = drawn(joined(step, {"--head", "all", "--size", "900x700"}));
  CHECK(one.width == 1280);
  CHECK(all.width == 900);
  CHECK(all.height == 700);
  CHECK_FALSE(same(one, other));
  for (const Picture* picture : {&one, &other, &all}) CHECK(colours(*picture) > 20);
}

TEST_CASE("walk: one picture for each step, named in order") {
  if (!can_draw()) return;
  const Folder folder;
  const std::string out = folder / "pictures/of the walk";
  const Result result =
      run_well(joined({"walk", "--out", out, "--size", "640x400"}, kSentence), kNoDisplay);
  std::istringstream lines(result.out);
  std::string line;
  std::vector<std::string> paths;
  while (std::getline(lines, line)) paths.push_back(line);
  CHECK(paths.size() > 20);
  CHECK(std::is_sorted(paths.begin(), paths.end()));
  CHECK(paths.front() == out + "/001_token_ids.png");
  CHECK(contains(result.out, "_blocks.0.attn.pattern.png"));
  CHECK(contains(paths.back(), "_probs.png"));
  std::set<std::string> different;
  for (const std::string& path : paths) {
    const std::string bytes = read_bytes(path);
    CHECK(decode_png(bytes).width == 640);
    different.insert(bytes);
  }
  CHECK(different.size() == paths.size());
}

TEST_CASE("walk: the backward pass, from the loss to the embedding") {
  if (!can_draw()) return;
  const Folder folder;
  const std::string out = folder / "pictures";
  const Result result = run_well(
      joined({"walk", "--backward", "--out", out, "--size", "640x400"}, kSentence), kNoDisplay);
  CHECK(contains(result.out, out + "/001_d."));
  CHECK(contains(result.out, "_d.blocks.0.attn.scores_raw.png"));
  CHECK_FALSE(contains(result.out, "_blocks.0.attn.pattern.png"));
}

TEST_CASE("pictures: what cannot be drawn or saved is said") {
  const Folder folder;
  const std::string out = folder / "a.png";
  check_refused(run({"screenshot", "--out", folder / "no/such/a.png"}), 1,
                {"a.png", "No such file or directory", "Create the folder"});
  check_refused(run({"screenshot", "--out", "/dev/full"}), 1, {"No space left"});
  check_refused(run({"walk", "--out", folder.write("file", "")}), 1, {"Could not save"});
  check_refused(run({"screenshot", "--size", "10x10", "--out", out}), 2, {"1280x720", "10x10"});
  check_refused(run({"screenshot", "--size", "x", "--out", out}), 2, {"1280x720"});
  check_refused(run({"screenshot", "--theme", "blue", "--out", out}), 2, {"light", "dark"});
  check_refused(run({"screenshot", "--scale", "9", "--out", out}), 2, {"0.75", "4"});
  check_refused(run({"render", "--step", "blocks.0.attn.patern", "--out", out}), 2,
                {"no tensor named 'blocks.0.attn.patern'", "did you mean 'blocks.0.attn.pattern'"});
  check_refused(run({"render", "--step", "blocks.0.attn.pattern", "--head", "4", "--out", out}), 2,
                {"--head must be from 0 to 3", "4"});
  check_refused(run({"screenshot", "--step", "blocks.0.attn.pattern", "--at", "0,1", "--out", out}),
                2, {"3 numbers", "got 2"});
  check_refused(run({"render", "--out", out}), 2, {"--step"});
  for (const Args& args : {Args{"screenshot"}, Args{"render", "--step", "logits"}}) {
    check_refused(run(joined(args, {"--out", folder / "a.jpg"})), 2, {".png", ".jpg"});
    CHECK_FALSE(std::filesystem::exists(folder / "a.jpg"));
  }
  check_refused(run({"screenshot"}), 2, {"--out"});
  check_refused(run({"walk", "--sentence", " ", "--out", folder / "walk"}), 2, {"only spaces"});
  CHECK_FALSE(std::filesystem::exists(out));
}

}  // namespace headlight::test_cli_pictures
