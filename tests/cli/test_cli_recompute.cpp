// Anyone can recompute a run from its two files: here the README's conventions alone, as plain
// loops in double precision that share no code with Headlight, against every tensor of the trace.
#include <cmath>
#include <limits>

#include "tests/cli/child.h"

namespace headlight::test_cli_recompute {

using namespace headlight;
using namespace headlight::test;

namespace {

using Numbers = std::vector<double>;

// A model as the files describe it. Letters as in the README: T tokens, D width of the model,
// H heads, E width of a head, F hidden width, V vocabulary.
struct Model {
  std::string block = "pre-norm", activation = "gelu", positions = "sinusoidal";
  bool basic = false, additive = false, scaled = true, causal = true;
};

class Recomputed {
 public:
  Recomputed(const Model& model, const Exported& files) : m_(model), files_(files) {
    const auto ids = tensor_as_int64(files.trace, "token_ids");
    ids_.assign(ids.begin(), ids.end());
    T = ids_.size();
    D = size("embed.W_E", 1);
    V = size("embed.W_E", 0);
    H = m_.basic ? 1 : size("blocks.0.attn.W_Q", 0);
    E = m_.basic ? D : size("blocks.0.attn.W_Q", 2);
  }

  // Every tensor, compared as soon as it is there. Says how many were compared.
  int run(int layers) {
    Numbers x = embedding();
    for (int l = 0; l < layers; ++l) x = block("blocks." + std::to_string(l) + ".", x);
    if (m_.block == "pre-norm") x = check("ln_final.normalized", norm("ln_final", x));
    const Numbers logits = check("logits", linear(x, "unembed.W_U", "unembed.b_U"));
    check("probs", softmax(logits, V));
    return compared_;
  }

 private:
  std::size_t size(const std::string& name, std::size_t axis) const {
    REQUIRE_MESSAGE(files_.weights.entries.contains(name), name);
    return static_cast<std::size_t>(files_.weights.entries.at(name).shape.at(axis));
  }

  Numbers weight(const std::string& name) const {
    const std::vector<float> floats = tensor_as_float(files_.weights, name);
    return {floats.begin(), floats.end()};
  }

  // Compares with the trace; the largest difference may be 1e-5 of the largest magnitude.
  Numbers check(const std::string& name, Numbers mine) {
    CAPTURE(name);
    const std::vector<float> theirs = tensor_as_float(files_.trace, name);
    REQUIRE(theirs.size() == mine.size());
    double most = 1, worst = 0;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const double other = static_cast<double>(theirs[i]);
      if (std::isinf(mine[i]) || std::isinf(other)) {
        CHECK(mine[i] == other);
        continue;
      }
      most = std::max(most, std::fabs(mine[i]));
      worst = std::max(worst, std::fabs(mine[i] - other));
    }
    CHECK(worst <= 1e-5 * most);
    ++compared_;
    return mine;
  }

  Numbers embedding() {
    const Numbers table = weight("embed.W_E");
    Numbers x(T * D);
    for (std::size_t t = 0; t < T; ++t) {
      for (std::size_t d = 0; d < D; ++d) x[t * D + d] = table[ids_[t] * D + d];
    }
    check("embed", x);
    if (m_.positions == "none") return x;
    Numbers where(T * D);
    if (m_.positions == "learned") where = weight("pos_embed.W_pos");
    for (std::size_t t = 0; t < T && m_.positions == "sinusoidal"; ++t) {
      for (std::size_t d = 0; d < D; ++d) {
        const double power = static_cast<double>(d - d % 2) / static_cast<double>(D);
        const double angle = static_cast<double>(t) / std::pow(10000.0, power);
        where[t * D + d] = d % 2 == 0 ? std::sin(angle) : std::cos(angle);
      }
    }
    return sum(x, check("pos_embed", where));
  }

