// Rotary positions: rows whose pairs of features turn, forwards and, for gradients, back.
#include "core/backends/cpu/kernels.h"
#include "core/backends/cpu/simd.h"

namespace headlight::kernels {
namespace {

using namespace simd;

inline void send(float* cells, bool adds, Packet x, auto extent) {
  store(cells, adds ? packet::padd(load(cells, extent), x) : x, extent);
}

// The two halves of the turning features lie apart: packets of each.
void rotate_halves(const Rotary& m, const float* cosine, const float* sine, const float* x,
                   Into y) {
  for_packets(m.pairs, [&](std::int64_t i, auto extent) {
    const Packet a = load(x + i, extent), b = load(x + m.pairs + i, extent);
    const Packet c = load(cosine + i, extent), positive = load(sine + i, extent);
    const Packet s = m.back ? packet::pnegate(positive) : positive;
    send(y.cells + i, y.adds, pmadd(a, c, packet::pnegate(pmul(b, s))), extent);
    send(y.cells + m.pairs + i, y.adds, pmadd(a, s, pmul(b, c)), extent);
  });
}

void rotate_neighbours(const Rotary& m, const float* cosine, const float* sine, const float* x,
                       Into y) {
  const float direction = m.back ? -1.0f : 1.0f;
  for (std::int64_t i = 0; i < m.pairs; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1], c = cosine[i], s = direction * sine[i];
    float *first = y.cells + 2 * i, *second = first + 1;
    *first = (y.adds ? *first : 0.0f) + (a * c - b * s);
    *second = (y.adds ? *second : 0.0f) + (a * s + b * c);
  }
}

}  // namespace

void rotate_row(const Rotary& m, std::int64_t position, const float* x, Into y) {
  const float *cosine = m.cosine + position * m.pairs, *sine = m.sine + position * m.pairs;
  if (m.interleaved) {
    rotate_neighbours(m, cosine, sine, x, y);
  } else {
    rotate_halves(m, cosine, sine, x, y);
  }
  pass_gradient(x + 2 * m.pairs, y + 2 * m.pairs, m.width - 2 * m.pairs);
}

}  // namespace headlight::kernels
