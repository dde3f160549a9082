// headlight info: what a model folder holds, without loading its weights.
#include <array>
#include <cstdio>

#include "app/cli/cli.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/printable.h"
#include "core/model/available_memory.h"
#include "core/model/checkpoint.h"
#include "core/model/folders/folder.h"
#include "core/text/pieces/piece_tokenizer.h"

namespace headlight {
namespace {

struct Part {
  Section section{};
  const char* name = nullptr;
  std::int64_t count = 0;
};

std::array<Part, 6> parts_of(std::span<const TensorSpec> parameters) {
  std::array<Part, 6> parts = {{{Section::kInput, "embeddings"},
                                {Section::kAttention, "attention"},
                                {Section::kCrossAttention, "cross-attention"},
                                {Section::kMixer, "mixer"},
                                {Section::kFeedForward, "feed-forward"},
                                {Section::kPrediction, "head"}}};
  for (const TensorSpec& spec : parameters) {
    for (Part& part : parts)
      if (part.section == spec.place.section) part.count += cell_count(spec.axes);
  }
  return parts;
}

void line(const char* name, const std::string& value) {
  std::printf("%-14s %s\n", name, value.c_str());
}

std::string recipe_text(const ModelFile& file) {
  const Config& c = file.config;
  const std::string layers =
      c.form == ModelForm::kTranslate && c.encoder_layers > 0
          ? std::to_string(c.encoder_layers) + " + " + std::to_string(c.layers)
          : std::to_string(c.layers);
  std::string text =
      std::string(word(c.form)) + ", " + layers + " layers, " + std::to_string(c.heads) + " heads";
  if (c.kv_head_count() != c.head_count())
    text += " (" + std::to_string(c.kv_head_count()) + " of keys and values)";
  text += ", width " + std::to_string(c.d_model) + ", hidden " + std::to_string(c.hidden_width());
  text += ", " + std::string(word(c.block)) + ", " + std::string(word(c.norm)) + " norm, ";
  text += std::string(word(c.activation)) + ", " + std::string(word(c.positions)) + " positions";
  return text;
}

void print_parameters(std::span<const TensorSpec> parameters) {
  std::int64_t all = 0;
  for (const TensorSpec& spec : parameters) all += cell_count(spec.axes);
  line("parameters", count_text(all));
  for (const Part& part : parts_of(parameters)) {
    if (part.count > 0) std::printf("  %-18s %s\n", part.name, count_text(part.count).c_str());
  }
  line("memory", bytes_text(4.0 * static_cast<double>(all)) + " of weights; " +
                     bytes_text(available_memory()) + " can be had");
}

void print_model(const ModelFile& file) {
  line("recipe", recipe_text(file));
  line("vocabulary",
       count_text(file.vocab) +
           (file.source_vocab > 0 ? ", source " + count_text(file.source_vocab) : ""));
  line("context", count_text(file.context));
  if (!file.classes.empty()) line("classes", std::to_string(file.classes.size()));
}

int run_info(const std::string& given) {
  const std::string ref = model_ref(given);
  if (!is_foreign_folder(ref)) {
    const auto model = load_model(ref);
    line("type", "headlight");
    print_model(model->file);
    const std::vector<TensorSpec> parameters = program_parameters(model->file);
    print_parameters(parameters);
    return 0;
  }
  const ModelFolder folder{std::filesystem::path(ref)};
  folder.check();
  line("type", std::string(folder.type().model_type));
  print_model(folder.file());
  print_parameters(folder.parameters());
  line("files", bytes_text(folder.weights().bytes()) + ", " + folder.weights().number_types());
  line("tokenizer", PieceTokenizer::is_in(ref) ? "yes" : "none: ids stand for tokens");
  for (const std::string& rule : folder.unfollowed()) line("not followed", printable(rule));
  const std::vector<std::string> others = folder.unused();
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < std::min(others.size(), kShown); ++i)
    line(i == 0 ? "not read" : "", printable(others[i]));
  if (others.size() > kShown) line("", "and " + std::to_string(others.size() - kShown) + " more");
  return 0;
}

}  // namespace

void add_info_command(CLI::App& app, Run& run) {
  auto model = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand(
      "info",
      "Says what a model's folder holds: type, recipe, parameters, memory, or why it is refused");
  sub->add_option("model", *model, "A model's folder, or a name of `headlight models`")->required();
  sub->callback([model, &run] { run = [model] { return run_info(*model); }; });
}

}  // namespace headlight
