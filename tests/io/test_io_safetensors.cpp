#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/io/safetensors.h"

namespace headlight::test_io_safetensors {

using headlight::tensor_as_int64;

namespace {

std::string file_of(const std::string& header, const std::string& data = "") {
  const std::uint64_t length = header.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + header + data;
}

std::string error_of(const std::string& bytes) {
  try {
    (void)parse_safetensors(bytes);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

void check_refused(const std::string& header, const std::string& data, const std::string& part) {
  CAPTURE(header);
  const std::string message = error_of(file_of(header, data));
  CAPTURE(message);
  CHECK(message.find(part) != std::string::npos);
}

std::string small_file() {
  static const std::vector<float> kFloats = {1, 2, 3, 4, 5, 6};
  static const std::vector<std::int64_t> kIds = {7, -8};
  const NamedArray arrays[] = {{"w", {2, 3}, std::span<const float>(kFloats)},
                               {"ids", {2}, std::span<const std::int64_t>(kIds)}};
  return to_safetensors(arrays, {{"recipe", "toy \"1\" é"}});
}

}  // namespace

TEST_CASE("safetensors: round trip") {
  const std::vector<float> floats = {0.1f, -0.0f, std::numeric_limits<float>::infinity(), 1e-45f};
  const std::vector<std::int64_t> ids = {INT64_MIN, 0, INT64_MAX};
  const NamedArray arrays[] = {{"b.w", {2, 2}, std::span<const float>(floats)},
                               {"a.scalar", {}, std::span<const float>(floats.data(), 1)},
                               {"ids", {3, 1}, std::span<const std::int64_t>(ids)},
                               {"none", {0, 5}, std::span<const float>()}};
  const std::string bytes = to_safetensors(arrays, {{"k", "v"}, {"text", "a\nb 😀"}});
  const SafetensorsFile file = parse_safetensors(bytes);
  CHECK(file.entries.size() == 4);
  CHECK(file.metadata.at("text") == "a\nb 😀");
  CHECK(file.entries.at("b.w").dtype == "F32");
  CHECK(file.entries.at("b.w").shape == std::vector<std::int64_t>{2, 2});
  CHECK(file.entries.at("ids").dtype == "I64");
  CHECK(file.entries.at("a.scalar").shape.empty());
  CHECK(tensor_as_int64(file, "ids") == ids);
  CHECK(tensor_as_float(file, "none").empty());
  const std::vector<float> back = tensor_as_float(file, "b.w");
  REQUIRE(back.size() == floats.size());
  CHECK(std::memcmp(back.data(), floats.data(), 16) == 0);
  CHECK(tensor_as_float(file, "ids")[2] == doctest::Approx(9.223372e18));
  CHECK_THROWS_AS(tensor_as_float(file, "nothing"), Error);
  CHECK_THROWS_AS(tensor_as_int64(file, "b.w"), Error);
}

TEST_CASE("safetensors: layout of the file") {
  const std::string bytes = small_file();
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  CHECK(length % 8 == 0);
  CHECK(bytes.size() == 8 + length + 16 + 24);
  const auto header = nlohmann::json::parse(bytes.substr(8, length));
  CHECK(header["__metadata__"]["recipe"] == "toy \"1\" é");
  // Integers first, so that every tensor is aligned to its own size.
  CHECK(header["ids"]["data_offsets"] == nlohmann::json({0, 16}));
  CHECK(header["w"]["data_offsets"] == nlohmann::json({16, 40}));
  CHECK(header["w"]["shape"] == nlohmann::json({2, 3}));
  float first = 0;
  std::memcpy(&first, bytes.data() + 8 + length + 16, 4);
  CHECK(first == 1.0f);
  CHECK(small_file() == bytes);
}

TEST_CASE("safetensors: a file without tensors") {
  const SafetensorsFile file = parse_safetensors(to_safetensors({}));
  CHECK(file.entries.empty());
  CHECK(parse_safetensors(file_of("{}")).entries.empty());
}

TEST_CASE("safetensors: a file cut off at any byte is refused") {
  const std::string bytes = small_file();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    CHECK_THROWS_AS(parse_safetensors(bytes.substr(0, size)), Error);
  }
  CHECK_THROWS_AS(parse_safetensors(bytes + "x"), Error);
}

TEST_CASE("safetensors: a file with any one byte changed is read or refused, never worse") {
  const std::string bytes = small_file();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const char value : {'\0', ' ', '"', '{', '9', '\xFF'}) {
      std::string changed = bytes;
      changed[at] = value;
      try {
        const SafetensorsFile file = parse_safetensors(changed);
        for (const auto& [name, entry] : file.entries) (void)file.data_of(entry);
      } catch (const Error&) {
      }
    }
  }
}

