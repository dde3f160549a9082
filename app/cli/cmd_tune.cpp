// headlight tune: finds the sizes of work groups with which this graphics card is fastest.
#include <cstdio>

#include "app/cli/cli.h"
#include "app/cli/named_backend.h"
#include "app/gl/tuning/self_test.h"
#include "app/gl/tuning/tune.h"
#include "core/base/error.h"

namespace headlight {
namespace {

struct TuneOptions {
  bool list = false, forget = false;
  std::string only;
};

std::vector<std::string> part_names() {
  std::vector<std::string> names;
  for (const TunePart part : kTuneParts) names.emplace_back(tune_part_name(part));
  return names;
}

void print_device(const GlDevice& device) {
  std::printf("%s, OpenGL %s\n", device.renderer.c_str(), device.version.c_str());
}

void print_table(const KernelTable& table, const GlDevice& device) {
  const KernelTable usual = KernelTable::of(device);
  for (const TunePart part : kTuneParts) {
    const std::string words = tune_words(part, table);
    std::printf("%-11s %s%s\n", std::string(tune_part_name(part)).c_str(), words.c_str(),
                words == tune_words(part, usual) ? "" : "  (tuned)");
  }
}

void print_trial(const TuneTrial& trial) {
  const std::string part(tune_part_name(trial.part)), words = tune_words(trial.part, trial.table);
  if (!trial.problem.empty()) {
    std::printf("%-11s %-68s left out: %s\n", part.c_str(), words.c_str(), trial.problem.c_str());
  } else {
    std::printf("%-11s %-68s %10.3f ms %6.2f x%s\n", part.c_str(), words.c_str(),
                trial.milliseconds, trial.speed,
                trial.is_start   ? "  as it was"
                : trial.is_taken ? "  measured again: taken"
                                 : "");
  }
  std::fflush(stdout);
}

int list_table(const GlBackend& gl, const std::filesystem::path& folder) {
  print_device(gl.device());
  print_table(gl.kernel_table(), gl.device());
  const TunedTable tuned = read_tuned(folder, gl.device());
  if (!tuned.problem.empty()) {
    std::printf("the usual sizes are in use\n");  // why has been said by a note
  } else if (tuned.table) {
    std::printf("kept in %s\n", tuned_file(folder, gl.device()).c_str());
  } else {
    std::printf("nothing is kept for this device; `headlight tune` measures it\n");
  }
  return 0;
}

int forget_table(const GlBackend& gl, const std::filesystem::path& folder) {
  const std::string& device = gl.device().renderer;
  if (forget_tuned(folder, gl.device())) {
    std::printf("what was kept for %s is deleted; the usual sizes are used\n", device.c_str());
  } else {
    std::printf("nothing was kept for %s\n", device.c_str());
  }
  return 0;
}

int run_tune(const TuneOptions& o) {
  if (o.list && o.forget) throw UsageError("give --list or --forget, not both");
  GlBackendOptions options;
  const std::filesystem::path folder = options.tuned_folder;
  if (folder.empty() && !o.list)
    throw Error("there is no folder to keep anything in; set XDG_CACHE_HOME or HOME to one");
  const NamedBackend backend("gl", 1, options);
  GlBackend& gl = *backend.gl();
  if (o.list) return list_table(gl, folder);
  if (o.forget) return forget_table(gl, folder);
  if (read_tuned(folder, gl.device()).is_newer)
    throw Error("what is kept for this graphics card stays as it is, so nothing was measured");
  // A part alone is tuned beside what is kept of the others.
  const KernelTable start = o.only.empty() ? KernelTable::of(gl.device()) : gl.kernel_table();
  std::vector<TunePart> parts;
  for (const TunePart part : kTuneParts) {
    if (o.only.empty() || o.only == tune_part_name(part)) parts.push_back(part);
  }
  print_device(gl.device());
  const bool hardware = !is_software_renderer(gl.device().renderer);
  if (!hardware) std::printf("a software renderer: this takes about a minute\n");
  std::fflush(stdout);
  options.table =
      tune(options, start, parts, hardware ? TuneTime{} : TuneTime{0.05, 60}, print_trial);
  GlBackend tuned(options);
  if (!self_test(tuned).passed || !test_training(tuned).empty())
    throw Error(
        "with the fastest sizes not every operation or training is right, so nothing was kept; "
        "`headlight tune --only PART` tunes one part alone");
  keep_tuned(folder, gl.device(), *options.table);
  std::printf("\n");
  print_table(*options.table, gl.device());
  std::printf("kept in %s\n", tuned_file(folder, gl.device()).c_str());
  return 0;
}

}  // namespace

void add_tune_command(CLI::App& app, Run& run) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* sub = app.add_subcommand(
      "tune", "Finds and keeps the sizes of work groups with which the graphics card is fastest");
  sub->add_flag("--list", options->list, "Prints the sizes that are in use, and measures nothing");
  sub->add_flag("--forget", options->forget, "Deletes what is kept for this graphics card");
  sub->add_option("--only", options->only, "Only this part of them")
      ->check(CLI::IsMember(part_names()));
  sub->callback([options, &run] { run = [options] { return run_tune(*options); }; });
}

}  // namespace headlight
