// headlight train: its options, and what it learns from.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/cli/options.h"
#include "core/graph/program.h"
#include "core/train/data/batches.h"
#include "core/train/run_settings.h"

namespace headlight {

inline constexpr std::int64_t kUsualSteps = 1000;

struct TrainOptions {
  ModelOptions model;
  std::string task, text, labels, pairs, data_ids, init = "normal", from, resume, out, log;
  std::string validation;  // "10%" or a file; empty: not measured
  std::string cut, optimizer = "adamw", schedule = "constant", betas;
  std::string bytes, validation_bytes;  // of --text: "BEGIN:END"
  std::string sha256;                   // of the file that --text must be; empty: any
  int vocabulary = 0, context = 0;
  bool characters = false;
  std::string mask_tokens;     // of --text: "15%"; empty: the next token is learned
  bool next_sentence = false;  // of --text
  std::int64_t batch = 32, accumulate = 1, warmup = 0;
  std::optional<std::int64_t> steps;
  std::int64_t validate_every = 100;
  std::optional<std::int64_t> patience;      // measurements; nothing: that of the run
  std::optional<std::string> by_length;      // on or off; nothing: on for tables
  std::int64_t save_every = 0;               // steps; 0: by time
  std::optional<std::string> checkpointing;  // on or off; nothing: that of the run
  std::string storage = "float32";
  double rate = 1e-3, floor = 0, epsilon = 1e-8, clip = 0, momentum = 0, dropout = 0;
  std::optional<double> decay;
  std::string freeze;        // "2" or "all": see frozen_layers()
  std::string config;        // a recipe.json
  std::string broken;        // for tests: see with_broken_shader()
  TaskOptions task_options;  // of the run
};

/// A task or rows of ids, as batches.
struct LearnedFrom {
  std::unique_ptr<BatchSource> batches;
  std::shared_ptr<const Task> task;  // null: rows of ids
  RunShape shape;                    // of a batch of one row
  std::vector<TokenBatch> validation;
  std::string tokenizer;  // tokenizer.json
  TaskKind kind() const { return task ? task->kind() : TaskKind::kNextToken; }
};

/// What a recipe or a run that goes on says of its text is taken where the options say nothing.
/// Throws UsageError without --text.
void use_text(const RunText&, TrainOptions&);

/// The tokens and classes of a model that learns on, in its order.
struct KnownTokens {
  std::shared_ptr<const Vocabulary> vocabulary;  // null: of the data
  std::vector<std::string> classes;
};

/// How long rows are of a run that goes on: of labels as it reads them where nothing is asked for,
/// of next sentences no longer than that.
void fit_rows(TrainOptions&, const ModelFile& run, const Vocabulary&);

/// What the options say to learn from; the settings are completed with the task's sizes and the
/// text. What is measured between steps is cut and numbered as what is learned from. The config
/// and the tokens say what stands around each row. Throws UsageError for none or several, and as
/// the loading of each.
LearnedFrom open_data(const TrainOptions&, RunSettings&, const KnownTokens&, const Config&);

/// Examples that were not learned from, where the task has one right answer; of a table of classes
/// each row once. Empty where there are none.
std::vector<TokenBatch> fresh_examples(const std::shared_ptr<const Task>&, const RunSettings&,
                                       const Config&);

}  // namespace headlight
