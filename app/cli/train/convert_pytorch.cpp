#include "app/cli/train/convert_pytorch.h"

#include <cstdio>

#include "app/cli/cli.h"
#include "app/cli/train/train_learner.h"
#include "app/cli/train/train_source.h"
#include "core/train/pytorch/pytorch_folder.h"

namespace headlight {
namespace {

// What the run was begun with, from where it is: as `train --resume` opens it.
LearnedFrom data_of(const RunCheckpoint& run, TrainOptions o, RunSettings& settings) {
  const Config& config = run.model.config;
  TrainState state;
  parse_train(run.training, settings, state);
  if (settings.text) use_text(*settings.text, o);
  KnownTokens known;
  if (o.data_ids.empty()) {
    known = {std::make_shared<Vocabulary>(Vocabulary::from_json(run.tokenizer)), run.model.classes};
    fit_rows(o, run.model, *known.vocabulary);
  }
  LearnedFrom data = open_data(o, settings, known, config);
  if (data.task) data.shape = shape_of(*data.task, config);
  check_vocabulary(data, run.model.vocab, o.resume);
  data.batches->restore(state.data);
  return data;
}

}  // namespace

void add_pytorch_options(CLI::App& sub, PytorchOptions& o) {
  const auto add = [&](const char* name, auto& value, const char* help) {
    return sub.add_option(name, value, help)->group(kPytorchGroup);
  };
  add("--text", o.text, "The text that the run learns from");
  add("--labels", o.labels, "The table of texts and classes that the run learns from");
  add("--pairs", o.pairs, "The table of pairs that the run learns from");
  add("--data-ids", o.data_ids, "The rows of ids that the run learns from");
  add("--validation", o.validation, "As the run was begun with");
  add("--steps", o.steps, "Steps whose batches are written (a text: all of it is)")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30));
}

void convert_to_pytorch(const std::string& from, const std::string& to,
                        const PytorchOptions& given) {
  const RunCheckpoint run = exported_run(from);
  TrainOptions o;
  o.resume = from;
  o.text = given.text;
  o.labels = given.labels;
  o.pairs = given.pairs;
  o.data_ids = given.data_ids;
  o.validation = given.validation;
  RunSettings settings;
  TrainState state;
  if (!run.training.empty()) parse_train(run.training, settings, state);
  const bool data = !o.text.empty() || !o.labels.empty() || !o.pairs.empty() ||
                    !o.data_ids.empty() || !settings.task.empty();
  if (run.training.empty() || !data) {
    write_pytorch_folder(to, run);
    // What it learns from has two halves, of which rows of ids are only one.
    const bool next_token = run.model.kind == "next-token";
    tell(
        !next_token
            ? "without its data this model cannot be trained there: train.py teaches only the next "
              "token from rows of ids. model.py computes what it does"
        : run.training.empty()
            ? "this is a model without a run: train.py begins one, on rows of ids that it is given"
            : "the data of this run were not given: train.py asks for rows of ids. Give --text, "
              "--labels, --pairs or --data-ids to write them too");
    return;
  }
  const LearnedFrom learned = data_of(run, std::move(o), settings);
  write_pytorch_folder(to, run, {learned.task, learned.batches.get(), given.steps});
}

}  // namespace headlight
