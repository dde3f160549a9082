// Operations on long stretches of cells, by Eigen's public API: there it costs less than 1 % more
// than packets. Short rows stay with packets, which are two to four times as fast there, and so
// does ReLU, whose gate Eigen does not make of packets.
#include <Eigen/Core>

#include "core/backends/cpu/kernels.h"

namespace headlight::kernels {
namespace {

auto cells(const float* x, std::int64_t n) { return Eigen::Map<const Eigen::ArrayXf>(x, n); }
auto cells(float* x, std::int64_t n) { return Eigen::Map<Eigen::ArrayXf>(x, n); }

template <class Gradient>
void send(Into into, std::int64_t n, const Gradient& gradient) {
  if (into.adds)
    cells(into.cells, n) += gradient;
  else
    cells(into.cells, n) = gradient;
}

}  // namespace

void add(const float* a, const float* b, float* y, std::int64_t n) {
  cells(y, n) = cells(a, n) + cells(b, n);
}

void scale(const float* x, float factor, float* y, std::int64_t n) {
  cells(y, n) = cells(x, n) * factor;
}

void multiply_cells(const float* a, const float* b, float* y, std::int64_t n) {
  cells(y, n) = cells(a, n) * cells(b, n);
}

void multiply_backward(const float* d, const float* factor, Into into, std::int64_t n) {
  send(into, n, cells(d, n) * cells(factor, n));
}

void relu_backward(const float* x, const float* d, Into into, std::int64_t n) {
  const auto slopes = cells(x, n), gradients = cells(d, n);
  send(into, n, (slopes > 0.0f).select(gradients, 0.0f));
}

}  // namespace headlight::kernels
