#include "core/explain/explain.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>

#include "core/autodiff/gradient_program.h"
#include "core/base/error.h"
#include "core/base/utf8.h"

namespace headlight {
namespace {

bool drops_batch(std::span<const Axis> axes) {
  return !axes.empty() && axes[0].name == "batch" && axes[0].size == 1;
}

void check_index(const TensorView& t, std::span<const std::int64_t> index) {
  if (index.size() != t.axes.size()) {
    const std::size_t count = shown_axes(t.axes).size();
    const std::size_t got = index.size() - (drops_batch(t.axes) && !index.empty() ? 1 : 0);
    throw UsageError(std::string(t.name) +
                     (count == 0 ? " is a single number, which needs no index"
                                 : " has the axes " + shape_text(shown_axes(t.axes)) +
                                       ", so a cell is named by " + std::to_string(count) +
                                       (count == 1 ? " number" : " numbers")) +
                     "; got " + std::to_string(got));
  }
  for (std::size_t a = 0; a < index.size(); ++a) {
    if (index[a] >= 0 && index[a] < t.axes[a].size) continue;
    throw UsageError(std::string(t.name) + " has " + t.axes[a].name + " 0 to " +
                     std::to_string(t.axes[a].size - 1) + "; got " + std::to_string(index[a]));
  }
}

CellRef cell_ref(const Program& program, const OpCall& call, const InputCell& cell) {
  if (cell.input == kGradientOfOut) return {program.gradient(call.out), cell.index};
  if (cell.input == kResultCell) return {call.out, cell.index};
  if (cell.input < 0) return {};
  return {call.in[static_cast<std::size_t>(cell.input)], cell.index};
}

void add_terms(Explanation& to, const Program& program, const OpCall& call,
               const std::vector<OpTerm>& terms) {
  for (const OpTerm& t : terms) {
    Term term{cell_ref(program, call, t.cell), t.value, t.factor, {}, t.note, t.inner, t.written};
    for (const InputCell& f : t.factor_cells)
      term.factor_cells.push_back(cell_ref(program, call, f));
    to.terms.push_back(std::move(term));
  }
}

std::vector<TensorView> inputs_of(const Trace& trace, const OpCall& call) {
  std::vector<TensorView> in;
  for (const TensorId id : call.in) in.push_back(trace.tensor(id));
  return in;
}

// An operation's formula with the symbols of what this call reads and of its result's gradient: the
// same operation makes attention's scores and the overlap of foci.
std::string with_symbols(const Program& program, const OpCall& call, std::string_view formula) {
  std::string text;
  while (!formula.empty()) {
    const std::size_t open = formula.find("[["), close = formula.find("]]", open);
    text += formula.substr(0, open);
    if (close == formula.npos) break;
    const std::string_view link = formula.substr(open + 2, close - open - 2);
    const TensorId id = link[0] == 'd' ? program.gradient(call.out) : call.in[place(link[1] - '0')];
    text += program.tensors[place(id)].symbol;
    formula.remove_prefix(close + 2);
  }
  return text;
}

// Who passes something back to the number: "dQ, dK, dV", or how many where these symbols are the
// same (the embeddings of encoder and decoder).
Message gradient_users(const Program& program, const std::vector<TensorId>& of) {
  std::set<std::string_view> symbols;
  std::string names;
  for (const TensorId id : of) {
    const TensorSpec& d = program.tensors[static_cast<std::size_t>(program.gradient(id))];
    symbols.insert(d.symbol);
    names += (names.empty() ? "" : ", ") + d.symbol;
  }
  if (symbols.size() == of.size()) return Message{"explain.users", {{"names", names}}};
  return Message{"explain.user_count", {{"n", std::to_string(of.size())}}};
}

// dL/d(a cell): what each call that reads the cell passes back to it.
void explain_gradient(const Trace& trace, Explanation& result) {
  const Program& program = trace.program();
  const TensorView asked = trace.tensor(result.cell.tensor);
  const std::int64_t flat = flat_index(asked.axes, result.cell.index);
  const TensorId of =
      program.tensors[static_cast<std::size_t>(program.resolve(result.cell.tensor))].source;
  result.operation = "gradient";
  result.phrase = "how much the loss changes with this number";
  if (of == program.loss) {
    result.operation = "gradient_of_loss";
    result.phrase = "the loss is the mean of these numbers";
    result.formula = "1 / n";
    if (result.value == 0) {  // its target counts for nothing
      result.operation = "gradient_of_no_loss";
      result.phrase = "this place has no target, so its loss is no part of the mean";
      result.formula.clear();
    }
    return;
  }
  int parts = 0;
  std::vector<TensorId> users;
  for (const GradientPart& part : gradient_parts(program, of)) {
    const OpCall& call = program.calls[static_cast<std::size_t>(part.call)];
    const std::vector<TensorView> in = inputs_of(trace, call);
    const TensorView out = trace.tensor(call.out);
    const OpInfo& info = op_info(call.op);
    if (!info.explain_gradient) continue;
    const OpGradArgs args{in, out, call.params, trace.tensor(program.gradient(call.out)).data, {}};
    const auto index = unravel(in[static_cast<std::size_t>(part.input)].axes, flat);
    const OpExplanation made = info.explain_gradient(args, part.input, index);
    const std::string formula = with_symbols(program, call, made.formula);
    if (result.formula.find(formula) == std::string::npos)
      result.formula += (result.formula.empty() ? "" : " + ") + formula;
    if (!made.why.empty()) result.notes.emplace_back(std::string(made.why));
    users.push_back(call.out);
    for (const Quantity& q : made.quantities) {
      const bool said = std::ranges::any_of(result.quantities, [&](const Quantity& known) {
        return known.name == q.name && known.value == q.value;
      });
      if (!said) result.quantities.push_back(q);
    }
    const std::size_t before = result.terms.size();
    add_terms(result, program, call, made.terms);
    const bool twice = std::find(call.in.begin(), call.in.begin() + part.input,
                                 call.in[place(part.input)]) != call.in.begin() + part.input;
    for (std::size_t i = before; i < result.terms.size(); ++i) result.terms[i].of_second = twice;
    result.written = made.written;
    ++parts;
  }
  const bool plain = std::all_of(result.terms.begin(), result.terms.end(), [](const Term& t) {
    return t.factor_cells.size() == 1 && t.note.empty() && t.written.empty();
  });
  if (parts > 1) result.notes.push_back(gradient_users(program, users));
  if (parts > 1) result.written.clear();
  result.in_letters = parts == 1 && plain;
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
  if (program.is_gradient(tensor)) {
    explain_gradient(trace, result);
    return result;
  }
  const int producer = program.producer(tensor);
  if (producer < 0) {
    const TensorKind kind = program.tensors[program.resolve(tensor)].kind;
    const bool parameter = kind == TensorKind::kParameter;
    result.operation = parameter ? "parameter" : "input";
    result.phrase = parameter ? "a weight of the model" : "given by the sentence and the settings";
    return result;
  }
  const OpCall& call = program.calls[static_cast<std::size_t>(producer)];
  const std::vector<TensorView> in = inputs_of(trace, call);
  const TensorView out = trace.tensor(call.out);
  // An alias may have other axes over the same cells.
  const auto place = unravel(out.axes, flat_index(asked.axes, index));
  const OpInfo& info = op_info(call.op);
  const OpExplanation made = info.explain({in, out, call.params, nullptr}, place);
  const OpWords words = info.words_of(call.params);
  result.operation = words.id;
  result.phrase = words.phrase;
  result.formula = with_symbols(program, call, made.formula);
  result.quantities = made.quantities;
  result.written = made.written;
  result.divided_by = made.divided_by;
  result.in_letters = made.in_letters;
  if (!made.why.empty()) result.notes.emplace_back(std::string(made.why));
  add_terms(result, program, call, made.terms);
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
  if (shown_axes(spec.axes).empty()) return spec.name;
  std::string text = spec.name + "[";
  for (std::size_t a = drops_batch(spec.axes) ? 1 : 0; a < spec.axes.size(); ++a) {
    if (text.back() != '[') text += ", ";
    const std::string& axis = spec.axes[a].name;
    if (counts_heads(axis)) text += axis + " ";
    text += visible_label(shortened(trace.name(axis, cell.index[a]), 40));
  }
  return text + "]";
}

std::vector<std::string> factor_texts(const Trace& trace, const Term& term) {
  const std::vector<CellRef>& cells = term.factor_cells;
  const auto follows = [&](const CellRef& before, const CellRef& cell) {
    CellRef next = before;
    if (!next.index.empty()) ++next.index.back();
    return next == cell;
  };
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < cells.size();) {
    std::size_t last = i;
    while (last + 1 < cells.size() && follows(cells[last], cells[last + 1])) ++last;
    std::string text = cell_text(trace, cells[i]);
    if (last > i && text.ends_with(']')) {
      const std::string end = cell_text(trace, cells[last]);
      text.pop_back();
      text += " … " + end.substr(end.rfind(' ') + 1);
    }
    texts.push_back(std::move(text));
    i = last + 1;
  }
  return texts;
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
