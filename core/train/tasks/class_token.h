// What stands around each example of a task for models that judge a row: [CLS] before it, or what
// the model's tokenizer puts there.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/graph/config.h"
#include "core/text/row_frame.h"
#include "core/train/tasks/task.h"

namespace headlight {

/// The vocabulary with this special as its last token; itself where it has it.
std::shared_ptr<const Vocabulary> with_special(std::shared_ptr<const Vocabulary>, Special);
/// The same of [CLS].
std::shared_ptr<const Vocabulary> with_class_token(std::shared_ptr<const Vocabulary>);

/// What a classifier of this config reads around a text of this vocabulary: what its tokenizer puts
/// there, else [CLS] where it judges by that; one that is not there yet would be the last id.
/// `closed`: rows end with their own [SEP] (Task::closes_rows), so that no other is put behind
/// them.
RowFrame classifier_frame(const Config&, const Vocabulary&, bool closed = false);

/// The task as a model of this config reads it: of classes with classifier_frame() around each row
/// and so much more context, and [CLS] in the vocabulary where it is needed; else the task itself.
std::shared_ptr<const Task> as_read_by(const Config&, std::shared_ptr<const Task>);

/// The tokens of an example as a person writes them: without what is put around a text that is
/// typed, a last [SEP] with it.
std::span<const int> as_written(const Task&, const std::vector<int>& tokens);

}  // namespace headlight
