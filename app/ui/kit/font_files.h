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

/// What was read of the font files leaves the program's memory, until it is asked for again: the
/// characters of the interface in Chinese lie all over two files of 19 MB. Not while another thread
/// draws characters.
void let_go_of_font_pages();

}  // namespace headlight
