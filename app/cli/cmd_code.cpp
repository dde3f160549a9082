// headlight code: a step as NumPy or PyTorch.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/cli/cli.h"
#include "core/explain/step_code.h"

namespace headlight {
namespace {

struct CodeOptions {
  ModelOptions model;
  std::string step, library = "numpy";
  bool json = false;
};

nlohmann::ordered_json code_json(const StepCode& code) {
  nlohmann::ordered_json results = nlohmann::ordered_json::object();
  for (const StepCode::Result& r : code.results) results[r.variable] = r.tensor;
  return {{"code", code.text}, {"results", results}};
}

// Every step of the model, or the one asked for.
int run_code(const CodeOptions& o) {
  const auto trace = run_or_throw(o.model, o.model.document(), o.step.starts_with("d."));
  const Program& program = trace->program();
  const int asked = o.step.empty() ? -1 : program.step_of(program.require(o.step));
  auto list = nlohmann::ordered_json::array();
  const CodeLibrary library = o.library == "torch" ? CodeLibrary::kTorch : CodeLibrary::kNumpy;
  for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
    if (asked >= 0 && i != asked) continue;
    const StepCode code = step_code(*trace, program.steps[static_cast<std::size_t>(i)], library);
    if (o.json) {
      list.push_back(code_json(code));
    } else {
      std::printf("%s%s", i > 0 && asked < 0 ? "\n" : "", code.text.c_str());
    }
  }
  if (o.json) std::printf("%s\n", list.dump(1).c_str());
  return 0;
}

}  // namespace

void add_code_command(CLI::App& app, Run& run) {
  auto options = std::make_shared<CodeOptions>();
  CLI::App* sub = app.add_subcommand("code", "Writes a step as NumPy or PyTorch");
  options->model.add_to(*sub);
  options->model.add_model_to(*sub);
  sub->add_option("--step", options->step, "Name of the step's tensor (all steps when left out)");
  sub->add_option("--library", options->library, "numpy or torch")
      ->capture_default_str()
      ->check(CLI::IsMember({"numpy", "torch"}));
  sub->add_flag("--json", options->json, "As JSON, with the names of the results");
  sub->callback([options, &run] { run = [options] { return run_code(*options); }; });
}

}  // namespace headlight
