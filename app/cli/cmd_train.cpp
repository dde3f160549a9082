// headlight train: a model learns a task, a text, or rows of token ids.
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>

#include "app/cli/cli.h"
#include "app/cli/train_config.h"
#include "core/error.h"
#include "core/io/atomic_file.h"
#include "core/io/safetensors.h"
#include "core/model/checkpoint.h"
#include "core/model/init.h"
#include "core/step_code.h"
#include "core/text/number_text.h"
#include "core/train/batches.h"
#include "core/train/recipe.h"
#include "core/train/text_source.h"
#include "core/train/trainer.h"

namespace headlight {
namespace {

using Clock = std::chrono::steady_clock;

struct TrainOptions {
  ModelOptions model;
  std::string task, text, labels, pairs, data_ids, init = "normal", resume, out, log;
  std::string cut, optimizer = "adamw", schedule = "constant", betas;
  int vocabulary = 0, context = 0;
  std::int64_t batch = 32, steps = 1000, accumulate = 1, warmup = 0;
  double rate = 1e-3, floor = 0, epsilon = 1e-8, clip = 0, momentum = 0, dropout = 0;
  std::optional<double> decay;
  std::string config;        // a recipe.json
  TaskOptions task_options;  // of the recipe
};

std::atomic<bool> interrupted{false};

void tell_notes(const std::vector<Message>& notes) {
  for (const Message& note : notes)
    std::fprintf(stderr, "headlight: %s\n", say(Language::kEnglish, note).c_str());
}

// ---- what is learned from ----

struct Data {
  std::unique_ptr<BatchSource> batches;
  std::shared_ptr<const Task> task;  // null: rows of ids
  RunShape shape;                    // of a batch of one row
  std::string tokenizer;             // tokenizer.json
  TaskKind kind() const { return task ? task->kind() : TaskKind::kNextToken; }
};

// The shape is known when the config is.
Data task_data(std::shared_ptr<const Task> task, const TrainRecipe& recipe) {
  Data data;
  data.task = task;
  data.tokenizer = task->vocabulary().to_json();
  data.batches =
      std::make_unique<TaskBatches>(std::move(task), recipe.batch, recipe.seed, Split::kTraining);
  return data;
}

// Running text, labelled rows or pairs. Of rows the words are what matters, so labels are cut so;
// and a row is as long as it is.
Data text_data(const TrainOptions& o, const TrainRecipe& recipe, const Checkpoint* from) {
  TextOptions options;
  const std::string word = !o.cut.empty() ? o.cut : o.labels.empty() ? "characters" : "words";
  const std::optional<TextCut> cut = text_cut_from_string(word);
  if (!cut) throw UsageError("--cut must be characters, words, bytes or bpe; got '" + o.cut + "'");
  options.cut = *cut;
  options.vocabulary = o.vocabulary;
  if (o.context > 0 || o.text.empty()) options.context = o.context;
  if (from) {
    options.known = std::make_shared<Vocabulary>(Vocabulary::from_json(from->tokenizer));
    options.known_classes = from->model.classes;
  }
  LoadedTask loaded = !o.text.empty()     ? load_text_task({o.text, ""}, options)
                      : !o.labels.empty() ? load_labelled_task({o.labels, ""}, options)
                                          : load_pairs_task({o.pairs, ""}, options);
  tell_notes(loaded.notes);
  return task_data(std::move(loaded.task), recipe);
}

Data row_data(const TrainOptions& o, const TrainRecipe& recipe) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;
  auto rows = std::make_unique<RowBatches>(parse_npy_integers(read_file(o.data_ids, kMostBytes)),
                                           recipe.batch);
  if (o.context > 0 && o.context != rows->context()) {
    throw UsageError("--context is " + std::to_string(o.context) + ", but the rows of " +
                     o.data_ids + " have " + std::to_string(rows->context()) +
                     " ids to read and one to predict; leave --context out");
  }
  Data data;
  data.shape = {.batch = 1, .positions = rows->context(), .vocab = rows->vocab()};
  data.tokenizer = kNoTokenizer;
  data.batches = std::move(rows);
  return data;
}

// ---- the model ----

struct Start {
  Config config;
  std::vector<Tensor> parameters;
  std::optional<Checkpoint> checkpoint;
};

ModelFile model_file(const Config& config, const Data& data) {
  const TaskKind kind = data.kind();
  ModelFile file{config, data.shape.vocab, data.shape.positions,
                 data.task ? data.task->id() : "rows",
                 kind == TaskKind::kMasked      ? "masked"
                 : kind == TaskKind::kClassify  ? "classify"
                 : kind == TaskKind::kTranslate ? "translate"
                                                : "next-token"};
  if (data.task) file.classes = data.task->classes();
  file.source = data.shape.source;
  return file;
}

std::vector<Tensor> read_init(const std::string& path, const Config& config, Data& data) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 30;
  const SafetensorsFile file = parse_safetensors(read_file(path, kMostBytes));
  const auto table = file.entries.find("embed.W_E");
  if (table == file.entries.end() || table->second.shape.empty())
    throw Error("the weights in " + path +
                " have no embed.W_E; write them with --weights-out of "
                "`headlight trace`, or by the names of the README");
  if (table->second.shape[0] < data.shape.vocab) {
    throw Error("the weights in " + path + " know " + std::to_string(table->second.shape[0]) +
                " tokens, but the data has ids up to " + std::to_string(data.shape.vocab - 1));
  }
  data.shape.vocab = table->second.shape[0];
  std::vector<Tensor> parameters;
  for (const TensorSpec& spec : program_parameters(model_file(config, data))) {
    const std::string name = weight_name(spec.name);
    const auto found = file.entries.find(name);
    std::vector<std::int64_t> expected;
    for (const Axis& axis : spec.axes) expected.push_back(axis.size);
    if (found == file.entries.end() || found->second.shape != expected) {
      throw Error("the weights in " + path + " should have " + name + " " + shape_text(spec.axes) +
                  (found == file.entries.end() ? ", which is not there" : "; its shape differs") +
                  ". Are --layers, --heads, --d-model and the like those of the file?");
    }
    const std::vector<float> cells = tensor_as_float(file, name);
    parameters.push_back({spec.name, spec.axes, FloatBuffer(cells.begin(), cells.end())});
  }
  return parameters;
}

