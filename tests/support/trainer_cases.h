// What the tests of training share, on the processor and on the graphics card: the sizes of a small
// run, and batches for it.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/random.h"
#include "core/train/data/batch_inputs.h"
#include "core/train/learner.h"

namespace headlight {

inline RunShape shape_for(ModelForm form, bool padded) {
  RunShape shape{.batch = 1, .positions = 6, .vocab = 9, .padded = padded};
  if (form == ModelForm::kClasses) shape.classes = 4;
  if (form == ModelForm::kTranslate) shape.source = 7;
  return shape;
}

/// Other rows for each `number`, where they are padded of lengths from 2 on; what follows a token
/// is easy to learn.
inline TokenBatch batch_for(const RunShape& shape, std::int64_t rows, std::uint64_t number) {
  const auto draw = [&](std::uint64_t i, std::int64_t n) {
    return static_cast<int>(scatter(1000 * number + i) % static_cast<std::uint64_t>(n));
  };
  TokenBatch b{rows, shape.positions, {}, {}};
  b.sources = shape.source;
  const auto vocab = static_cast<int>(shape.vocab), classes = static_cast<int>(shape.classes);
  for (std::uint64_t r = 0; r < static_cast<std::uint64_t>(rows); ++r) {
    int length = static_cast<int>(shape.positions);
    if (shape.padded) length = 2 + draw(500 + r, shape.positions - 1);
    b.lengths.push_back(length);
    if (b.sources > 0) b.source_lengths.push_back(1 + draw(700 + r, b.sources));
    for (int t = 0; t < static_cast<int>(b.positions); ++t) {
      b.tokens.push_back(draw(20 * r + static_cast<std::uint64_t>(t), vocab));
      if (classes == 0) b.targets.push_back(t < length ? (b.tokens.back() + 3) % vocab : -1);
    }
    if (classes > 0) b.targets.push_back(b.tokens[20 * r % b.tokens.size()] % classes);
    for (std::uint64_t t = 0; t < static_cast<std::uint64_t>(b.sources); ++t)
      b.source.push_back(draw(400 + 10 * r + t, vocab));
  }
  return b;
}

/// The same, with hidden tokens where the config has a head of them: another number in each row.
inline TokenBatch batch_for(const Config& config, const RunShape& shape, std::int64_t rows,
                            std::uint64_t number) {
  TokenBatch b = batch_for(shape, rows, number);
  for (std::size_t i = 0; config.token_head && i < b.tokens.size(); ++i) {
    const auto width = static_cast<std::size_t>(b.positions);
    const bool there = i % width < static_cast<std::size_t>(b.lengths[i / width]);
    const bool asked = i % width == 0 || scatter(number + 31 * i) % 3 == 0;
    b.token_targets.push_back(there && asked ? (b.tokens[i] + 2) % static_cast<int>(shape.vocab)
                                             : -1);
  }
  return b;
}

inline bool same_bits(const Learner& a, const Learner& b) {
  for (std::size_t p = 0; p < a.parameters().size(); ++p) {
    if (a.parameters()[p].data != b.parameters()[p].data) return false;
  }
  return true;
}

}  // namespace headlight
