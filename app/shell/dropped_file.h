// What a file that was dropped on the window is: a session, a text, or neither.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace headlight {

struct DroppedFile {
  enum class Kind { kSession, kText, kNothing };
  Kind kind = Kind::kNothing;
  std::string text;            // kText: UTF-8, lines ended by \n, nothing at the end
  std::string_view problem{};  // kNothing: the id of the text that says why
};

inline constexpr std::size_t kMaxDroppedText = 1u << 20;

/// Never throws.
DroppedFile read_dropped(const std::string& path);

/// The same by its name, its size and its first bytes alone: a text may have any length and is not
/// read. Never throws.
DroppedFile look_at_dropped(const std::string& path);

/// The folder of the model that this is, or that it is a file of; empty: of none. Never throws.
std::filesystem::path dropped_model(const std::string& path);

}  // namespace headlight
