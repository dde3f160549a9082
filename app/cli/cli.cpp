#include "app/cli/cli.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "app/cli/man_page.h"
#include "app/cli/out_of_memory.h"
#include "app/platform/window.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/printable.h"
#include "core/base/thread_pool.h"
#include "core/model/bundled.h"
#include "core/model/model.h"

namespace headlight {

void tell(std::string text) {
  while (text.ends_with(' ')) text.pop_back();  // before a hint that there is not
  std::fprintf(stderr, "headlight: %s\n", printable(text).c_str());
}

std::shared_ptr<const Model> open_model(const std::string& name) {
  std::shared_ptr<const Model> model = load_model(model_ref(name));
  if (const Message note = not_finite_note(*model); !note.empty())
    tell(say(Language::kEnglish, note));
  return model;
}

namespace {

struct WindowCommand {
  ModelOptions model;
  WindowOptions window;
  CLI::Option* file = nullptr;
  std::optional<std::string> theme, lang;
};

// `headlight FILE`, as file managers start it.
std::string session_argument(const std::string& file) {
  if (path_exists(file) || file.ends_with(".json")) return file;
  throw UsageError("'" + file +
                   "' is neither a subcommand nor a session file. `headlight --help` lists the "
                   "subcommands; a new session may be named NAME.headlight.json");
}

int open_window(WindowCommand& command) {
  WindowOptions options = command.window;
  if (options.size) parse_size(*options.size);  // said before a display is looked for
  if (command.theme) options.dark = *command.theme == "dark";
  if (command.lang) options.language = language_from_word(*command.lang);
  if (options.frames == 0) options.folders = user_folders();
  options.limits = command.model.limits();
  options.backend = command.model.window_backend();
  options.compute = command.model.window_compute();
  options.threads = command.model.threads;
  ModelOptions model = command.model;
  if (command.file->count() > 0) {  // an empty name is one, too
    if (model.session) throw UsageError("give a file or --session, not both");
    model.session = session_argument(command.file->results().front());
  }
  if (model.session) {
    options.session_path = *model.session;
    // A session that does not exist yet is where Ctrl+S will save.
    if (!path_exists(*model.session)) model.session.reset();
  }
  Document document = model.document();
  const bool nothing_asked = document == Document{} && options.session_path.empty();
  const std::string& settings = options.folders.settings;
  if (nothing_asked && !settings.empty() && !read_settings(settings).exists) {
    const Language language = options.language.value_or(language_of_machine());
    const FirstWindow first = first_window(first_model(language));
    document = first.document;
    options.look_at = first.look_at;
    options.problem = first.problem;
  }
  const std::string& ref = document.model;
  if (!ref.empty() && ref != kRunRef && !ref.starts_with(kBundledRef))
    document.model = std::filesystem::absolute(document.model).lexically_normal().string();
  return run_window(document, options);
}

}  // namespace

namespace {

// Files that are opened later must not take the place of a stream that was closed: what is said
// would land in them. Opened the wrong way round, so that writing to it still fails.
void occupy_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1) continue;
    (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// What could not be written (a full disk behind `>`) must not look like success.
int finished(int status) {
  if (const int fewer = ThreadPool::refused()) {
    tell("note: the system gave " + count_text(fewer) + (fewer == 1 ? " thread" : " threads") +
         " less than --threads asks for");
  }
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  tell("the output could not be written; is there room where it goes?");
  return 1;
}

// "--text=": an option without its value.
bool lacks_value(std::string_view argument) {
  if (!argument.starts_with("--") || !argument.ends_with('=')) return false;
  const std::string_view name = argument.substr(2, argument.size() - 3);
  return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == name.npos;
}

// In the order of CLI11: from the last one. "--text=" is given on as an option and an empty value,
// since the next argument would be taken for that.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    arguments.emplace_back(argv[i]);
    if (!lacks_value(arguments.back())) continue;
    arguments.back().pop_back();
    arguments.emplace_back();
  }
  std::ranges::reverse(arguments);
  return arguments;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  prepare_for_no_memory();
  occupy_standard_streams();
  // Numbers are read and written with a point, whatever the language of the machine.
  std::setlocale(LC_NUMERIC, "C");
  CLI::App app{"Headlight shows every number of a transformer's attention as you type.",
               "headlight"};
  app.set_version_flag("--version", "headlight " HEADLIGHT_VERSION);
  Run run;
  auto window = std::make_shared<WindowCommand>();
  window->model.add_to(app);
  window->model.add_model_to(app);
  app.add_option("--scale", window->window.scale,
                 "Scale of everything, 1 is 100 % (0: from the screen)")
      ->check(within(0, 4));
  app.add_option("--theme", window->theme, "light or dark")
      ->check(CLI::IsMember({"light", "dark"}));
  app.add_option("--lang", window->lang, "Language of the interface, en or zh")
      ->check(CLI::IsMember({"en", "zh"}));
  window->file = app.add_option("file", "A .headlight.json file to open");
  app.add_option("--frames", window->window.frames,
                 "Closes after N frames and says how long the first one took")
      ->group("");
  app.add_option("--size", window->window.size, "Size of the window, as 1440x900");
  app.require_subcommand(0, 1);
  add_trace_command(app, run);
  add_explain_command(app, run);
  add_lab_command(app, run);
  add_code_command(app, run);
  add_render_command(app, run);
  add_screenshot_command(app, run);
  add_walk_command(app, run);
  add_train_command(app, run);
  add_cost_command(app, run);
  add_info_command(app, run);
  add_convert_command(app, run);
  add_models_command(app, run);
  add_presets_command(app, run);
  add_eval_command(app, run);
  add_generate_command(app, run);
  add_compare_command(app, run);
  add_op_command(app, run);
  add_tokenize_command(app, run);
  add_bench_command(app, run);
  add_tune_command(app, run);
  app.add_subcommand("man", "Prints the manual page, for man(1)")->callback([&app, &run] {
    run = [page = man_page(app, HEADLIGHT_VERSION)] {
      std::fputs(page.c_str(), stdout);
      return 0;
    };
  });
  try {
    app.parse(arguments_of(argc, argv));
    if (!run) run = [window] { return open_window(*window); };
    return finished(run());
  } catch (const CLI::Success& wanted) {  // --help, --version
    return finished(app.exit(wanted));
  } catch (const CLI::ParseError& error) {
    tell(std::string(error.what()) + ". `headlight --help` lists the options");
    return 2;
  } catch (const UsageError& error) {
    tell(error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    tell(kNoMemory);
    return 1;
  } catch (const std::exception& error) {
    tell(error.what());
    return 1;
  }
}

}  // namespace headlight
