#include "core/train/data/batch_inputs.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/graph/program_memory.h"
#include "core/train/data/length_batches.h"
#include "core/train/metrics/likelihood.h"

namespace headlight {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

void check_ids(const std::vector<int>& ids, std::int64_t count, int least) {
  for (const int id : ids) {
    if (id >= least && id < count) continue;
    throw Error(Message{"train.unknown_id",
                        {{"id", std::to_string(id)}, {"last", std::to_string(count - 1)}}});
  }
}

// Whether any row is shorter than `width`.
bool check_lengths(const std::vector<int>& lengths, std::int64_t rows, std::int64_t width) {
  if (lengths.empty()) return false;
  const auto outside = [&](int n) { return n < 1 || n > width; };
  const auto bad = std::find_if(lengths.begin(), lengths.end(), outside);
  if (static_cast<std::int64_t>(lengths.size()) != rows || bad != lengths.end()) {
    throw Error(Message{
        "train.batch_lengths",
        {{"rows", std::to_string(rows)},
         {"positions", std::to_string(width)},
         {"got",
          std::to_string(bad == lengths.end() ? static_cast<long long>(lengths.size()) : *bad)}}});
  }
  return std::any_of(lengths.begin(), lengths.end(), [&](int n) { return n < width; });
}

// Of `rows` rows from `first` on; null where none is padded.
const int* lengths_from(const std::vector<int>& lengths, std::int64_t first) {
  return lengths.empty() ? nullptr : lengths.data() + first;
}

// Lets queries of row r look at the first lengths[r] keys, and at those behind all of them that
// belong to no token. `own` is what else is forbidden.
void fill_key_padding(float* mask, const RunShape& shape, std::int64_t queries, std::int64_t keys,
                      std::int64_t behind, const int* lengths, const MaskSpec* own) {
  const bool forbids = own && (own->kind != MaskKind::kNone || own->nearest > 0);
  for (std::int64_t r = 0; r < shape.batch; ++r) {
    const std::int64_t length = lengths ? lengths[r] : keys;
    if (forbids) fill_mask(*own, static_cast<int>(keys), mask, 0, static_cast<int>(behind));
    for (std::int64_t q = 0; q < queries; ++q, mask += keys + behind) {
      if (!forbids) std::fill_n(mask, keys + behind, 0.0f);
      std::fill(mask + length, mask + keys, kForbidden);
    }
  }
}

// What a hidden token adds to its row's loss for one nat of its own, so that the mean of all rows'
// is the mean of the batch's hidden tokens. Rows without a class are not counted.
double hidden_share(const TokenBatch& batch) {
  std::int64_t rows = 0, hidden = 0;
  for (std::int64_t r = 0; r < batch.rows; ++r) {
    if (batch.targets[static_cast<std::size_t>(r)] < 0) continue;
    ++rows;
    const auto row = batch.token_targets.begin() + r * batch.positions;
    hidden += std::count_if(row, row + batch.positions, [](int target) { return target >= 0; });
  }
  return hidden > 0 ? static_cast<double>(rows) / static_cast<double>(hidden) : 0;
}

void copy_ids(const std::vector<int>& from, std::int64_t first, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = static_cast<float>(from[static_cast<std::size_t>(first + i)]);
}

}  // namespace

RunShape narrowed(RunShape shape, std::int64_t positions, std::int64_t sources) {
  if (shape.context == 0) shape.context = shape.positions;
  if (shape.context_source == 0) shape.context_source = shape.source;
  shape.positions = positions;
  shape.source = sources;
  return shape;
}

