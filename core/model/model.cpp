#include "core/model/model.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/graph/options/attention_options.h"
#include "core/io/file_steps.h"
#include "core/model/bundled.h"
#include "core/model/checkpoint.h"
#include "core/model/folders/folder.h"
#include "core/model/row_ids.h"
#include "core/text/row_frame.h"
#include "core/text/unknown_words.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxKept = 4;

using SharedVocabulary = std::shared_ptr<const Vocabulary>;

// Rows of the table that a translator reads its source by.
std::int64_t source_rows(const ModelFile& file) {
  return file.source_vocab > 0 ? file.source_vocab : file.vocab;
}

// A model that learned rows of ids has no text; its tokens are the ids.
SharedVocabulary ids_as_tokens(std::int64_t rows) {
  std::vector<std::string> numbers;
  for (std::int64_t id = 0; id < rows; ++id) numbers.push_back(std::to_string(id));
  return std::make_shared<const Vocabulary>(TextCut::kWords, std::move(numbers));
}

SharedVocabulary vocabulary_of(const std::string& json) {
  return std::make_shared<const Vocabulary>(Vocabulary::from_json(json));
}

void read_vocabularies(const Checkpoint& checkpoint, Model& model) {
  const ModelFile& file = checkpoint.model;
  if (checkpoint.tokenizer != kNoTokenizer) {
    model.vocabulary = vocabulary_of(checkpoint.tokenizer);
    if (!checkpoint.target_tokenizer.empty())
      model.target = vocabulary_of(checkpoint.target_tokenizer);
  } else if (file.config.numbers) {
    model.vocabulary =
        std::make_shared<const Vocabulary>(Vocabulary::of_numbers(static_cast<int>(file.vocab)));
  } else {
    model.vocabulary = ids_as_tokens(source_rows(file));
    if (source_rows(file) != file.vocab) model.target = ids_as_tokens(file.vocab);
  }
}

// Of a translator's two tokenizers each has the rows of its table. One alone, and two that cut into
// the same pieces, are as long as the longer table.
bool goes_with(const Vocabulary& vocabulary, std::int64_t rows, const Model& model) {
  const bool pieces = vocabulary.cut() == TextCut::kPieces;
  const bool longest = vocabulary.size() == std::max(model.file.vocab, source_rows(model.file));
  return pieces && (longest || !model.target) ? longest : vocabulary.size() == rows;
}

// `where`: the tokenizer's place, for errors.
Model make_model(Checkpoint checkpoint, const fs::path& where) {
  Model model;
  try {
    read_vocabularies(checkpoint, model);
  } catch (const Error& error) {
    throw Error(Message{"checkpoint.in_file", {{"path", shown(where)}}}.with(error.message()));
  }
  model.file = std::move(checkpoint.model);
  model.weights = std::move(checkpoint.weights);
  if ((model.vocabulary->cut() == TextCut::kNumbers) != model.file.config.numbers)
    throw Error(Message{"error.numbers_tokenizer", {{"path", shown(where)}}});
  const auto check = [&](const Vocabulary& vocabulary, std::int64_t rows) {
    if (goes_with(vocabulary, rows, model)) return;
    throw Error(Message{"model.vocabulary_size",
                        {{"path", shown(where)},
                         {"n", count_text(vocabulary.size())},
                         {"vocab", count_text(rows)}}});
  };
  check(*model.vocabulary, model.target ? source_rows(model.file) : model.file.vocab);
  if (model.target) check(*model.target, model.file.vocab);
  find_frame(model);
  return model;
}

// When the model of a folder was last written; the oldest time for what has none.
fs::file_time_type written(const std::string& ref) {
  auto latest = fs::file_time_type::min();
  if (ref.starts_with(kBundledRef)) return latest;
  for (const char* file :
       {"config.json", "model.safetensors", "tokenizer.json", "target_tokenizer.json"}) {
    std::error_code error;
    const auto time = fs::last_write_time(fs::path(ref) / file, error);
    if (!error) latest = std::max(latest, time);
  }
  return latest;
}

}  // namespace

std::uint64_t weights_mark(std::span<const Tensor> weights) {
  std::uint64_t mark = 1469598103934665603u;
  constexpr std::size_t kAllOf = std::size_t{1} << 20;  // cells
  for (const Tensor& tensor : weights) {
    const std::size_t step = tensor.data.size() / kAllOf + 1;
    for (std::size_t i = 0; i < tensor.data.size(); i += step) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &tensor.data[i], sizeof bits);
      mark = (mark ^ bits) * 1099511628211u;
    }
  }
  return mark == 0 ? 1 : mark;
}

namespace {

std::shared_ptr<const Model> finished(Model model, std::string ref) {
  model.ref = std::move(ref);
  model.mark = weights_mark(model.weights);
  return std::make_shared<const Model>(std::move(model));
}

}  // namespace

std::shared_ptr<const Model> load_model(const std::string& ref, const ProgressFunction& progress) {
  if (ref == kRunRef) throw Error(Message{"model.run_gone"});
  if (ref.starts_with(kBundledRef))
    return load_model(bundled_model(std::string_view(ref).substr(kBundledRef.size())));
  const fs::path folder(ref);
  Model model = is_foreign_folder(folder)
                    ? ModelFolder(folder).load(available_memory(), progress)
                    : make_model(load_checkpoint(folder), folder / "tokenizer.json");
  const fs::path whole = folder.lexically_normal();
  model.name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
  return finished(std::move(model), ref);
}