std::vector<Tensor> start_parameters(const TrainOptions& o, const Config& config, Data& data) {
  const std::optional<Init> init = from_word<Init>(o.init);
  if (!init) return read_init(o.init, config, data);
  return initial_parameters(build_program(config, data.shape), *init, config.seed);
}

TrainRecipe recipe_of(const TrainOptions& o, const Config& config) {
  TrainRecipe recipe;
  recipe.task = o.task;
  recipe.task_options = o.task_options;
  recipe.batch = o.batch;
  recipe.accumulation = o.accumulate;
  recipe.seed = config.seed;
  const auto kind = from_word<OptimizerKind>(o.optimizer);
  if (!kind)
    throw UsageError("--optimizer must be " + choice_list(OptimizerKind{}) + "; got '" +
                     o.optimizer + "'");
  recipe.optimizer = default_options(*kind);
  recipe.optimizer.epsilon = o.epsilon;
  recipe.optimizer.momentum = o.momentum;
  if (o.decay) recipe.optimizer.weight_decay = *o.decay;
  if (!o.betas.empty()) {
    const int read =
        std::sscanf(o.betas.c_str(), "%lf,%lf", &recipe.optimizer.beta1, &recipe.optimizer.beta2);
    if (read != 2) throw UsageError("--betas are two numbers, as 0.9,0.99; got '" + o.betas + "'");
  }
  const auto schedule = from_word<ScheduleKind>(o.schedule);
  if (!schedule)
    throw UsageError("--schedule must be " + choice_list(ScheduleKind{}) + "; got '" + o.schedule +
                     "'");
  recipe.schedule = {*schedule, o.rate, o.floor, o.warmup, o.steps};
  recipe.clip = o.clip;
  recipe.dropout = o.dropout;
  return recipe;
}

