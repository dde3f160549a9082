// Font files: where they lie, and their bytes, mapped into memory once and shared by every size.
#pragma once

#include <memory>
#include <span>
#include <string>

namespace headlight {

/// The first of these files that one of the usual font folders has; "" when none has.
std::string first_font_file(std::initializer_list<const char*> names);

/// The bytes of a font file, mapped, not read: a Chinese font of 19 MB costs only the pages that
/// its drawn characters touch. Kept until the program ends. Empty when the file cannot be opened.
std::span<unsigned char> font_bytes(const std::string& path);

}  // namespace headlight
