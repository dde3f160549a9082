#include "core/train/optim/gradient_sum.h"

#include <algorithm>

namespace headlight {

void GradientSum::resize(std::size_t cells, int threads) {
  sum_.assign(cells, 0.0f);
  copies_.resize(threads > 1 ? static_cast<std::size_t>(threads) : 0);
  for (Copy& copy : copies_) copy.cells.assign(cells, 0.0f);
}

std::size_t GradientSum::memory_bytes() const {
  return (1 + copies_.size()) * sum_.size() * sizeof(float);
}

void GradientSum::begin(bool fresh) {
  next_ = 0;
  fresh_ = fresh;
}

void GradientSum::add_cells(const float* found, std::size_t size) {
  float* sum = sum_.data();
  if (fresh_) {
    std::copy_n(found, size, sum);
  } else {
    for (std::size_t i = 0; i < size; ++i) sum[i] += found[i];
  }
  if (size > 0) fresh_ = false;
}

GradientSum::Copy* GradientSum::find(std::int64_t shard) {
  for (Copy& copy : copies_) {
    if (copy.shard == shard) return &copy;
  }
  return nullptr;
}

void GradientSum::leave_copy(Copy& copy, std::int64_t shard, std::span<const float> found,
                             std::unique_lock<std::mutex>& lock) {
  copy.shard = shard;
  copy.size = found.size();
  copy.written = false;
  lock.unlock();
  std::copy(found.begin(), found.end(), copy.cells.begin());
  lock.lock();
  copy.written = true;
}

// Adds the copies whose turn it is, one after the other.
void GradientSum::add_copies(std::unique_lock<std::mutex>& lock) {
  while (!adding_) {
    Copy* copy = find(next_);
    if (!copy || !copy->written) return;
    adding_ = true;
    lock.unlock();
    add_cells(copy->cells.data(), copy->size);
    lock.lock();
    adding_ = false;
    copy->shard = -1;
    ++next_;
    changed_.notify_all();
  }
}

void GradientSum::add(std::int64_t shard, std::span<const float> found) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (next_ == shard && !adding_) {
      adding_ = true;
      lock.unlock();
      add_cells(found.data(), found.size());
      lock.lock();
      adding_ = false;
      ++next_;
      changed_.notify_all();
      break;
    }
    if (Copy* free = find(-1)) {
      leave_copy(*free, shard, found, lock);
      break;
    }
    changed_.wait(lock);
  }
  add_copies(lock);
}

}  // namespace headlight