TEST_CASE("safetensors: bad headers are refused with a reason") {
  CHECK(error_of("").find("8 bytes of header length") != std::string::npos);
  CHECK(error_of(std::string(8, '\xFF')).find("at most 100 MB") != std::string::npos);
  check_refused("", "", "opening brace");
  check_refused(" {}", "", "opening brace");
  check_refused("[]", "", "opening brace");
  check_refused("{", "", "not valid JSON");
  check_refused("{\"\xFF\":1}", "", "not valid JSON");
  check_refused("{} x", "", "not valid JSON");
  check_refused("{\"a\":{\"b\":{\"c\":[]}}}", "", "nested deeper");
  check_refused("{\"a\":" + std::string(100000, '['), "", "nested deeper");
  check_refused(R"({"a":1})", "", "JSON object");
  check_refused(R"({"a":{}})", "", "no 'dtype'");
  check_refused(R"({"a":{"dtype":"F32"}})", "", "no 'shape'");
  check_refused(R"({"a":{"dtype":"F32","shape":[]}})", "", "no 'data_offsets'");
  check_refused(R"({"__metadata__":{"a":1}})", "", "not a text");
  check_refused(R"({"__metadata__":3})", "", "JSON object");
  check_refused(R"({"__metadata__":{"a":"1","a":"2"}})", "", "twice");
  check_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                "x", "names 'a' twice");
  check_refused(R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", "x",
                "twice");
}

TEST_CASE("safetensors: bad tensors are refused with a reason") {
  const auto entry = [](const std::string& dtype, const std::string& shape,
                        const std::string& offsets) {
    return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets +
           "}}";
  };
  const std::string four(4, 'x');
  CHECK(error_of(file_of(entry("\"F32\"", "[1]", "[0,4]"), four)).empty());
  check_refused(entry("\"F31\"", "[1]", "[0,4]"), four, "number type 'F31'");
  check_refused(entry("4", "[1]", "[0,4]"), four, "not a text");
  check_refused(entry("\"F32\"", "1", "[0,4]"), four, "not a list");
  check_refused(entry("\"F32\"", "[-1]", "[0,4]"), four, "whole numbers");
  check_refused(entry("\"F32\"", "[1.0]", "[0,4]"), four, "whole numbers");
  check_refused(entry("\"F32\"", "[\"1\"]", "[0,4]"), four, "whole numbers");
  check_refused(entry("\"F32\"", "[18446744073709551615]", "[0,4]"), four, "whole numbers");
  check_refused(entry("\"F32\"", "[4611686018427387905]", "[0,4]"), four, "can be counted");
  check_refused(entry("\"F32\"", "[4294967296,4294967296,4294967296]", "[0,4]"), four,
                "can be counted");
  check_refused(entry("\"F32\"", "[4294967296,4294967296,0]", "[0,4]"), four, "needs 0 bytes");
  check_refused(entry("\"F32\"", "[2]", "[0,4]"), four, "needs 8 bytes");
  check_refused(entry("\"F32\"", "[1]", "[0]"), four, "two 'data_offsets'");
  check_refused(entry("\"F32\"", "[1]", "[0,-4]"), four, "whole numbers");
  check_refused(entry("\"F32\"", "[1]", "[4,0]"), four, "its range is 4 to 0");
  check_refused(entry("\"F32\"", "[1]", "[4,8]"), four, "its range is 4 to 8");
  check_refused(entry("\"F32\"", "[1]", "[0,4],\"x\":1"), four, "more in the header");
  check_refused(entry("\"U8\"", "[3]", "[1,4]"), four, "overlap or a hole");
  check_refused(entry("\"U8\"", "[3]", "[0,3]"), four, "but 4 follow");
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + a +
           R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + b + "}}";
  };
  CHECK(error_of(file_of(two("[2,4]", "[0,2]"), four)).empty());
  check_refused(two("[0,2]", "[1,3]"), four, "overlap or a hole");
  check_refused(two("[0,2]", "[0,2]"), four, "overlap or a hole");
}

