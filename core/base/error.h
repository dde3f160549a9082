// Errors that a person reads: what was expected, what came, what to do.
#pragma once

#include <stdexcept>
#include <string>

#include "core/base/message.h"

namespace headlight {

/// Something failed (a file, memory, a device). Exit status 1 on the command line. what() is
/// English; message() can be said in any language of the table.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text) : runtime_error(text), message_(Message::of(text)) {}
  explicit Error(const Message& message)
      : runtime_error(say(Language::kEnglish, message)), message_(message) {}
  const Message& message() const { return message_; }

 private:
  Message message_;
};

/// What was asked for makes no sense (a size, a name, a cell). Exit status 2 on the command line.
class UsageError : public Error {
 public:
  using Error::Error;
};

}  // namespace headlight
