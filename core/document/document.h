// Document: what the person made. Undoable, saved, changed only by pure edits.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/graph/config.h"
#include "core/text/tokenizer.h"

namespace headlight {

inline constexpr int kDefaultMaxTokens = 1024;
inline constexpr int kMaxTargets = 4096;
inline constexpr const char* kDefaultSentence =
    "The animal didn't cross the street because it was too tired";

/// Which lab is shown and what was set in it (core/lab/lab.h): by lab, by control.
struct LabChoice {
  using Settings = std::map<std::string, std::string, std::less<>>;
  std::string lab;  // empty: the first one
  std::map<std::string, Settings, std::less<>> settings;
  bool operator==(const LabChoice&) const = default;
};

struct Document {
  std::string sentence = kDefaultSentence;
  TokenizerKind tokenizer = TokenizerKind::kWords;
  Config config;
  int max_tokens = kDefaultMaxTokens;
  /// A trained model by its ref (core/model/model.h); empty: the sandbox, whose weights come from
  /// the seed. With a model, of `config` only what needs no other weights counts (run_config()).
  std::string model;
  /// What the backward pass takes for right where the sentence does not tell
  /// (core/autodiff/gradient_program.h): a classifier's class, or a masked model's token behind
  /// each [MASK] in turn, by name. Missing, empty, or no name of this model: what it finds
  /// likeliest.
  std::vector<std::string> targets;
  /// Of a trained model: read in the sentence's place, and of an encoder-decoder the row that it is
  /// given. Empty: the sentence counts.
  std::vector<int> ids, target_ids;
  LabChoice labs;
  bool operator==(const Document&) const = default;
};

/// Would both give the same numbers in Steps?
bool same_run(const Document&, const Document&);

/// What the tokenizer keeps in one piece (Tokenizer::keep_whole()), of a random model: [SEP] with
/// segments, [MASK] where tokens in their places are said.
std::string_view whole_token(const Config&);

// ---- edits: each says what to change, nothing else ----

struct SetSentence {
  std::string text;
};
struct SetIds {
  std::vector<int> ids, target_ids;
};
struct SetTokenizer {
  TokenizerKind kind{};
};
struct SetConfig {
  Config config;
};
struct SetMask {
  MaskSpec mask;
};
/// Takes the token at place `from` out and puts it in at place `to` (places from 0, counted after
/// it was taken out). Spaces go where the words need them; a byte takes its whole character along.
struct MoveToken {
  int from = 0, to = 0;
  bool source = false;  // of an encoder-decoder: a place in what it reads, not in its own row
};
struct SetMaxTokens {
  int count = 0;
};
/// The `place`th of Document::targets.
struct SetTarget {
  int place = 0;
  std::string name;  // empty: what the model finds likeliest
};
/// Another model (empty: the sandbox), in one step with what goes with it: its own shape, its way
/// to cut text, a sentence that it knows. What is unset stays, but for the targets.
struct SetModel {
  std::string model;
  std::optional<Config> config;
  std::optional<TokenizerKind> tokenizer;
  std::optional<std::string> sentence;
};
struct SetLab {
  LabChoice labs;
};
/// Everything at once: work that was recovered.
struct SetDocument {
  Document document;
};
using Edit = std::variant<SetSentence, SetIds, SetTokenizer, SetConfig, SetMask, MoveToken,
                          SetMaxTokens, SetTarget, SetModel, SetLab, SetDocument>;

/// The document with the edit applied. Invalid UTF-8 becomes U+FFFD, numbers are kept in range,
/// lists sorted; nothing throws.
Document apply(Document, const Edit&);

/// The past and the future of a document.
class History {
 public:
  explicit History(Document start = {}) : now_(std::move(start)), saved_(now_) {}
  const Document& now() const { return now_; }
  /// Edits that follow each other with the same non-empty group are one step of undo (a slider
  /// drag, a word being typed).
  void edit(const Edit&, const std::string& group = {});
  /// The next edit starts a step of its own (the mouse was released, a field was left).
  void end_group() { group_.clear(); }
  bool can_undo() const { return !past_.empty(); }
  bool can_redo() const { return !future_.empty(); }
  void undo();
  void redo();
  /// Replaces the document (a session was opened) and forgets the past.
  void reset(Document);
  bool is_saved() const { return now_ == saved_; }
  void mark_saved() { mark_saved(now_); }
  /// A document that was this one when saving it began.
  void mark_saved(Document document) { saved_ = std::move(document); }

 private:
  Document now_, saved_;
  std::vector<Document> past_, future_;
  std::string group_;
};

inline constexpr std::size_t kMaxUndoSteps = 500;

}  // namespace headlight
