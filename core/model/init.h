// Initial weights by a seed: what training starts from. (The sandbox draws its own, wider, so that
// an untrained model has something to show.)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/program.h"

namespace headlight {

enum class Init { kNormal, kGlorot, kKaiming };
/// "normal", "glorot", "kaiming"
std::span<const Choice<Init>> choices(Init);

/// How many cells of the input make one cell of the output, and the other way round.
struct Fans {
  std::int64_t in = 0, out = 0;
};
/// Of the matrix that x is multiplied by, all heads together: W_Q, W_K, W_V (head, d_model, d_head)
/// are d_model → head · d_head, W_O (head, d_head, d_model) is head · d_head → d_model, and
/// others (a, b) are a → b. The vector of additive scores (head, d_head) is d_head → 1. Tables that
/// rows are taken from, W_E and W_pos (rows, d_model), have the fans that PyTorch's init functions
/// give an embedding's weight: in d_model, out rows.
Fans fans(const TensorSpec&);

/// Fills `out`, which has the parameter's cells in row-major order. Biases are 0, norms 1 and 0,
/// and matrices
///
///   normal   normal, mean 0, deviation 0.02 (Radford et al. 2018)
///   glorot   uniform in ±√(6 / (fan in + fan out)) (Glorot and Bengio 2010, equation 16)
///   kaiming  uniform in ±√(6 / fan in) (He et al. 2015, equation 10)
///
/// Each parameter draws from a stream of its own, made from the seed and its name: another layer
/// more changes no other weight.
void initialise(const TensorSpec&, Init, std::uint64_t seed, std::span<float> out);

/// Every parameter of a program, in the program's order, by its name there.
std::vector<Tensor> initial_parameters(const Program&, Init, std::uint64_t seed);

}  // namespace headlight
