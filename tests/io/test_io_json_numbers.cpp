#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/io/json_numbers.h"

namespace headlight::test_io_json_numbers {

TEST_CASE("json_number is short and exact") {
  CHECK(json_number(0.1f) == "0.1");
  CHECK(json_number(0.1) == "0.1");
  CHECK(json_number(1.0f) == "1");
  CHECK(json_number(-0.0) == "-0");
  CHECK(json_number(1e21) == "1e+21");
  CHECK(json_number(std::numeric_limits<double>::infinity()) == "\"inf\"");
  CHECK(json_number(-std::numeric_limits<float>::infinity()) == "\"-inf\"");
  CHECK(json_number(std::nanf("")) == "\"nan\"");
  CHECK(json_number(-std::nan("")) == "\"nan\"");
}

TEST_CASE("where JSON is wrong is said in both languages, without the parser's own words") {
  for (const auto& wrong : {std::pair{"[1,\n x]", "line 2 at character 2, near “1,<U+000A> x”"},
                            {"{\"a\": 1", "line 1 at character 8"},
                            {"", "line 1 at character 1"}}) {
    const std::string text = wrong.first, place = wrong.second;
    CAPTURE(text);
    try {
      const nlohmann::json taken = nlohmann::json::parse(text);
      FAIL_CHECK(taken.dump());
    } catch (const nlohmann::json::exception& error) {
      const headlight::Message said = headlight::json_problem("safetensors.not_json", error);
      CHECK(say(headlight::Language::kEnglish, said).find(place) != std::string::npos);
      const std::string chinese = say(headlight::Language::kChinese, said);
      CHECK(chinese.find("行第") != std::string::npos);
      CHECK(chinese.find("parse error") == std::string::npos);
    }
  }
}

TEST_CASE("json_number reads back to the same bits and is JSON") {
  std::mt19937_64 rng(5);
  for (int i = 0; i < 20000; ++i) {
    const double d = std::bit_cast<double>(rng());
    const float f = std::bit_cast<float>(static_cast<std::uint32_t>(rng()));
    if (std::isfinite(d)) {
      const std::string text = json_number(d);
      REQUIRE(std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr)) ==
              std::bit_cast<std::uint64_t>(d));
      REQUIRE(nlohmann::json::accept(text));
    }
    if (std::isfinite(f)) {
      const std::string text = json_number(f);
      REQUIRE(std::bit_cast<std::uint32_t>(std::strtof(text.c_str(), nullptr)) ==
              std::bit_cast<std::uint32_t>(f));
      REQUIRE(nlohmann::json::accept(text));
    }
  }
}

TEST_CASE("to_trace_json holds arrays, shapes and lists") {
  const std::vector<float> scores = {0.5f, -std::numeric_limits<float>::infinity(), 0.1f, 2};
  const std::vector<std::int64_t> ids = {3, std::int64_t{1} << 60};
  const NamedArray arrays[] = {
      {"blocks.0.attn.scores_masked", {2, 2}, std::span<const float>(scores)},
      {"token_ids", {2}, std::span<const std::int64_t>(ids)},
      {"none", {0}, std::span<const float>()}};
  const StringList lists[] = {{"tokens", {"a \"quoted\"", "\n", "😀", "\xFF"}}};
  const auto json = nlohmann::json::parse(to_trace_json(arrays, lists));
  const auto& scores_json = json["tensors"]["blocks.0.attn.scores_masked"];
  CHECK(scores_json["shape"] == nlohmann::json({2, 2}));
  CHECK(scores_json["data"][0] == 0.5);
  CHECK(scores_json["data"][1] == "-inf");
  CHECK(scores_json["data"][2] == 0.1);
  CHECK(json["tensors"]["token_ids"]["data"][1] == (std::int64_t{1} << 60));
  CHECK(json["tensors"]["none"]["data"].empty());
  CHECK(json["tokens"] == nlohmann::json({"a \"quoted\"", "\n", "😀", "\uFFFD"}));
  CHECK(nlohmann::json::parse(to_trace_json({}, {})) ==
        nlohmann::json({{"tensors", nlohmann::json::object()}}));
}

TEST_CASE("to_trace_json refuses clashing names") {
  const StringList tensors[] = {{"tensors", {}}};
  CHECK_THROWS_AS(to_trace_json({}, tensors), Error);
  const StringList twice[] = {{"tokens", {}}, {"tokens", {}}};
  CHECK_THROWS_AS(to_trace_json({}, twice), Error);
  const NamedArray wrong[] = {{"a", {1}, std::span<const float>()}};
  CHECK_THROWS_AS(to_trace_json(wrong, {}), Error);
}

}  // namespace headlight::test_io_json_numbers
