// headlight generate: how a text goes on.
#include <unistd.h>

#include <cstdio>

#include "app/cli/cli.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/printable.h"
#include "core/base/utf8.h"
#include "core/model/bundled.h"
#include "core/run/model_input.h"
#include "core/run/written_row.h"
#include "core/train/predictor.h"

namespace headlight {
namespace {

struct GenerateOptions {
  std::string model, prompt;
  std::optional<std::string> ids;
  bool greedy = false, print_ids = false;
  std::int64_t tokens = 100;
  SamplingOptions sampling;
  std::uint64_t seed = 1;
  int threads = 2;
};

// A terminal is shown the controls that it would act on; a pipe or a file gets every byte. A token
// may be a part of a character, so this looks at single bytes.
std::string shown_text(const std::string& text) {
  if (::isatty(STDOUT_FILENO) != 1) return text;
  std::string out;
  for (const char c : text) {
    out += static_cast<unsigned char>(c) < 0x80 ? printable({&c, 1}) : std::string(1, c);
  }
  return out;
}

// Does a token of a model from elsewhere stand for no text? What is unknown is shown, and so are
// the special tokens of this program's own vocabularies, which are words of their tasks.
bool is_unseen(const Vocabulary& vocabulary, int id) {
  return vocabulary.pieces() && vocabulary.is_special(id) &&
         id != vocabulary.id_of(Special::kUnknown);
}

std::string seen_text(const Vocabulary& vocabulary, std::span<const int> ids) {
  std::vector<int> seen;
  for (const int id : ids)
    if (!is_unseen(vocabulary, id)) seen.push_back(id);
  return vocabulary.decode(seen);
}

std::string ids_text(std::span<const int> ids) {
  std::string line;
  for (const int id : ids) line += (line.empty() ? "" : ",") + std::to_string(id);
  return line;
}

// The ids alone, one line: those of the prompt, then the generated ones.
int print_ids(Generator& generator, std::int64_t tokens) {
  for (std::int64_t i = 0; i < tokens && generator.next(); ++i) {
  }
  std::printf("%s\n", ids_text(generator.ids()).c_str());
  return 0;
}

// What an encoder-decoder writes for a source; [EOS] is among the ids where it has ended the row.
int translate(const std::shared_ptr<const Model>& shared, const GenerateOptions& o,
              const SamplingOptions& sampling) {
  const Model& model = *shared;
  RunInput input;
  input.source_ids = o.ids ? id_list(*o.ids) : model.vocabulary->encode(clean_utf8(o.prompt).text);
  if (input.source_ids.empty()) throw UsageError("give --prompt or --ids: the source to read");
  check_pair_ids(model, input.source_ids, {});
  if (!o.ids) put_around(row_frame(&model, {}), input.source_ids);
  if (model.file.config.ends_at_context() && std::ssize(input.source_ids) > model.file.source) {
    throw UsageError("the source has " + count_text(std::ssize(input.source_ids)) +
                     " tokens, but the model has learned " + count_text(model.file.source) +
                     " positions. Give a shorter one, or choose another model");
  }
  const std::int64_t most = std::min(o.tokens + 1, model.file.context);
  std::uint64_t drawn = 0;
  std::optional<int> end;  // what has ended the row
  const auto choose = [&](std::span<const float> logits) {
    const int id = sample_token(logits, sampling, o.seed, drawn++).id;
    if (ends_row(model, id)) end = id;
    return id;
  };
  ModelParameters weights;
  weights.use(shared);
  std::vector<int> row = written_row(model, model.file.config, input, most, choose, weights,
                                     *make_cpu_backend(o.threads));
  if (o.print_ids) {
    if (end) row.push_back(*end);
    std::printf("%s\n", ids_text(row).c_str());
  } else {
    const std::size_t given = std::min(row.size(), 1 + model.file.forced.size());
    const std::string text = seen_text(target_vocabulary(model), std::span(row).subspan(given));
    std::printf("%s\n", shown_text(text).c_str());
  }
  return 0;
}

// The numbers that are drawn from are the model's own, whatever else its folder asks for.
void tell_unfollowed(const Model& model) {
  std::string list;
  for (const std::string& rule : model.unfollowed) list += (list.empty() ? "" : ", ") + rule;
  if (!list.empty()) tell("the folder also asks for " + printable(list) + "; that is not followed");
}

int run_generate(const GenerateOptions& o) {
  if (o.tokens < 0) throw UsageError("--tokens must be 0 or more; got " + std::to_string(o.tokens));
  validate(o.sampling);
  if (o.ids && !o.prompt.empty()) throw UsageError("give --prompt or --ids, not both");
  SamplingOptions sampling = o.sampling;
  if (o.greedy) sampling.temperature = 0;
  const auto model = open_model(o.model);
  tell_unfollowed(*model);
  if (model->file.config.form == ModelForm::kTranslate) return translate(model, o, sampling);
  const std::string prompt = clean_utf8(o.prompt).text;
  Generator generator(model, o.ids ? id_list(*o.ids) : prompt_ids(*model, prompt), sampling, o.seed,
                      o.threads);
  if (o.print_ids) return print_ids(generator, o.tokens);
  const Vocabulary& vocabulary = *model->vocabulary;
  const std::string begin = o.ids ? seen_text(vocabulary, generator.ids()) : prompt;
  std::fputs(shown_text(begin).c_str(), stdout);
  bool said = false, written = !begin.empty();
  for (std::int64_t i = 0; i < o.tokens; ++i) {
    if (generator.shifted() && !said) {
      tell("from here on the model reads the last " + count_text(model->file.context) +
           " tokens alone, its context, and counts positions from the first of them");
      said = true;
    }
    const std::optional<std::string> next = generator.next();
    if (!next) break;
    if (is_unseen(vocabulary, generator.ids().back())) continue;
    // The blank that would part it from words before it.
    const bool alone = !written && vocabulary.pieces() && next->starts_with(' ');
    const std::string text = shown_text(alone ? next->substr(1) : *next);
    written = written || !text.empty();
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);  // as it comes
  }
  std::fputc('\n', stdout);
  return 0;
}

}  // namespace

