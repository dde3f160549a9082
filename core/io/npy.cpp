#include "core/io/npy.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>

#include "core/base/error.h"
#include "core/base/half.h"
#include "core/base/utf8.h"
#include "core/io/plain_file.h"

namespace headlight {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLongestHeader = 65536;  // one dictionary; NumPy's have about 100 bytes
constexpr std::size_t kMaxDimensions = 8;

[[noreturn]] void fail(const char* text, std::string_view got = {}) {
  Message message(text);
  if (!got.empty()) message.slots.push_back({"got", clean_utf8(got.substr(0, 80)).text});
  throw Error(Message{"npy.unusable"}.with(message));
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// Where the dictionary begins, and where the numbers do.
struct Parts {
  std::size_t header, data;
};

// Of a file that begins so.
Parts parts_of(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 10) fail("npy.no_magic");
  const int version = bytes[6];
  if (version < 1 || version > 3) fail("npy.version", std::to_string(version));
  const std::size_t width = version == 1 ? 2 : 4;
  if (bytes.size() < 8 + width) fail("npy.truncated");
  const std::uint64_t length = little_endian(bytes.substr(8, width));
  if (length > kLongestHeader || length > bytes.size() - 8 - width) fail("npy.truncated");
  return {8 + width, 8 + width + static_cast<std::size_t>(length)};
}

// What follows 'key': in the dictionary of the header.
std::string_view entry(std::string_view header, const std::string& key) {
  const std::size_t at = header.find("'" + key + "'");
  const std::size_t colon = at == header.npos ? at : header.find(':', at + key.size() + 2);
  if (colon == header.npos) fail("npy.header", header);
  std::string_view rest = header.substr(colon + 1);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return rest;
}

// "(3, 5)", "(7,)", "()"
std::vector<std::int64_t> read_shape(std::string_view text) {
  std::vector<std::int64_t> shape;
  const std::size_t end = text.find(')');
  if (!text.starts_with("(") || end == text.npos) fail("npy.header", text);
  std::string_view rest = text.substr(1, end - 1);
  while (!rest.empty()) {
    std::int64_t size = -1;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    if (error != std::errc() || size < 0 || shape.size() == kMaxDimensions)
      fail("npy.header", text.substr(0, end + 1));
    shape.push_back(size);
    rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
    while (!rest.empty() && (rest.front() == ',' || rest.front() == ' ')) rest.remove_prefix(1);
  }
  return shape;
}

// Numbers that the shape has; nothing where they could not be counted.
std::optional<std::size_t> count_of(const std::vector<std::int64_t>& shape, std::size_t most) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) {
    const auto n = static_cast<std::size_t>(size);
    if (n != 0 && count > most / n) return std::nullopt;
    count *= n;
  }
  return count;
}

// "'<i4'": the kind and the bytes of a number, where it is one of those that are read.
using Kinds = bool (*)(char kind, char bytes);
bool whole(char kind, char) { return kind == 'i' || kind == 'u'; }
bool any_number(char kind, char bytes) {
  return whole(kind, bytes) || (kind == 'f' && bytes != '1') || (kind == 'b' && bytes == '1');
}
std::pair<char, std::size_t> read_dtype(std::string_view text, Kinds known_kinds) {
  const char* dtype_text = known_kinds == whole ? "npy.dtype" : "npy.dtype_any";
  const std::size_t end = text.empty() ? text.npos : text.find(text.front(), 1);
  if (end == text.npos) fail("npy.header", text);
  const std::string_view name = text.substr(1, end - 1);
  const bool sized = name.size() == 3 && (name[0] == '<' || name[0] == '|') &&
                     (name[2] == '1' || name[2] == '2' || name[2] == '4' || name[2] == '8') &&
                     (name[0] == '<' || name[2] == '1');
  if (!sized || !known_kinds(name[1], name[2])) fail(dtype_text, name);
  return {name[1], static_cast<std::size_t>(name[2] - '0')};
}

struct NpyLayout {
  std::vector<std::int64_t> shape;
  char kind;          // 'i', 'u', 'f' or 'b'
  std::size_t width;  // bytes of a number
  std::size_t count;  // numbers
  std::size_t data;   // where they begin
};

// Of a file of `size` bytes that begins so, the whole header at least.
NpyLayout layout_of(std::string_view begin, std::uint64_t size, Kinds kinds = whole) {
  const Parts parts = parts_of(begin);
  const std::string_view header = begin.substr(parts.header, parts.data - parts.header);
  const auto [kind, width] = read_dtype(entry(header, "descr"), kinds);
  if (!entry(header, "fortran_order").starts_with("False")) fail("npy.fortran");
  std::vector<std::int64_t> shape = read_shape(entry(header, "shape"));
  const auto bytes = static_cast<std::size_t>(size) - parts.data;
  const auto count = count_of(shape, bytes / width);
  if (!count || *count * width != bytes) fail("npy.size", std::to_string(bytes / width));
  return {std::move(shape), kind, width, *count, parts.data};
}

std::int64_t whole_number(std::string_view bytes, char kind) {
  const int unused = 64 - 8 * static_cast<int>(bytes.size());
  const std::uint64_t raw = little_endian(bytes) << unused;
  const auto value = kind == 'i' ? static_cast<std::int64_t>(raw) >> unused
                                 : static_cast<std::int64_t>(raw >> unused);
  if (kind == 'u' && value < 0) fail("npy.too_large");
  return value;
}

double real_number(std::string_view bytes) {
  const std::uint64_t raw = little_endian(bytes);
  if (bytes.size() == 8) return std::bit_cast<double>(raw);
  if (bytes.size() == 4) return std::bit_cast<float>(static_cast<std::uint32_t>(raw));
  return half_to_float(static_cast<std::uint16_t>(raw));
}

}  // namespace

NpyIntegers read_npy_integers(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const PlainFile file(path, max_bytes);
  (void)layout_of(file.head(kLongestHeader + 12), file.size());
  return parse_npy_integers(file.all());
}

NpyIntegers parse_npy_integers(std::string_view bytes) {
  NpyLayout layout = layout_of(bytes, bytes.size());
  const auto [kind, width, count] = std::tuple(layout.kind, layout.width, layout.count);
  const std::string_view data = bytes.substr(layout.data);
  NpyIntegers result;
  result.shape = std::move(layout.shape);
  result.values.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    result.values.push_back(whole_number(data.substr(i * width, width), kind));
  return result;
}

bool is_npy(std::string_view bytes) { return bytes.starts_with(kMagic); }

NumberArray parse_npy_numbers(std::string_view bytes) {
  NpyLayout layout = layout_of(bytes, bytes.size(), any_number);
  const std::string_view data = bytes.substr(layout.data);
  NumberArray result;
  result.shape = std::move(layout.shape);
  result.is_boolean = layout.kind == 'b';
  result.values.reserve(layout.count);
  for (std::size_t i = 0; i < layout.count; ++i) {
    const std::string_view one = data.substr(i * layout.width, layout.width);
    result.values.push_back(layout.kind == 'f' ? real_number(one)
                            : layout.kind == 'b'
                                ? static_cast<double>(one[0] != 0)
                                : static_cast<double>(whole_number(one, layout.kind)));
  }
  return result;
}

}  // namespace headlight
