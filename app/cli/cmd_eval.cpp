// headlight eval: how well a model predicts a text, or does its task.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/cli/cli.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/io/text_file.h"
#include "core/model/bundled.h"
#include "core/train/metrics/model_score.h"

namespace headlight {
namespace {

struct EvalOptions {
  std::string model, text;
  bool task = false, json = false;
  std::uint64_t seed = 1;
  int count = 500, threads = 2;
  std::optional<std::int64_t> stride;
};

void print_text(const TextFigures& f, bool json) {
  if (json) {
    const nlohmann::ordered_json out = {{"tokens", f.tokens},
                                        {"bytes", f.bytes},
                                        {"loss", f.loss()},
                                        {"perplexity", f.perplexity()},
                                        {"bits_per_byte", f.bits_per_byte()},
                                        {"accuracy", f.accuracy()},
                                        {"context", f.context},
                                        {"stride", f.stride}};
    std::printf("%s\n", out.dump(2).c_str());
    return;
  }
  std::printf("loss %s nats per token, perplexity %s\n", number_text(f.loss(), 6).c_str(),
              number_text(f.perplexity(), 6).c_str());
  std::printf("%s bits per byte, accuracy %s %%\n", number_text(f.bits_per_byte(), 6).c_str(),
              number_text(100 * f.accuracy(), 4).c_str());
  std::printf("%s tokens predicted (%s bytes), in windows of %s tokens that begin %s apart\n",
              count_text(f.tokens).c_str(), count_text(f.bytes).c_str(),
              count_text(f.context).c_str(), count_text(f.stride).c_str());
}

void print_task(const EvalOptions& o, const Task& task, const TaskFigures& f) {
  const TaskScore& s = f.score;
  if (o.json) {
    const nlohmann::ordered_json out = {
        {"task", task.id()},        {"seed", o.seed},
        {"examples", o.count},      {"loss", f.loss},
        {"tokens", s.tokens},       {"token_accuracy", s.token_accuracy()},
        {"sequences", s.sequences}, {"sequence_accuracy", s.sequence_accuracy()}};
    std::printf("%s\n", out.dump(2).c_str());
    return;
  }
  std::printf("task %s, %s examples, seed %llu\n", task.id().c_str(), count_text(o.count).c_str(),
              static_cast<unsigned long long>(o.seed));
  std::printf("loss %s nats per token\n", number_text(f.loss, 6).c_str());
  std::printf("tokens right %s %% of %s, whole examples right %s %%\n",
              number_text(100 * s.token_accuracy(), 4).c_str(), count_text(s.tokens).c_str(),
              number_text(100 * s.sequence_accuracy(), 4).c_str());
}

// Of a text every token is placed before the first is predicted; there may be one to a byte.
void check_memory(std::string_view text) {
  const double needed = static_cast<double>(text.size()) * sizeof(PlacedToken);
  const double available = machine_limits().memory_bytes;
  if (needed <= available) return;
  throw Error("measuring " + count_text(static_cast<long long>(text.size())) +
              " bytes of text would need up to " + bytes_text(needed) +
              " of memory, and this machine can give " + bytes_text(available) +
              "; give a part of it");
}

int run_eval(const EvalOptions& o) {
  if (o.task != o.text.empty()) {
    throw UsageError("say what to measure with: --text FILE, or --task for the task it learned");
  }
  const auto model = load_model(model_ref(o.model));
  if (o.task) {
    const auto task = task_of(*model);
    print_task(o, *task, score_task(model, *task, o.seed, o.count, o.threads));
    return 0;
  }
  const std::int64_t stride = o.stride.value_or((model->file.context + 1) / 2);
  const TextFile file = read_text_file(o.text);
  for (const Message& note : file.notes) tell(say(Language::kEnglish, note));
  try {
    check_memory(file.text());
    const auto figures = file.read(
        [&](std::string_view text) { return score_text(model, text, stride, o.threads); });
    print_text(figures, o.json);
  } catch (const UsageError& error) {
    // What was asked for is right; the file does not go with the model.
    if (error.message().id != "vocabulary.unknown_token") throw;
    throw Error(o.text + ": " + error.what());
  } catch (const Error& error) {
    throw Error(o.text + ": " + error.what());
  }
  return 0;
}

}  // namespace

void add_eval_command(CLI::App& app, Run& run) {
  auto o = std::make_shared<EvalOptions>();
  CLI::App* sub = app.add_subcommand("eval", "Measures a model on a text or on its task");
  sub->add_option("--model", o->model, "A model's folder, or a name of `headlight models`")
      ->required();
  sub->add_option("--text", o->text, "A UTF-8 text file");
  sub->add_flag("--task", o->task, "Fresh examples of the task that it learned");
  sub->add_option("--seed", o->seed, "--task: which examples")->capture_default_str();
  sub->add_option("--count", o->count, "--task: how many examples")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  sub->add_option("--stride", o->stride,
                  "--text: a window begins so many tokens after the last (default: half of the "
                  "model's context)");
  sub->add_option("--threads", o->threads, "Threads")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  sub->add_flag("--json", o->json, "As JSON");
  sub->callback([o, &run] { run = [o] { return run_eval(*o); }; });
}

}  // namespace headlight
