// Token embedding: each token id picks its row of the table.
#include "core/ops/op.h"

namespace headlight {
namespace {

// ids (batch, position), W_E (vocab, d_model) -> (batch, position, feature)
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("embed", in, 2, 2);
  if (in[0].axes.size() != 2 || in[1].axes.size() != 2) {
    shape_error("embed", in, "ids (batch, position) and a table (vocab, d_model)");
  }
  return {in[0].axes[0], in[0].axes[1], {"feature", in[1].axes[1].size}};
}

// y[b, t, :] = W_E[id[b, t], :].  Ids are stored as float32, exact below 2^24.
void forward(const OpArgs& args) {
  const auto ids = args.in[0].cells();
  const std::int64_t width = args.in[1].axes[1].size;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    const float* row = args.in[1].data + static_cast<std::int64_t>(ids[t]) * width;
    for (std::int64_t f = 0; f < width; ++f)
      args.result[static_cast<std::int64_t>(t) * width + f] = row[f];
  }
}

// dW_E[v, f] += Σ dy[b, t, f] over the tokens (b, t) whose id is v
void backward(const OpGradArgs& args) {
  const auto ids = args.in[0].cells();
  const auto& table = args.in[1].axes;
  const std::int64_t width = table[1].size;
  for (std::int64_t v = 0; args.d_in[1] && v < table[0].size; ++v) {
    for (std::int64_t f = 0; f < width; ++f) {
      double sum = args.d_in[1][v * width + f];
      for (std::size_t t = 0; t < ids.size(); ++t) {
        if (static_cast<std::int64_t>(ids[t]) != v) continue;
        sum += args.d_out[static_cast<std::int64_t>(t) * width + f];
      }
      args.d_in[1][v * width + f] = static_cast<float>(sum);
    }
  }
}

// Of what the table has a row: tokens, or the sentences of a row.
bool of_segments(const TensorView& table) { return table.axes[0].name == "segment"; }
const char* picked_by(const TensorView& table) {
  return of_segments(table) ? "segment" : "token id";
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t id_at[] = {index[0], index[1]};
  const auto id = static_cast<std::int64_t>(args.in[0].at(id_at));
  const std::int64_t cell[] = {id, index[2]};
  OpTerm term{{1, {id, index[2]}}, args.in[1].at(cell), 1.0, {{0, {index[0], index[1]}}}, ""};
  term.note = Message("explain.note.table_row", {{"row", std::to_string(id)}});
  return {{term},
          {{picked_by(args.in[1]), static_cast<double>(id)}},
          of_segments(args.in[1]) ? "W_seg[seg, f]" : "W_E[id, f]"};
}

// Every token that picked the row passes on what it feels.
OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  if (input != 1) return without_gradient();
  const auto ids = args.in[0].cells();
  const std::string formula =
      of_segments(args.in[1]) ? "Σ_t dy[t, f] · [seg[t] = s]" : "Σ_t dy[t, f] · [id[t] = v]";
  OpExplanation result{{}, {{picked_by(args.in[1]), static_cast<double>(index[0])}}, formula};
  for (std::size_t t = 0; t < ids.size(); ++t) {
    if (static_cast<std::int64_t>(ids[t]) != index[0]) continue;
    std::vector<std::int64_t> cell = unravel(args.in[0].axes, static_cast<std::int64_t>(t));
    cell.push_back(index[1]);
    result.terms.push_back(gradient_term(args, std::move(cell)));
  }
  if (result.terms.empty()) return zero_gradient(formula, "explain.no_token");
  return result;
}

std::vector<Pane> panes(const OpArgs& args, std::int64_t) {
  Pane table = matrix_pane(args.in[1], 1, PaneRole::kOperand, 0);
  const bool source = args.in[0].axes[1].name == "source";
  table.row_follow = source                    ? Follow::kSourceId
                     : of_segments(args.in[1]) ? Follow::kSegmentId
                                               : Follow::kTokenId;
  return {table, matrix_pane(args.out, -1, PaneRole::kResult, 0)};
}

std::string code(const CodeArgs& c) {
  return c.out + " = " + c.in[1] + "[" + c.in[0] + "]  # rows of " + code_shape(c.args.in[1]) +
         " -> " + code_shape(c.args.out) + "\n";
}

}  // namespace

const OpInfo& embed_op() {
  static const OpInfo info{
      .op = Op::kEmbed,
      .id = "embed",
      .phrase = "picks a row of the table",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = code,
      .torch = code,
      .inputs = {InputKind::kIds},
      .trials = {"b t, m n"},
      .row_by_row = true,
      .gradient_reads = {.inputs = {true}, .result = false},
  };
  return info;
}

}  // namespace headlight
