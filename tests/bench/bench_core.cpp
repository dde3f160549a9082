#include "tests/bench/bench_core.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/backends/backend.h"
#include "core/base/random.h"
#include "tests/bench/eigen_product.h"
#include "tests/bench/median.h"
#include "tests/bench/multiply_add_peak.h"

namespace headlight {
namespace {

// Of a call that is no product: none.
double product_flops(const Program& program, const OpCall& call) {
  const auto axes = [&](TensorId id) -> const std::vector<Axis>& {
    return program.tensors[static_cast<std::size_t>(id)].axes;
  };
  const OpInfo& info = op_info(call.op);
  return info.is_product() ? call_flops(info, axes(call.in[0]), axes(call.out), {}) : 0;
}

// A program with memory of its own: parameters like a model's, and some sentence.
class Loaded {
 public:
  Loaded(const Config& config, const RunShape& shape) : program_(build_program(config, shape)) {
    memory_.resize(program_.tensors.size());
    cells_.resize(program_.tensors.size());
    for (std::size_t id = 0; id < cells_.size(); ++id) {
      const TensorSpec& spec = program_.tensors[id];
      if (spec.kind == TensorKind::kAlias) continue;
      cells_[id].resize(static_cast<std::size_t>(cell_count(spec.axes)), 0.0f);
      if (spec.kind == TensorKind::kParameter) fill_parameter(spec, cells_[id]);
    }
    for (std::size_t id = 0; id < cells_.size(); ++id) {
      const auto source = static_cast<std::size_t>(program_.resolve(static_cast<TensorId>(id)));
      memory_[id] = cells_[source].data();
    }
    FloatBuffer& ids = cells_[static_cast<std::size_t>(program_.token_ids)];
    for (std::size_t t = 0; t < ids.size(); ++t) {
      ids[t] = static_cast<float>(t % static_cast<std::size_t>(shape.vocab));
    }
    if (program_.mask >= 0) fill_mask(config, shape);
  }

  const Program& program() const { return program_; }
  void run(Backend& backend) { run(backend, program_.calls); }
  void run(Backend& backend, std::span<const OpCall> calls) {
    backend.run(program_, calls, memory_);
  }

 private:
  static void fill_parameter(const TensorSpec& spec, FloatBuffer& cells) {
    const std::uint64_t key = hash_text(spec.name);
    const bool table = spec.axes.size() > 1;
    const float spread =
        table ? 1.0f / std::sqrt(static_cast<float>(spec.axes[spec.axes.size() - 2].size)) : 0.1f;
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = spread * bell(key, i);
  }

  void fill_mask(const Config& config, const RunShape& shape) {
    float* mask = cells_[static_cast<std::size_t>(program_.mask)].data();
    const int n = static_cast<int>(shape.positions);
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
          *mask++ = config.mask.allows(i, j) ? 0.0f : -std::numeric_limits<float>::infinity();
        }
      }
    }
  }

  Program program_;
  std::vector<FloatBuffer> cells_;
  std::vector<float*> memory_;
};

// The same product as Eigen's, by the backend: a layer's own, of 2048 tokens and as many features.
class OwnProduct {
 public:
  explicit OwnProduct(Backend& backend)
      : backend_(backend), model_(layer(), {1, EigenProduct::kSize, 2}) {
    const auto& calls = model_.program().calls;
    const auto found = std::ranges::find_if(calls, [&](const OpCall& call) {
      return product_flops(model_.program(), call) == EigenProduct::flops();
    });
    if (found == calls.end()) throw std::logic_error("no product of that size");
    call_ = {found, found + 1};
  }
  void run() { model_.run(backend_, call_); }

 private:
  static Config layer() {
    Config config;
    config.layers = config.heads = 1;
    config.d_model = config.d_hidden = static_cast<int>(EigenProduct::kSize);
    config.mixer = MixerKind::kNone;
    return config;
  }

  Backend& backend_;
  Loaded model_;
  std::span<const OpCall> call_;
};

// They take turns, so that whatever else the machine does slows all alike.
void bench_large(int threads, std::vector<BenchRow>& rows) {
  Config config;
  config.layers = 12;
  config.heads = 12;
  config.d_model = 768;
  config.d_hidden = 3072;
  Loaded model(config, {1, 64, 50});
  EigenProduct product(threads);
  MultiplyAddPeak peak(threads);
  const auto backend = make_cpu_backend(threads);
  OwnProduct own(*backend);
  model.run(*backend);
  own.run();
  product.run();
  peak.run();
  constexpr int kRounds = 7, kRunsPerRound = 3;
  std::vector<double> peak_times, product_times, own_times, model_times;
  for (int round = 0; round < kRounds; ++round) {
    peak_times.push_back(seconds([&] { peak.run(); }));
    product_times.push_back(seconds([&] { product.run(); }));
    own_times.push_back(seconds([&] { own.run(); }));
    for (int i = 0; i < kRunsPerRound; ++i) {
      model_times.push_back(seconds([&] { model.run(*backend); }));
    }
  }
  const double peak_rate = peak.flops() / median(peak_times) * 1e-9;
  const double product_rate = EigenProduct::flops() / median(product_times) * 1e-9;
  const double own_rate = EigenProduct::flops() / median(own_times) * 1e-9;
  const double model_rate = program_flops(model.program()) / median(model_times) * 1e-9;
  const std::string on = " on " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  rows.push_back({"multiply-add peak", peak_rate, "GFLOP/s", 0, "the machine's own limit" + on});
  rows.push_back({"Eigen product 2048 x 2048 x 2048", product_rate, "GFLOP/s", 0, "by Eigen" + on});
  rows.push_back({"", product_rate / peak_rate, "of the peak", 0, ""});
  rows.push_back({"the same product, our own", own_rate, "GFLOP/s", 0, "with bias" + on});
  rows.push_back({"", own_rate / peak_rate, "of the peak", 0.85, "at least"});
  rows.push_back({"12 layers, width 768, 64 tokens", median(model_times) * 1e3, "ms", 0,
                  "one run, every tensor kept," + on});
  rows.push_back({"", model_rate, "GFLOP/s", 0, "products of matrices only are counted"});
  rows.push_back({"", model_rate / peak_rate, "of the peak", 0, ""});
  rows.push_back({"", model_rate / product_rate, "of Eigen's product", 0.5, "at least"});
}

void bench_default(std::vector<BenchRow>& rows) {
  Loaded model(Config{}, {1, 32, 32});
  const auto backend = make_cpu_backend(1);
  model.run(*backend);
  std::vector<double> times;
  for (int i = 0; i < 301; ++i) times.push_back(seconds([&] { model.run(*backend); }));
  rows.push_back({"default model, 32 tokens", median(times) * 1e3, "ms", 0.4,
                  "at most; one run of the program on 1 thread"});
}

}  // namespace

double program_flops(const Program& program) {
  double flops = 0;
  for (const OpCall& call : program.calls) flops += product_flops(program, call);
  return flops;
}

std::vector<BenchRow> bench_core(int threads) {
  std::vector<BenchRow> rows;
  bench_large(threads, rows);
  bench_default(rows);
  return rows;
}

}  // namespace headlight
