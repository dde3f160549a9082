// GELU, its tanh form and SiLU: x times a gate that rises from 0 to 1.
#include "core/backends/cpu/activations/gate_table.h"
#include "core/backends/cpu/activations/gates.h"
#include "core/backends/cpu/kernels.h"

namespace headlight::kernels {
namespace {

using namespace simd;

/// A gate at some x, and the slope of x times the gate.
struct Gate {
  Packet gate, slope;
};

/// The normal distribution function.
struct NormalGate {
  static Gate by_formula(Packet x) {
    Packet bell;
    const Packet gate = normal_cdf(x, bell);
    return {gate, gelu_slope(x, gate, bell)};
  }
  static double gate(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
  static double slope(double x) {
    return std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  }
  [[maybe_unused]] static constexpr int kPerUnit = 8;
};

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double logistic_slope(double x) { return logistic(x) * logistic(-x); }

/// ½ (1 + tanh(√(2/π) (x + 0.044715 x³)))
struct TanhGate {
  static Gate by_formula(Packet x) {
    const Packet gate = gelu_tanh_gate(x);
    return {gate, gelu_tanh_slope(x, gate)};
  }
  static constexpr double kBend = 0.044715, kSteep = 1.5957691216057308;  // √(8/π)
  static double bent(double x) { return kSteep * (x + kBend * x * x * x); }
  static double gate(double x) { return logistic(bent(x)); }
  static double slope(double x) {
    return logistic_slope(bent(x)) * kSteep * (1 + 3 * kBend * x * x);
  }
  [[maybe_unused]] static constexpr int kPerUnit = 8;
};

struct LogisticGate {
  static Gate by_formula(Packet x) {
    const Packet gate = silu_gate(x);
    return {gate, silu_slope(x, gate)};
  }
  static double gate(double x) { return logistic(x); }
  static double slope(double x) { return logistic_slope(x); }
  [[maybe_unused]] static constexpr int kPerUnit = 2;
};

#ifdef EIGEN_VECTORIZE_AVX512

/// Gates of x by table; by formula those of the few numbers far from 0. Which it is depends on the
/// number alone, not on its neighbours.
template <class Kind>
class Gates {
 public:
  Packet gate(Packet x) const {
    const auto place = Table::find(x);
    const Packet near = Table::gate(x, gates_.at(place));
    if (place.all_near()) [[likely]]
      return near;
    return _mm512_mask_mov_ps(near, place.far, Kind::by_formula(x).gate);
  }
  Gate with_slope(Packet x) const {
    const auto place = Table::find(x);
    Gate near;
    near.gate = Table::gate(x, gates_.at(place));
    near.slope = pmadd(x, slopes_.at(place), near.gate);
    if (place.all_near()) [[likely]]
      return near;
    const Gate far = Kind::by_formula(x);
    return {_mm512_mask_mov_ps(near.gate, place.far, far.gate),
            _mm512_mask_mov_ps(near.slope, place.far, far.slope)};
  }

 private:
  using Table = GateTable<Kind::kPerUnit>;
  static const Table& table() {
    static const Table made(Kind::gate, Kind::slope);
    return made;
  }
  const typename Table::Polynomials gates_ = table().gates(), slopes_ = table().slopes();
};

#else

template <class Kind>
struct Gates {
  Packet gate(Packet x) const { return Kind::by_formula(x).gate; }
  Gate with_slope(Packet x) const { return Kind::by_formula(x); }
};

#endif

template <class Kind>
void activate(const float* x, float* y, std::int64_t n) {
  const Gates<Kind> gates;
  for_packets(n, [&](std::int64_t i, auto extent) {
    const Packet cells = load(x + i, extent);
    store(y + i, pmul(cells, gates.gate(cells)), extent);
  });
}

template <class Kind>
void activate_with_slope(float* x, float* y, std::int64_t n) {
  const Gates<Kind> gates;
  for_packets(n, [&](std::int64_t i, auto extent) {
    const Packet cells = load(x + i, extent);
    const Gate found = gates.with_slope(cells);
    store(y + i, pmul(cells, found.gate), extent);
    store(x + i, found.slope, extent);
  });
}

template <class Kind>
void backward(const float* x, const float* d, Into into, std::int64_t n) {
  const Gates<Kind> gates;
  for_packets(n, [&](std::int64_t i, auto extent) {
    const Packet slope = gates.with_slope(load(x + i, extent)).slope;
    const Packet found = pmul(load(d + i, extent), slope);
    float* cells = into.cells + i;
    store(cells, into.adds ? padd(load(cells, extent), found) : found, extent);
  });
}

}  // namespace

void gelu(const float* x, float* y, std::int64_t n) { activate<NormalGate>(x, y, n); }
void gelu_tanh(const float* x, float* y, std::int64_t n) { activate<TanhGate>(x, y, n); }
void silu(const float* x, float* y, std::int64_t n) { activate<LogisticGate>(x, y, n); }

void gelu_with_slope(float* x, float* y, std::int64_t n) {
  activate_with_slope<NormalGate>(x, y, n);
}
void gelu_tanh_with_slope(float* x, float* y, std::int64_t n) {
  activate_with_slope<TanhGate>(x, y, n);
}
void silu_with_slope(float* x, float* y, std::int64_t n) {
  activate_with_slope<LogisticGate>(x, y, n);
}

void gelu_backward(const float* x, const float* d, Into into, std::int64_t n) {
  backward<NormalGate>(x, d, into, n);
}
void gelu_tanh_backward(const float* x, const float* d, Into into, std::int64_t n) {
  backward<TanhGate>(x, d, into, n);
}
void silu_backward(const float* x, const float* d, Into into, std::int64_t n) {
  backward<LogisticGate>(x, d, into, n);
}

}  // namespace headlight::kernels