void add_generate_command(CLI::App& app, Run& run) {
  auto o = std::make_shared<GenerateOptions>();
  CLI::App* sub = app.add_subcommand("generate", "Goes on with a text, token by token");
  sub->add_option("--model", o->model, "A model's folder, or a name of `headlight models`")
      ->required();
  sub->add_option("--prompt", o->prompt,
                  "The text to go on with; of an encoder-decoder the source");
  sub->add_option("--ids", o->ids,
                  "The same as ids, 1,2,3, of a model with or without a tokenizer");
  CLI::Option* greedy =
      sub->add_flag("--greedy", o->greedy, "Always the most probable token, as --temperature 0");
  sub->add_flag("--print-ids", o->print_ids, "Prints ids alone: the prompt's, then the new ones");
  sub->add_option("--tokens", o->tokens, "Tokens to add, at most")->capture_default_str();
  sub->add_option("--temperature", o->sampling.temperature,
                  "Divides the logits; 0: always the most probable token")
      ->capture_default_str()
      ->excludes(greedy);
  sub->add_option("--top-k", o->sampling.top_k, "Draws from the k most probable tokens (0: all)")
      ->capture_default_str()
      ->excludes(greedy);
  sub->add_option("--top-p", o->sampling.top_p,
                  "Draws from the most probable tokens that have this share (1: all)")
      ->capture_default_str()
      ->excludes(greedy);
  sub->add_option("--seed", o->seed, "The same seed gives the same text")
      ->capture_default_str()
      ->excludes(greedy);
  sub->add_option("--threads", o->threads, "Threads")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  sub->callback([o, &run] { run = [o] { return run_generate(*o); }; });
}

}  // namespace headlight
