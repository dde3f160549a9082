#include "core/backends/cpu/attention_cache.h"

#include <Eigen/Core>
#include <algorithm>

#include "core/backends/cpu/kernels.h"

namespace headlight::cpu {
namespace {

using Rows =
    Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using Column = Eigen::Map<const Eigen::VectorXf>;

std::int64_t cells_of(const Program& program, TensorId id) {
  return cell_count(program.look(id).axes);
}

}  // namespace

AttentionCache::AttentionCache(const Program& one, const FusedAttention& attention,
                               std::int64_t context)
    : attention_(attention), context_(context) {
  heads_ = one.look(attention.pattern).axes[1].size;
  width_ = cells_of(one, attention.q) / heads_;
  kv_heads_ = cells_of(one, attention.k) / width_;
  v_width_ = cells_of(one, attention.v) / kv_heads_;
  if (attention.turn >= 0) turn_ = one.calls[place(attention.turn)].params;
  keys_.resize(static_cast<std::size_t>(kv_heads_ * context * width_));
  values_.resize(static_cast<std::size_t>(kv_heads_ * context * v_width_));
  turned_.resize(static_cast<std::size_t>(width_));
  weights_.resize(static_cast<std::size_t>(context));
}

void AttentionCache::keep(const float* k, const float* v, std::int64_t at) {
  for (std::int64_t head = 0; head < kv_heads_; ++head) {
    float* key = keys_.data() + (head * context_ + at) * width_;
    if (attention_.turn >= 0) {
      kernels::rotate_row(angles_.of(turn_, context_, width_), at, k + head * width_, {key, false});
    } else {
      std::copy_n(k + head * width_, width_, key);
    }
    std::copy_n(v + head * v_width_, v_width_, values_.data() + (head * context_ + at) * v_width_);
  }
}

// The weights of the keys so far.
void AttentionCache::weigh(const float* q, std::int64_t kv_head, std::int64_t at,
                           const float* mask) {
  const std::int64_t n = at + 1;
  if (attention_.turn >= 0) {
    kernels::rotate_row(angles_.of(turn_, context_, width_), at, q, {turned_.data(), false});
    q = turned_.data();
  }
  const Rows keys(keys_.data() + kv_head * context_ * width_, n, width_);
  Eigen::Map<Eigen::VectorXf> weights(weights_.data(), n);
  weights.noalias() = keys * Column(q, width_);
  if (attention_.factor != 1) weights *= attention_.factor;
  if (mask) kernels::mask(weights_.data(), mask, weights_.data(), n);
  kernels::softmax_row(weights_.data(), attention_.temperature, weights_.data(), n);
}

void AttentionCache::run(std::span<float* const> memory, std::int64_t at, const float* mask) {
  keep(memory[place(attention_.k)], memory[place(attention_.v)], at);
  const float* q = memory[place(attention_.q)];
  float* out = memory[place(attention_.out)];
  for (std::int64_t head = 0; head < heads_; ++head) {
    const std::int64_t kv_head = head / (heads_ / kv_heads_);
    weigh(q + head * width_, kv_head, at, mask);
    const Rows values(values_.data() + kv_head * context_ * v_width_, at + 1, v_width_);
    Eigen::Map<Eigen::VectorXf>(out + head * v_width_, v_width_).noalias() =
        values.transpose() * Column(weights_.data(), at + 1);
  }
}

}  // namespace headlight::cpu
