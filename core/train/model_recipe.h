// recipe.json of a bundled model: how it was trained, what it scores, a sentence to try. `headlight
// train --config recipe.json` trains it again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/document/document.h"
#include "core/model/bundled.h"
#include "core/model/init.h"
#include "core/model/model.h"
#include "core/train/heads/head_rules.h"
#include "core/train/run_settings.h"

namespace headlight {

struct ModelRecipe {
  Config config;         // its seed is that of the initial weights
  RunSettings training;  // of one of all_tasks(), or of a text
  Init init = Init::kNormal;
  double score =
      0;  // the share of scored tokens (or classes) that is right on fresh examples, at least
  std::string example;            // a sentence on which its heads mean something
  std::vector<HeadClaim> claims;  // what they do, on it or on sentences of their own
  WordLists words;                // of the claims' patterns
};

/// The text of recipe.json.
std::string recipe_text(const ModelRecipe&);
/// The inverse; what is absent has its default. Throws Error that names the key, what was expected
/// and what came, and UsageError (validate) for a model that cannot be built.
ModelRecipe parse_recipe(std::string_view text);

/// The recipe of a bundled model. Throws UsageError for another name.
const ModelRecipe& bundled_recipe(std::string_view name);

/// The most tokens of a row that it was trained on.
std::int64_t learned_context(const ModelRecipe&);

/// Text ids: what a bundled model is called and has learned, and what to look for in its heads. Of
/// one that learned a task they are the task's, of another its own.
struct ModelWords {
  std::string name, about, look;
};
ModelWords bundled_words(std::string_view name);
/// The same of any model by its ref and, of a folder, the task that it says it learned; nothing
/// where it says none.
std::optional<ModelWords> words_of_model(std::string_view ref, std::string_view task);

/// A sentence for a model: the recipe's of a bundled one, an example of the task that another one
/// learned; empty where its text is its own.
std::string example_sentence(const Model&);

/// Can the model read this sentence: has it a token, and are all of them in the vocabulary?
bool knows(const Model&, const std::string& sentence);

/// The tokens of a sentence that the model does not know (core/text/unknown_words.h).
std::vector<std::string> unknown_to(const Model&, const std::string& sentence);

/// The edit that makes a document show this model: with its config, its way to cut text and, where
/// it does not know a token of the sentence (or there is none), its example sentence.
SetModel choose_model(const Document&, const Model&);

/// The edit that goes back to the sandbox. Random weights have no classes to choose from and
/// nothing to translate: whatever model was there, it is a plain decoder. A trained model's pieces
/// or bytes went with it: what is read now is words.
SetModel choose_sandbox(const Document&);

/// What the window shows at its very first start: a model that has learned a language, its example,
/// and the cell of a head that means something there.
struct FirstStart {
  Document document;
  HeadClaim look_at;  // has a query
};
/// Throws Error where the program's own file is damaged.
FirstStart first_start(Language);

/// The model of the first start.
const BundledModel& first_model(Language);

/// What the first window opens with. Where the model's files are damaged: the random model, and
/// what is wrong with which of them.
struct FirstWindow {
  Document document;
  std::optional<HeadClaim> look_at;
  std::optional<Message> problem;
};
FirstWindow first_window(const BundledModel& files);

/// The sentence with one of the model's tokens moved (specials are one token, "[SEP]"), and its
/// marks of padding with it; of an encoder-decoder a source token or one of the target that the
/// sentence gives, never [BOS]. A sentence that the vocabulary does not know stays as it is.
Document move_model_token(Document, const Model&, const MoveToken&);

}  // namespace headlight
