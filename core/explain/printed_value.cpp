#include "core/explain/printed_value.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

namespace headlight {
namespace {

// sum = product {(+|−) product}; product = factor {(×|/) factor};
// factor = − factor | √ factor | number | [function] "(" sum ["," sum] ")"
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  double whole() {
    const double value = sum();
    return rest_.find_first_not_of(' ') == rest_.npos ? value : fail();
  }
  bool failed() const { return failed_; }

 private:
  bool take(std::string_view sign) {
    const std::size_t at = std::min(rest_.find_first_not_of(' '), rest_.size());
    if (!rest_.substr(at).starts_with(sign)) return false;
    rest_.remove_prefix(at + sign.size());
    return true;
  }

  double fail() {
    failed_ = true;
    rest_ = {};
    return 0;
  }

  double sum() {
    double value = product();
    while (true) {
      if (take("+")) {
        value += product();
      } else if (take("−")) {
        value -= product();
      } else {
        return value;
      }
    }
  }

  double product() {
    double value = factor();
    while (true) {
      if (take("×")) {
        value *= factor();
      } else if (take("/")) {
        value /= factor();
      } else {
        return value;
      }
    }
  }

  double factor() {
    if (take("−")) return -factor();
    if (take("√")) return std::sqrt(factor());
    if (take("∞")) return std::numeric_limits<double>::infinity();
    if (take("exp(")) return std::exp(in_brackets());
    if (take("log(")) return std::log(in_brackets());
    if (take("tanh(")) return std::tanh(in_brackets());
    if (take("cos(")) return std::cos(in_brackets());
    if (take("sin(")) return std::sin(in_brackets());
    if (take("tanh²(")) return std::pow(std::tanh(in_brackets()), 2);
    if (take("max(")) {
      const double first = sum();
      return take(",") ? std::max(first, in_brackets()) : fail();
    }
    return take("(") ? in_brackets() : number();
  }

  double in_brackets() {
    const double value = sum();
    return take(")") ? value : fail();
  }

  double number() {
    take("");  // the spaces before it
    const std::size_t end = std::min(rest_.find_first_not_of("0123456789."), rest_.size());
    std::string digits(rest_.substr(0, end));
    if (digits.empty()) return fail();
    rest_.remove_prefix(end);
    if (rest_.starts_with("e")) {
      rest_.remove_prefix(1);
      digits += take("−") ? "e-" : "e";
      take("+");
      const std::size_t power = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
      digits += rest_.substr(0, power);
      rest_.remove_prefix(power);
    }
    return std::strtod(digits.c_str(), nullptr);
  }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace

std::optional<double> printed_value(std::string_view line) {
  if (const std::size_t equals = line.rfind(" = "); equals != line.npos)
    line.remove_prefix(equals + 3);
  Reader reader(line);
  const double value = reader.whole();
  if (reader.failed()) return std::nullopt;
  return value;
}

}  // namespace headlight