std::shared_ptr<const Model> load_model(const BundledModel& files) {
  const std::string name(files.name);
  Model model = make_model(parse_checkpoint({files.config, files.weights, files.tokenizer, name}),
                           files.name);
  model.name = name;
  return finished(std::move(model), std::string(kBundledRef) + name);
}

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  for (const Tensor& tensor : model.weights) count += cell_count(tensor.axes);
  return count;
}

Message not_finite_note(const Model& model) {
  const std::vector<std::string>& names = model.not_finite;
  if (names.empty()) return {};
  constexpr std::size_t kNamed = 3;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i)
    list += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kNamed) list += " …";
  return Message{"notice.weights_not_finite",
                 {{"n", count_text(std::ssize(names))}, {"names", list}}};
}

void check_ids(const Model& model, std::span<const int> ids) {
  check_row_ids(ids, model.file.vocab);
}

void check_placed(const Model& model, std::span<const int> ids, const Vocabulary& names) {
  const std::optional<int> unplaced = model.file.unplaced;
  const auto found = unplaced ? std::ranges::find(ids, *unplaced) : ids.end();
  if (found == ids.end()) return;
  throw UsageError(Message{"model.no_place",
                           {{"token", names.token(*unplaced)},
                            {"id", std::to_string(*unplaced)},
                            {"place", std::to_string(found - ids.begin())}}});
}

const Vocabulary& target_vocabulary(const Model& model) {
  return model.target ? *model.target : *model.vocabulary;
}

void find_frame(Model& model) {
  if (!model.vocabulary->pieces()) return;
  RowFrame frame = frame_of(*model.vocabulary);
  model.before = std::move(frame.before);
  model.behind = std::move(frame.behind);
}

bool has_ids_alone(const Model& model) { return holds_ids_alone(*model.vocabulary); }

TokenizerTexts tokenizer_texts(const Model& model) {
  if (has_ids_alone(model)) return {std::string(kNoTokenizer), {}};
  return {model.vocabulary->to_json(), model.target ? model.target->to_json() : std::string()};
}

bool can_have(const Config& model, PositionKind kind) {
  // Pairs of features turn.
  if (kind == PositionKind::kRotary && model.head_width() % 2 != 0) return false;
  const bool on_keys = kind == PositionKind::kRotary || kind >= PositionKind::kRelative;
  if (!model.attends() && on_keys) return false;
  const bool learns = kind != PositionKind::kNone && kind != PositionKind::kSinusoidal &&
                      kind != PositionKind::kRotary && kind != PositionKind::kAlibi;
  return !learns || model.positions == kind;
}

int separator_of(const Config& config, const Vocabulary* vocabulary) {
  return config.tells_sentences() ? vocabulary->id_of(Special::kSeparator).value_or(-1) : -1;
}

Config run_config(const Config& document, Config model) {
  if (can_have(model, document.positions)) model.positions = document.positions;
  model.mask = document.mask;
  model.memory = document.memory;
  model.scale = document.scale;
  model.temperature = document.temperature;
  model.residual = document.residual;
  model.average_weights = document.average_weights;
  model.fused_attention = document.fused_attention;
  model.masked_heads = document.masked_heads;
  drop_unfit_options(model);
  return without_idle_options(std::move(model));
}

std::shared_ptr<const Tensor> ModelParameters::parameter(const TensorSpec& spec, const RunInput&) {
  for (const Tensor& tensor : model_->weights) {
    if (tensor.name != spec.name) continue;
    bool fits = tensor.axes.size() == spec.axes.size();
    for (std::size_t axis = 0; fits && axis < spec.axes.size(); ++axis) {
      const std::int64_t has = tensor.axes[axis].size, wanted = spec.axes[axis].size;
      const std::string& place = spec.axes[axis].name;
      const bool positions = axis == 0 && (place.starts_with("context") || place == "place");
      fits = has == wanted || (positions && has > wanted);
    }
    if (fits) return {model_, &tensor};
    throw Error(Message{"checkpoint.shape",
                        {{"name", spec.file_name},
                         {"expected", shape_text(spec.axes)},
                         {"shape", shape_text(tensor.axes)}}});
  }
  throw Error(Message{"checkpoint.tensor_missing",
                      {{"name", spec.file_name}, {"shape", shape_text(spec.axes)}}});
}

std::shared_ptr<const Model> ModelCache::get(const std::string& ref,
                                             const ProgressFunction& progress) {
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Kept& kept) { return kept.model->ref == ref; });
  const auto time = written(ref);
  if (found != kept_.end()) {
    const bool gone = time == fs::file_time_type::min();
    if (gone || found->written == time) return found->model;
    kept_.erase(found);
  }
  kept_.push_back({time, load_model(ref, progress)});
  if (kept_.size() > kMaxKept) kept_.erase(kept_.begin());
  return kept_.back().model;
}

}  // namespace headlight
