#include "core/base/tensor.h"

#include <algorithm>
#include <array>
#include <atomic>

#include <sys/mman.h>
#include <unistd.h>

#include "core/base/error.h"

template class std::vector<float, headlight::AlignedAllocator<float>>;

namespace headlight {

namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;
// Where all began at the same place of a page, 12 layers took longer on one thread (RESULTS.md).
constexpr std::size_t kStep = 5 * kTensorAlignment, kSteps = 12;
static_assert(kStep * kSteps <= 4096);

}  // namespace

void* take_tensor_memory(std::size_t bytes) {
  if (bytes < kLargePage) return ::operator new (bytes, std::align_val_t{kTensorAlignment});
  static std::atomic<std::size_t> taken = 0;
  const std::size_t before = taken.fetch_add(1, std::memory_order_relaxed) % kSteps * kStep;
  auto* pages = static_cast<char*>(::operator new (before + bytes, std::align_val_t{kLargePage}));
#ifdef MADV_HUGEPAGE
  // The last page stays as it is: others may hold a part of it.
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  (void)::madvise(pages, (before + bytes) / page * page, MADV_HUGEPAGE);
#endif
  return pages + before;
}

void give_tensor_memory(void* memory, std::size_t bytes) noexcept {
  if (bytes < kLargePage) return ::operator delete (memory, std::align_val_t{kTensorAlignment});
  char* pages = static_cast<char*>(memory);
  pages -= reinterpret_cast<std::uintptr_t>(memory) % kLargePage;
  ::operator delete (pages, std::align_val_t{kLargePage});
}

std::span<const std::string_view> axis_words() {
  static constexpr std::array kWords = std::to_array<std::string_view>(
      {"batch",     "head",         "kv_head",         "query",   "key",      "position",
       "source",    "source_query", "source_key",      "d_head",  "d_model",  "hidden",
       "vocab",     "source_vocab", "class",           "feature", "context",  "context_source",
       "direction", "focus",        "other_focus",     "place",   "distance", "distance_both",
       "bucket",    "state",        "next_state",      "gate",    "tap",      "expert",
       "number",    "component",    "distance_source", "segment", "memory",   "d_value",
       "mean"});
  return kWords;
}

bool counts_tokens(std::string_view axis) {
  if (axis == "source_vocab") return false;
  return axis == "position" || axis == "query" || axis == "key" || axis == "memory" ||
         axis.starts_with("source");
}

std::int64_t cell_count(std::span<const Axis> axes) {
  std::int64_t count = 1;
  for (const Axis& axis : axes) {
    if (axis.size < 0 || __builtin_mul_overflow(count, axis.size, &count)) {
      throw Error("a tensor of shape " + shape_text(axes) + " has more cells than can be counted");
    }
  }
  return count;
}

std::string shape_text(std::span<const Axis> axes) {
  std::string text = "(";
  for (const Axis& axis : axes) {
    if (text.size() > 1) text += ", ";
    text += axis.name + " " + std::to_string(axis.size);
  }
  return text + ")";
}

std::int64_t flat_index(std::span<const Axis> axes, std::span<const std::int64_t> index) {
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) flat = flat * axes[i].size + index[i];
  return flat;
}

std::vector<std::int64_t> unravel(std::span<const Axis> axes, std::int64_t flat) {
  std::vector<std::int64_t> index(axes.size(), 0);
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (axes[i].size == 0) continue;
    index[i] = flat % axes[i].size;
    flat /= axes[i].size;
  }
  return index;
}

int TensorView::find_dim(std::string_view axis) const {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name == axis) return static_cast<int>(i);
  }
  return -1;
}

int TensorView::dim(std::string_view axis) const {
  const int found = find_dim(axis);
  if (found >= 0) return found;
  std::string has;
  for (const Axis& a : axes) has += (has.empty() ? "" : ", ") + a.name;
  throw UsageError(std::string(name) + " has no axis '" + std::string(axis) + "'; it has " + has);
}

}  // namespace headlight
