// What a program costs before it is run: its parameters by what they are for, the numbers and bytes
// that each step keeps, and the multiplications that it takes. Read from the very program that
// would be built, shapes only, so that it holds for any model.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/program.h"

namespace headlight {

/// Numbers of one kind of parameter, of all layers together.
struct ParameterCost {
  Section section{};
  Stack stack{};
  bool norm = false, bias = false;
  std::string symbol;   // "W_Q"; of biases and norms all of a section: "b_Q, b_K, b_V, b_O"
  double count = 0;     // in all
  double in_layer = 0;  // of those in one layer; 0: it stands outside the layers
};

/// What the steps of one title do in a run, of all layers together. A run keeps all that it makes.
struct StepCost {
  StepRow row;
  Section section{};
  Stack stack{};
  // Makes a number for every pair of tokens: "T²", of an encoder "S²", between both "T S".
  std::string_view pairs = {};
  double numbers = 0, bytes = 0;
  double multiply_adds = 0;  // in products; what each number takes besides is not counted
};

/// Of one operation, all its calls together; by its place in all_ops().
struct OpCost {
  double calls = 0, flops = 0;  // flops: as call_flops() has them
  double backward_calls = 0, backward_flops = 0;
};

struct ProgramCost {
  std::vector<ParameterCost> parameters;
  std::vector<StepCost> steps;
  std::vector<OpCost> operations;
  double parameter_count = 0;
  double input_bytes = 0, activation_bytes = 0;
  double activations = 0;  // numbers
  double pairs = 0;        // of these for every pair of tokens: scores, weights, and between them
  double scores = 0;  // of those in one of the tensors of each attention: heads · T² · layers
  double multiply_adds = 0, backward_multiply_adds = 0;

  double parameter_bytes() const { return sizeof(float) * parameter_count; }
  /// Inputs and activations of one run, as program_memory.h lays them out.
  double arena_bytes() const { return input_bytes + activation_bytes; }
  double run_bytes() const { return parameter_bytes() + arena_bytes(); }
};

/// What a run of build_program(config, shape) costs; with `training`, of
/// build_training_program(config, shape) up to its loss, and its backward pass. Below a
/// millisecond whatever the sizes are, since every layer has the same tensors. Never throws for a
/// valid config: a source or classes that the shape leaves at 0 count nothing.
ProgramCost program_cost(const Config&, const RunShape&, bool training = false);

/// Bytes less that a run of this shape keeps with fused attention than without, whichever it has; 0
/// where its attention cannot be fused.
double fused_saving(const Config&, const RunShape&);

/// The program of a shape that may lack a source or classes, for reading sizes alone.
Program sketch_program(const Config&, const RunShape&, bool training);

/// The same run with so many tokens, of an encoder-decoder in the source; its row keeps its part.
RunShape with_tokens(RunShape, std::int64_t tokens);

/// What a run of a shape needs, in bytes: memory_needed(), or less where it does not keep all.
using MemoryNeeded = double(const Config&, const RunShape&);

/// The most layers with which a run of this shape takes at most so many bytes; 0: not even one.
int most_layers(const Config&, const RunShape&, double bytes, MemoryNeeded& = memory_needed);
/// The same of its tokens.
std::int64_t most_tokens(const Config&, const RunShape&, double bytes,
                         MemoryNeeded& = memory_needed);

/// How long an operation takes on some machine: seconds for a call, and for each of its flops.
struct OpRate {
  double call = 0, flop = 0;
};

/// Seconds that a run takes at these rates (by op, as ProgramCost::operations): the sum of its
/// calls', run one after the other. With `backward` the backward pass as well, each gradient taken
/// to be as slow as the call that it belongs to.
double predicted_seconds(const ProgramCost&, std::span<const OpRate>, bool backward = false);

}  // namespace headlight
