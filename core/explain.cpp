#include "core/explain.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/text/utf8.h"

namespace headlight {
namespace {

bool drops_batch(std::span<const Axis> axes) {
  return !axes.empty() && axes[0].name == "batch" && axes[0].size == 1;
}

void check_index(const TensorView& t, std::span<const std::int64_t> index) {
  if (index.size() != t.axes.size()) {
    throw UsageError(
        std::string(t.name) + " has the axes " + shape_text(shown_axes(t.axes)) +
        ", so a cell is named by " + std::to_string(shown_axes(t.axes).size()) + " numbers; got " +
        std::to_string(index.size() - (drops_batch(t.axes) && !index.empty() ? 1 : 0)));
  }
  for (std::size_t a = 0; a < index.size(); ++a) {
    if (index[a] >= 0 && index[a] < t.axes[a].size) continue;
    throw UsageError(std::string(t.name) + " has " + t.axes[a].name + " 0 to " +
                     std::to_string(t.axes[a].size - 1) + "; got " + std::to_string(index[a]));
  }
}

CellRef cell_ref(const OpCall& call, const InputCell& cell) {
  if (cell.input < 0) return {};
  return {call.in[static_cast<std::size_t>(cell.input)], cell.index};
}

}  // namespace

double Explanation::sum() const {
  double total = 0;
  for (const Term& term : terms) total += term.product();
  return total;
}

Explanation explain(const Trace& trace, TensorId tensor, const std::vector<std::int64_t>& index) {
  const Program& program = trace.program();
  const TensorView asked = trace.tensor(tensor);
  check_index(asked, index);
  Explanation result;
  result.cell = {tensor, index};
  result.value = asked.at(index);
  const int producer = program.producer(tensor);
  if (producer < 0) {
    const TensorKind kind = program.tensors[program.resolve(tensor)].kind;
    const bool parameter = kind == TensorKind::kParameter;
    result.operation = parameter ? "parameter" : "input";
    result.phrase = parameter ? "a weight of the model" : "given by the sentence and the settings";
    return result;
  }
  const OpCall& call = program.calls[static_cast<std::size_t>(producer)];
  std::vector<TensorView> in;
  for (TensorId id : call.in) in.push_back(trace.tensor(id));
  const TensorView out = trace.tensor(call.out);
  // An alias may have other axes over the same cells.
  const auto place = unravel(out.axes, flat_index(asked.axes, index));
  const OpInfo& info = op_info(call.op);
  const OpExplanation made = info.explain({in, out, call.params, nullptr}, place);
  result.operation = info.id;
  result.phrase = info.phrase;
  result.formula = made.formula;
  result.quantities = made.quantities;
  result.written = made.written;
  for (const OpTerm& t : made.terms) {
    Term term{cell_ref(call, t.cell), t.value, t.factor, {}, t.note, t.inner, t.written};
    for (const InputCell& f : t.factor_cells) term.factor_cells.push_back(cell_ref(call, f));
    result.terms.push_back(std::move(term));
  }
  return result;
}

std::vector<std::size_t> by_size(const std::vector<Term>& terms) {
  std::vector<std::size_t> order(terms.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::fabs(terms[a].product()) > std::fabs(terms[b].product());
  });
  return order;
}

std::string cell_text(const Trace& trace, const CellRef& cell) {
  if (cell.tensor < 0) return "constant";
  const TensorSpec& spec = trace.program().tensors[static_cast<std::size_t>(cell.tensor)];
  std::string text = spec.name + "[";
  for (std::size_t a = drops_batch(spec.axes) ? 1 : 0; a < spec.axes.size(); ++a) {
    if (text.back() != '[') text += ", ";
    const std::string& axis = spec.axes[a].name;
    if (axis == "head") text += "head ";
    text += visible_label(shortened(trace.name(axis, cell.index[a]), 40));
  }
  return text + "]";
}

std::vector<std::int64_t> full_index(const Trace& trace, TensorId id,
                                     const std::vector<std::int64_t>& index) {
  std::vector<std::int64_t> full = index;
  const TensorView t = trace.tensor(id);
  if (drops_batch(t.axes)) full.insert(full.begin(), 0);
  check_index(t, full);
  return full;
}

std::vector<Axis> shown_axes(std::span<const Axis> axes) {
  return {axes.begin() + (drops_batch(axes) ? 1 : 0), axes.end()};
}

}  // namespace headlight
