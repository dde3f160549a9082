// NumPy's .npy files of whole numbers, as numpy.save() writes them.
// Format: NumPy Enhancement Proposal 1.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace headlight {

/// An array of whole numbers, row-major.
struct NpyIntegers {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> values;
};

/// Reads a .npy of signed or unsigned whole numbers of 1 to 8 bytes, little-endian, C order. Trusts
/// no number of the file. Throws Error that says what was expected and what came.
NpyIntegers parse_npy_integers(std::string_view bytes);

}  // namespace headlight
