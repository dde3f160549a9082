// Model: a trained transformer, ready to be run. Immutable once made, so that threads share it.
//
// A model is named by its ref: "bundled:NAME" for one that comes with the program, "run" for the
// training run of the window, and anything else is the path of a checkpoint's folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/progress.h"
#include "core/base/tensor.h"
#include "core/model/model_file.h"
#include "core/model/parameter_source.h"
#include "core/text/vocabulary.h"

namespace headlight {

struct Model {
  std::string ref, name;
  ModelFile file;
  std::shared_ptr<const Vocabulary> vocabulary;
  // Of a translator whose target is cut into the same pieces in another way; null: in the same.
  std::shared_ptr<const Vocabulary> target;
  // What its tokenizer puts before and behind each sentence: [CLS] and [SEP], <s>.
  std::vector<int> before, behind;  // of an encoder-decoder: around the source
  std::vector<Tensor> weights;      // by the names and with the axes of the program's parameters
  std::vector<std::string> not_finite;  // of a folder: weights that hold NaN or infinity
  std::vector<std::string> unfollowed;  // as of ModelFolder
  // Of a folder: what its config names as the begin of a text and as padding.
  std::optional<int> named_begin, named_pad;
  std::uint64_t mark = 0;  // weights_mark() of a loaded model; 0 of a training run's
};

/// A mark of the numbers, by which a session knows its weights again; never 0.
std::uint64_t weights_mark(std::span<const Tensor>);

inline constexpr std::string_view kBundledRef = "bundled:";
inline constexpr std::string_view kRunRef = "run";

/// Loads a model. Throws Error that names the file and what is wrong with it (as load_checkpoint()
/// does, and for a tokenizer that does not go with the weights), and for "run", which is nowhere to
/// be loaded from; Cancelled where `progress` stops it.
std::shared_ptr<const Model> load_model(const std::string& ref,
                                        const ProgressFunction& progress = {});

struct BundledModel;
/// A bundled one, of these files. Throws Error that names the file and what is wrong with it.
std::shared_ptr<const Model> load_model(const BundledModel& files);

std::int64_t parameter_count(const Model&);

/// Which of its weights hold NaN or infinity; empty: none.
Message not_finite_note(const Model&);

/// What reads a target that somebody wrote.
const Vocabulary& target_vocabulary(const Model&);

/// Sets `before` and `behind` to what a tokenizer from elsewhere puts around a text.
void find_frame(Model&);

/// Are its tokens nothing but ids? Then the numbers are their names.
bool has_ids_alone(const Model&);

/// Its tokenizers as they are saved: kNoTokenizer for ids alone; `target` empty where there is
/// none.
struct TokenizerTexts {
  std::string tokenizer, target;
};
TokenizerTexts tokenizer_texts(const Model&);

/// Throws Error for an id that is no row of the model's table, with its place.
void check_ids(const Model&, std::span<const int> ids);

/// Throws UsageError for ModelFile::unplaced among them, with its place: it would get other numbers
/// than elsewhere.
void check_placed(const Model&, std::span<const int> ids, const Vocabulary&);

/// RunShape::separator of a model with these tokens; only of one with segments are they looked at.
int separator_of(const Config&, const Vocabulary*);

/// What is computed when a document chooses a model: the model's config, but for what needs no
/// other weights and so can be switched: mask, scale, temperature, residual, memory and positions.
/// Learned positions mean the model's own, also where those are not learned.
Config run_config(const Config& document, Config model);

/// Can a model be run with these positions? Learned ones only where it has learned them.
bool can_have(const Config& model, PositionKind);

/// The parameters of a model, where they are: nothing is copied.
class ModelParameters final : public ParameterSource {
 public:
  void use(std::shared_ptr<const Model> model) { model_ = std::move(model); }
  /// Throws Error for a parameter that the model lacks or has in another shape; of learned
  /// positions it may have more.
  std::shared_ptr<const Tensor> parameter(const TensorSpec& spec, const RunInput&) override;

 private:
  std::shared_ptr<const Model> model_;
};

/// The models that were loaded last. A folder whose files were written anew is loaded again; one
/// that is gone is not missed while it is kept.
class ModelCache {
 public:
  /// Throws as load_model() does.
  std::shared_ptr<const Model> get(const std::string& ref, const ProgressFunction& progress = {});

 private:
  struct Kept {
    std::filesystem::file_time_type written;
    std::shared_ptr<const Model> model;
  };
  std::vector<Kept> kept_;  // the newest last
};

}  // namespace headlight
