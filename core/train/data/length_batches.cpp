#include "core/train/data/length_batches.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"

namespace headlight {
namespace {

std::uint32_t length_of(const TaskExample& example) {
  return static_cast<std::uint32_t>(example.tokens.size() + example.source.size());
}

template <class T>
void shuffle(std::vector<T>& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

void count_padding(const std::vector<int>& lengths, std::int64_t cells, PaddingCount& count) {
  count.cells += cells;
  if (lengths.empty()) return;
  count.padding += cells - std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

}  // namespace

std::int64_t batch_width(std::int64_t longest, std::int64_t context) {
  const std::int64_t step = (context + kBatchWidths - 1) / kBatchWidths;
  return std::min(context, (longest + step - 1) / step * step);
}

bool reads_narrow_batches(const Config& config) {
  return config.form != ModelForm::kClasses || config.pool != PoolKind::kConcat;
}

void PaddingCount::add(const TokenBatch& batch) {
  count_padding(batch.lengths, batch.rows * batch.positions, *this);
  count_padding(batch.source_lengths, batch.rows * batch.sources, *this);
}

TokenBatch narrow_batch_of(const Task& task, const Config& config,
                           std::span<const TaskExample> examples) {
  if (!reads_narrow_batches(config)) return batch_of(task, examples);
  std::size_t longest = 1, longest_source = 0;
  for (const TaskExample& example : examples) {
    longest = std::max(longest, example.tokens.size());
    longest_source = std::max(longest_source, example.source.size());
  }
  const auto width = [](std::size_t tokens, std::int64_t most) {
    return most == 0 ? 0 : batch_width(std::max<std::int64_t>(std::int64_t(tokens), 1), most);
  };
  return batch_of(task, examples, width(longest, task.context()),
                  width(longest_source, task.source_length()));
}

LengthBatches::LengthBatches(std::shared_ptr<const Task> task, const Config& config,
                             std::int64_t batch, std::uint64_t seed)
    : task_(std::move(task)), config_(config), seed_(seed), rows_(static_cast<std::size_t>(batch)) {
  const std::size_t all = task_->rows(Split::kTraining);
  if (all == 0 || is_running_text(*task_))
    throw UsageError(Message{"train.by_length_task", {{"task", task_->id()}}});
  for (std::size_t i = 0; i < all; ++i)
    lengths_.push_back(length_of(task_->row(i, Split::kTraining)));
  batches_ = std::max<std::size_t>(all / rows_, 1);
}

// Fewer rows than a batch has come again in it.
void LengthBatches::begin_round(std::uint64_t round) {
  Random random(seed_, 2 + round);  // 0 and 1 are those of TaskBatches
  std::vector<std::uint32_t> rows(lengths_.size());
  std::iota(rows.begin(), rows.end(), 0u);
  shuffle(rows, random);
  const std::size_t shuffled = rows.size();
  rows.resize(batches_ * rows_);
  for (std::size_t i = shuffled; i < rows.size(); ++i) rows[i] = rows[i - shuffled];
  for (std::size_t begin = 0; begin < rows.size(); begin += kBatchPool * rows_) {
    const std::size_t end = std::min(begin + kBatchPool * rows_, rows.size());
    std::stable_sort(rows.begin() + std::ptrdiff_t(begin), rows.begin() + std::ptrdiff_t(end),
                     [&](std::uint32_t a, std::uint32_t b) { return lengths_[a] < lengths_[b]; });
  }
  std::vector<std::size_t> batches(batches_);
  std::iota(batches.begin(), batches.end(), std::size_t{0});
  shuffle(batches, random);
  order_.clear();
  for (const std::size_t b : batches)
    order_.insert(order_.end(), rows.begin() + std::ptrdiff_t(b * rows_),
                  rows.begin() + std::ptrdiff_t((b + 1) * rows_));
  round_ = round;
}

const TokenBatch& LengthBatches::next() {
  if (const std::uint64_t round = made_ / batches_; round != round_) begin_round(round);
  const std::size_t first = made_++ % batches_ * rows_;
  examples_.clear();
  for (std::size_t i = first; i < first + rows_; ++i)
    examples_.push_back(task_->row(order_[i], Split::kTraining));
  batch_ = narrow_batch_of(*task_, config_, examples_);
  return batch_;
}

std::vector<TokenBatch> measured_rows(const Task& task, const Config& config, Split split,
                                      std::size_t most, std::size_t batch, bool narrow) {
  const std::size_t all = task.rows(split), used = std::min(all, most);
  std::vector<TaskExample> rows;
  for (std::size_t i = 0; i < used; ++i) rows.push_back(task.row(i * all / used, split));
  if (narrow)
    std::ranges::stable_sort(rows, {}, [](const TaskExample& row) { return length_of(row); });
  std::vector<TokenBatch> batches;
  for (std::size_t begin = 0; begin < used; begin += batch) {
    const std::span part = std::span(rows).subspan(begin, std::min(batch, used - begin));
    batches.push_back(narrow ? narrow_batch_of(task, config, part) : batch_of(task, part));
  }
  return batches;
}

}  // namespace headlight
