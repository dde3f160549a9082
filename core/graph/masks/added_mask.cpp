#include "core/graph/masks/added_mask.h"

#include <cmath>
#include <limits>
#include <string>

#include "core/base/error.h"
#include "core/graph/masks/number_file.h"

namespace headlight {

const float* AddedMask::row(int head, int query) const {
  const std::int64_t matrix = heads > 0 ? head : 0;
  return cells->data() + (matrix * tokens + query) * tokens;
}

bool AddedMask::operator==(const AddedMask& other) const {
  if (heads != other.heads || tokens != other.tokens) return false;
  return cells == other.cells || (cells && other.cells && *cells == *other.cells);
}

AddedMask added_mask(const NumberArray& array) {
  const std::vector<std::int64_t>& shape = array.shape;
  const bool fits = (shape.size() == 2 || shape.size() == 3) && shape.back() > 0 &&
                    shape[shape.size() - 2] == shape.back() && shape[0] > 0;
  if (!fits) {
    std::string text;
    for (const std::int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
    throw UsageError(Message{"error.added_mask_shape", {{"got", "(" + text + ")"}}});
  }
  if (std::ssize(array.values) > kMostAddedCells)
    throw UsageError(Message{
        "error.added_mask_large",
        {{"got", std::to_string(array.values.size())}, {"most", std::to_string(kMostAddedCells)}}});
  AddedMask mask;
  mask.heads = shape.size() == 3 ? static_cast<int>(shape[0]) : 0;
  mask.tokens = static_cast<int>(shape.back());
  std::vector<float> cells;
  cells.reserve(array.values.size());
  for (const double value : array.values) {
    constexpr double kForbidden = -std::numeric_limits<double>::infinity();
    const double number = array.is_boolean ? (value != 0 ? kForbidden : 0) : value;
    const auto cell = static_cast<float>(number);
    const bool usable = std::isfinite(cell) || (std::isinf(number) && number < 0);
    if (!usable)
      throw UsageError(Message{"error.added_mask_number", {{"got", std::to_string(number)}}});
    cells.push_back(cell);
  }
  mask.cells = std::make_shared<const std::vector<float>>(std::move(cells));
  return mask;
}

}  // namespace headlight
