// headlight eval: how well a model predicts a text, judges or translates rows, or does its task.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/cli/cli.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/printable.h"
#include "core/io/plain_file.h"
#include "core/io/text_file.h"
#include "core/model/bundled.h"
#include "core/run/model_input.h"
#include "core/train/data/text_source.h"
#include "core/train/metrics/model_score.h"
#include "core/train/metrics/rows_score.h"
#include "core/train/run_history.h"
#include "core/train/tasks/class_token.h"

namespace headlight {
namespace {

struct EvalOptions {
  std::string model, text, labels, pairs;
  bool task = false, json = false;
  std::uint64_t seed = 1;
  int count = 500, threads = 2, rows = 0;
  std::optional<std::int64_t> stride;
  std::optional<int> context, memory;
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
                                        {"stride", f.stride},
                                        {"memory", f.memory}};
    std::printf("%s\n", out.dump(2).c_str());
    return;
  }
  std::printf("loss %s nats per token, perplexity %s\n", number_text(f.loss(), 6).c_str(),
              number_text(f.perplexity(), 6).c_str());
  std::printf("%s bits per byte, accuracy %s %%\n", number_text(f.bits_per_byte(), 6).c_str(),
              number_text(100 * f.accuracy(), 4).c_str());
  if (f.memory > 0) {
    std::printf(
        "%s tokens predicted (%s bytes), in segments of %s tokens that remember up to %s "
        "rows of those before\n",
        count_text(f.tokens).c_str(), count_text(f.bytes).c_str(), count_text(f.context).c_str(),
        count_text(f.memory).c_str());
    return;
  }
  std::printf("%s tokens predicted (%s bytes), in windows of %s tokens that begin %s apart\n",
              count_text(f.tokens).c_str(), count_text(f.bytes).c_str(),
              count_text(f.context).c_str(), count_text(f.stride).c_str());
}

