// What a training run is made of besides the model: kept with a checkpoint, so that the run goes on
// as if it had never stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/half.h"
#include "core/io/text_file.h"
#include "core/text/vocabulary.h"
#include "core/train/optim/optimizer.h"
#include "core/train/optim/schedule.h"
#include "core/train/storage/loss_scale.h"
#include "core/train/tasks/task.h"

namespace headlight {

/// The file of running text that a run learns from, and what is made of it: what comes out is
/// promised of this file and of no other.
struct RunText {
  std::string file;                           // its name, without a folder
  std::string sha256;                         // of the whole file, in hexadecimal digits
  std::optional<ByteRange> bytes;             // what is learned from; nothing: all of it
  std::optional<ByteRange> validation_bytes;  // what is measured on; nothing: not part of the file
  TextCut cut = TextCut::kCharacters;
  int vocabulary = 0, context = 64;  // as in TextOptions
  bool characters = false;
  int masked = 0;
  bool next_sentence = false;
  bool operator==(const RunText&) const = default;
};

struct RunSettings {
  std::string task;  // of all_tasks(); empty: the person's own text or rows
  std::optional<RunText> text = std::nullopt;  // nothing: no text, or none that can be read again
  TaskOptions task_options;
  std::string base = {};          // ref of the model whose weights it began with; empty: new ones
  std::int64_t batch = 32;        // rows of a batch
  std::int64_t accumulation = 1;  // batches of an update
  std::uint64_t seed = 1;         // of the data
  OptimizerOptions optimizer;
  Schedule schedule;
  double clip = 0;             // the largest norm of all gradients together; 0: any
  double dropout = 0;          // TrainerOptions::dropout, with the same seed as the data
  bool checkpointing = false;  // TrainerOptions::checkpointing
  int frozen = -1;             // TrainerOptions::frozen
  NumberFormat storage = NumberFormat::kFloat32;  // TrainerOptions::storage
  // Rows of a table: a batch is of rows of similar length (LengthBatches).
  bool by_length = false;
  // It ends after so many measurements without a better validation loss, with the weights of the
  // best; 0: not for this reason.
  std::int64_t patience = 0;
};

/// How far a run is.
struct TrainState {
  std::int64_t step = 0;   // updates made
  std::uint64_t data = 0;  // BatchSource::state()
  /// On examples that were not learned from, as last measured.
  struct Score {
    double loss = 0, accuracy = 0;  // nats per counted target; the share of them that is right
    bool operator==(const Score&) const = default;
  };
  std::optional<Score> score = std::nullopt;
  /// RunSettings::patience: the best measurement, and how many there were since.
  struct Best {
    std::int64_t step = 0;
    Score score;
    bool operator==(const Best&) const = default;
  };
  std::optional<Best> best = std::nullopt;
  std::int64_t waited = 0;
  std::optional<LossScale> loss_scale = std::nullopt;  // of storage in float16
  bool operator==(const TrainState&) const = default;
};

/// train.json of a checkpoint.
std::string train_text(const RunSettings&, const TrainState&);
/// The inverse. Throws Error that names the key, what was expected and what came.
void parse_train(std::string_view text, RunSettings&, TrainState&);

}  // namespace headlight
