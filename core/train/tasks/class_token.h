// [CLS] before each example of a task, for models that judge a row by that token's.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/graph/config.h"
#include "core/train/tasks/task.h"

namespace headlight {

/// The vocabulary with this special as its last token; itself where it has it.
std::shared_ptr<const Vocabulary> with_special(std::shared_ptr<const Vocabulary>, Special);
/// The same of [CLS].
std::shared_ptr<const Vocabulary> with_class_token(std::shared_ptr<const Vocabulary>);

/// The task as a model of this config reads it: with [CLS] before each row, one token more of
/// context, and [CLS] in the vocabulary, where it judges rows by [CLS]; else the task itself.
std::shared_ptr<const Task> as_read_by(const Config&, std::shared_ptr<const Task>);

/// The tokens of an example as a person writes them: without that [CLS].
std::span<const int> as_written(const Task&, const std::vector<int>& tokens);

}  // namespace headlight