void check_batch(const TokenBatch& batch, const Config& config, const RunShape& shape) {
  const bool classes = config.form == ModelForm::kClasses;
  const auto cells = static_cast<std::size_t>(batch.rows * batch.positions);
  const auto sources = static_cast<std::size_t>(batch.rows * batch.sources);
  const bool narrow = reads_narrow_batches(config) && batch.positions >= 1;
  const bool fits =
      batch.rows > 0 && batch.positions <= shape.positions &&
      (narrow || batch.positions == shape.positions) && batch.tokens.size() == cells &&
      batch.targets.size() == (classes ? static_cast<std::size_t>(batch.rows) : cells) &&
      batch.token_targets.size() == (config.token_head ? cells : 0);
  if (!fits) {
    throw Error(Message{"train.batch_shape",
                        {{"positions", std::to_string(shape.positions)},
                         {"got", std::to_string(batch.positions)},
                         {"rows", std::to_string(batch.rows)}}});
  }
  const bool source_fits =
      batch.sources <= shape.source && (batch.sources > 0) == (shape.source > 0);
  if (!source_fits || batch.source.size() != sources) {
    throw Error(Message{
        "train.batch_source",
        {{"source", std::to_string(shape.source)}, {"got", std::to_string(batch.sources)}}});
  }
  check_ids(batch.tokens, shape.vocab, 0);
  check_ids(batch.source, shape.vocab, 0);
  check_ids(batch.targets, classes ? shape.classes : shape.vocab, -1);
  check_ids(batch.token_targets, shape.vocab, -1);
  const bool shorter = check_lengths(batch.lengths, batch.rows, batch.positions);
  const bool short_source = check_lengths(batch.source_lengths, batch.rows, batch.sources);
  const bool felt = short_source || (shorter && (classes || !config.mask.is_causal()));
  if (felt && !shape.padded) throw Error(Message{"train.padding"});
}

void fill_batch(const Program& program, const TokenBatch& batch, std::int64_t first,
                std::span<float* const> memory) {
  const RunShape& shape = program.shape;
  const auto at = [&](TensorId id) { return memory[static_cast<std::size_t>(id)]; };
  const std::int64_t n = batch.positions, rows = shape.batch;
  const bool classes = program.config.form == ModelForm::kClasses;
  copy_ids(batch.tokens, first * n, rows * n, at(program.token_ids));
  fill_segments(program, memory);
  const std::int64_t targets = classes ? 1 : n;
  copy_ids(batch.targets, first * targets, rows * targets, at(program.targets));
  if (program.token_targets >= 0) {
    copy_ids(batch.token_targets, first * n, rows * n, at(program.token_targets));
    fill_chosen(program, hidden_share(batch), memory);
  }
  const int* lengths = lengths_from(batch.lengths, first);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t length = lengths ? lengths[r] : n;
    fill_pooling(
        program, r, n, [length](std::int64_t t) { return t < length; }, memory);
  }
  const MaskSpec& own = program.config.mask;
  const std::int64_t behind = program.config.extra_keys();
  if (shape.padded && program.mask >= 0 && !own.is_causal())
    fill_key_padding(at(program.mask), shape, n, n, behind, lengths, &own);
  const MaskSpec local = program.local_spec();
  if (shape.padded && program.local_mask >= 0 && !own.is_causal())
    fill_key_padding(at(program.local_mask), shape, n, n, behind, lengths, &local);
  if (program.source_ids < 0) return;
  const std::int64_t s = batch.sources;
  copy_ids(batch.source, first * s, rows * s, at(program.source_ids));
  const int* source_lengths = lengths_from(batch.source_lengths, first);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t length = source_lengths ? source_lengths[r] : s;
    fill_source_present(
        program, r, s, [length](std::int64_t t) { return t < length; }, memory);
  }
  if (program.source_mask >= 0)
    fill_key_padding(at(program.source_mask), shape, s, s, behind, source_lengths, nullptr);
  if (program.cross_mask >= 0)
    fill_key_padding(at(program.cross_mask), shape, n, s, behind, source_lengths, nullptr);
}

void fill_own_mask(const Program& program, std::span<float* const> memory) {
  if (program.present >= 0)
    std::fill_n(memory[place(program.present)], cell_count(program.look(program.present).axes),
                1.0f);
  fill_masks(program, memory);
}

TensorId told_loss(const Program& program) {
  TensorId own = program.find(Role::kClassLoss, program.loss);
  if (own < 0) own = program.find(Role::kOwnLoss, program.loss);
  return own >= 0 ? own : program.loss;
}

