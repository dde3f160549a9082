// Arrays of numbers from files of other programs: NumPy's .npy, or plain text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "core/io/npy.h"

namespace headlight {

/// Text: a line for each row, numbers separated by commas, blanks or tabs; "inf" and "-inf" are
/// numbers, and a text of "true" and "false" alone is boolean. An empty line begins the next
/// matrix: several ones are an array of three axes. Throws Error that says which line is wrong.
NumberArray parse_number_text(std::string_view text);

/// A .npy (float16, float32, float64, whole numbers, bool) by how it begins, else text. Throws
/// Error as PlainFile does, and for what it cannot read.
NumberArray read_number_file(const std::filesystem::path&, std::uint64_t max_bytes = 1u << 28);

}  // namespace headlight
