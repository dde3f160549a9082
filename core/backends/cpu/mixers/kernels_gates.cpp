#include "core/backends/cpu/mixers/kernels_gates.h"

#include "core/backends/cpu/simd.h"

namespace headlight::kernels {
namespace {

using namespace simd;

struct Gates {
  Packet reset, update, past, candidate;
};

template <class Extent>
Gates gates_at(const GruRow& row, std::int64_t j, Extent extent) {
  const auto sum = [&](std::int64_t gate) {
    const std::int64_t i = gate * row.n + j;
    return packet::padd(load(row.a + i, extent), load(row.h + i, extent));
  };
  Gates g;
  g.reset = silu_gate(sum(0));  // the logistic function
  g.update = silu_gate(sum(1));
  g.past = load(row.h + 2 * row.n + j, extent);
  g.candidate = whole_tanh(pmadd(g.reset, g.past, load(row.a + 2 * row.n + j, extent)));
  return g;
}

template <class Extent>
Packet past_at(const GruRow& row, std::int64_t j, Extent extent) {
  return row.past ? load(row.past + j, extent) : all(0.0f);
}

}  // namespace

void tanh_row(float* x, std::int64_t n) {
  for_packets(n, [&](std::int64_t i, auto extent) {
    store(x + i, whole_tanh(load(x + i, extent)), extent);
  });
}

void tanh_slope_row(const float* s, const float* g, float* d, std::int64_t n) {
  for_packets(n, [&](std::int64_t i, auto extent) {
    const Packet y = load(s + i, extent);
    store(d + i, pmul(load(g + i, extent), psub(all(1.0f), pmul(y, y))), extent);
  });
}

// (1 − z) · n + z · s = n + z · (s − n)
void gru_row(const GruRow& row, float* state) {
  for_packets(row.n, [&](std::int64_t j, auto extent) {
    const Gates g = gates_at(row, j, extent);
    const Packet past = past_at(row, j, extent);
    store(state + j, pmadd(g.update, psub(past, g.candidate), g.candidate), extent);
  });
}

void gru_row_backward(const GruRow& row, const float* g, float* d_a, float* d_h, float* kept) {
  const std::int64_t n = row.n;
  for_packets(n, [&](std::int64_t j, auto extent) {
    const Gates gates = gates_at(row, j, extent);
    const Packet one = all(1.0f), d = load(g + j, extent), past = past_at(row, j, extent);
    const Packet stays = psub(one, gates.update);
    const Packet candidate =
        pmul(pmul(d, stays), psub(one, pmul(gates.candidate, gates.candidate)));
    const Packet reset =
        pmul(pmul(candidate, gates.past), pmul(gates.reset, psub(one, gates.reset)));
    const Packet update = pmul(pmul(d, psub(past, gates.candidate)), pmul(gates.update, stays));
    store(d_a + j, reset, extent);
    store(d_a + n + j, update, extent);
    store(d_a + 2 * n + j, candidate, extent);
    store(d_h + j, reset, extent);
    store(d_h + n + j, update, extent);
    store(d_h + 2 * n + j, pmul(candidate, gates.reset), extent);
    store(kept + j, pmul(d, gates.update), extent);
  });
}

}  // namespace headlight::kernels