TEST_CASE("safetensors: other number types become floats") {
  const auto read = [](const std::string& dtype, std::size_t count, const std::string& data) {
    const std::string header = R"({"a":{"dtype":")" + dtype + R"(","shape":[)" +
                               std::to_string(count) + R"(],"data_offsets":[0,)" +
                               std::to_string(data.size()) + "]}}";
    return tensor_as_float(parse_safetensors(file_of(header, data)), "a");
  };
  const auto little = [](std::vector<std::uint16_t> values) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * 2);
  };
  const auto half =
      read("F16", 7, little({0x3C00, 0xC000, 0x7BFF, 0x0001, 0x8000, 0x7C00, 0x7E00}));
  CHECK(half[0] == 1.0f);
  CHECK(half[1] == -2.0f);
  CHECK(half[2] == 65504.0f);
  CHECK(half[3] == 0x1p-24f);
  CHECK((half[4] == 0.0f && std::signbit(half[4])));
  CHECK(std::isinf(half[5]));
  CHECK(std::isnan(half[6]));
  CHECK(read("BF16", 2, little({0x3F80, 0xC040})) == std::vector<float>{1.0f, -3.0f});
  const double pi = 3.141592653589793;
  CHECK(read("F64", 1, std::string(reinterpret_cast<const char*>(&pi), 8))[0] == 3.1415927f);
  CHECK(read("I8", 2, "\xFF\x02") == std::vector<float>{-1, 2});
  CHECK(read("U8", 1, "\xFF") == std::vector<float>{255});
  CHECK(read("BOOL", 2, std::string("\0\x01", 2)) == std::vector<float>{0, 1});
  CHECK(read("I16", 1, little({0xFFFE})) == std::vector<float>{-2});
  CHECK(read("U16", 1, little({0xFFFE})) == std::vector<float>{65534});
  CHECK(read("I32", 1, "\xFE\xFF\xFF\xFF") == std::vector<float>{-2});
  CHECK(read("U32", 1, "\xFE\xFF\xFF\xFF")[0] == 4294967296.0f);
  CHECK_THROWS_AS(read("F8_E4M3", 1, "x"), Error);
  CHECK_THROWS_AS(tensor_as_int64(parse_safetensors(file_of(
                                      R"({"a":{"dtype":"U64","shape":[1],"data_offsets":[0,8]}})",
                                      std::string(8, '\xFF'))),
                                  "a"),
                  Error);
}

TEST_CASE("safetensors: what cannot be written is refused") {
  const float one = 1;
  const std::span<const float> data(&one, 1);
  const auto refuses = [](std::vector<NamedArray> arrays) {
    CHECK_THROWS_AS(to_safetensors(arrays), Error);
  };
  refuses({{"__metadata__", {1}, data}});
  refuses({{"a", {2}, data}});
  refuses({{"a", {1}, data}, {"a", {1}, data}});
  refuses({{"", {1}, data}});
  refuses({{"\xC0", {1}, data}});
  const SafetensorsFile file = parse_safetensors(to_safetensors({}, {{"k", "\xFF"}}));
  CHECK(file.metadata.at("k") == "\uFFFD");
}

}  // namespace headlight::test_io_safetensors
