// One cell of a result computed again, from the few cells of what it was made of, which are brought
// from where they are. Which cells those are says the operation's own explanation.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/ops/op.h"

namespace headlight {

/// Writes the cells at these places, which are ascending, to the same places of `memory`.
using BringCells = std::function<void(std::span<const std::int64_t> cells, float* memory)>;

/// A tensor that lies elsewhere, and of which only what is asked for comes here.
class FarTensor {
 public:
  FarTensor() = default;
  /// All of it is here already.
  explicit FarTensor(const TensorView& here) : look_(here), is_here_(true) {}
  /// The axes must outlive this.
  FarTensor(std::span<const Axis> axes, BringCells bring);

  const TensorView& view() const { return look_; }
  bool is_here() const { return is_here_; }
  /// Brings those of the cells that are not here yet; were there any?
  bool bring(std::vector<std::int64_t> cells);
  /// The row of the last axis that holds this cell.
  bool bring_row(std::int64_t cell);
  /// What has not been brought becomes this: for tests of whether anybody looks there.
  void spoil(float value);
  std::size_t cells_here() const { return here_.size(); }

 private:
  struct Release {
    void operator()(float* memory) const;
  };
  TensorView look_;
  bool is_here_ = false;
  BringCells bring_;
  std::unique_ptr<float[], Release> memory_;
  std::vector<std::int64_t> here_;  // ascending
};

/// A call whose tensors lie elsewhere. Of a gradient also dL/d(out).
struct FarCall {
  Op op{};
  OpParams params;
  std::vector<FarTensor> in;
  FarTensor out, d_out;
};

struct CellAgain {
  bool known = false;  // false: it takes more cells than anybody wants to bring
  double value = 0;
  double size = 0;  // √ of the sum of the squares of the terms that add up to it
};

/// A cell takes no more cells than these.
inline constexpr std::size_t kMostCellsAgain = 1 << 17;

/// The cell of the result at `index` or, with an `input` that is not negative, at `index` of that
/// input what the call adds to its gradient.
CellAgain cell_again(FarCall&, int input, std::span<const std::int64_t> index);

}  // namespace headlight