// ---- the run ----

class Log {
 public:
  Log(const std::string& path, bool goes_on) {
    if (path.empty()) return;
    file_ = std::fopen(path.c_str(), goes_on ? "a" : "w");
    if (!file_) throw Error("the log " + path + " could not be opened for writing");
    if (!goes_on) std::fputs("step,loss,gradient_norm,learning_rate,tokens_per_second\n", file_);
  }
  ~Log() {
    if (file_) std::fclose(file_);
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  void add(const TrainStep& s, double speed) {
    if (!file_) return;
    std::fprintf(file_, "%lld,%.9g,%.9g,%.9g,%.6g\n", static_cast<long long>(s.step), s.loss,
                 s.gradient_norm, s.learning_rate, speed);
    std::fflush(file_);  // someone may be watching it
  }

 private:
  std::FILE* file_ = nullptr;
};

// "step 120/1,000  loss 2.310  rate 0.001  12,345 tokens/s  0:32 left"
void tell_progress(const TrainStep& s, std::int64_t steps, double speed, double left) {
  const auto seconds = static_cast<long long>(left);
  std::fprintf(stderr, "\rstep %s/%s  loss %s  rate %s  %s tokens/s  %lld:%02lld left   ",
               count_text(s.step + 1).c_str(), count_text(steps).c_str(),
               number_text(s.loss, 4).c_str(), number_text(s.learning_rate, 3).c_str(),
               count_text(static_cast<long long>(speed)).c_str(), seconds / 60, seconds % 60);
}

void save(const std::string& folder, const Trainer& trainer, const Config& config, const Data& data,
          const TrainRecipe& recipe, const TrainState& state) {
  CheckpointParts parts;
  parts.model = model_file(config, data);
  parts.tokenizer = data.tokenizer;
  for (const Tensor& p : trainer.parameters()) {
    std::vector<std::int64_t> shape;
    for (const Axis& axis : p.axes) shape.push_back(axis.size);
    parts.weights.push_back({p.name, shape, std::span<const float>(p.data)});
  }
  const std::string json = train_text(recipe, state);
  parts.training = {json, trainer.optimizer().state()};
  save_checkpoint(folder, parts);
}

struct RunParts {
  const TrainOptions& o;
  const Config& config;
  const Data& data;
  const TrainRecipe& recipe;
};

enum class Ending { kDone, kInterrupted, kBroken };

// `broken` is the step whose loss or gradient was no number: it changed nothing.
Ending train(const RunParts& run, Trainer& trainer, TrainState& state, TrainStep& broken) {
  Log log(run.o.log, state.step > 0);
  std::vector<TokenBatch> batches(static_cast<std::size_t>(run.recipe.accumulation));
  const auto began = Clock::now();
  double tokens = 0, told = -1;
  const std::int64_t first = state.step;
  while (state.step < run.o.steps && !interrupted) {
    for (TokenBatch& batch : batches) batch = run.data.batches->next();
    const TrainStep step = trainer.step(batches);
    if (!std::isfinite(step.loss) || !std::isfinite(step.gradient_norm)) {
      broken = step;
      std::fputc('\n', stderr);
      return Ending::kBroken;
    }
    state.step = step.step + 1;
    state.data = run.data.batches->state();
    for (const TokenBatch& batch : batches)
      tokens += static_cast<double>(batch.tokens.size() + batch.source.size());
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    const double speed = tokens / std::max(seconds, 1e-9);
    log.add(step, speed);
    const double left = seconds / static_cast<double>(state.step - first) *
                        static_cast<double>(run.o.steps - state.step);
    if (seconds - told > 0.25 || state.step == run.o.steps) {
      tell_progress(step, run.o.steps, speed, left);
      told = seconds;
    }
  }
  if (state.step > first) std::fputc('\n', stderr);
  return interrupted ? Ending::kInterrupted : Ending::kDone;
}

Data open_data(const TrainOptions& o, TrainRecipe& recipe, const Checkpoint* from) {
  const bool file = !o.text.empty() || !o.labels.empty() || !o.pairs.empty();
  const int given = !o.text.empty() + !o.labels.empty() + !o.pairs.empty() + !o.data_ids.empty() +
                    !recipe.task.empty();
  if (given != 1) {
    throw UsageError(
        "say what to learn from: --task NAME, --text FILE, --labels FILE.tsv, --pairs FILE.tsv or "
        "--data-ids FILE.npy" +
        std::string(given > 1 ? ", just one of them" : ""));
  }
  if (!o.data_ids.empty()) return row_data(o, recipe);
  if (file) return text_data(o, recipe, from);
  TaskOptions sizes = recipe.task_options;
  if (o.context > 0) sizes["context"] = o.context;
  std::shared_ptr<const Task> task = make_task(recipe.task, sizes);
  recipe.task_options = task->options();  // defaults may change, a run may not
  return task_data(std::move(task), recipe);
}

// How much is right of examples that were not learned from, where the task has one right answer.
void tell_score(const std::shared_ptr<const Task>& task, Trainer& trainer,
                const TrainRecipe& recipe) {
  constexpr std::int64_t kBatches = 8, kRows = 64;
  if (!task->has(Split::kValidation)) return;
  TaskBatches fresh(task, kRows, recipe.seed, Split::kValidation);
  fresh.count_only_scored();
  Evaluation all;
  double loss = 0;
  for (std::int64_t b = 0; b < kBatches; ++b) {
    const Evaluation part = trainer.evaluate(fresh.next());
    loss += part.loss * static_cast<double>(part.counted);
    all.counted += part.counted;
    all.correct += part.correct;
    all.rows += part.rows;
    all.rows_correct += part.rows_correct;
  }
  if (all.counted == 0) return;
  const auto percent = [](std::int64_t part, std::int64_t of) {
    return number_text(100.0 * static_cast<double>(part) / static_cast<double>(of), 4) + " %";
  };
  std::fprintf(stderr, "new examples: %s of %s answers right, %s of %s rows wholly; loss %s\n",
               percent(all.correct, all.counted).c_str(), count_text(all.counted).c_str(),
               percent(all.rows_correct, all.rows).c_str(), count_text(all.rows).c_str(),
               number_text(loss / static_cast<double>(all.counted), 4).c_str());
}

int run_train(const TrainOptions& o) {
  Config config = o.model.document().config;
  TrainRecipe recipe = recipe_of(o, config);
  TrainState state;
  std::optional<Checkpoint> from;
  if (!o.resume.empty()) {
    from = load_checkpoint(o.resume, true);
    if (!from->training) {
      throw Error("the checkpoint in " + o.resume +
                  " has no train.json, so its run cannot go on; start one with --init " + o.resume +
                  "/model.safetensors");
    }
    config = from->model.config;
    recipe = {};
    parse_train(from->training->json, recipe, state);
  }
  Data data = open_data(o, recipe, from ? &*from : nullptr);
  if (!from) {
    config.form = form_of(data.kind());
    // Who fills holes or judges a whole row looks both ways.
    const bool both_ways = data.kind() == TaskKind::kMasked || data.kind() == TaskKind::kClassify;
    if (both_ways && !o.model.mask) config.mask.kind = MaskKind::kNone;
  }
  if (data.task) data.shape = shape_of(*data.task, config);
  std::vector<Tensor> parameters =
      from ? std::move(from->weights) : start_parameters(o, config, data);
  if (from) data.shape.vocab = from->model.vocab;
  TrainerOptions options{recipe.optimizer, recipe.schedule, recipe.clip, 8,
                         o.model.threads,  recipe.dropout,  recipe.seed};
  Trainer trainer(config, data.shape, std::move(parameters), options);
  if (from) {
    trainer.optimizer().restore(state.step, array_views(from->training->optimizer));
    data.batches->restore(state.data);
  }
  std::signal(SIGINT, [](int) { interrupted = true; });
  TrainStep broken;
  const Ending ending = train({o, config, data, recipe}, trainer, state, broken);
  if (!o.out.empty()) {
    save(o.out, trainer, config, data, recipe, state);
    std::fprintf(stderr, "saved in %s after step %s\n", o.out.c_str(),
                 count_text(state.step).c_str());
  }
  if (data.task && ending != Ending::kBroken) tell_score(data.task, trainer, recipe);
  if (ending == Ending::kBroken) {
    throw Error("the loss became " + number_text(broken.loss) + " (norm of the gradients " +
                number_text(broken.gradient_norm) + ") at step " + std::to_string(broken.step) +
                "; the run stopped with the weights before it. Try a smaller --lr, a --warmup, or "
                "--clip 1");
  }
  return ending == Ending::kDone ? 0 : 130;
}

}  // namespace

