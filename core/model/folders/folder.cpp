#include "core/model/folders/folder.h"

#include <algorithm>

#include "core/base/number_text.h"
#include "core/io/plain_file.h"
#include "core/model/checkpoint.h"
#include "core/model/folders/stored_again.h"
#include "core/text/pieces/piece_tokenizer.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestJson = std::uint64_t{1} << 26;  // bytes

FolderConfig read_folder_config(const fs::path& folder) {
  const fs::path path = folder / "config.json";
  if (!is_there(path)) throw Error(Message{"folder.no_config", {{"path", shown(path)}}});
  return naming_file(path, [&] { return FolderConfig(PlainFile(path, kLargestJson).all()); });
}

// The ids as tokens.
std::shared_ptr<const Vocabulary> id_vocabulary(std::int64_t rows) {
  std::vector<std::string> numbers;
  for (std::int64_t id = 0; id < rows; ++id) numbers.push_back(std::to_string(id));
  return std::make_shared<const Vocabulary>(TextCut::kWords, std::move(numbers));
}

// Those of a tokenizer, with a name for each row of the table. Throws Error where the table has too
// few.
std::shared_ptr<const Vocabulary> piece_vocabulary(const fs::path& folder,
                                                   const PieceTokenizer& own, std::int64_t rows) {
  if (own.size() > rows) {
    throw Error(Message{
        "folder.tokenizer_rows",
        {{"path", shown(folder)}, {"pieces", count_text(own.size())}, {"rows", count_text(rows)}}});
  }
  return std::make_shared<const Vocabulary>(Vocabulary::of_pieces(
      std::make_shared<const PieceTokenizer>(own.with_size(static_cast<int>(rows)))));
}

// The tokenizer's ids are rows of the table, which may have more. Two tables may be read by one
// tokenizer, which is then as long as the longer one.
void read_tokenizer(const fs::path& folder, Model& model) {
  const std::int64_t target_rows = model.file.vocab,
                     source_rows = model.file.source_vocab ? model.file.source_vocab : target_rows;
  if (!PieceTokenizer::is_in(folder)) {
    model.vocabulary = id_vocabulary(source_rows);
    if (source_rows != target_rows) model.target = id_vocabulary(target_rows);
    return;
  }
  const PieceTokenizer source = PieceTokenizer::open(folder);
  const auto target = PieceTokenizer::open_target(folder);
  const bool apart = target && *target->pieces() != *source.pieces();
  const std::int64_t most = std::max(source_rows, target_rows);
  model.vocabulary = piece_vocabulary(folder, source, apart ? source_rows : most);
  if (target) model.target = piece_vocabulary(folder, *target, apart ? target_rows : most);
  find_frame(model);
}

}  // namespace

bool is_foreign_folder(const fs::path& folder) {
  const fs::path path = folder / "config.json";
  if (!is_there(path)) return is_there(folder / "model.safetensors.index.json");
  try {
    return !FolderConfig(PlainFile(path, kLargestJson).all()).has("format");
  } catch (const Error&) {
    return false;
  }
}

ModelFolder::ModelFolder(const fs::path& folder)
    : path_(folder),
      config_(read_folder_config(folder)),
      type_(naming_file(folder / "config.json", [&] { return &folder_type(config_); })),
      weights_(weight_files(folder), type_->prefixes),
      rows_(type_->rows(config_, weights_.shapes())) {
  naming_file(folder / "config.json", [&] {
    check_head(config_, *type_);
    file_ = type_->read(config_, weights_.shapes());
    const bool can_differ = !config_.flag_or("tie_word_embeddings", true);
    if (can_differ && file_.source_vocab == 0 && has_two_tables(weights_))
      file_.source_vocab = file_.vocab;
    validate(file_.config);
    const Config& c = file_.config;
    if (c.form == ModelForm::kTokens) file_.kind = c.mask.is_causal() ? "next-token" : "masked";
    file_.task = std::string(type_->model_type);
    parameters_ = program_parameters(file_);
  });
  read_rows_rules();
}

