// The GPU backend's operations beside the reference: forward and backward, every shape.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "tests/gradient_cases.h"
#include "tests/test_gl_backend_support.h"

namespace headlight {
namespace {

using test::check_no_messages;
using test::compute_ready;
using test::shared_backend;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Backend& reference() {
  static const auto kReference = make_reference_backend();
  return *kReference;
}

// How far a result may be from the reference's: cell by cell, sums of products, and all else.
double limit_of(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kScale:
    case Op::kMask:
    case Op::kRelu:
    case Op::kDropout:
    case Op::kEmbed:
    case Op::kSinusoid:
    case Op::kLearnedPosition:
    case Op::kSplitHeads:
    case Op::kConcatHeads:
      return 1e-12;
    case Op::kLinear:
    case Op::kProject:
    case Op::kScores:
    case Op::kAdditiveScores:
    case Op::kWeightedSum:
      return 1e-10;
    default:
      return 1e-9;
  }
}

/// The largest error of each operation, to be printed.
class Worst {
 public:
  void add(Op op, double error) { errors_[op] = std::max(errors_[op], error); }
  std::string text() const {
    std::ostringstream out;
    for (const auto& entry : errors_) {
      out << "\n  " << op_info(entry.first).id << " " << entry.second;
    }
    return out.str();
  }

 private:
  std::map<Op, double> errors_;
};

// ---- forward ----

void check_case(const OpCase& row, const Sizes& sizes, float spread, Worst& worst) {
  const Program program = single_call(row.op, row.inputs(sizes), sizes.n);
  CAPTURE(op_info(row.op).id);
  CAPTURE(shape_text(program.tensors.back().axes));
  CAPTURE(spread);
  Memory got(program), expected(program);
  fill_inputs(program, got, hash_text(op_info(row.op).id), spread);
  copy_inputs(program, got, expected);
  CHECK(shared_backend().supports(program, program.calls[0]));
  got.run(shared_backend());
  expected.run(reference());
  const TensorId out = program.calls[0].out;
  const double error = normalised_error(got.cells(out), expected.cells(out));
  CHECK(error <= limit_of(row.op));
  worst.add(row.op, error);
  CHECK(got.guards_hold());
}

}  // namespace

TEST_CASE("gl backend: every operation agrees with the reference") {
  if (!compute_ready()) return;
  Worst worst;
  // Tiles are 64 wide and 16 deep; short rows have up to 64 cells, their groups 32 invocations.
  constexpr std::int64_t kSizes[] = {1, 2, 7, 15, 16, 17, 31, 63, 64, 65};
  constexpr std::size_t kCount = std::size(kSizes);
  for (const OpCase& row : kForwardTable) {
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::int64_t a = kSizes[i], b = kSizes[(3 * i + 3) % kCount];
      const std::int64_t c = kSizes[(7 * i + 7) % kCount];
      check_case(row, {i % 2 ? 3 : 1, 3, a, b, c, a}, 1.0f, worst);
      check_case(row, {1, 2, b, a, a, c}, 1.0f, worst);
    }
    check_case(row, {1, 1, 1, 255, 256, 257}, 1.0f, worst);
    check_case(row, {1, 1, 2, 257, 255, 256}, 1.0f, worst);
    for (const float spread : {30.0f, 300.0f, 1e-3f, 0.0f}) {
      check_case(row, {2, 3, 17, 19, 23, 29}, spread, worst);
    }
    check_case(row, {1, 1, 3, 5, 1031, 67}, 1.0f, worst);
    check_case(row, {1, 2, 131, 257, 67, 211}, 1.0f, worst);
  }
  CHECK(shared_backend().guards_hold());
  CHECK(shared_backend().fallbacks().empty());
  check_no_messages();
  MESSAGE("largest normalised errors:" << worst.text());
}

}  // namespace headlight
