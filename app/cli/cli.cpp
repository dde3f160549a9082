#include "app/cli/cli.h"

#include <clocale>
#include <cstdio>
#include <exception>

#include "app/window.h"
#include "core/error.h"

namespace headlight {
namespace {

void say(const std::string& text) { std::fprintf(stderr, "headlight: %s\n", text.c_str()); }

struct WindowCommand {
  ModelOptions model;
  WindowOptions window;
  std::string theme = "light";
};

int open_window(WindowCommand& command) {
  WindowOptions options = command.window;
  parse_size(options.size);  // said before a display is looked for
  options.dark = command.theme == "dark";
  options.limits = command.model.limits();
  options.backend = command.model.backend;
  options.threads = command.model.threads;
  ModelOptions model = command.model;
  if (model.session) {
    options.session_path = *model.session;
    // A session that does not exist yet is where Ctrl+S will save.
    if (!path_exists(*model.session)) model.session.reset();
  }
  return run_window(model.document(), options);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  // Numbers are read and written with a point, whatever the language of the machine.
  std::setlocale(LC_NUMERIC, "C");
  CLI::App app{"Headlight shows every number of a transformer's attention as you type.",
               "headlight"};
  app.set_version_flag("--version", "headlight " HEADLIGHT_VERSION);
  Run run;
  auto window = std::make_shared<WindowCommand>();
  window->model.add_to(app);
  app.add_option("--scale", window->window.scale,
                 "Scale of everything, 1 is 100 % (0: from the screen)")
      ->check(CLI::Range(0.0, 4.0));
  app.add_option("--theme", window->theme, "light or dark")
      ->check(CLI::IsMember({"light", "dark"}));
  app.add_option("--frames", window->window.frames,
                 "Closes after N frames and says how long the first one took")
      ->group("");
  app.add_option("--size", window->window.size, "Size of the window, as 1440x900");
  app.require_subcommand(0, 1);
  add_trace_command(app, run);
  add_explain_command(app, run);
  add_render_command(app, run);
  add_screenshot_command(app, run);
  add_walk_command(app, run);
  add_bench_command(app, run);
  try {
    app.parse(argc, argv);
    if (!run) run = [window] { return open_window(*window); };
    const int status = run();
    // What could not be written (a full disk behind `>`) must not look like success.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw Error("the output could not be written; is there room where it goes?");
    }
    return status;
  } catch (const CLI::Success& wanted) {  // --help, --version
    return app.exit(wanted);
  } catch (const CLI::ParseError& error) {
    say(std::string(error.what()) + ". `headlight --help` lists the options");
    return 2;
  } catch (const UsageError& error) {
    say(error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    say("not enough memory for this; choose a smaller model or a shorter sentence");
    return 1;
  } catch (const std::exception& error) {
    say(error.what());
    return 1;
  }
}

}  // namespace headlight
