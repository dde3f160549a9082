#include "app/ui/matrix/place_words.h"

#include <algorithm>

#include "app/ui/kit/line_text.h"
#include "core/base/utf8.h"
#include "core/train/data/next_sentence.h"

namespace headlight {

namespace {

// What has words of its own in this language; empty: it has a name.
std::string own_words(const Ui& ui, const Trace& trace, std::string_view axis, std::int64_t i) {
  if (axis == "batch") return std::string(ui.tr("axis.sentence"));
  const std::vector<std::string>& classes = trace.input().classes;
  return axis == "class" && i < std::ssize(classes) ? class_label(ui, classes, i) : "";
}

}  // namespace

std::string class_label(const Ui& ui, std::span<const std::string> classes, std::int64_t i) {
  if (std::ranges::equal(classes, kNextSentenceClasses))
    return std::string(ui.tr(i == 0 ? "class.next" : "class.other"));
  // Words, between which blanks are blanks; in a token each has to be seen.
  const std::string& name = classes[static_cast<std::size_t>(i)];
  const bool seen = name.find_first_not_of(' ') != name.npos;
  return seen ? to_line_text(visual_order(shortened(name, 80))) : token_label(name);
}

std::string place_label(const Ui& ui, const Trace& trace, std::string_view axis, std::int64_t i) {
  const std::string words = own_words(ui, trace, axis, i);
  return words.empty() ? token_label(trace.tick(axis, i)) : words;
}

std::string place_name(const Ui& ui, const Trace& trace, std::string_view axis, std::int64_t i) {
  const std::string words = own_words(ui, trace, axis, i);
  return words.empty() ? token_label(trace.name(axis, i)) : words;
}

}  // namespace headlight
