// headlight cost and presets: what is said beforehand is what a run takes, in both forms of output.
#include <nlohmann/json.hpp>

#include "tests/cli/child.h"

namespace headlight::test::test_cli_cost {
namespace {

using Json = nlohmann::json;

Json json_of(const Args& args) { return Json::parse(run_well(args).out); }

TEST_CASE("cost: the parts add up, and a run takes what was said to within 5 %") {
  for (const Args& model : {Args{}, Args{"--model", "stories"}, Args{"--model", "dates"},
                            Args{"--experts", "3"}, Args{"--preset", "transformer-base"}}) {
    CAPTURE(shown(model));
    const Json cost = json_of(joined({"cost", "--json"}, model));
    double parameters = 0, bytes = 0, products = 0;
    for (const Json& row : cost["parameters"]) parameters += row["count"].get<double>();
    for (const Json& row : cost["steps"]) {
      bytes += row["bytes"].get<double>();
      products += row["multiply_adds"].get<double>();
    }
    CHECK(parameters == cost["parameter_count"].get<double>());
    CHECK(products == cost["multiply_adds"].get<double>());
    CHECK(bytes < cost["arena_bytes"].get<double>());  // without the inputs
    const double said = cost["run_bytes"], real = cost["measured"]["run_bytes"];
    CHECK(real == doctest::Approx(said).epsilon(0.05));
    CHECK(cost["predicted_ms"].get<double>() > 0);
    CHECK(cost["measured"]["ms"].get<double>() > 0);
  }
}

TEST_CASE("cost: what --max-memory refuses is what it says; nothing of that size is made") {
  const Args large = {"--preset", "gpt2-xl", "--full-size", "--sentence", "a b c d"};
  const Json cost = json_of(joined({"cost", "--json", "--max-memory", "1"}, large));
  CHECK(cost["run_bytes"].get<double>() > 5e9);
  CHECK(!cost.contains("measured"));
  const std::string why = cost["not_run"];
  CHECK(why.find("at most 8 of its 48 layers would fit") != why.npos);
  check_refused(run(joined({"trace", "--list", "--max-memory", "1"}, large)), 1,
                {"5.9 GB", "1.0 GB", "at most 8 of its 48 layers"});
  const Args eight = {"--layers", "8"}, nine = {"--layers", "9"};
  const Args limited = joined({"trace", "--list", "--max-memory", "1"}, large);
  run_well(joined(limited, eight));
  CHECK(run(joined(limited, nine)).status == 1);
  const Json small = json_of({"cost", "--json", "--sentence", "a b c"});
  const double needed = small["run_bytes"].get<double>() / 1e9;
  const Args again = {"trace", "--list", "--sentence", "a b c", "--max-memory"};
  run_well(joined(again, {std::to_string(needed * 1.001)}));
  CHECK(run(joined(again, {std::to_string(needed * 0.99)})).status == 1);
}

TEST_CASE("cost: other sizes than the sentence's are counted and not run") {
  const Json whole = json_of({"cost", "--json", "--preset", "gpt2-small", "--full-size"});
  CHECK(whole["parameter_count"] == 124439808);
  CHECK(whole["sizes"]["tokens"] == 1024);
  CHECK(whole["sizes"]["vocab"] == 50257);
  CHECK(!whole.contains("measured"));
  const Json more = json_of({"cost", "--json", "--tokens", "100", "--batch", "3", "--vocab", "7"});
  CHECK(more["scores"] == 3.0 * 2 * 4 * 100 * 100);
  CHECK(!more.contains("measured"));
  check_refused(run({"cost", "--tokens", "0"}), 2, {"--tokens"});
  check_refused(run({"cost", "--batch", "x"}), 2, {"--batch"});
  check_refused(run({"cost", "--heads", "3"}), 2, {"heads"});
  const std::string text = run_well({"cost", "--sentence", "a b"}).out;
  for (const char* part : {"Parameters: ", "W_Q", "T²: ", "really allocated: ", "narrow"})
    CHECK(text.find(part) != text.npos);
}

TEST_CASE("presets: listed with their figures, opened small, refused where they make no sense") {
  const Json list = json_of({"presets", "--json"});
  CHECK(list.size() == 10);
  for (const Json& one : list) {
    auto count = static_cast<std::int64_t>(one["parameters_here"].get<double>());
    for (const Json& d : one["differences"]) count += d["count"].get<std::int64_t>();
    CHECK(count == one["parameters"].get<std::int64_t>());
    CHECK(one["predicted_ms"].get<double>() > 0);
    const std::string name = one["name"];
    run_well({"trace", "--list", "--preset", name, "--sentence", "the cat sat"});
  }
  check_refused(run({"trace", "--list", "--preset", "gpt3"}), 2, {"--preset", "gpt2-xl", "gpt3"});
  check_refused(run({"trace", "--list", "--full-size"}), 2, {"--full-size", "--preset"});
  check_refused(run({"trace", "--list", "--preset", "gpt", "--model", "dates"}), 2, {"--preset"});
  run_well({"trace", "--list", "--form", "translate", "--sentence", "a b -> c"});
}

}  // namespace
}  // namespace headlight::test::test_cli_cost
