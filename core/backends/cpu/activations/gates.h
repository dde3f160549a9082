// The gates of smooth activation functions by formula, and the slopes of x times the gate. Only
// kernels_*.cpp should include it.
#pragma once

#include "core/backends/cpu/simd.h"

namespace headlight::simd {

/// Φ(x), the normal distribution function, to about 1e-7 of the smaller of Φ(x) and Φ(-x); `bell`
/// is exp(-x²/2), which it is made of.
inline Packet normal_cdf(Packet x, Packet& bell) {
  using namespace packet;
  const Packet z = pmin(pabs(x), all(14.0f));  // Φ(-14) is far below the smallest float
  const Packet half = pmul(z, all(0.5f));
  const Packet square = pmul(z, half);
#ifdef EIGEN_VECTORIZE_FMA
  const Packet low = pnegate(pmadd(z, half, pnegate(square)));  // what `square` lost
#else
  const Packet low = all(0.0f);
#endif
  // Φ(-z) = exp(-z²/2) · t · p(t) with t = 1 / (1 + 0.3 z): the factor beside the exponential is so
  // smooth that ten coefficients fit it on [0, 14] to a relative error of 4e-9.
  const Packet t = reciprocal(pmadd(z, all(0.3f), all(1.0f)));
  Packet p = all(-0.0206130348f);
  p = pmadd(p, t, all(0.112376891f));
  p = pmadd(p, t, all(-0.228070119f));
  p = pmadd(p, t, all(0.191585144f));
  p = pmadd(p, t, all(-0.0792501807f));
  p = pmadd(p, t, all(0.0960593338f));
  p = pmadd(p, t, all(0.0784250688f));
  p = pmadd(p, t, all(0.110227431f));
  p = pmadd(p, t, all(0.119572829f));
  p = pmadd(p, t, all(0.119686635f));
  bell = exp(pnegate(square), low);
  const Packet tail = pmul(pmul(t, p), bell);
  return pselect(pcmp_lt(x, all(0.0f)), tail, psub(all(1.0f), tail));
}

/// ½ (1 + tanh(√(2/π) (x + 0.044715 x³))), as 1 / (1 + exp(-2u)): no cancellation for negative x.
inline Packet gelu_tanh_gate(Packet x) {
  using namespace packet;
  const Packet cube = pmul(pmul(x, x), x);
  const Packet u = pmadd(cube, all(0.044715f), x);
  return pdiv(all(1.0f), padd(all(1.0f), exp(pmul(u, all(-1.59576912f)))));
}

/// The slope of x · σ(x), from its gate: g + x g (1 − g).
inline Packet silu_slope(Packet x, Packet gate) {
  using namespace packet;
  return pmadd(pmul(x, gate), psub(all(1.0f), gate), gate);
}

/// The slope of x · Φ(x), from what normal_cdf() gave: Φ(x) + x · φ(x).
inline Packet gelu_slope(Packet x, Packet gate, Packet bell) {
  return packet::pmadd(packet::pmul(x, all(0.398942280f)), bell, gate);
}

/// The slope of x · g with the gate g of gelu_tanh_gate(): g + 2 x g (1 − g) u' and
/// u' = √(2/π) (1 + 3 · 0.044715 x²). Far out, where g (1 − g) is nothing, u' could be infinite.
inline Packet gelu_tanh_slope(Packet x, Packet gate) {
  using namespace packet;
  const Packet far = pcmp_lt(all(20.0f), pabs(x));
  const Packet u = pmadd(pmul(x, x), all(0.214071392f), all(1.59576912f));  // 2 u'
  const Packet bend = pmul(pmul(pmul(x, u), gate), psub(all(1.0f), gate));
  return padd(gate, pselect(far, all(0.0f), bend));
}

}  // namespace headlight::simd
