// Explanations of gradients: for every operation, each cell that the reference's backward() adds is
// the sum of its terms, and each term's numbers are the cells that it names.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "core/base/texts.h"
#include "tests/explain/formula_words.h"
#include "tests/support/op_cases.h"

namespace headlight::test_explain_gradient {
namespace {

/// A case with dL/d(out) drawn, and what backward() makes of it.
class Differentiated {
 public:
  explicit Differentiated(Case made) : c_(std::move(made)) {
    d_out_.resize(static_cast<std::size_t>(c_.out().size()));
    for (std::size_t i = 0; i < d_out_.size(); ++i) d_out_[i] = bell(31, i);
    run_backward();
  }

  const Computed& forward() const { return c_; }
  std::string_view id() const { return c_.info().id; }
  int inputs() const { return static_cast<int>(c_.made().in.size()); }
  TensorView input(int i) const { return c_.tensor(i); }
  std::span<const float> gradient(int i) const { return d_in_[static_cast<std::size_t>(i)]; }
  void set_d_out(std::size_t i, float value) {
    d_out_[i] = value;
    run_backward();
  }

  OpExplanation explain(int i, std::int64_t flat) const {
    return c_.info().explain_gradient(args({}), i, unravel(input(i).axes, flat));
  }
  /// The number that a cell of an explanation names; NaN where there is no such cell.
  double number(const InputCell& cell) const {
    const bool result = cell.input == kGradientOfOut || cell.input == kResultCell;
    if ((cell.input < 0 && !result) || cell.input >= inputs()) return NAN;
    const std::int64_t at = c_.flat(cell);
    if (at < 0) return NAN;
    if (cell.input == kGradientOfOut) return d_out_[static_cast<std::size_t>(at)];
    return c_.tensor(cell.input).data[at];
  }

 private:
  OpGradArgs args(std::span<float* const> d_in) const {
    return {views(), c_.out(), c_.made().params, d_out_.data(), d_in};
  }
  std::span<const TensorView> views() const { return c_.args().in; }
  void run_backward() {
    d_in_.clear();
    std::vector<float*> places;
    for (int i = 0; i < inputs(); ++i) {
      d_in_.emplace_back(static_cast<std::size_t>(input(i).size()), 0.0f);
      places.push_back(c_.info().is_fixed(place(i)) ? nullptr : d_in_.back().data());
    }
    c_.info().backward(args(places));
  }

  Computed c_;
  std::vector<float> d_out_;
  std::vector<std::vector<float>> d_in_;
};

// Rows out of the ordinary: one token, one feature, a level row, no key, padding only.
std::vector<Case> special_cases() {
  const Axis one{"batch", 1}, token{"position", 1}, query{"query", 1}, key{"key", 1};
  const Axis head{"head", 2}, width{"d_head", 3}, feature{"feature", 4};
  const Tensor q = random_tensor("q", {one, head, token, width});
  Tensor level = random_tensor("x", {one, {"position", 2}, feature});
  std::fill(level.data.begin(), level.data.begin() + 4, 0.5f);
  Tensor forbidden = random_tensor("s", {one, head, query, key});
  std::fill(forbidden.data.begin(), forbidden.data.end(), -kInf);
  Tensor nobody{"present", {one, {"position", 2}}, {}};
  nobody.data = {0, 0};
  Tensor far = random_tensor("pre", {one, token, {"hidden", 6}});
  far.data = {-30, -1, 0, 1, 30, 1e20f};
  return {
      {Op::kSoftmax, {masked_scores()}, at_temperature(2)},
      {Op::kSoftmax, {random_tensor("s", {one, head, query, key})}},
      {Op::kSoftmax, {forbidden}},
      {Op::kScores, {q, q}},
      {Op::kAdditiveScores, {q, q, random_tensor("v", {head, width})}},
      {Op::kWeightedSum, {random_tensor("a", {one, head, query, key}), q}},
      {Op::kLayerNorm, {level, random_tensor("w", {feature}), random_tensor("b", {feature})}},
      {Op::kLayerNorm,
       {random_tensor("x", {one, token, {"feature", 1}}), random_tensor("w", {{"feature", 1}})}},
      {Op::kMeanPool, {level, nobody}},
      {Op::kScale, {q}, with(0.5f, 0)},
      {Op::kRelu, {far}},
      {Op::kGelu, {far}},
      {Op::kGeluTanh, {far}},
      {Op::kSilu, {far}},
      {Op::kTanh, {far}},
      {Op::kConcatTokens, {level, nobody}},
      {Op::kRmsNorm, {level, random_tensor("w", {feature})}},
      {Op::kRotary, {random_tensor("q", {one, head, token, {"d_head", 2}})}},
  };
}

std::vector<Differentiated> gradient_cases() {
  std::vector<Differentiated> all;
  for (Case& c : all_cases()) all.emplace_back(std::move(c));
  for (Case& c : special_cases()) all.emplace_back(std::move(c));
  return all;
}

/// Calls f(case, input, flat place of a cell) for each cell that may have a gradient.
template <class F>
void for_all_cells(F&& f) {
  for (const Differentiated& w : gradient_cases()) {
    CAPTURE(w.id());
    for (int i = 0; i < w.inputs(); ++i) {
      if (w.forward().info().is_fixed(place(i))) continue;
      CAPTURE(i);
      for (std::int64_t cell = 0; cell < w.input(i).size(); ++cell) f(w, i, cell);
    }
  }
}

/// Works out a line of arithmetic as it is written: numbers, + − × /, brackets, exp and tanh.
class Arithmetic {
 public:
  explicit Arithmetic(const MathLine& line) {
    for (const MathPiece& piece : line) {
      if (piece.number) {
        tokens_.push_back({"", *piece.number});
      } else {
        read(piece.text);
      }
    }
  }
  double value() {
    const double result = sum();
    CHECK_MESSAGE(at_ == tokens_.size(), "something is left over in what is written");
    return result;
  }

