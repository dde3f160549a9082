// What the file formats write: named arrays of numbers and named lists of strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace headlight {

/// A view of numbers with a name and a shape; row-major, the last dimension contiguous. The numbers
/// must outlive the view. An empty shape is one number.
struct NamedArray {
  std::string name;
  std::vector<std::int64_t> shape;
  std::variant<std::span<const float>, std::span<const std::int64_t>> data;
};

/// Strings (UTF-8) with a name, for example the tokens of a sentence.
struct StringList {
  std::string name;
  std::vector<std::string> values;
};

/// Throws Error unless the array has a name, no negative size, and as many numbers as its shape
/// says.
void check_array(const NamedArray& array);

/// Throws Error when a name is empty or not valid UTF-8, or when two of the arrays and lists share
/// one; else checks each array as check_array does.
void check_arrays(std::span<const NamedArray> arrays, std::span<const StringList> lists);

/// Numbers in the array.
std::size_t element_count(const NamedArray& array);

/// How floats are stored. kFloat16: rounded to the nearest half (core/base/half.h), about 3 digits
/// in half the bytes.
enum class FloatStorage { kFloat32, kFloat16 };

/// Bytes of one number: 4 or 2 (float), or 8 (integer).
std::size_t element_size(const NamedArray& array, FloatStorage = FloatStorage::kFloat32);

/// Appends the numbers as little-endian bytes. Throws Error for a finite one that no half is near.
void append_data(std::string& out, const NamedArray& array, FloatStorage = FloatStorage::kFloat32);

}  // namespace headlight
