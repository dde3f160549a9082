// Each operation of a program on its own, reference beside Eigen: `ninja bench_ops && ./bench_ops`.
#include <benchmark/benchmark.h>

#include <map>
#include <string>

#include "core/backends/backend.h"
#include "core/base/random.h"

namespace headlight {
namespace {

// A program with memory of its own, filled with random numbers.
struct Bench {
  Program program;
  std::vector<FloatBuffer> buffers;
  std::vector<float*> memory;

  Bench() {
    Config config;
    config.layers = 1;
    config.d_model = 256;
    program = build_program(config, {1, 128, 100});
    for (std::size_t id = 0; id < program.tensors.size(); ++id) {
      FloatBuffer cells(static_cast<std::size_t>(cell_count(program.tensors[id].axes)));
      for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = bell(id, i);
      if (static_cast<TensorId>(id) == program.token_ids ||
          static_cast<TensorId>(id) == program.mask) {
        std::fill(cells.begin(), cells.end(), 0.0f);
      }
      buffers.push_back(std::move(cells));
    }
    for (std::size_t id = 0; id < program.tensors.size(); ++id) {
      memory.push_back(
          buffers[static_cast<std::size_t>(program.resolve(static_cast<TensorId>(id)))].data());
    }
  }
};

void run_call(benchmark::State& state, const Bench& bench, std::size_t call,
              const char* backend_name) {
  const auto backend = make_backend(backend_name, 1);
  const std::span<const OpCall> calls(&bench.program.calls[call], 1);
  for (auto _ : state) {
    backend->run(bench.program, calls, bench.memory);
    benchmark::ClobberMemory();
  }
}

}  // namespace
}  // namespace headlight

int main(int argc, char** argv) {
  const headlight::Bench bench;
  for (std::size_t call = 0; call < bench.program.calls.size(); ++call) {
    const auto& made = bench.program.calls[call];
    for (const char* backend : {"reference", "cpu"}) {
      const std::string name = std::string(headlight::op_info(made.op).id) + "/" +
                               bench.program.tensors[static_cast<std::size_t>(made.out)].name +
                               "/" + backend;
      benchmark::RegisterBenchmark(name.c_str(), [&bench, call, backend](benchmark::State& state) {
        headlight::run_call(state, bench, call, backend);
      })->Unit(benchmark::kMicrosecond);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
