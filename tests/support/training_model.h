// Small training programs with their memory, for the tests of gradients.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/autodiff/backward.h"
#include "core/base/random.h"
#include "core/train/data/batch_inputs.h"
#include "tests/support/normalised_error.h"

namespace headlight {

/// A training program with its memory, filled by name, and its backward pass.
class TrainingModel {
 public:
  TrainingModel(const Config& config, const RunShape& shape, bool dropout = false)
      : program(std::make_shared<const Program>(build_training_program(config, shape, dropout))),
        backward(program) {
    owned_.resize(program->tensors.size());
    for (std::size_t id = 0; id < owned_.size(); ++id) {
      const TensorSpec& spec = program->tensors[id];
      if (spec.kind != TensorKind::kAlias) {
        owned_[id].assign(static_cast<std::size_t>(cell_count(spec.axes)),
                          std::numeric_limits<float>::quiet_NaN());
      }
    }
    for (std::size_t id = 0; id < owned_.size(); ++id) {
      const auto source = static_cast<std::size_t>(program->resolve(static_cast<TensorId>(id)));
      memory.push_back(owned_[source].data());
    }
    fill();
  }

  std::span<float> cells(TensorId id) {
    FloatBuffer& owned = owned_[static_cast<std::size_t>(program->resolve(id))];
    return {owned.data(), owned.size()};
  }
  void run(Backend& backend) { backend.run(*program, program->calls, memory); }
  void run_backward(Backend& backend, ParameterGradients parameters = ParameterGradients::kFresh) {
    backward.seed_loss(memory, counted_targets(*program, memory));
    backward.run(backend, memory, parameters);
  }
  std::vector<TensorId> of_kind(TensorKind kind) const {
    std::vector<TensorId> ids;
    for (std::size_t id = 0; id < program->tensors.size(); ++id) {
      if (program->tensors[id].kind == kind) ids.push_back(static_cast<TensorId>(id));
    }
    return ids;
  }

  /// The size below which a gradient is what rounding left. A bias of keys moves whole rows of
  /// scores, which softmax does not feel: its gradient is a sum that cancels, of numbers like those
  /// of W_K.
  double least_gradient(TensorId id) const {
    const std::string& name = program->tensors[place(id)].name;
    if (name.ends_with("attn.b_K") && program->config.scores == ScoreKind::kDot)
      return rms(backward.gradient(name.substr(0, name.size() - 3) + "W_K").cells());
    return 1e-3 * rms(backward.parameters());
  }

  std::shared_ptr<const Program> program;
  std::vector<float*> memory;
  Backward backward;

 private:
  void fill() {
    for (const TensorId id : of_kind(TensorKind::kParameter)) {
      const TensorSpec& spec = program->tensors[static_cast<std::size_t>(id)];
      // Rows of tables about 1, what sums over n numbers 1 / √n, biases small beside either.
      const bool table = spec.name.starts_with("embed.") || spec.name.starts_with("pos_embed.");
      const auto inner = spec.axes.size() > 1 ? spec.axes[spec.axes.size() - 2].size : 64;
      const float spread = table ? 1.0f : 1.0f / std::sqrt(static_cast<float>(inner));
      const bool norm = spec.name.ends_with(".w");
      const auto out = cells(id);
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = (norm ? 1.0f : 0.0f) + spread * bell(hash_text(spec.name), i);
      }
    }
    if (program->mask >= 0) {
      const auto mask = cells(program->mask);
      const auto n = static_cast<std::size_t>(program->shape.positions);
      for (std::size_t i = 0; i < mask.size(); ++i) {
        const int query = static_cast<int>(i / n % n), key = static_cast<int>(i % n);
        mask[i] = program->config.mask.allows(query, key) ? 0.0f
                                                          : -std::numeric_limits<float>::infinity();
      }
    }
    fill_batch(*program, batch(), 0, memory);
    fill_dropout(*program, {.rate = 0.3, .seed = 7, .step = 2, .row = 1}, memory);
  }

  // Some targets are not counted; where rows may be padded, each is shorter than the one before.
  TokenBatch batch() const {
    const RunShape& shape = program->shape;
    const auto vocab = static_cast<std::uint64_t>(shape.vocab);
    TokenBatch b{shape.batch, shape.positions, {}, {}};
    b.sources = shape.source;
    const auto outcomes = static_cast<std::uint64_t>(program->outcomes());
    const auto draw = [](std::uint64_t i, std::uint64_t n) {
      return static_cast<int>(scatter(i) % n);
    };
    for (std::uint64_t t = 0; t < static_cast<std::uint64_t>(b.rows * b.positions); ++t)
      b.tokens.push_back(draw(t, vocab));
    for (std::uint64_t t = 0; t < static_cast<std::uint64_t>(b.rows * b.sources); ++t)
      b.source.push_back(draw(t + 500, vocab));
    const auto targets = cell_count(program->look(program->targets).axes);
    for (std::uint64_t t = 0; t < static_cast<std::uint64_t>(targets); ++t)
      b.targets.push_back(t % 4 == 2 ? -1 : draw(t + 99, outcomes));
    for (std::uint64_t t = 0; program->token_targets >= 0 && t < b.tokens.size(); ++t)
      b.token_targets.push_back(t % 3 == 1 ? draw(t + 7, vocab) : -1);
    for (std::int64_t r = 0; shape.padded && r < b.rows; ++r) {
      b.lengths.push_back(static_cast<int>(std::max<std::int64_t>(1, b.positions - 2 * r)));
      b.source_lengths.push_back(static_cast<int>(std::max<std::int64_t>(1, b.sources - r)));
    }
    return b;
  }

