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
  std::set<std::size_t> axes = {};
  std::set<std::int64_t> places = {};  // along the last one
  std::size_t terms = 1;
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
    ++of.terms;
    for (std::size_t a = 0; a < term.cell.index.size(); ++a) {
      if (term.cell.index[a] == of.first->cell.index[a]) continue;
      of.varies = std::max(of.varies, a);
      of.axes.insert(a);
    }
  }
  for (const Term& term : e.terms) {
    if (term.cell.tensor >= 0 && !term.cell.index.empty())
      seen[term.cell.tensor].places.insert(term.cell.index[seen[term.cell.tensor].varies]);
  }
  for (const auto& [tensor, of] : seen) {
    if (of.axes.size() > 1 && of.places.size() < of.terms)
      crosses_[tensor] = {of.axes.begin(), of.axes.end()};
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

std::string TermNames::place_of(const Term& term, std::size_t axis) const {
  const TensorSpec& spec = spec_of(trace_, term.cell.tensor);
  return token_label(trace_.name(spec.axes[axis].name, term.cell.index[axis]));
}

std::string TermNames::name(const Term& term) const {
  if (term.cell.tensor < 0) return "";
  if (!term.of_second) return own_name(term);
  return own_name(term) + " " + std::string(tr(language_, "inspector.term.second"));
}

std::string TermNames::own_name(const Term& term) const {
  const TensorSpec& spec = spec_of(trace_, term.cell.tensor);
  const auto along = runs_along_.find(term.cell.tensor);
  if (along == runs_along_.end()) return spec.symbol;
  std::string label = place_of(term, along->second);
  if (const auto crossed = crosses_.find(term.cell.tensor); crossed != crosses_.end()) {
    label.clear();
    for (const std::size_t axis : crossed->second)
      label += (label.empty() ? "" : ", ") + place_of(term, axis);
  }
  if (!several_) return label;
  if (!one_symbol_) return spec.symbol + " " + label;
  return label + " " +
         std::string(tr(language_, "inspector.axis." + spec.axes[along->second].name));
}

const std::string& TermNames::axis() const { return spec_of(trace_, tensor_).axes[axis_].name; }

}  // namespace headlight