namespace {

// What row r has of hidden tokens is added.
Evaluation::Hidden with_row(const Program& p, std::span<float* const> memory, std::int64_t r,
                            bool compare, Evaluation::Hidden sum) {
  const std::int64_t tokens = p.shape.positions, vocab = p.shape.vocab;
  const float* targets = memory[place(p.token_targets)];
  const float* losses = memory[place(p.token_loss)];
  if (memory[place(p.targets)][r] < 0) return sum;
  for (std::int64_t i = r * tokens; i < (r + 1) * tokens; ++i) {
    if (targets[i] < 0) continue;
    sum.loss += losses[i];
    ++sum.counted;
    if (!compare) continue;
    const float* row = memory[place(p.token_logits)] + i * vocab;
    sum.correct +=
        is_largest({row, static_cast<std::size_t>(vocab)}, static_cast<std::size_t>(targets[i]));
  }
  return sum;
}

}  // namespace

BatchSum sum_batch(const Program& program, std::span<float* const> memory, bool compare) {
  const float* loss = memory[static_cast<std::size_t>(told_loss(program))];
  const float* targets = memory[static_cast<std::size_t>(program.targets)];
  const float* logits = memory[static_cast<std::size_t>(program.logits)];
  const std::int64_t outcomes = program.outcomes(), rows = program.shape.batch;
  const std::int64_t per_row = cell_count(program.look(program.targets).axes) / rows;
  const bool classes = program.config.form == ModelForm::kClasses;
  BatchSum sum;
  for (std::int64_t r = 0; r < rows; ++r) {
    if (compare && classes)
      sum.chosen.push_back(largest_of({logits + r * outcomes, static_cast<std::size_t>(outcomes)}));
    if (program.token_loss >= 0) sum.hidden = with_row(program, memory, r, compare, sum.hidden);
    const auto before = std::pair(sum.counted, sum.correct);
    for (std::int64_t i = r * per_row; i < (r + 1) * per_row; ++i) {
      if (targets[i] < 0) continue;
      sum.loss += loss[i];
      ++sum.counted;
      if (!compare) continue;
      const std::span row(logits + i * outcomes, static_cast<std::size_t>(outcomes));
      sum.correct += is_largest(row, static_cast<std::size_t>(targets[i]));
    }
    const std::int64_t counted = sum.counted - before.first;
    sum.rows += counted > 0;
    sum.rows_correct += counted > 0 && counted == sum.correct - before.second;
  }
  return sum;
}

double mean_hidden(const BatchSum& sum) {
  const Evaluation::Hidden& hidden = sum.hidden;
  return hidden.counted > 0 ? hidden.loss / static_cast<double>(hidden.counted) : 0;
}

Evaluation evaluation_of(BatchSum sum) {
  const auto counted = static_cast<double>(std::max<std::int64_t>(sum.counted, 1));
  const double hidden = mean_hidden(sum);
  return {sum.loss / counted + hidden,
          sum.counted,
          sum.correct,
          sum.rows,
          sum.rows_correct,
          std::move(sum.chosen),
          {hidden, sum.hidden.counted, sum.hidden.correct}};
}

DropoutCells dropout_cells(const Program& program, TensorId id, const DropoutDraw& draw) {
  const TensorSpec& spec = program.tensors[static_cast<std::size_t>(id)];
  const std::int64_t row = cell_count(spec.axes) / program.shape.batch;
  return {scatter(scatter(scatter(draw.seed) ^ hash_text(spec.name)) +
                  static_cast<std::uint64_t>(draw.step)),
          static_cast<std::uint64_t>(draw.row * row),
          static_cast<std::uint64_t>(draw.rate * 0x1p53),
          static_cast<float>(1.0 / (1.0 - draw.rate))};
}

void fill_dropout(const Program& program, const DropoutDraw& draw, std::span<float* const> memory) {
  fill_dropout(program, program.dropout, draw, memory);
}

void fill_dropout(const Program& program, std::span<const TensorId> ids, const DropoutDraw& draw,
                  std::span<float* const> memory) {
  for (const TensorId id : ids) {
    float* out = memory[static_cast<std::size_t>(id)];
    const std::int64_t cells = cell_count(program.look(id).axes);
    if (draw.rate == 0) {
      std::fill_n(out, cells, 1.0f);
      continue;
    }
    const DropoutCells d = dropout_cells(program, id, draw);
    for (std::int64_t i = 0; i < cells; ++i) {
      const std::uint64_t place = d.first + static_cast<std::uint64_t>(i);
      out[i] = scatter(d.key + place * kDropoutStep) >> 11 < d.limit ? 0.0f : d.kept;
    }
  }
}

}  // namespace headlight
