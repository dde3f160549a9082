// headlight train: a model learns a task, a text, or rows of token ids.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>

#include "app/cli/cli.h"
#include "app/cli/named_backend.h"
#include "app/cli/train/checkpoint_folder.h"
#include "app/cli/train/train_base.h"
#include "app/cli/train/train_config.h"
#include "app/cli/train/train_learner.h"
#include "app/cli/train/train_progress.h"
#include "app/cli/train/train_settings.h"
#include "app/cli/train/train_source.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/io/plain_file.h"
#include "core/model/bundled.h"
#include "core/model/checkpoint.h"
#include "core/run/model_input.h"
#include "core/train/data/batches.h"
#include "core/train/data/length_batches.h"
#include "core/train/fine_tuning.h"
#include "core/train/optim/check_number.h"
#include "core/train/optim/early_stop.h"
#include "core/train/run_checkpoint.h"
#include "core/train/trainer.h"

namespace headlight {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<int> interrupted{0};  // by this signal

// A step may take minutes, so the second Ctrl+C is the system's own: it ends the program.
void interrupt(int number) {
  constexpr std::string_view kWords =
      "\nfinishing this step; the same again (Ctrl+C) ends at once, without saving\n";
  interrupted = number;
  std::signal(number, SIG_DFL);
  if (::write(STDERR_FILENO, kWords.data(), kWords.size()) < 0) return;
}

void watch_for_interrupts() {
  std::signal(SIGINT, interrupt);
  for (const int number : {SIGTERM, SIGHUP}) {
    if (std::signal(number, interrupt) == SIG_IGN) std::signal(number, SIG_IGN);  // nohup
  }
}

// A run that has stopped early waits for more patience; without any it keeps its newest weights.
void check_patience(const TrainOptions& o, RunSettings& settings, TrainState& state) {
  if (o.patience) settings.patience = *o.patience;
  if (settings.patience == 0) {
    state.best.reset();
    state.waited = 0;
  }
  if (settings.patience == 0 || state.waited < settings.patience) return;
  throw UsageError(Message{"train.resume_patience",
                           {{"step", count_text(state.step)},
                            {"patience", count_text(settings.patience)},
                            {"more", std::to_string(2 * settings.patience)}}});
}

// A run that goes on is made with what it was begun with: what is given and would be ignored is
// refused. --steps says how far, else as far as the run was to go.
constexpr const char* kOfTheRun = "The run";

void check_resume(const CLI::App& sub) {
  for (const CLI::Option* option : sub.get_options()) {
    const std::string& group = option->get_group();
    if (option->count() == 0 || (group != kOfTheRun && group != kModelOptions)) continue;
    throw UsageError(Message{"train.resume_option", {{"option", option->get_name()}}});
  }
}

bool learns_numbers(const TrainOptions& o) {
  return std::ranges::any_of(all_tasks(), [&](const TaskInfo& task) {
    return task.id == o.task && task.kind == TaskKind::kNumbers;
  });
}

void check_goes_on(std::int64_t steps, const TrainState& state) {
  if (steps > state.step) return;
  throw UsageError(Message{"train.resume_done",
                           {{"step", count_text(state.step)}, {"steps", count_text(steps)}}});
}

// ---- the run ----

struct RunParts {
  const TrainOptions& o;
  const Config& config;
  const LearnedFrom& data;
  const RunSettings& settings;
  EarlyStop& early;
  PaddingCount& padding;
  std::int64_t steps() const { return o.steps.value_or(settings.schedule.steps); }
};

enum class Ending { kDone, kInterrupted, kBroken };

// Said before anything large is made.
void check_memory(const TrainOptions& o, const Config& config, const RunShape& shape,
                  const RunSettings& settings, const TrainerOptions& options) {
  const double needed =
      training_memory_needed(config, shape, options, settings.batch, settings.by_length);
  const double available = o.model.limits().memory_bytes;
  if (needed <= available) return;
  const bool keeps = !options.checkpointing && o.model.backend == "cpu";
  throw Error(Message{keeps ? "error.training_memory.kept" : "error.training_memory",
                      {{"needed", bytes_text(needed)}, {"available", bytes_text(available)}}});
}

// `broken` is the step whose loss or gradient was no number: it changed nothing.
Ending train(const RunParts& run, Learner& learner, SafeRun& safe, TrainState& state, TrainLog& log,
             TrainStep& broken) {
  TrainProgress progress;
  std::vector<TokenBatch> batches(static_cast<std::size_t>(run.settings.accumulation));
  const auto began = Clock::now();
  double tokens = 0;
  std::optional<Evaluation> validation;  // as it was measured last
  const std::int64_t first = state.step;
  std::int64_t skipped = 0;
  while (state.step < run.steps() && !interrupted && !run.early.over()) {
    for (TokenBatch& batch : batches) {
      batch = run.data.batches->next();
      run.padding.add(batch);
    }
    const TrainStep step = learner.step(batches);
    if (step.broken()) {
      broken = step;
      progress.end_line();
      return Ending::kBroken;
    }
    skipped += step.skipped;
    state.step = step.step + 1;
    state.data = run.data.batches->state();
    for (const TokenBatch& batch : batches)
      tokens += static_cast<double>(batch.tokens.size() + batch.source.size());
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    const double speed = tokens / std::max(seconds, 1e-9);
    const bool last = state.step == run.steps();
    if (!run.data.validation.empty() && (last || state.step % run.o.validate_every == 0)) {
      validation = evaluate_all(learner, run.data.validation);
      if (validation->counted == 0) validation.reset();
      state.score = validation ? score_of(*validation) : std::nullopt;
      if (state.score) run.early.measured(state.step, *state.score, learner);
      run.early.tell(state);
      log.add(step, speed, validation ? &*validation : nullptr);
    } else {
      log.add(step, speed, nullptr);
    }
    safe.keep(state.step);
    const double left = seconds / static_cast<double>(state.step - first) *
                        static_cast<double>(run.steps() - state.step);
    progress.tell_step(step, run.steps(), validation, run.config, speed, left);
  }
  progress.end_line();
  if (skipped > 0)
    std::fprintf(stderr, "%s of %s steps were skipped: their gradients were not finite\n",
                 count_text(skipped).c_str(), count_text(state.step - first).c_str());
  return interrupted ? Ending::kInterrupted : Ending::kDone;
}

int run_train(TrainOptions o, const std::shared_ptr<const Model>& base) {
  const LearnerFactory learners = learners_for(o);
  // What is learned says what the model makes; classes can be learned without layers.
  const bool judges = !o.labels.empty() || o.next_sentence;
  const bool classes = judges || std::ranges::any_of(all_tasks(), [&](const auto& task) {
                         return task.id == o.task && task.kind == TaskKind::kClassify;
                       });
  if (o.model.form == word(ModelForm::kTranslate)) {
    throw UsageError(
        "--form of a model to train must be tokens or classes; got 'translate'. An encoder-decoder "
        "learns from --pairs or --task dates, without --form");
  }
  if (!o.model.form && classes) o.model.form = word(ModelForm::kClasses);
  if (o.next_sentence && !base) {  // config_on() says what a base becomes
    if (!o.model.pool) o.model.pool = word(PoolKind::kFirst);
    if (!o.model.segments) o.model.segments = "on";
    if (!o.mask_tokens.empty() && !o.model.token_head) o.model.token_head = "on";
  }
  Config config = o.model.document().config;
  RunSettings settings = settings_of(o, config);
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
    settings = {};
    naming_file(std::filesystem::path(o.resume) / kTrainFile,
                [&] { parse_train(from->training->json, settings, state); });
    set_checkpointing(o, settings);
    if (settings.text) use_text(*settings.text, o);
    check_goes_on(o.steps.value_or(settings.schedule.steps), state);
    check_patience(o, settings, state);
  }
  KnownTokens known;
  if (base) {
    const std::uint64_t seed = config.seed;
    config = config_on(*base, o);
    config.seed = seed;
    settings.base = base->ref;
    TextOptions reads;
    reads.next_sentence = o.next_sentence;
    reads.masked = o.mask_tokens.empty() ? 0 : kMaskedShare;  // whatever the share
    known = {vocabulary_on(*base, o.labels.empty() ? OwnData::kText : OwnData::kLabels, reads), {}};
  }
  if (from && o.data_ids.empty()) {  // rows of ids have no tokenizer
    naming_file(std::filesystem::path(o.resume) / kTokenizerFile, [&] {
      known = {std::make_shared<Vocabulary>(Vocabulary::from_json(from->tokenizer)),
               from->model.classes};
    });
    fit_rows(o, from->model, *known.vocabulary);
  }
  if (settings.frozen != kNoneFrozen && o.model.backend == "gl")
    throw UsageError(Message{"train.freeze_backend"});
  LearnedFrom data = open_data(o, settings, known, config);
  if (!from && !base) {
    config.form = form_of(data.kind());
    // Who fills holes or judges a whole row looks both ways.
    const bool both_ways = data.kind() == TaskKind::kMasked || data.kind() == TaskKind::kClassify ||
                           data.kind() == TaskKind::kNumbers;
    if (both_ways && !o.model.mask) config.mask.kind = MaskKind::kNone;
  }
  if (o.next_sentence && config.mask.is_causal() && config.pool == PoolKind::kFirst)
    throw UsageError(Message{"train.next_sentence.causal"});
  if (settings.patience > 0 && data.validation.empty())
    throw UsageError(Message{"train.patience_option"});
  if (data.task) data.shape = shape_of(*data.task, config);
  if (from) check_vocabulary(data, from->model.vocab, o.resume);
  // Rows may be shorter than the positions that it has learned.
  if (from && config.ends_at_context())
    data.shape.positions = std::max(data.shape.positions, from->model.context);
  TrainerOptions options{
      settings.optimizer, settings.schedule, settings.clip, 8,
      o.model.threads,    settings.dropout,  settings.seed, settings.checkpointing,
      settings.frozen,    settings.storage};
  check_memory(o, config, data.shape, settings, options);
  if (base) tell_left_out(*base, config, data.shape);
  std::vector<Tensor> parameters =
      from ? std::move(from->weights) : start_parameters(o, base, config, data);
  const auto learner = learners(config, data.shape, std::move(parameters), options);
  EarlyStop early(settings.patience);
  if (from) {
    early.restore(state, std::as_const(*learner).parameters());
    restore_run(*learner, state, from->training->optimizer);
    data.batches->restore(state.data);
  }
  const OldText old_text(judges ? nullptr : base, *learner, data.shape.positions);
  TrainLog log(o.log, state.step > 0, config.token_head);
  watch_for_interrupts();
  const ModelFile file = model_file(config, data.shape, data.task.get());
  const auto checkpoint = [&] {
    return checkpoint_of(file, data.tokenizer, *learner, settings, state, early.weights());
  };
  if (!o.out.empty()) checkpoint().check_place(o.out);
  const CheckpointFolder folder(o.out);
  folder.keep_longer(o.steps.value_or(settings.schedule.steps), o.resume);
  tell_device(*learner, o);
  SafeRun safe(*learner, checkpoint, state.step, o);
  PaddingCount padding;
  const RunParts parts{o, config, data, settings, early, padding};
  const std::vector<TokenBatch> examples = fresh_examples(data.task, settings, config);
  TrainStep broken;
  Ending ending{};
  Evaluation fresh;
  std::optional<RunCheckpoint> end;
  try {
    ending = train(parts, *learner, safe, state, log, broken);
    if (ending == Ending::kDone) fresh = evaluate_kept(*learner, early, examples);
    if (fresh.counted > 0 && !early.best()) state.score = score_of(fresh);
    if (!o.out.empty()) end = checkpoint();
  } catch (const Error& error) {
    if (learner->device().empty()) throw;
    // What a card that computes wrongly has made last is not what is wanted.
    const bool wrong = dynamic_cast<const WrongResult*>(&error) != nullptr;
    safe.give_up(error.what(), state.step, !wrong);
  }
  note_fallbacks(learner->fallbacks());
  if (end) {
    end->save(o.out);
    std::fprintf(stderr, "saved in %s after step %s\n", o.out.c_str(),
                 count_text(state.step).c_str());
  }
  // Who interrupts waits for nothing but the weights to be saved.
  if (ending == Ending::kInterrupted) fresh = evaluate_kept(*learner, early, examples);
  tell_padding(padding, settings.by_length || o.next_sentence);
  tell_best(early, state.step);
  if (fresh.counted > 0) tell_score(fresh, data.task.get(), examples);
  tell_blocks(*learner);
  if (ending == Ending::kDone) tell_written(data.task, config, *learner, early);
  if (ending != Ending::kBroken) old_text.tell(*learner);
  if (ending == Ending::kBroken) {
    throw Error("the loss became " + number_text(broken.loss) + " (norm of the gradients " +
                number_text(broken.gradient_norm) + ") at step " + std::to_string(broken.step) +
                (broken.loss_scale > 0
                     ? ", although the loss scale has fallen to 1: numbers are too "
                       "large for float16"
                     : "") +
                "; the run stopped with the weights before it. Try " +
                (broken.loss_scale > 0 ? "--storage bfloat16, " : "") +
                "a smaller --lr, a --warmup, or --clip 1");
  }
  if (!log.problem().empty()) throw Error(log.problem());
  return ending == Ending::kDone ? 0 : 128 + interrupted;
}

}  // namespace

