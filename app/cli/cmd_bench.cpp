// headlight bench: the figures, as a table, each beside the machine's own limit in the same run.
#include <charconv>
#include <cmath>
#include <cstdio>

#include "app/cli/cli.h"
#include "app/cli/named_backend.h"
#include "core/io/atomic_file.h"
#include "tests/bench/bench_app.h"
#include "tests/bench/bench_core.h"
#include "tests/bench/bench_folder.h"
#include "tests/bench/bench_gl.h"
#include "tests/bench/bench_memory.h"
#include "tests/bench/bench_sparse.h"
#include "tests/bench/bench_switch.h"
#include "tests/bench/bench_train.h"

namespace headlight {
namespace {

void print_row(const BenchRow& row) {
  std::printf("%-58s %10.3f %-8s", row.what.c_str(), row.value, row.unit.c_str());
  if (row.asked > 0) std::printf(" asked %g", row.asked);
  if (!row.note.empty()) std::printf("  (%s)", row.note.c_str());
  std::printf("\n");
  std::fflush(stdout);
}

void print_rows(const std::vector<BenchRow>& rows) {
  for (const BenchRow& row : rows) print_row(row);
}

void add_threads(CLI::App& sub, int& threads, const char* help) {
  sub.add_option("--threads", threads, help)->capture_default_str()->check(CLI::Range(1, 256));
}

// bench train, bench forward
void add_pass(CLI::App& bench, const char* name, const char* help, BenchPass pass, Run& run) {
  struct Chosen {
    int threads = 2, rounds = 11;
    std::string only;
    bool json = false;
  };
  auto chosen = std::make_shared<Chosen>();
  CLI::App* sub = bench.add_subcommand(name, help);
  add_threads(*sub, chosen->threads, "Threads, for training and for the product beside it");
  sub->add_option("--model", chosen->only, "Only this one")->check(CLI::IsMember(bench_models()));
  sub->add_option("--rounds", chosen->rounds, "Turns of each, of which the median is shown")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  sub->add_flag("--json", chosen->json, "Print as JSON");
  sub->callback([chosen, pass, &run] {
    run = [chosen, pass] {
      const auto rates = bench_train(pass, chosen->threads, chosen->rounds, chosen->only);
      const auto write = chosen->json ? as_json : as_table;
      std::fputs(write(pass, chosen->threads, rates).c_str(), stdout);
      return 0;
    };
  });
}

void add_memory(CLI::App& bench, Run& run) {
  struct Chosen {
    int threads = 2, rounds = 11;
  };
  auto chosen = std::make_shared<Chosen>();
  CLI::App* sub = bench.add_subcommand(
      "memory",
      "Gradient checkpointing and 16-bit storage: what they save of memory and cost of time");
  add_threads(*sub, chosen->threads, "Threads, for training");
  sub->add_option("--rounds", chosen->rounds, "Steps of each, of which the median is shown")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  sub->callback([chosen, &run] {
    run = [chosen] {
      print_rows(bench_memory(chosen->threads, chosen->rounds));
      return 0;
    };
  });
}

void add_folder(CLI::App& bench, Run& run) {
  struct Chosen {
    std::string folder;
    int tokens = 64, threads = 2, rounds = 11;
  };
  auto chosen = std::make_shared<Chosen>();
  CLI::App* sub = bench.add_subcommand(
      "folder", "A model's folder: opening it, a run with all numbers, one more token");
  sub->add_option("folder", chosen->folder, "The model's folder")->required();
  sub->add_option("--tokens", chosen->tokens, "Tokens of the run")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  add_threads(*sub, chosen->threads, "Threads of the cpu backend");
  sub->add_option("--rounds", chosen->rounds, "Turns of each, of which the median is shown")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  sub->callback([chosen, &run] {
    run = [chosen] {
      print_rows(
          bench_folder(model_ref(chosen->folder), chosen->tokens, chosen->threads, chosen->rounds));
      return 0;
    };
  });
}

void print_now(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

// What CLI11 says itself of numbers above 0 has the largest double in it, with all its digits.
const CLI::Validator kAboveZero(
    [](const std::string& text) {
      double value = 0;
      const char* end = text.data() + text.size();
      const auto read = std::from_chars(text.data(), end, value);
      const bool fits = read.ec == std::errc() && read.ptr == end && std::isfinite(value);
      return fits && value > 0 ? "" : "must be a number above 0; got '" + text + "'";
    },
    "ABOVE 0");

void add_gl(CLI::App& bench, Run& run) {
  struct Chosen {
    std::string json, only;
    GlRates stated;
  };
  auto chosen = std::make_shared<Chosen>();
  CLI::App* sub = bench.add_subcommand(
      "gl", "The graphics card's kernels, each beside what the card can do at all");
  sub->add_option("--json", chosen->json, "Also writes the figures to this file, as JSON");
  sub->add_option("--only", chosen->only, "Only this operation, forward and backward")
      ->check(CLI::IsMember(gl_bench_ops()));
  sub->add_option("--rate", chosen->stated.multiply_adds,
                  "What the card is said to compute, in GFLOP/s; else a plain kernel measures it")
      ->check(kAboveZero);
  sub->add_option("--bandwidth", chosen->stated.copies,
                  "What the card is said to read and write, in GB/s; else a plain copy measures it")
      ->check(kAboveZero);
  sub->callback([chosen, &run] {
    run = [chosen] {
      const NamedBackend backend("gl", 1);
      const GlBench figures = bench_gl(
          *backend.gl(), chosen->only, chosen->stated,
          [](const GlBench& b) { print_now(head_line(b)); },
          [](const GlBenchRow& row) { print_now(table_line(row)); });
      if (!chosen->json.empty()) write_file_atomic(chosen->json, gl_bench_json(figures));
      return 0;
    };
  });
}

void add_switch(CLI::App& bench, Run& run) {
  struct Chosen {
    int threads = 2;
    SwitchModel model;
  };
  auto chosen = std::make_shared<Chosen>();
  CLI::App* sub = bench.add_subcommand(
      "switch", "What choosing the processor or the graphics card takes, with a large model");
  add_threads(*sub, chosen->threads, "Threads of the processor");
  const auto add = [&](const char* name, int& value, int most, const char* help) {
    sub->add_option(name, value, help)->capture_default_str()->check(CLI::Range(1, most));
  };
  add("--layers", chosen->model.layers, 48, "Layers of the model");
  add("--d-model", chosen->model.d_model, 4096, "Its width");
  add("--heads", chosen->model.heads, 64, "Its heads");
  add("--tokens", chosen->model.tokens, 1024, "Tokens of the sentence");
  sub->callback([chosen, &run] {
    run = [chosen] {
      bench_switch(chosen->model, chosen->threads, print_row);
      return 0;
    };
  });
}

}  // namespace

void add_bench_command(CLI::App& app, Run& run) {
  auto threads = std::make_shared<int>(2);
  CLI::App* sub = app.add_subcommand("bench", "Measures speed and prints it as a table");
  add_threads(*sub, *threads, "Threads of the cpu backend");
  sub->require_subcommand(0, 1);
  add_pass(*sub, "train", "Training steps of three models: forward, backward, update",
           BenchPass::kTrain, run);
  add_pass(*sub, "forward", "The same models forward only", BenchPass::kForward, run);
  add_memory(*sub, run);
  add_folder(*sub, run);
  add_gl(*sub, run);
  add_switch(*sub, run);
  sub->callback([sub, threads, &run] {
    if (!sub->get_subcommands().empty()) return;  // which has set `run` itself
    run = [threads] {
      print_rows(bench_app(*threads));
      print_rows(bench_core(*threads));
      print_rows(bench_sparse());
      return 0;
    };
  });
}

}  // namespace headlight
