#include "core/check/cell_again.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <new>

namespace headlight {
namespace {

std::int64_t row_length(std::span<const Axis> axes) { return axes.empty() ? 1 : axes.back().size; }

// Which cells of each tensor an explanation has looked at.
class Wanted {
 public:
  explicit Wanted(const FarCall& call)
      : call_(call), cells_(call.in.size() + 2), whole_rows_(rows_matter(call.op)) {}

  void add(const InputCell& cell) {
    const std::size_t tensor = number_of(cell.input);
    if (tensor < cells_.size())
      add(tensor, flat_index(tensor_at(tensor).view().axes, cell.index), whole_rows_);
  }
  // The row that a cell stands in, of each tensor that is laid out like the one it is of: sums and
  // slopes are made from it without a term for each.
  void add_own_rows(std::span<const Axis> axes, std::int64_t cell, bool of_gradient) {
    const std::size_t count = call_.in.size() + (of_gradient ? 2 : 1);
    for (std::size_t t = 0; t < count; ++t) {
      const auto others = tensor_at(t).view().axes;
      const bool alike = std::ranges::equal(others, axes, {}, &Axis::size, &Axis::size);
      if (alike) add(t, cell, true);
    }
  }
  // Where an explanation does not name all that it looks at (attention in one piece, means over the
  // tokens that are there): everything that belongs to the same item of the batch.
  void add_item(std::int64_t item) {
    const OpInfo& info = op_info(call_.op);
    if (info.work.per != WorkPer::kPair && info.input_of(InputKind::kPresence) < 0) return;
    const auto axes = call_.out.view().axes;
    if (axes.empty() || item >= axes[0].size) return;
    for (std::size_t t = 0; t < cells_.size(); ++t) {
      const TensorView& look = tensor_at(t).view();
      const bool has_items = look.axes.size() >= 2 && look.axes[0].size == axes[0].size;
      const std::int64_t each = has_items ? look.size() / look.axes[0].size : 0;
      if (!tensor_at(t).is_here()) add_range(t, item * each, each);
    }
  }
  std::size_t count() const { return count_; }
  // Were any of them not there yet?
  bool bring(FarCall& call) {
    bool any = false;
    for (std::size_t t = 0; t < call.in.size(); ++t) any |= call.in[t].bring(std::move(cells_[t]));
    any |= call.out.bring(std::move(cells_[call.in.size()]));
    any |= call.d_out.bring(std::move(cells_[call.in.size() + 1]));
    return any;
  }

 private:
  static bool rows_matter(Op op) { return op_info(op).errors == ErrorClass::kRows; }
  std::size_t number_of(int input) const {
    if (input >= 0) return place(input);
    if (input == kResultCell) return call_.in.size();
    return input == kGradientOfOut ? call_.in.size() + 1 : cells_.size();
  }
  const FarTensor& tensor_at(std::size_t number) const {
    if (number < call_.in.size()) return call_.in[number];
    return number == call_.in.size() ? call_.out : call_.d_out;
  }
  void add(std::size_t tensor, std::int64_t cell, bool row) {
    const std::int64_t length = row ? row_length(tensor_at(tensor).view().axes) : 1;
    const std::int64_t first = cell / length * length;
    std::vector<std::int64_t>& cells = cells_[tensor];
    if (!cells.empty() && cells.back() == first + length - 1 && row) return;  // as the one before
    add_range(tensor, first, length);
  }
  void add_range(std::size_t tensor, std::int64_t first, std::int64_t length) {
    count_ += static_cast<std::size_t>(length);
    for (std::int64_t i = 0; i < length && count_ <= kMostCellsAgain; ++i)
      cells_[tensor].push_back(first + i);
  }

