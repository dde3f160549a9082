// The files of a model's folder, as one tokenizer.json: that itself, or what the older ones say.
#include <algorithm>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/io/file_steps.h"
#include "core/io/plain_file.h"
#include "core/text/pieces/classes/class_settings.h"
#include "core/text/pieces/older_files.h"
#include "core/text/pieces/piece_parts.h"
#include "core/text/pieces/sentencepiece.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t kMaxFile = std::uint64_t{1} << 28;
constexpr char kOwnFormat[] = "headlight vocabulary";

// Is it there? A folder, a pipe, or what cannot be looked at in its place is refused by name.
bool is_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found || fs::is_regular_file(status))
    return exists(status);
  (void)PlainFile(path, kMaxFile);
  return false;
}

// work(), whose errors name the file.
template <class Work>
auto in_piece_file(const fs::path& file, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(Message{"pieces.file", {{"file", file.string()}}}.with(error.message()));
  }
}

Json read_json(const fs::path& file) {
  const std::string text = PlainFile(file, kMaxFile).all();
  return in_piece_file(file, [&] { return parse_piece_json(text); });
}

// A token as these files say it: its text, or an object that has it.
std::string token_text(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_object() || !json.contains("content") || !json["content"].is_string()) return "";
  return json["content"].get<std::string>();
}

void read_names(const Json& json, SpecialNames& names) {
  static constexpr std::pair<const char*, Special> kKeys[] = {
      {"pad_token", Special::kPad},      {"unk_token", Special::kUnknown},
      {"bos_token", Special::kBegin},    {"eos_token", Special::kEnd},
      {"cls_token", Special::kClass},    {"mask_token", Special::kMask},
      {"sep_token", Special::kSeparator}};
  if (!json.is_object()) return;
  for (const auto& [key, special] : kKeys) {
    std::string& name = names[static_cast<std::size_t>(special)];
    if (name.empty() && json.contains(key)) name = token_text(json[key]);
  }
}

void read_more_special(const Json& json, OlderFiles& files) {
  if (!json.is_object() || !json.contains("additional_special_tokens")) return;
  if (!json["additional_special_tokens"].is_array()) return;
  files.more_special.clear();
  for (const Json& each : json["additional_special_tokens"]) {
    std::string text = token_text(each);
    if (!text.empty()) files.more_special.push_back(std::move(text));
  }
}

// SentencePiece's own files, by the names under which the models' makers save them.
struct SentencePieceName {
  const char* name;
  SentencePieceRow row;
  bool with_vocab;  // a vocab.json says the ids
};
constexpr SentencePieceName kSentencePieceNames[] = {
    {"source.spm", SentencePieceRow::kMarian, true},
    {"target.spm", SentencePieceRow::kMarian, true},
    {"sentencepiece.bpe.model", SentencePieceRow::kM2M, true},
    {"tokenizer.model", SentencePieceRow::kLlama, false}};
constexpr std::string_view kTargetPieces = "target.spm";

const SentencePieceName* sentencepiece_name(const fs::path& file) {
  for (const SentencePieceName& each : kSentencePieceNames)
    if (file.filename() == each.name) return &each;
  return nullptr;
}

fs::path sentencepiece_file(const fs::path& folder) {
  for (const SentencePieceName& each : kSentencePieceNames) {
    if (each.name == kTargetPieces) continue;
    if (!is_file(folder / each.name)) continue;
    if (!each.with_vocab || is_file(folder / "vocab.json")) return folder / each.name;
  }
  return {};
}

// The ids of its pieces. A target may have a vocabulary of its own.
fs::path vocab_file(const fs::path& file, const OlderFiles& files) {
  const fs::path own = files.folder / "target_vocab.json";
  const bool apart =
      PieceJson(files.settings, "tokenizer_config.json").boolean("separate_vocabs", true);
  if (file.filename() == kTargetPieces && apart && is_file(own)) return own;
  return files.folder / "vocab.json";
}

// The only NAME_pieces.json.
fs::path pieces_list(const fs::path& folder) {
  std::error_code error;
  fs::path found;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with("_pieces.json") && (found.empty() || entry->path() < found))
      found = entry->path();
  }
  return found;
}

// A vocabulary of this program goes by the same name. Only the beginning of it is looked at.
bool is_own_vocabulary(const fs::path& file) {
  try {
    const std::string text = PlainFile(file, kMaxFile).all();
    return text.substr(0, 256).find(kOwnFormat) != text.npos;
  } catch (const Error&) {
    return false;  // said when it is opened
  }
}

