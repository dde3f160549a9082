#include "core/explain/arithmetic.h"

#include <algorithm>
#include <cmath>

#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/explain/arithmetic_writer.h"
#include "core/explain/printed_value.h"
#include "core/explain/steps.h"

namespace headlight {

std::string plain_label(std::string_view token) { return visible_label(shortened(token, 40)); }

std::string all_digits(double value) { return exact_double(value); }

namespace {

// Would the token be taken for an index, a minus sign or a part of the brackets around it?
bool reads_as_sign(std::string_view token) {
  const bool has_letter = std::ranges::any_of(token.substr(0, token.find("\xE2\x82")), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
  });
  return !has_letter || token.find_first_of("[](),\"") != token.npos;
}

}  // namespace

std::string cell_title(const Trace& trace, const CellRef& cell, LabelFunction label) {
  const TensorSpec& spec = trace.program().tensors[static_cast<std::size_t>(cell.tensor)];
  const std::string symbol = symbol_with_head(trace.program(), cell, false);
  std::string text = symbol + "[";
  for (std::size_t a = 0; a < spec.axes.size(); ++a) {
    if (spec.axes[a].name == "batch" || counts_heads(spec.axes[a].name)) continue;
    if (text.back() != '[') text += ", ";
    const std::string name = trace.name(spec.axes[a].name, cell.index[a]);
    const bool quoted = names_places(spec.axes[a].name) && reads_as_sign(name);
    text += quoted ? "\u201c" + label(name) + "\u201d" : label(name);
  }
  return text.ends_with('[') ? symbol : text + "]";  // a single number has no place to name
}

namespace {

// One in the last of a number's significant digits.
double last_place(double value, int digits) {
  return std::pow(10.0, std::floor(std::log10(std::fabs(value))) - digits + 1);
}

// So many digits that the line comes to its result as it is printed: 1.0000 / 1.0002 = 0.9998,
// where 1.000 / 1.000 would be 1. Longer lines may miss by one in the last place.
int digits_that_add_up(const Explanation& e, const LineStyle& style) {
  constexpr int kMost = 12;
  if (e.written.empty() || style.digits <= 0 || !std::isfinite(e.value) || e.value == 0)
    return style.digits;
  const auto numbers =
      std::ranges::count_if(e.written, [](const MathPiece& p) { return p.number.has_value(); });
  const double place = last_place(e.value, style.digits);
  LineStyle own = style;
  for (; own.digits <= kMost; ++own.digits) {
    const auto printed = printed_value(written_line(e, PlainWriter(own)));
    if (!printed) return style.digits;
    const bool usual = own.digits == style.digits && numbers > 2;
    if (std::fabs(*printed - e.value) <= (usual ? 1.5 : 0.501) * place) return own.digits;
  }
  return style.digits;
}

}  // namespace

std::string arithmetic_line(const Trace& trace, const Explanation& e, const LineStyle& style) {
  LineStyle own = style;
  own.fine |= is_gradient(e);
  own.digits = digits_that_add_up(e, own);
  const PlainWriter writer(own, style.digits);
  return write_arithmetic(trace, e, writer, own.most);
}

bool is_gradient(const Explanation& e) { return e.operation.starts_with("gradient"); }

std::string line_number(const Explanation& e, double value) {
  LineStyle style;
  style.fine = is_gradient(e);
  return PlainWriter(style).number(value);
}

namespace {

// "−1.673 × −3.026 = 5.063   blocks.0.attn.q[head 0, it, 0], blocks.0.attn.k[head 0, animal, 0]"
std::string term_line(const Trace& trace, const Explanation& e, const Term& t) {
  std::string text = "  ";
  if (t.inner) {
    text += "exp(" + all_digits(t.value) + " \u2212 max) = " + all_digits(*t.inner);
  } else if (t.factor == 1 && t.factor_cells.empty()) {
    text += all_digits(t.value);
  } else {
    text += all_digits(t.value) + " × " + all_digits(t.factor) + " = " + all_digits(t.product());
  }
  text += "   " + (t.cell.tensor < 0 ? e.operation : cell_text(trace, t.cell));
  for (const std::string& cell : factor_texts(trace, t)) text += ", " + cell;
  return text + "\n";
}

}  // namespace

std::string explanation_as_text(const Trace& trace, const Explanation& e) {
  LineStyle style;
  style.digits = 0;
  const std::string value = all_digits(e.value);
  std::string text = cell_text(trace, e.cell) + " = " + value + "\n";
  const std::string line = arithmetic_line(trace, e, style);
  if (line.empty()) return text;
  text += cell_title(trace, e.cell) + " = " + line + "\n";
  for (const std::size_t i : by_size(e.terms)) text += term_line(trace, e, e.terms[i]);
  return text;
}

namespace {

// For a spreadsheet: a plain minus sign.
std::string table_number(double value) {
  std::string text = all_digits(value);
  for (std::size_t at = 0; (at = text.find("\u2212", at)) != std::string::npos; ++at) {
    text.replace(at, 3, "-");
  }
  if (text.ends_with("\u221e")) text = text.starts_with("-") ? "-inf" : "inf";
  return text;
}

}  // namespace

std::string explanation_as_table(const Trace& trace, const Explanation& e) {
  const bool row = std::any_of(e.terms.begin(), e.terms.end(),
                               [](const Term& t) { return t.inner.has_value(); });
  double total = 0;
  for (const Term& t : e.terms) total += t.inner.value_or(0);
  std::string text =
      row ? "cell\tx\texp(x-max)\tshare\n" : "cell\tvalue\tfactor from\tfactor\tproduct\n";
  for (const std::size_t i : by_size(e.terms)) {
    const Term& t = e.terms[i];
    if (row && !t.inner) continue;
    text += t.cell.tensor < 0 ? "constant" : cell_text(trace, t.cell);
    text += "\t" + table_number(t.value) + "\t";
    if (row) {
      text += table_number(*t.inner) + "\t" + table_number(*t.inner / total) + "\n";
      continue;
    }
    const std::vector<std::string> from = factor_texts(trace, t);
    for (std::size_t f = 0; f < from.size(); ++f) text += (f ? "; " : "") + from[f];
    text += "\t" + table_number(t.factor) + "\t" + table_number(t.product()) + "\n";
  }
  text += cell_text(trace, e.cell) + (row ? "\t\t\t" : "\t\t\t\t") + table_number(e.value) + "\n";
  return text;
}

}  // namespace headlight
