// The safetensors format: 8 bytes of header length, a JSON header, then the numbers.
// Format: https://github.com/huggingface/safetensors
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/array.h"

namespace headlight {

/// The bytes of a file: F32 (or F16) and I64 tensors, the header padded with spaces so that the
/// numbers start at a multiple of 8. Integers come first, then floats, each by name, so every
/// tensor is aligned. `metadata` becomes "__metadata__" (invalid UTF-8 in it becomes U+FFFD). The
/// same input gives the same bytes. Throws Error for clashing names, shapes that do not fit, a
/// header over 100 MB, and a finite number that is none as a half.
std::string to_safetensors(std::span<const NamedArray> arrays,
                           const std::map<std::string, std::string>& metadata = {},
                           FloatStorage storage = FloatStorage::kFloat32);

/// One tensor of a file that has been read.
struct SafetensorsEntry {
  std::string dtype;  // as in the file: "F32", "BF16", ...
  std::vector<std::int64_t> shape;
  std::size_t begin = 0;  // byte range [begin, end) in the data section
  std::size_t end = 0;
  bool operator==(const SafetensorsEntry&) const = default;
};

/// A file that has been read and checked. It owns its bytes.
struct SafetensorsFile {
  std::map<std::string, SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;
  std::string bytes;           // the whole file
  std::size_t data_start = 0;  // where the data section begins in `bytes`

  /// The bytes of one entry.
  std::string_view data_of(const SafetensorsEntry& entry) const {
    return std::string_view(bytes).substr(data_start + entry.begin, entry.end - entry.begin);
  }
};

/// The bytes of a file whose numbers are still to be written: zeros, at the places that `entries`
/// then has. Of each entry `dtype` and `shape` are given. Throws Error as to_safetensors() does.
SafetensorsFile blank_safetensors(std::map<std::string, SafetensorsEntry> entries,
                                  const std::map<std::string, std::string>& metadata = {});

/// Reads a file and checks all of it: header length, JSON, unique names, known dtypes, sizes that
/// agree with shapes, and byte ranges that fill the data section without overlap or hole. Never
/// trusts a number of the file. Throws Error with what was expected and what came.
SafetensorsFile parse_safetensors(std::string bytes);

/// The same of a plain file (core/io/plain_file.h) of at most so many bytes. Its header is read and
/// checked against the file's size before the numbers are; read_safetensors_header() leaves them
/// where they are: `bytes` is then empty.
SafetensorsFile read_safetensors(const std::filesystem::path&, std::uint64_t max_bytes);
SafetensorsFile read_safetensors_header(const std::filesystem::path&, std::uint64_t max_bytes);
/// The same of an open one.
class PlainFile;
SafetensorsFile safetensors_header(const PlainFile&);

/// A tensor's numbers, row-major, as floats. F64 and large integers are rounded; BOOL is 0 or 1.
/// Throws Error when there is no such tensor, its dtype is an 8-bit float, or an F64 is beyond the
/// largest float.
std::vector<float> tensor_as_float(const SafetensorsFile& file, std::string_view name);

/// A tensor's integers, row-major. Throws Error when there is no such tensor, it holds floats, or a
/// U64 value does not fit.
std::vector<std::int64_t> tensor_as_int64(const SafetensorsFile& file, std::string_view name);

}  // namespace headlight
