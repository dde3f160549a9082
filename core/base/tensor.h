// Axis, Tensor, TensorView: named arrays of float32, row-major, the last axis contiguous.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

/// One dimension of a tensor. `name` is one of axis_words(), so that errors, panels and tests can
/// speak of it.
struct Axis {
  std::string name;
  std::int64_t size = 0;
  bool operator==(const Axis&) const = default;
};

/// The closed list of words that may name an axis.
std::span<const std::string_view> axis_words();

/// Does this axis count tokens? "position", "query", "key", and those of a source row.
bool counts_tokens(std::string_view axis);

/// Does this axis count heads, or heads of keys and values?
inline bool counts_heads(std::string_view axis) { return axis == "head" || axis == "kv_head"; }

/// Number of cells of a tensor with these axes. Throws Error when it does not fit in 63 bits.
std::int64_t cell_count(std::span<const Axis> axes);

/// "(head 4, query 12, key 12)"
std::string shape_text(std::span<const Axis> axes);

/// Row-major place of a cell. `index` has one entry per axis, each within its size.
std::int64_t flat_index(std::span<const Axis> axes, std::span<const std::int64_t> index);

/// The inverse of flat_index.
std::vector<std::int64_t> unravel(std::span<const Axis> axes, std::int64_t flat);

/// Every tensor starts on a 64-byte boundary: unaligned rows cost up to a quarter of the speed.
inline constexpr std::size_t kTensorAlignment = 64;

/// Memory for a tensor, and back with the same count of bytes. For large ones the system is asked
/// for pages of 2 MB, which come faster; they begin at changing places of the first. Throws
/// std::bad_alloc.
void* take_tensor_memory(std::size_t bytes);
void give_tensor_memory(void* memory, std::size_t bytes) noexcept;

template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(take_tensor_memory(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) noexcept { give_tensor_memory(p, n * sizeof(T)); }
  // Memory is left as it is: every cell is written by the run before anyone reads it.
  template <class U>
  void construct(U* p) noexcept {
    ::new (static_cast<void*>(p)) U;
  }
  template <class U, class... Args>
  void construct(U* p, Args&&... args) {
    ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
  }
  bool operator==(const AlignedAllocator&) const { return true; }
};
}  // namespace headlight

// Made once, in tensor.cpp: not optimised, as in tests and Debug, it goes over every number to end
// none.
extern template class std::vector<float, headlight::AlignedAllocator<float>>;

namespace headlight {

using FloatBuffer = std::vector<float, AlignedAllocator<float>>;

/// A tensor that owns its numbers.
struct Tensor {
  std::string name;
  std::vector<Axis> axes;
  FloatBuffer data;
};

/// A tensor somewhere in memory, for reading.
struct TensorView {
  std::string_view name;
  std::span<const Axis> axes;
  const float* data = nullptr;

  std::int64_t size() const { return cell_count(axes); }
  std::span<const float> cells() const { return {data, static_cast<std::size_t>(size())}; }
  /// Which axis has this name; throws UsageError ("blocks.0.attn.pattern has no axis 'kye'; it has
  /// head, query, key").
  int dim(std::string_view axis) const;
  /// -1 when there is no such axis.
  int find_dim(std::string_view axis) const;
  float at(std::span<const std::int64_t> index) const { return data[flat_index(axes, index)]; }
};

inline TensorView view(const Tensor& t) { return {t.name, t.axes, t.data.data()}; }

}  // namespace headlight
