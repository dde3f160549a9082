#include "core/io/array.h"

#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>

#include "core/base/error.h"
#include "core/base/half.h"
#include "core/base/utf8.h"

namespace headlight {

static_assert(std::endian::native == std::endian::little, "the file formats are little-endian");

void check_array(const NamedArray& array) {
  if (array.name.empty()) {
    throw Error("Every array in a file needs a name, but one has none. Give it one.");
  }
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::int64_t product = 1;
  bool zero = false;
  for (const std::int64_t size : array.shape) {
    if (size < 0) {
      throw Error("The array '" + array.name + "' has a dimension of size " + std::to_string(size) +
                  "; sizes must be 0 or more. Correct its shape.");
    }
    zero = zero || size == 0;
  }
  for (const std::int64_t size : array.shape) {
    if (zero) break;
    if (product > kMax / size) {
      throw Error("The shape of the array '" + array.name +
                  "' has more cells than can be counted. Correct its shape.");
    }
    product *= size;
  }
  const std::uint64_t expected = zero ? 0 : static_cast<std::uint64_t>(product);
  if (expected != element_count(array)) {
    throw Error("The shape of the array '" + array.name + "' asks for " + std::to_string(expected) +
                " numbers, but it holds " + std::to_string(element_count(array)) +
                ". Correct its shape.");
  }
}

void check_arrays(std::span<const NamedArray> arrays, std::span<const StringList> lists) {
  std::set<std::string_view> names;
  const auto check_name = [&](const std::string& name) {
    if (clean_utf8(name).replaced > 0) {
      throw Error("The name of an array must be valid UTF-8, but '" + clean_utf8(name).text +
                  "' is not. Rename it.");
    }
    if (!names.insert(name).second) {
      throw Error("Two arrays of one file are named '" + name + "'. Rename one of them.");
    }
  };
  for (const NamedArray& array : arrays) {
    check_array(array);
    check_name(array.name);
  }
  for (const StringList& list : lists) {
    if (list.name.empty()) {
      throw Error("Every list in a file needs a name, but one has none. Give it one.");
    }
    check_name(list.name);
  }
}

namespace {

void append_halves(std::string& out, const NamedArray& array) {
  for (const float value : std::get<std::span<const float>>(array.data)) {
    const std::uint16_t half = float_to_half(value);
    if (std::isfinite(value) && !std::isfinite(half_to_float(half)))
      throw Error(Message{"safetensors.half_range", {{"name", array.name}}});
    out.append(reinterpret_cast<const char*>(&half), sizeof half);
  }
}

}  // namespace

std::size_t element_count(const NamedArray& array) {
  return std::visit([](const auto& data) { return data.size(); }, array.data);
}

std::size_t element_size(const NamedArray& array, FloatStorage storage) {
  if (std::holds_alternative<std::span<const std::int64_t>>(array.data)) return 8;
  return storage == FloatStorage::kFloat16 ? 2 : 4;
}

void append_data(std::string& out, const NamedArray& array, FloatStorage storage) {
  if (element_size(array, storage) == 2) return append_halves(out, array);
  std::visit(
      [&](const auto& data) {
        if (!data.empty())
          out.append(reinterpret_cast<const char*>(data.data()), data.size_bytes());
      },
      array.data);
}

}  // namespace headlight