OlderFiles older_files(const fs::path& folder, SpecialNames& names) {
  OlderFiles files;
  files.folder = folder;
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    if (!is_file(folder / name)) continue;
    const Json json = read_json(folder / name);
    in_piece_file(folder / name, [&] {
      if (!json.is_object()) throw Error(Message{"folder.no_object"});
    });
    read_names(json, names);
    read_more_special(json, files);
    if (name == std::string_view("tokenizer_config.json")) files.settings = json;
  }
  return files;
}

// Files that read no text by themselves are no tokenizer, nor is the folder one without.
void refuse_half(const fs::path& folder) {
  const auto refuse = [&](const char* there, const char* missing) {
    throw Error(
        Message{"pieces.half", {{"file", (folder / there).string()}, {"missing", missing}}});
  };
  if (is_file(folder / "merges.txt")) refuse("merges.txt", "vocab.json");
  for (const SentencePieceName& each : kSentencePieceNames)
    if (each.with_vocab && each.name != kTargetPieces && is_file(folder / each.name))
      refuse(each.name, "vocab.json");
  if (const fs::path ids = folder / "vocab.json"; is_file(ids))
    throw Error(Message{"pieces.half.any", {{"file", ids.string()}}});
}

}  // namespace

std::filesystem::path piece_file(const std::filesystem::path& folder) {
  const fs::path whole = folder / "tokenizer.json";
  if (is_file(whole)) return is_own_vocabulary(whole) ? fs::path() : whole;
  if (is_file(folder / "vocab.json") && is_file(folder / "merges.txt"))
    return folder / "vocab.json";
  if (is_file(folder / "vocab.txt")) return folder / "vocab.txt";
  const fs::path sentencepiece = sentencepiece_file(folder);
  if (!sentencepiece.empty()) return sentencepiece;
  const fs::path list = pieces_list(folder);
  if (list.empty()) refuse_half(folder);
  return list;
}

std::filesystem::path target_piece_file(const std::filesystem::path& folder) {
  const fs::path target = folder / kTargetPieces;
  const bool beside = piece_file(folder).filename() == "source.spm";
  return beside && is_file(target) ? target : fs::path();
}

PieceFiles read_piece_files(const std::filesystem::path& folder) {
  return read_piece_files(folder, piece_file(folder));
}

PieceFiles read_piece_files(const std::filesystem::path& folder,
                            const std::filesystem::path& file) {
  PieceFiles files;
  files.file = file;
  if (files.file.empty()) throw Error(Message{"pieces.no_files", {{"folder", folder.string()}}});
  OlderFiles older = older_files(folder, files.names);
  const std::string name = files.file.filename().string();
  const bool whole = name == "tokenizer.json";
  if ((!whole || older.settings.is_object()) && is_file(folder / "config.json"))
    older.config = read_json(folder / "config.json");
  if (whole) {
    files.tokenizer = read_json(files.file);
    in_piece_file(folder / "tokenizer_config.json", [&] {
      add_missing_tokens(older, files.names, files.tokenizer);
      apply_class_settings(older, files.names, files.tokenizer);
    });
    return files;
  }
  if (is_file(folder / "added_tokens.json")) older.added = read_json(folder / "added_tokens.json");
  const std::string text = PlainFile(files.file, kMaxFile).all();
  if (const SentencePieceName* own = sentencepiece_name(files.file)) {
    const Json vocab = own->with_vocab ? read_json(vocab_file(files.file, older)) : Json();
    files.tokenizer = in_piece_file(files.file, [&] {
      return of_sentencepiece(read_sentencepiece(text), vocab, own->row, older, files.names);
    });
    return files;
  }
  Json merges;
  if (const fs::path lines = folder / "merges.txt"; name == "vocab.json")
    merges =
        in_piece_file(lines, [&] { return read_merge_lines(PlainFile(lines, kMaxFile).all()); });
  files.tokenizer = in_piece_file(files.file, [&] {
    if (name == "vocab.json")
      return of_vocab_and_merges(text, std::move(merges), older, files.names);
    if (name == "vocab.txt") return of_vocab_txt(text, older, files.names);
    return of_pieces_list(text, files.names);
  });
  return files;
}

}  // namespace headlight
