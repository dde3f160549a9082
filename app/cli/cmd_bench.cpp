// headlight bench: the figures, as a table, each beside the machine's own limit in the same run.
#include <cstdio>

#include "app/cli/cli.h"
#include "tests/bench/bench_app.h"
#include "tests/bench/bench_core.h"

namespace headlight {
namespace {

void print_rows(const std::vector<BenchRow>& rows) {
  for (const BenchRow& row : rows) {
    std::printf("%-58s %10.3f %-8s", row.what.c_str(), row.value, row.unit.c_str());
    if (row.asked > 0) std::printf(" asked %g", row.asked);
    if (!row.note.empty()) std::printf("  (%s)", row.note.c_str());
    std::printf("\n");
  }
}

}  // namespace

void add_bench_command(CLI::App& app, Run& run) {
  auto threads = std::make_shared<int>(2);
  CLI::App* sub = app.add_subcommand("bench", "Measures speed and prints it as a table");
  sub->add_option("--threads", *threads, "Threads of the eigen backend")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  sub->callback([threads, &run] {
    run = [threads] {
      print_rows(bench_app(*threads));
      print_rows(bench_core(*threads));
      return 0;
    };
  });
}

}  // namespace headlight
