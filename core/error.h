// Errors that a person reads: what was expected, what came, what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace headlight {

/// Something failed (a file, memory, a device). Exit status 1 on the command line.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

/// What was asked for makes no sense (a size, a name, a cell). Exit status 2 on the command line.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(message) {}
};

}  // namespace headlight
