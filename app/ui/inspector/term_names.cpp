#include "app/ui/inspector/term_names.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "app/ui/matrix/pane_view.h"

namespace headlight {
namespace {

struct Seen {
  const Term* first = nullptr;
  bool more = false;
  std::size_t varies = 0;  // the last axis on which its terms differ
};

const TensorSpec& spec_of(const Trace& trace, TensorId tensor) {
  return trace.program().tensors[static_cast<std::size_t>(tensor)];
}

}  // namespace

TermNames::TermNames(const Trace& trace, const Explanation& e, Language language)
    : trace_(trace), language_(language) {
  std::map<TensorId, Seen> seen;
  for (const Term& term : e.terms) {
    if (term.cell.tensor < 0) continue;
    Seen& of = seen[term.cell.tensor];
    if (!of.first) {
      of.first = &term;
      continue;
    }
    of.more = true;
    for (std::size_t a = 0; a < term.cell.index.size(); ++a) {
      if (term.cell.index[a] != of.first->cell.index[a]) of.varies = std::max(of.varies, a);
    }
  }
  several_ = seen.size() != 1 || !seen.begin()->second.more;
  std::set<std::string_view> symbols;
  for (const auto& [tensor, of] : seen) {
    symbols.insert(spec_of(trace, tensor).symbol);
    if (!of.more) continue;
    tensor_ = tensor;
    axis_ = of.varies > 0 ? of.varies : of.first->cell.index.size() - 1;
    runs_along_[tensor] = axis_;
  }
  one_symbol_ = symbols.size() < seen.size();
  if (!one_symbol_) return;
  for (const auto& [tensor, of] : seen) {  // single ones, too, by their row
    const std::vector<Axis>& axes = spec_of(trace, tensor).axes;
    const auto longer = std::ranges::find_if(axes, [](const Axis& a) { return a.size > 1; });
    if (longer != axes.end())
      runs_along_.emplace(tensor, static_cast<std::size_t>(longer - axes.begin()));
  }
}

std::string TermNames::name(const Term& term) const {
  if (term.cell.tensor < 0) return "";
  const TensorSpec& spec = spec_of(trace_, term.cell.tensor);
  const auto along = runs_along_.find(term.cell.tensor);
  if (along == runs_along_.end()) return spec.symbol;
  const std::string label =
      token_label(trace_.name(spec.axes[along->second].name, term.cell.index[along->second]));
  if (!several_) return label;
  if (!one_symbol_) return spec.symbol + " " + label;
  return label + " " +
         std::string(tr(language_, "inspector.axis." + spec.axes[along->second].name));
}

const std::string& TermNames::axis() const { return spec_of(trace_, tensor_).axes[axis_].name; }

}  // namespace headlight
