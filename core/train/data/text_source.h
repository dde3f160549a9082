// The user's own text as a task: running text, labelled rows, or pairs to translate.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/message.h"
#include "core/base/progress.h"
#include "core/graph/config.h"
#include "core/io/table.h"
#include "core/io/text_file.h"
#include "core/text/row_frame.h"
#include "core/train/data/text_cutter.h"
#include "core/train/tasks/task.h"

namespace headlight {

/// A text whose copies share it: a pasted one may be large, and is part of what is copied often.
class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text)
      : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}
  const std::string& str() const;
  bool empty() const { return !text_; }
  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ || a.str() == b.str();
  }

 private:
  std::shared_ptr<const std::string> text_;  // null: empty
};

/// A file, or a text that was pasted.
struct TextInput {
  std::filesystem::path path;  // empty: `text`
  SharedText text;
  std::optional<ByteRange> bytes = std::nullopt;  // only these of the file
  bool empty() const { return path.empty() && text.empty(); }

  /// Read and checked. Throws as read_text_file, and UsageError for bytes that the file has not
  /// or that part a character.
  TextFile read(const ProgressFunction& progress) const;
  /// What messages call it: fills {file}.
  MessageSlot name() const;
};

/// What a person's own data are: running text, rows of text and label, or rows of source and
/// target.
enum class OwnData { kText, kLabels, kPairs };
std::span<const Choice<OwnData>> choices(OwnData);
enum class TableHeader { kDetect, kFirstRow, kNone };

inline constexpr int kMaxContext = 65536;
inline constexpr int kLongestRow = 256;  // tokens of a row when no context is asked for
inline constexpr int kMaxClasses = 1000;
inline constexpr int kMaskedShare = 15, kMostMasked = 90;  // percent

/// What stands around the texts of pairs as an encoder-decoder from elsewhere reads them.
struct PairMarks {
  RowFrame source;
  std::vector<int> opening;  // of what is written; empty: [BOS]
  std::optional<int> end;    // of the same; none: [EOS]
  bool empty() const { return source.size() == 0 && opening.empty() && !end; }
};

struct TextOptions {
  TextCut cut = TextCut::kCharacters;
  // bpe, wordpiece: how many tokens to learn (0: 512, 2000). words: keep the most frequent so that
  // there are this many tokens in all, the others become [UNK] (0: all).
  int vocabulary = 0;
  bool characters = false;  // bpe: no token is more than a character, any byte still has one
  int most_tokens = 65536;  // a vocabulary of more is refused
  int context = 64;         // rows: the longest row that is not cut; 0: as long as the longest
  int source_context = 0;   // pairs: the same of a source; 0: as `context`
  // Pairs: one row, source [SEP] target [EOS], for a decoder alone. `context` is that of the row.
  bool joined = false;
  int validation = 10;  // percent: the last part of a text, or rows here and there; 0 to 50
  // Of running text: so many percent of the tokens are hidden, and what stands behind them is to be
  // said; 0: the next token is.
  int masked = 0;
  // Of running text: whether one sentence follows another is learned (next_sentence.h). `context`
  // is that of a row without [CLS].
  bool next_sentence = false;
  std::shared_ptr<const Vocabulary> known;         // cut and number with this one instead (to go on
                                                   // training, to evaluate)
  std::shared_ptr<const Vocabulary> known_target;  // pairs: what is written is cut with this one;
                                                   // null: with `known`
  PairMarks marks;                                 // of pairs, to evaluate
  std::vector<std::string> known_classes;          // labelled rows: their order (empty: sorted)
  // Of tables; without a format a path that ends in .csv is CSV, and so is what was pasted with a
  // comma but no tab in its first line; anything else is TSV.
  std::optional<TableFormat> format;
  TableHeader header = TableHeader::kDetect;
};

/// What a model learns from them.
TaskKind kind_of(OwnData, const TextOptions& = {});

/// The id of the task of next sentences.
inline constexpr std::string_view kNextSentenceTask = "next-sentence";

/// A running text as ids: about two bytes of memory a token.
class TextSource {
 public:
  /// Reads and cuts. Throws Error for text that read_text_file refuses, for one without a whole
  /// window (context + 1 tokens, of masked ones context) to train on, and for a vocabulary that is
  /// too large; UsageError for options out of range; Cancelled.
  static TextSource load(const TextInput& input, const TextOptions& options,
                         const ProgressFunction& progress = {});

  const std::shared_ptr<const Vocabulary>& vocabulary() const { return cut_.vocabulary; }
  int context() const { return context_; }
  std::size_t size() const { return cut_.ids.size(); }
  int id(std::size_t i) const { return static_cast<int>(cut_.ids[i]); }
  /// The tokens [begin, end) of one part; validation is the end of the text, and empty when it
  /// would be shorter than a window.
  struct Part {
    std::size_t begin = 0, end = 0;
  };
  Part part(Split split) const;
  /// `length` ids from token `begin` on.
  std::vector<int> window(std::size_t begin, int length) const;
  /// All ids of a part.
  std::vector<int> ids(Split split) const {
    const Part p = part(split);
    return window(p.begin, static_cast<int>(p.end - p.begin));
  }
  /// Bytes of text per token of a part. White space that a words tokenizer drops counts too.
  double bytes_per_token(Split split) const;
  /// What had to be changed, left out or replaced.
  const std::vector<Message>& notes() const { return notes_; }

 private:
  CutTexts cut_;
  int context_ = 0;
  std::size_t training_ = 0;  // tokens
  double bytes_per_token_[2] = {0, 0};
  std::vector<Message> notes_;
};

/// A task, and what had to be done to make it.
struct LoadedTask {
  std::unique_ptr<Task> task;
  std::vector<Message> notes;
};

/// Next-token task "text": windows of context + 1 tokens from anywhere in the part. With `masked`
/// the masked task of masked_text.h.
LoadedTask text_task(std::shared_ptr<const TextSource> source, int masked = 0);
LoadedTask load_text_task(const TextInput& input, const TextOptions& options,
                          const ProgressFunction& progress = {});

/// Classification task "labels" from rows of text and label. A header that names the columns
/// (text, label and the like) may put them in any order and have more. Throws as TextSource::load,
/// and Error for rows without label, other numbers of columns, a single class, or classes as many
/// as texts.
LoadedTask load_labelled_task(const TextInput& input, const TextOptions& options,
                              const ProgressFunction& progress = {});

/// Translation task "pairs" from rows of source and target; joined, a next-token task in which only
/// the target counts. Throws likewise.
LoadedTask load_pairs_task(const TextInput& input, const TextOptions& options,
                           const ProgressFunction& progress = {});

/// What a model of this kind learns from words best, and how long its rows are.
TextOptions default_options(OwnData);
/// One of the three above, or that of next_sentence.h.
LoadedTask load_own_task(OwnData, const TextInput& input, const TextOptions& options,
                         const ProgressFunction& progress = {});

/// Throws UsageError for a context, validation share or vocabulary out of range.
void validate(const TextOptions& options, bool rows);

}  // namespace headlight
