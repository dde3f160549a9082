// Texts with places: what fills them.
#include <doctest/doctest.h>

#include <array>

#include "core/base/texts.h"

namespace headlight::test_text_fill {

TEST_CASE("fill: a sentence in a place brings its own full stop, and no second one follows") {
  const auto filled = [](std::string_view text, std::string value) {
    const std::array<Slot, 1> slots = {Slot{"problem", std::move(value)}};
    return fill(text, slots);
  };
  CHECK(filled("Not read: {problem}. Go on", "it is a folder.") ==
        "Not read: it is a folder. Go on");
  CHECK(filled("Not read: {problem}. Go on", "it is a folder") ==
        "Not read: it is a folder. Go on");
  CHECK(filled("无法读取：{problem}。", "这是一个文件夹。") == "无法读取：这是一个文件夹。");
  CHECK(filled("无法读取：{problem}。", "it is a folder.") == "无法读取：it is a folder.");
  CHECK(filled("{problem}.json", "a") == "a.json");
  CHECK(filled("{problem}.json", "a.") == "a..json");
  CHECK(filled("{problem}", "a.") == "a.");
  CHECK(filled("{problem}.", "") == ".");
}

}  // namespace headlight::test_text_fill
