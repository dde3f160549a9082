// Formats: NumPy Enhancement Proposal 1 (.npy 1.0) and PKWARE's APPNOTE 6.3 (zip, method "stored").
#include "core/io/npz.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/error.h"
#include "core/base/utf8.h"

namespace headlight {
namespace {

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1) ? 0xEDB88320u ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kCrcTable = make_crc_table();

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t c = 0xFFFFFFFFu;
  for (const char byte : bytes) {
    c = kCrcTable[(c ^ static_cast<unsigned char>(byte)) & 0xFF] ^ (c >> 8);
  }
  return ~c;
}

void append_u16(std::string& out, std::uint32_t v) {
  out += static_cast<char>(v & 0xFF);
  out += static_cast<char>((v >> 8) & 0xFF);
}

void append_u32(std::string& out, std::uint32_t v) {
  append_u16(out, v & 0xFFFF);
  append_u16(out, v >> 16);
}

// One .npy of the archive; its data is written when its turn comes, so that nothing is copied
// twice.
struct Member {
  std::string name;
  std::string header;           // magic, version, length and dictionary
  std::uint64_t data_size = 0;  // bytes
  const NamedArray* array = nullptr;
  const StringList* list = nullptr;
  std::size_t width = 0;  // code points per string, of a list
  std::uint32_t crc = 0;
  std::uint32_t offset = 0;

  std::uint32_t size() const { return static_cast<std::uint32_t>(header.size() + data_size); }
};

constexpr std::uint64_t kLocalHeader = 30;
constexpr std::uint64_t kCentralHeader = 46;
constexpr std::uint64_t kEndRecord = 22;

std::string npy_header(std::string_view dtype, std::span<const std::int64_t> shape,
                       const std::string& name) {
  std::string dict = "{'descr': '" + std::string(dtype) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    dict += (i ? ", " : "") + std::to_string(shape[i]);
  }
  dict += shape.size() == 1 ? ",), }" : "), }";
  // The data starts at a multiple of 64 bytes of the .npy; the header ends with a newline.
  constexpr std::size_t kPrefix = 10;
  dict.append(63 - (kPrefix + dict.size()) % 64, ' ');
  dict += '\n';
  if (dict.size() > 0xFFFF) {
    throw Error("The array '" + name + "' has " + std::to_string(shape.size()) +
                " dimensions, too many for a .npy file. Save it with fewer dimensions.");
  }
  std::string out("\x93NUMPY\x01\x00", 8);
  append_u16(out, static_cast<std::uint32_t>(dict.size()));
  return out + dict;
}

Member array_member(const NamedArray& array) {
  Member m;
  m.name = array.name + ".npy";
  m.header = npy_header(element_size(array) == 4 ? "<f4" : "<i8", array.shape, array.name);
  m.data_size = element_count(array) * element_size(array);
  m.array = &array;
  return m;
}

Member list_member(const StringList& list) {
  Member m;
  m.name = list.name + ".npy";
  m.width = 1;  // NumPy has no strings of width 0
  for (const std::string& s : list.values) m.width = std::max(m.width, to_code_points(s).size());
  const std::int64_t shape[] = {static_cast<std::int64_t>(list.values.size())};
  m.header = npy_header("<U" + std::to_string(m.width), shape, list.name);
  m.data_size = std::uint64_t{4} * m.width * list.values.size();
  m.list = &list;
  return m;
}

void append_member_data(std::string& out, const Member& m) {
  out += m.header;
  if (m.array != nullptr) return append_data(out, *m.array);
  for (const std::string& s : m.list->values) {
    const std::u32string points = to_code_points(s);
    for (const char32_t c : points) append_u32(out, static_cast<std::uint32_t>(c));
    out.append((m.width - points.size()) * 4, '\0');
  }
}

// The fields that a local header and the central directory share.
void append_common(std::string& out, const Member& m) {
  append_u16(out, 20);            // version 2.0 is enough to read it
  append_u16(out, 0x0800);        // the name is UTF-8
  append_u16(out, 0);             // stored
  append_u16(out, 0);             // 00:00, the same bytes for the same data
  append_u16(out, (1 << 5) | 1);  // 1980-01-01, the first day that zip knows
  append_u32(out, m.crc);
  append_u32(out, m.size());
  append_u32(out, m.size());
  append_u16(out, static_cast<std::uint32_t>(m.name.size()));
  append_u16(out, 0);  // no extra field
}

// Bytes of the whole archive; throws before anything large is allocated.
std::uint64_t checked_size(std::span<const Member> members) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
  if (members.size() >= 0xFFFF) {
    throw Error("An .npz file may hold up to 65534 arrays; this one would have " +
                std::to_string(members.size()) + ". Save fewer arrays.");
  }
  std::uint64_t total = kEndRecord;
  for (const Member& m : members) {
    if (m.name.size() > 0xFFFF) {
      throw Error("An array's name in an .npz file may have up to 65531 bytes; this one has " +
                  std::to_string(m.name.size()) + ". Choose a shorter name.");
    }
    total += kLocalHeader + kCentralHeader + 2 * m.name.size() + m.header.size();
    if (m.data_size > kMax || total + m.data_size > kMax) {
      throw Error("An .npz file may have up to 4 GiB, but '" + m.name +
                  "' takes this one over it. Save fewer tensors or a shorter sentence.");
    }
    total += m.data_size;
  }
  return total;
}

}  // namespace

std::string to_npy(const NamedArray& array) {
  check_array(array);
  const bool floats = std::holds_alternative<std::span<const float>>(array.data);
  std::string bytes = npy_header(floats ? "<f4" : "<i8", array.shape, array.name);
  append_data(bytes, array);
  return bytes;
}

std::string to_npz(std::span<const NamedArray> arrays, std::span<const StringList> lists) {
  check_arrays(arrays, lists);
  std::vector<Member> members;
  for (const NamedArray& array : arrays) members.push_back(array_member(array));
  for (const StringList& list : lists) members.push_back(list_member(list));

  std::string out;
  out.reserve(checked_size(members));
  for (Member& m : members) {
    m.offset = static_cast<std::uint32_t>(out.size());
    append_u32(out, 0x04034B50);
    append_common(out, m);
    out += m.name;
    const std::size_t data = out.size();
    append_member_data(out, m);
    m.crc = crc32(std::string_view(out).substr(data));
    // The checksum is known only now; it stands 14 bytes into the local header.
    std::string crc;
    append_u32(crc, m.crc);
    out.replace(m.offset + 14, 4, crc);
  }
  const auto directory = static_cast<std::uint32_t>(out.size());
  for (const Member& m : members) {
    append_u32(out, 0x02014B50);
    append_u16(out, (3 << 8) | 20);  // made on Unix
    append_common(out, m);
    append_u16(out, 0);               // no comment
    append_u16(out, 0);               // disk 0
    append_u16(out, 0);               // not text
    append_u32(out, 0100644u << 16);  // permissions after unzip: rw-r--r--
    append_u32(out, m.offset);
    out += m.name;
  }
  const auto directory_size = static_cast<std::uint32_t>(out.size()) - directory;
  append_u32(out, 0x06054B50);
  append_u32(out, 0);  // one disk
  append_u16(out, static_cast<std::uint32_t>(members.size()));
  append_u16(out, static_cast<std::uint32_t>(members.size()));
  append_u32(out, directory_size);
  append_u32(out, directory);
  append_u16(out, 0);  // no comment
  return out;
}

}  // namespace headlight