double ModelFolder::memory() const {
  double bytes = 0;
  for (const TensorSpec& spec : parameters_)
    bytes += sizeof(float) * static_cast<double>(cell_count(spec.axes));
  return bytes;
}

void ModelFolder::check() const {
  naming_file(path_, [&] { check_stored_positions(weights_, file_); });
  naming_file(path_, [&] { weights_.check_all(parameters_, rows_); });
  Model tokens;
  tokens.file = file_;
  read_tokenizer(path_, tokens);
}

Model ModelFolder::load(double most, const ProgressFunction& progress) const {
  if (memory() > most) {
    throw Error(Message{"folder.memory",
                        {{"path", shown(path_)},
                         {"needed", bytes_text(memory())},
                         {"available", bytes_text(most)}}});
  }
  naming_file(path_, [&] { check_stored_positions(weights_, file_); });
  Model model;
  model.file = file_;
  model.unfollowed = unfollowed_;
  model.named_begin = begin_;
  model.named_pad = pad_;
  naming_file(path_, [&] {
    model.weights = weights_.take(parameters_, rows_, model.not_finite, progress);
  });
  read_tokenizer(path_, model);
  return model;
}

namespace {

// A file that says how rows are written.
struct RowsFile {
  fs::path path;
  const FolderConfig* config = nullptr;
};

// What the first file that has the key says, read by read(config); else, or where that is null, the
// default. What is wrong with it is said with the file's name.
template <class T, class Read>
T said_of(std::span<const RowsFile> files, const char* key, T fallback, Read read) {
  const auto says = [key](const RowsFile& file) {
    return file.config->has(key) || file.config->is_null(key);
  };
  const auto file = std::ranges::find_if(files, says);
  if (file == files.end() || file->config->is_null(key)) return fallback;
  return naming_file(file->path, [&]() -> T { return read(*file->config); });
}

std::optional<int> id_in(std::span<const RowsFile> files, const char* key, int last) {
  return said_of(files, key, std::optional<int>(),
                 [&](const FolderConfig& config) { return config.whole(key, 0, last); });
}

// The same of what no run needs: −1 and its like mean none.
std::optional<int> mark_in(std::span<const RowsFile> files, const char* key, int last) {
  return said_of(files, key, std::optional<int>(), [&](const FolderConfig& config) {
    const OrderedJson& said = config.at(key);
    const bool is_row = said.is_number_integer() && said >= 0 && said <= last;
    return is_row ? std::optional(said.get<int>()) : std::nullopt;
  });
}

// A number or a list of them. What is no row of the table is never written.
std::vector<int> ends_in(std::span<const RowsFile> files, int last) {
  constexpr const char* kKey = "eos_token_id";
  return said_of(files, kKey, std::vector<int>(), [last](const FolderConfig& config) {
    std::vector<int> ends;
    const OrderedJson& said = config.at(kKey);
    for (const OrderedJson& id : said.is_array() ? said : OrderedJson::array({said})) {
      if (!id.is_number_integer()) config.reader().fail(kKey, Message{"session.ids"}, said);
      const auto row = id.get<std::int64_t>();
      if (row >= 0 && row <= last) ends.push_back(static_cast<int>(row));
    }
    return ends;
  });
}

// Words of one id each; what ends a row is never among them.
std::vector<int> bad_words_in(std::span<const RowsFile> files, int last,
                              const std::vector<int>& ends) {
  constexpr const char* kKey = "bad_words_ids";
  return said_of(files, kKey, std::vector<int>(), [&](const FolderConfig& config) {
    std::vector<int> never;
    const OrderedJson& words = config.at(kKey);
    for (const OrderedJson& word : words) {
      const bool one = words.is_array() && word.is_array() && word.size() == 1 &&
                       word[0].is_number_unsigned() && word[0] <= last;
      if (!one) config.reader().fail(kKey, Message{"folder.single_ids"}, words);
      const int id = word[0].get<int>();
      if (std::ranges::find(ends, id) == ends.end()) never.push_back(id);
    }
    return never;
  });
}

std::vector<int> suppressed_in(std::span<const RowsFile> files, int last) {
  constexpr const char* kKey = "suppress_tokens";
  return said_of(files, kKey, std::vector<int>(), [last](const FolderConfig& config) {
    std::vector<int> ids;
    const OrderedJson& said = config.at(kKey);
    for (const OrderedJson& id : said) {
      const bool row = said.is_array() && id.is_number_unsigned() && id <= last;
      if (!row) config.reader().fail(kKey, Message{"session.ids"}, said);
      ids.push_back(id.get<int>());
    }
    return ids;
  });
}

std::vector<int> never_in(std::span<const RowsFile> files, int last, const std::vector<int>& ends) {
  std::vector<int> never = bad_words_in(files, last, ends);
  for (const int id : suppressed_in(files, last)) never.push_back(id);
  std::ranges::sort(never);
  never.erase(std::unique(never.begin(), never.end()), never.end());
  return never;
}

// What changes which token is the likeliest one, and is not computed here: a number apart from the
// one that changes nothing, or a list with something in it. `lists`: of a model that goes on with a
// text they are not followed either.
std::vector<std::string> unfollowed_in(std::span<const RowsFile> files, bool lists) {
  struct Rule {
    const char* key;
    double nothing = 0;
  };
  static constexpr Rule kRules[] = {{"repetition_penalty", 1},
                                    {"encoder_repetition_penalty", 1},
                                    {"no_repeat_ngram_size"},
                                    {"min_length"},
                                    {"encoder_no_repeat_ngram_size"},
                                    {"min_new_tokens"},
                                    {"begin_suppress_tokens"},
                                    {"forced_decoder_ids"},
                                    {"sequence_bias"}};
  std::vector<std::string> asked;
  const auto look = [&](const char* key, double nothing) {
    const bool changes = said_of(files, key, false, [&](const FolderConfig& config) {
      const OrderedJson& said = config.at(key);
      return said.is_number() ? said != nothing : said.is_structured() && !said.empty();
    });
    if (!changes) return;
    const std::string text = said_of(files, key, std::string(), [&](const FolderConfig& config) {
      return config.at(key).is_number() ? " " + config.at(key).dump() : std::string();
    });
    asked.push_back(key + text);
  };
  for (const Rule& rule : kRules) look(rule.key, rule.nothing);
  if (lists) {
    look("bad_words_ids", 0);
    look("suppress_tokens", 0);
  }
  return asked;
}

}  // namespace

