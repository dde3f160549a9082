#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/io/npz.h"

namespace headlight::test_io_npz {

namespace {

std::uint32_t number(const std::string& bytes, std::size_t at, int size) {
  std::uint32_t v = 0;
  for (int i = size - 1; i >= 0; --i) {
    v = (v << 8) | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  }
  return v;
}

// The one member's .npy bytes; the layout of the zip around it is checked on the way.
std::string only_member(const std::string& zip, const std::string& name) {
  REQUIRE(zip.substr(0, 4) == "PK\x03\x04");
  CHECK(number(zip, 6, 2) == 0x0800);  // UTF-8 name
  CHECK(number(zip, 8, 2) == 0);       // stored
  const std::uint32_t size = number(zip, 18, 4);
  CHECK(number(zip, 22, 4) == size);
  CHECK(number(zip, 26, 2) == name.size());
  CHECK(number(zip, 28, 2) == 0);
  CHECK(zip.substr(30, name.size()) == name);
  const std::size_t central = 30 + name.size() + size;
  REQUIRE(zip.substr(central, 4) == "PK\x01\x02");
  CHECK(zip.substr(central + 16, 12) == zip.substr(14, 12));  // checksum and sizes
  CHECK(number(zip, central + 42, 4) == 0);                   // offset of the member
  CHECK(zip.substr(central + 46, name.size()) == name);
  const std::size_t end = central + 46 + name.size();
  REQUIRE(zip.substr(end, 4) == "PK\x05\x06");
  CHECK(number(zip, end + 8, 2) == 1);
  CHECK(number(zip, end + 12, 4) == 46 + name.size());
  CHECK(number(zip, end + 16, 4) == central);
  CHECK(zip.size() == end + 22);
  return zip.substr(30 + name.size(), size);
}

}  // namespace

TEST_CASE("npz: a float array, byte by byte") {
  const std::vector<float> data = {1.0f, -0.0f, std::numeric_limits<float>::infinity(), 4, 5, 6};
  const NamedArray arrays[] = {{"blocks.0.attn.pattern", {2, 3}, std::span<const float>(data)}};
  const std::string npy = only_member(to_npz(arrays), "blocks.0.attn.pattern.npy");
  REQUIRE(npy.size() == 128 + 24);
  CHECK(npy.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
  CHECK(number(npy, 8, 2) == 118);
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  CHECK(npy.substr(10, dict.size()) == dict);
  CHECK(npy.substr(10 + dict.size(), 117 - dict.size()) == std::string(117 - dict.size(), ' '));
  CHECK(npy[127] == '\n');
  CHECK(std::memcmp(npy.data() + 128, data.data(), 24) == 0);
}

TEST_CASE("npz: the checksum is CRC-32") {
  // The empty integer array's header is known text, so its checksum can be taken from elsewhere
  // (Python's zlib.crc32 of the same 128 bytes).
  const NamedArray arrays[] = {{"x", {0}, std::span<const std::int64_t>()}};
  const std::string zip = to_npz(arrays);
  const std::string npy = only_member(zip, "x.npy");
  CHECK(npy.size() == 128);
  CHECK(number(zip, 14, 4) == 0xC86795C0u);
}

TEST_CASE("npz: integers, scalars and strings") {
  const std::vector<std::int64_t> ids = {-1, 1LL << 40};
  const NamedArray integers[] = {{"token_ids", {2}, std::span<const std::int64_t>(ids)}};
  std::string npy = only_member(to_npz(integers), "token_ids.npy");
  CHECK(npy.find("'<i8', 'fortran_order': False, 'shape': (2,), }") != std::string::npos);
  CHECK(std::memcmp(npy.data() + npy.size() - 16, ids.data(), 16) == 0);

  const float one = 1.5f;
  const NamedArray scalar[] = {{"loss", {}, std::span<const float>(&one, 1)}};
  npy = only_member(to_npz(scalar), "loss.npy");
  CHECK(npy.find("'shape': (), }") != std::string::npos);
  CHECK(npy.size() == 128 + 4);

  const StringList lists[] = {{"tokens", {"aé", "😀", ""}}};
  npy = only_member(to_npz({}, lists), "tokens.npy");
  CHECK(npy.find("'<U2', 'fortran_order': False, 'shape': (3,), }") != std::string::npos);
  const char32_t points[] = {U'a', U'é', U'😀', 0, 0, 0};
  CHECK(std::memcmp(npy.data() + npy.size() - 24, points, 24) == 0);

  const StringList empty[] = {{"none", {}}};
  CHECK(only_member(to_npz({}, empty), "none.npy").find("'<U1'") != std::string::npos);
}

TEST_CASE("npz: an archive without arrays is still a zip") {
  const std::string zip = to_npz({}, {});
  CHECK(zip.size() == 22);
  CHECK(zip.substr(0, 4) == "PK\x05\x06");
}

TEST_CASE("npz: the same arrays give the same bytes") {
  const std::vector<float> data(10, 0.5f);
  const NamedArray arrays[] = {{"a", {10}, std::span<const float>(data)},
                               {"b", {5, 2}, std::span<const float>(data)}};
  CHECK(to_npz(arrays) == to_npz(arrays));
}

TEST_CASE("npz: refusals") {
  const std::vector<float> data(4);
  const std::span<const float> four(data);
  const auto refuses = [](std::vector<NamedArray> arrays, std::vector<StringList> lists = {}) {
    CHECK_THROWS_AS(to_npz(arrays, lists), Error);
  };
  refuses({{"a", {3}, four}});
  refuses({{"a", {-2, -2}, four}});
  refuses({{"a", {INT64_MAX, INT64_MAX}, four}});
  refuses({{"", {4}, four}});
  refuses({{"\xFF", {4}, four}});
  refuses({{"a", {4}, four}, {"a", {2, 2}, four}});
  refuses({{"a", {4}, four}}, {{"a", {}}});
  refuses({}, {{"", {}}});
  refuses({{std::string(70000, 'n'), {4}, four}});
  std::vector<std::int64_t> many(40000, 1);
  refuses({{"deep", many, std::span<const float>(data.data(), 1)}});
}

TEST_CASE("npz: more than 4 GiB is refused before memory is taken") {
  // One long string makes every string of its list long: 40 GB from a few hundred kilobytes.
  StringList list{"tokens", std::vector<std::string>(100'000)};
  list.values[0] = std::string(100'000, 'x');
  try {
    (void)to_npz({}, std::span<const StringList>(&list, 1));
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find("4 GiB") != std::string::npos);
  }
}

}  // namespace headlight::test_io_npz
