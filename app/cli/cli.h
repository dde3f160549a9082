// The command line: `headlight` opens the window, its subcommands work without a display.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/cli/options.h"
#include "app/main.h"

namespace headlight {

/// Says a sentence on stderr, "headlight: …". What a file brought into it does nothing to the
/// terminal (core/base/printable.h).
void tell(std::string text);

/// The model of a folder or of a bundled name. Says which of its weights are no numbers. Throws
/// what load_model() and model_ref() do.
std::shared_ptr<const Model> open_model(const std::string& name);

/// Each adds its subcommand to the app; `run` is set to what has to be done.
using Run = std::function<int()>;
void add_trace_command(CLI::App&, Run& run);
void add_explain_command(CLI::App&, Run& run);
void add_lab_command(CLI::App&, Run& run);
void add_code_command(CLI::App&, Run& run);
void add_render_command(CLI::App&, Run& run);
void add_screenshot_command(CLI::App&, Run& run);
void add_walk_command(CLI::App&, Run& run);
void add_train_command(CLI::App&, Run& run);
void add_cost_command(CLI::App&, Run& run);
void add_convert_command(CLI::App&, Run& run);
void add_info_command(CLI::App&, Run& run);
void add_models_command(CLI::App&, Run& run);
void add_eval_command(CLI::App&, Run& run);
void add_generate_command(CLI::App&, Run& run);
void add_compare_command(CLI::App&, Run& run);
void add_op_command(CLI::App&, Run& run);
void add_presets_command(CLI::App&, Run& run);
void add_tokenize_command(CLI::App&, Run& run);
void add_bench_command(CLI::App&, Run& run);
void add_tune_command(CLI::App&, Run& run);

}  // namespace headlight
