// headlight models: the trained models that come with the program.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/cli/cli.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/model/bundled.h"
#include "core/model/own_folder.h"
#include "core/train/run_checkpoint.h"

namespace headlight {
namespace {

std::string_view english(std::string_view id) { return tr(Language::kEnglish, id); }

std::int64_t bytes_of(const BundledModel& model) {
  return static_cast<std::int64_t>(model.config.size() + model.weights.size() +
                                   model.tokenizer.size() + model.recipe.size());
}

nlohmann::ordered_json claims_of(const ModelRecipe& recipe) {
  auto list = nlohmann::ordered_json::array();
  for (const HeadClaim& claim : recipe.claims)
    list.push_back({{"sentence", claim.sentence}, {"text", claim_text(Language::kEnglish, claim)}});
  return list;
}

// Under each sentence what heads do on it.
void print_claims(const ModelRecipe& recipe) {
  const std::string* before = nullptr;
  for (const HeadClaim& claim : recipe.claims) {
    if (!before || *before != claim.sentence) std::printf("  On: %s\n", claim.sentence.c_str());
    before = &claim.sentence;
    std::printf("    %s\n", claim_text(Language::kEnglish, claim).c_str());
  }
}

void print_json() {
  auto list = nlohmann::ordered_json::array();
  for (const BundledModel& files : bundled_models()) {
    const auto model = load_model(std::string(kBundledRef) + std::string(files.name));
    const ModelRecipe& recipe = bundled_recipe(files.name);
    const ModelWords words = bundled_words(files.name);
    list.push_back({{"name", files.name},
                    {"task", recipe.training.task},
                    {"title", english(words.name)},
                    {"about", english(words.about)},
                    {"look_for", english(words.look)},
                    {"claims", claims_of(recipe)},
                    {"kind", model->file.kind},
                    {"parameters", parameter_count(*model)},
                    {"bytes", bytes_of(files)},
                    {"layers", model->file.config.layers},
                    {"heads", model->file.config.head_count()},
                    {"d_model", model->file.config.d_model},
                    {"context", model->file.context},
                    {"vocab", model->file.vocab},
                    {"score", recipe.score},
                    {"example", recipe.example}});
  }
  std::printf("%s\n", list.dump(2).c_str());
}

void print_list() {
  for (const BundledModel& files : bundled_models()) {
    const auto model = load_model(std::string(kBundledRef) + std::string(files.name));
    const ModelRecipe& recipe = bundled_recipe(files.name);
    const ModelWords words = bundled_words(files.name);
    const Config& c = model->file.config;
    std::printf("%s: %s\n", std::string(files.name).c_str(),
                std::string(english(words.name)).c_str());
    const std::optional<RunText>& text = recipe.training.text;
    const std::string learned = text ? "text " + text->file : "task " + recipe.training.task;
    const std::string heads = c.attends() ? std::to_string(c.head_count()) + " heads, " : "";
    std::printf("  %s, %s parameters, %s; %d layer%s, %sd_model %d, context %lld\n",
                learned.c_str(), count_text(parameter_count(*model)).c_str(),
                bytes_text(static_cast<double>(bytes_of(files))).c_str(), c.layers,
                c.layers == 1 ? "" : "s", heads.c_str(), c.d_model,
                static_cast<long long>(model->file.context));
    std::printf("  at least %s %% of %s are right\n", number_text(100 * recipe.score, 4).c_str(),
                text ? "the tokens of its validation text" : "its answers on fresh examples");
    std::printf("  %s\n", std::string(english(words.about)).c_str());
    std::printf("  Look for: %s\n", std::string(english(words.look)).c_str());
    std::printf("  Try: %s\n", recipe.example.c_str());
    print_claims(recipe);
    std::printf("\n");
  }
}

struct ModelsOptions {
  bool json = false;
  std::string model, half;
};

// A copy of a model in half the bytes, to be passed on: the run that made it stays where it is.
void store_half(const ModelsOptions& o) {
  if (o.model.empty()) throw UsageError("--half needs --model: which one is to be copied");
  if (o.half.empty()) throw UsageError("--model needs --half: the folder for the copy");
  std::error_code ignored;
  if (std::filesystem::equivalent(o.model, o.half, ignored))
    throw UsageError("--half must name another folder than --model");
  expect_no_run(o.half);
  checkpoint_of(*load_model(model_ref(o.model))).save(o.half, FloatStorage::kFloat16);
}

}  // namespace

void add_models_command(CLI::App& app, Run& run) {
  auto o = std::make_shared<ModelsOptions>();
  CLI::App* sub = app.add_subcommand("models", "Lists the trained models that come with Headlight");
  sub->add_flag("--json", o->json, "As JSON");
  sub->add_option("--model", o->model, "--half: a model's folder, or a name of the list");
  sub->add_option("--half", o->half,
                  "Folder for a copy of --model whose weights are rounded to float16");
  sub->callback([o, &run] {
    run = [o] {
      if (!o->half.empty() || !o->model.empty())
        store_half(*o);
      else
        o->json ? print_json() : print_list();
      return 0;
    };
  });
}

}  // namespace headlight
