// Reading .npy files of whole numbers: what NumPy writes, and everything that it would not.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "core/base/error.h"
#include "core/graph/masks/number_file.h"
#include "core/io/npy.h"

namespace headlight::test_io_npy {
namespace {

std::string npy(const std::string& dict, const std::string& data, int version = 1) {
  const std::string header = dict + "\n";
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  const std::size_t width = version == 1 ? 2 : 4;
  for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return out + header + data;
}

std::string dict(const std::string& dtype, const std::string& shape,
                 const std::string& order = "False") {
  return "{'descr': '" + dtype + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

std::string numbers(std::initializer_list<int> values, int width) {
  std::string out;
  for (const int value : values) {
    for (int i = 0; i < width; ++i)
      out += static_cast<char>(i < 4 ? static_cast<unsigned>(value) >> (8 * i) & 0xFF
                                     : (value < 0 ? 0xFF : 0));
  }
  return out;
}

std::string problem(const std::string& bytes) {
  try {
    parse_npy_integers(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& bytes, const std::string& words) {
  const std::string text = problem(bytes);
  CAPTURE(text);
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("npy: every whole type, sign and version that NumPy writes") {
  using Values = std::vector<std::int64_t>;
  const NpyIntegers two =
      parse_npy_integers(npy(dict("<i4", "(2, 3)"), numbers({1, -2, 3, 4, 5, 6}, 4)));
  CHECK(two.shape == Values{2, 3});
  CHECK(two.values == Values{1, -2, 3, 4, 5, 6});
  CHECK(parse_npy_integers(npy(dict("<i8", "(2,)"), numbers({-7, 9}, 8), 2)).values ==
        Values{-7, 9});
  CHECK(parse_npy_integers(npy(dict("<u2", "(1,)"), "\xFF\xFF", 3)).values == Values{65535});
  CHECK(parse_npy_integers(npy(dict("|u1", "(3,)"), "\x01\x02\xFF")).values == Values{1, 2, 255});
  CHECK(parse_npy_integers(npy(dict("|i1", "(1,)"), "\xFF")).values == Values{-1});
  CHECK(parse_npy_integers(npy(dict("<i2", "()"), std::string("\x05\x00", 2))).values == Values{5});
  CHECK(parse_npy_integers(npy(dict("<i4", "(0, 4)"), "")).values.empty());
}

TEST_CASE("npy: what cannot be used is named") {
  const std::string six = numbers({1, 2, 3, 4, 5, 6}, 4);
  CHECK(says("", "does not begin"));
  CHECK(says("PK\x03\x04 a zip of arrays", "does not begin"));
  CHECK(says(npy(dict("<i4", "(6,)"), six, 9), "version 9"));
  CHECK(says(npy(dict("<i4", "(6,)"), six).substr(0, 30), "within its header"));
  CHECK(says(std::string("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF", 12), "within its header"));
  CHECK(says(npy(dict("<f4", "(6,)"), six), "holds <f4"));
  CHECK(says(npy(dict(">i4", "(6,)"), six), "holds >i4"));
  CHECK(says(npy(dict("<i4", "(2, 3)", "True"), six), "Fortran order"));
  CHECK(says(npy(dict("<i4", "(7,)"), six), "6 numbers"));
  CHECK(says(npy(dict("<i4", "(5,)"), six), "6 numbers"));
  CHECK(says(npy(dict("<i4", "(4294967296, 4294967296, 6)"), six), "6 numbers"));
  CHECK(says(npy(dict("<i4", "(-6,)"), six), "header cannot be read"));
  CHECK(says(npy(dict("<i4", "(6"), six), "header cannot be read"));
  CHECK(says(npy(dict("<i4", "(1,1,1,1,1,1,1,1,6)"), six), "header cannot be read"));
  CHECK(says(npy("{'descr': '<i4'}", six), "header cannot be read"));
  CHECK(says(npy("{'descr': '<i4", six), "header cannot be read"));
  CHECK(says(npy(dict("<u8", "(1,)"), std::string(8, '\xFF')), "larger than 2^63"));
}

TEST_CASE("npy: numbers of every type that NumPy has for them") {
  const auto values = [](const std::string& dtype, const std::string& data) {
    return parse_npy_numbers(npy(dict(dtype, "(2, 1)"), data)).values;
  };
  using Values = std::vector<double>;
  CHECK(values("<f4", std::string("\x00\x00\xC0\x3F\x00\x00\x80\xFF", 8)) ==
        Values{1.5, -INFINITY});
  CHECK(values("<f8", std::string("\0\0\0\0\0\0\xF8\x3F\0\0\0\0\0\0\xF0\xFF", 16)) ==
        Values{1.5, -INFINITY});
  CHECK(values("<f2", std::string("\x00\x3E\x00\xFC", 4)) == Values{1.5, -INFINITY});
  CHECK(values("<i2", std::string("\x05\x00\xFF\xFF", 4)) == Values{5, -1});
  const NumberArray truth =
      parse_npy_numbers(npy(dict("|b1", "(2, 1)"), std::string("\x01\x00", 2)));
  CHECK(truth.values == Values{1, 0});
  CHECK(truth.is_boolean);
  CHECK(truth.shape == std::vector<std::int64_t>{2, 1});
  CHECK_THROWS_WITH_AS(parse_npy_numbers(npy(dict("<c8", "(1,)"), std::string(8, '\0'))),
                       doctest::Contains("float16, float32, float64"), Error);
}

TEST_CASE("numbers: a text of rows, and of several matrices") {
  using Values = std::vector<double>;
  using Shape = std::vector<std::int64_t>;
  const NumberArray one = parse_number_text("1, -2.5\t3\r\n-inf +4 \u2212\u221e\n\n");
  CHECK(one.shape == Shape{2, 3});
  CHECK(one.values == Values{1, -2.5, 3, -INFINITY, 4, -INFINITY});
  const NumberArray two = parse_number_text("true false\n\nfalse True\n");
  CHECK(two.shape == Shape{2, 1, 2});
  CHECK(two.values == Values{1, 0, 0, 1});
  CHECK(two.is_boolean);
  const auto refused = [](const char* text, const char* phrase) {
    CHECK_THROWS_WITH_AS(parse_number_text(text), doctest::Contains(phrase), Error);
  };
  refused("\n \n", "no number");
  refused("1 2\n3\n", "line 2");
  refused("1 true\n", "line 1");
  refused("1\n2\n\n3\n", "1 rows");
  refused("1 zwei\n", "zwei");
}

}  // namespace headlight::test_io_npy
