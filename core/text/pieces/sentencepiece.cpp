#include "core/text/pieces/sentencepiece.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/text/pieces/base64.h"
#include "core/text/pieces/models/piece_models.h"
#include "core/text/pieces/piece_json.h"
#include "core/text/pieces/piece_unicode.h"
#include "core/text/pieces/usual_specials.h"
#include "core/text/special_tokens.h"

namespace headlight {
namespace {

using Json = nlohmann::json;
using Piece = SentencePieceFile::Piece;

constexpr char kMark[] = "\xE2\x96\x81";

Json replace(const char* kind, const char* what, const char* by) {
  return {{"type", "Replace"}, {"pattern", Json::object({{kind, what}})}, {"content", by}};
}

// Who marks blanks: SentencePiece, as its file says; or Llama's class without `legacy`, which knows
// one mark in front, where the whole text begins and has no blank.
struct Blanks {
  bool by_class = false, in_front = true;
};

Blanks blanks_of(const SentencePieceFile& file, SentencePieceRow row, const OlderFiles& files) {
  if (row != SentencePieceRow::kLlama) return {false, file.adds_blank};
  const PieceJson settings(files.settings, "tokenizer_config.json");
  const bool by_class = !settings.boolean("legacy", true);
  return {by_class, (by_class || file.adds_blank) && settings.boolean("add_prefix_space", true)};
}

// In the order in which SentencePiece does it.
Json normalizer(const SentencePieceFile& file, const Blanks& blanks) {
  if (blanks.by_class) return nullptr;
  Json all = Json::array();
  if (!file.charsmap.empty())
    all.push_back({{"type", "Precompiled"},
                   {"precompiled_charsmap", to_base64(file.charsmap)},
                   {"match", "longest"}});
  if (file.removes_blanks) {
    all.push_back(replace("Regex", "\\A +", ""));
    all.push_back(replace("Regex", " {2,}", " "));
  }
  all.push_back(replace("String", " ", kMark));
  if (file.removes_blanks) all.push_back(replace("Regex", "\xE2\x96\x81+\\z", ""));
  if (blanks.in_front) all.push_back({{"type", "Prepend"}, {"prepend", kMark}});
  return {{"type", "Sequence"}, {"normalizers", std::move(all)}};
}

// Where no piece goes on over a blank, words can be cut apart first, which is faster. Scores are
// added up over all of a text: there rounding may say which of two equal ways is taken.
bool can_be_cut_apart(const SentencePieceFile& file) {
  const auto any = [&](auto fits) {
    return std::any_of(file.pieces.begin(), file.pieces.end(), fits);
  };
  // What is unknown goes on over a mark that is.
  return file.model != SentencePieceFile::kUnigram &&
         any([](const Piece& p) { return p.text == kMark; }) &&
         !any([](const Piece& p) { return p.text.find(kMark, 1) != p.text.npos; });
}

Json pre_tokenizer(const SentencePieceFile& file, const Blanks& blanks) {
  const bool cut = can_be_cut_apart(file);
  if (!cut && !blanks.by_class) return nullptr;
  return {{"type", "Metaspace"},
          {"replacement", kMark},
          {"prepend_scheme", blanks.by_class && blanks.in_front ? "first" : "never"},
          {"split", cut}};
}

Json decoder(const Blanks& blanks) {
  Json all = Json::array(
      {replace("String", kMark, " "), Json{{"type", "ByteFallback"}}, Json{{"type", "Fuse"}}});
  if (blanks.in_front)
    all.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return {{"type", "Sequence"}, {"decoders", std::move(all)}};
}

// The pieces by id: as vocab.json says, or as they stand.
std::vector<std::string> pieces_by_id(const SentencePieceFile& file, const Json& vocab) {
  std::vector<std::string> pieces;
  if (vocab.is_null()) {
    for (const Piece& piece : file.pieces) pieces.push_back(piece.text);
    return pieces;
  }
  const PieceTable table = PieceTable::of_ids(PieceJson(vocab, "vocab"));
  for (int id = 0; id < table.size(); ++id) {
    if (!table.has(id)) throw Error(Message{"pieces.no_id", {{"id", std::to_string(id)}}});
    pieces.push_back(table.piece(id));
  }
  return pieces;
}

// Only pieces of these types are found in a text.
bool is_in_texts(const Piece& piece) {
  return piece.type == SentencePieceFile::kNormal || piece.type == SentencePieceFile::kUserDefined;
}

// What pieces are worth in a text. Of one that its user defined the file's score does not count:
// SentencePiece takes the best score for each of its bytes, and 0.1 off.
std::map<std::string_view, double> scores_in_texts(const SentencePieceFile& file) {
  float best = std::numeric_limits<float>::min();
  for (const Piece& piece : file.pieces) {
    if (piece.type == SentencePieceFile::kNormal)
      best = std::max(best, static_cast<float>(piece.score));
  }
  std::map<std::string_view, double> scores;
  for (const Piece& piece : file.pieces) {
    if (!is_in_texts(piece)) continue;
    const bool defined = piece.type == SentencePieceFile::kUserDefined;
    const double whole = static_cast<double>(static_cast<float>(piece.text.size()) * best) - 0.1;
    scores.emplace(piece.text, defined ? whole : piece.score);
  }
  return scores;
}

Json unigram(const SentencePieceFile& file, const std::vector<std::string>& pieces, int unknown) {
  const std::map<std::string_view, double> scores = scores_in_texts(file);
  Json vocab = Json::array();
  for (const std::string& piece : pieces) {
    const auto score = scores.find(piece);
    vocab.push_back({piece, score == scores.end() ? kOnlyWhole : score->second});
  }
  Json model = {{"type", "Unigram"}, {"byte_fallback", file.byte_fallback}, {"sums", "float32"}};
  model["unk_id"] = unknown < 0 ? Json() : Json(unknown);
  model["vocab"] = std::move(vocab);
  return model;
}

// Every way to make a piece of two others, those of the largest score first.
Json merges_of(const SentencePieceFile& file, const Json& ids) {
  std::vector<const Piece*> pieces;
  for (const Piece& piece : file.pieces) {
    if (piece.type == SentencePieceFile::kUnused) {
      throw Error(Message{"pieces.unknown_type",
                          {{"key", visible_label(shortened(piece.text, 40))},
                           {"got", "UNUSED"},
                           {"known", "NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE"}}});
    }
    if (piece.type == SentencePieceFile::kNormal) pieces.push_back(&piece);
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece* a, const Piece* b) { return a->score > b->score; });
  Json merges = Json::array();
  for (const Piece* piece : pieces) append_merges(piece->text, ids, merges);
  return merges;
}

// Ids of pieces that vocab.json has and no text is cut into: SentencePiece takes what it does
// not know for one piece, as long as that goes, and only then that is looked up.
Json only_whole(const SentencePieceFile& file, const std::vector<std::string>& pieces) {
  std::set<std::string_view> known;
  for (const Piece& piece : file.pieces)
    if (is_in_texts(piece)) known.insert(piece.text);
  Json ids = Json::array();
  for (std::size_t id = 0; id < pieces.size(); ++id)
    if (!known.contains(pieces[id])) ids.push_back(id);
  return ids;
}

Json bpe(const SentencePieceFile& file, const std::vector<std::string>& pieces,
         const std::string& unknown, const Json& own_ids) {
  Json model = {{"type", "BPE"}, {"fuse_unk", true}, {"byte_fallback", file.byte_fallback}};
  Json ids = Json::object();
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    if (!ids.emplace(pieces[id], id).second) {
      throw Error(Message{"pieces.piece_twice",
                          {{"piece", visible_label(shortened(pieces[id], 40))},
                           {"first", ids[pieces[id]].dump()},
                           {"second", std::to_string(id)}}});
    }
  }
  if (!unknown.empty()) model["unk_token"] = unknown;
  if (!own_ids.empty()) model["only_whole"] = own_ids;
  model["merges"] = merges_of(file, ids);
  model["vocab"] = std::move(ids);
  return model;
}