  Numbers block(const std::string& l, const Numbers& x) {
    check(l + "resid_pre", x);
    const bool pre = m_.block == "pre-norm", post = m_.block == "post-norm";
    Numbers in = x;
    if (pre) in = check(l + "ln1.normalized", norm(l + "ln1", x));
    const Numbers out = check(l + "attn_out", attention(l, in));
    Numbers mid = sum(x, out);
    if (m_.block == "attention") return check(l + "resid_post", mid);
    if (post) {
      check(l + "ln1.input", mid);
      mid = check(l + "ln1.normalized", norm(l + "ln1", mid));
    }
    check(l + "resid_mid", mid);
    Numbers hidden = mid;
    if (pre) hidden = check(l + "ln2.normalized", norm(l + "ln2", mid));
    hidden = check(l + "mlp.pre", linear(hidden, l + "mlp.W_in", l + "mlp.b_in"));
    for (double& h : hidden) h = activate(h);
    check(l + "mlp.post", hidden);
    const Numbers fed = check(l + "mlp_out", linear(hidden, l + "mlp.W_out", l + "mlp.b_out"));
    Numbers end = sum(mid, fed);
    if (post) {
      check(l + "ln2.input", end);
      end = check(l + "ln2.normalized", norm(l + "ln2", end));
    }
    return check(l + "resid_post", end);
  }

  // x (T, D) -> (T, D)
  Numbers attention(const std::string& l, const Numbers& x) {
    const Numbers q = check(l + "attn.q", m_.basic ? x : project(l, x, "Q"));
    const Numbers k = check(l + "attn.k", m_.basic ? x : project(l, x, "K"));
    const Numbers v = check(l + "attn.v", m_.basic ? x : project(l, x, "V"));
    Numbers s = check(l + "attn.scores_raw", scores(l, q, k));
    if (m_.scaled) {
      for (double& cell : s) cell /= std::sqrt(static_cast<double>(E));
      check(l + "attn.scores_scaled", s);
    }
    if (m_.causal) {
      for (std::size_t i = 0; i < s.size(); ++i) {
        if (i % T > i / T % T) s[i] = -std::numeric_limits<double>::infinity();
      }
      check(l + "attn.scores_masked", s);
    }
    const Numbers pattern = check(l + "attn.pattern", softmax(s, T));
    Numbers z(H * T * E), concat(T * H * E);
    for (std::size_t h = 0; h < H; ++h) {
      for (std::size_t i = 0; i < T; ++i) {
        for (std::size_t e = 0; e < E; ++e) {
          double total = 0;
          for (std::size_t j = 0; j < T; ++j)
            total += pattern[(h * T + i) * T + j] * v[(h * T + j) * E + e];
          z[(h * T + i) * E + e] = total;
          concat[i * H * E + h * E + e] = total;
        }
      }
    }
    check(l + "attn.z", z);
    check(l + "attn.concat", concat);
    return m_.basic ? concat : linear(concat, l + "attn.W_O", l + "attn.b_O");
  }

  // q[h, t] = x[t] · W_Q[h] + b_Q[h]
  Numbers project(const std::string& l, const Numbers& x, const std::string& letter) const {
    const Numbers w = weight(l + "attn.W_" + letter), b = weight(l + "attn.b_" + letter);
    Numbers out(H * T * E);
    for (std::size_t h = 0; h < H; ++h) {
      for (std::size_t t = 0; t < T; ++t) {
        for (std::size_t e = 0; e < E; ++e) {
          double total = b[h * E + e];
          for (std::size_t d = 0; d < D; ++d) total += x[t * D + d] * w[(h * D + d) * E + e];
          out[(h * T + t) * E + e] = total;
        }
      }
    }
    return out;
  }

  Numbers scores(const std::string& l, const Numbers& q, const Numbers& k) const {
    // In the weights file attn.v is the vector of the additive scores.
    const Numbers v = m_.additive ? weight(l + "attn.v") : Numbers();
    Numbers out(H * T * T);
    for (std::size_t h = 0; h < H; ++h) {
      for (std::size_t i = 0; i < T; ++i) {
        for (std::size_t j = 0; j < T; ++j) {
          double total = 0;
          for (std::size_t e = 0; e < E; ++e) {
            const double a = q[(h * T + i) * E + e], b = k[(h * T + j) * E + e];
            total += m_.additive ? v[h * E + e] * std::tanh(a + b) : a * b;
          }
          out[(h * T + i) * T + j] = total;
        }
      }
    }
    return out;
  }

