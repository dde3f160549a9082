// NumPy's .npy files, as numpy.save() writes them.
// Format: NumPy Enhancement Proposal 1.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace headlight {

/// Row-major. `is_boolean`: true and false, as 1 and 0.
struct NumberArray {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
  bool is_boolean = false;
};

/// An array of whole numbers, row-major.
struct NpyIntegers {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> values;
};

/// Reads a .npy of signed or unsigned whole numbers of 1 to 8 bytes, little-endian, C order. Trusts
/// no number of the file. Throws Error that says what was expected and what came.
NpyIntegers parse_npy_integers(std::string_view bytes);

/// Does a file that begins so call itself a .npy?
bool is_npy(std::string_view bytes);

/// The same for whole numbers, floating-point numbers of 2, 4 or 8 bytes, and truth values.
NumberArray parse_npy_numbers(std::string_view bytes);

}  // namespace headlight
