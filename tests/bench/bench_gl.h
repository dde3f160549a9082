// Speed of the graphics card's kernels, each beside the device's own limit: printed by
// `headlight bench gl`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/gl/tuning/measure.h"

namespace headlight {

struct GlBenchRow {
  std::string kernel, shape;
  double milliseconds = 0;
  bool is_product = false;  // counted in operations, else in bytes
  double rate = 0;          // 10⁹ operations or bytes a second
  double share = 0;         // of the device's limit, 1: as fast as it goes
  double asked = 0;         // the least share aimed at; 0: only for information
};

struct GlBench {
  std::string device, version;
  bool hardware = false;
  GlRates measured, limits;  // limits: what was stated, else what was measured
  std::vector<GlBenchRow> rows;
};

/// The operations of its table, by OpInfo::id, and "attention", that of training as one kernel.
std::vector<std::string> gl_bench_ops();

/// `only`: of one operation, empty: of all. `stated`: what the device is said to do, 0 where
/// nothing is said. `begin` is called when the limits are known, `row` with each row as it is
/// measured. Shapes are smaller on a software renderer, where it takes half a minute.
GlBench bench_gl(GlBackend&, const std::string& only, const GlRates& stated,
                 const std::function<void(const GlBench&)>& begin,
                 const std::function<void(const GlBenchRow&)>& row);

std::string head_line(const GlBench&);
std::string table_line(const GlBenchRow&);
std::string gl_bench_json(const GlBench&);

}  // namespace headlight