  std::vector<FloatBuffer> owned_;
};

/// Of widths that no tile of a kernel divides.
inline Config uneven_config() {
  Config c;
  c.layers = 2;
  c.heads = 2;
  c.d_model = 22;
  c.d_hidden = 35;
  return c;
}

/// The sizes of a run, and what the config's form needs besides.
inline RunShape sized(const Config& c, std::int64_t batch, std::int64_t positions,
                      std::int64_t vocab) {
  RunShape shape{batch, positions, vocab};
  shape.padded = c.form != ModelForm::kTokens;
  if (c.form == ModelForm::kClasses) shape.classes = 3;
  if (c.form == ModelForm::kTranslate) shape.source = positions + 2;
  return shape;
}

/// Every second configuration with dropout; not those without norms, whose numbers it makes too
/// large.
inline bool drops(const Config& c) { return c.layers == 2 && c.block != BlockKind::kAttention; }

/// Calls f with configs that together have every attention, block and kind of scores, and by turns
/// everything else.
template <class F>
void for_all_configs(F&& f) {
  Config c;
  c.heads = 2;
  c.mask.padding = {0, 3};
  for (int i = 0; i < 16; ++i) c.mask.forbidden.insert(2, i);  // a row with no key at all
  int number = 0;
  struct Kinds {
    AttentionKind attention;
    BlockKind block;
    ScoreKind scores;
  };
  // Blocks that came later come last: the others keep the switches that go with their number.
  std::vector<Kinds> kinds;
  const auto came = [](BlockKind b) {
    return b == BlockKind::kParallel ? 2 : b == BlockKind::kNormedAttention ? 1 : 0;
  };
  for (const int later : {0, 1, 2}) {
    for (const auto& attention : choices(AttentionKind{})) {
      for (const auto& block : choices(BlockKind{})) {
        if (came(block.value) != later) continue;
        for (const auto& scores : choices(ScoreKind{}))
          kinds.push_back({attention.value, block.value, scores.value});
      }
    }
  }
  for (const Kinds& kind : kinds) {
    c.attention = kind.attention;
    c.block = kind.block;
    c.scores = kind.scores;
    // What does not change the program's branches takes turns.
    ++number;
    const auto turn = [](auto first, int place) {
      const auto all = choices(first);
      return all[static_cast<std::size_t>(place) % all.size()].value;
    };
    c.activation = turn(Activation{}, number);
    c.mask.kind = turn(MaskKind{}, number);
    c.positions = turn(PositionKind{}, number / 2);
    // Not where a low temperature makes softmax bend more than differences can follow.
    c.norm = number % 3 != 0 && number / 2 % 2 == 1 ? NormKind::kRms : NormKind::kLayer;
    c.rotary = turn(RotaryPairs{}, number / 8);
    c.kv_heads = number % 3 == 1 ? 1 : 0;
    c.layers = 1 + number % 2;
    c.scale = number % 2 == 0;
    c.bias = number % 5 != 0;
    c.residual = number % 7 != 0;
    c.temperature = number % 3 == 0 ? 0.5 : 1;
    c.d_head = number % 4 == 0 ? 3 : 0;
    // Of heads that may have an odd width only a part turns.
    c.rotary_width = c.attention == AttentionKind::kNarrow || c.d_head != 0 ? 2 : 0;
    // Every configuration of tokens, and half of them for each of the other forms.
    for (const auto& form : choices(ModelForm{})) {
      if (form.value != ModelForm::kTokens && (number + (number > 12)) % 2 == 0) continue;
      Config own = c;
      own.form = form.value;
      // Without norms the numbers of two stacks would grow beyond what differences can follow.
      const bool bare = c.block == BlockKind::kAttention && form.value != ModelForm::kTokens;
      own.token_head = number % 3 == 1 && form.value == ModelForm::kClasses;
      own.tied_head = number % 4 == 1 && (own.token_head || form.value != ModelForm::kClasses);
      if (form.value == ModelForm::kClasses) {
        own.pool = turn(PoolKind{}, number / 2);
        own.foci = 1 + number % 3;
        own.pool_hidden = number % 4;
        own.foci_penalty = number % 3 != 0 ? 0.25 : 0;
      }
      own.residual |= bare;
      own.scale |= bare;
      CAPTURE(number);
      CAPTURE(form.word);
      f(own);
    }
  }
}

/// The same of those that can have fused attention, with it and without dropout.
template <class F>
void for_fused_configs(F&& f) {
  for_all_configs([&](Config c) {
    if (!c.can_fuse_attention() || drops(c)) return;
    c.fused_attention = true;
    f(c);
  });
}

}  // namespace headlight
