// Task: something for a model to learn. An endless source of examples, each a pure function of the
// random numbers it is drawn with.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/random.h"
#include "core/text/vocabulary.h"

namespace headlight {

/// What a model does with an example:
///   kNextToken  predicts, at each token, the one after it (causal)
///   kMasked     says what stands behind each [MASK]
///   kClassify   says which class the whole row belongs to
///   kTranslate  encoder-decoder: reads `source`, writes the rest of `tokens` (teacher forcing)
///   kNumbers    says for each number which one belongs to it (Config::numbers)
enum class TaskKind { kNextToken, kMasked, kClassify, kTranslate, kNumbers };

/// Which examples to draw from. Of many generated tasks both are the same endless supply.
enum class Split { kTraining, kValidation };

struct TaskExample {
  std::vector<int> source;   // kTranslate: what the encoder reads; else empty
  std::vector<int> tokens;   // what the model reads; kTranslate: the decoder, from [BOS] on
  std::vector<int> targets;  // for each of `tokens` the id to predict there; -1: not counted
  // For each target: whether the task leaves no other answer, so that a model can be blamed for it.
  // Empty: so it is for every target that counts. The loss counts all targets, a score only these.
  std::vector<std::uint8_t> scored;
  int label = -1;  // kClassify: the class
  bool operator==(const TaskExample&) const = default;
};

/// Sizes of a task, by name.
using TaskOptions = std::map<std::string, int, std::less<>>;

/// What a task is made with. Threads may share it.
struct TaskShape {
  std::string id;
  TaskKind kind = TaskKind::kNextToken;
  std::shared_ptr<const Vocabulary> vocabulary;
  int context = 0;                   // the most tokens of an example
  int source_length = 0;             // kTranslate: the most source tokens
  std::vector<std::string> classes;  // kClassify: their names
  TaskOptions options;               // complete
  bool hides = false;                // kClassify: see Task::hides_tokens()
  bool closed = false;               // kClassify: see Task::closes_rows()
};

class Task {
 public:
  virtual ~Task() = default;
  const std::string& id() const { return shape_.id; }
  TaskKind kind() const { return shape_.kind; }
  const Vocabulary& vocabulary() const { return *shape_.vocabulary; }
  std::shared_ptr<const Vocabulary> shared_vocabulary() const { return shape_.vocabulary; }
  /// The names of the classes; empty unless kClassify.
  const std::vector<std::string>& classes() const { return shape_.classes; }
  /// The most tokens of an example. Where examples may be shorter, the vocabulary has [PAD].
  int context() const { return shape_.context; }
  /// kClassify: are some tokens hidden, and `targets` says which? Config::token_head learns that.
  bool hides_tokens() const { return shape_.hides; }
  /// kClassify: do examples end with their own [SEP], so that nobody has to put one behind them?
  bool closes_rows() const { return shape_.closed; }
  /// The most source tokens of an example; 0 unless kTranslate.
  int source_length() const { return shape_.source_length; }
  /// All sizes by name, to write into a file; make_task(id, options) makes the task again.
  const TaskOptions& options() const { return shape_.options; }

  /// An example, not padded. Throws Error for a split that the task does not have.
  TaskExample draw(Random& random, Split split = Split::kTraining) const;
  virtual bool has(Split) const { return true; }
  /// How many examples this split holds, where it is a text or a table; 0: an endless supply.
  virtual std::size_t rows(Split) const { return 0; }
  /// One of them. Throws Error where there are none.
  virtual TaskExample row(std::size_t i, Split) const;
  /// All tokens of this split, of whose windows examples are made; empty where they are made of
  /// something else.
  virtual std::vector<int> running_text(Split) const { return {}; }
  /// What accuracies are told apart by: over how many tokens something has to be remembered.
  virtual std::optional<int> distance(const TaskExample&) const { return std::nullopt; }
  /// Bytes of text per token of this split, for bits per byte; 0 where tokens are not text.
  virtual double bytes_per_token(Split) const { return 0; }

 protected:
  explicit Task(TaskShape shape) : shape_(std::move(shape)) {}

 private:
  virtual TaskExample make(Random& random, Split split) const = 0;
  TaskShape shape_;
};

/// Fills an example up to the task's context and source length, or to these, with [PAD], which does
/// not count.
void pad(TaskExample& example, const Task& task);
void pad(TaskExample& example, const Task& task, std::size_t context, std::size_t source);

/// The share that is right where it counts.
struct TaskScore {
  std::int64_t tokens = 0, tokens_right = 0;        // targets that are scored; classes: labels
  std::int64_t sequences = 0, sequences_right = 0;  // examples, right when all of their tokens are

  /// The most probable id at each token; for kClassify one element: the most probable class. Throws
  /// Error for fewer predictions than the example has tokens.
  void add(const TaskExample& example, std::span<const int> predicted);
  double token_accuracy() const { return tokens ? double(tokens_right) / double(tokens) : 0; }
  double sequence_accuracy() const {
    return sequences ? double(sequences_right) / double(sequences) : 0;
  }
};

/// One size that can be chosen.
struct TaskOption {
  std::string_view name;
  int value = 0, low = 0, high = 0;  // default and limits
  std::string_view label;            // text id
};

/// How a task introduces itself.
struct TaskInfo {
  std::string_view id;
  TaskKind kind = TaskKind::kNextToken;
  std::string_view name, about,
      look;  // text ids: title, one sentence, what to look for in its heads
  std::vector<TaskOption> options;
};

/// The generated tasks, in the order of a menu.
const std::vector<TaskInfo>& all_tasks();
/// One of them. Throws UsageError for another name, with the nearest ones.
const TaskInfo& task_info(std::string_view id);
/// Makes a task; sizes that are not given have their defaults. Throws UsageError for an unknown
/// task or option, and for sizes out of range or that do not fit each other.
std::unique_ptr<Task> make_task(std::string_view id, const TaskOptions& options = {});

}  // namespace headlight
