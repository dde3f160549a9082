// headlight explain: how one cell was made, as text or JSON.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/cli/cli.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/explain/explain.h"
#include "core/io/json_numbers.h"

namespace headlight {
namespace {

struct ExplainOptions {
  ModelOptions model;
  std::string tensor, at;
  bool json = false;
};

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The cell as a person names it: without the batch axis.
std::string cell_json(const Trace& trace, const CellRef& cell) {
  if (cell.tensor < 0) return "\"tensor\": null, \"index\": []";
  const TensorSpec& spec = trace.program().tensors[static_cast<std::size_t>(cell.tensor)];
  const std::size_t skip = cell.index.size() - shown_axes(spec.axes).size();
  std::string index;
  for (std::size_t a = skip; a < cell.index.size(); ++a)
    index += (index.empty() ? "" : ", ") + std::to_string(cell.index[a]);
  return "\"tensor\": " + quoted(spec.name) + ", \"index\": [" + index + "]";
}

void print_json(const Trace& trace, const Explanation& e) {
  std::string out =
      "{" + cell_json(trace, e.cell) + ",\n \"cell\": " + quoted(cell_text(trace, e.cell)) +
      ",\n \"value\": " + json_number(e.value) + ",\n \"operation\": " + quoted(e.operation) +
      ",\n \"phrase\": " + quoted(e.phrase) + ",\n \"formula\": " + quoted(e.formula) +
      ",\n \"notes\": [";
  for (std::size_t i = 0; i < e.notes.size(); ++i)
    out += (i ? ", " : "") + quoted(say(Language::kEnglish, e.notes[i]));
  out += "],\n \"quantities\": {";
  for (std::size_t i = 0; i < e.quantities.size(); ++i) {
    out +=
        (i ? ", " : "") + quoted(e.quantities[i].name) + ": " + json_number(e.quantities[i].value);
  }
  out += "},\n \"terms\": [";
  for (std::size_t i = 0; i < e.terms.size(); ++i) {
    const Term& t = e.terms[i];
    out += (i ? ",\n  {" : "\n  {") + cell_json(trace, t.cell) +
           ", \"value\": " + json_number(t.value) + ", \"factor\": " + json_number(t.factor) +
           ", \"factor_cells\": [";
    for (std::size_t f = 0; f < t.factor_cells.size(); ++f)
      out += (f ? ", {" : "{") + cell_json(trace, t.factor_cells[f]) + "}";
    out += "], \"note\": " + quoted(say(Language::kEnglish, t.note));
    if (t.inner) out += ", \"exp\": " + json_number(*t.inner);
    out += "}";
  }
  out += "],\n \"sum\": " + json_number(e.sum()) + "}\n";
  std::fputs(out.c_str(), stdout);
}

void print_text(const Trace& trace, const Explanation& e) {
  std::printf("%s = %s\n", cell_text(trace, e.cell).c_str(),
              exact_number(static_cast<float>(e.value)).c_str());
  std::printf("%s: %s%s%s\n", e.operation.c_str(), e.phrase.c_str(), e.formula.empty() ? "" : "; ",
              e.formula.c_str());
  for (const Message& note : e.notes) std::printf("  %s.\n", say(Language::kEnglish, note).c_str());
  for (const Quantity& q : e.quantities)
    std::printf("  %s = %s\n", q.name.c_str(), number_text(q.value, 6).c_str());
  if (e.terms.empty()) return;
  const bool exponentials = e.terms[0].inner.has_value();
  std::printf(exponentials ? "the row:\n" : "terms, largest first (value × factor = product):\n");
  for (const std::size_t i : by_size(e.terms)) {
    const Term& t = e.terms[i];
    if (t.inner) {
      std::printf("  x = %s, exp(x − max) = %s   %s\n", number_text(t.value, 6).c_str(),
                  number_text(*t.inner, 6).c_str(), cell_text(trace, t.cell).c_str());
      continue;
    }
    std::string factor = t.factor_cells.empty() ? "" : "  factor: ";
    const std::vector<std::string> from = factor_texts(trace, t);
    for (std::size_t f = 0; f < from.size(); ++f) factor += (f ? ", " : "") + from[f];
    std::printf("  %s × %s = %s   %s%s%s%s\n", number_text(t.value, 6).c_str(),
                number_text(t.factor, 6).c_str(), signed_number(t.product(), 6).c_str(),
                cell_text(trace, t.cell).c_str(), factor.c_str(), t.note.empty() ? "" : "  ",
                say(Language::kEnglish, t.note).c_str());
  }
  if (exponentials) {
    std::printf("own exponential / row sum = %s\n", number_text(e.sum(), 6).c_str());
    return;
  }
  std::printf("sum of %zu %s = %s\n", e.terms.size(), e.terms.size() == 1 ? "term" : "terms",
              number_text(e.sum(), 6).c_str());
}

// What is right, and the loss: there only for the sake of gradients.
bool is_of_training(const std::string& tensor, const Program& p) {
  return !p.by_name.contains(tensor) &&
         build_training_program(p.config, p.shape).by_name.contains(tensor);
}

int run_explain(const ExplainOptions& o) {
  const Document doc = o.model.document();
  const bool gradient = o.tensor.starts_with("d.");
  auto trace = run_or_throw(o.model, doc, gradient);
  if (!gradient && is_of_training(o.tensor, trace->program()))
    trace = run_or_throw(o.model, doc, true);
  const TensorId id = trace->program().require(o.tensor);
  const auto index = o.at.empty() ? std::vector<std::int64_t>() : parse_index(o.at);
  const Explanation e = explain(*trace, id, full_index(*trace, id, index));
  o.json ? print_json(*trace, e) : print_text(*trace, e);
  return 0;
}

}  // namespace

void add_explain_command(CLI::App& app, Run& run) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* sub =
      app.add_subcommand("explain", "Says how one cell was made, with its real numbers");
  options->model.add_to(*sub);
  options->model.add_model_to(*sub);
  sub->add_option("--tensor", options->tensor, "Name of the tensor, as blocks.0.attn.pattern")
      ->required();
  sub->add_option("--at", options->at,
                  "The cell, as 0,3,1 (head, query, key); a single number needs none");
  sub->add_flag("--json", options->json, "As JSON");
  sub->callback([options, &run] { run = [options] { return run_explain(*options); }; });
}

}  // namespace headlight
