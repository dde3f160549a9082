// Speed of the core, measured: printed by `headlight bench`, and asked of by a test.
#pragma once

#include <string>
#include <vector>

#include "core/graph/program.h"

namespace headlight {

struct BenchRow {
  std::string what;
  double value = 0;
  std::string unit;
  double asked = 0;  // the value aimed at; 0: only for information
  std::string note;
};

/// Floating-point operations of a program's products of matrices: 2 for each term summed.
double program_flops(const Program&);

/// Times the cpu backend: a large model on `threads` threads beside the machine's multiply-add peak
/// and a large Eigen product on the same threads, and the default model on one thread. Takes some
/// seconds and half a gigabyte.
std::vector<BenchRow> bench_core(int threads);

}  // namespace headlight
