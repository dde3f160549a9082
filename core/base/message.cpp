#include "core/base/message.h"

namespace headlight {

Message Message::of(std::string text) {
  Message message;
  message.plain = std::move(text);
  return message;
}

Message Message::with(const Message& inner) const {
  Message message = *this;
  message.problem = std::make_shared<const Message>(inner);
  return message;
}

bool operator==(const Message& a, const Message& b) {
  const bool same = a.id == b.id && a.plain == b.plain && a.slots == b.slots;
  if (!same || !a.problem != !b.problem) return false;
  return !a.problem || *a.problem == *b.problem;
}

namespace {

// As part of a longer text: the sentence around it has a full stop of its own.
std::string without_full_stop(std::string text) {
  constexpr std::string_view kChineseStop = "。";
  if (text.ends_with('.')) text.pop_back();
  if (text.ends_with(kChineseStop)) text.resize(text.size() - kChineseStop.size());
  return text;
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

}  // namespace

std::string say(Language language, const Message& message) {
  if (message.id.empty()) return message.plain;
  std::vector<Slot> slots;
  for (const MessageSlot& slot : message.slots) {
    slots.push_back(
        {slot.name, slot.is_text_id ? std::string(tr(language, slot.value)) : slot.value});
  }
  if (message.problem) {
    const std::string inner = without_full_stop(say(language, *message.problem));
    slots.push_back({"problem", inner});
    slots.push_back({"Problem", capitalised(inner)});
  }
  return fill(tr(language, message.id), slots);
}

}  // namespace headlight