// In the order of their ids.
constexpr char kM2MLanguages[] =
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu "
    "ha "
    "he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my "
    "ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz "
    "vi "
    "wo xh yi yo zh zu";
constexpr char kWmt21Languages[] = "en ha is ja cs ru zh de";

std::vector<std::string> m2m_languages(const std::string& which) {
  std::istringstream codes(which == "wmt21" ? kWmt21Languages : kM2MLanguages);
  std::vector<std::string> tokens;
  for (std::string code; codes >> code;) tokens.push_back("__" + code + "__");
  return tokens;
}

struct Reader {
  const SentencePieceFile& file;
  const OlderFiles& files;
  SpecialNames& names;
  std::vector<std::string> pieces;
  std::map<std::string, int> ids;
  Json added = Json::array();

  std::string& name(Special special) { return names[static_cast<std::size_t>(special)]; }
  void add(int id, const std::string& text, bool special) {
    ids.emplace(text, id);
    added.push_back(added_token_json(id, text, special));
  }
  int id_of(const std::string& piece) const {
    const auto found = ids.find(piece);
    return found == ids.end() ? -1 : found->second;
  }

  // What the file keeps out of texts is special; what its user defined is found whole.
  void list_added() {
    std::set<std::string> special, whole;
    for (const Piece& piece : file.pieces) {
      if (piece.type == SentencePieceFile::kUserDefined) whole.insert(piece.text);
      if (piece.type == SentencePieceFile::kControl || piece.type == SentencePieceFile::kUnknown)
        special.insert(piece.text);
    }
    for (const std::string& each : names)
      if (!each.empty()) special.insert(each);
    for (std::size_t id = 0; id < pieces.size(); ++id) {
      const std::string& piece = pieces[id];
      const bool is_special = special.contains(piece);
      if (is_special || whole.contains(piece))
        added.push_back(added_token_json(static_cast<int>(id), piece, is_special));
    }
    if (files.added.is_object()) {
      for (auto entry = files.added.begin(); entry != files.added.end(); ++entry) {
        const PieceJson value(*entry, "added_tokens.json: " + visible_label(entry.key()));
        const int id = value.integer(0, kMaxVocabulary - 1);
        if (id_of(entry.key()) < 0) add(id, entry.key(), special.contains(entry.key()));
      }
    }
    // M2M's languages stand behind the pieces, in the order of this list.
    for (const std::string& language : files.more_special)
      if (id_of(language) < 0) add(static_cast<int>(ids.size()), language, true);
  }