// What ends a row; of an encoder-decoder also what its own row begins with, what is forced to come
// first, and what is never written. generation_config.json counts before config.json.
void ModelFolder::read_rows_rules() {
  const int last = static_cast<int>(file_.vocab) - 1;
  const fs::path path = path_ / "generation_config.json";
  std::optional<FolderConfig> own;
  if (is_there(path))
    own = naming_file(path, [&] { return FolderConfig(PlainFile(path, kLargestJson).all()); });
  std::vector<RowsFile> files = {{path_ / "config.json", &config_}};
  if (own) files.insert(files.begin(), {path, &*own});
  file_.ends = ends_in(files, last);
  begin_ = mark_in(files, "bos_token_id", last);
  pad_ = mark_in(files, "pad_token_id", last);
  const bool writes_rows = file_.config.form == ModelForm::kTranslate;
  unfollowed_ = unfollowed_in(files, !writes_rows);
  if (!writes_rows) return;
  if (const auto id = id_in(files, "decoder_start_token_id", last)) file_.begin = id;
  if (!file_.begin) file_.begin = id_in(files, "bos_token_id", last);
  if (const auto id = id_in(files, "forced_bos_token_id", last)) file_.forced = {*id};
  file_.never = never_in(files, last, file_.ends);
}

}  // namespace headlight
