// headlight convert: a model as a folder that other programs open, or as one of this program's own.
#include <cstdio>

#include "app/cli/cli.h"
#include "app/cli/train/convert_pytorch.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/model/bundled.h"
#include "core/model/convert/convert.h"

namespace headlight {
namespace {

struct ConvertArguments {
  std::string model, out, to, dtype = "f32";
  bool no_tokenizer = false;
  std::string pytorch_only;  // an option that was given and only that target has
  PytorchOptions pytorch;
};

std::string target_list() {
  std::string list;
  for (const ConvertTarget& target : convert_targets())
    list += (list.empty() ? "" : ", ") + std::string(target.name);
  return list;
}

int convert(const ConvertArguments& a) {
  if (a.out.empty()) throw UsageError("--out is empty; give the name of the new folder");
  const ConvertOptions options{a.to, number_format(a.dtype), !a.no_tokenizer};
  if (a.to == kPytorchTarget) {
    if (options.format != NumberFormat::kFloat32) throw UsageError(Message{"convert.pytorch_f32"});
    if (a.no_tokenizer) throw UsageError(Message{"convert.own_tokenizer"});
    convert_to_pytorch(model_ref(a.model), a.out, a.pytorch);
    return 0;
  }
  if (!a.pytorch_only.empty())
    throw UsageError(a.pytorch_only + " goes with --to pytorch; leave it out");
  const auto model = load_model(model_ref(a.model));
  const ConvertedFolder made = convert_model(*model, a.out, options);
  std::printf("%s: a folder of type %s, %s parameters as %s\n", a.out.c_str(), made.type.c_str(),
              count_text(parameter_count(*model)).c_str(),
              std::string(number_format_word(options.format)).c_str());
  if (!model->not_finite.empty())
    tell("note: " + count_text(static_cast<std::int64_t>(model->not_finite.size())) +
         " weights hold NaN or infinity, and still do");
  if (made.has_tokenizer) return 0;
  tell(a.no_tokenizer
           ? "note: without tokenizer files, as --no-tokenizer asks; ids stand for tokens"
           : "note: the model has no tokenizer, so the folder has none; ids stand for "
             "tokens");
  return 0;
}

}  // namespace

void add_convert_command(CLI::App& app, Run& run) {
  auto a = std::make_shared<ConvertArguments>();
  CLI::App* sub = app.add_subcommand(
      "convert",
      "Writes a model as a folder that other programs open, or as one of Headlight's own");
  sub->add_option("model", a->model, "A model's folder, or a name of `headlight models`")
      ->required();
  sub->add_option("--out", a->out, "The new folder")->required();
  sub->add_option("--to", a->to,
                  target_list() +
                      " (default: of Headlight's models the first type that fits, of others "
                      "headlight)");
  sub->add_option("--dtype", a->dtype, "Numbers: f32, f16 or bf16 (rounded to the nearest)")
      ->capture_default_str();
  sub->add_flag("--no-tokenizer", a->no_tokenizer,
                "Without tokenizer files, where no tokenizer.json can say what the model reads");
  add_pytorch_options(*sub, a->pytorch);
  sub->callback([a, sub, &run] {
    for (const CLI::Option* option : sub->get_options()) {
      if (option->count() > 0 && option->get_group() == kPytorchGroup)
        a->pytorch_only = option->get_name();
    }
    run = [a] { return convert(*a); };
  });
}

}  // namespace headlight