void print_task(const EvalOptions& o, const Task& task, const TaskFigures& f) {
  const TaskScore& s = f.score;
  if (o.json) {
    nlohmann::ordered_json out = {{"task", task.id()},
                                  {"seed", o.seed},
                                  {"context", task.context()},
                                  {"examples", o.count},
                                  {"loss", f.loss},
                                  {"tokens", s.tokens},
                                  {"token_accuracy", s.token_accuracy()},
                                  {"sequences", s.sequences},
                                  {"sequence_accuracy", s.sequence_accuracy()}};
    for (const auto& [distance, score] : f.by_distance)
      out["by_distance"].push_back({{"distance", distance},
                                    {"tokens", score.tokens},
                                    {"token_accuracy", score.token_accuracy()}});
    std::printf("%s\n", out.dump(2).c_str());
    return;
  }
  std::printf("task %s, %s examples, seed %llu\n", task.id().c_str(), count_text(o.count).c_str(),
              static_cast<unsigned long long>(o.seed));
  std::printf("loss %s nats per token\n", number_text(f.loss, 6).c_str());
  std::printf("tokens right %s %% of %s, whole examples right %s %%\n",
              number_text(100 * s.token_accuracy(), 4).c_str(), count_text(s.tokens).c_str(),
              number_text(100 * s.sequence_accuracy(), 4).c_str());
  for (const auto& [distance, score] : f.by_distance)
    std::printf("distance %d: %s %% of %s right\n", distance,
                number_text(100 * score.token_accuracy(), 4).c_str(),
                count_text(score.tokens).c_str());
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

std::string percent(double share) { return number_text(100 * share, 4) + " %"; }

// Under each chosen class how many rows of each class there are.
void print_confusion(const Task& task, const LabelFigures& f) {
  if (f.classes > static_cast<std::int64_t>(kMostConfusion)) {
    std::printf("%s classes are too many for a table; --json has it\n",
                count_text(f.classes).c_str());
    return;
  }
  std::fputs(confusion_text(task.classes(), f.confusion).c_str(), stdout);
}

void print_labels(const Task& task, const LabelFigures& f, bool json) {
  if (json) {
    auto matrix = nlohmann::ordered_json::array();
    for (auto row = f.confusion.begin(); row != f.confusion.end(); row += f.classes)
      matrix.push_back(std::vector<std::int64_t>(row, row + f.classes));
    nlohmann::ordered_json out = {
        {"rows", f.rows},   {"right", f.right},          {"accuracy", f.accuracy()},
        {"loss", f.loss()}, {"classes", task.classes()}, {"confusion", matrix}};
    if (f.hidden > 0) {
      out["hidden_tokens"] = f.hidden;
      out["hidden_accuracy"] = f.hidden_accuracy();
      out["hidden_loss"] = f.hidden_loss();
    }
    std::printf("%s\n", out.dump(2).c_str());
    return;
  }
  std::printf("%s of %s rows right; loss %s nats per row\n", percent(f.accuracy()).c_str(),
              count_text(f.rows).c_str(), number_text(f.loss(), 6).c_str());
  if (f.hidden > 0) {
    std::printf("%s of %s hidden tokens right; loss %s nats per hidden token\n",
                percent(f.hidden_accuracy()).c_str(), count_text(f.hidden).c_str(),
                number_text(f.hidden_loss(), 6).c_str());
  }
  print_confusion(task, f);
}

// Both answers below each other; "|" stands where the model's own row leaves the right one.
void print_pair(const Task& task, const PairRow& row) {
  const auto words = [&](const std::vector<int>& ids, bool marked) {
    std::string text;
    bool parted = !marked;
    for (std::size_t t = 0; t < ids.size(); ++t) {
      text += " " + printable(task.vocabulary().token(ids[t]));
      if (parted || ids[t] == row.target[t]) continue;
      text += " |";
      parted = true;
    }
    return text;
  };
  std::printf("source      %s\nright       %s\nrow given   %s\nby itself   %s\n\n",
              words(row.source, false).c_str(), words(row.target, false).c_str(),
              words(row.given, false).c_str(), words(row.alone, true).c_str());
}

void print_pairs(const PairFigures& f, bool json) {
  if (json) {
    const nlohmann::ordered_json out = {{"rows", f.rows},
                                        {"exact", f.exact},
                                        {"exact_share", f.exact_share()},
                                        {"tokens", f.tokens},
                                        {"token_accuracy", f.given_share()},
                                        {"free_running_accuracy", f.alone_share()},
                                        {"loss", f.loss()}};
    std::printf("%s\n", out.dump(2).c_str());
    return;
  }
  std::printf("rows written exactly right %s of %s\n", percent(f.exact_share()).c_str(),
              count_text(f.rows).c_str());
  std::printf("tokens right %s of %s when the model goes on with what it wrote itself\n",
              percent(f.alone_share()).c_str(), count_text(f.tokens).c_str());
  std::printf("tokens right %s when the right row so far is given; loss %s nats per token\n",
              percent(f.given_share()).c_str(), number_text(f.loss(), 6).c_str());
}

// What an encoder-decoder from elsewhere reads around the texts of pairs.
PairMarks marks_of(const Model& model) {
  if (!model.vocabulary->pieces()) return {};
  return {{model.before, model.behind}, opening_of(model), end_of(model)};
}

// Rows of a table, cut and numbered as the model has learned it.
int run_rows(const EvalOptions& o, const std::shared_ptr<const Model>& model) {
  const bool labels = !o.labels.empty();
  const ModelFile& file = model->file;
  const bool own = file.task == (labels ? "labels" : "pairs");
  const bool joined = !labels && own && file.config.form == ModelForm::kTokens;
  if (!joined && file.config.form != (labels ? ModelForm::kClasses : ModelForm::kTranslate)) {
    throw UsageError("the model " + model->name + " is " +
                     (labels ? "no classifier, so --labels cannot measure it"
                             : "no model of pairs, so --pairs cannot measure it") +
                     "; choose one that was trained with " + (labels ? "--labels" : "--pairs"));
  }
  TextOptions options;
  options.known = model->vocabulary;
  options.known_classes = file.classes;
  options.validation = 0;
  options.joined = joined;
  // Pairs that it has learned here had no marks of a tokenizer.
  if (!labels && !own) options.marks = marks_of(*model);
  const PairMarks& marks = options.marks;
  // Without [BOS], or what stands around a row with a class.
  const int around = labels ? classifier_frame(file.config, *model->vocabulary).size()
                            : std::max<int>(static_cast<int>(marks.opening.size()), !joined);
  options.context = static_cast<int>(file.context) - around;
  options.source_context = static_cast<int>(file.source) - marks.source.size();
  if (!labels && model->target) options.known_target = model->target;
  const std::string& path = labels ? o.labels : o.pairs;
  LoadedTask loaded = naming_file(path, [&] {
    return load_own_task(labels ? OwnData::kLabels : OwnData::kPairs, {path, ""}, options);
  });
  for (const Message& note : loaded.notes) tell(say(Language::kEnglish, note));
  const std::shared_ptr<const Task> task = as_read_by(file.config, std::move(loaded.task));
  if (labels) {
    print_labels(*task, score_labels(model, *task, o.threads), o.json);
  } else {
    int left = o.json ? 0 : o.rows;
    const auto tell_row = [&](const PairRow& row) {
      if (left-- > 0) print_pair(*task, row);
    };
    print_pairs(score_pairs(model, *task, o.threads, tell_row), o.json);
  }
  return 0;
}

// Pairs of sentences of a text: whether the second one follows.
int run_sentences(const EvalOptions& o, const std::shared_ptr<const Model>& model) {
  const Config& config = model->file.config;
  TextOptions options;
  options.known = model->vocabulary;
  options.validation = 0;
  options.next_sentence = true;
  if (config.token_head) options.masked = kMaskedShare;
  options.context = static_cast<int>(model->file.context) -
                    classifier_frame(config, *model->vocabulary, true).size();
  LoadedTask loaded = load_own_task(OwnData::kText, {o.text, ""}, options);
  for (const Message& note : loaded.notes) tell(say(Language::kEnglish, note));
  const auto task = as_read_by(config, std::move(loaded.task));
  print_labels(*task, score_labels(model, *task, o.threads), o.json);
  return 0;
}

int run_eval(const EvalOptions& o) {
  if (o.task + !o.text.empty() + !o.labels.empty() + !o.pairs.empty() != 1) {
    throw UsageError(
        "say what to measure with, one of --text FILE, --labels FILE, --pairs FILE, or --task for "
        "the task it learned");
  }
  auto model = open_model(o.model);
  if (o.memory) {
    Model changed = *model;
    changed.file.config.memory = *o.memory;
    validate(changed.file.config);
    model = std::make_shared<const Model>(std::move(changed));
  }
  if (!o.labels.empty() || !o.pairs.empty()) return run_rows(o, model);
  if (o.task) {
    const auto task =
        task_of(*model, o.context ? TaskOptions{{"context", *o.context}} : TaskOptions{});
    print_task(o, *task, score_task(model, *task, o.seed, o.count, o.threads));
    return 0;
  }
  if (model->file.task == kNextSentenceTask) {
    if (o.stride || o.memory)
      throw UsageError(
          "--stride and --memory are for models that go on with a text; this one judges pairs of "
          "sentences. Leave them out");
    return run_sentences(o, model);
  }
  const std::int64_t context = model->file.context;
  const std::int64_t stride =
      o.stride.value_or(model->file.config.memory > 0 ? context : (context + 1) / 2);
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
  CLI::App* sub = app.add_subcommand("eval", "Measures a model on a text, a table or its task");
  sub->add_option("--model", o->model, "A model's folder, or a name of `headlight models`")
      ->required();
  CLI::Option* text = sub->add_option("--text", o->text, "A UTF-8 text file");
  sub->add_option("--labels", o->labels, "A table (TSV, .csv) of texts and their classes");
  CLI::Option* pairs =
      sub->add_option("--pairs", o->pairs, "A table (TSV, .csv) of texts and their translations");
  sub->add_option(
         "--rows", o->rows,
         "--pairs: shows so many rows: what is said with the right row given, and by itself")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000000))
      ->needs(pairs);
  CLI::Option* task =
      sub->add_flag("--task", o->task, "Fresh examples of the task that it learned");
  sub->add_option("--seed", o->seed, "--task: which examples")->capture_default_str()->needs(task);
  sub->add_option("--count", o->count, "--task: how many examples")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000))
      ->needs(task);
  sub->add_option("--context", o->context,
                  "--task: tokens of an example, where the task lets choose them; they may be more "
                  "than it learned with (default: as many)")
      ->needs(task);
  sub->add_option("--stride", o->stride,
                  "--text: a window begins so many tokens after the last (default: half of the "
                  "model's context)")
      ->needs(text);
  sub->add_option("--memory", o->memory,
                  "--text: rows of the segments before that are remembered (default: the model's)")
      ->needs(text);
  sub->add_option("--threads", o->threads, "Threads")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  sub->add_flag("--json", o->json, "As JSON");
  sub->callback([o, &run] { run = [o] { return run_eval(*o); }; });
}

}  // namespace headlight
