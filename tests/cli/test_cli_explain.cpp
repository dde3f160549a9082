// headlight explain: its terms add up to the cell, and each is a cell of the trace.
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/child.h"
#include "tests/support/sanitized.h"

namespace headlight::test_cli_explain {

using namespace headlight;
using namespace headlight::test;
using Json = nlohmann::json;

namespace {

double number(const Json& json) {
  if (json.is_number()) return json.get<double>();
  REQUIRE(json == "-inf");
  return -HUGE_VAL;
}

std::string at_text(const std::vector<std::int64_t>& index) {
  std::string text;
  for (const std::int64_t i : index) text += (text.empty() ? "" : ",") + std::to_string(i);
  return text;
}

// What a file says about the cell of a JSON object with "tensor" and "index".
class Cells {
 public:
  explicit Cells(const Exported& files) : files_(files) {}

  double at(const Json& cell) {
    std::string name = cell.at("tensor");
    const bool is_parameter = !files_.trace.entries.contains(name);
    const SafetensorsFile& file = is_parameter ? files_.weights : files_.trace;
    // The vector of additive scores has the field's name in the file.
    if (name.ends_with("attn.score_v")) name.replace(name.size() - 7, 7, "v");
    REQUIRE_MESSAGE(file.entries.contains(name), name);
    const auto& shape = file.entries.at(name).shape;
    const auto index = cell.at("index").get<std::vector<std::int64_t>>();
    REQUIRE(index.size() == shape.size());
    std::int64_t flat = 0;
    for (std::size_t a = 0; a < shape.size(); ++a) flat = flat * shape[a] + index[a];
    std::vector<float>& kept = kept_[{is_parameter, name}];
    if (kept.empty()) kept = tensor_as_float(file, name);
    return static_cast<double>(kept.at(static_cast<std::size_t>(flat)));
  }