void add_train_command(CLI::App& app, Run& run) {
  auto o = std::make_shared<TrainOptions>();
  CLI::App* sub = app.add_subcommand("train", "Trains a model on a task, a text or rows of ids");
  o->model.add_to(*sub);
  const auto of_run = [&](const char* name, auto& value, const char* help) {
    return sub->add_option(name, value, help)->group(kOfTheRun);
  };
  of_run("--task", o->task, "Name of a task: copy, reverse, sort, induction, ...");
  sub->add_option("--text", o->text, "A UTF-8 text file to learn from");
  of_run("--bytes", o->bytes, "--text: only these bytes of the file, as 0:1000000");
  of_run("--mask-tokens", o->mask_tokens,
         "--text: hide this share of the tokens (15%) and learn what stands there (BERT)");
  sub->add_flag("--next-sentence", o->next_sentence,
                "--text: learn whether one sentence follows another (BERT)")
      ->group(kOfTheRun);
  sub->add_option("--validation-bytes", o->validation_bytes,
                  "--text: measure the loss on these bytes of the file");
  sub->add_option("--labels", o->labels, "A table (TSV, .csv) of texts and their classes");
  sub->add_option("--pairs", o->pairs, "A table (TSV, .csv) of texts and their translations");
  sub->add_option("--data-ids", o->data_ids, "FILE.npy: int32 rows of context + 1 token ids");
  of_run("--cut", o->cut,
         "Texts: characters, words, wordpiece, bytes or bpe (--labels: words, others: characters)");
  of_run("--vocabulary", o->vocabulary, "Texts: size of the vocabulary (words, wordpiece, bpe)");
  sub->add_flag(
      "--characters", o->characters,
      "--cut bpe: no token is more than one character; what the text lacks becomes bytes");
  sub->add_option(
      "--validation", o->validation,
      "A file of the same kind, or a share of the data (as 10%), to measure the loss on");
  sub->add_option("--validate-every", o->validate_every, "--validation: steps from one to the next")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30));
  sub->add_option("--patience", o->patience,
                  "--validation: ends after so many measurements without a better loss, and keeps "
                  "the best weights (0: never)")
      ->check(CLI::Range(std::int64_t{0}, kMostPatience));
  of_run("--by-length", o->by_length,
         "--labels, --pairs: on or off; batches of rows of similar length (default: on)");
  sub->add_option("--context", o->context, "Tokens of a row (0: of the task or the data)");
  of_run("--batch", o->batch, "Rows of a batch")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  of_run("--accumulate", o->accumulate, "Batches of an update")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  sub->add_option("--steps", o->steps,
                  "Updates, in all (default: 1000; --resume: those of the run)");
  of_run("--init", o->init, "normal, glorot or kaiming, or FILE.safetensors")
      ->capture_default_str();
  of_run("--optimizer", o->optimizer, "adamw, adam or sgd")->capture_default_str();
  of_run("--lr", o->rate, "Learning rate")->capture_default_str();
  of_run("--lr-floor", o->floor, "Learning rate at the end of the cosine")->capture_default_str();
  of_run("--betas", o->betas, "adam, adamw: as 0.9,0.999");
  of_run("--eps", o->epsilon, "adam, adamw")->capture_default_str();
  of_run("--momentum", o->momentum, "sgd")->capture_default_str();
  of_run("--weight-decay", o->decay, "Default 0.01 for adamw, 0 for the others");
  of_run("--clip", o->clip, "Largest norm of the gradients (0: any)")->capture_default_str();
  of_run("--dropout", o->dropout, "Share of weights and changes left out (0: none)")
      ->capture_default_str();
  sub->add_option("--checkpointing", o->checkpointing,
                  "on: what a layer makes is made again in the backward pass, not kept");
  of_run("--storage", o->storage,
         "float32, float16 or bfloat16: how what the backward pass reads is kept")
      ->capture_default_str();
  of_run("--schedule", o->schedule, "constant or cosine")->capture_default_str();
  of_run("--warmup", o->warmup, "Steps in which the rate grows")->capture_default_str();
  sub->add_option("--from", o->from,
                  "--text, --labels: begin with the weights of this model (stories, poems or a "
                  "folder)");
  of_run("--freeze", o->freeze,
         "--from: the embeddings and the first N layers keep their weights; all: the head alone "
         "learns");
  sub->add_option("--resume", o->resume, "Folder of a checkpoint to go on from");
  sub->add_option("--out", o->out, "Folder for the checkpoint");
  sub->add_option(
         "--save-every", o->save_every,
         "Steps between two saves in --out (0: every 4 seconds, less often where saving is slow)")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--log", o->log, "FILE.csv: a line for each step");
  sub->add_option("--broken-shader", o->broken, "NAME=FILE")->group("");
  of_run("--config", o->config, "A recipe.json, for what is not given here");
  sub->callback([o, sub, &run] {
    run = [o, sub] {
      if (!o->resume.empty()) check_resume(*sub);
      if (!o->config.empty()) {
        use_recipe(read_recipe(o->config), *sub, *o);
      } else if (o->resume.empty() && learns_numbers(*o)) {
        const RunPlan plan = default_plan(o->task);  // as the window's
        ModelRecipe recipe;
        recipe.config = plan.config;
        recipe.training = plan.settings;
        recipe.init = plan.init;
        use_recipe(recipe, *sub, *o);
      }
      if (o->from.empty()) return run_train(*o, nullptr);
      check_from(*sub, *o);
      const std::shared_ptr<const Model> base = open_model(o->from);
      use_base(*base, *sub, *o);
      return run_train(*o, base);
    };
  });
}

}  // namespace headlight
