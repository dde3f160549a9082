// Message: something to say to a person whose language is not known yet, or may still change.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/texts.h"

namespace headlight {

/// Fills one place of a message: with a value, or with another text of the table.
struct MessageSlot {
  std::string name, value;
  bool is_text_id = false;
  bool operator==(const MessageSlot&) const = default;
};

struct Message {
  Message() = default;
  explicit Message(std::string text_id, std::vector<MessageSlot> filled = {})
      : id(std::move(text_id)), slots(std::move(filled)) {}

  std::string id;  // of the table; empty: `plain` as it stands
  std::vector<MessageSlot> slots;
  std::shared_ptr<const Message> problem;  // fills {problem}, {Problem} with a capital letter
  std::string plain;

  /// A text that is the same in every language.
  static Message of(std::string text);
  /// This one, around another message.
  Message with(const Message& inner) const;
  bool empty() const { return id.empty() && plain.empty(); }
  friend bool operator==(const Message& a, const Message& b);
};

/// The message in this language.
std::string say(Language, const Message&);

}  // namespace headlight