  // Those that its class knows by itself, where no file lists any and the model has rows for them.
  void list_languages() {
    if (!files.more_special.empty()) return;
    const PieceJson settings(files.settings, "tokenizer_config.json");
    std::vector<std::string> missing;
    for (const std::string& token : m2m_languages(settings.text("language_codes", "m2m100")))
      if (id_of(token) < 0) missing.push_back(token);
    const PieceJson config(files.config, "config.json");
    const int rows = config.has("vocab_size") ? config.at("vocab_size").integer(0, kMaxVocabulary)
                                              : kMaxVocabulary;
    if (ids.size() + missing.size() > static_cast<std::size_t>(rows)) return;
    for (const std::string& token : missing) add(static_cast<int>(ids.size()), token, true);
  }
};

Json rows_of(const Reader& reader, SentencePieceRow row, const std::string& end) {
  const PieceJson settings(reader.files.settings, "tokenizer_config.json");
  SpecialRow texts{{}, {}, row == SentencePieceRow::kLlama};
  const auto put = [&](std::vector<std::string>& where, const std::string& token) {
    if (reader.id_of(token) >= 0) where.push_back(token);
  };
  if (row == SentencePieceRow::kLlama) {
    if (settings.boolean("add_bos_token", true))
      put(texts.before, reader.names[static_cast<std::size_t>(Special::kBegin)]);
    if (settings.boolean("add_eos_token", false)) put(texts.behind, end);
  } else {
    if (row == SentencePieceRow::kM2M)
      put(texts.before, "__" + settings.text("src_lang", "en") + "__");
    put(texts.behind, end);
  }
  return special_row_json(texts, [&](const std::string& token) { return reader.id_of(token); });
}

}  // namespace

Json of_sentencepiece(const SentencePieceFile& file, const Json& vocab, SentencePieceRow row,
                      const OlderFiles& files, SpecialNames& names) {
  Reader reader{file, files, names, pieces_by_id(file, vocab), {}};
  for (std::size_t id = 0; id < reader.pieces.size(); ++id)
    reader.ids.emplace(reader.pieces[id], static_cast<int>(id));
  fill_usual_names(names, kSentencePieceFiles,
                   [&](const std::string& piece) { return reader.id_of(piece) >= 0; });
  reader.list_added();
  if (row == SentencePieceRow::kM2M) reader.list_languages();
  const std::string& unknown = reader.name(Special::kUnknown);
  Json made = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  made["added_tokens"] = std::move(reader.added);
  if (row == SentencePieceRow::kMarian) made["language_code"] = {{"begin", ">>"}, {"end", "<<"}};
  const Blanks blanks = blanks_of(file, row, files);
  made["normalizer"] = normalizer(file, blanks);
  made["pre_tokenizer"] = pre_tokenizer(file, blanks);
  made["post_processor"] = rows_of(reader, row, reader.name(Special::kEnd));
  made["decoder"] = decoder(blanks);
  made["model"] = file.model == SentencePieceFile::kUnigram
                      ? unigram(file, reader.pieces, reader.id_of(unknown))
                      : bpe(file, reader.pieces, reader.id_of(unknown) < 0 ? "" : unknown,
                            vocab.is_null() ? Json() : only_whole(file, reader.pieces));
  return made;
}

}  // namespace headlight
