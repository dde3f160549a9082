// How likely each number of the grid is: the logarithm of a bell curve around one number, or of a
// weighted sum of several (Bishop 1994, "Mixture density networks").
#include <cmath>
#include <limits>

#include "core/ops/numbers/grid.h"
#include "core/ops/op.h"

namespace headlight {
namespace {

constexpr double kHalfLogTwoPi = 0.91893853320467274;

// m (batch, position, 1), or m, w, s (batch, position, component) -> (batch, position, vocab)
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams& params) {
  bool fits = (in.size() == 1 || in.size() == 3) && in[0].axes.size() == 3;
  fits = fits && (in.size() == 3 ? in[0].axes[2].size > 0 : in[0].axes[2].size == 1);
  for (std::size_t i = 1; fits && i < in.size(); ++i)
    fits = std::ranges::equal(in[i].axes, in[0].axes, {}, &Axis::size, &Axis::size);
  if (!fits)
    shape_error("mixture_logits", in,
                "a number (batch, position, 1), or means, weights and spreads (batch, position, "
                "component)");
  return {in[0].axes[0], in[0].axes[1], {"vocab", params.features}};
}

// One component of a row's density, with what its cells are felt by: 0 where they are held back.
struct Component {
  double mean = 0, spread = 1,
         level = 0;  // its logarithm at v is level − ((v − mean) / spread)² / 2
  double mean_slope = 1, weight_slope = 0, spread_slope = 0;

  double at(double v) const {
    const double z = (v - mean) / spread;
    return level - 0.5 * z * z;
  }
};

bool is_single(std::span<const TensorView> in) { return in.size() == 1; }

Component component(std::span<const TensorView> in, const OpParams& params, std::int64_t cell) {
  const double m = in[0].data[cell];
  Component c;
  c.mean = std::clamp(m, -kFarthestMean, kFarthestMean);
  c.mean_slope = c.mean == m ? 1 : 0;
  c.spread = params.factor;
  if (is_single(in)) return c;
  const double w = in[1].data[cell], s = in[2].data[cell];
  const double weight = std::max(w, kLowestWeight);
  const bool moves = s >= kLowestLogSpread && s <= kHighestLogSpread;
  c.spread = spread_of(s, params.features);
  c.level = std::log(weight) - std::log(c.spread) - kHalfLogTwoPi;
  c.weight_slope = weight == w ? 1 / weight : 0;
  c.spread_slope = moves ? std::exp(s) / c.spread : 0;
  return c;
}

// log Σ_k exp(parts[k])
double log_sum(std::span<const double> parts) {
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const double part : parts) most = std::max(most, part);
  for (const double part : parts) sum += std::exp(part - most);
  return most + std::log(sum);
}

struct Row {
  std::vector<Component> components;
  std::vector<double> parts;

  double density(double v) {
    for (std::size_t k = 0; k < components.size(); ++k) parts[k] = components[k].at(v);
    return parts.size() == 1 ? parts[0] : log_sum(parts);
  }
};

Row row_of(std::span<const TensorView> in, const OpParams& params, std::int64_t row) {
  const std::int64_t n = in[0].axes[2].size;
  Row made;
  for (std::int64_t k = 0; k < n; ++k)
    made.components.push_back(component(in, params, row * n + k));
  made.parts.resize(static_cast<std::size_t>(n));
  return made;
}

// One number: l[t, j] = −(v_j − m[t])² / (2σ²). Several:
// l[t, j] = log Σ_k w[t, k] · exp(−(v_j − m[t, k])² / (2σ²)) / (σ √2π),  σ = h + exp(s[t, k])
// v_j: the grid's numbers, h: half of its step. m, w and s are held within the limits of grid.h, so
// that every finite input has a finite result.
void forward(const OpArgs& args) {
  const auto [rows, n] = as_rows(args.out.axes);
  for (std::int64_t r = 0; r < rows; ++r) {
    Row row = row_of(args.in, args.params, r);
    for (std::int64_t j = 0; j < n; ++j)
      args.result[r * n + j] = static_cast<float>(row.density(grid_value(j, n)));
  }
}

// How much l[t, j] grows with a cell of component k, whose share of the density is `share`.
double slope(const Component& c, int input, double v, double share) {
  const double z = (v - c.mean) / c.spread;
  if (input == 0) return share * c.mean_slope * z / c.spread;
  return input == 1 ? share * c.weight_slope : share * c.spread_slope * (z * z - 1);
}