  const FarCall& call_;
  std::vector<std::vector<std::int64_t>> cells_;  // of the inputs, the result, its gradient
  const bool whole_rows_;
  std::size_t count_ = 0;
};

OpExplanation explained(const FarCall& call, int input, std::span<const std::int64_t> index) {
  std::vector<TensorView> in;
  for (const FarTensor& tensor : call.in) in.push_back(tensor.view());
  const OpInfo& info = op_info(call.op);
  if (input < 0) return info.explain({in, call.out.view(), call.params, nullptr}, index);
  const OpGradArgs args{in, call.out.view(), call.params, call.d_out.view().data, {}};
  return info.explain_gradient(args, input, index);
}

// Well below the gradients that come in is what rounding leaves of larger numbers.
constexpr double kLeastOfGradient = 0.03;

CellAgain summed(const OpExplanation& explanation, bool of_gradient) {
  CellAgain cell{true, 0, 0};
  double coming = 0;
  for (const OpTerm& term : explanation.terms) {
    const double product = term.value * term.factor;
    cell.value += product;
    if (std::isfinite(product)) cell.size += product * product;
    if (std::isfinite(term.value)) coming += term.value * term.value;
  }
  cell.size = std::sqrt(cell.size);
  if (of_gradient) cell.size = std::max(cell.size, kLeastOfGradient * std::sqrt(coming));
  return cell;
}

}  // namespace

// ---- a tensor ----

void FarTensor::Release::operator()(float* memory) const { std::free(memory); }

// Room for all of it, of which only what is written takes memory.
FarTensor::FarTensor(std::span<const Axis> axes, BringCells bring)
    : look_{"", axes, nullptr}, bring_(std::move(bring)) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(cell_count(axes), 1));
  memory_.reset(static_cast<float*>(std::calloc(count, sizeof(float))));
  if (!memory_) throw std::bad_alloc();
  look_.data = memory_.get();
}

bool FarTensor::bring(std::vector<std::int64_t> cells) {
  if (is_here_ || cells.empty()) return false;
  std::ranges::sort(cells);
  cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
  std::vector<std::int64_t> missing, all;
  std::ranges::set_difference(cells, here_, std::back_inserter(missing));
  if (missing.empty()) return false;
  bring_(missing, memory_.get());
  std::ranges::merge(here_, missing, std::back_inserter(all));
  here_ = std::move(all);
  return true;
}

bool FarTensor::bring_row(std::int64_t cell) {
  const std::int64_t length = row_length(look_.axes), first = cell / length * length;
  std::vector<std::int64_t> cells(static_cast<std::size_t>(length));
  for (std::int64_t i = 0; i < length; ++i) cells[static_cast<std::size_t>(i)] = first + i;
  return bring(std::move(cells));
}

void FarTensor::spoil(float value) {
  if (is_here_ || !memory_) return;
  auto next = here_.begin();
  for (std::int64_t i = 0; i < look_.size(); ++i) {
    const bool is_here = next != here_.end() && *next == i;
    if (is_here) ++next;
    if (!is_here) memory_[static_cast<std::size_t>(i)] = value;
  }
}

// ---- a cell ----

// Which cells there are may depend on the numbers of others (ids, a row that is forbidden wholly):
// what is asked for with zeros is brought, and asked again, until nothing is missing.
CellAgain cell_again(FarCall& call, int input, std::span<const std::int64_t> index) {
  constexpr int kTimes = 6;
  const auto axes = (input < 0 ? call.out : call.in[place(input)]).view().axes;
  for (int time = 0; time < kTimes; ++time) {
    const OpExplanation explanation = explained(call, input, index);
    Wanted wanted(call);
    wanted.add_own_rows(axes, flat_index(axes, index), input >= 0);
    wanted.add_item(index[0]);
    for (const OpTerm& term : explanation.terms) {
      wanted.add(term.cell);
      for (const InputCell& cell : term.factor_cells) wanted.add(cell);
      if (wanted.count() > kMostCellsAgain) break;
    }
    if (wanted.count() > kMostCellsAgain) return {};
    if (!wanted.bring(call)) return summed(explanation, input >= 0);
  }
  return {};
}

}  // namespace headlight
