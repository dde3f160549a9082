// Fine-tuning: a run on a person's own text that begins with the weights of a model that has
// learned another text, and what it keeps of that one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/train/training_run.h"

namespace headlight {

/// The plan of a run on running text, or on a table with labels, that begins with this model (its
/// ref, config and context in tokens): the same tokens, rows no longer than its own, a tenth of the
/// rate that a new model learns with, and on text fewer steps, so that it stays near to what it
/// knew. Labels and next sentences get a head of their own (classifier_on(), pair_judge_on());
/// throws UsageError as these do, and where the model reads no row that is long enough. `tokens`:
/// the model's, where they are at hand; make_plan_task() leaves room for what they put around a
/// row.
RunPlan tuning_plan(RunPlan, const std::string& ref, const Config&, std::int64_t context,
                    const Vocabulary* tokens = nullptr);

/// The plan of a run on the same data, learning the same of them, that begins with new weights.
RunPlan untuned_plan(const RunPlan&);

/// Does a run on these data judge whole rows, and so puts a head of its own on a model?
bool judges_rows(OwnData, const TextOptions&);

/// The weights of a model as a program of this config and shape has them: of learned positions
/// those that a row reaches. Throws Error for a parameter that the model lacks or has in another
/// shape.
std::vector<Tensor> weights_from(std::shared_ptr<const Model>, const Config&, const RunShape&);

/// The config of a classifier that reads tokens as this model does: with a head of its own, pooled
/// as `pool` says. Throws UsageError for a model that reads no row of tokens: an encoder-decoder,
/// or one of numbers.
Config classifier_on(const Config&, const std::string& name, PoolKind pool);

/// How it pools where nothing is said: of a model that looks back only the last token has heard all
/// the others.
PoolKind pool_on(const Config&);

/// The same of one that judges whether a sentence follows another: by [CLS], as BERT, where it
/// hears the sentences; with segments, and where tokens are `hidden` with a head of tokens.
Config pair_judge_on(const Config&, const std::string& name, bool hidden,
                     std::optional<PoolKind> pool = {});

/// What fills holes of a model with both heads: without that of classes. Others stay as they are.
Config without_classes(const Config&);

/// Its vocabulary, with [PAD] behind it where it has none, so that rows may differ in length; and
/// with what else a run on such data reads.
std::shared_ptr<const Vocabulary> vocabulary_on(const Model&, OwnData, const TextOptions&);

/// What a classifier on a model begins with: the model's weights, and new ones, drawn as `init`
/// says from the config's seed, for the head and for tokens that are new. A head of tokens beside
/// the head begins with the model's own, where it has one.
std::vector<Tensor> classifier_weights(const Model&, const Config&, const RunShape&, Init init);

/// The names of the weights of a model for which a program of this config and shape has no place,
/// or which it draws anew, since they are of a head for something else.
std::vector<std::string> left_out(const Model&, const Config&, const RunShape&);

/// What a model has learned, in its own words: rows that it writes by itself at temperature 1
/// behind beginnings that it knows. What it wrote is counted, the beginnings are not. A model's
/// loss here, before it learns on, is about its loss on the text that it learned (the entropy of
/// what it writes). Without rows for a model that cannot write row by row.
TokenBatch written_rows(const std::shared_ptr<const Model>&, std::int64_t rows,
                        std::int64_t positions);

}  // namespace headlight
