// The sentence that a lab's own small model reads.
#pragma once

#include <span>
#include <string>

#include "core/lab/lab_run.h"
#include "core/train/tasks/task.h"

namespace headlight {

/// Tokens of a task as a person writes them.
std::string written(const Task&, std::span<const int> ids);

/// With `example` 0 the person's own sentence, its first tokens (a note says so), where the task
/// knows all of its words, else `instead`, which a note says as well; with another number an
/// example of the task, drawn by it.
std::string known_sentence(LabRun&, const Task&, std::size_t most, std::int64_t example,
                           const std::string& instead);

}  // namespace headlight