 private:
  struct Token {
    std::string_view sign;  // empty: a number
    double number = 0;
  };
  // Of "a = b" only what is behind the last sign is kept.
  void read(std::string_view text) {
    static constexpr std::string_view kSigns[] = {"exp", "tanh²", "tanh", "(", ")", "+",
                                                  "−",   "×",     "/",    "√", "="};
    while (!text.empty()) {
      std::string_view sign = text.substr(0, 1);
      for (const std::string_view candidate : kSigns) {
        if (text.starts_with(candidate)) sign = candidate;
        if (text.starts_with(candidate)) break;
      }
      text.remove_prefix(sign.size());
      if (sign == "=") {
        tokens_.clear();
      } else if (sign[0] >= '0' && sign[0] <= '9') {
        tokens_.push_back({"", static_cast<double>(sign[0] - '0')});
      } else if (sign != " ") {
        tokens_.push_back({sign, 0});
      }
    }
  }
  bool take(std::string_view sign) {
    if (at_ >= tokens_.size() || tokens_[at_].sign != sign) return false;
    ++at_;
    return true;
  }
  double sum() {
    double result = product();
    for (;;) {
      if (take("+")) {
        result += product();
      } else if (take("−")) {
        result -= product();
      } else {
        return result;
      }
    }
  }
  double product() {
    double result = one();
    for (;;) {
      if (take("×")) {
        result *= one();
      } else if (take("/")) {
        result /= one();
      } else {
        return result;
      }
    }
  }
  double one() {
    if (take("−")) return -one();
    if (take("exp")) return std::exp(one());
    if (take("tanh²")) return std::pow(std::tanh(one()), 2);
    if (take("tanh")) return std::tanh(one());
    if (take("(")) {
      const double result = sum();
      CHECK_MESSAGE(take(")"), "a bracket is not closed in what is written");
      return result;
    }
    CHECK_MESSAGE((at_ < tokens_.size() && tokens_[at_].sign.empty()), "a number was expected");
    return at_ < tokens_.size() ? tokens_[at_++].number : NAN;
  }
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

double worked_out(const MathLine& line) { return Arithmetic(line).value(); }

double sum_of(const OpExplanation& e) {
  double sum = 0;
  for (const OpTerm& term : e.terms) sum += term.value * term.factor;
  return sum;
}

}  // namespace

TEST_CASE("explain gradient: every operation has one, and a case") {
  std::set<Op> covered;
  for (const Case& c : all_cases()) covered.insert(c.op);
  for (const OpInfo& info : all_ops()) {
    const bool explains = info.explain_gradient != nullptr;
    CHECK_MESSAGE(explains, info.id << " does not explain its gradient");
    CHECK_MESSAGE(covered.contains(info.op), info.id << " has no case");
  }
}

TEST_CASE("explain gradient: the terms add up to every cell that backward adds") {
  std::set<std::string_view> felt;
  for_all_cells([&](const Differentiated& w, int i, std::int64_t cell) {
    const OpExplanation made = w.explain(i, cell);
    const double added = w.gradient(i)[static_cast<std::size_t>(cell)], sum = sum_of(made);
    double magnitude = std::fabs(added);
    for (const OpTerm& term : made.terms) {
      magnitude = std::max(magnitude, std::fabs(term.value * term.factor));
    }
    CHECK_MESSAGE(std::fabs(sum - added) <= 1e-5 * magnitude + 1e-12,
                  "cell " << cell << " gets " << added << ", its terms add up to " << sum);
    CHECK_FALSE(made.formula.empty());
    // What has no terms says why, and is written as the 0 that it is.
    if (made.terms.empty()) {
      CHECK(!made.why.empty());
      CHECK(made.written.size() == 1);
    }
    if (added != 0) felt.insert(w.id());
  });
  CHECK(felt.size() == all_ops().size() - 3);  // nothing feels two kinds of sinusoids and numbers
}

TEST_CASE("explain gradient: what is said in words is said in both languages") {
  std::set<std::string> said;
  for_all_cells([&](const Differentiated& w, int i, std::int64_t cell) {
    check_words(w.explain(i, cell), said);
  });
  CHECK(said.size() > 5);
}

TEST_CASE("explain gradient: values and factors are the cells they name") {
  std::set<std::string_view> plain;
  for_all_cells([&](const Differentiated& w, int i, std::int64_t cell) {
    std::set<std::vector<std::int64_t>> seen;
    for (const OpTerm& term : w.explain(i, cell).terms) {
      CHECK(term.cell.input == kGradientOfOut);
      CHECK(term.value == w.number(term.cell));
      CHECK(seen.insert(term.cell.index).second);
      for (const InputCell& f : term.factor_cells) CHECK_FALSE(std::isnan(w.number(f)));
      const bool made_up = term.factor_cells.size() != 1 || !term.note.empty();
      if (made_up) {
        // A factor that is no cell says how it came about; a number that is moved has none.
        CHECK((!term.note.empty() || (term.factor == 1 && term.factor_cells.empty())));
      } else {
        CHECK(term.factor == w.number(term.factor_cells[0]));
        plain.insert(w.id());
      }
    }
  });
  CHECK(plain == std::set<std::string_view>{
                     "convolution", "dropout", "expert_linear", "focus_scores", "linear",
                     "linear_transposed", "mask_heads", "mix", "multiply", "project",
                     "relative_scores", "relative_sum", "scores", "weighted_sum"});
}

TEST_CASE("explain gradient: a factor is the slope of its own cell") {
  // One cell of dL/d(out) at a time: what it alone adds is its term, and no other has a part.
  for (const Differentiated& made : gradient_cases()) {
    CAPTURE(made.id());
    Differentiated w = made;
    const auto cells = static_cast<std::size_t>(w.forward().out().size());
    for (std::size_t o = 0; o < cells; ++o) w.set_d_out(o, 0);
    for (std::size_t o = 0; o < cells; o += 5) {
      w.set_d_out(o, 1);
      const auto at = unravel(w.forward().out().axes, static_cast<std::int64_t>(o));
      for (int i = 0; i < w.inputs(); ++i) {
        if (w.forward().info().is_fixed(place(i))) continue;
        for (std::int64_t cell = 0; cell < w.input(i).size(); cell += 3) {
          double slope = 0;
          for (const OpTerm& term : w.explain(i, cell).terms) {
            if (term.cell.index == at) slope = term.factor;
          }
          const double added = w.gradient(i)[static_cast<std::size_t>(cell)];
          CHECK(std::fabs(slope - added) <= 1e-5 * std::fabs(added) + 1e-7);
        }
      }
      w.set_d_out(o, 0);
    }
  }
}

TEST_CASE("explain gradient: what is written comes to the factor, and to the cell") {
  std::set<std::string_view> factors, cells;
  for_all_cells([&](const Differentiated& w, int i, std::int64_t cell) {
    const OpExplanation made = w.explain(i, cell);
    double magnitude = 0;
    for (const OpTerm& term : made.terms) {
      magnitude = std::max(magnitude, std::fabs(term.value * term.factor));
      if (term.written.empty()) continue;
      factors.insert(w.id());
      CHECK(worked_out(term.written) == doctest::Approx(term.factor).epsilon(1e-9));
    }
    if (!made.written.empty()) {
      cells.insert(w.id());
      CHECK(std::fabs(worked_out(made.written) - sum_of(made)) <= 1e-6 * magnitude);
    }
    for (const Quantity& q : made.quantities) {
      for (const Language language : {Language::kEnglish, Language::kChinese}) {
        CAPTURE(q.name);
        CHECK(tr_or(language, "inspector.quantity." + q.name, "") != "");
      }
    }
  });
  CHECK(factors.size() == 11);
  for (const auto* id : {"softmax", "layer_norm", "rms_norm", "gelu", "silu", "rotary",
                         "cross_entropy", "mean_pool", "scale", "tanh"}) {
    CHECK_MESSAGE(cells.contains(id), id << " does not write its cell");
  }
}

TEST_CASE("explain gradient: what chooses, forbids or lends its sizes has no terms") {
  int fixed = 0;
  for (const Differentiated& w : gradient_cases()) {
    CAPTURE(w.id());
    for (int i = 0; i < w.inputs(); ++i) {
      if (!w.forward().info().is_fixed(place(i))) continue;
      ++fixed;
      for (std::int64_t cell = 0; cell < w.input(i).size(); ++cell) {
        CHECK(w.explain(i, cell).terms.empty());
      }
    }
  }
  CHECK(fixed > 8);
}

TEST_CASE("explain gradient: masked keys, empty rows and padding say that they are not felt") {
  const Differentiated softmax({Op::kSoftmax, {masked_scores()}});
  CHECK(softmax.explain(0, 2).terms.empty());       // no key is allowed in the first row
  CHECK(softmax.explain(0, 12 + 4).terms.empty());  // a masked key of the third row
  CHECK(softmax.explain(0, 12).terms.size() == 3);  // allowed: keys 0 to 2, and no masked one
  CHECK(softmax.explain(0, 12).terms[1].factor < 0);
  CHECK(softmax.explain(0, 12).quantities.size() == 1);
  const Differentiated warm({Op::kSoftmax, {masked_scores()}, at_temperature(2)});
  CHECK(warm.explain(0, 12).terms[0].note.plain == "p[j] · (1 − p[j]) / τ");
  CHECK(warm.explain(0, 12).formula == "p[j] · (dp[j] − Σ_k p[k] · dp[k]) / τ");
  CHECK(warm.explain(0, 12).quantities.front().value == 2);

  Differentiated masked({Op::kMask, {random_tensor("s", {kBatch, kHead, kQuery, kKey}), mask()}});
  masked.set_d_out(0, NAN);
  CHECK(masked.gradient(0)[0] == 0);
  CHECK(masked.explain(0, 0).terms.empty());
  CHECK(masked.explain(0, 1).terms.size() == 1);

  // Rows of the batch add up in what they share, and only the rows that picked a table's row.
  const Differentiated bias({Op::kLinear,
                             {rows(), random_tensor("W_in", {kModelAxis, {"hidden", 9}}),
                              random_tensor("b_in", {{"hidden", 9}})}});
  CHECK(bias.explain(2, 4).terms.size() == 10);
  CHECK(bias.explain(1, 4).terms.size() == 10);
  CHECK(bias.explain(0, 4).terms.size() == 9);
  const Differentiated embed(
      {Op::kEmbed, {ids(), random_tensor("W_E", {{"vocab", 9}, kModelAxis})}});
  CHECK(embed.explain(1, 0).terms.size() == 3);  // id 0 stands in three places
  CHECK(embed.explain(1, 5 * 7).terms.empty());  // id 5 nowhere
  CHECK(embed.explain(1, 8 * 7).terms.size() == 1);
}

}  // namespace headlight::test_explain_gradient