// With the share p_k = exp(part of k − l[t, j]):
// dm[t, k] += Σ_j dl[t, j] · p_k · (v_j − m) / σ²
// dw[t, k] += Σ_j dl[t, j] · p_k / w
// ds[t, k] += Σ_j dl[t, j] · p_k · (((v_j − m) / σ)² − 1) · exp(s) / σ
void backward(const OpGradArgs& args) {
  const auto [rows, n] = as_rows(args.out.axes);
  for (std::int64_t r = 0; r < rows; ++r) {
    Row row = row_of(args.in, args.params, r);
    const std::size_t count = row.components.size();
    std::vector<double> sums(3 * count, 0.0);
    for (std::int64_t j = 0; j < n; ++j) {
      const double v = grid_value(j, n), density = row.density(v), d = args.d_out[r * n + j];
      for (std::size_t k = 0; k < count; ++k) {
        const double share = std::exp(row.parts[k] - density);
        for (std::size_t i = 0; i < args.in.size(); ++i)
          sums[i * count + k] += d * slope(row.components[k], static_cast<int>(i), v, share);
      }
    }
    for (std::size_t i = 0; i < args.in.size(); ++i) {
      for (std::size_t k = 0; args.d_in[i] && k < count; ++k) {
        float& into = args.d_in[i][static_cast<std::size_t>(r) * count + k];
        into = static_cast<float>(into + sums[i * count + k]);
      }
    }
  }
}

// ---- explanation ----

// −(v − m)² / (2σ²) as terms: m feels its own size too.
OpExplanation explain_single(const OpArgs& args, std::span<const std::int64_t> index,
                             const Component& c, double v) {
  const std::vector<std::int64_t> cell = {index[0], index[1], 0};
  const double twice = 2 * c.spread * c.spread, m = c.mean;
  OpTerm own{{0, cell}, args.in[0].at(cell), 0, {}, "(2v − m) / (2σ²)"};
  own.factor = own.value == 0 ? 0 : m * (2 * v - m) / twice / own.value;
  OpTerm rest{{}, -v * v / twice, 1, {}, "−v² / (2σ²)"};
  return {{own, rest},
          {{"grid number", v}, {"spread", c.spread}},
          "−(v − m[t])² / (2σ²)",
          {math("−(", "-("), math(v), math(" − ", " - "), math(m), math(")² / ", ")^2 / "),
           math(twice)}};
}

// The logarithm of a sum is no sum: each component stands with what it adds inside the logarithm,
// and the logarithm of it all is the one term that counts.
OpExplanation explain_mixture(const OpArgs& args, std::span<const std::int64_t> index, Row row,
                              double v) {
  OpExplanation result;
  result.formula = "log Σ_k w[t, k] · N(v; m[t, k], σ[t, k])";
  const double density = row.density(v);
  result.quantities = {{"grid number", v}, {"density", std::exp(density)}};
  result.written = {math("log(", "\\log(")};
  for (std::size_t k = 0; k < row.components.size(); ++k) {
    const std::vector<std::int64_t> cell = {index[0], index[1], static_cast<std::int64_t>(k)};
    const double part = std::exp(row.parts[k]);
    for (int i = 0; i < 3; ++i)
      result.terms.push_back({{i, cell},
                              args.in[static_cast<std::size_t>(i)].at(cell),
                              0,
                              {},
                              Message("explain.note.through_components"),
                              part});
    if (k > 0) result.written.push_back(math(" + ", " + "));
    result.written.push_back(math(part));
  }
  result.written.push_back(math(")", ")"));
  result.terms.push_back({{}, density, 1.0, {}, Message("explain.note.log_density"), {}});
  return result;
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const double v = grid_value(index[2], args.out.axes[2].size);
  Row row = row_of(args.in, args.params, index[0] * args.out.axes[1].size + index[1]);
  if (is_single(args.in)) return explain_single(args, index, row.components[0], v);
  return explain_mixture(args, index, std::move(row), v);
}

constexpr std::string_view kGradients[] = {"Σ_j dl[t, j] · p_k · (v_j − m) / σ²",
                                           "Σ_j dl[t, j] · p_k / w",
                                           "Σ_j dl[t, j] · p_k · (z² − 1) · exp(s) / σ"};