  // x (rows, in) · W (in, out) + b; W's first axes are taken as one
  Numbers linear(const Numbers& x, const std::string& w_name, const std::string& b_name) const {
    const Numbers w = weight(w_name), b = weight(b_name);
    const std::size_t outs = b.size(), ins = w.size() / outs, rows = x.size() / ins;
    Numbers y(rows * outs);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t o = 0; o < outs; ++o) {
        double total = b[o];
        for (std::size_t i = 0; i < ins; ++i) total += x[r * ins + i] * w[i * outs + o];
        y[r * outs + o] = total;
      }
    }
    return y;
  }

  Numbers norm(const std::string& name, const Numbers& x) const {
    const Numbers w = weight(name + ".w"), b = weight(name + ".b");
    Numbers y(x.size());
    for (std::size_t t = 0; t < T; ++t) {
      double mean = 0, variance = 0;
      for (std::size_t d = 0; d < D; ++d) mean += x[t * D + d] / static_cast<double>(D);
      for (std::size_t d = 0; d < D; ++d)
        variance += (x[t * D + d] - mean) * (x[t * D + d] - mean) / static_cast<double>(D);
      for (std::size_t d = 0; d < D; ++d)
        y[t * D + d] = (x[t * D + d] - mean) / std::sqrt(variance + 1e-5) * w[d] + b[d];
    }
    return y;
  }

  static Numbers softmax(const Numbers& x, std::size_t columns) {
    Numbers y(x.size());
    for (std::size_t row = 0; row < x.size(); row += columns) {
      double most = -std::numeric_limits<double>::infinity(), total = 0;
      for (std::size_t c = 0; c < columns; ++c) most = std::max(most, x[row + c]);
      if (std::isinf(most)) continue;  // no allowed key: zeros
      for (std::size_t c = 0; c < columns; ++c) total += std::exp(x[row + c] - most);
      for (std::size_t c = 0; c < columns; ++c) y[row + c] = std::exp(x[row + c] - most) / total;
    }
    return y;
  }

  double activate(double x) const {
    if (m_.activation == "relu") return std::max(0.0, x);
    if (m_.activation == "gelu") return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    const double pi = std::acos(-1.0);
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
  }

  static Numbers sum(Numbers a, const Numbers& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }

  Model m_;
  const Exported& files_;
  std::vector<std::size_t> ids_;
  std::size_t T = 0, D = 0, H = 0, E = 0, V = 0;
  int compared_ = 0;
};

const Args kSentence = {"--sentence", "the cat sat on the mat and the dog", "--layers", "2"};

void check_model(const Model& model, const Args& args, int tensors) {
  CAPTURE(shown(args));
  const Exported files = export_run(joined(kSentence, args));
  CHECK(Recomputed(model, files).run(2) >= tensors);
}

}  // namespace

TEST_CASE("recompute: narrow heads, every kind of block and activation") {
  check_model({}, {}, 35);
  check_model({"post-norm", "relu", "learned"},
              {"--block", "post-norm", "--activation", "relu", "--positions", "learned"}, 35);
  check_model({"pre-norm", "gelu-tanh", "none"},
              {"--activation", "gelu-tanh", "--positions", "none", "--d-head", "5"}, 35);
  Model open{"attention"};
  open.scaled = open.causal = false;
  check_model(open, {"--block", "attention", "--scores", "dot", "--mask", "none"}, 20);
}

TEST_CASE("recompute: wide, single, basic and additive attention") {
  check_model({}, {"--attention", "wide", "--d-model", "12", "--heads", "3"}, 35);
  check_model({}, {"--attention", "single", "--d-model", "12"}, 35);
  Model basic;
  basic.basic = true;
  basic.scaled = false;
  check_model(basic, {"--attention", "basic", "--d-model", "12"}, 33);
  basic.scaled = true;
  check_model(basic, {"--attention", "basic", "--d-model", "12", "--attention-scale", "on"}, 35);
  Model additive;
  additive.additive = true;
  additive.scaled = false;
  check_model(additive, {"--scores", "additive", "--d-model", "12", "--heads", "3"}, 33);
  additive.scaled = true;
  check_model(additive, {"--scores", "additive", "--attention-scale", "on"}, 35);
}

}  // namespace headlight::test_cli_recompute
