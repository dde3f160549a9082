// headlight render, screenshot and walk: pictures drawn by the window's own code, off screen.
#include <cstdio>
#include <filesystem>

#include "app/cli/cli.h"
#include "app/offscreen.h"
#include "core/error.h"
#include "core/explain.h"
#include "core/io/atomic_file.h"
#include "core/io/png.h"

namespace headlight {
namespace {

struct PictureOptions {
  ModelOptions model;
  std::string out, size = "1280x720", theme = "light", step, at, head, compare, open;
  float scale = 1.0f;

  void add_to(CLI::App& sub) {
    model.add_to(sub);
    sub.add_option("--size", size, "Width x height in pixels")->capture_default_str();
    sub.add_option("--scale", scale, "Scale of everything, 1 is 100 %")
        ->capture_default_str()
        ->check(CLI::Range(0.75, 4.0));
    sub.add_option("--theme", theme, "light or dark")
        ->capture_default_str()
        ->check(CLI::IsMember({"light", "dark"}));
  }
};

ShellOptions shell_options(const ModelOptions& model) {
  ShellOptions options;
  options.limits = model.limits();
  options.threads = model.threads;
  options.backend = model.backend;
  options.background = false;
  return options;
}

void save_png(const std::string& path, int width, int height,
              const std::vector<std::uint8_t>& rgba) {
  write_file_atomic(path, encode_png(width, height, rgba));
}

int head_number(const std::string& text, const Trace& trace) {
  const std::vector<std::int64_t> index = parse_index(text);
  const int heads = trace.config().head_count();
  if (index.size() != 1 || index[0] >= heads) {
    throw UsageError("--head must be from 0 to " + std::to_string(heads - 1) + "; got '" + text +
                     "'");
  }
  return static_cast<int>(index[0]);
}

// Puts the shell where the options say: step, head, cell.
void look_at(Shell& shell, const PictureOptions& o, bool any_head) {
  const auto trace = shell.state().derived.trace;
  if (!trace) {
    // The window shows its empty state; only what asks for a step needs a run.
    if (!o.step.empty() || !o.at.empty() || !o.head.empty())
      throw UsageError(shell.state().derived.problem);
    return;
  }
  if (!o.step.empty()) {
    trace->program().require(o.step);
    shell.push(GoToStep{o.step});
  }
  if (!o.head.empty() && !(any_head && o.head == "all"))
    shell.push(ChooseHead{head_number(o.head, *trace)});
  if (!o.compare.empty()) shell.push(CompareHead{head_number(o.compare, *trace)});
  shell.apply();
  if (o.at.empty()) return;
  const std::string name = o.step.empty() ? shell.state().session.step : o.step;
  const TensorId id = trace->program().require(name);
  shell.push(PickCell{{name, full_index(*trace, id, parse_index(o.at))}});
  shell.apply();
}

int run_screenshot(const PictureOptions& o) {
  const auto [width, height] = parse_size(o.size);
  Shell shell(o.model.document(), shell_options(o.model));
  shell.set_look(o.theme == "dark", o.scale);
  look_at(shell, o, false);
  if (o.open == "model") shell.push(DoCommand{Command::kToggleModel});
  if (o.open == "keys") shell.push(DoCommand{Command::kKeys});
  shell.apply();
  Offscreen screen(shell, width, height);
  save_png(o.out, width, height, screen.picture());
  return 0;
}

int run_render(const PictureOptions& o) {
  const auto [width, height] = parse_size(o.size);
  run_or_throw(o.model, o.model.document());  // every problem is said before anything is drawn
  Shell shell(o.model.document(), shell_options(o.model));
  shell.set_look(o.theme == "dark", o.scale);
  look_at(shell, o, true);
  Offscreen screen(shell, width, height);
  screen.frontend().show_only_stage(o.head == "all");
  save_png(o.out, width, height, screen.picture());
  return 0;
}

int run_walk(const PictureOptions& o) {
  const auto [width, height] = parse_size(o.size);
  std::error_code error;
  std::filesystem::create_directories(o.out, error);
  if (error) throw Error("the folder " + o.out + " could not be made: " + error.message());
  Shell shell(o.model.document(), shell_options(o.model));
  shell.set_look(o.theme == "dark", o.scale);
  const auto trace = shell.state().derived.trace;
  if (!trace) throw UsageError(shell.state().derived.problem);
  Offscreen screen(shell, width, height);
  for (std::size_t i = 0; i < trace->program().steps.size(); ++i) {
    const Step& step = trace->program().steps[i];
    const std::string& name = trace->program().tensors[static_cast<std::size_t>(step.tensor)].name;
    shell.push(GoToStep{name});
    shell.apply();
    char number[32];
    std::snprintf(number, sizeof number, "%03zu_", i + 1);
    const std::string path = (std::filesystem::path(o.out) / (number + name + ".png")).string();
    save_png(path, width, height, screen.picture());
    std::printf("%s\n", path.c_str());
  }
  return 0;
}

}  // namespace

void add_render_command(CLI::App& app, Run& run) {
  auto o = std::make_shared<PictureOptions>();
  CLI::App* sub = app.add_subcommand("render", "Draws one step as a picture");
  o->add_to(*sub);
  sub->add_option("--step", o->step, "Name of the tensor, as blocks.0.attn.pattern")->required();
  sub->add_option("--head", o->head, "Number of the head, or all");
  sub->add_option("--at", o->at, "A cell to light up, as 0,3,1");
  sub->add_option("--out", o->out, "FILE.png")->required();
  sub->callback([o, &run] { run = [o] { return run_render(*o); }; });
}

void add_screenshot_command(CLI::App& app, Run& run) {
  auto o = std::make_shared<PictureOptions>();
  CLI::App* sub = app.add_subcommand("screenshot", "Draws the whole window as a picture");
  o->add_to(*sub);
  sub->add_option("--step", o->step, "Name of the tensor whose step is shown");
  sub->add_option("--head", o->head, "Number of the head");
  sub->add_option("--compare", o->compare, "Number of a second head, to compare with");
  sub->add_option("--at", o->at, "The chosen cell, as 0,3,1");
  sub->add_option("--open", o->open, "What to open: model or keys")
      ->check(CLI::IsMember({"model", "keys"}));
  sub->add_option("--out", o->out, "FILE.png")->required();
  sub->callback([o, &run] { run = [o] { return run_screenshot(*o); }; });
}

void add_walk_command(CLI::App& app, Run& run) {
  auto o = std::make_shared<PictureOptions>();
  o->out = "out";
  CLI::App* sub = app.add_subcommand("walk", "Draws the window at every step, one picture each");
  o->add_to(*sub);
  sub->add_option("--out", o->out, "Folder for the pictures")->capture_default_str();
  sub->callback([o, &run] { run = [o] { return run_walk(*o); }; });
}

}  // namespace headlight