constexpr std::string_view kNotes[] = {"p_k · (v − m) / σ²", "p_k / w",
                                       "p_k · (z² − 1) · exp(s) / σ"};

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  const auto which = static_cast<std::size_t>(input);
  const auto k = static_cast<std::size_t>(index[2]);
  Row row = row_of(args.in, args.params, index[0] * args.out.axes[1].size + index[1]);
  OpExplanation result;
  result.formula =
      is_single(args.in) ? "Σ_j dl[t, j] · (v_j − m) / σ²" : std::string(kGradients[which]);
  const std::vector<std::int64_t> own(index.begin(), index.end());
  const std::int64_t n = args.out.axes[2].size;
  for (std::int64_t j = 0; j < n; ++j) {
    const double v = grid_value(j, n), density = row.density(v);
    const double share = std::exp(row.parts[k] - density);
    result.terms.push_back(gradient_term(
        args, {index[0], index[1], j}, slope(row.components[k], input, v, share), {{input, own}},
        is_single(args.in) ? "(v − m) / σ²" : std::string(kNotes[which])));
  }
  return result;
}

std::vector<Pane> panes(const OpArgs& args, std::int64_t) {
  std::vector<Pane> result;
  for (std::size_t i = 0; i < args.in.size(); ++i) {
    result.push_back(matrix_pane(args.in[i], static_cast<int>(i), PaneRole::kOperand, 0));
    result.back().column_follow = Follow::kFree;  // every component acts on every number
  }
  result.push_back(matrix_pane(args.out, -1, PaneRole::kResult, 0));
  return result;
}

// ---- code ----

std::string decimal(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  return text.back() == '.' ? text + "0" : text;
}

std::string numpy(const CodeArgs& c) {
  const std::string n = code_size(c.args.out, 1), sizes = "  # " + code_shape(c.args.out) + "\n";
  const std::string grid = "grid = np.linspace(-1, 1, " + n + ")  # the numbers that tokens are\n";
  if (is_single(c.args.in))
    return grid + c.out + " = -(grid - np.clip(" + c.in[0] + ", -100, 100)) ** 2 / (2 * " +
           decimal(c.args.params.factor) + " ** 2)" + sizes;
  return grid + "m = np.clip(" + c.in[0] + ", -100, 100)[..., None]\n" + "w = np.maximum(" +
         c.in[1] + ", 1e-30)[..., None]\n" + "sigma = (1 / (" + n + " - 1) + np.exp(np.clip(" +
         c.in[2] + ", -20, 3)))[..., None]\n" +
         "part = np.log(w) - np.log(sigma * np.sqrt(2 * np.pi)) - ((grid - m) / sigma) ** 2 / 2\n" +
         "top = part.max(axis=-2, keepdims=True)\n" + c.out +
         " = top[:, 0] + np.log(np.exp(part - top).sum(axis=-2))" + sizes;
}

std::string torch(const CodeArgs& c) {
  const std::string n = code_size(c.args.out, 1), sizes = "  # " + code_shape(c.args.out) + "\n";
  const std::string grid =
      "grid = torch.linspace(-1, 1, " + n + ")  # the numbers that tokens are\n";
  if (is_single(c.args.in))
    return grid + c.out + " = -(grid - " + c.in[0] + ".clamp(-100, 100)) ** 2 / (2 * " +
           decimal(c.args.params.factor) + " ** 2)" + sizes;
  return grid + "m = " + c.in[0] + ".clamp(-100, 100)[..., None]\n" + "w = " + c.in[1] +
         ".clamp(min=1e-30)[..., None]\n" + "sigma = (1 / (" + n + " - 1) + " + c.in[2] +
         ".clamp(-20, 3).exp())[..., None]\n" +
         "bells = torch.distributions.Normal(m, sigma).log_prob(grid)\n" + c.out +
         " = torch.logsumexp(w.log() + bells, dim=-2)" + sizes;
}

}  // namespace

const OpInfo& mixture_logits_op() {
  static const OpInfo info{
      .op = Op::kMixtureLogits,
      .id = "mixture_logits",
      .phrase = "how likely each number of the grid is",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = numpy,
      .torch = torch,
      .inputs = {InputKind::kNumbers, InputKind::kShares, InputKind::kNumbers},
      .errors = ErrorClass::kRows,
      .work = {.flops = 100},
      .trials = {"b t h, b t h, b t h", "b t 1, b t 1, b t 1", "b t 1"},
  };
  return info;
}

}  // namespace headlight
