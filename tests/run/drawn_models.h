// Models that go on with a text, drawn by a seed: every option whose queries only look back.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/document/document.h"
#include "core/model/init.h"
#include "core/model/model.h"
#include "core/run/trace.h"
#include "tests/support/largest_error.h"

namespace headlight::drawn {

inline constexpr std::int64_t kContext = 23, kVocab = 17;

template <class T>
T one_of(std::uint64_t seed, std::uint64_t draw, std::initializer_list<T> all) {
  return all
      .begin()[static_cast<std::size_t>(uniform(seed, draw) * static_cast<double>(all.size()))];
}

// A model whose queries only look back, drawn by the seed.
inline Config drawn_config(std::uint64_t seed) {
  Config c;
  c.layers = one_of(seed, 1, {1, 2, 3});
  c.heads = one_of(seed, 2, {1, 2, 4});
  c.d_model = c.heads * one_of(seed, 3, {4, 6, 10});
  c.attention = one_of(seed, 4,
                       {AttentionKind::kNarrow, AttentionKind::kNarrow, AttentionKind::kWide,
                        AttentionKind::kSingle, AttentionKind::kBasic});
  if (c.attention == AttentionKind::kNarrow && c.heads == 4)
    c.kv_heads = one_of(seed, 5, {0, 1, 2});
  c.block = one_of(seed, 6, {BlockKind::kPreNorm, BlockKind::kPostNorm, BlockKind::kAttention});
  c.positions = one_of(seed, 7,
                       {PositionKind::kNone, PositionKind::kSinusoidal, PositionKind::kLearned,
                        PositionKind::kRotary});
  if (c.attention == AttentionKind::kBasic && c.positions == PositionKind::kRotary)
    c.positions = PositionKind::kLearned;
  c.norm = one_of(seed, 8, {NormKind::kLayer, NormKind::kRms});
  c.scale = one_of(seed, 9, {true, false});
  c.temperature = one_of(seed, 10, {1.0, 0.6});
  c.tied_head = one_of(seed, 11, {true, false});
  c.mask.kind = one_of(
      seed, 12, {MaskKind::kCausal, MaskKind::kCausal, MaskKind::kLocal, MaskKind::kStrided});
  c.mask.window = 5;
  c.fused_attention = one_of(seed, 13, {true, false});
  if (one_of(seed, 14, {false, false, true})) c.block = BlockKind::kParallel;
  if (one_of(seed, 15, {false, true})) {
    c.local_window = 3;
    for (int layer = c.layers == 2 ? 1 : 0; layer < c.layers; layer += 2)
      c.local_layers.push_back(layer);
  }
  if (c.scale) c.score_scale = one_of(seed, 16, {0.0, 0.4});
  if (c.has_rotary())
    c.rotary_scaling =
        one_of(seed, 17, {RotaryScaling::kNone, RotaryScaling::kLinear, RotaryScaling::kLlama3});
  c.rotary_factor = 2;
  c.rotary_context = 30;
  return c;
}

inline std::shared_ptr<const Model> drawn_model(const Config& config, std::uint64_t seed) {
  auto model = std::make_shared<Model>();
  model->name = "drawn";
  model->file.config = config;
  model->file.vocab = kVocab;
  model->file.context = kContext;
  RunShape shape{1, kContext, kVocab};
  if (config.form == ModelForm::kTranslate) shape.source = model->file.source = kContext;
  model->weights = initial_parameters(build_program(config, shape), Init::kGlorot, seed);
  std::uint64_t draw = 0;
  for (Tensor& t : model->weights)
    for (float& cell : t.data) cell += 0.1f * bell(seed, ++draw);
  return model;
}

inline std::vector<int> drawn_ids(std::uint64_t seed, std::int64_t count) {
  std::vector<int> ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<int>(uniform(seed, static_cast<std::uint64_t>(i)) * kVocab));
  return ids;
}

inline bool is_model(const Config& config) {
  try {
    validate(config);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

inline std::shared_ptr<const Model> readable_model(const Config& config, std::uint64_t seed) {
  auto model = std::make_shared<Model>(*drawn_model(config, seed));
  std::vector<std::string> words;
  for (int i = 0; i < kVocab; ++i) words.push_back("w" + std::to_string(i));
  model->vocabulary = std::make_shared<const Vocabulary>(TextCut::kWords, words);
  model->ref = "drawn";
  return model;
}

inline Document document_of_ids(const Config& config, std::vector<int> ids) {
  Document doc;
  doc.config = config;
  doc.model = "drawn";
  doc.ids = std::move(ids);
  return doc;
}

// The largest difference of any tensor, and its name.
inline std::pair<double, std::string> largest_difference(const Trace& one, const Trace& other) {
  std::pair<double, std::string> worst{0, ""};
  for (std::size_t id = 0; id < one.program().tensors.size(); ++id) {
    const auto tensor = static_cast<TensorId>(id);
    const double error = largest_error(one.tensor(tensor).cells(), other.tensor(tensor).cells());
    if (error > worst.first) worst = {error, one.program().tensors[id].name};
  }
  return worst;
}

}  // namespace headlight::drawn