void add_train_command(CLI::App& app, Run& run) {
  auto o = std::make_shared<TrainOptions>();
  CLI::App* sub = app.add_subcommand("train", "Trains a model on a task, a text or rows of ids");
  o->model.add_to(*sub);
  sub->add_option("--task", o->task, "Name of a task: copy, reverse, sort, induction, ...");
  sub->add_option("--text", o->text, "A UTF-8 text file to learn from");
  sub->add_option("--labels", o->labels, "A table (TSV, .csv) of texts and their classes");
  sub->add_option("--pairs", o->pairs, "A table (TSV, .csv) of texts and their translations");
  sub->add_option("--data-ids", o->data_ids, "FILE.npy: int32 rows of context + 1 token ids");
  sub->add_option("--cut", o->cut,
                  "Texts: characters, words, bytes or bpe (--labels: words, others: characters)");
  sub->add_option("--vocabulary", o->vocabulary, "Texts: size of the vocabulary (words, bpe)");
  sub->add_option("--context", o->context, "Tokens of a row (0: of the task or the data)");
  sub->add_option("--batch", o->batch, "Rows of a batch")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  sub->add_option("--accumulate", o->accumulate, "Batches of an update")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  sub->add_option("--steps", o->steps, "Updates")->capture_default_str();
  sub->add_option("--init", o->init, "normal, glorot or kaiming, or FILE.safetensors")
      ->capture_default_str();
  sub->add_option("--optimizer", o->optimizer, "adamw, adam or sgd")->capture_default_str();
  sub->add_option("--lr", o->rate, "Learning rate")->capture_default_str();
  sub->add_option("--lr-floor", o->floor, "Learning rate at the end of the cosine")
      ->capture_default_str();
  sub->add_option("--betas", o->betas, "adam, adamw: as 0.9,0.999");
  sub->add_option("--eps", o->epsilon, "adam, adamw")->capture_default_str();
  sub->add_option("--momentum", o->momentum, "sgd")->capture_default_str();
  sub->add_option("--weight-decay", o->decay, "Default 0.01 for adamw, 0 for the others");
  sub->add_option("--clip", o->clip, "Largest norm of the gradients (0: any)")
      ->capture_default_str();
  sub->add_option("--dropout", o->dropout, "Share of weights and changes left out (0: none)")
      ->capture_default_str();
  sub->add_option("--schedule", o->schedule, "constant or cosine")->capture_default_str();
  sub->add_option("--warmup", o->warmup, "Steps in which the rate grows")->capture_default_str();
  sub->add_option("--resume", o->resume, "Folder of a checkpoint to go on from");
  sub->add_option("--out", o->out, "Folder for the checkpoint");
  sub->add_option("--log", o->log, "FILE.csv: a line for each step");
  sub->add_option("--config", o->config, "A recipe.json, for what is not given here");
  sub->callback([o, sub, &run] {
    run = [o, sub] {
      if (!o->config.empty()) use_recipe(read_recipe(o->config), *sub, *o);
      return run_train(*o);
    };
  });
}

}  // namespace headlight
