// The arithmetic of a number as LaTeX.
#include <cmath>
#include <cstdio>

#include "core/base/utf8.h"
#include "core/explain/arithmetic_writer.h"
#include "core/explain/steps.h"

namespace headlight {

std::string latex_text(std::string_view utf8) {
  std::string text;
  for (const char32_t c : to_code_points(utf8)) {
    switch (c) {
      case U'\\':
        text += "\\textbackslash{}";
        break;
      case U'^':
        text += "\\textasciicircum{}";
        break;
      case U'~':
        text += "\\textasciitilde{}";
        break;
      case U'<':
        text += "\\textless{}";
        break;
      case U'>':
        text += "\\textgreater{}";
        break;
      case U'|':
        text += "\\textbar{}";
        break;
      case U'{':
      case U'}':
      case U'$':
      case U'&':
      case U'#':
      case U'%':
      case U'_':
        text += "\\" + to_utf8(c);
        break;
      default:
        if (c >= 0x2080 && c <= 0x2089) {  // the position of a token, see Trace::name()
          text += "\\textsubscript{" + std::to_string(c - 0x2080) + "}";
        } else if (c >= 0x20 && c < 0x7F) {
          text += static_cast<char>(c);
        } else {
          // XeTeX and LuaTeX, which know \Umathchar, read any character; an 8-bit TeX would stop.
          char code[16];
          std::snprintf(code, sizeof code, "U+%04X", static_cast<unsigned>(c));
          text += "\\ifdefined\\Umathchar " + to_utf8(c) + "\\else " + code + "\\fi{}";
        }
    }
  }
  return text;
}

namespace {

// A letter with marks, after a "d" where it is a gradient: dx⁽⁰⁾′ -> \mathrm{d}x^{(0)\prime},
// x̂ -> \hat{x}. Empty when the symbol is something else.
std::string latex_marked(std::string_view symbol) {
  constexpr std::u32string_view kDigits = U"⁰¹²³⁴⁵⁶⁷⁸⁹⁽⁾";
  std::u32string marked = to_code_points(symbol);
  std::string text;
  if (marked.size() > 2 && marked[0] == U'd') {
    text = "\\mathrm{d}";
    marked.erase(0, 1);
  }
  if (marked.size() < 2) return "";
  std::string letter = to_utf8(marked[0]), raised;
  for (const char32_t c : std::u32string_view(marked).substr(1)) {
    const std::size_t digit = kDigits.find(c);
    if (digit != kDigits.npos) {
      raised += "0123456789()"[digit];
    } else if (c == U'′' || c == U'″') {
      raised += c == U'′' ? "\\prime" : "\\prime\\prime";
    } else if (c == 0x302 || c == 0x304) {
      letter = (c == 0x302 ? "\\hat{" : "\\bar{") + letter + "}";
    } else {
      return "";
    }
  }
  return text + letter + (raised.empty() ? "" : "^{" + raised + "}");
}

std::string latex_symbol(std::string_view symbol) {
  // A head's number: z₁₂ -> z_{12}, W_Q₃ -> W_{\mathrm{Q},3}
  std::u32string letters = to_code_points(symbol);
  std::string head;
  while (letters.size() > 1 && letters.back() >= U'₀' && letters.back() <= U'₉') {
    head.insert(head.begin(), static_cast<char>('0' + (letters.back() - U'₀')));
    letters.pop_back();
  }
  if (!head.empty()) {
    std::string text;
    for (const char32_t c : letters) text += to_utf8(c);
    text = latex_symbol(text);
    if (text.ends_with("}}")) return text.substr(0, text.size() - 1) + "," + head + "}";
    return text + "_{" + head + "}";
  }
  if (std::string marked = latex_marked(symbol); !marked.empty()) return marked;
  const std::size_t low = symbol.find('_');
  if (low != std::string_view::npos) {
    return std::string(symbol.substr(0, low)) + "_{\\mathrm{" + latex_text(symbol.substr(low + 1)) +
           "}}";
  }
  constexpr std::pair<std::string_view, std::string_view> kGreek[] = {
      {"μ", "\\mu"}, {"π", "\\pi"}, {"ρ", "\\rho"}};
  for (const auto& letter : kGreek) {
    if (symbol == letter.first) return std::string(letter.second);
  }
  if (symbol.size() == 1) return std::string(symbol);
  return "\\mathrm{" + latex_text(symbol) + "}";
}

// −1.5e−7 -> -1.5\times 10^{-7}
std::string latex_number(double value) {
  if (std::isnan(value)) return "\\mathrm{NaN}";
  if (std::isinf(value)) return value < 0 ? "-\\infty" : "\\infty";
  std::string text = all_digits(value);
  for (std::size_t at = 0; (at = text.find("\u2212", at)) != std::string::npos; ++at) {
    text.replace(at, 3, "-");
  }
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  return text.substr(0, e) + "\\times 10^{" + std::to_string(std::stoi(text.substr(e + 1))) + "}";
}

class LatexWriter final : public MathWriter {
 public:
  std::string number(double value) const override { return latex_number(value); }
  std::string literal(const MathPiece& piece) const override { return piece.latex; }
  std::string symbol(std::string_view symbol, const std::vector<std::string>& labels,
                     const std::vector<bool>& is_token) const override {
    std::string text = latex_symbol(symbol);
    if (labels.empty()) return text;
    text += "(";
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (i) text += ", ";
      text += is_token[i] ? "\\text{``" + latex_text(plain_label(labels[i])) + "''}" : labels[i];
    }
    return text + ")";
  }
  std::string times() const override { return " \\times "; }
  std::string dot() const override { return " \\cdot "; }
  std::string function(std::string_view name) const override { return "\\" + std::string(name); }
  // Two terms to a line: three with all their digits run off the page.
  std::string plus(std::size_t i) const override {
    return i % 2 == 0 ? " \\\\\n&\\quad + " : " + ";
  }
  std::string equals() const override { return " \\\\\n&= "; }
  std::string rest(std::size_t, double sum) const override { return guarded(sum); }
  std::string guarded(double value) const override {
    return value < 0 ? "(" + latex_number(value) + ")" : latex_number(value);
  }
};

}  // namespace

std::string explanation_as_latex(const Trace& trace, const Explanation& e) {
  const LatexWriter writer;
  const TensorSpec& spec = trace.program().tensors[static_cast<std::size_t>(e.cell.tensor)];
  std::vector<std::string> labels;
  std::vector<bool> is_token;
  for (std::size_t a = 0; a < spec.axes.size(); ++a) {
    const std::string& axis = spec.axes[a].name;
    if (axis == "batch" || counts_heads(axis)) continue;
    labels.push_back(trace.name(axis, e.cell.index[a]));
    is_token.push_back(names_places(axis));
  }
  std::string line = write_arithmetic(trace, e, writer, SIZE_MAX);
  if (line.empty()) line = latex_number(e.value);
  return "% amsmath\n\\begin{align*}\n" +
         writer.symbol(symbol_with_head(trace.program(), e.cell, false), labels, is_token) +
         " &= " + line + "\n\\end{align*}\n";
}

}  // namespace headlight
