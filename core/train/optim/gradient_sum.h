// GradientSum: adds up what the shards of a batch found, in their order, whoever computed them, so
// that the sum has the same bits on any number of threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "core/base/tensor.h"

namespace headlight {

/// A thread that comes before its turn leaves a copy behind and goes on with its next shard. A few
/// copies have room; without any left it waits. Shards must be begun in their order: the first that
/// is not added yet is then always under way, and nobody waits for ever.
class GradientSum {
 public:
  /// Room for gradients of so many cells, and for a copy for each thread where there are several.
  void resize(std::size_t cells, int threads);

  std::span<float> cells() { return {sum_.data(), sum_.size()}; }
  std::size_t size() const { return sum_.size(); }
  /// Bytes of the sum and of the room for copies.
  std::size_t memory_bytes() const;

  /// Before the shards of a batch. `fresh`: the first is written, not added to what is there.
  void begin(bool fresh);
  /// What `shard` found; may be changed as soon as this returns. Each shard once, from any thread;
  /// with nothing in it for one that failed. Throws and allocates nothing.
  void add(std::int64_t shard, std::span<const float> found);

 private:
  struct Copy {
    FloatBuffer cells;
    std::int64_t shard = -1;  // -1: nobody's
    std::size_t size = 0;     // 0: of a shard that failed
    bool written = false;
  };
  Copy* find(std::int64_t shard);
  void add_cells(const float* found, std::size_t size);
  void leave_copy(Copy&, std::int64_t shard, std::span<const float> found,
                  std::unique_lock<std::mutex>&);
  void add_copies(std::unique_lock<std::mutex>&);

  FloatBuffer sum_;
  std::vector<Copy> copies_;
  std::mutex mutex_;  // of everything below, and of who owns which copy
  std::condition_variable changed_;
  std::int64_t next_ = 0;  // the shard whose turn it is
  bool adding_ = false;    // somebody is writing to sum_
  bool fresh_ = true;
};

/// Hands over what a shard found; nothing, when the shard fails before that.
class ShardTurn {
 public:
  ShardTurn(GradientSum& sum, std::int64_t shard) : sum_(sum), shard_(shard) {}
  ~ShardTurn() { sum_.add(shard_, found_); }
  ShardTurn(const ShardTurn&) = delete;
  ShardTurn& operator=(const ShardTurn&) = delete;
  void found(std::span<const float> cells) { found_ = cells; }

 private:
  GradientSum& sum_;
  std::int64_t shard_;
  std::span<const float> found_;
};

}  // namespace headlight
