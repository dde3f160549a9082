// The shape of a number's arithmetic, apart from how its pieces are written: the same sum or line
// becomes plain text or LaTeX by the writer that it is given.
#pragma once

#include <string>
#include <string_view>

#include "core/explain/arithmetic.h"

namespace headlight {

/// The tensor's symbol; with the number of the cell's head (z₃) always, or only where a row of all
/// heads has the same symbol.
std::string symbol_with_head(const Program&, const CellRef&, bool always);

class MathWriter {
 public:
  virtual ~MathWriter() = default;
  virtual std::string number(double) const = 0;
  /// What a line comes to.
  virtual std::string result(double value) const { return number(value); }
  virtual std::string literal(const MathPiece&) const = 0;
  /// "W_Q", and the labels of a cell of it: q(“it”), W_Q(3)
  virtual std::string symbol(std::string_view symbol, const std::vector<std::string>& labels,
                             const std::vector<bool>& is_token) const = 0;
  virtual std::string times() const = 0;
  virtual std::string dot() const = 0;
  virtual std::string function(std::string_view name) const = 0;
  /// What stands between two terms of a long sum, before term `i`.
  virtual std::string plus(std::size_t i) const = 0;
  /// What stands between the parts of a chain "a = b = c".
  virtual std::string equals() const = 0;
  /// "0.021 (54 smaller ones)"
  virtual std::string rest(std::size_t count, double sum) const = 0;
  /// A negative number behind an operator.
  virtual std::string guarded(double) const = 0;
};

class PlainWriter final : public MathWriter {
 public:
  explicit PlainWriter(const LineStyle& style) : PlainWriter(style, style.digits) {}
  PlainWriter(const LineStyle& style, int result_digits)
      : style_(style), result_digits_(result_digits) {}
  std::string number(double) const override;
  std::string result(double) const override;
  std::string literal(const MathPiece& piece) const override { return piece.text; }
  std::string symbol(std::string_view, const std::vector<std::string>&,
                     const std::vector<bool>&) const override;
  std::string times() const override { return " × "; }
  std::string dot() const override { return " · "; }
  std::string function(std::string_view name) const override { return std::string(name); }
  std::string plus(std::size_t) const override { return " + "; }
  std::string equals() const override { return " = "; }
  std::string rest(std::size_t count, double sum) const override;
  std::string guarded(double) const override;

 private:
  LineStyle style_;
  int result_digits_;
};

/// Explanation::written, without its result.
std::string written_line(const Explanation&, const MathWriter&);

/// "q · k = (a × b) + … = value". At most `most` terms, the largest ones; see MathWriter::rest.
std::string write_arithmetic(const Trace&, const Explanation&, const MathWriter&, std::size_t most);

}  // namespace headlight
