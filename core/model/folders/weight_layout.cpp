#include "core/model/folders/weight_layout.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace headlight {
namespace {

// Our axes told apart: what comes out of the product, the rest goes in.
struct ProductAxes {
  std::vector<bool> comes_out;
  std::int64_t out = 1, in = 1;
};

ProductAxes product_axes(std::span<const Axis> axes, Role role) {
  ProductAxes p;
  const std::size_t n = axes.size();
  const bool by_head = n > 0 && counts_heads(axes[0].name);
  const bool is_bias = n == 1 || (n == 2 && by_head);
  for (std::size_t a = 0; a < n; ++a) {
    const bool last = a + 1 == n;
    const bool out = is_bias || last || (by_head && a == 0 && role != Role::kOutputWeight);
    p.comes_out.push_back(out);
    (out ? p.out : p.in) *= axes[a].size;
  }
  return p;
}

// How many of the file's numbers lie between neighbours along each of our axes, if those that come
// out lie `out` apart and those that go in `in`.
std::vector<std::int64_t> strides_of(std::span<const Axis> axes, const ProductAxes& p,
                                     std::int64_t out, std::int64_t in) {
  std::vector<std::int64_t> strides(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    std::int64_t& step = p.comes_out[a] ? out : in;
    strides[a] = step;
    step *= axes[a].size;
  }
  return strides;
}

template <class T>
float number_at(const char* bytes, std::int64_t i) {
  T raw;
  std::memcpy(&raw, bytes + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
  return static_cast<float>(raw);
}
struct HalfBits {
  std::uint16_t bits;
  explicit operator float() const { return half_to_float(bits); }
};
struct BfloatBits {
  std::uint16_t bits;
  explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

struct Plane {  // of two axes
  std::int64_t rows, columns, row_stride, column_stride;
};

// In squares, so that neither side is walked across the whole of memory.
template <class T>
void copy_plane(const char* bytes, const Plane& p, float* to) {
  constexpr std::int64_t kSquare = 32;
  for (std::int64_t r0 = 0; r0 < p.rows; r0 += kSquare) {
    for (std::int64_t c0 = 0; c0 < p.columns; c0 += kSquare) {
      const std::int64_t r1 = std::min(r0 + kSquare, p.rows),
                         c1 = std::min(c0 + kSquare, p.columns);
      for (std::int64_t r = r0; r < r1; ++r) {
        for (std::int64_t c = c0; c < c1; ++c)
          to[r * p.columns + c] = number_at<T>(bytes, r * p.row_stride + c * p.column_stride);
      }
    }
  }
}

// As three axes, the first ones of size 1 where there are fewer.
struct ThreeAxes {
  std::array<std::int64_t, 3> size = {1, 1, 1}, stride = {0, 0, 0};
};
ThreeAxes three_axes(const StridedSource& from, std::span<const Axis> axes) {
  ThreeAxes three;
  const std::size_t missing = 3 - axes.size();
  for (std::size_t a = 0; a < axes.size(); ++a)
    three.size[missing + a] = axes[a].size, three.stride[missing + a] = from.strides[a];
  return three;
}

template <class T>
void copy_cells(std::string_view bytes, const StridedSource& from, std::span<const Axis> axes,
                float* to) {
  bool in_place = std::is_same_v<T, float>;  // the cells lie as they should
  std::int64_t step = 1;
  for (std::size_t a = axes.size(); a-- > 0;) {
    in_place = in_place && from.strides[a] == step;
    step *= axes[a].size;
  }
  if (in_place) {
    std::memcpy(to, bytes.data() + static_cast<std::size_t>(from.offset) * sizeof(T),
                static_cast<std::size_t>(step) * sizeof(T));
    return;
  }
  const auto [size, stride] = three_axes(from, axes);
  for (std::int64_t outer = 0; outer < size[0]; ++outer) {
    const auto at = static_cast<std::size_t>(from.offset + outer * stride[0]) * sizeof(T);
    copy_plane<T>(bytes.data() + at, {size[1], size[2], stride[1], stride[2]},
                  to + outer * size[1] * size[2]);
  }
}

}  // namespace

StridedSource strided_source(const WeightSource& source, std::span<const Axis> axes, Role role) {
  const ProductAxes p = product_axes(axes, role);
  const std::int64_t part = source.part, parts = source.parts;
  const bool is_bias = p.in == 1 && std::ranges::count(p.comes_out, false) == 0;
  const auto shape = [&](std::int64_t first, std::int64_t second) {
    return is_bias ? std::vector{std::max(first, second)} : std::vector{first, second};
  };
  StridedSource s;
  switch (source.layout) {
    case WeightLayout::kSame: {
      std::int64_t step = 1;
      s.strides.resize(axes.size());
      for (std::size_t a = axes.size(); a-- > 0;) s.strides[a] = step, step *= axes[a].size;
      for (const Axis& axis : axes) s.shape.push_back(axis.size);
      if (parts > 1) s.shape[0] *= parts;
      s.offset = part * step;
      return s;
    }
    case WeightLayout::kLinear:
    case WeightLayout::kJoined:
      s.shape = shape(parts * p.out, p.in);
      s.offset = part * p.out * p.in;
      s.strides = strides_of(axes, p, p.in, 1);
      return s;
    case WeightLayout::kConv1d:
    case WeightLayout::kJoinedConv:
      s.shape = shape(p.in, parts * p.out);
      s.offset = part * p.out;
      s.strides = strides_of(axes, p, 1, parts * p.out);
      return s;
    case WeightLayout::kByHead: {
      s.shape = shape(parts * p.out, p.in);
      const std::int64_t d_head = p.out / axes[0].size;
      s.offset = part * d_head * p.in;
      s.strides = strides_of(axes, p, p.in, 1);
      s.strides[0] = parts * d_head * p.in;
      return s;
    }
  }
  return s;
}

std::int64_t copy_weights(std::string_view bytes, std::string_view dtype, const StridedSource& from,
                          std::span<const Axis> axes, float* to) {
  if (dtype == "F16")
    copy_cells<HalfBits>(bytes, from, axes, to);
  else if (dtype == "BF16")
    copy_cells<BfloatBits>(bytes, from, axes, to);
  else
    copy_cells<float>(bytes, from, axes, to);
  const std::int64_t cells = cell_count(axes);
  std::int64_t odd = 0;
  // Not finite: all bits of the exponent are set. So many numbers are looked at together.
  constexpr std::uint32_t kExponent = 0x7F800000;
  for (std::int64_t i = 0; i < cells; ++i)
    odd += (std::bit_cast<std::uint32_t>(to[i]) & kExponent) == kExponent;
  return odd;
}

namespace {

struct SixteenBits {
  std::uint16_t (*round)(float);
  std::uint16_t exponent;  // all of its bits set: infinite or no number
};

// Walked in squares, as copy_plane() does.
template <class Put>
void each_cell(const ThreeAxes& axes, std::int64_t offset, Put put) {
  constexpr std::int64_t kSquare = 32;
  const auto& [size, stride] = axes;
  for (std::int64_t outer = 0; outer < size[0]; ++outer) {
    for (std::int64_t r0 = 0; r0 < size[1]; r0 += kSquare) {
      for (std::int64_t c0 = 0; c0 < size[2]; c0 += kSquare) {
        const std::int64_t r1 = std::min(r0 + kSquare, size[1]),
                           c1 = std::min(c0 + kSquare, size[2]);
        for (std::int64_t r = r0; r < r1; ++r) {
          for (std::int64_t c = c0; c < c1; ++c) {
            put((outer * size[1] + r) * size[2] + c,
                offset + outer * stride[0] + r * stride[1] + c * stride[2]);
          }
        }
      }
    }
  }
}

}  // namespace

std::optional<float> place_weights(const float* from, std::span<const Axis> axes,
                                   const StridedSource& place, NumberFormat format, char* to) {
  const ThreeAxes three = three_axes(place, axes);
  const auto put = [&](std::int64_t at, const auto& number) {
    std::memcpy(to + static_cast<std::size_t>(at) * sizeof number, &number, sizeof number);
  };
  if (format == NumberFormat::kFloat32) {
    each_cell(three, place.offset, [&](std::int64_t i, std::int64_t at) { put(at, from[i]); });
    return std::nullopt;
  }
  const SixteenBits bits = format == NumberFormat::kFloat16 ? SixteenBits{float_to_half, 0x7C00}
                                                            : SixteenBits{float_to_bfloat, 0x7F80};
  std::optional<float> beyond;
  each_cell(three, place.offset, [&](std::int64_t i, std::int64_t at) {
    const std::uint16_t rounded = bits.round(from[i]);
    const bool finite = (rounded & bits.exponent) != bits.exponent;
    if (!finite && std::isfinite(from[i]) && !beyond) beyond = from[i];
    put(at, rounded);
  });
  return beyond;
}

}  // namespace headlight