 private:
  const Exported& files_;
  std::map<std::pair<bool, std::string>, std::vector<float>> kept_;
};

void check_cell(Cells& cells, const Args& model, const std::string& tensor,
                const std::vector<std::int64_t>& index) {
  CAPTURE(tensor);
  CAPTURE(at_text(index));
  const Result result =
      run_well(joined({"explain", "--json", "--tensor", tensor, "--at", at_text(index)}, model));
  const Json e = Json::parse(result.out);
  CHECK(e.at("tensor") == tensor);
  CHECK(e.at("index").get<std::vector<std::int64_t>>() == index);
  const double value = number(e.at("value"));
  CHECK(value == cells.at(e));
  CHECK(e.at("phrase") != "");
  if (e.at("operation") == "input") return;
  double sum = 0, size = 1;
  for (const Json& term : e.at("terms")) {
    const double product = number(term.at("value")) * number(term.at("factor"));
    sum += product;
    if (std::isfinite(product)) size += std::fabs(product);
    if (!term.at("tensor").is_null()) CHECK(number(term.at("value")) == cells.at(term));
    for (const Json& factor : term.at("factor_cells")) (void)cells.at(factor);
  }
  // Only a row without an allowed key has nothing to add up.
  CHECK((e.at("terms").size() > 0 || (value == 0 && contains(e.at("notes").dump(), "No key"))));
  if (std::isfinite(value)) {
    CHECK(std::fabs(sum - value) <= 2e-6 * size);
    CHECK(std::fabs(sum - number(e.at("sum"))) <= 1e-9 * size);
  } else {
    CHECK(sum == value);
    CHECK(number(e.at("sum")) == value);
  }
}

}  // namespace

TEST_CASE("explain: the terms of every tensor add up and are cells of the trace") {
  const Args sentence = {"--sentence", "the cat sat on the mat", "--layers", "1", "--d-model", "8"};
  const std::vector<Args> models = {
      {"--heads", "2"},
      {"--heads", "2", "--block", "post-norm", "--positions", "learned", "--activation", "relu"},
      {"--heads", "2", "--attention", "wide", "--scores", "additive", "--mask", "padding", "--pad",
       "0,1,2,3,4,5"},
      {"--attention", "single", "--bias", "off", "--activation", "gelu-tanh"},
      {"--attention", "basic", "--block", "attention", "--positions", "none", "--mask", "local"}};
  for (const Args& kind : models) {
    CAPTURE(shown(kind));
    const Args model = joined(sentence, kind);
    const Exported files = export_run(model);
    Cells cells(files);
    std::size_t number = 0;
    for (const auto& [name, entry] : files.trace.entries) {
      if (number++ % kWalkStride != 0) continue;
      std::vector<std::int64_t> first, middle, last;
      for (const std::int64_t size : entry.shape) {
        first.push_back(0);
        middle.push_back(size / 2);
        last.push_back(size - 1);
      }
      for (const auto& index : {first, middle, last}) check_cell(cells, model, name, index);
    }
  }
}

TEST_CASE("explain: a forbidden cell and a weight") {
  const Args small = {"--sentence", "the cat sat", "--d-model", "8", "--heads", "2"};
  const Exported files = export_run(small);
  Cells cells(files);
  check_cell(cells, small, "blocks.1.attn.scores_masked", {1, 0, 2});
  check_cell(cells, small, "blocks.1.attn.pattern", {1, 0, 2});
  const Json weight = Json::parse(
      run_well(
          joined({"explain", "--json", "--tensor", "blocks.0.attn.W_Q", "--at", "1,7,3"}, small))
          .out);
  CHECK(weight.at("operation") == "parameter");
  CHECK(number(weight.at("value")) == cells.at(weight));
}

TEST_CASE("explain: as text, with the tokens by their names") {
  const Args where = {"--sentence", "the cat sat", "--d-model", "8", "--heads", "2"};
  const std::string scores =
      run_well(joined({"explain", "--tensor", "blocks.0.attn.scores_raw", "--at", "0,2,1"}, where))
          .out;
  CHECK(scores.rfind("blocks.0.attn.scores_raw[head 0, sat, cat] = ", 0) == 0);
  CHECK(contains(scores, "blocks.0.attn.q[head 0, sat, 0]"));
  CHECK(contains(scores, "factor: blocks.0.attn.k[head 0, cat, 0]"));
  CHECK(contains(scores, "sum of 4 terms = "));
  const std::string pattern =
      run_well(joined({"explain", "--tensor", "blocks.0.attn.pattern", "--at", "0,2,1"}, where))
          .out;
  CHECK(contains(pattern, "row maximum = "));
  CHECK(contains(pattern, "own exponential / row sum = "));
}

TEST_CASE("explain: the loss and what is right, which --gradients lists, and single numbers") {
  const Args where = {"--sentence", "the cat sat", "--layers", "1", "--d-model", "8"};
  const auto explain = [&](const Args& model, const std::string& tensor, const Args& more) {
    return run(joined(joined({"explain", "--tensor", tensor}, more), model));
  };
  const std::string listed = run_well(joined({"trace", "--list", "--gradients"}, where)).out;
  for (const char* tensor : {"loss", "targets", "d.loss"}) {
    CAPTURE(tensor);
    CHECK(contains(listed, std::string("\n") + tensor + " "));
    const Result result = explain(where, tensor, {"--at", "1"});
    CHECK(result.status == 0);
    CHECK(result.out.rfind(std::string(tensor) + "[", 0) == 0);
  }
  CHECK(contains(explain(where, "d.loss", {"--at", "1"}).out, "1 / n"));
  const Result last =
      explain(where, "d.loss", {"--at", "2"});  // nothing comes after the last token
  CHECK(contains(last.out, "= 0\n"));
  CHECK(contains(last.out, "no target"));
  CHECK_FALSE(contains(last.out, "1 / n"));
  check_refused(explain(where, "loss", {"--at", "0,1"}), 2, {"named by 1 number;", "got 2"});
  check_refused(explain(where, "losss", {"--at", "0"}), 2, {"no tensor named 'losss'"});
  const Args classes = {"--model", "sentiment"};
  CHECK(explain(classes, "targets", {}).out.rfind("targets = ", 0) == 0);
  CHECK(explain(classes, "loss", {"--at", ""}).out.rfind("loss = ", 0) == 0);
  check_refused(explain(classes, "loss", {"--at", "1"}), 2, {"single number", "got 1"});
}

}  // namespace headlight::test_cli_explain
