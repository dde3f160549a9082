// Rows of a table in batches of similar length, each no wider than it has to be: little of what is
// computed is padding.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/train/data/batches.h"

namespace headlight {

/// How wide a batch is whose longest row has so many tokens: one of at most kBatchWidths widths, so
/// that few programs are made. `longest` is 1 to `context`.
inline constexpr std::int64_t kBatchWidths = 8;
std::int64_t batch_width(std::int64_t longest, std::int64_t context);

/// Can a model of this config read a batch that is narrower than its context? Not where its head
/// has a weight for each place.
bool reads_narrow_batches(const Config&);

/// These examples as one batch, as narrow as it can be.
TokenBatch narrow_batch_of(const Task&, const Config&, std::span<const TaskExample>);

/// How much of batches is padding: tokens read, those of encoders among them.
struct PaddingCount {
  std::int64_t cells = 0, padding = 0;
  void add(const TokenBatch&);
  double share() const { return cells ? double(padding) / double(cells) : 0; }
};

/// Round after round each row once, but for those that fill no batch, which are others each time. A
/// round's rows are shuffled; of each kBatchPool batches the rows are sorted by their length; then
/// the batches are shuffled. All of it follows from the seed and the number of the round.
class LengthBatches final : public BatchSource {
 public:
  static constexpr std::size_t kBatchPool = 32;
  /// Of the training split. Throws UsageError for a task that is no table of rows.
  LengthBatches(std::shared_ptr<const Task>, const Config&, std::int64_t batch, std::uint64_t seed);
  const TokenBatch& next() override;
  /// Batches made.
  std::uint64_t state() const override { return made_; }
  void restore(std::uint64_t state) override { made_ = state; }
  /// Of a round.
  std::uint64_t batches() const { return batches_; }

 private:
  void begin_round(std::uint64_t round);

  std::shared_ptr<const Task> task_;
  const Config config_;
  const std::uint64_t seed_;
  std::size_t rows_ = 0;  // of a batch
  std::uint64_t batches_ = 0, made_ = 0;
  std::uint64_t round_ = ~std::uint64_t{0};  // which one order_ is
  std::vector<std::uint32_t> lengths_;       // by row, with those of the source
  std::vector<std::uint32_t> order_;         // batch after batch
  std::vector<TaskExample> examples_;
  TokenBatch batch_;
};

/// Up to `most` rows of the split, evenly spread, in batches of `batch`. `narrow`: sorted by their
/// length, each batch as narrow as it can be. Empty where the split has no row.
std::vector<TokenBatch> measured_rows(const Task&, const Config&, Split, std::size_t most,
                                      std::size_t batch, bool narrow);

}  // namespace headlight
